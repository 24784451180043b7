"""Fit the linear mixed model of ratings: systems fixed; raters, their tastes, documents, segments and outputs random.

`score = system + rater + rater x system + document + document x system + segment + output + noise`. Variance components
are those of restricted maximum likelihood (REML), estimates of systems are generalised least squares (GLS) at these,
degrees of freedom are Satterthwaite's. REML is found by Fisher scoring: each step solves for the components whose
expected quadratic forms `y'P Z Z'P y`, which depend on the design alone, are those observed.

Call `make_design` once for who rated what, then `fit` for the scores of one study, `value[rating]`, or `fit_each` for
those of many. In formulas y are scores, X the incidence of systems and Z_k that of term k, `V_k = Z_k Z_k'`,
`V = I + sum ratio_k V_k` and `P = V^-1 - V^-1 X (X'V^-1 X)^-1 X'V^-1`.

Source: Patterson and Thompson 1971 (REML); Henderson 1975 (mixed-model equations); Satterthwaite 1946, Giesbrecht and
Burns 1985 (degrees of freedom).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from simlab.types import Bools, Floats, Ints

MOST_STEPS, TOLERANCE = 200, 1e-5
"""Steps of Fisher scoring at most, and the change of components, as a share of the total, at which they stop."""

SLACK, LEAST_STEP, LEAST_NOISE = 1e-9, 1e-4, 1e-6
"""Rounding of a deviance, the least step, and the least share of the noise in the components."""

EXPLAINED, ROUNDING, SINGULAR = 1e-18, 1e-12, 1e-9
"""Shares of the sum of squares (within terms, of systems) and of information that are 0 up to rounding."""

SMALL = 1e-3
"""Ratio of a component to the noise below which differences of the equations' inverse lose digits."""

DENSE = 4_000_000
"""Most entries of an incidence matrix that is held whole: sparse ones are slower below."""

FULL = 1 / 50
"""Share of products of two columns within levels from which on whole matrices are faster than those products alone."""


class RandomTerm(NamedTuple):
    """A random term: its name, and the level of each rating, `label[rating]`, numbered from 0 without gaps."""

    name: str
    label: Ints

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        return int(self.label.max(initial=-1)) + 1


class DesignProducts(NamedTuple):
    """Cross-products of a design that no score changes: all that REML needs beside sums of scores by level.

    The term with the most levels, the last of `terms`, is eliminated, so that matrices have the size of the others.
    `columns[column, rating]` is the incidence of systems and of the other terms, `block[k]` the columns of the k-th of
    these; `cross` is `columns columns'`, `last[level, rating]` the incidence of the last term and `to_last` counts
    ratings, `[level, column]`. `products[column and column, level]`, sparse, are products of these counts, where few
    are not 0 (None: where many are, or there are too many). `rank` counts the systems that were rated.
    """

    n: int
    n_systems: int
    rank: int
    terms: tuple[RandomTerm, ...]
    block: tuple[slice, ...]
    columns: Any
    cross: Floats
    last: Any
    to_last: Any
    products: Any
    n_last: Floats


class ScoreSums(NamedTuple):
    """Sums of scores by column of the design and by level of the last term, and of their squares; studies come last."""

    column: Floats
    last: Floats
    square: Floats


class Solved(NamedTuple):
    """The mixed-model equations solved at ratios of components to the noise; all of it follows from the design alone.

    `per_column[column]` is the ratio of each column's component, 1 of systems.
    `inverse` is that of the equations left when the last term is eliminated, `reduced` their data part, `last_weight`
    what is left of each level of the last term. `load[term][level, system]` is the weight of each level in each
    estimate, `noise[system, system]` the covariance of estimates that a unit of noise makes. `log_determinant` is that
    of `V` and of `X'V^-1 X`, `information[k, l]` is `tr(P V_k P V_l)`, the noise first. Where studies have ratios of
    their own they are a first axis of everything.
    """

    ratio: Floats
    per_column: Floats
    reduced: Floats
    inverse: Floats
    last_weight: Floats
    load: tuple[Floats, ...]
    noise: Floats
    log_determinant: Floats
    information: Floats

    def select(self, study: Any) -> Solved:
        """Return the equations of one study, or of some."""
        load = tuple(one[study] for one in self.load)
        return self._replace(load=load, **{name: getattr(self, name)[study] for name in self._fields if name != "load"})

    def put(self, study: Ints, other: Solved) -> None:
        """Replace the equations of some studies."""
        for own, new in zip(self._arrays(), other._arrays(), strict=True):
            own[study] = new

    def _arrays(self) -> list[Floats]:
        return [part for one in self for part in (one if isinstance(one, tuple) else (one,))]


