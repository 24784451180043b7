"""Answer whether a store is what its ledger says, or its calculation gives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from simlab.commands.next_steps import ended, reported
from simlab.commands.stores import named
from simlab.drawing.text import soundness
from simlab.engine import ledger
from simlab.engine.ledger_file import DamagedLedger
from simlab.store import calculations, verifying
from simlab.store.kept import own_measures
from simlab.store.measures import Measures
from simlab.types import InputError


class Checked(NamedTuple):
    """Hold what a check came to: a page for people, all its lines for programs, and whether all is well."""

    text: str
    lines: str
    sound: bool


def answer(folder: Path | None, conditions: Sequence[str], *, repair: bool = False) -> Checked:
    """Check a store, or with `repair` rebuild it from its ledger.

    Raises InputError for conditions, and where there is nothing that can be checked or repaired.
    """
    if conditions:
        raise InputError(f"verify checks a whole store; leave out {conditions[0]}")
    where = named(folder)
    if repair:
        return _repaired(where)
    if not (where / ledger.FILE).exists() and (calculated := calculations.verify(where)):
        text = soundness.of_calculation(*calculated)
        return Checked(text if calculated[1] else ended(text, *reported(where)), text, not calculated[1])
    report = verifying.verify(where, own(where))
    page = ended(soundness.of_studies(report), *_following(where, report))
    return Checked(page, soundness.of_studies(report, most=None), not report.problems)


def _following(where: Path, report: verifying.Report) -> list[str]:
    """Return the next command: what is broken is mended, shards are brought together, a store is made a report of."""
    if report.problems:
        return ["verify", str(where), "--repair"]
    return ["merge", f"{where}-merged", str(where)] if report.shards else reported(where)


def _repaired(where: Path) -> Checked:
    from simlab.store import repairing

    report, done = repairing.repair(where)
    text, lines = (soundness.of_studies(report, done, most) for most in (soundness.MOST, None))
    return Checked(text if report.problems else ended(text, *reported(where)), lines, not report.problems)


def own(where: Path) -> Measures:
    """Bind the measures of a sweep that are simlab's own: parts of plug-ins are held against their checksums only."""
    try:
        with ledger.reading(where) as book:
            return own_measures(book)[0]
    except DamagedLedger:
        return {}
