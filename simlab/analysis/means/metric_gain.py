"""Test whether a metric tells systems apart; estimate their spread; correct ratings by the metric.

`gain` tests, from sums per document, and returns t and a p-value; `spread_of` estimates the standard deviation of
systems' true means;
`correct_by_metric` corrects single ratings, `slope_for_all` fits the line by which a metric predicts judgements.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import chdtri, ndtri

from simlab.analysis import signs
from simlab.analysis.means.document_pairs import products_of_differences
from simlab.analysis.means.documents import Totals, split_errors
from simlab.types import Floats, Ints, Seen


class Gain(NamedTuple):
    """Test of a metric's slope on differences: `t`, how many standard errors it is from 0, and `p_value`."""

    t: float
    p_value: float


class SystemSpread(NamedTuple):
    """Spread of systems' true means: their standard deviation, `value`, with bounds."""

    value: float
    low: float
    high: float


def gain(rng: np.random.Generator, of: Totals, *, flips: int) -> Gain:
    """Test whether differences of systems' judgements go with those of the metric on the same outputs.

    `of` holds sums of judgements and scores `[system, document]`. Where both have nothing to do with each other, the
    sign of what a document adds to their covariance is chance alone: whole documents are flipped, in at most `flips`
    patterns.
    """
    parts = split_errors(of)
    product = products_of_differences(parts.y, parts.g)
    # Flips of a document that brings nothing change nothing, and without it all patterns are listed sooner.
    products = product[product != 0]
    if not len(products):
        return Gain(0.0, 1.0)
    exact = len(products) < 63 and 2 ** (len(products) - 1) <= flips
    pattern = signs.list_half_patterns(len(products)) if exact else signs.draw_sign_patterns(rng, flips, len(products))
    observed, length = float(products.sum()), float(np.sqrt((products**2).sum()))
    # The tolerance lets statistics that are equal but for rounding count as equal.
    extreme = int((np.abs(pattern @ products) >= abs(observed) - 1e-9 * length).sum())
    return Gain(observed / length, extreme / len(pattern) if exact else (extreme + 1) / (flips + 1))


def slope_for_all(y: Floats, g: Floats) -> float:
    """Return the slope of judgements `y[output]` on metric scores `g[output]`; 0 if the metric is constant."""
    spread = float(((g - g.mean()) ** 2).sum())
    return float((g - g.mean()) @ (y - y.mean())) / spread if spread > 0 else 0.0


def spread_of(value: Floats, se: Floats, level: float) -> SystemSpread:
    """Estimate how far `value[system]` differ beyond their errors `se[system]`, with a Q-profile interval.

    Source: Paule and Mandel 1982; Viechtbauer 2007 for the interval. NaN with fewer than two known values.
    """
    known = np.isfinite(value) & np.isfinite(se) & (se > 0)
    if known.sum() < 2:
        return SystemSpread(np.nan, np.nan, np.nan)
    x, v, freedom = value[known], se[known] ** 2, int(known.sum()) - 1
    top = float(np.ptp(x) + 10 * np.sqrt(v.max())) ** 2

    def q_statistic(t: float) -> float:
        weight = 1 / (v + t)
        return float((weight * (x - (weight @ x) / weight.sum()) ** 2).sum())

    # It takes longer to import than all else that a study needs.
    from scipy.optimize import brentq

    def solve_spread(wanted: float) -> float:
        if q_statistic(0.0) <= wanted:
            return 0.0
        # A low quantile of chi squared on few degrees of freedom is close to 0, so that the root may lie far out.
        return float(np.sqrt(brentq(lambda t: q_statistic(t) - wanted, 0.0, top * 1e4)))

    return SystemSpread(
        solve_spread(freedom),
        solve_spread(float(chdtri(freedom, level / 2))),
        solve_spread(float(chdtri(freedom, 1 - level / 2))),
    )


def fisher_bounds(correlation: Floats, se: Floats, level: float) -> tuple[Floats, Floats]:
    """Return 1 - `level` bounds of correlations; `se` are the standard errors of their Fisher transforms."""
    # At -1 and 1 the transform is infinite, and bounds would shrink to a point.
    z, reach = np.arctanh(np.clip(correlation, -0.999999, 0.999999)), -ndtri(level / 2) * se
    return np.tanh(z - reach), np.tanh(z + reach)


def correct_by_metric(seen: Seen, metric: Floats) -> Seen:
    """Subtract from each rating the part that the metric explains, about the system's mean score over all segments.

    `seen` are ratings of segments, `metric[system, item]` scores of all segments. One slope is estimated for all
    systems from the ratings seen, within systems: `a = sum (y - ybar) (g - gbar) / sum (g - gbar)^2`. A rating y
    becomes `y - a (g - mean of g over all segments)`, so that a system's mean over segments is corrected by control
    variates with a plug-in coefficient.
    Source: Chaganty, Mussmann and Liang 2018, algorithm 1.
    """
    scores = metric[seen.system, seen.item]
    y, g = (_centre_within_groups(values, seen.system, len(metric)) for values in (seen.value, scores))
    variation = float(g @ g)
    slope = float(y @ g) / variation if variation > 0 else 0.0
    return replace(seen, value=seen.value - slope * (scores - metric.mean(1)[seen.system]))


def _centre_within_groups(values: Floats, group: Ints, n: int) -> Floats:
    """Subtract the mean of each value's group."""
    count = np.maximum(np.bincount(group, minlength=n), 1)
    return np.asarray(values - (np.bincount(group, weights=values, minlength=n) / count)[group])