def make_design(system: Ints, terms: Sequence[RandomTerm], n_systems: int) -> DesignProducts:
    """Count who rated which system in which term: `system[rating]` and the labels of at least one term."""
    ordered = tuple(sorted(terms, key=lambda term: term.n_levels))
    labels = [system, *(term.label for term in ordered[:-1])]
    sizes = [n_systems, *(term.n_levels for term in ordered[:-1])]
    starts = np.cumsum([0, *sizes])
    last = ordered[-1]
    columns = incidence(int(starts[-1]), *(label + start for label, start in zip(labels, starts[:-1], strict=True)))
    of_last = incidence(last.n_levels, last.label)
    to_last = (of_last @ columns.T).tocsr()
    n_products = int((np.diff(to_last.indptr).astype(float) ** 2).sum())
    few = n_products <= min(FULL * last.n_levels * starts[-1] ** 2, DENSE)
    if last.n_levels * starts[-1] <= DENSE and not few:
        to_last = np.hstack([_counts(last.label, last.n_levels, *one) for one in zip(labels, sizes, strict=True)])
    return DesignProducts(
        n=len(system),
        n_systems=n_systems,
        rank=int(np.count_nonzero(np.bincount(system))),
        terms=ordered,
        block=tuple(slice(int(a), int(b)) for a, b in pairwise(starts[1:])),
        columns=columns,
        cross=np.block(
            [
                [_counts(*rows, *one) for one in zip(labels, sizes, strict=True)]
                for rows in zip(labels, sizes, strict=True)
            ]
        ),
        last=of_last,
        to_last=to_last,
        products=_products(to_last) if few else None,
        n_last=np.bincount(last.label).astype(float),
    )


def incidence(n_levels: int, *labels: Ints) -> Any:
    """Return which ratings have which level, `[level, rating]`, sparse; each label has levels of its own."""
    from scipy import sparse

    level = np.stack(labels, axis=1)
    pointer = np.arange(0, level.size + 1, len(labels))
    return sparse.csc_matrix((np.ones(level.size), level.ravel(), pointer), (n_levels, len(level))).tocsr()


def _counts(first: Ints, n_first: int, second: Ints, n_second: int) -> Floats:
    """Count ratings by two labels, `[level, level]`."""
    return np.bincount(first * n_second + second, minlength=n_first * n_second).reshape(n_first, n_second).astype(float)


def sum_scores(design: DesignProducts, value: Floats) -> ScoreSums:
    """Add up scores, `value[rating]`, or those of many studies, `value[rating, study]`."""
    return ScoreSums(design.columns @ value, design.last @ value, np.vecdot(value.T, value.T))


def solve(design: DesignProducts, ratio: Floats) -> Solved:
    """Solve the mixed-model equations; `ratio[..., term]` is each component over that of the noise, from 0 on."""
    p, n_columns = design.n_systems, len(design.cross)
    # Levels of a term share no rating, so that eliminating the last one is a single number for each level.
    weight = 1 / (1 + ratio[..., -1:] * design.n_last)
    reduced = design.cross - _weighted_cross_products(design, ratio[..., -1:] * weight)
    per_column = np.ones((*ratio.shape[:-1], n_columns))
    for k, at in enumerate(design.block):
        per_column[..., at] = ratio[..., k, None]
    scale = np.sqrt(per_column)
    equations = scale[..., :, None] * reduced * scale[..., None, :]
    diagonal = np.arange(n_columns)
    # Scaled by the roots of their ratios random effects have precision 1, so that a component of 0 divides nothing.
    equations[..., diagonal[p:], diagonal[p:]] += 1.0
    # A system that nobody rated has no equation.
    equations[..., diagonal[:p], diagonal[:p]] += equations[..., diagonal[:p], diagonal[:p]] == 0
    factor = np.asarray(np.linalg.cholesky(equations), float)
    inverse = scale[..., :, None] * _invert_factor(factor) * scale[..., None, :]
    log_determinant = 2 * np.log(factor[..., diagonal, diagonal]).sum(-1) - np.log(weight).sum(-1)
    weights = inverse[..., :p]
    by_column = reduced @ weights
    last = weight[..., None] * _multiply_by_last(design.to_last, weights)
    load = (*(by_column[..., block, :] for block in design.block), last)
    shares = np.moveaxis(ratio, -1, 0)[..., None, None]
    # The inverse holds the covariance by all components; without what terms add that by the noise is left.
    noise = weights[..., :p, :] - sum(share * one.mT @ one for share, one in zip(shares, load, strict=True))
    information = _information(design, ratio, per_column, reduced, inverse, weight)
    return Solved(ratio, per_column, reduced, inverse, weight, load, noise, log_determinant, information)


