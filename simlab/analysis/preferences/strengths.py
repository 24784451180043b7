"""Fit one strength for each system to comparisons of pairs, ties included: Davidson's extension of Bradley and Terry.

Call `fit` on counts of outcomes, then `covariances` and `contrast_errors` for errors. Parameters are the strengths and,
last, the logarithm of ties. Votes cluster by rater, by item, or both ways.

`>`, `=`, `<` of systems that lie d = strength_i - strength_j apart are as likely as e^(d/2) : ties : e^(-d/2). The log
likelihood is concave in the strengths and the logarithm of `ties`, so that Newton's steps find its top. Sources:
Davidson 1970 (JASA 65, 317-328); Bradley and Terry 1952; Ford 1957 (when strengths are finite); White 1982 and Cameron,
Gelbach and Miller 2011 (errors from clusters, two ways).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.analysis.preferences.partial_order import closure
from simlab.analysis.preferences.votes import Votes, Way, cells, clusters
from simlab.types import Array, Bools, Floats, InputError, Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

WEAK = 1 / 9
"""Precision of the prior that keeps strengths finite where comparisons do not: a standard deviation of 3 logits."""

_STEPS, _CLOSE, _LEAST_TIES = 100, 1e-9, -20.0


@dataclass(frozen=True, slots=True)
class Strengths:
    """Strengths in logits `value[system]`, centred within each part, and `log_ties` (-20: there are no ties).

    `part[system]` numbers groups of systems that comparisons connect: no scale holds two parts.
    `without_upper[system]` and `without_lower[system]` mark systems that won (lost) all against the others of their
    part, alone or in a group, so that nothing but a weak prior bounds their distance. `reaches[i, j]`: wins or ties
    lead from i to j, so that they bound how far j is above i. `bread` is the inverse information
    `[parameter, parameter]`, strengths first, the logarithm of ties last.
    """

    value: Floats
    log_ties: float
    part: Ints
    without_upper: Bools
    without_lower: Bools
    reaches: Bools
    bread: Floats

    @property
    def separated(self) -> bool:
        """True if a prior had to bound some strengths."""
        return bool(self.without_upper.any() or self.without_lower.any())

    @property
    def n_systems(self) -> int:
        """Count the systems."""
        return len(self.value)


def fit(counts: Array, n_systems: int) -> Strengths:
    """Fit strengths to `counts[pair, 3]` of `>`, `=`, `<`, pairs i < j in the usual order.

    Raises InputError where the steps do not end, which says that counts are none.

    >>> bool(np.isclose(np.diff(fit(np.array([[30, 0, 10]]), 2).value)[0], -np.log(3)))
    True
    """
    try:
        return _fit_strengths(counts, n_systems, ties_bound=True)
    except (np.linalg.LinAlgError, InputError):
        # Ties may grow likelier as fast as wins do, and then bound nothing: of one who won or tied, and never lost.
        return _fit_strengths(counts, n_systems, ties_bound=False)


def _fit_strengths(counts: Array, n_systems: int, *, ties_bound: bool) -> Strengths:
    """Fit strengths; `ties_bound`: a tie says of either system that it may beat the other, as a win would."""
    first, second = np.triu_indices(n_systems, 1)
    beats, met = np.zeros((2, n_systems, n_systems), bool)
    tied = counts[:, 1] * ties_bound
    beats[first, second], beats[second, first] = counts[:, 0] + tied > 0, counts[:, 2] + tied > 0
    met[first, second] = counts.sum(1) > 0
    part = _connected_groups(met, directed=False)
    upper, lower = _mark_unbounded(beats)
    # The prior is there only where comparisons leave a strength without bounds; else the fit is maximum likelihood.
    weak = WEAK * float((upper | lower).any() or not ties_bound)
    ties = bool(counts[:, 1].any())
    theta = np.zeros(n_systems + 1)
    theta[-1] = 0.0 if ties else _LEAST_TIES
    anchor = np.zeros((n_systems + 1, n_systems + 1))
    # Strengths of a part are known up to a constant: this makes the curvature invertible and moves no distance.
    anchor[:-1, :-1] = part[:, None] == part
    for _ in range(_STEPS):
        slope, curve = _derivatives(counts, theta, first, second, weak)
        if not ties_bound:
            slope[-1] -= weak * theta[-1]
            curve[-1, -1] += weak
        if not ties:
            # Without ties their parameter stays where it is: a step of it is 0.
            slope[-1], curve[-1], curve[:, -1], curve[-1, -1] = 0.0, 0.0, 0.0, 1.0
        step = np.linalg.solve(curve + anchor, slope)
        theta += step * min(1.0, 4.0 / max(float(np.abs(step).max()), 1e-300))
        if np.abs(step).max() < _CLOSE:
            break
    else:
        raise InputError("strengths do not settle; are these counts of comparisons?")
    value = theta[:-1] - np.array([theta[:-1][part == k].mean() for k in range(int(part.max()) + 1)])[part]
    bread = np.linalg.inv(curve + anchor) - _anchor_information(part)
    if not ties:
        bread[-1], bread[:, -1] = 0.0, 0.0
    return Strengths(value, float(theta[-1]), part, upper, lower, closure(beats), bread)


def probabilities(d: Floats, log_ties: float) -> Floats:
    """Return the chances of `>`, `=`, `<` at distances d: `[..., 3]`."""
    logs = np.stack([d / 2, np.full_like(d, log_ties), -d / 2], axis=-1)
    chance = np.exp(logs - logs.max(-1, keepdims=True))
    return np.asarray(chance / chance.sum(-1, keepdims=True))


def distances(value: Floats) -> Floats:
    """Return strength of the first less that of the second: `[..., pair]`."""
    first, second = np.triu_indices(value.shape[-1], 1)
    return np.asarray(value[..., first] - value[..., second])


def covariances(votes: Votes, way: Way, fitted: Strengths) -> list[Floats]:
    """Return covariances of strengths and ties, `[parameter, parameter]`, one for each way in which votes cluster.

    Of two ways: raters, items, and both, V_r + V_x - V_rx. A contrast takes the largest (`contrast_errors`).
    """
    scores = vote_scores(votes, fitted)
    groups = clusters(votes, way)
    meats = [_sum_cluster_squares(scores, group) for group in groups]
    if way == "both":
        meats.append(meats[0] + meats[1] - _sum_cluster_squares(scores, cells(votes)))
    return [fitted.bread @ meat @ fitted.bread for meat in meats]


def contrast_errors(contrasts: Floats, covariance: list[Floats]) -> Floats:
    """Return standard errors of `contrasts[row, parameter]`: the largest of those that the ways give."""
    each = [np.einsum("rp,pq,rq->r", contrasts, one, contrasts) for one in covariance]
    return np.asarray(np.sqrt(np.maximum(np.maximum.reduce(each), 0.0)))


def vote_scores(votes: Votes, fitted: Strengths) -> csr_matrix[Any]:
    """Return the score of each vote, the slope of its log likelihood by parameters, `[vote, parameter]`, sparse."""
    from scipy.sparse import csr_matrix

    n = fitted.n_systems
    first, second = np.triu_indices(n, 1)
    chance = probabilities(distances(fitted.value), fitted.log_ties)
    of_d, of_ties = _slopes(chance)
    outcome, k = 1 - votes.value, np.arange(len(votes.pair))
    d = of_d[votes.pair, outcome]
    values = np.concatenate([d, -d, of_ties[votes.pair, outcome]])
    column = np.concatenate([first[votes.pair], second[votes.pair], np.full(len(k), n)])
    return csr_matrix((values, (np.tile(k, 3), column)), shape=(len(k), n + 1))


def win_shares(fitted: Strengths) -> tuple[Floats, Floats]:
    """Return how often each system wins against the average of the others of its part, ties half, and its gradient.

    `[system]` and `[system, parameter]`; NaN for a system that was compared with none.
    """
    n = fitted.n_systems
    distance = fitted.value[:, None] - fitted.value
    chance = probabilities(distance, fitted.log_ties)
    others = (fitted.part[:, None] == fitted.part) & ~np.eye(n, dtype=bool)
    size = np.where(others.any(1), others.sum(1), np.nan)
    share = np.where(others, chance[..., 0] + chance[..., 1] / 2, 0).sum(1) / size
    net = chance[..., 0] - chance[..., 2]
    slope = np.where(others, (chance[..., 0] + chance[..., 2] - net**2) / 4, 0)
    gradient = np.zeros((n, n + 1))
    gradient[:, :n] = -slope
    gradient[np.arange(n), np.arange(n)] += slope.sum(1)
    gradient[:, n] = np.where(others, -net * chance[..., 1] / 2, 0).sum(1)
    return np.asarray(share), np.asarray(gradient / size[:, None])


def _derivatives(counts: Array, theta: Floats, first: Ints, second: Ints, weak: float) -> tuple[Floats, Floats]:
    """Return the slope of the log likelihood and minus its curvature, at strengths and the logarithm of ties."""
    n_systems = len(theta) - 1
    chance = probabilities(theta[first] - theta[second], theta[-1])
    n = counts.sum(1)
    d = (counts[:, 0] - counts[:, 2] - n * (chance[:, 0] - chance[:, 2])) / 2
    net, tie = chance[:, 0] - chance[:, 2], chance[:, 1]
    slope = np.zeros(n_systems + 1)
    np.add.at(slope, first, d)
    np.add.at(slope, second, -d)
    slope[-1] = (counts[:, 1] - n * tie).sum()
    of_d, across = n * (chance[:, 0] + chance[:, 2] - net**2) / 4, -n * net * tie / 2
    curve = np.zeros((n_systems + 1, n_systems + 1))
    for i, j, sign in ((first, first, 1), (second, second, 1), (first, second, -1), (second, first, -1)):
        np.add.at(curve, (i, j), sign * of_d)
    for i, sign in ((first, 1), (second, -1)):
        np.add.at(curve[:, -1], i, sign * across)
        np.add.at(curve[-1], i, sign * across)
    curve[-1, -1] = (n * tie * (1 - tie)).sum()
    # The prior is about distances; of the level of all strengths nothing is known or needed.
    centred = theta[:-1] - theta[:-1].mean()
    slope[:-1] -= weak * centred
    curve[:-1, :-1] += weak * np.eye(n_systems)
    return slope, curve


def _slopes(chance: Floats) -> tuple[Floats, Floats]:
    """Return slopes of an outcome's log likelihood by d, and by the logarithm of ties: `[pair, outcome]`."""
    net, tie = chance[:, 0] - chance[:, 2], chance[:, 1]
    return np.array([0.5, 0.0, -0.5]) - net[:, None] / 2, np.array([0.0, 1.0, 0.0]) - tie[:, None]


