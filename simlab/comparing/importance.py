"""Estimate the importance of assumptions: shares of a measure's variance by axis, or by input drawn world by world.

Call `grid_importance` with the cells of a full grid, or `sobol_importance` where settings were drawn for each world;
both return an `Importance`. A cluster is the unit of replication of a cell, usually a world.

On a full grid these are the shares of sums of squares (analysis of variance, every value of an axis with equal weight).
An axis has a main share, and a total one that adds all interactions it is in. Noise adds to each sum what the same sums
of the clusters' influence values give, which is taken off: right also where cells share worlds. Intervals come from
moving the cells by their errors.

Of inputs drawn at random the shares are Sobol' indices (Sobol' 1993; total: Homma and Saltelli 1996), from a regression
on polynomials that are orthonormal over the inputs' own ranks (polynomial chaos; Sudret 2008), since shares do not
depend on the scale of an input. Degrees, and how many inputs a term has, are chosen by leaving one world out. Taken off
are what the errors of coefficients add to their squares, and of the variance the noise of studies. Errors are the
jackknife's over groups of worlds. Inputs are taken to be independent. The rest, which no term explains, is the chance
of worlds and effects that more worlds would show; where it is large, total shares are too small.

Where worlds were drawn for each cell of a grid, the contrasts of the grid (its mean, the differences along each axis,
their interactions) are such values of a world each, and their variances add up to that over cells and worlds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations, islice, product
from typing import NamedTuple

import numpy as np

from simlab.engine.workers import one_thread
from simlab.measures.precision import LEVEL, margin
from simlab.rng import stream
from simlab.types import Array, Bools, Floats, InputError, Ints

RESAMPLES = 1000
"""Random moves of the cells by their errors, from which the intervals of shares come."""
LEAST_SURE = 0.025
"""Share of those moves in which the variance of the cells may be 0 or less; above it no shares are given."""
DEGREES = range(1, 13)
"""Degrees of polynomials that are tried."""
TERMS_PER_WORLD, MOST_TERMS, MOST_ORDER = 1 / 4, 120, 3
"""Limits of a regression: terms per world, terms in all, and inputs in a product."""
GROUPS = 20
"""Groups of worlds that are left out in turn for the error of an index (jackknife)."""
LEAST_WORLDS = 50
"""Worlds that Sobol' indices need."""
TINY = 1e-12
DEPENDENT = 5.0
"""Standard errors of a rank correlation of 0 from which two inputs are not independent."""


class Share(NamedTuple):
    """A share of a variance with its standard error and 95 % interval."""

    value: float
    mcse: float
    low: float
    high: float


class AxisImportance(NamedTuple):
    """Shares of a measure's variance that an axis, or input, explains alone, and with all its interactions."""

    name: str
    main: Share
    total: Share


class Importance(NamedTuple):
    """Axes, or inputs, by the variance that they explain; `rest` is what none explains (0 on a grid).

    `sd` is the standard deviation of the true values over the grid, or over worlds; `n` counts cells or worlds.
    `interactions` is what more than one axis explains together.
    """

    axes: tuple[AxisImportance, ...]
    interactions: Share
    rest: Share
    sd: float
    n: int


class _Basis(NamedTuple):
    """Functions of one input, `[world, function]`, and the degree of each."""

    functions: Floats
    degrees: Ints


class _Term(NamedTuple):
    """A product of functions: of which inputs, and which of the functions of each."""

    inputs: tuple[int, ...]
    columns: tuple[int, ...]


class _Fit(NamedTuple):
    """Coefficients and their variances, `[term, contrast]`, and the mean squared error of worlds that are left out."""

    coefficient: Floats
    variance: Floats
    error: float


class _Contrasts(NamedTuple):
    """Contrasts of a grid in each world, `mean[world, contrast]`, with the variance of the noise in each.

    `effects[contrast]` names the axes along which cells differ in it; the first one is the mean over the grid.
    """

    mean: Floats
    noise: Floats
    effects: tuple[tuple[int, ...], ...]

    def select_worlds(self, rows: Bools) -> _Contrasts:
        """Return those of some worlds."""
        return _Contrasts(self.mean[rows], self.noise[rows], self.effects)


class _Parts(NamedTuple):
    """Parts of a variance: of the grid `[contrast]`, of the terms `[term, contrast]`, and all of it."""

    grid: Floats
    terms: Floats
    whole: float


