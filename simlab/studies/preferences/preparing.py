"""Bind the parts of a study of preferences, once a cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from simlab.parts import bind
from simlab.studies.clocked import Clock, clock_of
from simlab.studies.money import Prices, accounted, on_a_clock, prices_of
from simlab.studies.preferences.outcomes import n_rounds
from simlab.types import COMPARE, Array, Evidence, Floats, Verdicts


class Prepared(NamedTuple):
    """Hold what a cell asks: its protocol and budget, the bound rules, and whether they ask about the test set.

    `clock` says how people work (None: nothing takes time).
    """

    seed: int
    design: Mapping[str, Any]
    budget: Mapping[str, Any]
    decide: Callable[[Evidence], Verdicts]
    judge_reference: Callable[[Array], Floats]
    level: float
    rounds: int
    on_test_set: bool
    prices: Prices = Prices(0.0)
    accounted: bool = False
    clock: Clock | None = None
    cuts: bool = False


def prepare(config: Mapping[str, Any]) -> Prepared:
    """Bind the decision rule and the test of the full human evaluation."""
    plugins = config.get("plugins", ())
    return Prepared(
        seed=config["seed"],
        design=config["design"],
        budget=config["budget"],
        decide=bind(config["decision"], plugins),
        judge_reference=bind(config["analysis"]["reference"], plugins),
        level=config["decision"]["level"],
        rounds=n_rounds(config),
        on_test_set=config["decision"].get("estimand") == "test_set",
        prices=prices_of(config["budget"], COMPARE),
        accounted=accounted(config),
        clock=clock_of(config, COMPARE),
        cuts=accounted(config) and not on_a_clock(config),
    )


def same_layout(prepared: Prepared) -> str:
    """Say that what studies of a world share does not depend on the design."""
    return ""
