"""Compare systems by the mixed model of ratings: which terms a design has, which pairs can be compared, and for whom.

A difference that rests on raters who met both systems is free of their leniency; one that rests on other raters carries
the variance of leniency with the degrees of freedom of those raters, because the model has both. What no model tells is
not compared: a system that one rater alone rated where nobody met both, and pools of raters that share no system.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from threadpoolctl import ThreadpoolController

from simlab.analysis.raters.mixed_model import LEAST_NOISE, Design, Fit, Solved, Term, design_of, fit, solve
from simlab.analysis.studentized_range import StudentFamily
from simlab.types import Bools, Floats, Ints, Rated

Pools: TypeAlias = Literal["apart", "exchangeable"]
"""Pools of raters that share no system: nothing is claimed between them, or they are taken as drawn from one crowd."""

FEW_RATERS = 6
"""Of fewer raters on a side the variance of tastes is hardly known: the difference is one of these raters' means."""

LARGEST = 200
"""Columns of equations from which on scores are averaged within documents: a fit then takes milliseconds."""

MANY = 60
"""Columns from which on studies of one design make one step from the components of the first."""

LEAST_FREEDOM, MOST_FREEDOM = 0.5, 1e5
"""Bounds of degrees of freedom; beyond the second a t law is normal."""

ROUNDING = 1e-9
"""Share of the largest score below which estimates, and their errors, are equal up to rounding."""

RATERS, TASTES = "rater", "rater x system"


class Comparisons(NamedTuple):
    """All pairs of systems under a fitted model, `[pair]`, and `mean[system]`, the estimates with their variances.

    `variance` and `freedom` are those of `difference` in its scope: raters like these where `at_large`, else these
    raters, whose tastes are then part of what is estimated. `at_large_variance` and its `freedom` count tastes in any
    case, `lasting` is the part of `variance` that more documents do not shrink, `lasts` True where there is one, be it
    estimated at 0. `comparable` is False where the design cannot tell two systems apart, `pools` is True where that is
    because two pools of raters share no system, `dealt` where no rater met both systems, so that the difference is one
    between raters. `raters` are those on the thinner side, `documents` those that both systems share. `settled` is
    False where the fit did not reach its maximum.
    """

    mean: Floats
    mean_variance: Floats
    mean_freedom: Floats
    difference: Floats
    variance: Floats
    freedom: Floats
    at_large_variance: Floats
    at_large_freedom: Floats
    lasting: Floats
    lasts: Bools
    at_large: Bools
    dealt: Bools
    comparable: Bools
    pools: Bools
    raters: Floats
    documents: Floats
    settled: bool

    @property
    def units(self) -> Floats:
        """Documents that both systems share, or the fewer raters on one side where others may judge differently."""
        return np.where(self.at_large, np.minimum(self.raters, self.documents), self.documents)

    @property
    def lone(self) -> Bools:
        """True where one rater alone rated a system of a pair that nobody rated both of."""
        return self.dealt & ~self.pools & (self.raters < 2) & (self.documents > 1)

    def family(self, *, at_large: bool = False) -> StudentFamily:
        """Return the t statistics of all pairs; of pairs that cannot be compared 0.

        Where scores do not scatter at all, p-values are those of signs: each document, or rater, might as well have
        gone the other way.
        """
        from scipy.special import ndtri

        variance = self.at_large_variance if at_large else self.variance
        freedom = self.at_large_freedom if at_large else self.freedom
        scattered = self.comparable & (variance > 0) & (freedom > 0)
        size = np.abs(self.difference)
        t = np.divide(size, np.sqrt(variance), out=np.zeros_like(size), where=scattered)
        alike = self.comparable & (variance == 0) & (size > 0)
        t = np.where(alike, -ndtri(2.0 ** -np.maximum(self.units, 1.0)), t)
        known = np.where(scattered, np.clip(freedom, LEAST_FREEDOM, MOST_FREEDOM), MOST_FREEDOM)
        return StudentFamily(t, known, len(self.mean))


