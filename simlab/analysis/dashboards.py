"""Claim differences between neighbours of a ranking as ratings come, as dashboards do: rules of `decision` for ratings.

A rule, `dashboard`, takes `Arrived`, the ratings in the order in which they came, and returns `Claims`, a verdict and a
p-value per pair of systems. A look is the state after a screen (one output, with all its segments, rated by one rater).
What dashboards do is simulated so that its error is seen: it takes segments for independent, which those of a document,
or by one rater, are not; it looks again and again; and it compares systems that the ranking has put side by side.
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

import numpy as np
from annotated_types import Gt, Lt

from simlab.types import Arrived, Claims, Floats, Ints

Level = Annotated[float, Gt(0), Lt(1)]

FEWEST = 2
"""Fewest segments from which a variance is estimated."""
ROUNDING = 1e-12
"""Spreads and differences are 0 up to this share of the spread of all scores (squared: of their variance)."""


class Gaps(NamedTuple):
    """Differences of mean scores of neighbours, second less first, `[look, neighbours]`.

    `variance` is that of the difference, `freedom` are t's degrees of freedom.
    """

    gap: Floats
    variance: Floats
    freedom: Floats


def dashboard(
    arrived: Arrived,
    *,
    level: Level,
    test: Literal["welch", "paired"],
    looks: Literal["every", "end"],
    ranking: Literal["current", "final", "listed"],
) -> Claims:
    """Claim a difference where a line was drawn between neighbours of the ranking at some look.

    Systems are ranked by the mean score of their segments so far, and each two neighbours are compared by a two-sided t
    test over segments: Welch's, or the paired one over segments that both have (the k-th rating of a segment goes with
    the k-th of the other system). Where either has fewer than two segments, or no spread, no line is drawn. The
    direction of a claim is that of the look with its least p-value.
    """
    # Centred, so that sums of squares do not cancel.
    value = arrived.value - arrived.value.mean() if len(arrived.value) else arrived.value
    count, total, square = _running_sums(arrived, value)
    with np.errstate(invalid="ignore"):
        mean = total / count
    first, second = _neighbours(mean, ranking)
    if looks == "end":
        first, second = first[-1:], second[-1:]
    gaps = (
        _welch(count, total, square, first, second)
        if test == "welch"
        else _compare_shared_segments(arrived, value, first, second)
    )
    return _claims(arrived, gaps, first, second, float(value.var()) if len(value) else 0.0, level)


def _running_sums(arrived: Arrived, value: Floats) -> tuple[Floats, Floats, Floats]:
    """Count the segments of each system up to each screen, and add up their scores and their squares."""
    shape = (int(arrived.screen.max(initial=0)) + 1, arrived.n_systems)
    cell = arrived.screen * arrived.n_systems + arrived.system
    count, total, square = (
        np.bincount(cell, weights=weights, minlength=shape[0] * shape[1]).reshape(shape).cumsum(0)
        for weights in (np.ones(len(value)), value, value**2)
    )
    return count, total, square


def _neighbours(mean: Floats, ranking: str) -> tuple[Ints, Ints]:
    """Return the systems that are neighbours at each look, `[look, neighbours]`; who has no ratings stands last."""
    if ranking == "current":
        order = np.argsort(mean, axis=1, kind="stable")
    else:
        last = np.argsort(mean[-1], kind="stable") if ranking == "final" else np.arange(mean.shape[1])
        order = np.broadcast_to(last, mean.shape)
    return order[:, :-1], order[:, 1:]


def _welch(count: Floats, total: Floats, square: Floats, first: Ints, second: Ints) -> Gaps:
    """Compare all segments of both systems, given running sums `[screen, system]` and neighbours per look."""
    looks = slice(-len(first), None)
    n = count[looks]
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total[looks] / n
        # Of the mean; NaN below two segments.
        variance = np.where(n < FEWEST, np.nan, (square[looks] / n - mean**2) / (n - 1))
        a, b = np.take_along_axis(variance, first, 1), np.take_along_axis(variance, second, 1)
        least = np.take_along_axis(n, first, 1) - 1, np.take_along_axis(n, second, 1) - 1
        gap = np.take_along_axis(mean, second, 1) - np.take_along_axis(mean, first, 1)
        # Degrees of freedom by Satterthwaite 1946, as Welch's test has them.
        return Gaps(gap, a + b, (a + b) ** 2 / (a**2 / least[0] + b**2 / least[1]))


def _compare_shared_segments(arrived: Arrived, value: Floats, first: Ints, second: Ints) -> Gaps:
    """Compare the segments that both have; a segment counts from the screen on by which both have it."""
    scores, screen = _lay_out_by_segment(arrived, value)
    i, j = np.triu_indices(arrived.n_systems, 1)
    both = (screen[:, i] >= 0) & (screen[:, j] >= 0)
    row, pair = np.nonzero(both)
    gap = scores[row, j[pair]] - scores[row, i[pair]]
    shape = (int(arrived.screen.max(initial=0)) + 1, len(i))
    cell = np.maximum(screen[row, i[pair]], screen[row, j[pair]]) * len(i) + pair
    n, total, square = (
        np.bincount(cell, weights=weights, minlength=shape[0] * shape[1]).reshape(shape).cumsum(0)[-len(first) :]
        for weights in (np.ones(len(gap)), gap, gap**2)
    )
    of_pair = np.zeros((arrived.n_systems, arrived.n_systems), np.int64)
    of_pair[i, j] = of_pair[j, i] = np.arange(len(i))
    n, total, square = (np.take_along_axis(x, of_pair[first, second], 1) for x in (n, total, square))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total / n
        variance = np.where(n < FEWEST, np.nan, (square / n - mean**2) / (n - 1))
    return Gaps(np.where(first < second, mean, -mean), variance, n - 1)


def _lay_out_by_segment(arrived: Arrived, value: Floats) -> tuple[Floats, Ints]:
    """Lay out scores and their screens, `[segment and number of the rating, system]`; -1 is the screen of none."""
    output = arrived.item * arrived.n_systems + arrived.system
    order = np.argsort(output, kind="stable")
    turn = np.empty(len(output), np.int64)
    turn[order] = np.arange(len(output)) - np.searchsorted(output[order], output[order])
    times = int(turn.max(initial=0)) + 1
    shape = ((int(arrived.item.max(initial=-1)) + 1) * times, arrived.n_systems)
    scores, screen = np.zeros(shape), np.full(shape, -1)
    scores[arrived.item * times + turn, arrived.system] = value
    screen[arrived.item * times + turn, arrived.system] = arrived.screen
    return scores, screen


def _claims(arrived: Arrived, gaps: Gaps, first: Ints, second: Ints, spread: float, level: float) -> Claims:
    """Return each pair's claim at the look with its least p-value; the p-value is 1 if it was never compared.

    `spread` is the variance of all scores; differences and variances that are nothing beside it count as 0.
    """
    from scipy.special import stdtr

    n = arrived.n_systems
    known = (gaps.variance > ROUNDING * spread) & (np.abs(gaps.gap) > np.sqrt(ROUNDING * spread))
    i, j = first[known], second[known]
    p_value = 2 * stdtr(gaps.freedom[known], -np.abs(gaps.gap[known]) / np.sqrt(gaps.variance[known]))
    low, high = np.minimum(i, j), np.maximum(i, j)
    # This is the position of (low, high) in the order of np.triu_indices.
    pair = low * (2 * n - low - 1) // 2 + high - low - 1
    best = np.ones(n * (n - 1) // 2)
    np.minimum.at(best, pair, p_value)
    # The gap says how far the second is above the first, in the order of the ranking.
    ahead = np.where((gaps.gap[known] > 0) == (i < j), -1, 1) * (-1 if arrived.lower_is_better else 1)
    verdict = np.zeros(len(best), np.int8)
    # The least p-value is one of these very numbers, so that equality needs no tolerance.
    at_best = (p_value == best[pair]) & (p_value <= level)
    verdict[pair[at_best]] = ahead[at_best]
    return Claims(verdict, best)
