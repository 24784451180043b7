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

from simlab.types import Floats, Ints

MOST_STEPS, TOLERANCE = 200, 1e-5
"""Steps of Fisher scoring at most, and the change of components, as a share of the total, at which they stop."""

SLACK, LEAST_STEP, LEAST_NOISE = 1e-9, 1e-4, 1e-6
"""Rounding of a deviance, the least step, and the least share of the noise in the components."""

EXPLAINED, ROUNDING, SINGULAR = 1e-18, 1e-12, 1e-9
"""Shares of the sum of squares (within terms, of systems) and of information that are 0 up to rounding."""

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
    `columns[rating, column]` is the incidence of systems and of the other terms, `block[k]` the columns of the k-th of
    these; `cross` is `columns' columns`, `last[rating, level]` the incidence of the last term and `to_last` counts
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
    """Sums of scores by column and by level of the last term, and the sum of their squares."""

    column: Floats
    last: Floats
    square: float


class Solved(NamedTuple):
    """The mixed-model equations solved at ratios of components to the noise; all of it follows from the design alone.

    `inverse` is that of the equations left when the last term is eliminated, `reduced` their data part, `last_weight`
    what is left of each level of the last term. `load[term][level, system]` is the weight of each level in each
    estimate, `noise[system, system]` the covariance of estimates that a unit of noise makes. `log_determinant` is that
    of `V` and of `X'V^-1 X`, `information[k, l]` is `tr(P V_k P V_l)`, the noise first.
    """

    ratio: Floats
    reduced: Floats
    inverse: Floats
    last_weight: Floats
    load: tuple[Floats, ...]
    noise: Floats
    log_determinant: float
    information: Floats


def design_of(system: Ints, terms: Sequence[Term], n_systems: int) -> Design:
    """Count who rated which system in which term: `system[rating]` and the labels of at least one term."""
    from scipy import sparse

    n = len(system)
    ordered = tuple(sorted(terms, key=lambda term: term.n_levels))
    labels = [system, *(term.label for term in ordered[:-1])]
    starts = np.cumsum([0, n_systems, *(term.n_levels for term in ordered[:-1])])
    where = np.concatenate([label + start for label, start in zip(labels, starts[:-1], strict=True)])
    rows = np.tile(np.arange(n), len(labels))
    columns = sparse.csr_matrix((np.ones(len(where)), (rows, where)), shape=(n, int(starts[-1])))
    last = sparse.csr_matrix((np.ones(n), (np.arange(n), ordered[-1].label)), shape=(n, ordered[-1].n_levels))
    to_last = last.T @ columns
    return Design(
        n=n,
        n_systems=n_systems,
        rank=len(np.unique(system)),
        terms=ordered,
        block=tuple(slice(int(a), int(b)) for a, b in pairwise(starts[1:])),
        columns=columns,
        cross=(columns.T @ columns).toarray(),
        last=last,
        to_last=to_last.toarray() if np.prod(to_last.shape) <= DENSE else to_last.tocsr(),
        n_last=np.bincount(ordered[-1].label).astype(float),
    )


def sums_of(design: Design, value: Floats) -> Sums:
    """Add up scores, `value[rating]`."""
    return Sums(design.columns.T @ value, design.last.T @ value, float(value @ value))


def solve(design: Design, ratio: Floats) -> Solved:
    """Solve the mixed-model equations; `ratio[term]` is each component over that of the noise, from 0 on."""
    from scipy.linalg.lapack import dtrtri

    p = design.n_systems
    weight = 1 / (1 + ratio[-1] * design.n_last)
    reduced = design.cross - _weighted_cross(design.to_last, ratio[-1] * weight)
    scale = np.ones(len(reduced))
    for k, at in enumerate(design.block):
        scale[at] = np.sqrt(ratio[k])
    equations = scale[:, None] * reduced * scale
    diagonal = np.arange(len(reduced))
    equations[diagonal[p:], diagonal[p:]] += 1.0
    # A system that nobody rated has no equation.
    unrated = np.flatnonzero(np.diag(equations)[:p] == 0)
    equations[unrated, unrated] = 1.0
    factor = np.linalg.cholesky(equations)
    root, _ = dtrtri(factor, lower=1)
    inverse = scale[:, None] * (root.T @ root) * scale
    log_determinant = 2 * float(np.log(np.diag(factor)).sum()) - float(np.log(weight).sum())
    weights = inverse[:, :p]
    by_column = reduced @ weights
    load = (*(by_column[block] for block in design.block), weight[:, None] * (design.to_last @ weights))
    noise = weights[:p] - sum(share * one.T @ one for share, one in zip(ratio, load, strict=True))
    information = _information(design, ratio, reduced, inverse, weight)
    return Solved(ratio, reduced, inverse, weight, load, noise, log_determinant, information)


def _weighted_cross(counts: Any, weight: Floats) -> Floats:
    """Return `counts' diag(weight) counts`."""
    if isinstance(counts, np.ndarray):
        return np.asarray(counts.T @ (weight[:, None] * counts))
    return np.asarray((counts.T @ counts.multiply(weight[:, None])).toarray())