def grid_importance(axes: Sequence[str], value: Floats, influence: Floats) -> Importance:
    """Share the variance of a measure over a full grid out to its axes.

    `value[axis, ...]` are the cells, `axes` the names of their axes, `influence[axis, ..., cluster]` the jackknife
    influence of each cluster on them (NaN: there is none). Axes with one value are left out. Raises InputError where a
    cell has no value, where no axis has two, and where the cells do not differ by more than their noise.
    """
    kept = [k for k, size in enumerate(value.shape) if size > 1]
    names = [axes[k] for k in kept]
    if not kept:
        raise InputError("no axis of this store has two values; sweep at least one assumption")
    if lacking := int((~np.isfinite(value)).sum()):
        raise InputError(
            f"{lacking} of {value.size} cells have no value, and shares of a variance need all of a grid; "
            "name values of axes that leave these cells out"
        )
    value = value.reshape([value.shape[k] for k in kept])
    noise = _scale_influence(influence).reshape(*value.shape, -1)
    rng = stream(0, "importance", "grid")
    drawn = rng.standard_normal((noise.shape[-1], RESAMPLES))
    effects = _effects(len(kept))
    of_noise = {effect: _squares(noise, effect).sum() for effect in effects}
    moved = value[..., None] + noise @ drawn
    estimate = {effect: _squares(value[..., None], effect) - of_noise[effect] for effect in effects}
    # A cell that is moved by its error has the noise of two.
    resampled = {effect: _squares(moved, effect) - 2 * of_noise[effect] for effect in effects}
    whole, sums = float(sum(estimate.values())[0]), sum(resampled.values())
    # Shares of a variance that may be nothing are ratios of noise.
    if whole <= 0 or np.quantile(sums, LEAST_SURE) <= 0:
        raise InputError("the cells differ by no more than their Monte-Carlo errors: run more worlds or studies")
    # Without its noise a small effect may seem to explain less than nothing, and a total less than its main effect.
    estimate, resampled = ({e: np.maximum(x, 0.0) for e, x in of.items()} for of in (estimate, resampled))
    # A resample that happens to have no variance would make shares of it infinite.
    whole, sums = float(sum(estimate.values())[0]), np.maximum(sum(resampled.values()), whole * 1e-3)

    def share(of: Sequence[tuple[int, ...]]) -> Share:
        return _share(
            float(sum(estimate[e] for e in of)[0] / whole) if of else 0.0, sum(resampled[e] for e in of) / sums
        )

    return Importance(
        tuple(
            AxisImportance(name, share([(k,)]), share([effect for effect in effects if k in effect]))
            for k, name in enumerate(names)
        ),
        share([effect for effect in effects if len(effect) > 1]),
        Share(0.0, 0.0, 0.0, 0.0),
        float(np.sqrt(whole)),
        value.size,
    )


def _scale_influence(influence: Floats) -> Floats:
    """Scale influence values so that the error of a cell is the root of their sum of squares."""
    k = np.isfinite(influence).sum(-1, keepdims=True)
    return np.asarray(np.nan_to_num(influence) / np.sqrt(np.where(k > 1, k * (k - 1), np.inf)), float)


def _effects(n: int) -> list[tuple[int, ...]]:
    return list(chain.from_iterable(combinations(range(n), size) for size in range(1, n + 1)))


def _squares(cells: Floats, effect: tuple[int, ...]) -> Floats:
    """Return the variance over the grid that an effect explains: `[last]` from `cells[axis, ..., last]`."""
    n = cells.ndim - 1
    part = cells.mean(tuple(k for k in range(n) if k not in effect), keepdims=True)
    for axis in effect:
        # Taking the mean out along each axis in turn leaves the interaction alone (analysis of variance).
        part = part - part.mean(axis, keepdims=True)
    return np.asarray((part**2).mean(tuple(range(n))))


def _share(value: float, resampled: Floats | int) -> Share:
    drawn = np.broadcast_to(resampled, RESAMPLES) if np.ndim(resampled) == 0 else np.asarray(resampled)
    low, high = np.clip(np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]), 0.0, 1.0)
    return Share(float(np.clip(value, 0.0, 1.0)), float(np.std(drawn, ddof=1)), float(low), float(high))


def sobol_importance(inputs: Mapping[str, Array], values: Floats, axes: Sequence[str] = ()) -> Importance:
    """Estimate Sobol' indices of inputs that were drawn at random, world by world, beside the axes of a grid.

    `inputs[name][world]` are numbers, or texts; `axes` names the axes of the grid. `values[axis, ..., world, study]`
    average to the value of a world in a cell (NaN: there is no such study). With one study of each world its noise is
    part of the rest. Axes come first in what is returned, those with one value left out. Raises InputError where worlds
    are fewer than 50, where an input does not vary, and where two depend on each other.
    """
    kept = [k for k in range(len(axes)) if values.shape[k] > 1]
    contrasts = _contrasts(values.reshape([*(values.shape[k] for k in kept), *values.shape[len(axes) :]]))
    known = np.asarray(np.isfinite(contrasts.mean).all(1))
    contrasts, given = (
        contrasts.select_worlds(known),
        {name: np.asarray(array)[known] for name, array in inputs.items()},
    )
    if known.sum() < LEAST_WORLDS:
        raise InputError(
            f"{known.sum()} worlds have a value here, and shares of what was drawn for them need {LEAST_WORLDS}; "
            f"run more of them (worlds={4 * LEAST_WORLDS})"
        )
    _refuse_dependent(given)
    # The last bits of a matrix product depend on how many threads there are.
    with one_thread():
        return _sobol(given, contrasts, [axes[k] for k in kept])