def mixed_model(rng: np.random.Generator, rated: Rated, *, pools: Pools) -> Floats:
    """Test each pair by the difference of GLS estimates in the mixed model of ratings, with Satterthwaite's t.

    Raters, what each thinks of each system, documents, segments and outputs are random; components are those of REML.
    Pairs are compared for raters like these, with six or more on either side or where nobody rated both systems, else
    for these raters. `rng` is not used. Source: Patterson and Thompson 1971; Giesbrecht and Burns 1985.
    """
    return compared(rated, pools).family().p_values()


def model_family(rng: np.random.Generator, rated: Rated, *, pools: Pools) -> StudentFamily:
    """Return the t statistics of all pairs at once."""
    return compared(rated, pools).family()


def model_differences(rated: Rated, *, pools: Pools) -> Floats:
    """Return the difference of estimates of each pair, first less second; 0 where there is none."""
    return np.nan_to_num(compared(rated, pools).difference)


_START: ContextVar[tuple[Design, Solved] | None] = ContextVar("start", default=None)


@contextmanager
def studies_of(rated: Rated) -> Iterator[None]:
    """Let studies of a large design within make one step of Fisher scoring from the components of these ratings."""
    layout = _layout(*_key_of(rated))
    found = fit(layout.design, layout.averaged(rated.value)) if len(layout.design.cross) > MANY else None
    at = None
    if found is not None:
        noise = max(found.component[0], 1e-9 * found.component.sum())
        at = layout.design, solve(layout.design, found.component[1:] / noise)
    before = _START.set(at)
    try:
        yield
    finally:
        _START.reset(before)


def compared(rated: Rated, pools: Pools = "apart") -> Comparisons:
    """Fit the model to ratings and compare all pairs; a fit is kept for the next who asks about the same ratings."""
    key, value = _key_of(rated), np.ascontiguousarray(rated.value, float).tobytes()
    return _compared(key, value, pools, _START.get() is not None)


Key: TypeAlias = tuple[bytes, bytes, bytes, bytes, int]


def _key_of(rated: Rated) -> Key:
    columns = (rated.system, rated.rater, rated.item, rated.document)
    system, rater, item, document = (np.ascontiguousarray(one, np.int64).tobytes() for one in columns)
    return system, rater, item, document, rated.n_systems


@lru_cache(maxsize=2)
def _compared(key: Key, value: bytes, pools: Pools, in_studies: bool) -> Comparisons:
    layout = _layout(*key)
    start = _START.get() if in_studies else None
    at = start[1] if start is not None and start[0] is layout.design else None
    score = np.frombuffer(value, float)
    # Matrices are small: threads that share them cost more than they do.
    with _threads().limit(limits=1):
        return layout.compare(fit(layout.design, layout.averaged(score), at), score, pools)


@lru_cache(maxsize=1)
def _threads() -> ThreadpoolController:
    return ThreadpoolController()