def _information(design: Design, ratio: Floats, reduced: Floats, inverse: Floats, weight: Floats) -> Floats:
    """Return `tr(P V_k P V_l)` for the noise and all terms.

    Of two terms it is the squared norm of `Z_k' P Z_l`. What the noise has in it follows, since `P V P = P` and
    `V = I + sum ratio_k V_k`.
    """
    m = len(design.terms)
    kept = inverse @ reduced
    gram, residual = reduced - reduced @ kept, np.eye(len(reduced)) - kept
    found, trace = np.zeros((m + 1, m + 1)), np.zeros(m)
    for k, at in enumerate(design.block):
        trace[k] = np.trace(gram[at, at])
        for j, other in enumerate(design.block[: k + 1]):
            found[k + 1, j + 1] = found[j + 1, k + 1] = (gram[at, other] ** 2).sum()
    own, counts = design.n_last * weight, design.to_last
    solved = counts @ inverse
    product = solved * counts if isinstance(counts, np.ndarray) else counts.multiply(solved)
    explained = np.asarray(product.sum(1)).ravel() * weight**2
    squares = _weighted_cross(counts, weight**2)
    twice = squares @ inverse
    trace[-1] = own.sum() - explained.sum()
    found[m, m] = (own**2).sum() - 2 * (own * explained).sum() + (twice * twice.T).sum()
    each = (residual * (squares @ residual)).sum(0)
    for k, at in enumerate(design.block):
        found[m, k + 1] = found[k + 1, m] = each[at].sum()
    found[0, 1:] = found[1:, 0] = trace - ratio @ found[1:, 1:]
    found[0, 0] = design.n - design.rank - ratio @ trace - ratio @ found[1:, 0]
    return found


class Forms(NamedTuple):
    """Effects of a study, `[column]`, its quadratic forms `y'P V_k P y`, the noise first, and `residual`, `y'P y`."""

    effect: Floats
    form: Floats
    residual: float


def forms_of(design: Design, at: Solved, sums: Sums) -> Forms:
    """Return estimates and quadratic forms of a study at solved equations."""
    taken = at.ratio[-1] * at.last_weight * sums.last
    left = sums.column - design.to_last.T @ taken
    effect = at.inverse @ left
    # What terms explain altogether leaves rounding, of either sign.
    residual = max(sums.square - float(taken @ sums.last + left @ effect), EXPLAINED * sums.square)
    apart = left - at.reduced @ effect
    last = at.last_weight * (sums.last - design.to_last @ effect)
    form = np.array([0.0, *(float(apart[block] @ apart[block]) for block in design.block), float(last @ last)])
    form[0] = residual - at.ratio @ form[1:]
    return Forms(effect, form, residual)


class Fit(NamedTuple):
    """A fitted model: `component[noise and term]`, `estimate[system]`, and how these weigh what varies.

    `load`, `noise` and `information` are those of the equations (`Solved`). `converged` is False where steps ended
    before components did.
    """

    design: Design
    component: Floats
    estimate: Floats
    noise: Floats
    load: tuple[Floats, ...]
    information: Floats
    converged: bool


def fit(design: Design, value: Floats, start: Solved | None = None) -> Fit | None:
    """Fit by REML, `value[rating]`; None where nothing is left of the scores once systems are told apart.

    With a `start` (of `solve`) one step of Fisher scoring is made from there, which is efficient where the components
    that it was solved at are true, and costs no new equations.
    """
    sums = sums_of(design, value)
    of_system, n = sums.column[: design.n_systems], design.cross.diagonal()[: design.n_systems]
    free, scatter = design.n - design.rank, sums.square - (of_system**2 / np.maximum(n, 1)).sum()
    if free <= 0 or scatter <= ROUNDING * sums.square:
        return None
    at = solve(design, np.full(len(design.terms), 0.5)) if start is None else start
    forms = forms_of(design, at, sums)
    if start is not None:
        return _fitted(design, at, forms, nearest_components(at.information, forms.form), converged=True)
    deviance, converged = _deviance(design, at, forms), False
    for _ in range(MOST_STEPS):
        aim = nearest_components(at.information, forms.form)
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
    component = forms.residual / free * np.append(1.0, at.ratio)
    return _fitted(design, at, forms, component, converged=converged)


def _deviance(design: Design, at: Solved, forms: Forms) -> float:
    return at.log_determinant + (design.n - design.rank) * math.log(forms.residual)


def nearest_components(information: Floats, form: Floats) -> Floats:
    """Return the components, none below 0, whose expected quadratic forms are nearest to the observed ones."""
    from scipy.optimize import nnls

    own = np.diag(information)
    size = np.sqrt(np.maximum(own, SINGULAR**2 * own.max()))
    values, vectors = np.linalg.eigh(information / np.outer(size, size))
    known = values > SINGULAR * values[-1]
    root = vectors[:, known] * np.sqrt(values[known])
    aim = (vectors[:, known] / np.sqrt(values[known])).T @ (form / size)
    return np.asarray(nnls(root.T, aim)[0] / size)


def _fitted(design: Design, at: Solved, forms: Forms, component: Floats, *, converged: bool) -> Fit:
    estimate = forms.effect[: design.n_systems]
    return Fit(design, component, estimate, at.noise, at.load, at.information, converged)
