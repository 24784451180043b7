"""Compare all pairs of systems by the mixed model of ratings: which terms a design has, and which pairs it can compare.

Call `compare_by_model` on ratings; it returns `ModelComparisons`: differences with variances and degrees of freedom.
`model_studies` does the same for many simulated studies of one design. A taste is a rater's own view of a system; a
difference is for raters at large (drawn from more like them) or for these raters only.

A difference that rests on raters who met both systems is free of their leniency; one that rests on other raters carries
the variance of leniency with the degrees of freedom of those raters, because the model has both. Pairs that no model
can tell apart are not compared: a system that one rater alone rated where nobody met both, and pools of raters that
share no system.

For these raters only, tastes are fixed: the variance that documents and noise add to a difference is then estimated
within raters and systems. The fit with random tastes pools it with tastes where it puts these at 0, and not where it
does not, which takes the smaller variance in both.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from threadpoolctl import ThreadpoolController

from simlab.analysis.raters.mixed_model import (
    LEAST_NOISE,
    SINGULAR,
    DesignProducts,
    Fits,
    MixedModelFit,
    RandomTerm,
    Solved,
    fit,
    fit_each,
    incidence,
    is_identified,
    make_design,
    solve,
    step_from,
    system_estimates,
)
from simlab.analysis.studentized_range import SimulatedFamily, StudentFamily, TFamily
from simlab.types import Bools, Floats, Ints, ScoredRatings

Pools: TypeAlias = Literal["apart", "exchangeable"]
"""Pools of raters that share no system: nothing is claimed between them, or they are taken as drawn from one crowd."""

Key: TypeAlias = tuple[bytes, bytes, bytes, bytes, int, Pools]
"""A design: who rated which system, item and document, the number of systems, and how pools are read."""

FEW_RATERS = 6
"""Of fewer raters on a side the variance of tastes is hardly known: the difference is one of these raters' means."""

FEW_EFFECTIVE = 4.0
"""Where loads differ, raters count as (sum of loads)^2 / sum of squared loads; of fewer the same holds."""

LARGEST = 200
"""Columns of equations from which on scores are averaged within documents: a fit then takes milliseconds."""

SORTED = 1_000_000
"""Largest label up to which labels are numbered without sorting."""

MANY = 60
"""Columns from which on studies of one design make one step from the components of the first."""

LEAST_FREEDOM, MOST_FREEDOM = 0.5, 1e5
"""Bounds of degrees of freedom; beyond the second a t law is normal."""

ROUNDING = 1e-9
"""Share of the largest score below which estimates, and their errors, are equal up to rounding."""

RATERS, TASTES, WITHIN_RATERS = "rater", "rater x system", "rater x document x system"


