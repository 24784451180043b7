"""Answer whether a store is what its ledger says, or its calculation gives."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from simlab.commands.next_steps import ended, reported
from simlab.commands.stores import named
from simlab.drawing.text import soundness
from simlab.engine import ledger
from simlab.engine.ledger_file import DamagedLedger
from simlab.store import calculations, readme, verifying
from simlab.store.folder import store_in
from simlab.store.kept import own_measures
from simlab.store.measures import Measures
from simlab.store.wholeness import remedy
from simlab.types import InputError


class Checked(NamedTuple):
    """Hold what a check came to: a page for people, all its lines for programs, and whether all is well."""

    text: str
    lines: str
    sound: bool


def answer(folder: Path | None, conditions: Sequence[str]) -> Checked:
    """Check a store; raise InputError for conditions, and where there is nothing that can be checked."""
    if conditions:
        raise InputError(f"verify checks a whole store; leave out {conditions[0]}")
    where = named(folder)
    if not (where / ledger.FILE).exists():
        if calculated := calculations.verify(where):
            text = soundness.of_calculation(*calculated)
            page = _with_command(text, where) if calculated[1] else ended(text, *reported(where))
            return Checked(page, text, not calculated[1])
        if (path := store_in(where)) is not None:
            raise InputError(f"{where}: {remedy(path)}")
    report = verifying.verify(where, own(where))
    text = soundness.of_studies(report)
    return Checked(_with_next(text, where, report), soundness.of_studies(report, most=None), not report.problems)


def _with_next(text: str, where: Path, report: verifying.Report) -> str:
    """Add the next command: the sweep's own mends a folder, shards are merged, a store is made a report of."""
    if report.problems:
        return text if report.lost else _with_command(text, where)
    return ended(text, *(["merge", f"{where}-merged", str(where)] if report.shards else reported(where)))


def _with_command(text: str, where: Path) -> str:
    """Add the command that filled a folder, which mends it, as far as the page in the folder tells that."""
    made = readme.command_in(where)
    try:
        words = shlex.split(made)
    except ValueError:
        words = []
    if words[:1] == ["simlab"] and words[1:2] in (["sweep"], ["run"]) and made.isprintable():
        return ended(text, *words[1:], "--out", where)
    return f"{text}\n\nthe same `simlab sweep` or `simlab run`, with --out {where}, mends it"


def own(where: Path) -> Measures:
    """Bind the measures of a sweep that are simlab's own: parts of plug-ins are held against their checksums only."""
    try:
        with ledger.reading(where) as book:
            return own_measures(book)[0]
    except DamagedLedger:
        return {}
