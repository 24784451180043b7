"""Read the outcomes of every cell's campaigns from a ledger, and compute its measures, in the order of the grid.

`read_cells` takes a ledger and its grid (`size`) and yields summaries of cells run by run (a *run* is neighbouring
cells that are written together), so that outcomes are never all in memory; a `Tally` collects facts on all cells.
Cells are independent of each other, so many of them are read in worker processes, which are handed the bytes of blocks
and hand back arrays. Results come in the order of the cells, whichever process read them.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any, NamedTuple

import numpy as np

from simlab.engine.ledger import Ledger, LedgerRow
from simlab.store.layout import Cut, Grid, Run, gather, make_empty, spread
from simlab.store.measures import Columns, Measures, Position, columns, estimate
from simlab.store.reservations import Undivided, count_undivided
from simlab.types import OK, Array, Floats, Ints, Outcome

BATCH = 50
"""Cells that are read at a time."""
MANY = 1000
"""Number of cells from which on worker processes pay: their start takes as long as to read some hundred cells."""
AHEAD = 3
"""Batches of cells that are handed out at a time, per worker."""
MOST_HELD = 64 * 2**20
"""Most bytes of influence values that are kept in memory; more go to a file."""


class LedgerCell(NamedTuple):
    """Content of a ledger about a cell: its rows, its config and its number of systems."""

    rows: tuple[LedgerRow, ...]
    config: Mapping[str, Any]
    n_systems: int


class CellSummary(NamedTuple):
    """Summary of cells: measures of all, outcomes `[row, ...]` of those cells, by index, that have them.

    `failed[cell]` is the share of campaigns that failed, NaN where a cell has none; `document_set[replicate]` is None
    where cells differ in it; `undivided[cell]` counts campaigns in which all systems have one estimate, of cells where
    most do. `present[name]` are the cells, by index, that have an outcome.
    """

    measures: Columns
    failed: Floats
    undivided: Mapping[int, Undivided]
    document_set: Array | None
    present: Mapping[str, Ints]
    outcomes: Mapping[str, Array]


class CellBatch(NamedTuple):
    """Cells of a run, and the place of the first of them in it."""

    run: Run
    first: int
    cells: tuple[LedgerCell, ...]


def read_cells(
    book: Ledger, size: Grid, cut: Cut, measures: Measures, wanted: Collection[str], jobs: int = 1
) -> Iterator[tuple[Run, list[tuple[int, CellSummary]]]]:
    """Yield, run by run, the summaries of its cells: each batch with the place of its first cell in the run.

    `measures` are computed of each cell, and the outcomes `wanted` are kept, by name. Raises InputError where a block
    is torn or holds what is not declared.
    """
    summarise = partial(_summarise, replace(size, entries={}), measures, frozenset(wanted))
    summaries = summarise_batches(summarise, _batches(book, size, cut), jobs if len(size.entries) >= MANY else 1)
    for run, parts in itertools.groupby(summaries, key=lambda pair: pair[0].run):
        yield run, [(batch.first, summary) for batch, summary in parts]


def slab(size: Grid, run: Run, parts: Sequence[tuple[int, CellSummary]]) -> dict[str, Array]:
    """Return the outcomes of a run as arrays over its cells, filled with the empty value where a cell has none.

    `parts` are the summaries of `read_cells`: each with the place of its first cell in the run.
    """
    laid: dict[str, Array] = {}
    for first, summary in parts:
        for name, arrays in summary.outcomes.items():
            if name not in laid:
                shape = (np.prod(run.shape, dtype=int), *arrays.shape[1:])
                laid[name] = make_empty(shape, name, size.outcomes[name])
            laid[name][first + summary.present[name]] = arrays
    return {name: array.reshape(*run.shape, *array.shape[1:]) for name, array in laid.items()}


def summarise_batches(
    work: Callable[[Sequence[LedgerCell]], CellSummary], batches: Iterable[CellBatch], jobs: int
) -> Iterator[tuple[CellBatch, CellSummary]]:
    """Yield each batch with its summary by `work`, in their order, by `jobs` processes, a few batches at a time."""
    if jobs < 2:
        yield from ((batch._replace(cells=()), work(batch.cells)) for batch in batches)
        return
    from simlab.engine.backends.children import ChildDied, call_in_child, fresh_start_token

    start = fresh_start_token()

    def call_child(batch: CellBatch) -> CellSummary:
        # What a child that was killed had in hand is read here.
        with suppress(ChildDied):
            summary: CellSummary = call_in_child(start, work, batch.cells)
            return summary
        return work(batch.cells)

    # Joblib would take the batches in threads of its own, and the ledger is read in this one.
    with ThreadPoolExecutor(jobs) as executor:
        out: deque[tuple[CellBatch, Future[CellSummary]]] = deque()
        for batch in batches:
            out.append((batch._replace(cells=()), executor.submit(call_child, batch)))
            if len(out) >= AHEAD * jobs:
                first, summary = out.popleft()
                yield first, summary.result()
        yield from ((first, summary.result()) for first, summary in out)


def agree_on_sets(sets: Iterable[Array], replicates: int, outcome: Outcome) -> Array | None:
    """Return the document sets `[replicate]` on which all cells that know them agree; None where they differ."""
    document_set = np.full(replicates, outcome.fill, outcome.dtype)
    for of_cell in sets:
        known = of_cell != outcome.fill
        if np.any(known & (document_set != outcome.fill) & (document_set != of_cell)):
            return None
        document_set = np.where(known, of_cell, document_set)
    return document_set


def _batches(book: Ledger, size: Grid, cut: Cut) -> Iterator[CellBatch]:
    for run in cut.runs(size.shape):
        positions = run.positions()
        first = 0
        while here := list(itertools.islice(positions, BATCH)):
            yield CellBatch(run, first, tuple(_cell(book, size, position) for position in here))
            first += len(here)


def _cell(book: Ledger, size: Grid, position: tuple[int, ...]) -> LedgerCell:
    entry = size.entries.get(position)
    if entry is None:
        return LedgerCell((), {}, 0)
    # All that is read of a config is its design: what else there is need not travel.
    return LedgerCell(tuple(book.blocks(entry.cell)), {"design": entry.config.get("design", {})}, len(entry.systems))


def _summarise(size: Grid, measures: Measures, wanted: Collection[str], cells: Sequence[LedgerCell]) -> CellSummary:
    computed, failed, same, sets = [], np.full(len(cells), np.nan), {}, []
    present: dict[str, list[int]] = {}
    laid: dict[str, list[Array]] = {}
    for k, cell in enumerate(cells):
        outcomes = gather(cell.rows, cell.config, size.outcomes)
        computed.append(estimate(measures, outcomes, size.outcomes) if outcomes else {})
        if not outcomes:
            continue
        failed[k] = float(np.mean(outcomes["status"] != OK))
        if (undivided := count_undivided(outcomes)) is not None:
            same[k] = undivided
        of_sets = spread(outcomes, "document_set", size, cell.n_systems)
        sets.append(of_sets)
        for name in outcomes.keys() & wanted:
            present.setdefault(name, []).append(k)
            spreading = of_sets if name == "document_set" else spread(outcomes, name, size, cell.n_systems)
            laid.setdefault(name, []).append(spreading)
    return CellSummary(
        columns(list(measures), computed),
        failed,
        same,
        agree_on_sets(sets, size.sizes["replicate"], size.outcomes["document_set"]),
        {name: np.array(of) for name, of in present.items()},
        {name: np.stack(arrays) for name, arrays in laid.items()},
    )


class Tally:
    """Collect the measures and other facts on all cells that must be known before the store's tables are written.

    `present[name]` lists the cells that have an outcome; `document_set[replicate]` is None where cells differ in it;
    `failed[cell]` is the share of campaigns that failed, `undivided[cell]` is as in
    `CellSummary`.
    """

    def __init__(self, size: Grid, measures: Sequence[str], folder: Path | None) -> None:
        """Start with nothing; `folder` takes a file of influence values until it is known how many there are."""
        self._size = size
        self._held: list[Columns] = []
        self._influence = InfluenceFile(folder)
        self._n_measures = len(measures)
        self.present: dict[str, list[Position]] = {"status": []}
        self.failed: dict[Position, float] = {}
        self.undivided: dict[Position, Undivided] = {}
        self.document_set: Array | None = np.full(
            size.sizes["replicate"], size.outcomes["document_set"].fill, size.outcomes["document_set"].dtype
        )

    def close(self) -> None:
        """Discard the influence values."""
        self._influence.close()

    def take(self, run: Run, parts: Sequence[tuple[int, CellSummary]]) -> None:
        """Take in the summaries of a run's cells."""
        positions = list(run.positions())
        for first, summary in parts:
            # Influence values are most of what cells say, and lie in a file where they are many.
            self._held.append(summary.measures._replace(influence=np.empty((0, 0, 0))))
            self._influence.add(summary.measures.influence)
            there = np.flatnonzero(np.isfinite(summary.failed)).tolist()
            self.failed |= {positions[first + k]: float(summary.failed[k]) for k in there}
            self.undivided |= {positions[first + k]: count for k, count in summary.undivided.items()}
            for name, of in summary.present.items():
                self.present.setdefault(name, []).extend(positions[first + k] for k in of.tolist())
            if self.document_set is not None and there:
                sets = None if summary.document_set is None else [self.document_set, summary.document_set]
                outcome = self._size.outcomes["document_set"]
                self.document_set = None if sets is None else agree_on_sets(sets, len(self.document_set), outcome)

    def columns(self) -> Columns:
        """Return the measures of all cells but their influence."""
        value, mcse, n = (
            np.concatenate([getattr(part, what) for part in self._held], axis=1) for what in ("value", "mcse", "n")
        )
        clusters = [frozenset().union(*(part.clusters[j] for part in self._held)) for j in range(self._n_measures)]
        failed = [_sum_failures([part.failed[j] for part in self._held]) for j in range(self._n_measures)]
        return Columns(value, mcse, n, np.empty((0, 0, 0)), tuple(clusters), tuple(failed))

    @property
    def n_clusters(self) -> int:
        """Count the clusters of the measure that has most."""
        return self._influence.n_clusters

    def influence(self, measure: int, runs: Iterator[Run]) -> Iterator[tuple[Run, Floats]]:
        """Yield the influence on a measure, by its number, run by run: `[axis, ..., cluster]`."""
        rows = self._influence.rows(measure)
        for run in runs:
            n_cells = int(np.prod(run.shape))
            taken = np.array(list(itertools.islice(rows, n_cells))).reshape(*run.shape, self.n_clusters)
            yield run, taken


