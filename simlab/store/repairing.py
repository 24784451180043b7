"""Mend a folder from its ledger: give up what cannot be used, lay the store anew, say what is lost."""

from __future__ import annotations

from pathlib import Path

from simlab.engine import ledger
from simlab.engine.block_checks import unusable
from simlab.engine.failures import cell_names
from simlab.engine.ledger import FILE, STORE, Ledger
from simlab.engine.ledger_file import EmptyLedger
from simlab.engine.provenance import LOST
from simlab.measures.labels import LABELS
from simlab.store import readme
from simlab.store.folder import settle, store_in
from simlab.store.kept import own_measures, refuse_strange_declaration
from simlab.store.measures import Measures
from simlab.store.verifying import Report, lost_cells, of_emptied, verify
from simlab.store.wholeness import GONE, remedy
from simlab.store.writing import lay_store
from simlab.types import InputError


def repair(folder: Path) -> tuple[Report, list[str]]:
    """Rebuild the store of a folder from its ledger; return what is wrong then, and a line for each thing done.

    Raises InputError where the folder has no ledger, another run is at it or the disk takes nothing.
    """
    if not (folder / FILE).is_file():
        raise InputError(_without_ledger(folder))
    try:
        with ledger.writing(folder, lambda book: None) as book:
            settle(folder)
            given_up, lost = _give_up(book)
            done = [*(book.salvaged.describe() if book.salvaged else ()), *given_up]
            if lost:
                return Report(len(book.entries()), 0, 0, tuple(lost)), done
    except EmptyLedger as error:
        return of_emptied(folder, error), []
    report = verify(folder, _measures(folder))
    if any(STORE in problem for problem in report.problems):
        done += _lay(folder)
        report = verify(folder, _measures(folder))
    return report, done


def _without_ledger(folder: Path) -> str:
    path = store_in(folder)
    if path is not None and remedy(path) == GONE:
        return f"{folder}: {GONE}"
    return f"{folder} has no {FILE} to repair it from; the same command lays its store anew"


def _measures(folder: Path) -> Measures:
    """Bind the built-in measures that the sweep of a folder declares."""
    with ledger.reading(folder) as book:
        return own_measures(book)[0]


def _give_up(book: Ledger) -> tuple[list[str], list[str]]:
    """Give up damaged rows and blocks; return what was done, and what is lost that stands in the way of more."""
    done, records = [], book.damaged()
    names = cell_names(book) if not book.is_damaged("sweep") else {}
    rows = list(unusable(book))
    if rows:
        book.discard([row for row, _ in rows])
        done += [f"given up: {_named(names, row.block.address.cell)}{row.block.address}: {why}" for row, why in rows]
    unasked = [] if book.is_damaged("sweep") else book.wanted().lost
    if records or unasked:
        book.give_up(records)
        done += [f"given up: {record}: its checksum does not hold" for record in records]
    if book.declaration() is None:
        return done, [f"{FILE} does not say any more what its sweep is; the same command writes it anew"]
    done += [_taken(names, cell) for cell in unasked if cell in names]
    if book.provenance() == [LOST]:
        book.note_provenance(LOST)
    refuse_strange_declaration(book)
    # A store without these cells would take the place of one that may be whole.
    return done, lost_cells(book, {})


def _taken(names: dict[str, str], cell: str) -> str:
    which = names[cell].removesuffix(", ") or "the cell"
    return f"lost: what was asked of {which}: from now on all is wanted of it that its sweep declares"


def _named(names: dict[str, str], cell: str) -> str:
    return names.get(cell, "unknown cell, ")


def _lay(folder: Path) -> list[str]:
    """Lay the store of a folder anew; the page beside it, which names a command, stays where there is one."""
    with ledger.writing(folder) as book:
        if next(book.blocks(), None) is None:
            return []
        measures, others = own_measures(book)
        lay_store(book, measures, LABELS)
        # The page beside it names a command that only the one who gave it knows.
        lacking = not (folder / readme.PAGE).exists()
        notes = readme.write(folder, readme.of_studies(book.declaration() or {}, LABELS, "")) if lacking else []
    left_out = [f"left out: {name}: a measure of a plug-in; the same command adds it" for name in others]
    return [f"{STORE} is laid anew from the ledger", *left_out, *notes]
