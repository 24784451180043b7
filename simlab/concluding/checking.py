"""Check a table before its scores are shown: its contents, its plan, and the promise of the analysis.

Call `check` with the table and the options of `conclude`, which returns a `TableCheck`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from simlab.answers.conclude import Conclusion, Promise
from simlab.concluding.concluding import conclude_once, recognise_question
from simlab.concluding.options import ConcludeOptions
from simlab.concluding.plan_compliance import conclude_collected, is_unfinished, reading
from simlab.tables.names import KEPT

TELLING = ("ties", "range", "far")
"""Keys of the record of a table that reveal scores or votes."""


class TableCheck(NamedTuple):
    """Contents of a table, and the promise about its claims; nothing that its scores or votes show.

    `read` is as in a conclusion, without its keys on scores. `planned` and `collected` count answers, and `deviations`
    are sentences on where the table leaves its plan (None, empty: there is no plan). `finished` is False where claims
    wait for more answers; `unlisted` says why missing answers could not be listed ("": they were). `notes` are on names
    that may be gaps.
    """

    question: str
    read: Mapping[str, Any]
    systems: tuple[str, ...]
    unit: str
    promise: Promise
    planned: int | None = None
    collected: int | None = None
    deviations: tuple[str, ...] = ()
    finished: bool = True
    unlisted: str = ""
    notes: tuple[str, ...] = ()

    def record(self) -> dict[str, Any]:
        """Return the check as a JSON record."""
        promise = {name: getattr(self.promise, name) for name in ("name", "level", "multiplicity", "says")}
        rest = {
            name: value
            for name, value in self._asdict().items()
            if name not in ("promise", "planned", "collected", "unlisted", "notes")
        }
        plan = {"planned": self.planned, "collected": self.collected}
        plans = plan if self.planned is not None else None
        return {**rest, "read": dict(self.read), "promise": promise, "plan": plans, "notes": list(self.notes)}


def check(table: Path, wanted: ConcludeOptions) -> TableCheck:
    """Read a table as `conclude` would, without a record of the look.

    Raises InputError for everything that `conclude` would refuse.
    """
    # Simulated repetitions would only tell what scores show, which is not reported here.
    quick = replace(wanted, again=False, gate=False, exclude=())
    plan = wanted.plan
    if plan is None:
        conclusion = conclude_once(table, quick)
        return TableCheck(
            recognise_question(table, wanted),
            _drop_scores(conclusion.read),
            _names(conclusion),
            conclusion.unit,
            conclusion.promise,
            notes=_pick_name_notes(conclusion),
        )
    read = reading(table, quick, plan)
    conclusion = conclude_collected(read.collected, quick, plan, lambda words: None)
    return TableCheck(
        plan.question,
        _drop_scores(conclusion.read),
        tuple(read.collected.frame.system_names),
        conclusion.unit,
        conclusion.promise,
        read.planned,
        len(read.collected.seen.value),
        (*plan.changes, *read.deviations),
        not is_unfinished(read, plan),
        read.unlisted,
        _pick_name_notes(conclusion),
    )


def _pick_name_notes(conclusion: Conclusion) -> tuple[str, ...]:
    """Return the notes that speak of names alone; others may tell what scores are like."""
    # Whoever checks a table before its campaign ends must stay blind to results, or the check would be a look.
    return tuple(note for note in conclusion.notes if note.startswith(KEPT))


def _names(conclusion: Conclusion) -> tuple[str, ...]:
    return tuple(sorted(system.system for system in conclusion.systems))


def _drop_scores(read: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in read.items() if name not in TELLING}