class Layout(NamedTuple):
    """What a design alone decides of its comparisons.

    `cell[rating]` are the groups within which scores are averaged (None: they are not). `met[rater, system]` says who
    rated what, `shared[pair]` counts documents of both systems, and `pool[system]` numbers the pools of raters that
    share no system with others; `single[pool]` are those of one system.
    """

    design: Design
    system: Ints
    cell: Ints | None
    met: Bools
    shared: Floats
    pool: Ints
    single: Bools

    def averaged(self, value: Floats) -> Floats:
        """Return the mean score of each cell, or the scores themselves."""
        if self.cell is None:
            return value
        return np.asarray(np.bincount(self.cell, value) / np.bincount(self.cell))

    def compare(self, found: Fit | None, value: Floats, pools: Pools) -> Comparisons:
        """Compare all pairs under a fit; None: scores do not scatter, so that means are all there is."""
        n_systems = self.design.n_systems
        first, second = np.triu_indices(n_systems, 1)
        n_raters = self.met.sum(0)
        both = self.met.astype(float).T @ self.met
        thinner = np.minimum(n_raters[first], n_raters[second])
        dealt = both[first, second] == 0
        apart = self.pool[first] != self.pool[second]
        pooled = apart & ~(self.single[self.pool[first]] & self.single[self.pool[second]])
        refused = pooled & (pools == "apart")
        comparable = (self.shared > 1) & ~refused & (~dealt | (thinner > 1))
        at_large = (thinner >= FEW_RATERS) | (dealt & comparable)
        if found is None:
            count = np.bincount(self.system, minlength=n_systems)
            mean = np.bincount(self.system, value, n_systems) / np.where(count > 0, count, np.nan)
            nothing, none = np.zeros(len(first)), np.full(n_systems, np.nan)
            parts, lasts, errors = (nothing,) * 5, nothing > 0, (none, none)
        else:
            mean = np.where(n_raters > 0, found.estimate, np.nan)
            (parts, lasts), errors = self._errors(found, at_large), _mean_errors(found, for_raters=not at_large.all())
            # Nothing scatters where terms explain all that systems do not, up to rounding.
            rounding, total = (ROUNDING * max(1.0, float(np.abs(value).max()))) ** 2, float(found.component.sum())
            if found.component[0] <= 2 * LEAST_NOISE * total:
                rounding = max(rounding, 4 * LEAST_NOISE * total)
            variance, freedom, large, large_freedom, lasting = parts
            variance, large = (np.where(one > rounding, one, 0.0) for one in (variance, large))
            parts = variance, freedom, large, large_freedom, lasting
        difference = np.where(self.shared > 0, mean[first] - mean[second], np.nan)
        equal = np.abs(difference) <= ROUNDING * float(np.abs(value).max(initial=0.0))
        difference = np.where(equal, 0.0, difference)
        reached = np.asarray(thinner, float)
        return Comparisons(
            mean,
            *errors,
            difference,
            *parts,
            lasts,
            at_large,
            dealt,
            comparable,
            refused,
            reached,
            self.shared,
            found is None or found.converged,
        )

    def _errors(self, found: Fit, at_large: Bools) -> tuple[tuple[Floats, Floats, Floats, Floats, Floats], Bools]:
        """Return variances and degrees of freedom in their scope and at large, and the lasting part of the first.

        Beside them, True where there is a lasting part.
        """
        share = [contrast_variances(found.noise)]
        given, lasting, lasts = list(share), np.zeros(len(at_large)), np.zeros(len(at_large), bool)
        for term, load, component in zip(found.design.terms, found.load, found.component[1:], strict=True):
            squares = contrast_variances(load.T @ load)
            kept = squares
            if term.name == TASTES and not at_large.all():
                kept = np.where(at_large, squares, self._one_sided(load))
            share.append(squares)
            given.append(kept)
            # Of these raters more documents show what there is; others would be other raters.
            if term.name in (RATERS, TASTES):
                lasting += component * kept * at_large
                lasts |= at_large & (kept > ROUNDING)
        large = satterthwaite(found, np.stack(share))
        scoped = large if at_large.all() else satterthwaite(found, np.stack(given))
        return (*scoped, *large, lasting), lasts

    def _one_sided(self, load: Floats) -> Floats:
        """Return what a unit of tastes adds to each difference by raters who rated one of the two systems only."""
        first, second = np.triu_indices(self.design.n_systems, 1)
        one = ~(self.met[:, first] & self.met[:, second])
        # Tastes are numbered as raters and systems that met, rater by rater.
        rater = np.nonzero(self.met)[0]
        return np.asarray((one[rater] * (load[:, first] - load[:, second]) ** 2).sum(0))


def _mean_errors(found: Fit, *, for_raters: bool) -> tuple[Floats, Floats]:
    """Return the variance of each system's estimate, and its degrees of freedom; `for_raters`: for these raters."""
    share = [np.maximum(np.diag(found.noise), 0.0)]
    for term, load in zip(found.design.terms, found.load, strict=True):
        share.append((load**2).sum(0) * (not for_raters or term.name not in (RATERS, TASTES)))
    return satterthwaite(found, np.stack(share))