def _invert_factor(factor: Floats) -> Floats:
    """Return the inverse of `factor factor'`, `[..., column, column]`, from lower triangles."""
    from scipy.linalg.lapack import dpotri

    lower = np.stack([dpotri(one, lower=1)[0] for one in factor.reshape(-1, *factor.shape[-2:])])
    return np.asarray((lower + np.tril(lower, -1).mT).reshape(factor.shape))


def _products(counts: Any) -> Any:
    """Return products of two columns' counts, `[column and column, level]`, from sparse `counts[level, column]`."""
    from scipy import sparse

    n_levels, n_columns = counts.shape
    size = np.diff(counts.indptr).astype(np.int64)
    level = np.repeat(np.arange(n_levels), size**2)
    within = np.arange(len(level)) - np.repeat(np.cumsum(size**2) - size**2, size**2)
    first, second = (counts.indptr[level] + part for part in np.divmod(within, size[level]))
    at = counts.indices[first].astype(np.int64) * n_columns + counts.indices[second]
    return sparse.csr_matrix((counts.data[first] * counts.data[second], (at, level)), (n_columns**2, n_levels))


def _weighted_cross_products(design: DesignProducts, weight: Floats) -> Floats:
    """Return `to_last' diag(weight) to_last`, `[..., column, column]`, from `weight[..., level]`."""
    counts, n_columns = design.to_last, len(design.cross)
    if design.products is not None:
        cross = design.products @ weight.reshape(-1, weight.shape[-1]).T
        return np.ascontiguousarray(cross.T).reshape(*weight.shape[:-1], n_columns, n_columns)
    if isinstance(counts, np.ndarray):
        half = np.sqrt(weight)[..., None] * counts
        return np.asarray(half.mT @ half)
    each = [(counts.T @ counts.multiply(one[:, None])).toarray() for one in weight.reshape(-1, weight.shape[-1])]
    return np.reshape(each, (*weight.shape[:-1], n_columns, n_columns))


def _multiply_by_last(to_last: Any, matrix: Floats) -> Floats:
    """Return `to_last matrix`, `[..., level, system]`, from `matrix[..., column, system]`."""
    if isinstance(to_last, np.ndarray):
        return np.asarray(to_last @ matrix)
    each = [to_last @ one for one in matrix.reshape(-1, *matrix.shape[-2:])]
    return np.reshape(each, (*matrix.shape[:-2], *each[0].shape))


