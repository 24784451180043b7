"""Hear what the campaigns of every cell say, cell by cell, in the order of the grid: nothing of all cells is held.

Cells are independent of each other, so where there are many they are heard in worker processes, which are handed the
bytes of blocks and hand back arrays. What is said comes in the order of the cells whoever heard it.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from simlab.engine.ledger import Ledger, Row
from simlab.store.layout import Cut, Grid, Run, empty, gather, spread
from simlab.store.measures import Columns, Measures, columns, estimate
from simlab.store.undivided import Undivided, undivided
from simlab.types import OK, Array, Floats, Ints, Outcome

BATCH = 50
"""Cells that are heard at a time."""
MANY = 1000
"""Cells from which on to start worker processes pays: it takes about as long as to hear some hundred cells."""
AHEAD = 3
"""Batches that are handed out, by worker."""


class Cell(NamedTuple):
    """Hold what a ledger keeps of a cell."""

    rows: tuple[Row, ...]
    config: Mapping[str, Any]
    n_systems: int


class Said(NamedTuple):
    """Hold what cells say: measures of all of them, outcomes `[row, ...]` of those cells, by index, that have them.

    `failed[cell]` is the share of campaigns that failed, NaN where nothing is kept; `document_set[replicate]` is None
    where cells differ in it; `undivided[cell]` says that nothing can be told apart there.
    """

    measures: Columns
    failed: Floats
    undivided: Mapping[int, Undivided]
    document_set: Array | None
    present: Mapping[str, Ints]
    outcomes: Mapping[str, Array]


class Batch(NamedTuple):
    """Name cells of a run: where the first of them lies in it."""

    run: Run
    first: int
    cells: tuple[Cell, ...]


def heard(
    book: Ledger, size: Grid, cut: Cut, measures: Measures, wanted: Collection[str], jobs: int = 1
) -> Iterator[tuple[Run, list[tuple[int, Said]]]]:
    """Yield, run by run, what its cells say: each batch with the place of its first cell in the run.

    Outcomes are those that are `wanted`. Raises InputError where a block is torn or holds what is not declared.
    """
    hear = partial(_hear, replace(size, entries={}), measures, frozenset(wanted))
    said = in_turn(hear, _batches(book, size, cut), jobs if len(size.entries) >= MANY else 1)
    for run, parts in itertools.groupby(said, key=lambda pair: pair[0].run):
        yield run, [(batch.first, found) for batch, found in parts]


def slab(size: Grid, run: Run, parts: Sequence[tuple[int, Said]]) -> dict[str, Array]:
    """Lay the outcomes of a run out over its cells, empty where a cell has none."""
    laid: dict[str, Array] = {}
    for first, said in parts:
        for name, arrays in said.outcomes.items():
            if name not in laid:
                shape = (np.prod(run.shape, dtype=int), *arrays.shape[1:])
                laid[name] = empty(shape, name, size.outcomes[name])
            laid[name][first + said.present[name]] = arrays
    return {name: array.reshape(*run.shape, *array.shape[1:]) for name, array in laid.items()}


def in_turn(
    work: Callable[[Sequence[Cell]], Said], batches: Iterable[Batch], jobs: int
) -> Iterator[tuple[Batch, Said]]:
    """Yield what is said of each batch, in their order, by so many processes; a few batches are under way at a time."""
    if jobs < 2:
        yield from ((batch._replace(cells=()), work(batch.cells)) for batch in batches)
        return
    from simlab.engine.backends.children import ChildDied, call_in_child, fresh_start_token

    start = fresh_start_token()

    def by_child(batch: Batch) -> Said:
        # What a child that was killed had in hand is heard here.
        with suppress(ChildDied):
            said: Said = call_in_child(start, work, batch.cells)
            return said
        return work(batch.cells)

    # Joblib would take the batches in threads of its own, and the ledger is read in this one.
    with ThreadPoolExecutor(jobs) as executor:
        out: deque[tuple[Batch, Future[Said]]] = deque()
        for batch in batches:
            out.append((batch._replace(cells=()), executor.submit(by_child, batch)))
            if len(out) >= AHEAD * jobs:
                first, said = out.popleft()
                yield first, said.result()
        yield from ((first, said.result()) for first, said in out)


def agreed(sets: Iterable[Array], replicates: int, outcome: Outcome) -> Array | None:
    """Return the document sets on which all cells agree that know them."""
    found = np.full(replicates, outcome.fill, outcome.dtype)
    for of_cell in sets:
        known = of_cell != outcome.fill
        if np.any(known & (found != outcome.fill) & (found != of_cell)):
            return None
        found = np.where(known, of_cell, found)
    return found


def _batches(book: Ledger, size: Grid, cut: Cut) -> Iterator[Batch]:
    for run in cut.runs(size.shape):
        positions = run.positions()
        first = 0
        while here := list(itertools.islice(positions, BATCH)):
            yield Batch(run, first, tuple(_cell(book, size, position) for position in here))
            first += len(here)


def _cell(book: Ledger, size: Grid, position: tuple[int, ...]) -> Cell:
    entry = size.entries.get(position)
    if entry is None:
        return Cell((), {}, 0)
    # All that is read of a config is its design: what else there is need not travel.
    return Cell(tuple(book.blocks(entry.cell)), {"design": entry.config.get("design", {})}, len(entry.systems))


def _hear(size: Grid, measures: Measures, wanted: Collection[str], cells: Sequence[Cell]) -> Said:
    computed, failed, same, sets = [], np.full(len(cells), np.nan), {}, []
    present: dict[str, list[int]] = {}
    laid: dict[str, list[Array]] = {}
    for k, cell in enumerate(cells):
        outcomes = gather(cell.rows, cell.config, size.outcomes)
        computed.append(estimate(measures, outcomes, size.outcomes) if outcomes else {})
        if not outcomes:
            continue
        failed[k] = float(np.mean(outcomes["status"] != OK))
        if (found := undivided(outcomes)) is not None:
            same[k] = found
        of_sets = spread(outcomes, "document_set", size, cell.n_systems)
        sets.append(of_sets)
        for name in outcomes.keys() & wanted:
            present.setdefault(name, []).append(k)
            spreading = of_sets if name == "document_set" else spread(outcomes, name, size, cell.n_systems)
            laid.setdefault(name, []).append(spreading)
    return Said(
        columns(list(measures), computed),
        failed,
        same,
        agreed(sets, size.sizes["replicate"], size.outcomes["document_set"]),
        {name: np.array(of) for name, of in present.items()},
        {name: np.stack(arrays) for name, arrays in laid.items()},
    )
