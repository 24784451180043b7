"""Let every stored outcome that has a mean be asked for like a measure: what campaigns cost, the ratings they took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from simlab.measures.jackknife import of_campaign, ratio_over_campaigns, succeeded, unknown
from simlab.store.measures import Labels, Measures
from simlab.types import Estimate, Outcome, Outcomes

NO_MEAN = frozenset(["document_set", "twin_significant"])
"""An index, and what is unknown where no twin was possible."""

LESS_IS_BETTER = frozenset([
    *("cost", "human_cost", "ratings_used", "item_ratings_used", "metric_used", "used", "rounds"),
    *("standard_error", "difference_se", "baseline_width"),
])  # fmt: skip


def mean(outcomes: Outcomes, *, name: str, per_world: bool) -> Estimate:
    """Average an outcome over the campaigns that were carried out, and over systems or pairs where it has them.

    `outcomes[name]` is `[campaign]`, `[campaign, system or pair]`, or has one row per world. What is not a number is
    left out; `n` counts the campaigns that have a value.
    """
    if name not in outcomes:
        return unknown()
    values = of_campaign(outcomes, name) if per_world else outcomes[name]
    rows = values.reshape(len(values), -1).astype(float)
    known = np.isfinite(rows)
    counts = known.sum(axis=1)
    if not np.any(succeeded(outcomes) & (counts > 0)):
        return unknown()
    estimate = ratio_over_campaigns(outcomes, np.where(known, rows, 0.0).sum(axis=1), counts)
    return replace(estimate, n=int(np.sum(succeeded(outcomes) & (counts > 0))))


def means(held: Mapping[str, Outcome]) -> Measures:
    """Return what averages each of the outcomes that a store holds, those left out that have no mean."""
    return {
        name: partial(mean, name=name, per_world=outcome.dims[0] == "of_world")
        for name, outcome in held.items()
        if has_mean(name, outcome)
    }


def labels_of_means(held: Mapping[str, Outcome]) -> Labels:
    """Say of each outcome what its mean is called, and whether the best design has the least."""
    return {
        name: {"label": f"mean of: {outcome.label}", **({"less_is_better": True} if name in LESS_IS_BETTER else {})}
        for name, outcome in held.items()
        if has_mean(name, outcome)
    }


def has_mean(name: str, outcome: Outcome) -> bool:
    """Tell outcomes that count or measure from codes (int8), indices and what has more than one entry a pair."""
    along = set(outcome.dims[1:])
    return outcome.dtype != "int8" and name not in NO_MEAN and along <= {"system", "pair"}