def _contrasts(values: Floats) -> _Contrasts:
    """Return contrasts that are orthonormal over the cells of a grid: `values[axis, ..., world, study]`."""
    places: list[tuple[int, ...]] = [()]
    for k in range(values.ndim - 2):
        n = values.shape[k]
        full = np.column_stack([np.ones(n), np.eye(n)[:, 1:]])
        basis = np.linalg.qr(full)[0] * np.sqrt(n)
        # QR leaves the sign of a column open, and the first one is to be the mean.
        basis[:, 0] = 1.0
        values = np.moveaxis(np.tensordot(basis / n, values, (0, k)), 0, k)
        places = [(*place, j) for place in places for j in range(n)]
    flat = values.reshape(-1, *values.shape[-2:])
    n_studies = np.isfinite(flat).sum(-1)
    mean = np.where(n_studies > 0, np.nansum(flat, axis=-1) / np.maximum(n_studies, 1), np.nan)
    effects = tuple(tuple(k for k, j in enumerate(place) if j) for place in places)
    return _Contrasts(mean.T, np.stack([_noise(of) for of in flat], axis=1), effects)


def _sobol(given: Mapping[str, Array], contrasts: _Contrasts, axes: Sequence[str]) -> Importance:
    n = len(contrasts.mean)
    degree, terms = _choose_terms(given, contrasts.mean)
    parts = _parts(given, contrasts, degree, terms)
    if parts.whole <= 0:
        raise InputError("worlds differ by no more than the noise of their studies: run more studies of each")
    groups = stream(0, "importance", "sobol").permutation(n) % min(n, GROUPS)
    left_out = [
        _parts({name: array[rest] for name, array in given.items()}, contrasts.select_worlds(rest), degree, terms)
        for rest in (groups != group for group in range(groups.max() + 1))
    ]

    def share(grid: Bools, of_terms: Bools) -> Share:
        value, *without = (
            float(part.grid[grid].sum() + part.terms[of_terms].sum()) / max(part.whole, TINY)
            for part in (parts, *left_out)
        )
        # The jackknife's (g - 1) / g times a sum of squares, of which `np.var` is the mean.
        error = float(np.sqrt((len(without) - 1) * np.var(without)))
        half = margin(len(without)) * error
        low, high, value = (float(end) for end in np.clip([value - half, value + half, value], 0.0, 1.0))
        return Share(value, error, low, high)

    # What is of the grid alone is that of its mean over worlds, what is of an input alone that of the mean over cells.
    of_axes = [np.array([k in effect for effect in contrasts.effects]) for k in range(len(axes))]
    of_inputs = [np.array([k in term.inputs for term in terms]) for k in range(len(given))]
    n_axes = np.array([len(effect) for effect in contrasts.effects])
    n_inputs = np.array([len(term.inputs) for term in terms])
    nowhere, anywhere = np.zeros(len(n_axes), bool), np.zeros((len(terms), len(n_axes)), bool)
    importances = [
        AxisImportance(name, share(of & (n_axes == 1), anywhere), share(of, anywhere | of))
        for name, of in zip(axes, of_axes, strict=True)
    ]
    importances += [
        AxisImportance(
            name,
            share(nowhere, np.outer(of & (n_inputs == 1), n_axes == 0)),
            share(nowhere, np.outer(of, n_axes >= 0)),
        )
        for name, of in zip(given, of_inputs, strict=True)
    ]
    every = share(n_axes > 0, ~anywhere)
    return Importance(
        tuple(importances),
        share(n_axes > 1, n_inputs[:, None] + n_axes > 1),
        Share(1 - every.value, every.mcse, 1 - every.high, 1 - every.low),
        float(np.sqrt(parts.whole)),
        n,
    )


def _noise(values: Floats) -> Floats:
    """Return the variance of the noise in the mean of each world; 0 where none has two studies."""
    n = np.isfinite(values).sum(1)
    if (n < 2).all():
        return np.zeros(len(n))
    several = n > 1
    # A world with one study does not tell its noise, and has that of the others.
    variance = np.full(len(n), np.nanvar(values[several], axis=1, ddof=1).mean())
    variance[several] = np.nanvar(values[several], axis=1, ddof=1)
    return np.asarray(variance / n)