def _information(
    design: DesignProducts, ratio: Floats, per_column: Floats, reduced: Floats, inverse: Floats, weight: Floats
) -> Floats:
    """Return `tr(P V_k P V_l)` for the noise and all terms, `[..., component, component]`.

    Of two terms it is the squared norm of `Z_k' P Z_l`. By the mixed-model equations that is `I / ratio_k - C_kk /
    ratio_k^2`, and `-C_kl / (ratio_k ratio_l)` beside the diagonal, `C` being the inverse, which leaves one product of
    matrices to do; a ratio near 0, where the difference is lost, asks for two more. What the noise has in it follows,
    since `P V P = P` and `V = I + sum ratio_k V_k`.
    """
    m, n_columns = len(design.terms), len(design.cross)
    small = per_column < SMALL
    scale = np.where(small, 1.0, per_column)
    own = design.n_last * weight
    squares = _weighted_cross_products(design, weight**2)
    twice = squares @ inverse
    left = (inverse * twice).sum(-2) / scale**2
    gram = inverse / -(scale[..., :, None] * scale[..., None, :])
    diagonal = np.arange(n_columns)
    gram[..., diagonal, diagonal] += 1 / scale
    if small.any():
        some = np.flatnonzero(small.reshape(-1, n_columns).any(0))
        residual = np.eye(n_columns)[:, some] - inverse @ reduced[..., some]
        lost, here = reduced @ residual, small[..., some]
        left[..., some] = np.where(here, (residual * (squares @ residual)).sum(-2), left[..., some])
        gram[..., some] = np.where(here[..., None, :], lost, gram[..., some])
        gram[..., some, :] = np.where(here[..., :, None], lost.mT, gram[..., some, :])
    information = np.zeros((*ratio.shape[:-1], m + 1, m + 1))
    trace = np.zeros(ratio.shape)
    for k, at in enumerate(design.block):
        trace[..., k] = np.trace(gram[..., at, at], axis1=-2, axis2=-1)
        information[..., m, k + 1] = information[..., k + 1, m] = left[..., at].sum(-1)
        for j, other in enumerate(design.block[: k + 1]):
            information[..., k + 1, j + 1] = information[..., j + 1, k + 1] = (gram[..., at, other] ** 2).sum((-2, -1))
    trace[..., -1] = own.sum(-1) - (squares * inverse).sum((-2, -1))
    common = (_weighted_cross_products(design, own * weight**2) * inverse).sum((-2, -1))
    information[..., m, m] = (own**2).sum(-1) - 2 * common + (twice * twice.mT).sum((-2, -1))
    of_noise = trace - (ratio[..., None, :] @ information[..., 1:, 1:])[..., 0, :]
    information[..., 0, 1:] = information[..., 1:, 0] = of_noise
    information[..., 0, 0] = design.n - design.rank - np.vecdot(ratio, trace) - np.vecdot(ratio, of_noise)
    return information


class Forms(NamedTuple):
    """Effects of a study, `[column]`, its quadratic forms `y'P V_k P y`, the noise first, and `residual`, `y'P y`.

    Studies are a last axis.
    """

    effect: Floats
    form: Floats
    residual: Floats


def quadratic_forms(design: DesignProducts, at: Solved, sums: ScoreSums) -> Forms:
    """Return estimates and quadratic forms of a study, or of many, at solved equations, common ones or their own."""
    taken, left = _reduced_sums(design, at, sums.column, sums.last)
    effect = _times(at.inverse, left)
    # What terms explain altogether leaves rounding, of either sign.
    explained = np.vecdot(taken.T, sums.last.T) + np.vecdot(left.T, effect.T)
    residual = np.maximum(sums.square - explained, EXPLAINED * sums.square)
    # `Z_k' P y` is what the equations make of effects, over the ratio.
    small = at.per_column < SMALL
    apart = (effect.T / np.where(small, 1.0, at.per_column)).T
    if small.any():
        some = small.reshape(-1, small.shape[-1]).any(0)
        exact = left[some] - _times(at.reduced[..., some, :], effect)
        apart[some] = np.where(small[..., some], exact.T, apart[some].T).T
    last = (at.last_weight * (sums.last - design.to_last @ effect).T).T
    parts = (*(apart[block] for block in design.block), last)
    form = np.array([residual, *(np.vecdot(part.T, part.T) for part in parts)])
    form[0] -= np.vecdot(at.ratio, form[1:].T)
    return Forms(effect, form, residual)


def _times(matrix: Floats, column: Floats) -> Floats:
    """Return `matrix[..., row, column] column[column, study]`, `[row, study]`: one for all studies or one for each."""
    return np.asarray(matrix @ column if matrix.ndim == 2 else (matrix @ column.T[..., None])[..., 0].T)


def _reduced_sums(design: DesignProducts, at: Solved, column: Floats, last: Floats) -> tuple[Floats, Floats]:
    """Return the part of sums by level that the last term takes, and the sums by column that this leaves."""
    taken = (at.ratio[..., -1:] * at.last_weight * last.T).T
    return taken, column - design.to_last.T @ taken


def system_estimates(design: DesignProducts, at: Solved, value: Floats) -> Floats:
    """Return the estimates of systems alone, `[system, study]`, from `value[rating, study]`."""
    _, left = _reduced_sums(design, at, design.columns @ value, design.last @ value)
    return np.asarray(at.inverse[: design.n_systems] @ left)


