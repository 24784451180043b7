"""Carry out `simlab verify`: check a store against its ledger, or its calculation, or one campaign by a replay.

The ledger is the file in a sweep's folder that records all blocks of campaigns; the store holds the measures.
`carry_out` returns a `VerifiedStore`; `write` makes text, JSON or CSV of it.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from simlab.answers.verify import ReplayedCampaign, StoreCheck
from simlab.commands import saved_answers
from simlab.commands.exit_codes import DONE, RESERVED
from simlab.commands.next_steps import add_next_step, report_words
from simlab.commands.stores import find_store
from simlab.commands.typed_commands import Given, Launched
from simlab.drawing.text import soundness
from simlab.drawing.text.tables import Form
from simlab.engine import ledger
from simlab.engine.ledger_file import DamagedLedger
from simlab.store import calculations, readme, verifying
from simlab.store.folder import store_in
from simlab.store.interrupted_runs import own_measures
from simlab.store.measures import Measures
from simlab.store.wholeness import remedy
from simlab.types import InputError


class VerifiedStore(NamedTuple):
    """Result of verifying: as a record, as a page for people, and the exit code."""

    record: StoreCheck | ReplayedCampaign
    page: str
    code: int


def carry_out(
    folder: Path | None, *, replay: str | None = None, plugins: Sequence[str] = (), debug: bool = False
) -> VerifiedStore:
    """Check a store, or with `replay` carry out one of its campaigns again.

    Raises InputError where there is nothing that can be checked or carried out.
    """
    where = find_store(folder)
    if replay is not None:
        from simlab.commands import replay as replays

        return VerifiedStore(*replays.carry_out(where, replay, plugins=plugins, debug=debug))
    if not (where / ledger.FILE).exists():
        if calculated := calculations.verify(where):
            text = soundness.describe_calculation_check(*calculated)
            page = _add_command(text, where) if calculated[1] else add_next_step(text, *report_words(where))
            return _make_check(page, text, not calculated[1])
        if (path := store_in(where)) is not None:
            raise InputError(f"{where}: {remedy(path)}")
    report = verifying.verify(where, bind_own_measures(where))
    page = _add_next(soundness.describe_studies_check(report), where, report)
    return _make_check(page, soundness.describe_studies_check(report, most=None), not report.problems)


def write(store: VerifiedStore, form: Form, given: Given) -> Launched:
    """Format the result as table, csv or json; JSON has the check of a store as a list of one record."""
    if form == "table":
        return Launched(store.page, code=store.code)
    plain = store.record.serialise()
    text = json.dumps([plain] if isinstance(store.record, StoreCheck) else plain, indent=1)
    return Launched(saved_answers.format_csv(text) if form == "csv" else text, code=store.code)


def _make_check(page: str, lines: str, sound: bool) -> VerifiedStore:
    """Return the answer on a store; `lines` has a line for each problem, and a last one on what was checked."""
    *problems, checked = lines.splitlines()
    record = StoreCheck(sound=sound, checked=checked, problems=tuple(problems))
    return VerifiedStore(record, page, DONE if sound else RESERVED)


def _add_next(text: str, where: Path, report: verifying.StoreReport) -> str:
    """Add the next command: the sweep's own to mend a folder with problems, `merge` for shards, else `report`."""
    if report.problems:
        return text if report.lost else _add_command(text, where)
    return add_next_step(text, *(["merge", f"{where}-merged", str(where)] if report.shards else report_words(where)))


def _add_command(text: str, where: Path) -> str:
    """Add the command that filled a folder, which mends it, if the folder's README names it."""
    made = readme.read_command(where)
    try:
        words = shlex.split(made)
    except ValueError:
        words = []
    if words[:1] == ["simlab"] and words[1:2] in (["sweep"], ["run"]) and made.isprintable():
        return add_next_step(text, *words[1:], "--out", where)
    return f"{text}\n\nthe same `simlab sweep` or `simlab run`, with --out {where}, mends it"


def bind_own_measures(where: Path) -> Measures:
    """Return the measures of a sweep that are simlab's own, to recompute; those of plug-ins are checksummed only."""
    try:
        with ledger.reading(where) as book:
            return own_measures(book)[0]
    except DamagedLedger:
        return {}