def _refuse_dependent(given: Mapping[str, Array]) -> None:
    ranks = {}
    for name, array in given.items():
        if len(np.unique(array)) < 2:
            raise InputError(f"{name} has one value in these worlds; leave it out")
        if array.dtype.kind in "iuf":
            if not np.isfinite(array).all():
                raise InputError(f"{name} is no number in some of these worlds; leave it out")
            ranks[name] = np.unique(array, return_inverse=True)[1]
    for first, second in combinations(ranks, 2):
        correlation = float(np.corrcoef(ranks[first], ranks[second])[0, 1])
        # A correlation of independent inputs has the standard error 1 / sqrt(n).
        if abs(correlation) * np.sqrt(len(ranks[first])) > DEPENDENT:
            raise InputError(
                f"{first} and {second} depend on each other in these worlds (rank correlation {correlation:.2f}), and "
                "no share is that of either; leave one out"
            )


def _choose_terms(given: Mapping[str, Array], y: Floats) -> tuple[int, list[_Term]]:
    """Return the degree and the terms with the least squared error of worlds that are left out."""
    best: tuple[float, int, list[_Term]] | None = None
    most = min(int(TERMS_PER_WORLD * len(y)), MOST_TERMS)
    for degree in DEGREES:
        bases = [_build_basis(array, degree) for array in given.values()]
        for order in range(1, min(degree, len(bases), MOST_ORDER) + 1):
            terms = list(islice(_terms(bases, degree, order), most + 1))
            if len(terms) > most:
                break
            error = _fit(bases, terms, y).error
            if best is None or error < best[0]:
                best = error, degree, terms
    if best is None:
        raise InputError(f"{len(y)} worlds are too few for {len(given)} inputs; run more of them, or name fewer")
    return best[1], best[2]


def _parts(given: Mapping[str, Array], contrasts: _Contrasts, degree: int, terms: Sequence[_Term]) -> _Parts:
    """Return what the grid and each term explain of the variance over cells and worlds, noise taken off."""
    mean, noise, effects = contrasts
    fit = _fit([_build_basis(array, degree) for array in given.values()], terms, mean)
    spread = mean.var(0, ddof=1)
    # The square of a mean is too large by its variance.
    grid = np.where([len(effect) > 0 for effect in effects], mean.mean(0) ** 2 - spread / len(mean), 0.0)
    return _Parts(grid, fit.coefficient**2 - fit.variance, float(grid.sum() + (spread - noise.mean(0)).sum()))


def _build_basis(array: Array, degree: int) -> _Basis:
    """Return polynomials of an input's ranks, or contrasts of words: `[world, function]`, orthonormal over worlds."""
    values, place, n = np.unique(array, return_inverse=True, return_counts=True)
    if array.dtype.kind in "iuf":
        # Middle ranks on (-1, 1), where Legendre polynomials are orthogonal; equal values share one.
        middle = 2 * (np.cumsum(n) - n / 2) / n.sum() - 1
        functions = np.polynomial.legendre.legvander(middle, min(degree, len(values) - 1))[place]
        degrees = np.arange(1, functions.shape[1])
    else:
        functions = np.column_stack([np.ones(len(array)), np.eye(len(values))[place, 1:]])
        degrees = np.ones(len(values) - 1, int)
    # QR makes them orthonormal over these very worlds, whose ranks may have ties.
    return _Basis(np.linalg.qr(functions)[0][:, 1:] * np.sqrt(len(array)), degrees)


def _terms(bases: Sequence[_Basis], degree: int, order: int) -> Iterator[_Term]:
    """Yield the products of functions of so many inputs, and of so high a degree, at most."""
    for size in range(1, order + 1):
        for inputs in combinations(range(len(bases)), size):
            for columns in product(*(range(len(bases[k].degrees)) for k in inputs)):
                if sum(bases[k].degrees[c] for k, c in zip(inputs, columns, strict=True)) <= degree:
                    yield _Term(inputs, columns)


def _fit(bases: Sequence[_Basis], terms: Sequence[_Term], y: Floats) -> _Fit:
    n = len(y)
    products = [np.prod([bases[k].functions[:, c] for k, c in zip(*term, strict=True)], axis=0) for term in terms]
    q, r = np.linalg.qr(np.column_stack([np.ones(n), *products]))
    turned = q.T @ y
    residual = y - q @ turned
    # A residual over 1 - leverage is the error of that world when it is left out: no refit is needed.
    left_out = residual / np.maximum(1 - (q**2).sum(1), 1 / n)[:, None]
    back = np.linalg.inv(r)
    # With X = QR the inverse of X'X is inv(R) inv(R)', whose diagonal are sums of squares of rows.
    variance = np.outer((back**2).sum(1), (residual**2).sum(0) / (n - len(terms) - 1))
    return _Fit((back @ turned)[1:], variance[1:], float((left_out**2).sum(1).mean()))