def predictions(design: DesignProducts, at: Solved, value: Floats) -> tuple[Floats, dict[str, Floats]]:
    """Return estimates, `[system, study]`, and the best linear unbiased prediction of each level of each term.

    Predictions are `[level, study]`, from `value[rating, study]`.
    """
    sums = design.last @ value
    _, left = _reduced_sums(design, at, design.columns @ value, sums)
    effect = at.inverse @ left
    last = at.ratio[-1] * (at.last_weight * (sums - design.to_last @ effect).T).T
    each = (*(effect[block] for block in design.block), last)
    levels = {term.name: one for term, one in zip(design.terms, each, strict=True)}
    return np.asarray(at.inverse[: design.n_systems] @ left), levels


class Equations(Protocol):
    """Solved equations as steps of REML read them; studies are a first axis of all, see `Solved`."""

    @property
    def ratio(self) -> Floats:
        """Ratio of each component to the noise, `[study, term]`."""

    @property
    def log_determinant(self) -> Floats:
        """Log determinants of `V` and of `X'V^-1 X`, `[study]`."""

    @property
    def information(self) -> Floats:
        """`tr(P V_k P V_l)`, `[study, component, component]`."""

    def select(self, study: Any) -> Self:
        """Return the equations of some studies."""

    def put(self, study: Ints, other: Self) -> None:
        """Replace the equations of some studies."""


E = TypeVar("E", bound=Equations)


class MixedModelFit(NamedTuple):
    """A fitted model: variance `component[noise and term]`, `estimate[system]`, and the solved equations `at`.

    `converged` is False where steps ended before components settled.
    """

    design: DesignProducts
    component: Floats
    estimate: Floats
    at: Solved
    converged: bool


class Fits(NamedTuple):
    """Mixed models fitted to many studies: `component[noise and term, study]` and `estimate[system, study]`.

    `at` are the equations, common to all studies or each study's own. `scattered[study]` is False where systems' means
    explain all scores, `converged[study]` where steps ended before components settled.
    """

    component: Floats
    estimate: Floats
    at: Solved
    scattered: Bools
    converged: Bools


def fit(design: DesignProducts, value: Floats) -> MixedModelFit | None:
    """Fit by REML to scores, `value[rating]`; None where systems' means explain all of them."""
    fits = fit_each(design, value[:, None])
    if not fits.scattered[0]:
        return None
    return MixedModelFit(design, fits.component[:, 0], fits.estimate[:, 0], fits.at.select(0), bool(fits.converged[0]))


def fit_each(design: DesignProducts, value: Floats) -> Fits:
    """Fit by REML to each study, `value[rating, study]`, all of them step by step together."""
    sums, free = sum_scores(design, value), design.n - design.rank
    n_studies, scattered = value.shape[1], _has_scatter(design, sums)
    at, forms, converged = step_to_reml(
        np.full((n_studies, len(design.terms)), 0.5),
        free,
        scattered,
        lambda ratio, study: solve(design, ratio),
        lambda at, study: quadratic_forms(design, at, _some_sums(sums, study)),
    )
    # At given ratios the noise that REML finds is y'P y over its degrees of freedom.
    component = forms.residual / max(free, 1) * np.vstack([np.ones(n_studies), at.ratio.T])
    return Fits(component, forms.effect[: design.n_systems], at, scattered, converged)