class ModelComparisons(NamedTuple):
    """All pairs of systems under a fitted model, `[pair]`, and `mean[system]`, the estimates with their variances.

    `variance` and `freedom` are those of `difference` in its scope: raters like these where `at_large`, else these
    raters, whose tastes are then part of what is estimated. `at_large_variance` and its `freedom` count tastes in any
    case, `lasting` is the part of `variance` that more documents do not shrink, `lasts` True where there is one, be it
    estimated at 0. `comparable` is False where the design cannot tell two systems apart, `pools` is True where that is
    because two pools of raters share no system, `dealt` where no rater met both systems, so that the difference is one
    between raters. `raters` are those on the thinner side, `documents` those that both systems share, `units` these or
    the raters where others may judge differently, if they are fewer. `settled` is False where the fit did not reach its
    maximum. `null[study, pair]` are the |t| of studies with equal systems (None: t is Student's).
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
    units: Floats
    settled: bool
    null: Floats | None = None

    @property
    def lone(self) -> Bools:
        """True where one rater alone rated a system of a pair that nobody rated both of."""
        return self.dealt & ~self.pools & (self.raters < 2) & (self.documents > 1)

    def family(self, *, at_large: bool = False) -> TFamily:
        """Return the t statistics of all pairs; of pairs that cannot be compared 0.

        Where scores do not scatter at all, p-values are those of signs: each document, or rater, might as well have
        gone the other way.
        """
        variance = self.at_large_variance if at_large else self.variance
        freedom = self.at_large_freedom if at_large else self.freedom
        sizes = t_statistics(self.difference, variance, freedom, self.comparable, self.units)
        return StudentFamily(*sizes, len(self.mean)) if self.null is None else SimulatedFamily(*sizes, self.null)


def t_statistics(
    difference: Floats, variance: Floats, freedom: Floats, comparable: Bools, units: Floats
) -> tuple[Floats, Floats]:
    """Return |t| of differences, `[..., pair]`, and degrees of freedom within bounds; fields of `ModelComparisons`."""
    from scipy.special import ndtri

    scattered = comparable & (variance > 0) & (freedom > 0)
    size = np.abs(difference)
    t = np.divide(size, np.sqrt(variance), out=np.zeros_like(size), where=scattered)
    alike = comparable & (variance == 0) & (size > 0)
    # 2^-units is the one-sided p-value of a sign test in which all units agree.
    t = np.where(alike, -ndtri(2.0 ** -np.maximum(units, 1.0)), t)
    return t, np.where(scattered, np.clip(freedom, LEAST_FREEDOM, MOST_FREEDOM), MOST_FREEDOM)


def mixed_model(rng: np.random.Generator, rated: ScoredRatings, *, pools: Pools) -> Floats:
    """Test each pair by the difference of GLS estimates in the mixed model of ratings, with Satterthwaite's t.

    Raters, what each thinks of each system, documents, segments and outputs are random; components are those of REML.
    Pairs are compared for raters like these, with six or more on either side (four effective ones) or where nobody
    rated both systems, else for these raters. `rng` is not used. Source: Patterson and Thompson 1971; Giesbrecht and
    Burns 1985.
    """
    return compare_by_model(rated, pools).family().p_values()


def model_family(rng: np.random.Generator, rated: ScoredRatings, *, pools: Pools) -> TFamily:
    """Return the t statistics of all pairs at once."""
    return compare_by_model(rated, pools).family()


def model_differences(rated: ScoredRatings, *, pools: Pools) -> Floats:
    """Return the difference of estimates of each pair, first less second; 0 where there is none."""
    return np.nan_to_num(compare_by_model(rated, pools).difference)


def model_studies(rated: ScoredRatings, *, pools: Pools) -> SimulatedStudies:
    """Return the `SimulatedStudies` that compares systems in simulated studies with the design of these ratings.

    Studies of a large design make one step of Fisher scoring from the components of these ratings.
    """
    key, value = make_key(rated, pools)
    layout = _layout(*key)
    whole_fit = _fit_by_key(key, value) if len(layout.design.cross) > MANY else None
    if whole_fit is None:
        return SimulatedStudies(layout)
    within = layout.fit(np.frombuffer(value, float), layout.within)
    return SimulatedStudies(layout, whole_fit.at, layout.shares(whole_fit.at), None if within is None else within.at)


def compare_by_model(rated: ScoredRatings, pools: Pools = "apart") -> ModelComparisons:
    """Fit the model to ratings and compare all pairs; the latest fits are cached by their ratings."""
    return compare_by_key(*make_key(rated, pools))


def fit_model(key: Key, value: bytes) -> tuple[ComparisonLayout, MixedModelFit | None, Floats]:
    """Return the layout of ratings, the fit to them (None: scores do not scatter), and their scores; see `make_key`."""
    return _layout(*key), _fit_by_key(key, value), np.frombuffer(value, float)


def make_key(rated: ScoredRatings, pools: Pools) -> tuple[Key, bytes]:
    """Return keys of the cache for ratings: that of their design, and their scores as bytes."""
    columns = (rated.system, rated.rater, rated.item, rated.document)
    system, rater, item, document = (np.ascontiguousarray(column, np.int64).tobytes() for column in columns)
    value = np.ascontiguousarray(rated.value, float).tobytes()
    return (system, rater, item, document, rated.n_systems, pools), value


@lru_cache(maxsize=2)
def compare_by_key(key: Key, value: bytes) -> ModelComparisons:
    """Compare all pairs of the ratings with a design key and scores from `make_key`."""
    return _layout(*key).compare(_fit_by_key(key, value), np.frombuffer(value, float))


@lru_cache(maxsize=2)
def _fit_by_key(key: Key, value: bytes) -> MixedModelFit | None:
    layout = _layout(*key)
    return layout.fit(np.frombuffer(value, float), layout.design)


@lru_cache(maxsize=1)
def _threads() -> ThreadpoolController:
    # A library that is loaded later is not limited: its threads cost a hundred times what they do, and other bits.
    import scipy.linalg.lapack  # noqa: F401

    return ThreadpoolController()


class Shares(NamedTuple):
    """Variance of a difference per unit of each component, `[component, pair]`, the noise first; equations decide it.

    `scoped` is that of differences in their scope, `large` with tastes in any case, `lasting` the part that more
    documents do not shrink, `lasts[pair]` True where there is some. `mean[component, system]` is that of estimates.
    Where a layout has a design within raters, the parts for these raters only are in `within` and `mean_within`.
    """

    scoped: Floats
    large: Floats
    lasting: Floats
    lasts: Bools
    mean: Floats
    within: Floats
    mean_within: Floats


class StudyComponents(NamedTuple):
    """Components of studies, `component[noise and term, study]`, and the information on their ratios to the noise.

    The information, and what a unit of a component adds, is common to all studies or each study's own, a first axis.
    """

    component: Floats
    information: Floats


class ComparisonLayout(NamedTuple):
    """Layout of comparisons that a design alone decides.

    `within` has each rater's mean of each system for fixed effects: None where all pairs are for raters at large, or
    where tastes cannot be told from documents, and stay in the variance.
    `averages[cell, rating]` marks the groups within which scores are averaged (None: they are not), `n_averaged` counts
    them, `cell_rater[cell]` and `cell_system[cell]` are their rater and system. `met[rater, system]` is True where a
    rater rated a system; further fields of the pairs `first` and `second` are those of `ModelComparisons`, `refused`
    its `pools`; `enough` is True of pairs both of whose systems enough raters rated, evenly enough.
    """

    design: DesignProducts
    within: DesignProducts | None
    system: Ints
    averages: Any
    n_averaged: Ints
    cell_rater: Ints
    cell_system: Ints
    met: Bools
    first: Ints
    second: Ints
    documents: Floats
    raters: Floats
    units: Floats
    dealt: Bools
    refused: Bools
    comparable: Bools
    at_large: Bools
    enough: Bools

    def average_cells(self, value: Floats) -> Floats:
        """Return the mean score of each cell, or the scores themselves; studies may be a last axis."""
        if self.averages is None:
            return value
        if len(self.n_averaged) == len(value):
            return np.asarray(value[self.averages.indices])
        return np.asarray(((self.averages @ value).T / self.n_averaged).T)

    def fit(self, value: Floats, design: DesignProducts | None) -> MixedModelFit | None:
        """Fit the model of a design to scores."""
        # Matrices are small: threads that share them cost more than they do.
        with _threads().limit(limits=1):
            return None if design is None else fit(design, self.average_cells(value))

    def fit_each(self, value: Floats, design: DesignProducts) -> Fits:
        """Fit the model of a design to the scores of each study, `value[rating, study]`."""
        with _threads().limit(limits=1):
            return fit_each(design, self.average_cells(value))

    def compare(self, fit: MixedModelFit | None, value: Floats) -> ModelComparisons:
        """Compare all pairs under a fit; None: scores do not scatter, so that means are all there is."""
        n_systems, size = self.design.n_systems, np.abs(value).max(initial=0.0)
        within = self.fit(value, self.within)
        if fit is None:
            count = np.bincount(self.system, minlength=n_systems)
            mean = np.bincount(self.system, value, n_systems) / np.where(count > 0, count, np.nan)
            nothing, none = np.zeros(len(self.first)), np.full(n_systems, np.nan)
            errors, parts, lasts = (none, none), (nothing,) * 5, nothing > 0
        else:
            share, component = self.shares(fit.at), fit.component[:, None]
            whole = StudyComponents(component, fit.at.information)
            inner = None if within is None else StudyComponents(within.component[:, None], within.at.information)
            for_raters = np.full(n_systems, not self.at_large.all())
            errors = self.errors(whole, inner, share.mean, share.mean_within, for_raters)
            scoped = self.errors(whole, inner, share.scoped, share.within, ~self.at_large)
            large = satterthwaite_freedom(*whole, share.large)
            mean, lasts = np.where(self.met.any(0), fit.estimate, np.nan), share.lasts
            rounding = rounding_variance(component, size)
            (variance, freedom), (at_large, large_freedom) = (
                (np.where(variance_of > rounding, variance_of, 0.0)[0], degrees[0])
                for variance_of, degrees in (scoped, large)
            )
            parts = variance, freedom, at_large, large_freedom, fit.component @ share.lasting
            errors = errors[0][0], errors[1][0]
        return ModelComparisons(
            mean,
            *errors,
            self.difference(mean, size),
            *parts,
            lasts,
            self.at_large,
            self.dealt,
            self.comparable,
            self.refused,
            self.raters,
            self.documents,
            self.units,
            all(one is None or one.converged for one in (fit, within)),
        )

    def difference(self, mean: Floats, size: Floats) -> Floats:
        """Return the difference of each pair, `[..., pair]`, of estimates from scores up to a `size[...]`.

        0 where it is rounding; NaN without a document that both systems share.
        """
        gap = np.where(self.documents > 0, mean[..., self.first] - mean[..., self.second], np.nan)
        return np.where(np.abs(gap) <= ROUNDING * size[..., None], 0.0, gap)

    def errors(
        self, whole: StudyComponents, within: StudyComponents | None, share: Floats, share_within: Floats, given: Bools
    ) -> tuple[Floats, Floats]:
        """Return variances and degrees of freedom, `[study, pair]`, for raters at large or, where `given`, for these.

        `share` and `share_within` are fields of `Shares`. For these raters components that are estimated at 0 count as
        estimated: documents of few raters are too few to know it. `within` is None where scores do not scatter there.
        """
        variance, freedom = satterthwaite_freedom(*whole, share)
        if not given.any():
            return variance, freedom
        if self.within is None:
            parts = [satterthwaite_freedom(*whole, share, zeros_known=False)]
        else:
            parts = [(variance, freedom)]
            if within is not None:
                parts.append(satterthwaite_freedom(*within, share_within, zeros_known=False))
        total = np.asarray(sum(variance for variance, _ in parts))
        squares = sum(np.divide(variance**2, df, out=np.zeros_like(variance), where=df > 0) for variance, df in parts)
        # Satterthwaite 1946, for a sum of estimates that are independent.
        spare = np.divide(total**2, squares, out=np.zeros_like(total), where=np.asarray(squares) > 0)
        return np.where(given, total, variance), np.where(given, spare, freedom)

    def shares(self, at: Solved) -> Shares:
        """Return the variance that a unit of each component adds to differences and estimates at solved equations."""
        noise, own_noise = contrast_variances(at.noise), np.diagonal(at.noise, axis1=-2, axis2=-1)
        large, of_raters, means = [noise], [np.zeros_like(noise)], [np.maximum(own_noise, 0.0)]
        apart = [False]
        for term, load in zip(self.design.terms, at.load, strict=True):
            squares = contrast_variances(load.mT @ load)
            apart.append(term.name in (RATERS, TASTES))
            large.append(squares)
            of_raters.append(self._one_sided_variance(load) if term.name == TASTES else squares * apart[-1])
            means.append((load**2).sum(-2))
        whole, mean, raters = np.stack(large, -2), np.stack(means, -2), np.array(apart)[:, None]
        # Of these raters more documents show what there is; others would be other raters.
        lasting = whole * self.at_large * raters
        lasts, scoped, own = np.asarray((lasting > ROUNDING).any(-2)), whole, mean
        if self.within is not None:
            scoped = np.where(self.at_large, whole, np.stack(of_raters, -2))
            own = np.zeros_like(mean)
        left = ~raters[:, 0]
        return Shares(scoped, whole, lasting, lasts, own, whole[..., left, :], mean[..., left, :])

    def _one_sided_variance(self, load: Floats) -> Floats:
        """Return the variance per unit of tastes of each difference, by raters who rated one of the two systems."""
        one_sided = ~(self.met[:, self.first] & self.met[:, self.second])
        # Tastes are numbered as raters and systems that met, rater by rater.
        rater = np.nonzero(self.met)[0]
        return np.asarray((one_sided[rater] * (load[..., self.first] - load[..., self.second]) ** 2).sum(-2))


def rounding_variance(component: Floats, size: Floats) -> Floats:
    """Return the variance up to which a difference has only rounding, `[study, 1]`; `size` is the largest score."""
    total = component.sum(0)
    rounding = (ROUNDING * np.maximum(1.0, size)) ** 2
    # Steps of REML keep the noise at LEAST_NOISE of the components, so that a noise this small stands for none.
    explained = component[0] <= 2 * LEAST_NOISE * total
    return np.where(explained, np.maximum(rounding, 4 * LEAST_NOISE * total), rounding)[:, None]


class SimulatedStudies(NamedTuple):
    """The layout that simulated studies of one design share; of a large design the solved equations and shares, too.

    Values are `[rating, study]`.
    """

    layout: ComparisonLayout
    at: Solved | None = None
    share: Shares | None = None
    at_within: Solved | None = None

    def differences(self, value: Floats) -> Floats:
        """Return the difference of estimates of each pair, `[study, pair]`; 0 where there is none."""
        if self.at is None:
            estimate = self.layout.fit_each(value, self.layout.design).estimate
        else:
            estimate = system_estimates(self.layout.design, self.at, self.layout.average_cells(value))
        return self._differences(estimate, np.abs(value).max(0))

    def families(self, value: Floats) -> tuple[Floats, list[TFamily]]:
        """Return differences, and the t statistics of all pairs in each study."""
        layout, size = self.layout, np.abs(value).max(0)
        model_fit = self._fit_studies(value, layout.design, self.at)
        share, whole, within = self.share or layout.shares(model_fit.at), _components(model_fit), None
        if layout.within is not None and (self.at is None or self.at_within is not None):
            within = _components(self._fit_studies(value, layout.within, self.at_within))
        difference = self._differences(model_fit.estimate, size)
        variance, freedom = layout.errors(whole, within, share.scoped, share.within, ~layout.at_large)
        variance = np.where(variance > rounding_variance(whole.component, size), variance, 0.0)
        statistics = t_statistics(difference, variance, freedom, layout.comparable, layout.units)
        return difference, [StudentFamily(*one, layout.design.n_systems) for one in zip(*statistics, strict=True)]

    def _fit_studies(self, value: Floats, design: DesignProducts, at: Solved | None) -> Fits:
        if at is None:
            return self.layout.fit_each(value, design)
        return step_from(design, at, self.layout.average_cells(value))

    def _differences(self, estimate: Floats, size: Floats) -> Floats:
        return np.nan_to_num(self.layout.difference(estimate.T, size))


def _components(fits: Fits) -> StudyComponents:
    """Return the components of studies; 0 where nothing scatters."""
    return StudyComponents(np.where(fits.scattered, fits.component, 0.0), fits.at.information)


def contrast_variances(covariance: Floats) -> Floats:
    """Return the variance of each difference of systems, `[..., pair]`, from `covariance[..., system, system]`."""
    first, second = np.triu_indices(covariance.shape[-1], 1)
    own = np.diagonal(covariance, axis1=-2, axis2=-1)
    return np.maximum(own[..., first] + own[..., second] - 2 * covariance[..., first, second], 0.0)


def satterthwaite_freedom(
    component: Floats, information: Floats, share: Floats, *, zeros_known: bool = True
) -> tuple[Floats, Floats]:
    """Return variances and their degrees of freedom, `[study, pair]`.

    `share[..., component, pair]` is what a unit of each `component[component, study]` adds, `information[...,
    component, component]` that on ratios to the noise, of all studies or of each. Components at 0 count as known: so
    lmerTest does, and levels hold for raters at large (see the tests). Unless `zeros_known`, they count as estimated.
    """
    variance = component.T @ share if share.ndim == 2 else (component.T[:, None] @ share)[:, 0]
    positive, spread = (component > 1e-8 * component.sum(0)).T, np.empty_like(variance)
    counted = positive if zeros_known else np.ones_like(positive)
    # Studies with the same components at 0 share an inverse.
    for known in map(np.array, set(map(tuple, counted.tolist()))):
        # Components at 0 that count may be all but unidentified: the larger cut leaves out what nothing tells.
        rounding = 1e-15 if zeros_known else SINGULAR
        study = (counted == known).all(1)
        # Only the components that count are inverted: those known to be 0 add no uncertainty.
        own = information[..., known, :][..., known]
        inverse = np.linalg.pinv(own if own.ndim == 2 else own[study], rounding, hermitian=True)
        unit = (share if share.ndim == 2 else share[study])[..., known, :]
        spread[study] = np.einsum("...kp,...kl,...lp->...p", unit, inverse, unit)
    spread *= component[0][:, None] ** 2
    return variance, np.divide(variance**2, spread, out=np.zeros_like(variance), where=spread > 0)


@lru_cache(maxsize=8)
def _layout(
    system: bytes, rater: bytes, item: bytes, document: bytes, n_systems: int, pools: Pools
) -> ComparisonLayout:
    """Lay out the comparisons of a design; arguments are the parts of a `Key`, labels per rating as bytes."""
    of_system = np.frombuffer(system, np.int64)
    of_rater, of_item, of_document = (_number_in_order(np.frombuffer(one, np.int64)) for one in (rater, item, document))
    met = np.zeros((_count(of_rater), n_systems), bool)
    met[of_rater, of_system] = True
    terms, averages = list_terms(of_system, of_rater, of_item, of_document), None
    at, n_averaged = np.arange(len(of_system)), np.ones(len(of_system), np.int64)
    if sum(term.n_levels for term in terms) - max(term.n_levels for term in terms) > LARGEST:
        cell = _number_labels(of_rater, of_document, of_system)
        n_averaged = np.bincount(cell)
        at = np.empty(len(n_averaged), np.int64)
        # Any rating of a cell will do, since all of them have the cell's labels.
        at[cell] = np.arange(len(cell))
        averages = incidence(len(n_averaged), cell)
        # Averaged within documents there are no segments left: documents stand for items.
        terms = list_terms(of_system[at], of_rater[at], of_document[at], of_document[at])
    there = np.zeros((_count(of_document), n_systems))
    there[of_document, of_system] = 1.0
    first, second = np.triu_indices(n_systems, 1)
    documents = (there.T @ there)[first, second]
    pool, single = _pools(met)
    n_raters = met.sum(0)
    thinner = np.minimum(n_raters[first], n_raters[second])
    dealt = (met.astype(float).T @ met)[first, second] == 0
    apart = (pool[first] != pool[second]) & ~(single[pool[first]] & single[pool[second]])
    refused = apart & (pools == "apart")
    # One document shows no spread, and a lone rater's taste cannot be told from the system that nobody else rated.
    comparable = (documents > 1) & ~refused & (~dealt | (thinner > 1))
    load = np.bincount(of_rater * n_systems + of_system, minlength=met.size).reshape(met.shape).astype(float)
    effective = load.sum(0) ** 2 / np.maximum((load**2).sum(0), 1.0)
    enough = (thinner >= FEW_RATERS) & (np.minimum(effective[first], effective[second]) >= FEW_EFFECTIVE)
    at_large = enough | (dealt & comparable)
    return ComparisonLayout(
        make_design(of_system[at], terms, n_systems),
        None if at_large.all() else _design_within_raters(terms, of_rater[at], of_document[at]),
        of_system,
        averages,
        n_averaged,
        of_rater[at],
        of_system[at],
        met,
        first,
        second,
        documents,
        thinner.astype(float),
        np.where(at_large, np.minimum(thinner, documents), documents),
        dealt,
        refused,
        comparable,
        at_large,
        enough,
    )


def _design_within_raters(terms: tuple[RandomTerm, ...], rater: Ints, document: Ints) -> DesignProducts | None:
    """Return the design in which raters' means of systems are fixed effects; None where it does not tell terms apart.

    With one document of each rater tastes are what documents do to systems.
    """
    left = [term for term in terms if term.name not in (RATERS, TASTES)]
    tastes = [term for term in terms if term.name == TASTES]
    if not left or not tastes or len(np.unique(_number_labels(rater, document))) == len(np.unique(rater)):
        return None
    design = make_design(tastes[0].label, left, tastes[0].n_levels)
    return design if is_identified(solve(design, np.full(len(left), 0.5)).information) else None


def list_terms(system: Ints, rater: Ints, item: Ints, document: Ints) -> tuple[RandomTerm, ...]:
    """Return the random terms that a design can tell apart, each with a label for every rating.

    A term is left out where each of its levels is one rating, all that one system has, or a level of a term before it.
    """
    labels = {
        RATERS: (rater,),
        TASTES: (rater, system),
        "document": (document,),
        "document x system": (document, system),
        "segment": (item,),
        WITHIN_RATERS: (rater, document, system),
        "output": (item, system),
    }
    kept: list[RandomTerm] = []
    rated_system = _number_in_order(system)
    n_rated = _count(rated_system)
    for name, columns in labels.items():
        label = _number_labels(*columns)
        n_levels = _count(label)
        # One level is a constant, which systems explain: its component might be anything, and noise next to it nothing.
        if n_levels in (1, len(system)) or (n_levels == n_rated and _are_same(rated_system, label)):
            continue
        if any(term.n_levels == n_levels and _are_same(term.label, label) for term in kept):
            continue
        kept.append(RandomTerm(name, label))
    return tuple(kept) or (RandomTerm("none", np.zeros(len(system), np.int64)),)


def _are_same(first: Ints, second: Ints) -> bool:
    """True if two labels, of equally many levels without gaps, tell the same ratings apart."""
    counterpart = np.empty(_count(first), np.int64)
    counterpart[first] = second
    return np.array_equal(counterpart[first], second)


def _number_labels(*columns: Ints) -> Ints:
    """Number the combinations of labels that occur, from 0."""
    code = _number_in_order(columns[0])
    for column in columns[1:]:
        # Numbered anew after each column, codes stay small enough for 64 bits.
        code = _number_in_order(code * _count(column) + column)
    return code


def _number_in_order(label: Ints) -> Ints:
    """Number the labels that occur, from 0, in their order."""
    size = _count(label)
    if size > SORTED:
        return np.asarray(np.unique(label, return_inverse=True)[1])
    # Marking labels is faster than sorting them.
    there = np.zeros(size, bool)
    there[label] = True
    return label if there.all() else np.asarray((np.cumsum(there) - 1)[label])


def _count(label: Ints) -> int:
    return int(label.max(initial=-1)) + 1


def _pools(met: Bools) -> tuple[Ints, Bools]:
    """Return the pool of each system (pools are raters joined by systems), and mark the pools with one system."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    there = met.astype(np.int64)
    _, pool = connected_components(csr_matrix(there.T @ there), directed=False)
    return np.asarray(pool), np.bincount(pool) == 1
