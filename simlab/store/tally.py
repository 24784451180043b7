"""Gather what runs of cells say, one after the other: all but their outcomes, which are written as they come."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any

import numpy as np

from simlab.store.hearing import Said, agreed
from simlab.store.layout import Grid, Run
from simlab.store.measures import Columns, Position
from simlab.store.undivided import Undivided
from simlab.types import Array, Floats

MOST_HELD = 64 * 2**20
"""Influence values of up to so many bytes are held in memory."""


class Tally:
    """Hold what has to be known of all cells before what is said of all of them is written.

    `present[name]` lists the cells that have an outcome; `document_set[replicate]` is None where cells differ in it;
    `failed[cell]` is the share of campaigns that failed, `undivided[cell]` says that nothing can be told apart there.
    """

    def __init__(self, size: Grid, measures: Sequence[str], folder: Path | None) -> None:
        """Start with nothing; `folder` is where influence values lie while it is not known how many there are."""
        self._size = size
        self._held: list[Columns] = []
        self._influence = Influence(folder)
        self._n_measures = len(measures)
        self.present: dict[str, list[Position]] = {"status": []}
        self.failed: dict[Position, float] = {}
        self.undivided: dict[Position, Undivided] = {}
        self.document_set: Array | None = np.full(
            size.sizes["replicate"], size.outcomes["document_set"].fill, size.outcomes["document_set"].dtype
        )

    def close(self) -> None:
        """Let go of the influence values."""
        self._influence.close()

    def take(self, run: Run, parts: Sequence[tuple[int, Said]]) -> None:
        """Take in what a run says."""
        positions = list(run.positions())
        for first, said in parts:
            self._held.append(said.measures._replace(influence=np.empty((0, 0, 0))))
            self._influence.add(said.measures.influence)
            there = np.flatnonzero(np.isfinite(said.failed)).tolist()
            self.failed |= {positions[first + k]: float(said.failed[k]) for k in there}
            self.undivided |= {positions[first + k]: found for k, found in said.undivided.items()}
            for name, of in said.present.items():
                self.present.setdefault(name, []).extend(positions[first + k] for k in of.tolist())
            if self.document_set is not None and there:
                sets = None if said.document_set is None else [self.document_set, said.document_set]
                outcome = self._size.outcomes["document_set"]
                self.document_set = None if sets is None else agreed(sets, len(self.document_set), outcome)

    def columns(self) -> Columns:
        """Return the measures of all cells but their influence."""
        value, mcse, n = (
            np.concatenate([getattr(held, what) for held in self._held], axis=1) for what in ("value", "mcse", "n")
        )
        clusters = [frozenset().union(*(held.clusters[j] for held in self._held)) for j in range(self._n_measures)]
        failed = [_failed([held.failed[j] for held in self._held]) for j in range(self._n_measures)]
        return Columns(value, mcse, n, np.empty((0, 0, 0)), tuple(clusters), tuple(failed))

    @property
    def n_clusters(self) -> int:
        """Count the clusters of the measure that has most."""
        return self._influence.n_clusters

    def influence(self, measure: int, runs: Iterator[Run]) -> Iterator[tuple[Run, Floats]]:
        """Yield the influence of each cluster on a measure, run by run."""
        rows = self._influence.rows(measure)
        for run in runs:
            n_cells = int(np.prod(run.shape))
            taken = np.array(list(itertools.islice(rows, n_cells))).reshape(*run.shape, self.n_clusters)
            yield run, taken


class Influence:
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
            held = np.frombuffer(self._file.read(n_bytes)).reshape(cells, clusters)
            padded = np.full((cells, self.n_clusters), np.nan)
            padded[:, :clusters] = held
            yield from padded
            begin += measures * n_bytes


def _failed(counts: Sequence[tuple[int, str]]) -> tuple[int, str]:
    """Add up in how many cells a measure failed, with the first reason."""
    return sum(count for count, _ in counts), next((why for count, why in counts if count), "")
