"""Records of `simlab show FOLDER`: the stores in a folder, as they describe themselves."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from simlab.answers.records import Count, Num, Record, Rows


class StoredSweep(Record):
    """A store: its question, its axes with their values, and how far and how precisely it was filled.

    `done` of the `asked` cells have all campaigns that were asked. `mcse` is the largest Monte-Carlo standard error of
    `measure`, the first one; NaN where none is known. `dirty`: numbers come from files of simlab that no commit holds.
    `drawn` holds the law of each key that worlds draw, `adapted` says which sizes were fitted to a recorded table
    (empty: none). `bytes` lie on the disk. `problem` says why a store could not be read; nothing else is known of it
    then.
    """

    store: str
    sweep: str
    question: str
    axes: dict[str, tuple[Any, ...]]
    drawn: dict[str, str] = Field(default_factory=dict)
    done: Count
    asked: Count
    measure: str
    mcse: Num
    simlab: str
    commit: str
    dirty: bool
    bytes: Count
    command: str
    adapted: str
    problem: str | None


class StoredSweeps(Rows[StoredSweep]):
    """Stores of a folder, in natural order of their names."""
