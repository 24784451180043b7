"""Say what knowing all variances would find in a row of the suite: the oracle beside which power is read.

Its estimates are generalised least squares at the true components of latent scores, its variances those of these
estimates in simulated tables, and its bound the .95 quantile of the largest |z| of all pairs under the row's law: that
of a normal law with the estimates' covariance where tastes are normal, and more where they have longer tails, so that
the oracle holds the level that it is compared at.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simlab.types import Floats
from tests.statistics.suite.suite_rows import Row
from tests.statistics.suite.suite_tables import (
    DOCUMENT,
    LENIENCY,
    NOISE,
    OUTPUT,
    SEED,
    Law,
    comparable,
    draw_scores,
    law_of,
    pattern_of,
)

LEVEL = 0.05
SEARCH, TABLES, AT_ONCE = 2_000_000, 10_000, 1_000_000
"""Scores in each step of the search for a spread, tables at its end, and scores that are drawn at a time."""

FAR, APART, TINY = 6.0, 2.0, 0.1
"""Standard errors between groups of equal systems, between neighbours beside an equal pair, and of tiny differences."""

SPREADS, HALVINGS, LEAST = 14, 7, 0.3
"""Spreads that are tried, halvings between two of them, and the power that the oracle has in power rows at least."""

WIDEST, WIDEST_POWER = 2.5, 5.0
"""Range of latent means at most, in standard deviations of a score, where the scale has ends; that of power rows."""


class Known(NamedTuple):
    """What the oracle does in a row: its power, and the median width of its intervals."""

    power: float
    width: float


def weights_of(law: Law) -> tuple[Floats, Floats]:
    """Return the weights of ratings in each system's estimate, `[system, rating]`, and the latent covariance.

    Outputs with one rating have their own variance in the noise.
    """
    from scipy import sparse
    from scipy.sparse.linalg import splu

    row, (system, document, rater, _, _) = law.row, law.meeting
    n, twice = len(system), row.per_output > 1
    noise = law.spread[system] ** 2 * (NOISE**2 + (0 if twice else OUTPUT**2))
    labels = [(rater, np.full(n, LENIENCY**2)), (document, np.full(n, DOCUMENT**2))]
    labels.append((rater * row.systems + system, law.taste[system] ** 2))
    if twice:
        labels.append((document * row.systems + system, OUTPUT**2 * law.spread[system] ** 2))
    blocks, precision = [sparse.csr_matrix((np.ones(n), (np.arange(n), system)))], [np.zeros(row.systems)]
    for label, variance in labels:
        _, first, number = np.unique(label, return_index=True, return_inverse=True)
        blocks.append(sparse.csr_matrix((np.ones(n), (np.arange(n), number))))
        precision.append(1 / variance[first])
    incidence = sparse.hstack(blocks).tocsc()
    weighted = incidence.T @ sparse.diags(1 / noise)
    equations = (weighted @ incidence + sparse.diags(np.concatenate(precision))).tocsc()
    solved = splu(equations).solve(np.eye(equations.shape[0], row.systems))
    return np.asarray((weighted.T @ solved).T), solved[: row.systems]


def pair_errors(covariance: Floats) -> Floats:
    """Return the standard error of each pair's difference."""
    first, second = np.triu_indices(len(covariance), 1)
    own = np.diag(covariance)
    return np.asarray(np.sqrt(own[first] + own[second] - 2 * covariance[first, second]))


def know(row: Row, tables: int, weights: Floats) -> Known:
    """Simulate a row's tables and claim differences with known variances; `weights[system, rating]` are the estimates'.

    Pairs that no table can tell apart do not count.
    """
    law, rng = law_of(row), np.random.default_rng([SEED, row.number, 2**31])
    size = max(1, AT_ONCE // row.n_ratings)
    counts = [min(size, tables - at) for at in range(0, tables, size)]
    estimate = np.concatenate([draw_scores(law, rng, count) @ weights.T for count in counts])
    first, second = np.triu_indices(row.systems, 1)
    here = comparable(row)
    first, second = first[here], second[here]
    error = pair_errors(np.cov(estimate.T))[here]
    true = law.expected[first] - law.expected[second]
    z = (estimate[:, first] - estimate[:, second]) / error
    bound = float(np.quantile(np.abs(z - true / error).max(1), 1 - LEVEL))
    found = (np.abs(z) > bound) & (np.sign(z) == np.sign(true))
    power = float(found[:, true != 0].mean()) if true.any() else float("nan")
    return Known(power, 2 * bound * float(np.median(error)))


def plant(row: Row) -> tuple[Row, Known]:
    """Return a row with the unit of its means set, and what the oracle finds there.

    The unit of a power row is the spread of systems at which the oracle claims the row's target, others' are so many
    standard errors of the latent estimates. On scales with ends, beyond which more spread shows less, it may be that
    no spread shows the target: then it is the spread that shows most, or, where that is less than `LEAST`, the scale is
    points.
    """
    law = law_of(row._replace(planted=0.0))
    weights, covariance = weights_of(law)
    error = float(np.median(pair_errors(covariance)[comparable(row)]))
    width = float(np.ptp(pattern_of(row)))
    most = np.inf
    if law.steps is not None and width > 0:
        plain = float(np.sqrt(LENIENCY**2 + DOCUMENT**2 + OUTPUT**2 + NOISE**2 + np.median(law.taste) ** 2))
        most = (WIDEST if row.target is None else WIDEST_POWER) * plain / width
    if row.target is None:
        units = {"null": 0.0, "partial": FAR, "one_pair": APART, "tiny": TINY}
        planted = min(units[row.effect] * error, most)
    else:
        planted, power = _search(row, weights, np.geomspace(0.3 * error, min(30 * error, most), SPREADS))
        if power < LEAST and row.scale != "points":
            return plant(row._replace(scale="points"))
    made = row._replace(planted=float(f"{planted:.6g}"))
    return made, know(made, TABLES, weights)


def _search(row: Row, weights: Floats, spreads: Floats) -> tuple[float, float]:
    """Return the least of spreads at which the oracle claims a row's target, or else the one where it claims most."""
    assert row.target is not None
    power, tables = np.full(len(spreads), -1.0), int(np.clip(SEARCH // row.n_ratings, 1_000, TABLES))
    for k, spread in enumerate(spreads):
        power[k] = know(row._replace(planted=float(spread)), tables, weights).power
        if power[k] >= row.target:
            break
    else:
        return float(spreads[power.argmax()]), float(power.max())
    low, high = float(spreads[max(k - 1, 0)]), float(spreads[k])
    for _ in range(HALVINGS):
        middle = float(np.sqrt(low * high))
        if know(row._replace(planted=middle), tables, weights).power < row.target:
            low = middle
        else:
            high = middle
    return high, row.target
