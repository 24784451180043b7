"""Lay out once who rated what: the labels of pairs, and the sums that tables of one design are reduced by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from simlab.types import Floats, Ints

MAX_RATER_PAIRS = 500


class Step(NamedTuple):
    """Say how sums are added up further: `into[finer]` is which of `n` sums those of a finer level go into."""

    into: Ints
    n: int

    def __call__(self, sums: Floats) -> Floats:
        """Add sums up."""
        return np.asarray(np.bincount(self.into, weights=sums, minlength=self.n), float)


class Sums(NamedTuple):
    """Hold sums over ratings that share as much beside a system and a rater: nothing, rater, system, both."""

    all: Floats
    rater: Floats
    system: Floats
    both: Floats


class ByTwo(NamedTuple):
    """List documents of which two raters rated every output: the number of the pair, both raters, the document."""

    pair: Ints
    one: Ints
    other: Ints
    document: Ints


@dataclass(frozen=True)
class Layout:
    """Hold who rated what; `document[item]` says which segments belong together."""

    system: Ints
    item: Ints
    rater: Ints
    document: Ints
    n_systems: int
    n_raters: int

    @cached_property
    def where(self) -> Ints:
        """Return the document of each rating."""
        return np.asarray(self.document[self.item])

    @cached_property
    def output(self) -> Ints:
        """Return the place of each rating's output in an array `[system, item]`."""
        return np.asarray(self.system * len(self.document) + self.item)

    @cached_property
    def crossed(self) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
        """Return how many ratings a system has of a rater on an item, `[system x rater, item]`, and the transpose."""
        cell = self.system * self.n_raters + self.rater
        shape = self.n_systems * self.n_raters, len(self.document)
        counts = sparse.csr_matrix((np.ones(len(cell)), (cell, self.item)), shape=shape)
        return counts, counts.T.tocsr()

    @cached_property
    def shape(self) -> tuple[int, int, int]:
        """Return how many raters, documents and systems there are."""
        return self.n_raters, int(self.document.max()) + 1, self.n_systems

    @cached_property
    def cell(self) -> Ints:
        """Return the place of each rating in an array `[rater, document, system]`."""
        return np.asarray(np.ravel_multi_index((self.rater, self.where, self.system), self.shape))

    @cached_property
    def by_two(self) -> ByTwo:
        """List documents of which two raters rated every output, pair by pair."""
        size = np.bincount(self.cell, minlength=int(np.prod(self.shape))).reshape(self.shape)
        full = (size == np.bincount(self.document)[:, None]).all(2)
        raters = np.argwhere(np.tril(full.astype(float) @ full.T, -1) > 0)[:MAX_RATER_PAIRS]
        pair, document = np.nonzero(full[raters[:, 0]] & full[raters[:, 1]])
        return ByTwo(pair, raters[pair, 0], raters[pair, 1], document)

    @cached_property
    def ones(self) -> tuple[Sums, Sums, Sums]:
        """Return `sums` of as many ratings as there are."""
        return self.sums(np.ones(len(self.item)))

    def sums(self, values: Floats) -> tuple[Sums, Sums, Sums]:
        """Add up values of ratings that share nothing else, a document, a segment; see `Sums`.

        Coarse sums are added up from finer ones, which are fewer than ratings.
        """
        rating, by_rater, by_system, alone, of_documents, of_all = self._steps
        both = rating(values)
        segment = Sums(alone(of_rater := by_rater(both)), of_rater, by_system(both), both)
        document = _coarser(of_documents, both)
        return _coarser(of_all, document.both), document, segment

    @cached_property
    def _steps(self) -> tuple[Step, Step, Step, Step, Sequence[Step], Sequence[Step]]:
        kept, rating = self._finest
        system, item, rater = self.system[kept], self.item[kept], self.rater[kept]
        first, by_rater = _dense(item, rater)
        _, by_system = _dense(item, system)
        alone = Step(item[first], len(self.document))
        inner, of_documents = self._coarse(system, self.document[item], rater)
        _, of_all = self._coarse(system[inner], np.zeros_like(inner), rater[inner])
        return rating, by_rater, by_system, alone, of_documents, of_all

    @cached_property
    def _finest(self) -> tuple[Ints, Step]:
        """Put ratings together that share segment, system and rater."""
        return _dense(self.item, self.system, self.rater)

    def _coarse(self, system: Ints, shared: Ints, rater: Ints) -> tuple[Ints, Sequence[Step]]:
        inner, both = _dense(shared, system, rater)
        shared, system, rater = shared[inner], system[inner], rater[inner]
        first, by_rater = _dense(shared, rater)
        _, by_system = _dense(shared, system)
        return inner, (both, by_rater, by_system, Step(shared[first], int(shared.max()) + 1))


def _coarser(steps: Sequence[Step], finer: Floats) -> Sums:
    both, by_rater, by_system, alone = steps
    sums = both(finer)
    of_rater = by_rater(sums)
    return Sums(alone(of_rater), of_rater, by_system(sums), sums)


def _dense(*columns: Ints) -> tuple[Ints, Step]:
    """Number what differs in some column; return where each first stands, and the step that adds up by it."""
    shape = [int(column.max()) + 1 for column in columns]
    code = np.ravel_multi_index([np.asarray(column, np.int64) for column in columns], shape)
    _, first, into = np.unique(code, return_index=True, return_inverse=True)
    return first, Step(into, len(first))
