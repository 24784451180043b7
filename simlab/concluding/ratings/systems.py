"""Lay out what is concluded about systems: estimates with intervals, each by itself, and the ranks they may have."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from simlab.analysis.raters.model_comparisons import Comparisons
from simlab.analysis.raters.uncertainty import means
from simlab.answers.conclude import System
from simlab.concluding.ratings.intervals import least_error
from simlab.concluding.standing import ranks_of
from simlab.types import Array, Collected, Rated


def systems_of(
    collected: Collected,
    outcome: Mapping[str, Array],
    rated: Rated,
    verdict: Array,
    raters_drawn: bool,
    level: float,
    scale: tuple[float, float],
    model: Comparisons | None,
) -> tuple[System, ...]:
    """Return the systems, best first; an interval ends at its scale, and is all of it where no spread is known."""
    from scipy.special import stdtrit

    names, plain = collected.frame.system_names, outcome["estimate"]
    # Estimates of a model stay on the scale, too: the level of an average rater may lie beyond it.
    estimate = plain if model is None else np.clip(model.mean, *scale)
    if model is None:
        found = means(rated, raters_drawn=raters_drawn)
        error, freedom = found.error, found.freedom
    else:
        error, freedom = np.sqrt(model.mean_variance), model.mean_freedom
    # Scores that are all alike do not say how far others would be off.
    known = (freedom > 0) & np.isfinite(error) & (error > least_error(rated))
    reach = stdtrit(np.where(known, freedom, 1.0), 1 - level / 2) * np.where(known, error, 0.0)
    reach = np.where(known, reach, np.inf)
    best, worst = ranks_of(verdict, len(names))
    order = np.argsort(estimate if collected.frame.lower_is_better else -estimate, kind="stable")
    return tuple(
        System(
            system=names[k],
            n=int(outcome["human_count"][k]),
            estimate=float(estimate[k]),
            low=max(float(estimate[k] - reach[k]), scale[0]),
            high=min(float(estimate[k] + reach[k]), scale[1]),
            rank_low=int(best[k]),
            rank_high=int(worst[k]),
            plain_mean=float(plain[k]),
        )
        for k in order.tolist()
    )
