"""Stop judging a system once its mean is known well enough: the rules of `decision` for studies of judgements.

A rule is called with a `JudgementSequence`, a system's judgements in order, and returns `Stops`: the number of
judgements, whether the interval is narrow enough, and its bounds. It looks after each `batch_size` judgements, and the
first interval that is at most `width` wide (on the scale of judgements) ends the judging. Each docstring states with
which probability that interval holds the mean.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt, Le, Lt

from simlab.analysis.means import stopping
from simlab.types import InputError, Ints, JudgementSequence, Stops
from simlab.types.bounds import Value

Level = Annotated[float, Gt(0), Lt(1)]
Width = Annotated[float, Gt(0), Le(1e6)]
Batch = Annotated[int, Ge(3), Le(10**7)]


def fixed_width(
    followed: JudgementSequence, *, level: Level, width: Width, batch_size: Batch, form: Literal["naive", "spread"]
) -> Stops:
    """Stop at the estimator's own interval.

    `naive`: as if each look were the only one, as is usual; it promises nothing, since one stops where the spread seems
    small. `spread`: the level is shared equally among all planned looks, those that never come included (Bonferroni),
    so that the promise of the interval holds at all of them.

    Raises InputError for a batch that is larger than what is planned.
    """
    # Rounded up, since the last batch may be smaller and is a look, too.
    among = -(-followed.planned // batch_size) if form == "spread" else 1
    for n in list_looks(followed, batch_size):
        low, high = followed.interval(int(n), followed.level / among)
        if high - low <= width:
            return Stops(int(n), True, low, high, looks=among)
    return Stops(len(followed.y), False, low, high, looks=among)


def betting_width(
    followed: JudgementSequence, *, level: Level, width: Width, batch_size: Batch, low: Value | None, high: Value | None
) -> Stops:
    """Stop at a betting confidence sequence of the human judgements, which holds whenever one looks.

    Source: Waudby-Smith and Ramdas 2024, theorem 3. Raises InputError for judgements whose scale has no ends, or that
    exceed them, and for a batch that is larger than what is planned.
    """
    least, most = ends(followed, "betting_width", low, high)
    n = list_looks(followed, batch_size)

    def interval_at_look(look: int, missing: float) -> tuple[float, float]:
        made = stopping.bet_on_judgements(followed.y[: n[look]], least, most, missing)
        return stopping.interval(made, missing, least, most)

    return _stops(n, width, interval_at_look, followed.level, level)


def ppi_width(
    followed: JudgementSequence, *, level: Level, width: Width, batch_size: Batch, low: Value | None, high: Value | None
) -> Stops:
    """Stop at a betting confidence sequence of corrected judgements: sequential prediction-powered inference.

    Bets are on `y - a (g - r)`, the slope a learned from the judgements before; see `simlab.analysis.means.stopping`.
    Raises InputError as `betting_width`, and for a metric of which too little is known.
    """
    least, most = ends(followed, "ppi_width", low, high)
    n, metric = list_looks(followed, batch_size), _metric(followed)

    def interval_at_look(look: int, missing: float) -> tuple[float, float]:
        made = stopping.bet_with_metric(followed.y, metric, least, most, missing).take_first(int(n[look]))
        return stopping.interval(made, missing, least, most)

    return _stops(n, width, interval_at_look, followed.level, level)


def list_looks(followed: JudgementSequence, batch_size: int) -> Ints:
    """Return the numbers of judgements after which a rule looks, all that came included.

    Raises InputError for a batch that is larger than what is planned.
    """
    n = len(followed.y)
    if batch_size > followed.planned:
        raise InputError(f"decision.batch_size={batch_size} exceeds budget.human_ratings={followed.planned}; lower it")
    return np.unique(np.append(np.arange(batch_size, n + 1, batch_size), n))


def ends(followed: JudgementSequence, rule: str, low: float | None, high: float | None) -> tuple[float, float]:
    """Return the ends of the scale of judgements: `low` and `high`, or where they are None those of the judges' scale.

    Raises InputError where there are none, and for judgements that lie beyond.
    """
    if (low is None) != (high is None):
        raise InputError("decision.low and decision.high are the ends of a scale; give both, or neither")
    if low is None or high is None:
        if followed.scale is None:
            raise InputError(
                f"decision={rule} needs judgements on a scale with ends; give them as decision.low and decision.high, "
                "or choose decision=fixed_width"
            )
        return followed.scale
    if low >= high:
        raise InputError(f"decision.low={low:g} must be less than decision.high={high:g}; give the ends of the scale")
    if followed.y.min() < low or followed.y.max() > high:
        raise InputError(
            f"decision.low={low:g}, decision.high={high:g}: judgements from {followed.y.min():g} to "
            f"{followed.y.max():g} exceed them; give the ends of the scale"
        )
    return low, high


def _metric(followed: JudgementSequence) -> stopping.StoppingMetric:
    if followed.g is None or followed.other is None:
        raise InputError(
            "decision=ppi_width bets against what the metric says of other outputs; choose a metric with "
            "systems.test_set=fixed, or raise budget.metric_ratings to budget.human_ratings at least"
        )
    # A mean of so many fresh outputs varies by that share of the variance of g.
    noise = 1 / followed.fresh if followed.fresh else 0.0
    # Bets survive what lies within the ends of the scale, and a metric beyond them could ruin one.
    return stopping.StoppingMetric(
        np.clip(followed.g, *followed.metric_scale), followed.other, followed.metric_scale, noise
    )


def _stops(
    n: Ints, width: float, at: Callable[[int, float], tuple[float, float]], missing: float, level: float
) -> Stops:
    """Find the first look, after `n[look]` judgements, whose interval `at(look, missing)` is narrow enough.

    A mean refuted at one look remains so at the next: intervals never grow, and bisection finds the first.
    """
    first, last = 0, len(n)
    while first < last:
        middle = (first + last) // 2
        low, high = at(middle, missing)
        first, last = (first, middle) if high - low <= width else (middle + 1, last)
    narrow, look = first < len(n), min(first, len(n) - 1)
    # Both systems' intervals hold their means with probability 1 - level.
    return Stops(int(n[look]), narrow, *at(look, missing), *at(look, level / 2))
