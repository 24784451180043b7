"""Infer how often a system wins, draws and loses against another, from preferences of humans and of a metric that errs.

`win_posterior` returns the posterior, `win_decisions` decides, `posterior_summary` gives intervals; a pair of systems
is a row. `priors` learns the metric's errors from other pairs of a campaign.

The model is that of Deriu et al. 2023 (section 3). Counts are in the order `>`, `=`, `<`: `human` n of the outputs that
humans rated, `confusion` N[metric outcome, human outcome] of those among them that the metric rated, too, `metric` m of
outputs that only the metric rated. Then `p ~ Dirichlet(n + 1)`, column c of mu `~ Dirichlet(N[:, c] + 1)` and
`m ~ Multinomial(mu p)`; asked is `theta = P(p> > p<)`.

Columns of mu vary from pair to pair: column c of pair k is Dirichlet(kappa * mean_c), with `s = (1 + kappa)^-1/2`
uniform on (0, 1): an entry m varies by `s sqrt(m (1 - m))`. Who of two systems comes first is a matter of names, so
pairs are taken as they are and mirrored: the mean of column `<` is that of column `>` upside down, and that of column
`=` is symmetric. A pair is told what the *others* say (its own counts come in by its likelihood, and beforehand by what
they tell of how alike pairs are): mean and variance of a new pair's column, given their confusion counts, as a
Dirichlet. What the metric says of outputs that no human rated teaches nothing about its errors here, so that pairs stay
independent given their priors.
Sources: Gelman 2006 (uniform spread); Kleinman 1973 (weights of shares that vary).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, gammaln

from simlab.analysis.preferences import reversal, ridge
from simlab.analysis.preferences.checks import OutcomeCounts, check_counts
from simlab.analysis.preferences.refinement import COARSE_ESS, ERROR, ERROR_NEAR, RefinedRows
from simlab.types import Array, Floats, InputError, Ints, Summary

_DRAWN_AT_ONCE = 256
"""Rows whose draws are held at once; a whole number of batches, so that rows keep their bits."""
Method: TypeAlias = Literal["auto", "tempering", "nuts"]
Sharing: TypeAlias = Literal["own", "joint", "partial"]
# Middles of equal parts stand for the uniform prior of s on (0, 1).
_SPREADS = (np.arange(24) + 0.5) / 24
_LEAST = 1 / 3
"""Fewest pseudo-counts of a cell, so that an outcome no other pair had stays possible; a uniform prior has 1."""
_FIRST_SPREAD = 0.15
"""Spread between pairs by which they are weighted before it is estimated."""


class OutcomePosterior(NamedTuple):
    """Posterior of p: `theta = P(p> > p<)`, mean and standard deviation of p, and the error of theta.

    `error` is the standard error of theta (0 where it is exact), `ess` the effective number of draws (inf where there
    are none). Shapes `(...)`, mean and sd `(..., 3)`.
    """

    theta: Floats
    mean: Floats
    sd: Floats
    error: Floats
    ess: Floats


def win_posterior(
    human: ArrayLike,
    confusion: ArrayLike | None = None,
    metric: ArrayLike | None = None,
    *,
    mu: ArrayLike | None = None,
    prior: ArrayLike | None = None,
    elsewhere: bool = False,
    rater: ArrayLike | None = None,
    two_outcomes: bool = False,
    level: float = 0.05,
    method: Method = "auto",
    seed: int = 0,
) -> Any:
    """Return the posterior of p for each pair: `OutcomePosterior`, batched over the leading axes of the counts.

    Shapes `human (..., 3)`, `confusion (..., 3, 3)` [metric outcome, human outcome], `metric (..., 3)`. `human`
    includes the outputs that the metric rated, too, so `confusion.sum(-2) <= human`, unless the confusion counts come
    from `elsewhere`. With a known `mu (..., 3, 3)` confusion counts add nothing and are not used, unless raters err:
    `rater[human, oracle]` is the known confusion of raters who are no oracle. `prior (..., 3, 3)` are pseudo-counts of
    mu's columns (Dirichlet; without it uniform, all 1). `two_outcomes`: the metric cannot draw.

    Deterministic, a row alike in any company. The error of theta is at most .003, and .0007 within .02 of `level` / 2
    and 1 - `level` / 2; where even the most points do not reach that, `error` says so. `method="nuts"` samples the
    published model (see `preferences.nuts.ReferencePosterior` for what it returns), "tempering" forces the fallback.

    Raises InputError for counts, matrices or shapes that cannot be. Source: Deriu et al. 2023; methods in the modules
    `preferences.reversal`, `preferences.ridge`, `preferences.refinement` and `preferences.tempering`.
    """
    counts = check_counts(
        human, confusion, metric, mu, rater, elsewhere=elsewhere, two_outcomes=two_outcomes, prior=prior
    )
    if method == "nuts":
        from simlab.analysis.preferences.nuts import sample_posterior

        if rater is not None or prior is not None:
            raise InputError("method=nuts samples the published model: raters are the oracle, and priors are uniform")
        three = counts.human, counts.confusion, counts.metric
        reference: Any = sample_posterior(*three, mu=counts.mu, two_outcomes=two_outcomes, seed=seed)
        return type(reference)(*(_restore_rows(array, counts) for array in reference))
    state = RefinedRows.build(counts, level, seed, forced=method == "tempering")
    state.refine(state.error_limits)
    return OutcomePosterior(*(_restore_rows(array, counts) for array in state.posterior()))


def win_decisions(
    human: ArrayLike,
    confusion: ArrayLike,
    metric: ArrayLike,
    *,
    level: float,
    two_outcomes: bool = False,
    rater: ArrayLike | None = None,
    elsewhere: bool = False,
    mu: ArrayLike | None = None,
    prior: ArrayLike | None = None,
    seed: int = 0,
) -> tuple[Floats, Floats, Array]:
    """Decide each pair: return theta, its error, and +1, -1 or 0 (theta beyond 1 - level / 2, below level / 2).

    Few points first; more where theta is within 4 standard errors of a threshold, or surer by less than .005 (.01 where
    raters err or a prior is given) and points are cheap. Arguments as of `win_posterior`.
    Source: Deriu et al. 2023, algorithm 1.

    Raises InputError for counts and matrices that cannot be.
    """
    counts = check_counts(
        human, confusion, metric, mu, rater, elsewhere=elsewhere, two_outcomes=two_outcomes, prior=prior
    )
    state = RefinedRows.build(counts, level, seed, quick=True)
    state.refine(state.content, COARSE_ESS, lambda: np.maximum(state.distance() / 4, ERROR_NEAR))
    verdict = (state.theta > 1 - level / 2).astype(np.int8) - (state.theta < level / 2).astype(np.int8)
    return tuple(_restore_rows(array, counts) for array in (state.theta, state.error, verdict))  # type: ignore[return-value]


def posterior_summary(
    human: ArrayLike,
    confusion: ArrayLike,
    metric: ArrayLike,
    *,
    two_outcomes: bool = False,
    rater: ArrayLike | None = None,
    mu: ArrayLike | None = None,
    prior: ArrayLike | None = None,
    mass: float = 0.95,
    seed: int = 0,
) -> Summary:
    """Return mean and equal-tailed bounds of each probability of win, draw and loss, `[row, outcome]`.

    Exact without metric ratings; else weighted quantiles of draws (where these are too few, mu is known, or raters err
    and there is no metric, of the Beta with the posterior's mean and standard deviation).

    Raises InputError for counts and matrices that cannot be.
    """
    counts = check_counts(human, confusion, metric, mu, rater, elsewhere=False, two_outcomes=two_outcomes, prior=prior)
    edges = np.array([(1 - mass) / 2, (1 + mass) / 2])
    a = counts.human + 1
    b = a.sum(1, keepdims=True) - a
    mean, low, high = a / (a + b), betaincinv(a, b, edges[0]), betaincinv(a, b, edges[1])
    plain = rater is None and prior is None and counts.metric.shape[1] == 3
    informed = counts.metric.any(1)
    rows = np.flatnonzero(informed & (mu is None))
    thin = np.flatnonzero((informed & (mu is not None)) | (~informed & (rater is not None)))
    for start in range(0, len(rows), _DRAWN_AT_ONCE):
        part = rows[start : start + _DRAWN_AT_ONCE]
        p, w = _draw_shares(counts.select_rows(part), plain, seed)
        mean[part] = np.vecdot(p, w[:, None]) / w.sum(1, keepdims=True)
        low[part], high[part] = _quantiles(p, w, edges)
        thin = np.append(thin, part[w.sum(1) ** 2 / (w**2).sum(1) < COARSE_ESS])
    if len(thin):
        state = RefinedRows.build(counts.select_rows(thin), 0.05, seed, quick=True)
        state.refine(lambda: np.full(len(thin), ERROR))
        _, mean[thin], sd, _, _ = state.posterior()
        a = mean[thin] * np.maximum(mean[thin] * (1 - mean[thin]) / sd**2 - 1, 1e-6)
        b = a * (1 - mean[thin]) / mean[thin]
        low[thin], high[thin] = betaincinv(a, b, edges[0]), betaincinv(a, b, edges[1])
    return Summary(mean, low, high)


def _draw_shares(counts: OutcomeCounts, plain: bool, seed: int) -> tuple[Floats, Floats]:
    """Draw p of each row, with weights, by the proposal that suits what is known."""
    human, confusion, metric = counts.human, counts.confusion, counts.metric
    if plain:
        proposal = reversal.proposal(human, confusion, two_outcomes=counts.two_outcomes)
        return reversal.draws(human, confusion, metric, proposal, seed)
    model = ridge.RidgeModel.build(
        human, confusion, metric, counts.prior, counts.rater, two_outcomes=counts.two_outcomes
    )
    return ridge.draws(model, 0, seed)


def _quantiles(p: Floats, w: Floats, edges: Sequence[float] | Floats) -> tuple[Floats, Floats]:
    """Return weighted quantiles of draws `p[row, outcome, draw]`: two arrays `[row, outcome]`."""
    order = np.argsort(p, axis=2)
    cumulated = np.cumsum(np.take_along_axis(w[:, None], order, 2), axis=2)
    bounds = []
    for edge in edges:
        at = np.minimum((cumulated < edge * cumulated[..., -1:]).sum(2), p.shape[2] - 1)
        drawn = np.take_along_axis(order, at[..., None], 2)
        bounds.append(np.take_along_axis(p, drawn, 2)[..., 0])
    return bounds[0], bounds[1]


def _restore_rows(array: Array, counts: OutcomeCounts) -> Array:
    return np.asarray(array.reshape((*counts.shape, *array.shape[1:])))


def priors(confusion: Ints | Floats, pairs: int, sharing: Sharing, *, two_outcomes: bool) -> Floats:
    """Return pseudo-counts `[row, metric outcome, oracle outcome]` of each pair's matrix, from the others' counts.

    `confusion[row, metric outcome, human outcome]`; `pairs` rows in a row are a campaign. `own`: uniform priors;
    `joint`: one matrix for all pairs; `partial`: as alike as counts say. A campaign with one pair has no others.

    >>> counts = np.array([np.diag([8, 2, 6])] * 3)
    >>> priors(counts, 3, "joint", two_outcomes=False)[0].tolist()
    [[29.0, 1.0, 1.0], [1.0, 5.0, 1.0], [1.0, 1.0, 29.0]]
    """
    n_outcomes = confusion.shape[1]
    uniform = np.ones((len(confusion), n_outcomes, 3))
    if sharing == "own" or pairs < 2:
        return uniform
    kept = reversal.kept_outcomes(n_outcomes, two_outcomes=two_outcomes)
    columns = _columns(np.asarray(confusion, float)[:, kept].reshape(-1, pairs, len(kept), 3))
    decided, drawn = _draw_jointly(columns) if sharing == "joint" else _dirichlet_of_further_pair(columns)
    # Who comes first is a matter of names: column `<` is column `>` upside down.
    counts = np.stack([decided, drawn, decided[:, :, ::-1]], axis=3)
    uniform[:, kept] = np.maximum(counts.reshape(-1, len(kept), 3), _LEAST)
    return uniform


def _columns(counts: Floats) -> Floats:
    """List the columns of each pair `[campaign, pair, column, metric outcome]`: `>`, `<` upside down, and `=`."""
    return np.stack([counts[..., 0], counts[:, :, ::-1, 2], counts[..., 1]], axis=2)


def _sum_other_pairs(columns: Floats) -> tuple[Floats, Floats]:
    """Add up the other pairs' columns `>` (both kinds), and `=` as it is and mirrored: `[campaign, pair, outcome]`."""
    others = columns.sum(1, keepdims=True) - columns
    drawn = others[:, :, 2]
    return others[:, :, 0] + others[:, :, 1], (drawn + drawn[..., ::-1]) / 2


def _draw_jointly(columns: Floats) -> tuple[Floats, Floats]:
    decided, drawn = _sum_other_pairs(columns)
    return 1 + decided, 1 + drawn


def _dirichlet_of_further_pair(columns: Floats) -> tuple[Floats, Floats]:
    """Return the Dirichlet of a further pair's columns `>` and `=`, as the other pairs let expect them."""
    near = _means(columns, np.full(columns.shape[:2], _FIRST_SPREAD**2))
    square = _squared_spread(columns, [mean for mean, _ in near])
    return tuple(_predict_variance(mean, worth, square) for mean, worth in _means(columns, square))  # type: ignore[return-value]


def _means(columns: Floats, square: Floats) -> list[tuple[Floats, Floats]]:
    """Average the others' columns `>` and `=`, and return how many ratings each is worth `[campaign, pair, 1]`."""
    n = columns.sum(3, keepdims=True)
    # Where pairs vary by s, n ratings of a pair tell as much of others as n / (1 + (n - 1) s^2) do (Kleinman 1973).
    weighed = columns / (1 + np.maximum(n - 1, 0) * square[:, :, None, None])
    cells = columns.shape[3]
    means = []
    for counts in _sum_other_pairs(weighed):
        worth = counts.sum(2, keepdims=True) + cells
        means.append(((1 + counts) / worth, worth))
    return means


def _squared_spread(columns: Floats, means: list[Floats]) -> Floats:
    """Return the mean of s squared, given how the other pairs' columns spread: `[campaign, pair]`."""
    kappa = _SPREADS**-2.0 - 1
    a = np.stack([means[0], means[0], means[1]], axis=2)[..., None] * kappa
    n = columns[..., None]
    # The likelihood of a spread is that of Dirichlet-multinomial counts, column by column.
    of_column = (gammaln(a + n) - gammaln(a)).sum(3) + gammaln(kappa) - gammaln(kappa + n.sum(3))
    log_l = of_column.sum(2)
    others = log_l.sum(1, keepdims=True) - log_l
    w = np.exp(others - others.max(2, keepdims=True))
    return np.asarray((w * _SPREADS**2).sum(2) / w.sum(2))


def _predict_variance(mean: Floats, worth: Floats, square: Floats) -> Floats:
    # The variance of an entry over mean (1 - mean): that between pairs, and that of the mean itself.
    ratio = (square[..., None] * worth + 1) / (worth + 1)
    return np.asarray(mean * (1 / ratio - 1))
