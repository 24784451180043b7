"""Hold the search, where nothing is constrained, against procedures of others that choose the largest mean.

The designs cost the same less the least bit, and a target between the best and the second makes the cheapest design
that reaches it the best. KN++ (Kim and Nelson 2001) promises that choice with a probability, OCBA (Chen and Lee 2011)
spends a number of campaigns on it; both are those of sim-tools.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from planning.benches import MadeBench
from planning.made_problems import FAMILY, WANTED

from simlab.answers.plan import SIZE, Limits, Target
from simlab.planning.search import search
from simlab.planning.terms import Design

MEANS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.8)
TARGET, APART = 0.75, 0.1
DESIGNS: list[Design] = [((FAMILY, f"{k}"), (SIZE, 100)) for k in range(len(MEANS))]
ONE = replace(
    WANTED,
    targets=(Target(measure="power", least=TARGET),),
    limits=Limits(money=None, currency=None, deadline=None),
    margin=0.0,
)
SEEDS = 25


def truth(design: Design) -> dict[str, float]:
    """Let designs differ in their power, and in money by less than matters."""
    k = int(dict(design)[FAMILY])
    return {"power": MEANS[k], "money": 100.0 + 0.1 * (len(MEANS) - k), "ended_as_planned": 1.0}


class Drawn:
    """Hand out the worlds of a bench one by one, as sim-tools asks for them."""

    def __init__(self, seed: int) -> None:
        self.bench, self.observers = MadeBench(truth, seed, shared=0.0), list[Any]()
        self.next = [0] * len(DESIGNS)
        looked = self.bench.look(dict.fromkeys(DESIGNS, 5000))
        self.values = [looked[one]["power"].value + looked[one]["power"].influence for one in DESIGNS]

    def register_observer(self, observer: Any) -> None:
        """Take note of who wants to hear."""
        self.observers.append(observer)

    def simulate(self, design: int) -> None:
        """Tell the next world of a design."""
        value = self.values[design][self.next[design]]
        self.next[design] += 1
        for observer in self.observers:
            observer.feedback(self, design, value)


def ours(seed: int) -> tuple[int | None, np.ndarray]:
    bench = MadeBench(truth, seed, shared=0.0)
    advice = search(bench, DESIGNS, ONE).advice
    worlds = np.array([bench.worlds.get(one, 0) for one in DESIGNS])
    return (None if advice is None else DESIGNS.index(advice)), worlds


def theirs(seed: int, procedure: Callable[..., Any], **settings: Any) -> tuple[int, np.ndarray]:
    drawn = Drawn(seed)
    solved = procedure(drawn, len(DESIGNS), obj="max", **settings).solve()
    return int(np.ravel(cast(Any, solved))[0]), np.array(drawn.next)


def test_as_often_right_as_kn_promises() -> None:
    zones = pytest.importorskip("sim_tools.ovs.indifference_zone")
    mine = [ours(seed) for seed in range(SEEDS)]
    kn = [theirs(seed, zones.KNPlusPlus, delta=APART, alpha=0.05, n_0=10) for seed in range(SEEDS)]
    best = len(MEANS) - 1
    right, promised = (np.mean([choice == best for choice, _ in many]) for many in (mine, kn))
    error = np.sqrt(2 * 0.05 * 0.95 / SEEDS)
    assert right >= 0.95 - 3 * error
    assert abs(right - promised) <= 3 * error
    # Both drop the worst designs early and spend more on those close to the best.
    for many in (mine, kn):
        worlds = np.mean([one for _, one in many], axis=0)
        assert worlds[best] > 1.5 * worlds[0]


def test_campaigns_go_where_ocba_spends_them() -> None:
    budgets = pytest.importorskip("sim_tools.ovs.fixed_budget")
    mine = [ours(seed) for seed in range(SEEDS)]
    budget = int(np.mean([worlds.sum() for _, worlds in mine])) // 10 * 10
    ocba = [theirs(seed, budgets.OCBA, budget=budget, delta=10, n_0=10) for seed in range(SEEDS)]
    best = len(MEANS) - 1
    right, as_often = (np.mean([choice == best for choice, _ in many]) for many in (mine, ocba))
    assert right >= as_often - 3 * np.sqrt(2 * 0.05 * 0.95 / SEEDS)
    # The two that are hardest to tell apart get most of what is spent, as often as with OCBA.
    shares = [np.mean([worlds[-2:].sum() / worlds.sum() for _, worlds in many]) for many in (mine, ocba)]
    equal = 2 / len(MEANS)
    assert min(shares) > 1.2 * equal


def test_a_choice_after_one_look_is_worse() -> None:
    wrong = 0
    for seed in range(SEEDS):
        looked = MadeBench(truth, seed, shared=0.0).look(dict.fromkeys(DESIGNS, 3))
        wrong += max(DESIGNS, key=lambda one: looked[one]["power"].value) != DESIGNS[-1]
    assert wrong / SEEDS > 0.05 + 3 * np.sqrt(0.05 * 0.95 / SEEDS)