def contrast_variances(covariance: Floats) -> Floats:
    """Return the variance of each difference of systems, `[pair]`."""
    first, second = np.triu_indices(len(covariance), 1)
    own = np.diag(covariance)
    return np.maximum(own[first] + own[second] - 2 * covariance[first, second], 0.0)


def satterthwaite(found: Fit, share: Floats) -> tuple[Floats, Floats]:
    """Return variances and their degrees of freedom, from what a unit of each component adds, `share[component, pair]`.

    Components at 0 count as known: so lmerTest does, and levels hold (see the tests).
    """
    component = found.component
    variance = component @ share
    there = component > 1e-8 * component.sum()
    inverse = np.linalg.pinv(found.information[np.ix_(there, there)], hermitian=True)
    # The information is that of ratios to the noise.
    spread = component[0] ** 2 * np.einsum("kp,kl,lp->p", share[there], inverse, share[there])
    freedom = np.divide(variance**2, spread, out=np.zeros_like(variance), where=spread > 0)
    return variance, freedom


@lru_cache(maxsize=8)
def _layout(system: bytes, rater: bytes, item: bytes, document: bytes, n_systems: int) -> Layout:
    of_system = np.frombuffer(system, np.int64)
    of_rater, of_item, of_document = (
        np.unique(np.frombuffer(one, np.int64), return_inverse=True)[1] for one in (rater, item, document)
    )
    met = np.zeros((int(of_rater.max(initial=-1)) + 1, n_systems), bool)
    met[of_rater, of_system] = True
    terms, cell = terms_of(of_system, of_rater, of_item, of_document), None
    if sum(term.n_levels for term in terms) - max(term.n_levels for term in terms) > LARGEST:
        cell = _labelled(of_rater, of_document, of_system)
        at = np.unique(cell, return_index=True)[1]
        terms = terms_of(of_system[at], of_rater[at], of_document[at], of_document[at])
    design = design_of(of_system if cell is None else of_system[at], terms, n_systems)
    there = np.zeros((int(of_document.max(initial=-1)) + 1, n_systems))
    there[of_document, of_system] = 1.0
    first, second = np.triu_indices(n_systems, 1)
    pool, single = _pools(met)
    return Layout(design, of_system, cell, met, (there.T @ there)[first, second], pool, single)


def terms_of(system: Ints, rater: Ints, item: Ints, document: Ints) -> tuple[Term, ...]:
    """Return the random terms that a design can tell apart, each with a label for every rating.

    A term is left out where each of its levels is one rating, all that one system has, or a level of a term before it.
    """
    labels = {
        RATERS: (rater,),
        TASTES: (rater, system),
        "document": (document,),
        "document x system": (document, system),
        "segment": (item,),
        "rater x document x system": (rater, document, system),
        "output": (item, system),
    }
    kept: list[Term] = []
    for name, columns in labels.items():
        label = _labelled(*columns)
        n_levels = int(label.max(initial=-1)) + 1
        # One level is a constant, which systems explain: its component might be anything, and noise next to it nothing.
        if n_levels in (1, len(system)) or n_levels == len(np.unique(_labelled(system, label))) == len(
            np.unique(system)
        ):
            continue
        # Labels are finer or coarser one after the other: as many levels together as each has are the same levels.
        if any(term.n_levels == n_levels == int(_labelled(term.label, label).max()) + 1 for term in kept):
            continue
        kept.append(Term(name, label))
    return tuple(kept) or (Term("none", np.zeros(len(system), np.int64)),)


def _labelled(*columns: Ints) -> Ints:
    """Number the combinations of labels that occur, from 0."""
    code = columns[0]
    for column in columns[1:]:
        code = np.unique(code * (int(column.max(initial=0)) + 1) + column, return_inverse=True)[1]
    return np.asarray(np.unique(code, return_inverse=True)[1])


def _pools(met: Bools) -> tuple[Ints, Bools]:
    """Number the pools of raters that are joined by systems, for each system; say which of them have one system."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    there = met.astype(np.int64)
    _, pool = connected_components(csr_matrix(there.T @ there), directed=False)
    return np.asarray(pool), np.bincount(pool) == 1
