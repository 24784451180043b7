"""Generate trials that test a metric: plain sentences with references, each corrupted by every rule that fits it.

Call `read` on a file of sentences, `make` on the result, and `text`, which returns a file of trials as `plain.read`
reads them. `summary` counts them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from simlab.messages import suggest
from simlab.metric_tests.corruptions import RULES, corrupt
from simlab.metric_tests.lexicon import Lexicon
from simlab.metric_tests.plain import read_references, records, require_text
from simlab.metric_tests.trials import KNOWN, drop_blanks
from simlab.rng import stream
from simlab.types import InputError

NEEDED = ("sentence", "references")
"""Keys that every record needs."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """Correct sentence, its name, and references that mean the same."""

    name: str
    text: str
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CorruptedSentences:
    """Trials, each with the keys of a line of their file, and how many `sentences` each corruption was tried on."""

    trials: tuple[Mapping[str, object], ...]
    sentences: int
    corruptions: tuple[str, ...]


def read(file: Path) -> list[Sentence]:
    """Read sentences from .jsonl or .tsv: `sentence`, `references`, and `id` or else the line.

    Raises InputError for what is missing or malformed.
    """
    sentences = [
        Sentence(
            str(record.get("id", where.rsplit(" ", 1)[-1])),
            require_text(where, record, "sentence"),
            drop_blanks(read_references(where, record["references"])),
        )
        for where, record in records(file, NEEDED, "a sentence")
    ]
    if not sentences:
        raise InputError(f"{file}: it holds no sentences; write one per line, with {', '.join(NEEDED)}")
    return sentences


def choose_corruptions(names: str) -> tuple[str, ...]:
    """Return the corruptions of a comma-separated list, in their usual order; `all` stands for all of them."""
    words = [name.strip() for name in names.split(",") if name.strip()]
    if not words:
        raise InputError(f"--types {names!r} names none; for example --types neg_subj,passive, or all")
    for word in words:
        if word != "all" and word not in RULES:
            raise InputError(f"--types {word}: there is no such corruption; {suggest(word, (*RULES, 'all'))}")
    return tuple(RULES) if "all" in words else tuple(name for name in RULES if name in words)


def make(sentences: Sequence[Sentence], corruptions: Sequence[str], lexicon: Lexicon, seed: int) -> CorruptedSentences:
    """Corrupt each sentence in each way that fits it; random choices depend only on seed, corruption and sentence."""
    trials = []
    for name in corruptions:
        for sentence in sentences:
            rng = stream(seed, "corruption", name, sentence.text)
            corrupted = corrupt(rng, sentence.text, RULES[name], lexicon)
            if corrupted is not None:
                trials.append(_trial(name, sentence, corrupted))
    return CorruptedSentences(tuple(trials), len(sentences), tuple(corruptions))


def _trial(name: str, sentence: Sentence, corrupted: str) -> dict[str, object]:
    return {
        "id": sentence.name,
        "type": name,
        "kind": KNOWN[name],
        "original": sentence.text,
        "corruption": corrupted,
        "references": list(sentence.references),
    }


def summary(made: CorruptedSentences) -> list[dict[str, object]]:
    """Return a record for each corruption: the numbers of sentences with and without it, and the form that it needs."""
    counts = {name: sum(trial["type"] == name for trial in made.trials) for name in made.corruptions}
    return [
        {
            "corruption": name,
            "kind": KNOWN[name],
            "trials": count,
            "left_out": made.sentences - count,
            "needs": RULES[name].needs,
        }
        for name, count in counts.items()
    ]


def text(made: CorruptedSentences) -> str:
    """Return the trials as lines of JSON."""
    return "".join(json.dumps(trial, ensure_ascii=False) + "\n" for trial in made.trials)
