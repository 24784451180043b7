"""Fit the linear mixed model of ratings: systems fixed; raters, their tastes, documents, segments and outputs random.

`score = system + rater + rater x system + document + document x system + segment + output + noise`. Variance components
are those of restricted maximum likelihood (REML), estimates of systems are generalised least squares (GLS) at these,
degrees of freedom are Satterthwaite's. REML is found by Fisher scoring: each step solves for the components whose
expected quadratic forms `y'P Z Z'P y`, which depend on the design alone, are those observed.

Source: Patterson and Thompson 1971 (REML); Henderson 1975 (mixed-model equations); Satterthwaite 1946, Giesbrecht and
Burns 1985 (degrees of freedom).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

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
"""Incidence matrices of so many entries are held whole: sparse ones are slower below."""


class Term(NamedTuple):
    """A random term: its name, and the level of each rating, `label[rating]`, numbered from 0 without gaps."""

    name: str
    label: Ints

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        return int(self.label.max(initial=-1)) + 1


class Design(NamedTuple):
    """Cross-products of a design that no score changes: all that REML needs beside sums of scores by level.

    The term with the most levels, the last of `terms`, is eliminated, so that matrices have the size of the others.
    `columns[column, rating]` is the incidence of systems and of the other terms, `block[k]` the columns of the k-th of
    these; `cross` is `columns columns'`, `last[level, rating]` the incidence of the last term and `to_last` counts
    ratings, `[level, column]`. `rank` counts the systems that were rated.
    """

    n: int
    n_systems: int
    rank: int
    terms: tuple[Term, ...]
    block: tuple[slice, ...]
    columns: Any
    cross: Floats
    last: Any
    to_last: Any
    n_last: Floats


class Sums(NamedTuple):
    """Sums of scores by column and by level of the last term, and the sum of their squares; studies are a last axis."""

    column: Floats
    last: Floats
    square: Floats


class Solved(NamedTuple):
    """The mixed-model equations solved at ratios of components to the noise; all of it follows from the design alone.

    `per_column[column]` is the ratio of each column's component, 1 of systems.
    `inverse` is that of the equations left when the last term is eliminated, `reduced` their data part, `last_weight`
    what is left of each level of the last term. `load[term][level, system]` is the weight of each level in each
    estimate, `noise[system, system]` the covariance of estimates that a unit of noise makes. `log_determinant` is that
    of `V` and of `X'V^-1 X`, `information[k, l]` is `tr(P V_k P V_l)`, the noise first.
    """

    ratio: Floats
    per_column: Floats
    reduced: Floats
    inverse: Floats
    last_weight: Floats
    load: tuple[Floats, ...]
    noise: Floats
    log_determinant: float
    information: Floats


def design_of(system: Ints, terms: Sequence[Term], n_systems: int) -> Design:
    """Count who rated which system in which term: `system[rating]` and the labels of at least one term."""
    ordered = tuple(sorted(terms, key=lambda term: term.n_levels))
    labels = [system, *(term.label for term in ordered[:-1])]
    sizes = [n_systems, *(term.n_levels for term in ordered[:-1])]
    starts = np.cumsum([0, *sizes])
    last = ordered[-1]
    columns = incidence(int(starts[-1]), *(label + start for label, start in zip(labels, starts[:-1], strict=True)))
    of_last = incidence(last.n_levels, last.label)
    if last.n_levels * starts[-1] <= DENSE:
        to_last = np.hstack([_counts(last.label, last.n_levels, *one) for one in zip(labels, sizes, strict=True)])
    else:
        to_last = (of_last @ columns.T).tocsr()
    return Design(
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
        n_last=np.bincount(last.label).astype(float),
    )


def incidence(n_levels: int, *labels: Ints) -> Any:
    """Return which ratings have which level, `[level, rating]`, sparse; each label has levels of its own."""
    from scipy import sparse

    level = np.stack(labels, axis=1)
    pointer = np.arange(0, level.size + 1, len(labels))
    return sparse.csc_matrix((np.ones(level.size), level.ravel(), pointer), (n_levels, len(level))).tocsr()


def _counts(one: Ints, n_one: int, other: Ints, n_other: int) -> Floats:
    """Count ratings by two labels, `[level, level]`."""
    return np.bincount(one * n_other + other, minlength=n_one * n_other).reshape(n_one, n_other).astype(float)


def sums_of(design: Design, value: Floats) -> Sums:
    """Add up scores, `value[rating]`, or those of many studies, `value[rating, study]`."""
    return Sums(design.columns @ value, design.last @ value, np.vecdot(value.T, value.T))


def solve(design: Design, ratio: Floats) -> Solved:
    """Solve the mixed-model equations; `ratio[term]` is each component over that of the noise, from 0 on."""
    from scipy.linalg.lapack import dpotri

    p = design.n_systems
    weight = 1 / (1 + ratio[-1] * design.n_last)
    reduced = design.cross - _weighted_cross(design.to_last, ratio[-1] * weight)
    per_column = np.ones(len(reduced))
    for k, at in enumerate(design.block):
        per_column[at] = ratio[k]
    scale = np.sqrt(per_column)
    equations = scale[:, None] * reduced * scale
    diagonal = np.arange(len(reduced))
    equations[diagonal[p:], diagonal[p:]] += 1.0
    # A system that nobody rated has no equation.
    unrated = np.flatnonzero(np.diag(equations)[:p] == 0)
    equations[unrated, unrated] = 1.0
    factor = np.linalg.cholesky(equations)
    half, _ = dpotri(factor, lower=1)
    inverse = scale[:, None] * (half + np.tril(half, -1).T) * scale
    log_determinant = 2 * float(np.log(np.diag(factor)).sum()) - float(np.log(weight).sum())
    weights = inverse[:, :p]
    by_column = reduced @ weights
    load = (*(by_column[block] for block in design.block), weight[:, None] * (design.to_last @ weights))
    noise = weights[:p] - sum(share * one.T @ one for share, one in zip(ratio, load, strict=True))
    information = _information(design, ratio, per_column, reduced, inverse, weight)
    return Solved(ratio, per_column, reduced, inverse, weight, load, noise, log_determinant, information)


def _weighted_cross(counts: Any, weight: Floats) -> Floats:
    """Return `counts' diag(weight) counts`."""
    if isinstance(counts, np.ndarray):
        half = np.sqrt(weight)[:, None] * counts
        return np.asarray(half.T @ half)
    return np.asarray((counts.T @ counts.multiply(weight[:, None])).toarray())


def _information(
    design: Design, ratio: Floats, per_column: Floats, reduced: Floats, inverse: Floats, weight: Floats
) -> Floats:
    """Return `tr(P V_k P V_l)` for the noise and all terms.

    Of two terms it is the squared norm of `Z_k' P Z_l`. By the mixed-model equations that is `I / ratio_k - C_kk /
    ratio_k^2`, and `-C_kl / (ratio_k ratio_l)` beside the diagonal, `C` being the inverse, which leaves one product of
    matrices to do; a ratio near 0, where the difference is lost, asks for two more. What the noise has in it follows,
    since `P V P = P` and `V = I + sum ratio_k V_k`.
    """
    m = len(design.terms)
    small = per_column < SMALL
    scale = np.where(small, 1.0, per_column)
    own = design.n_last * weight
    squares = _weighted_cross(design.to_last, weight**2)
    twice = squares @ inverse
    left = (inverse * twice).sum(0) / scale**2
    gram = inverse / -np.outer(scale, scale)
    gram[np.diag_indices_from(gram)] += 1 / scale
    if small.any():
        residual = np.eye(len(reduced))[:, small] - inverse @ reduced[:, small]
        left[small] = (residual * (squares @ residual)).sum(0)
        gram[:, small] = reduced @ residual
        gram[small] = gram[:, small].T
    found, trace = np.zeros((m + 1, m + 1)), np.zeros(m)
    for k, at in enumerate(design.block):
        trace[k] = np.trace(gram[at, at])
        found[m, k + 1] = found[k + 1, m] = left[at].sum()
        for j, other in enumerate(design.block[: k + 1]):
            found[k + 1, j + 1] = found[j + 1, k + 1] = (gram[at, other] ** 2).sum()
    trace[-1] = own.sum() - (squares * inverse).sum()
    common = (_weighted_cross(design.to_last, own * weight**2) * inverse).sum()
    found[m, m] = (own**2).sum() - 2 * common + (twice * twice.T).sum()
    found[0, 1:] = found[1:, 0] = trace - ratio @ found[1:, 1:]
    found[0, 0] = design.n - design.rank - ratio @ trace - ratio @ found[1:, 0]
    return found


class Forms(NamedTuple):
    """Effects of a study, `[column]`, its quadratic forms `y'P V_k P y`, the noise first, and `residual`, `y'P y`.

    Studies are a last axis.
    """

    effect: Floats
    form: Floats
    residual: Floats


def forms_of(design: Design, at: Solved, sums: Sums) -> Forms:
    """Return estimates and quadratic forms of a study, or of many, at solved equations."""
    taken, left = _reduced_sums(design, at, sums.column, sums.last)
    effect = at.inverse @ left
    # What terms explain altogether leaves rounding, of either sign.
    explained = np.vecdot(taken.T, sums.last.T) + np.vecdot(left.T, effect.T)
    residual = np.maximum(sums.square - explained, EXPLAINED * sums.square)
    # `Z_k' P y` is what the equations make of effects, over the ratio.
    small = at.per_column < SMALL
    apart = (effect.T / np.where(small, 1.0, at.per_column)).T
    apart[small] = left[small] - at.reduced[small] @ effect
    last = (at.last_weight * (sums.last - design.to_last @ effect).T).T
    parts = (*(apart[block] for block in design.block), last)
    form = np.array([residual, *(np.vecdot(part.T, part.T) for part in parts)])
    form[0] -= at.ratio @ form[1:]
    return Forms(effect, form, residual)


def _reduced_sums(design: Design, at: Solved, column: Floats, last: Floats) -> tuple[Floats, Floats]:
    """Return what the last term takes of the sums of its levels, and what that leaves of the sums by column."""
    taken = (at.ratio[-1] * at.last_weight * last.T).T
    return taken, column - design.to_last.T @ taken


def estimates_of(design: Design, at: Solved, value: Floats) -> Floats:
    """Return the estimates of systems alone, `[system, study]`, from `value[rating, study]`."""
    _, left = _reduced_sums(design, at, design.columns @ value, design.last @ value)
    return np.asarray(at.inverse[: design.n_systems] @ left)


def predictions(design: Design, at: Solved, value: Floats) -> tuple[Floats, dict[str, Floats]]:
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


class Fit(NamedTuple):
    """A fitted model: `component[noise and term]`, `estimate[system]`, and the equations, which weigh what varies.

    `converged` is False where steps ended before components did.
    """

    design: Design
    component: Floats
    estimate: Floats
    at: Solved
    converged: bool


def fit(design: Design, value: Floats) -> Fit | None:
    """Fit by REML, `value[rating]`; None where nothing is left of the scores once systems are told apart."""
    sums = sums_of(design, value)
    if not _scattered(design, sums):
        return None
    free, at = design.n - design.rank, solve(design, np.full(len(design.terms), 0.5))
    forms = forms_of(design, at, sums)
    deviance, converged = _deviance(design, at, forms), False
    for _ in range(MOST_STEPS):
        aim = nearest_components(at.information, forms.form[:, None])[:, 0]
        if not aim.any():
            break
        ratio, step = at.ratio, 1.0
        towards = aim[1:] / max(aim[0], LEAST_NOISE * aim.sum())
        while True:
            tried = solve(design, ratio + step * (towards - ratio))
            forms_there = forms_of(design, tried, sums)
            there = _deviance(design, tried, forms_there)
            if there <= deviance + SLACK or step < LEAST_STEP:
                break
            step /= 2
        change = float(np.abs(tried.ratio - ratio).max()) / (1 + float(ratio.sum()))
        at, forms, deviance = tried, forms_there, there
        if change < TOLERANCE:
            converged = True
            break
    component = float(forms.residual) / free * np.append(1.0, at.ratio)
    return Fit(design, component, forms.effect[: design.n_systems], at, converged)


class Steps(NamedTuple):
    """What one step of Fisher scoring makes of many studies: `component[noise and term, study]` and their estimates.

    `estimate[system, study]`; `scattered[study]` is False where nothing is left of the scores once systems are told
    apart.
    """

    component: Floats
    estimate: Floats
    scattered: Bools


def step_from(design: Design, at: Solved, value: Floats) -> Steps:
    """Make one step for each study, `value[rating, study]`, from the components of solved equations.

    It is efficient where these are the true ones, and costs no new equations.
    """
    sums = sums_of(design, value)
    forms = forms_of(design, at, sums)
    component = nearest_components(at.information, forms.form)
    return Steps(component, forms.effect[: design.n_systems], _scattered(design, sums))


def _scattered(design: Design, sums: Sums) -> Bools:
    """Tell the studies whose scores vary beyond what systems explain."""
    of_system, n = sums.column[: design.n_systems], design.cross.diagonal()[: design.n_systems]
    scatter = sums.square - (of_system.T**2 / np.maximum(n, 1)).sum(-1)
    return np.asarray((scatter > ROUNDING * sums.square) & (design.n > design.rank))


def _deviance(design: Design, at: Solved, forms: Forms) -> float:
    return at.log_determinant + (design.n - design.rank) * math.log(forms.residual)


def is_identified(information: Floats) -> bool:
    """True if a design tells all components apart, by their `information[component, component]`."""
    own = np.diag(information)
    if own.min() <= SINGULAR * own.max():
        return False
    return bool(np.linalg.eigvalsh(information / np.sqrt(np.outer(own, own)))[0] > SINGULAR)


def nearest_components(information: Floats, form: Floats) -> Floats:
    """Return the components, none below 0, whose expected quadratic forms are nearest to those observed.

    `form[noise and term, study]`, as what is returned.
    """
    from scipy.optimize import nnls

    own = np.diag(information)
    size = np.sqrt(np.maximum(own, SINGULAR**2 * own.max()))
    values, vectors = np.linalg.eigh(information / np.outer(size, size))
    known = values > SINGULAR * values[-1]
    root = (vectors[:, known] * np.sqrt(values[known])).T
    aim = (vectors[:, known] / np.sqrt(values[known])).T @ (form.T / size).T
    return np.stack([nnls(root, one)[0] / size for one in aim.T], axis=1)
