"""Find the effects (of systems, documents, raters, ...) that ratings have, and those that a table cannot tell apart.

Call `find_terms` on a table; it returns `Terms`: for each term the index of the effect that a rating gets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import sparse

from simlab.tables.rating_table import Ratings
from simlab.types import Floats, Ints

SHARED = ("system", "document", "segment", "system_document", "output")
"""Effects that all raters of an output meet: a rater's sharpness multiplies them."""

OWN = ("leniency", "rater_system", "rater_document")
"""Effects of one rater."""

SINGLE = ("system", "leniency", "rater_system")
"""Effects of systems and raters, whose single values are wanted, so that they never go into the noise."""

OF_SEGMENTS = ("segment", "output")
"""Effects of parts of documents: where each document is one segment there are none beside those of documents."""

EFFECTS = (*SHARED, *OWN)
"""All effects, beside the residual."""

DENSE = 20_000
"""Matrices of so few numbers are faster than sparse ones of the same sums."""


FEW_VALUES = 10_000
"""So few values are counted up before a sparse product has begun."""


@dataclass(frozen=True, slots=True)
class EffectTerm:
    """Effects that the same ratings share: `level[rating]` is which of `n` effects a rating gets.

    Several `names` stand in one term where they group the ratings alike: only their sum has a likelihood.
    """

    names: tuple[str, ...]
    level: Ints
    n: int


class Division(NamedTuple):
    """Nesting of two terms: the effects of one are divided by those of another.

    `sums[whole, part]` adds the parts up, `n_parts[whole, 1]` says how many parts there are. `parent[part]` is which
    whole a part belongs to; None where some have no rating, so that `back`, the transpose of `sums`, tells.
    """

    whole: int
    part: int
    sums: sparse.csr_matrix | Floats
    back: sparse.csr_matrix | Floats
    parent: Ints | None
    n_parts: Floats


@dataclass(frozen=True)
class Terms:
    """Terms of a table, the constant first, and the names that go into the noise.

    `noise` are effects that no two ratings share, so that only their sum with the residual has a likelihood.
    """

    terms: tuple[EffectTerm, ...]
    noise: tuple[str, ...]

    @cached_property
    def _crossed(self) -> dict[int, Floats]:
        return {}

    @property
    def names(self) -> tuple[str, ...]:
        """List the effects that have a spread: those of the terms, those in the noise, the residual last."""
        return (*(name for term in self.terms[1:] for name in term.names), *self.noise, "residual")

    def level_by_name(self, name: str) -> Ints:
        """Return which effect of that name each rating gets; in the noise each has its own."""
        levels = [term.level for term in self.terms if name in term.names]
        return levels[0] if levels else np.arange(len(self.terms[0].level))

    @cached_property
    def starts(self) -> Ints:
        """Return where each term's effects start among all effects, and their number at the end."""
        return np.concatenate([[0], np.cumsum([term.n for term in self.terms])])

    @cached_property
    def matrix(self) -> sparse.csr_matrix:
        """Return which effects each rating gets: `[rating, effect]`."""
        columns = np.stack([term.level + start for term, start in zip(self.terms, self.starts, strict=False)], axis=1)
        n, width = columns.shape
        pointers = np.arange(0, n * width + 1, width)
        return sparse.csr_matrix((np.ones(n * width), columns.ravel(), pointers), shape=(n, int(self.starts[-1])))

    @cached_property
    def transposed(self) -> sparse.csr_matrix:
        """Return the matrix of ratings by effects, turned round."""
        return self.matrix.T.tocsr()

    @cached_property
    def term_of(self) -> Ints:
        """Return the term of each effect."""
        return np.repeat(np.arange(len(self.terms)), [term.n for term in self.terms])

    @cached_property
    def shared(self) -> Floats:
        """Return 1 for effects that a rater's sharpness multiplies, 0 for the others: `[effect]`."""
        flags = [float(term.names[0] in SHARED) for term in self.terms]
        return np.asarray(flags)[self.term_of]

    def rows(self, k: int) -> slice:
        """Return where the effects of a term stand among all."""
        return self._rows[k]

    @cached_property
    def _rows(self) -> list[slice]:
        return [slice(start, end) for start, end in pairwise(self.starts.tolist())]

    def divisions(self, sharpened: bool) -> list[Division]:
        """Return which terms divide which others; where raters sharpen, both have to be sharpened, or neither."""
        if sharpened not in self._divided:
            downwards = (self._division(k, j, sharpened) for j in range(len(self.terms)) for k in range(j))
            turned = (self._division(j, k, sharpened) for j in range(len(self.terms)) for k in range(1, j))
            self._divided[sharpened] = [division for division in (*downwards, *turned) if division is not None]
        return self._divided[sharpened]

    def _division(self, whole: int, part: int, sharpened: bool) -> Division | None:
        if sharpened and self.shared[self.starts[whole]] != self.shared[self.starts[part]]:
            return None
        outer, inner = self.terms[whole], self.terms[part]
        parent = np.full(inner.n, -1)
        parent[inner.level] = outer.level
        if not np.array_equal(parent[inner.level], outer.level):
            return None
        seen = np.flatnonzero(parent >= 0)
        shape = outer.n, inner.n
        sums = sparse.csr_matrix((np.ones(len(seen)), (parent[seen], seen)), shape=shape)
        n_parts = sums @ np.ones((inner.n, 1))
        complete = parent if len(seen) == inner.n else None
        if outer.n * inner.n <= DENSE:
            return Division(whole, part, sums.toarray(), sums.toarray().T, complete, n_parts)
        return Division(whole, part, sums, sums.T.tocsr(), complete, n_parts)

    @cached_property
    def _divided(self) -> dict[bool, list[Division]]:
        return {}

    def few_effects(self, most: int) -> Ints:
        """Return the indices of the effects of the smallest terms that hold at most `most` effects together."""
        sizes = np.diff(self.starts)
        order = np.argsort(sizes, kind="stable")
        chosen = order[np.cumsum(sizes[order]) <= most]
        return np.flatnonzero(np.isin(self.term_of, chosen))

    def count_crossed(self, some: Ints) -> Floats:
        """Return how many ratings get both of two effects, `[effect, effect]`, for some effects."""
        key = len(some)
        if key not in self._crossed:
            part = self.matrix[:, some]
            self._crossed[key] = np.asarray((part.T @ part).todense())
        return self._crossed[key]

    def group_effects(self, k: int) -> tuple[Ints, Floats, Ints]:
        """Group the effects of a term by how many ratings they are part of.

        Returns an effect of each group, `[group]`, how many it has, `[group, 1, 1]`, and the group of each effect.
        """
        return self._groups[k]

    @cached_property
    def _groups(self) -> list[tuple[Ints, Floats, Ints]]:
        groups = []
        for k in range(len(self.terms)):
            _, first, group, number = np.unique(
                self.n_ratings(k)[:, 0], return_index=True, return_inverse=True, return_counts=True
            )
            groups.append((np.asarray(first), np.asarray(number[:, None, None], float), np.asarray(group)))
        return groups

    def add_up(self, k: int, values: Floats) -> Floats:
        """Sum `values[rating, table]` over the effects of a term: `[effect, table]`."""
        if values.size > FEW_VALUES:
            return np.asarray(self._sums[k] @ values)
        n, tables = self.terms[k].n, values.shape[1]
        if (k, tables) not in self._places:
            self._places[k, tables] = _places(self.terms[k].level, tables)
        return _sum_places(self._places[k, tables], n, values)

    @cached_property
    def _places(self) -> dict[tuple[int, int], Ints]:
        return {}

    def n_ratings(self, k: int) -> Floats:
        """Return how many ratings each effect of a term is part of: `[effect, 1]`."""
        return self._n_ratings[self.rows(k), None]

    @cached_property
    def _n_ratings(self) -> Floats:
        return np.asarray(np.bincount(self.matrix.indices, minlength=self.matrix.shape[1]) * 1.0)

    @cached_property
    def _sums(self) -> list[sparse.csr_matrix]:
        starts = self.starts
        return [self.transposed[starts[k] : starts[k + 1]] for k in range(len(self.terms))]