def step_to_reml(
    ratio: Floats,
    free: int,
    scattered: Bools,
    solve_at: Callable[[Floats, Any], E],
    forms_at: Callable[[E, Any], Forms],
) -> tuple[E, Forms, Bools]:
    """Step from ratios, `[study, term]`, to those of REML; return equations, forms, and True where a study converged.

    `solve_at(ratio, study)` and `forms_at(equations, study)` are for some of the studies, by their places. `ratio` and
    `free`, the degrees of freedom of the scores, are those of all.
    """
    every = slice(None)
    at = solve_at(ratio, every)
    forms = forms_at(at, every)
    going, converged = np.flatnonzero(scattered), np.zeros(len(ratio), bool)
    deviance = _deviance(free, at, np.where(scattered, forms.residual, 1.0))
    for _ in range(MOST_STEPS):
        aim = nearest_components(at.information[going], forms.form[:, going])
        going, aim = going[aim.any(0)], aim[:, aim.any(0)]
        if not len(going):
            break
        start = at.ratio[going]
        # A noise of 0 would make all ratios infinite.
        path = (aim[1:] / np.maximum(aim[0], LEAST_NOISE * aim.sum(0))).T - start
        waiting, step = np.arange(len(going)), 1.0
        while len(waiting):
            study = going[waiting]
            tried = solve_at(start[waiting] + step * path[waiting], study)
            forms_there = forms_at(tried, study)
            there = _deviance(free, tried, forms_there.residual)
            # Steps are halved until the deviance does not rise; the least one is taken anyway, so that steps end.
            taken = (there <= deviance[study] + SLACK) | (step < LEAST_STEP)
            at.put(study[taken], tried.select(taken))
            for all_studies, of_some in zip(forms, forms_there, strict=True):
                all_studies[..., study[taken]] = of_some[..., taken]
            deviance[study[taken]] = there[taken]
            waiting, step = waiting[~taken], step / 2
        change = np.abs(at.ratio[going] - start).max(1) / (1 + start.sum(1))
        converged[going] = change < TOLERANCE
        going = going[change >= TOLERANCE]
    return at, forms, converged


def _some_sums(sums: ScoreSums, study: Any) -> ScoreSums:
    return ScoreSums(*(array[..., study] for array in sums))


def step_from(design: DesignProducts, at: Solved, value: Floats) -> Fits:
    """Make one step of Fisher scoring for each study, `value[rating, study]`, from the components of solved equations.

    It is statistically efficient where these are the true ones, and no new equations are solved.
    """
    sums = sum_scores(design, value)
    forms = quadratic_forms(design, at, sums)
    component = nearest_components(at.information, forms.form)
    scattered = _has_scatter(design, sums)
    return Fits(component, forms.effect[: design.n_systems], at, scattered, scattered)


def _has_scatter(design: DesignProducts, sums: ScoreSums) -> Bools:
    """True where the scores of a study vary beyond what systems explain."""
    of_system, n = sums.column[: design.n_systems], design.cross.diagonal()[: design.n_systems]
    scatter = sums.square - (of_system.T**2 / np.maximum(n, 1)).sum(-1)
    return np.asarray((scatter > ROUNDING * sums.square) & (design.n > design.rank))


def _deviance(free: int, at: Equations, residual: Floats) -> Floats:
    """Return the deviance of each study, by its degrees of freedom and its `y'P y`."""
    return np.asarray(at.log_determinant + free * np.log(residual))


def is_identified(information: Floats) -> bool:
    """True if a design tells all components apart, by their `information[component, component]`."""
    own = np.diag(information)
    if own.min() <= SINGULAR * own.max():
        return False
    # Scaled to a diagonal of 1, so that a component with much information does not hide another.
    return bool(np.linalg.eigvalsh(information / np.sqrt(np.outer(own, own)))[0] > SINGULAR)


def nearest_components(information: Floats, form: Floats) -> Floats:
    """Return the components, none below 0, whose expected quadratic forms are nearest to those observed.

    `form[noise and term, study]`, as what is returned; `information[..., component, component]` is common to all
    studies or each study's own.
    """
    from scipy.optimize import nnls

    own = np.diagonal(information, axis1=-2, axis2=-1)
    size = np.sqrt(np.maximum(own, SINGULAR**2 * own.max(-1, keepdims=True)))
    values, vectors = np.linalg.eigh(information / (size[..., :, None] * size[..., None, :]))
    known = values > SINGULAR * values[..., -1:]
    # What is not known has no weight, as if its equation were left out.
    length = np.sqrt(np.where(known, values, 0.0))
    shrunk = np.divide(1.0, length, out=np.zeros_like(length), where=known)
    root = (vectors * length[..., None, :]).mT
    aim = _times((vectors * shrunk[..., None, :]).mT, (form.T / size).T)
    free = (_times(vectors * shrunk[..., None, :], aim).T / size).T
    inside = (free >= 0).all(0) & known.all(-1)
    # Only studies whose free solution has a component below 0 need the constrained one, which is slower.
    for study in np.flatnonzero(~inside):
        roots = root if root.ndim == 2 else root[study]
        sizes = size if size.ndim == 1 else size[study]
        free[:, study] = nnls(roots, aim[:, study])[0] / sizes
    return np.asarray(free)
