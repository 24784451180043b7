"""Make the report of a sweep: its question, what it found, how sure that is, and what somebody needs to check it.

Call `report` with an open store, which returns a `Report`. Its numbers are those of `simlab query` and `simlab
compare`; nothing is estimated anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from simlab.drawing import view
from simlab.drawing.reports.sweeping import (
    answering,
    browsing,
    caveats,
    designs,
    exploring,
    methods,
    mistakes,
    origin,
)
from simlab.drawing.reports.sweeping.store_view import StoreView, view_store
from simlab.drawing.reports.terms import Block, Explorer, Prose, Report, Section

if TYPE_CHECKING:
    import xarray as xr


def report(
    dataset: xr.Dataset,
    folder: Path,
    doubts: Sequence[str] = (),
    plugins: Sequence[str] = (),
    numbers: browsing.Numbers | None = None,
) -> Report:
    """Make the report of an open store in `folder`.

    `doubts` are lines of checks of the store, which stand before all reservations. Parts of the packages `plugins` are
    described by their docstrings; of others only their names are known. `numbers` has the number of each cell in the
    ledger, by its values on the axes; None where there is no ledger.
    """
    seen = view_store(dataset, plugins)
    sweep = view.read_declaration(dataset)
    aim = " ".join(str(sweep.get("aim") or "").split())
    title = str(sweep.get("name") or folder.name)
    rows = exploring.rows(seen)
    walked = browsing.section(seen, dataset, folder, numbers)
    question = _question(aim) or f"What do studies of {title.replace('_', ' ')} conclude?"
    return Report(
        title,
        question,
        answering.sentences(seen),
        tuple(_sections(seen, folder, question, aim, exploring.explorer(seen, question, rows), walked)),
        list(rows),
        answering.list_key_figures(seen),
        caveats.list_fixed(seen),
        caveats.reservations(seen, doubts),
        origin.reproduce(seen, folder),
        methods.references(seen),
        answering.paragraph(seen),
        provenance=origin.provenance(seen),
    )


def _question(aim: str) -> str:
    """Return the first sentence of an aim: what the sweep asks."""
    for end in ("?", "."):
        if end in aim:
            return aim.partition(end)[0] + end
    return aim


def _sections(
    seen: StoreView, folder: Path, question: str, aim: str, explorer: Explorer | None, walked: Section | None
) -> list[Section]:
    """List the sections of a report; `walked` is the one that leads from cells to worlds and campaigns."""
    figure = _figure(seen, question, aim, explorer)
    compared = answering.sections(seen, origin.compare_command(seen, folder))
    shown = [designs.section(seen), figure, *compared, mistakes.section(seen), walked]
    behind = [_finding_section(seen), methods.section(seen), designs.shared_section(seen), origin.config(seen)]
    return [section for section in (*shown, *behind) if section]


def _figure(seen: StoreView, question: str, aim: str, explorer: Explorer | None) -> Section | None:
    """Show the sweep's figure; of a single cell all its measures."""
    more = aim.removeprefix(question).strip()
    blocks: list[Block] = [Prose(more)] if more else []
    if explorer is not None:
        return Section("Figures", (*blocks, explorer))
    return Section("Measures", (*blocks, exploring.all_measures(seen))) if seen.measures else None


def _finding_section(seen: StoreView) -> Section | None:
    """Repeat what the sweep's own file says that it found, which need not be of this run."""
    finding = " ".join(str(view.read_declaration(seen.dataset).get("finding") or "").split())
    note = "From the file of the sweep, of the run that is named there; other sizes or seeds give other numbers:"
    return Section("What its file says", (Prose(note), Prose(finding)), folded=True) if finding else None
