"""Search as nobody would: give all designs the same number of worlds until the choice is right with the probability.

Each design stands on its own measured values, nothing is taken from its neighbours; the rule that ends it is the
search's. It is what a search is held against, and shares no code with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from simlab.planning.terms import Bench, Design, MeasuredDesign, PlanRequest
from simlab.types import Estimate, Floats

GROWTH = 1.25
RESAMPLES = 400


class Chosen(NamedTuple):
    """Hold a choice, its probability of being right, and the worlds of each design."""

    design: Design | None
    probability: float
    worlds: int


def equal_allocation(
    bench: Bench, designs: Sequence[Design], wanted: PlanRequest, *, first: int = 16, most: int
) -> Chosen:
    """Look at all designs in as many worlds until one can be chosen, or they are `most`."""
    worlds = first
    while True:
        found = decided(bench.look(dict.fromkeys(designs, worlds)), wanted, worlds)
        if found.probability >= wanted.confidence or worlds >= most:
            return found
        worlds = min(most, int(np.ceil(GROWTH * worlds)))


def decided(looked: Mapping[Design, MeasuredDesign], wanted: PlanRequest, worlds: int) -> Chosen:
    """Choose from what was measured, in resamples of the worlds (one set of weights for all designs)."""
    rng = np.random.default_rng(0)
    weights = rng.standard_exponential((RESAMPLES, worlds))
    designs = [design for design, one in looked.items() if _is_within(one, wanted)]
    if not designs:
        return Chosen(None, 1.0, worlds)
    money = np.array([looked[design]["money"].value for design in designs])
    excess = np.array(
        [
            np.min([_share(looked[design][t.measure], weights, rng) - t.least for t in wanted.targets], axis=0)
            for design in designs
        ]
    )
    least = np.where(excess >= wanted.margin, money[:, None], np.inf).min(0)
    right = ((excess >= -wanted.margin) & (money[:, None] <= 1.05 * least)).mean(1)
    none = float(np.isinf(least).mean())
    best = int(np.argmax(right))
    return Chosen(designs[best], float(right[best]), worlds) if right[best] >= none else Chosen(None, none, worlds)


def _is_within(looked: MeasuredDesign, wanted: PlanRequest) -> bool:
    ended = looked["ended_as_planned"].value if "ended_as_planned" in looked else 1.0
    return ended >= 0.9 and (wanted.limits.money is None or looked["money"].value <= wanted.limits.money)


def _share(estimate: Estimate, weights: Floats, rng: np.random.Generator) -> Floats:
    """Return a share in resamples, with half a world of 0 and half a one of 1 beside those that were seen."""
    values = estimate.value + np.asarray(estimate.influence)
    none, one = rng.gamma(0.5, 1.0, (2, len(weights)))
    top = weights[:, : len(values)] @ values + one
    return np.asarray(top / (weights[:, : len(values)].sum(1) + none + one))