def _sum_cluster_squares(scores: csr_matrix[Any], cluster: Ints) -> Floats:
    """Sum up squares of the clusters' scores, corrected for their number, which unequal loads make smaller.

    Twice: scores of clusters that draw the fit towards themselves are too small, as a jackknife (CR3) knows.
    """
    from scipy.sparse import csr_matrix

    n = int(cluster.max(initial=-1)) + 1
    membership = csr_matrix((np.ones(len(cluster)), (cluster, np.arange(len(cluster)))), shape=(n, len(cluster)))
    total = membership @ scores
    few = effective_clusters(cluster)
    return np.asarray((total.T @ total).toarray() * (few / max(few - 1, 0.5)) ** 2)


def effective_clusters(cluster: Ints) -> float:
    """Return the number of clusters of equal size that `cluster[vote]` are worth. Source: Carter et al. 2017.

    >>> effective_clusters(np.array([0, 0, 1, 1])), effective_clusters(np.array([0, 0, 0, 1])) < 2
    (2.0, True)
    """
    size = np.bincount(cluster).astype(float)
    return float(size.sum() ** 2 / (size**2).sum())


def _connected_groups(beats: Bools, *, directed: bool) -> Ints:
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    _, label = connected_components(csr_matrix(beats), directed=directed, connection="strong" if directed else "weak")
    return np.asarray(label, np.int64)


def _mark_unbounded(beats: Bools) -> tuple[Bools, Bools]:
    """Mark the systems that others never beat, and those that never beat others, as groups (Ford's condition)."""
    label = _connected_groups(beats, directed=True)
    outside = beats & (label[:, None] != label)
    beaten, beat = np.zeros((2, int(label.max(initial=0)) + 1), bool)
    np.logical_or.at(beat, label, outside.any(1))
    np.logical_or.at(beaten, label, outside.any(0))
    return np.asarray((beat & ~beaten)[label]), np.asarray((beaten & ~beat)[label])


def _anchor_information(part: Ints) -> Floats:
    """Return what the anchor of each part's mean adds to the inverse information."""
    n = len(part)
    size = np.bincount(part)[part]
    added = np.zeros((n + 1, n + 1))
    added[:n, :n] = (part[:, None] == part) / size[:, None] ** 2
    return added
