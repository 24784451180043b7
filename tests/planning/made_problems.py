"""Make problems for a search whose answer is known: families of designs that differ in what they cost and reach."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from simlab.answers.plan import SIZE, Limits, Smallest, Target
from simlab.planning.terms import Design, PlanRequest

SIZES = (20, 30, 40, 50, 60, 80, 100, 120, 150, 180, 220, 260, 300, 340, 400)
KINDS = ("plain", "close", "between", "none", "all", "against", "dip", "step")
FAMILY = "design.grouping"
WANTED = PlanRequest(
    (Target(measure="power", least=0.8), Target(measure="no_wrong_claim", least=0.95)),
    Limits(money=600.0, currency=None, deadline=None),
    Smallest(value=1.0, unit="points", why=""),
)


class Problem(NamedTuple):
    """Hold the designs of a problem and what is true of each."""

    truths: Mapping[Design, Mapping[str, float]]
    formula: Callable[[int, int], Mapping[str, float]] | None = None

    @property
    def designs(self) -> list[Design]:
        """List the designs."""
        return list(self.truths)

    def truth(self, design: Design) -> Mapping[str, float]:
        """Return what is true of a design."""
        if self.formula is None or design in self.truths:
            return self.truths[design]
        own = dict(design)
        return self.formula(int(own[FAMILY]), own[SIZE])

    def reaches(self, design: Design, more: float, wanted: PlanRequest = WANTED) -> bool:
        """Tell whether a design exceeds all targets by so much, or half of what is left up to 1, within the limits."""
        truth, money = self.truth(design), wanted.limits.money
        affordable = money is None or truth["money"] <= money
        return affordable and all(
            truth[one.measure] >= one.least + min(more, (1 - one.least) / 2) for one in wanted.targets
        )

    def is_right(self, choice: Design | None, wanted: PlanRequest = WANTED) -> bool:
        """Tell whether a choice is right."""
        good = [self.truths[one]["money"] for one in self.designs if self.reaches(one, wanted.margin, wanted)]
        cheapest = min(good, default=math.inf)
        if choice is None:
            return math.isinf(cheapest)
        return self.reaches(choice, -wanted.margin, wanted) and self.truths[choice]["money"] <= 1.05 * cheapest + 1e-9


def problem(seed: int, kind: str = "plain", n_families: int = 8) -> Problem:
    """Make a problem: plain; two families 3 % apart; the target between two sizes; reached by none or by all designs.

    `against`: what costs more finds less. `dip`: no_wrong_claim falls below its target in between and rises again.
    `step`: two families of which the one that finds more for the money has no size that is searched at that price.
    """
    rng, sizes = np.random.default_rng([7, seed]), SIZES[::3] if kind == "step" else SIZES
    cross = np.exp(rng.uniform(np.log(60), np.log(350), n_families))
    slope, price = rng.uniform(0.6, 1.1, n_families), rng.uniform(0.8, 1.6, n_families)
    wrong = rng.uniform(0.955, 0.985, n_families)
    if kind == "close":
        price, cross = np.ones(n_families), np.concatenate([cross[:1], cross[:1] * 1.03, cross[2:] * 1.3])
    elif kind == "between":
        cross = np.sqrt(np.array(SIZES[5:])[rng.integers(0, 8, n_families)] * np.array(SIZES[6:14])[-1])
    elif kind in ("none", "all"):
        cross = cross * (8 if kind == "none" else 0.05)
    elif kind == "step":
        k = int(rng.integers(1, 4))
        cross, price = np.full(n_families, 4.0 * sizes[k]), np.ones(n_families)
        cross[:2], slope[:2] = (0.85 * sizes[k], 1.1 * sizes[k]), (0.6, 1.1)
        price[1] = 1.12 * sizes[k] / sizes[k + 1]
    elif kind == "against":
        price = cross / cross.mean() * rng.uniform(0.9, 1.1, n_families)

    def truth(f: int, size: int) -> dict[str, float]:
        power = float(ndtr(ndtri(0.8) + slope[f] * np.log(size / cross[f])))
        fall = 0.05 * math.exp(-(((math.log(size) - math.log(120 + 20 * f)) / 0.6) ** 2))
        kept = 0.985 - fall if kind == "dip" else float(wrong[f])
        return {"power": power, "no_wrong_claim": kept, "money": float(price[f] * size), "ended_as_planned": 1.0}

    return Problem({((FAMILY, f"{f}"), (SIZE, n)): truth(f, n) for f in range(n_families) for n in sizes}, truth)
