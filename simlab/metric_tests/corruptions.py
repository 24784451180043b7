"""Corrupt plain English sentences by rules; a sentence that a rule does not fit has no corruption of that rule.

Call `corrupt` with a rule of `RULES` (by the name of the corruption); it returns a sentence, or None. The corruptions
are the published ones (Boag et al. 2016, section 4), written anew from their descriptions: they look like published
trials, and are not the same sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

import numpy as np

from simlab.metric_tests.grammar import (
    ADVERBS,
    BE,
    DETERMINERS,
    PEOPLE,
    SOMEONE,
    Chunk,
    article,
    chunks,
    is_plural,
    lower_first_word,
    sentence,
    split,
)
from simlab.metric_tests.lexicon import Lexicon
from simlab.metric_tests.participles import participle

Words: TypeAlias = tuple[str, ...]
"""Words of a sentence, without the punctuation at its end."""
Corrupt: TypeAlias = Callable[[np.random.Generator, Words, Lexicon], Sequence[str] | None]
"""Function that returns the words of a corrupted sentence, or None where it does not fit."""


@dataclass(frozen=True, slots=True)
class CorruptionRule:
    """Rule that corrupts the words of a sentence, or returns None; `needs` describes sentences that it fits."""

    corrupt: Corrupt
    needs: str


def corrupt(rng: np.random.Generator, original: str, rule: CorruptionRule, lexicon: Lexicon) -> str | None:
    """Return the corruption of a sentence by a rule; None where the rule does not fit, or would change nothing."""
    words, end = split(original)
    corrupted = rule.corrupt(rng, words, lexicon) if words else None
    # Capitals follow from where a sentence starts (see `sentence`), and are no corruption.
    if corrupted is None or [word.lower() for word in corrupted] == [word.lower() for word in words]:
        return None
    return sentence(corrupted, end)


def _negate_subject(rng: np.random.Generator, words: Words, lexicon: Lexicon) -> Sequence[str] | None:
    """Deny that there is who does it: "There is no girl feeding the ducks"."""
    be = _find_be(words)
    subject = words[:be] if be else ()
    joined = {word.lower().strip(",") for word in subject} & {"and", "or", "who", "which"}
    if be is not None and subject[0].lower() in SOMEONE and be == 1:
        return ["There", words[be].lower(), "no", "one", *words[be + 1 :]]
    if be is None or len(subject) < 2 or subject[0].lower() not in DETERMINERS - {"no"} or joined:
        return None
    return ["There", words[be].lower(), "no", *subject[1:], *words[be + 1 :]]


def _neg_verb(rng: np.random.Generator, words: Words, lexicon: Lexicon) -> Sequence[str] | None:
    """Deny what is done: "A girl is not feeding the ducks"."""
    be = _find_be(words)
    if be is None or words[be + 1].lower() in ("not", "no") or words[0].lower() in ("there", "no"):
        return None
    return [*words[: be + 1], "not", *words[be + 1 :]]


def _swap_for_opposite(rng: np.random.Generator, words: Words, lexicon: Lexicon) -> Sequence[str] | None:
    return _replace_word(rng, words, lexicon["sem_opps"])


def _swap_for_near_synonym(rng: np.random.Generator, words: Words, lexicon: Lexicon) -> Sequence[str] | None:
    return _replace_word(rng, words, lexicon["near_syms"])


def _replace_word(rng: np.random.Generator, words: Words, others: Mapping[str, str]) -> Sequence[str] | None:
    """Put another word in the place of one of those that have one; "a" before it becomes "an" where it must."""
    at = [k for k, word in enumerate(words) if word.lower() in others]
    if not at:
        return None
    k = int(rng.choice(at))
    other = others[words[k].lower()]
    before = list(words[:k])
    if before and before[-1].lower() in ("a", "an"):
        before[-1] = article(other)
    return [*before, other, *words[k + 1 :]]


def _swap_determiner(rng: np.random.Generator, words: Words, lexicon: Lexicon) -> Sequence[str] | None:
    """Put "the" for "a", or "a" for the "the" of one thing."""
    parts = chunks(words)
    nouns = [
        k for k, chunk in enumerate(parts) if len(chunk.words) > 1 and chunk.words[0].lower() in ("a", "an", "the")
    ]
    fit = [k for k in nouns if parts[k].words[0].lower() != "the" or not is_plural(parts[k].words)]
    if not fit:
        return None
    k = int(rng.choice(fit))
    first, *rest = parts[k].words
    other = article(rest[0]) if first.lower() == "the" else "the"
    return _join_chunks([*parts[:k], Chunk("noun", (other, *rest)), *parts[k + 1 :]])


def _make_passive(rng: np.random.Generator, words: Words, lexicon: Lexicon) -> Sequence[str] | None:
    """Turn "A girl is feeding the ducks" to "The ducks are being fed by a girl"."""
    subject, verb, thing, rest = _clause(words)
    if thing is None or verb is None or subject is None or any(chunk.part in ("and", "verb") for chunk in rest):
        return None
    done = participle(verb.words[-1])
    if done is None:
        return None
    present = verb.words[0].lower() in ("is", "are")
    auxiliary = ("is", "are")[is_plural(thing.words)] if present else ("was", "were")[is_plural(thing.words)]
    # What the thing is of, stays with it.
    of = 2 if len(rest) > 1 and [word.lower() for word in rest[0].words] == ["of"] else 0
    what = [*thing.words, *_join_chunks(rest[:of])]
    return [
        *what,
        auxiliary,
        *verb.words[1:-1],
        "being",
        done,
        *_join_chunks(rest[of:]),
        "by",
        *lower_first_word(subject.words),
    ]


def _shuffle_roles(rng: np.random.Generator, words: Words, lexicon: Lexicon) -> Sequence[str] | None:
    """Swap who does it and to whom: "The duck is following a girl" to "A girl is following the duck"."""
    parts = chunks(words)
    nouns = [k for k, chunk in enumerate(parts) if chunk.part == "noun" and chunk.words[-1].lower() in PEOPLE]
    verbs = [k for k, chunk in enumerate(parts) if chunk.part == "verb"]
    if len(nouns) < 2 or len(verbs) != 1 or not nouns[0] < verbs[0] < nouns[1]:
        return None
    # A verb agrees with who does it.
    if is_plural(parts[nouns[0]].words) != is_plural(parts[nouns[1]].words):
        return None
    return _exchange_chunks(parts, nouns[0], nouns[1])


def _double_pp(rng: np.random.Generator, words: Words, lexicon: Lexicon) -> Sequence[str] | None:
    """Repeat every prepositional phrase."""
    parts, doubled = chunks(words), list[str]()
    phrases = _phrases(parts)
    for k, chunk in enumerate(parts):
        doubled += chunk.words
        if k - 1 in phrases:
            doubled += [*parts[k - 1].words, *chunk.words]
    return doubled if phrases else None


def _remove_prep(rng: np.random.Generator, words: Words, lexicon: Lexicon) -> Sequence[str] | None:
    """Leave a preposition out."""
    parts = chunks(words)
    phrases = _phrases(parts)
    if not phrases:
        return None
    k = int(rng.choice(phrases))
    return _join_chunks([*parts[:k], *parts[k + 1 :]])


def _swap_chunks(rng: np.random.Generator, words: Words, lexicon: Lexicon) -> Sequence[str] | None:
    """Let two chunks change places that are not of one kind: two nouns swapped may be a sentence as fluent."""
    parts = chunks(words)
    pairs = [(i, j) for i, j in combinations(range(len(parts)), 2) if parts[i].part != parts[j].part]
    return _exchange_chunks(parts, *pairs[rng.integers(len(pairs))]) if pairs else None


RULES: Mapping[str, CorruptionRule] = {
    "neg_subj": CorruptionRule(_negate_subject, "a subject with a determiner, then a form of be"),
    "neg_verb": CorruptionRule(_neg_verb, "a form of be that is not negated"),
    "sem_opps": CorruptionRule(_swap_for_opposite, "a word with an opposite in the lexicon"),
    "shuffled": CorruptionRule(_shuffle_roles, "one verb between two persons or animals, both one or both several"),
    "double_PP": CorruptionRule(_double_pp, "a preposition before a noun"),
    "remove_prep": CorruptionRule(_remove_prep, "a preposition before a noun"),
    "swap_chunks": CorruptionRule(_swap_chunks, "two chunks of different kinds"),
    "det_sub": CorruptionRule(_swap_determiner, "a noun with a, an, or the the of one thing"),
    "near_syms": CorruptionRule(_swap_for_near_synonym, "a word with a near synonym in the lexicon"),
    "passive": CorruptionRule(_make_passive, "somebody who is doing something to something, in one clause"),
}
"""Rules by the name of a published corruption, each with the form that a sentence needs."""


def _find_be(words: Words) -> int | None:
    """Return where the first form of be stands that something follows, not at the start."""
    return next((k for k in range(1, len(words) - 1) if words[k].lower() in BE), None)


def _clause(words: Words) -> tuple[Chunk | None, Chunk | None, Chunk | None, list[Chunk]]:
    """Part a sentence into subject, verb in -ing, what it is done to, and the rest; None for what it has not."""
    parts = chunks(words)
    verbs = [k for k, chunk in enumerate(parts) if chunk.part == "verb"]
    if (
        not verbs
        or not verbs[0]
        or any(chunk.part == "and" for chunk in parts[: verbs[0]])
        or len(parts) < verbs[0] + 2
    ):
        return None, None, None, []
    at = verbs[0]
    subject = Chunk("noun", tuple(_join_chunks(parts[:at])))
    progressive = len(parts[at].words) > 1 and "not" not in parts[at].words and "being" not in parts[at].words
    following = parts[at + 1]
    whole = following.part == "noun" and _thing(following.words)
    return subject, parts[at] if progressive else None, following if whole else None, parts[at + 2 :]


def _thing(words: Words) -> bool:
    """True if a noun chunk is one that something is done to: with a determiner, or of one word, and no adverb."""
    last = words[-1].lower()
    known = words[0].lower() in DETERMINERS or len(words) == 1
    return known and last not in ADVERBS | DETERMINERS and not last.endswith(("ly", "ing"))


def _phrases(chunks: Sequence[Chunk]) -> list[int]:
    """Return where a preposition stands before a noun."""
    return [k for k in range(1, len(chunks) - 1) if chunks[k].part == "preposition" and chunks[k + 1].part == "noun"]


def _exchange_chunks(chunks: Sequence[Chunk], first: int, second: int) -> list[str]:
    moved = list(chunks)
    moved[first], moved[second] = chunks[second], chunks[first]
    return _join_chunks([Chunk(chunk.part, lower_first_word(chunk.words)) for chunk in moved])


def _join_chunks(chunks: Sequence[Chunk]) -> list[str]:
    return [word for chunk in chunks for word in chunk.words]
