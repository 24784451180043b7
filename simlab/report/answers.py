"""Answer the questions that are asked of a store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from simlab import store
from simlab.query import query as found_in
from simlab.query import select
from simlab.report import cells, tables, view
from simlab.report.launch import known_measures, note
from simlab.report.tables import Form
from simlab.types import InputError

if TYPE_CHECKING:
    import xarray as xr


def query(folder: Path | None, words: Sequence[str], names: Sequence[str], form: Form) -> str:
    """Write the measures of the cells that meet the conditions; those not stored are computed from the outcomes."""
    place = _folder(folder)
    with _opened(place, ()) as dataset:
        conditions, axes = view.conditions(dataset, words), store.axes_of(dataset)
        wanted = list(names) or list(store.measures_of(dataset))
        lacking = [name for name in wanted if name not in store.measures_of(dataset)]
    records = found_in(place, conditions, wanted, known=known_measures(lacking))
    return cells.table(records, axes, wanted) if form == "table" else tables.write(records, form)


def compare(
    folder: Path | None, words: Sequence[str], by: str, measure: str | None, baseline: str | None, form: Form
) -> str:
    """Write the paired differences between the designs along an axis."""
    from simlab.compare import compare as contrasts
    from simlab.report import comparison

    with _opened(_folder(folder), words) as dataset:
        axis, name = view.axis(dataset, by), view.chosen(dataset, measure)
        against = None if baseline is None else select(dataset, {axis: [baseline]})[axis].values.item()
        rows = contrasts(dataset, by=axis, measure=name, baseline=against)
        if form != "table":
            return tables.write(comparison.records(rows, axis, name), form)
        return comparison.table(rows, axis, name, str(dataset[name].attrs["cluster"]))


def plot(folder: Path | None, words: Sequence[str], out: Path | None, measure: str | None) -> str:
    """Draw the figure of a sweep; return the name of its file."""
    from simlab.report import figures

    if out is not None:
        figures.check_suffix(out)
    place = _folder(folder)
    with _opened(place, words) as dataset:
        file = out or place / "figure.png"
        figures.plot(dataset, file, measure)
    return str(file)


def verify(folder: Path | None) -> tuple[str, bool]:
    """Check a store, its measures computed anew; return a line per check and whether all is well."""
    from simlab import ledger
    from simlab.verify import verify as checked

    place = _folder(folder)
    with ledger.reading(place) as book:
        declared = book.declaration() or {}
    report = checked(place, known_measures(declared.get("measures", ())))
    lines = [
        f"{report.cells} cells, {report.blocks} blocks and {report.arrays} arrays of {place} were checked",
        *report.problems,
    ]
    summary = "all is well" if not report.problems else f"{len(report.problems)} problems"
    return "\n".join([*lines, summary]), not report.problems


def _folder(folder: Path | None) -> Path:
    if folder is not None:
        return folder
    found = store.last_store()
    note(f"store: {found}")
    return found


@contextmanager
def _opened(folder: Path, words: Sequence[str]) -> Iterator[xr.Dataset]:
    """Open a store narrowed to the cells that meet conditions; say on stderr what its errors leave out."""
    with store.open_results(folder) as dataset:
        if condition := view.condition(dataset):
            note(condition)
        yield select(dataset, view.conditions(dataset, words))
