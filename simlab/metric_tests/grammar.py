"""Split plain English sentences into chunks by words of closed classes: no tagger, no model, nothing to download.

`split` returns the words of a sentence, `chunks` parts these into a list of `Chunk`, `sentence` puts words together
again. It is made for descriptions such as "A girl is feeding the ducks at a pond". In a sentence of another shape,
rules find nothing to corrupt; such sentences are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

Part: TypeAlias = Literal["noun", "verb", "preposition", "and", "other"]
"""Kind of a chunk."""

BE = frozenset(("is", "are", "was", "were"))
"""Forms of be."""
ONE = frozenset(("a", "an", "one", "this", "that", "each", "every", "another"))
"""Determiners of one thing."""
_MORE = "two three four five six seven eight nine ten several many these those both few"
MORE = frozenset(_MORE.split())
"""Determiners of several things."""
_OTHER = "the some his her its their my your our any no all"
DETERMINERS = ONE | MORE | frozenset(_OTHER.split())
"""Words that begin a noun chunk."""
_PREPOSITIONS = (
    "about above across after against along among around at before behind below beneath beside between beyond by down "
    "during for from in inside into near of off on onto out outside over past through to toward towards under up upon "
    "with within without"
)
PREPOSITIONS = frozenset(_PREPOSITIONS.split())
"""Words that are a chunk of their own before a noun."""
JOINING = frozenset(("and", "or", "but", "while", "who", "which", "that", "as", "because", "when"))
"""Words that join chunks."""
_ADVERBS = "alone apart away back fast here home still there together today upside"
ADVERBS = frozenset(_ADVERBS.split())
"""Adverbs of place and time, which a noun chunk may hold by mistake."""
_PEOPLE = (
    "adult animal baby bear bird boy bull calf cat child chef clown cow crowd dancer deer doctor dog duck elephant "
    "farmer father fish fox friend girl goat goose grandmother horse kangaroo kid kitten lady lamb lion man monkey "
    "mother mouse musician nurse panda parrot patient people person pig player policeman puppy rabbit rhino runner "
    "sheep singer soldier student teacher tiger toddler turtle wolf woman worker "
    "adults babies boys children dogs cats girls kids men women"
)
PEOPLE = frozenset(_PEOPLE.split())
"""Nouns of people and animals, which can do something to each other, so that roles can be swapped."""

SOMEONE = frozenset(("someone", "somebody"))
"""Subjects without a determiner."""


class Chunk(NamedTuple):
    """Words of a chunk, and its kind."""

    part: Part
    words: tuple[str, ...]


def split(sentence: str) -> tuple[tuple[str, ...], str]:
    """Return the words of a sentence, and the punctuation it ends with.

    >>> split("A girl is feeding the ducks. ")
    (('A', 'girl', 'is', 'feeding', 'the', 'ducks'), '.')
    """
    whole = sentence.strip()
    body = whole.rstrip(".!?")
    return tuple(body.split()), whole[len(body) :]


def chunks(words: Sequence[str]) -> list[Chunk]:
    """Part words into noun and verb chunks, prepositions, and words that join.

    >>> [" ".join(chunk.words) for chunk in chunks("A big girl is quietly feeding the ducks at a pond".split())]
    ['A big girl', 'is quietly feeding', 'the ducks', 'at', 'a pond']
    """
    parts: list[tuple[Part, list[str]]] = []
    for word in words:
        part = _part(word, parts)
        if part == "same":
            parts[-1][1].append(word)
        else:
            parts.append((part, [word]))
    return [Chunk(part, tuple(members)) for part, members in parts]


def _part(word: str, parts: Sequence[tuple[Part, list[str]]]) -> Part | Literal["same"]:
    """Return what a word begins, or that it goes on with what is there."""
    lowered, last = word.lower().strip(",;:"), parts[-1] if parts else None
    ended = bool(last and last[1][-1].endswith((",", ";", ":")))
    if lowered in BE:
        return "verb"
    if last and last[0] == "verb" and not ended and (lowered in ("not", "being") or lowered.endswith(("ly", "ing"))):
        # After "is feeding" an adverb goes on, and another -ing is a noun: "is enjoying swimming".
        whole = last[1][-1].lower().endswith("ing") and last[1][-1].lower() != "being"
        return "noun" if whole and lowered.endswith("ing") else "same"
    if lowered in PREPOSITIONS:
        # "out of" is one.
        return "same" if last and last[0] == "preposition" else "preposition"
    if lowered in JOINING and lowered not in DETERMINERS:
        return "and"
    if lowered in DETERMINERS:
        # "a few" and "all the" begin one noun.
        begun = last and last[0] == "noun" and all(word.lower() in DETERMINERS for word in last[1])
        return "same" if begun else "noun"
    if last and last[0] == "and" and lowered.endswith("ing"):
        return "verb"
    return "same" if last and last[0] == "noun" and not ended else "noun"


def lower_first_word(words: Sequence[str]) -> tuple[str, ...]:
    """Return words with the first in lower case, if it is one that is capital at the start of a sentence only."""
    first = words[0]
    known = first.lower() in DETERMINERS | PREPOSITIONS | BE | JOINING | SOMEONE
    return (first.lower() if known else first, *words[1:])


def sentence(words: Sequence[str], end: str) -> str:
    """Return a sentence of words, with a capital at its start."""
    text = " ".join(words)
    return f"{text[:1].upper()}{text[1:]}{end}"


def article(noun: str) -> str:
    """Return the article of what follows, by its letters.

    >>> article("onion"), article("guitar")
    ('an', 'a')
    """
    return "an" if noun[:1].lower() in "aeiou" else "a"


def is_plural(noun: Sequence[str]) -> bool:
    """True if a noun chunk names several things, by its determiner and the letters of its last word.

    >>> is_plural(("two", "ducks")), is_plural(("a", "glass"))
    (True, False)
    >>> is_plural(("the", "men")), is_plural(("a", "few", "eggs"))
    (True, True)
    """
    first, last = noun[0].lower(), noun[-1].lower()
    if first in ONE and not (len(noun) > 1 and noun[1].lower() in MORE):
        return False
    irregular = last in ("men", "women", "people", "children", "feet", "teeth", "geese", "mice", "policemen", "firemen")
    return first in MORE or irregular or (last.endswith("s") and not last.endswith(("ss", "us", "is")))
