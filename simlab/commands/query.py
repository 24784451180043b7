"""Carry out `simlab query`: the cells of a store that meet conditions, with their measures.

A store is the folder that a sweep filled; a cell is one value of each of its axes. A `Query` opens the store when it is
answered: `answer` gives records for the command line (`write`), `dataset` what notebooks get.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from simlab.answers.query import WITHIN_ERROR, CellStatistics, QueriedCells
from simlab.commands import launch, query_statistics, query_words, stores
from simlab.commands.exit_codes import DONE, NOTHING, RESERVED
from simlab.commands.flags import Form, Setting, Store
from simlab.commands.next_steps import step, suggest_for_store
from simlab.commands.typed_commands import Given, Launched
from simlab.config.explaining import explain_measures
from simlab.drawing import view
from simlab.drawing.text import tables
from simlab.messages import word
from simlab.store.coordinates import restore_axis_values
from simlab.store.measures import FAILED
from simlab.store.opening import measures_of, name_axes
from simlab.store.query import build_views, records
from simlab.store.selections import CELL, Selection, gather, select_cells
from simlab.store.world_draws import read_laws
from simlab.types import InputError, Ints

if TYPE_CHECKING:
    import xarray as xr

MOST_ON_PAGE = 1000
"""Cells on a page for people; csv and json have all."""
MOST_NAMED = 3
"""Cells listed that miss a bound within their error, or that come nearest where none meets it."""


class QueriedStore(NamedTuple):
    """Cells that a query found, remarks on their store, the next command, and the exit code."""

    answer: QueriedCells
    remarks: stores.Remarks
    following: str
    code: int


class _Selected(NamedTuple):
    """A store narrowed to values of its axes, the measures wanted, and the cells that meet the bounds, if any are.

    `kept` are the indices of these cells in the flattened grid, in order; None where all are kept as they lie.
    """

    where: Path | xr.Dataset
    dataset: xr.Dataset
    names: Sequence[str]
    query: query_words.QuerySelection
    total: int
    selection: Selection | None
    kept: Ints | None


@dataclass(frozen=True)
class Query:
    """Query of a store, which is opened by `answer` and `dataset`.

    `store` None is the last one; `conditions` are on axes and measures, `measures` the names of those to show (None:
    all), `sort` is an axis or measure (-NAME: descending), `top` the number of cells to keep, `pivot` an axis whose
    values become columns. Raises InputError when answered: for a store, an axis, a value or a measure that is not
    there, and for words that are no condition.
    """

    store: Store | None
    conditions: Sequence[Setting] = ()
    measures: Sequence[str] | None = None
    sort: str | None = None
    top: int | None = None
    pivot: str | None = None

    @cached_property
    def place(self) -> tuple[Path | xr.Dataset, list[Setting]]:
        """Return the store and the conditions, told apart; print a note, once, where it is the last store."""
        return stores.choose(*query_words.split_store(self.store, self.conditions))

    def answer(self, most: int | None = None) -> QueriedStore:
        """Answer with the cells that meet the conditions, `most` of them at most."""
        with self._select() as selected:
            return self._describe(selected, most)

    def dataset(self) -> xr.Dataset:
        """Return measures over the axes; along `cell` where cells were selected by measures, sorted or cut."""
        with self._select() as selected:
            return _label(selected)

    def _describe(self, selected: _Selected, most: int | None) -> QueriedStore:
        dataset, names, selection = selected.dataset, selected.names, selected.selection
        n = math.prod(dataset.sizes[axis] for axis in name_axes(dataset))
        kept = np.arange(n) if selected.kept is None else selected.kept
        pivot = None if self.pivot is None else view.axis(dataset, self.pivot)
        bounded = dict.fromkeys(bound.name for bound in selected.query.bounds if bound.name not in name_axes(dataset))
        answer = QueriedCells(
            cells=tuple(_list_cells(selected, kept if most is None else kept[:most])),
            axes=name_axes(dataset),
            measures=tuple(names),
            clusters={name: view.cluster(dataset, name) for name in names},
            conditions=tuple(selected.query.words),
            bounded=tuple(bounded),
            sort=self.sort,
            pivot=pivot,
            pivoted=None if pivot is None else [*(self.measures or ()), *bounded, view.choose_measure(dataset)][0],
            kept=len(kept),
            found=n if selection is None else len(selection.matches),
            total=selected.total,
            drawn=read_laws(dataset),
            missed=0 if selection is None else len(selection.missed),
            missed_within_error=()
            if selection is None
            else tuple(_list_cells(selected, selection.missed[:MOST_NAMED])),
            nearest=() if selection is None else tuple(_list_cells(selected, selection.nearest[:MOST_NAMED])),
        )
        shown = dataset if selected.kept is None else gather(dataset, kept)
        failed = any(FAILED in dataset[name].attrs for name in names)
        code = NOTHING if not len(kept) else launch.judge_soundness(shown) or (RESERVED if failed else DONE)
        typed = [f"{axis}={','.join(map(word, values))}" for axis, values in selected.query.values]
        following = step(*suggest_for_store(dataset, selected.where, typed)) if isinstance(selected.where, Path) else ""
        return QueriedStore(answer, stores.remarks(shown), following, code)

    @contextmanager
    def _select(self) -> Iterator[_Selected]:
        where, wanted = self.place
        with stores.open_narrowed(where, ()) as whole:
            requested = query_words.read_conditions(whole, wanted)
            order = query_words.read_order(whole, self.sort)
            dataset = stores.narrow(whole, requested.values)
            compared = [*(bound.name for bound in requested.bounds), *([order.name] if order else [])]
            first = [name for name in compared if name not in name_axes(dataset)]
            # What is asked about stands beside the axes, unless an order of measures is asked for.
            every = [*self.measures, *first] if self.measures else [*first, *measures_of(dataset)]
            names = list(dict.fromkeys(every))
            if self.pivot is not None and len(self.measures or ()) > 1:
                raise InputError("--pivot shows one measure; name one with --measure")
            dataset, names = stores.add_named_measures(dataset, names)
            selection, kept = None, None
            if compared or self.top is not None:
                selection = select_cells(dataset, requested.bounds, order)
                kept = selection.matches[: self.top]
            total = math.prod(whole.sizes[axis] for axis in name_axes(whole))
            yield _Selected(where, dataset, names, requested, total, selection, kept)


def write(query: Query, form: Form, given: Given) -> Launched:
    """Format the cells of a query as table, csv or json, with notes on the store.

    `given` are the command's options by name: where one names a statistic, that is formatted instead.
    """
    if statistic := query_statistics.choose_statistic(given):
        return _write_statistics(query_statistics.compute_statistic(query, statistic, given), form)
    where, conditions = query.place
    query = replace(query, store=where, conditions=conditions, pivot=given.get("pivot"))
    queried = query.answer(MOST_ON_PAGE if form == "table" else None)
    notes = stores.gather_notes(queried.remarks)
    from simlab.drawing.reports.answers.query import name_nearest, report
    from simlab.drawing.reports.text import page

    if form != "table":
        return Launched(
            tables.write_tables(queried.answer, form), [*notes, *name_nearest(queried.answer)], queried.code
        )
    return Launched(f"{page(report(queried.answer))}\n\n{queried.following}".rstrip(), notes, queried.code)


def _write_statistics(statistics: CellStatistics, form: Form) -> Launched:
    if form == "json":
        return Launched(tables.write_tables(statistics, form))
    if form != "table":
        return Launched(tables.write(statistics.rows, form))
    from simlab.drawing.reports.answers.query_statistics import report
    from simlab.drawing.reports.text import page

    return Launched(page(report(statistics)))


def _list_cells(selected: _Selected, cells: Ints) -> list[dict[str, Any]]:
    """List cells, given by their indices in the flattened grid, as JSON has them."""
    dataset, axes = selected.dataset, name_axes(selected.dataset)
    if not axes or (selected.kept is None and len(cells) == math.prod(dataset.sizes[axis] for axis in axes)):
        return records(dataset, selected.names) if len(cells) else []
    rows = records(gather(dataset, cells), selected.names)
    at = np.unravel_index(cells, [dataset.sizes[axis] for axis in axes])
    values = [restore_axis_values(dataset[axis].values[k]) for axis, k in zip(axes, at, strict=True)]
    marks = _write_marks(selected, cells)
    return [
        dict(zip(axes, place, strict=True)) | {name: value for name, value in row.items() if name != CELL} | mark
        for place, row, mark in zip(zip(*values, strict=True), rows, marks, strict=True)
    ]


def _write_marks(selected: _Selected, cells: Ints) -> list[dict[str, str | None]]:
    """Name, of each cell, the bounds within whose error it lies; nothing where no measure is bounded."""
    bounds = [bound.text for bound in selected.query.bounds]
    if selected.selection is None or not bounds:
        return [{} for _ in cells]
    of_cells = selected.selection.straddling[:, cells].T.tolist()
    named = ("; ".join(text for text, marked in zip(bounds, of, strict=True) if marked) for of in of_cells)
    return [{WITHIN_ERROR: text or None} for text in named]


def _label(selected: _Selected) -> xr.Dataset:
    """Return the measures with errors, intervals and explanations, and the marks of cells near a bound."""
    import xarray as xr

    dataset, kept = selected.dataset, selected.kept
    if kept is None or selected.selection is None or not name_axes(dataset):
        views = build_views(dataset, selected.names)
    else:
        gathered = gather(dataset, kept)
        values = {axis: gathered[axis].variable for axis in name_axes(dataset)}
        views = build_views(gathered, selected.names).drop_vars(CELL).assign_coords(values)
        if selected.query.bounds:
            about = {"long_name": "bounds within whose error the cell lies"}
            marks = [mark[WITHIN_ERROR] or "" for mark in _write_marks(selected, kept)]
            views[WITHIN_ERROR] = xr.Variable(CELL, np.array(marks, str), about)
    for explained in explain_measures(selected.names):
        source = {"references": explained.source} if explained.source else {}
        views[explained.measure].attrs |= {"comment": explained.sentence, **source}
    return views