class InfluenceFile:
    """Keep influence values, in memory while they are few, else in a file that has no name and goes by itself."""

    def __init__(self, folder: Path | None) -> None:
        """Start with none."""
        where = None if folder is None else str(folder)
        self._file: Any = SpooledTemporaryFile(max_size=MOST_HELD, dir=where)  # noqa: SIM115 (closed by `close`)
        self._shapes: list[tuple[int, ...]] = []
        self.n_clusters = 0

    def close(self) -> None:
        """Let go of them."""
        self._file.close()

    def add(self, influence: Floats) -> None:
        """Keep `influence[measure, cell, cluster]`."""
        self._file.write(np.ascontiguousarray(influence).tobytes())
        self._shapes.append(influence.shape)
        self.n_clusters = max(self.n_clusters, influence.shape[-1])

    def rows(self, measure: int) -> Iterator[Floats]:
        """Yield the influence on a measure cell by cell, NaN where a cell has fewer clusters than others."""
        begin = 0
        for measures, cells, clusters in self._shapes:
            n_bytes = 8 * cells * clusters
            self._file.seek(begin + measure * n_bytes)
            values = np.frombuffer(self._file.read(n_bytes)).reshape(cells, clusters)
            padded = np.full((cells, self.n_clusters), np.nan)
            padded[:, :clusters] = values
            yield from padded
            begin += measures * n_bytes


def _sum_failures(counts: Sequence[tuple[int, str]]) -> tuple[int, str]:
    """Add up in how many cells a measure failed, with the first reason."""
    return sum(count for count, _ in counts), next((why for count, why in counts if count), "")
