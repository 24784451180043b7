"""Types of trials of metrics (a sentence, its corruption, references), kinds of corruptions, and helpers of readers.

Readers return `CollectedTrials`, which holds `Trials`, one for each corruption and number of references.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from simlab import files
from simlab.messages import clip, suggest
from simlab.types import InputError

Kind: TypeAlias = Literal["altering", "disrupting", "preserving"]
"""Kind of a corruption; see `KINDS`."""

KINDS: tuple[Kind, ...] = ("altering", "disrupting", "preserving")
"""A corruption alters the meaning, disrupts the fluency, or preserves both."""

MAX_BYTES = 1 << 25
"""Most bytes of a file; it is held in memory, many times its size. Published files have some hundred kilobytes."""

KNOWN: Mapping[str, Kind] = {
    "neg_subj": "altering", "neg_verb": "altering", "sem_opps": "altering", "shuffled": "altering",
    "double_PP": "disrupting", "remove_prep": "disrupting", "swap_chunks": "disrupting",
    "det_sub": "preserving", "near_syms": "preserving", "passive": "preserving",
}  # fmt: skip
"""Kinds of the published corruptions (paper, section 4); `shuffled` re-orders words so that roles swap."""


@dataclass(frozen=True, slots=True)
class Trials:
    """Trials of one corruption with one number of references.

    `name[trial]` says where a trial comes from, `original[trial]` and `corrupted[trial]` are sentences, and
    `references[trial]` are at most `n_references` sentences, at least one.
    """

    corruption: str
    kind: Kind
    n_references: int
    name: tuple[str, ...]
    original: tuple[str, ...]
    corrupted: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class CollectedTrials:
    """Trials, and notes for the user, such as on trials that their reader left out."""

    trials: tuple[Trials, ...]
    notes: tuple[str, ...]


def find_kind(word: str, where: str) -> Kind:
    """Return the kind that a word names: a kind itself, or a published corruption; raises InputError for another."""
    for kind in KINDS:
        if word == kind:
            return kind
    if word in KNOWN:
        return KNOWN[word]
    raise InputError(f"{where}: the kind {word[:40]!r} is none; {suggest(word, (*KINDS, *KNOWN))}")


def check_named(named: Mapping[str, Kind], corruptions: Collection[str]) -> None:
    """Raise InputError where a kind is given for a corruption that has no trials."""
    for corruption in named:
        if corruption not in corruptions:
            raise InputError(f"--kind {corruption}=...: no trials are of it; {suggest(corruption, corruptions)}")


def refuse_double_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Make the mapping of a record of JSON; raise InputError for a key that it has twice, with values that differ."""
    record = dict(pairs)
    # A file of the published trials says the same thing twice.
    if twice := next((name for name, value in pairs if value != record[name]), None):
        raise InputError(f"the key {clip(twice, 40)} is there twice in a record; keep one")
    return record


def read_text(file: Path) -> str:
    """Return the text of a file of trials; raises InputError where it is missing, too large, or not UTF-8."""
    where = clip(file)
    return files.text(files.content(file, where, most=MAX_BYTES, remedy="give trials as text"), where)


def drop_blanks(references: Sequence[str]) -> tuple[str, ...]:
    """Keep the references that are not blank."""
    return tuple(reference for reference in references if reference.strip())