def add_up(level: Ints, n: int, values: Floats) -> Floats:
    """Sum `values[row, table]` by the `level[row]` of `n` that rows have: `[level, table]`, in the order of rows."""
    return _sum_places(_places(level, values.shape[1]), n, values)


def _places(level: Ints, tables: int) -> Ints:
    """Number what is added up, for each value in turn."""
    return (level[:, None] * tables + np.arange(tables)).ravel()


def _sum_places(place: Ints, n: int, values: Floats) -> Floats:
    tables = values.shape[1]
    return np.asarray(np.bincount(place, values.ravel(), n * tables).reshape(n, tables), float)


def find_terms(ratings: Ratings, sharpened: bool) -> Terms:
    """Find the terms of a table; where raters sharpen, only effects that they all sharpen, or none, stand together."""
    n = len(ratings.score)
    terms: list[EffectTerm] = []
    noise: list[str] = []
    for name, (level, size) in _levels(ratings).items():
        if name not in SINGLE and len(np.unique(level)) == n:
            noise.append(name)
            continue
        alike = next((k for k, term in enumerate(terms) if _is_same_grouping(term, name, level, sharpened)), None)
        if alike is None:
            terms.append(EffectTerm((name,), level, size))
        else:
            terms[alike] = EffectTerm((*terms[alike].names, name), terms[alike].level, terms[alike].n)
    return Terms((EffectTerm(("mean",), np.zeros(n, int), 1), *terms), tuple(noise))


def _is_same_grouping(term: EffectTerm, name: str, level: Ints, sharpened: bool) -> bool:
    if sharpened and (term.names[0] in SHARED) != (name in SHARED):
        return False
    return bool(np.array_equal(_order(term.level), _order(level)))


def _order(level: Ints) -> Ints:
    """Number groups in the order in which they come up."""
    _, first, group = np.unique(level, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[group])


def _levels(ratings: Ratings) -> dict[str, tuple[Ints, int]]:
    document = ratings.document[ratings.item]
    systems, raters = ratings.n_systems, ratings.n_raters
    levels = {
        "system": (ratings.system, systems),
        "document": _number_levels([document]),
        "segment": _number_levels([ratings.item]),
        "system_document": _number_levels([ratings.system, document]),
        "output": _number_levels([ratings.system, ratings.item]),
        "leniency": (ratings.rater, raters),
        "rater_system": (ratings.rater * systems + ratings.system, raters * systems),
        "rater_document": _number_levels([ratings.rater, document]),
    }
    undivided = len(np.unique(ratings.item)) == len(np.unique(document))
    return {name: level for name, level in levels.items() if not (undivided and name in OF_SEGMENTS)}


def _number_levels(columns: Sequence[Ints]) -> tuple[Ints, int]:
    _, level = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    flat = np.asarray(level).reshape(-1)
    return flat, int(flat.max()) + 1
