"""Bind the parts of a study of preferences, once per cell (one config of a sweep), and declare its outcomes.

Call `prepare` with a config, which returns `PreparedPreferences`: protocol, budget and bound rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from simlab.design.waiting import Wait
from simlab.parts import bind, is_own
from simlab.studies.campaign_clock import Clock, bind_clock
from simlab.studies.money import MoneyLimits, Prices, has_account, has_clock, read_money_limits, read_prices
from simlab.studies.outcomes import ACCOUNT, COMMON, LOAD, NAN
from simlab.types import COMPARE, Array, Evidence, Floats, Outcome, Verdicts

_PAIR, _RATE = ("replicate", "pair"), ("replicate", "pair", "preference")
OUTCOMES: Mapping[str, Outcome] = {
    **{name: outcome for name, outcome in COMMON.items() if name != "true_value"},
    **LOAD,
    **ACCOUNT,
    "verdict": Outcome(
        _PAIR, "int8", 0, "+1: the first system declared better, -1: the second, 0: neither", low=-1, high=1
    ),
    "decided": Outcome(_PAIR, "bool", False, "whether the decision rule ended collecting"),
    "theta": Outcome(
        _PAIR, "float64", NAN, "probability that the first system wins more often", low=0, high=1, gap=True
    ),
    "r_hat": Outcome(_PAIR, "float64", NAN, "largest R-hat of the pair's chains", low=0, gap=True),
    "ess": Outcome(_PAIR, "float64", NAN, "effective draws of theta", low=0, gap=True),
    "used": Outcome(_PAIR, "int32", 0, "annotations of the pair", low=0),
    "rounds": Outcome(_PAIR, "int32", 0, "batches of the pair", low=0),
    "reference_verdict": Outcome(_PAIR, "int8", 0, "verdict of the full human evaluation", low=-1, high=1),
    "reference_smoothed": Outcome(_PAIR, "bool", False, "whether some outcome never occurs in it"),
    "p_mean": Outcome(_RATE, "float64", NAN, "estimated probability of >, =, <", low=0, high=1),
    "p_low": Outcome(_RATE, "float64", NAN, "lower bound of its 95 % interval", low=0, high=1),
    "p_high": Outcome(_RATE, "float64", NAN, "upper bound of its 95 % interval", low=0, high=1),
    "reference_p": Outcome(_RATE, "float64", NAN, "share in the full human evaluation", low=0, high=1),
    "cyclic": Outcome(("replicate", "system"), "bool", False, "whether verdicts lead from the system back to itself"),
    "ratings_possible": Outcome(
        ("replicate",), "int32", 0, "annotations of all pairs in the full human evaluation", low=0
    ),
    "item_ratings_used": Outcome(
        ("replicate",), "int32", 0, "single outputs that raters had to read, of all systems together", low=0
    ),
    "item_ratings_possible": Outcome(("replicate",), "int32", 0, "single outputs in the full human evaluation", low=0),
    "undecided": Outcome(("replicate", "round"), "int32", -1, "pairs undecided after a round", low=0, gap=True),
    "collected": Outcome(("replicate", "round"), "int32", -1, "annotations collected up to a round", low=0, gap=True),
    "true_p": Outcome(("of_world", "pair", "preference"), "float64", NAN, "true probability of >, =, <", low=0, high=1),
}


class PreferencesDesign(NamedTuple):
    """In which order outputs are compared, as the keys of `design` say.

    `shared_order`: items come in the same order for all pairs; `whole_documents`: document by document. `pair_order`
    says which pairs come first where a budget runs out, `wait` what the next batch of a pair waits for.
    """

    shared_order: bool
    pair_order: str
    whole_documents: bool
    wait: Wait


class PreferencesBudget(NamedTuple):
    """Most comparisons of each pair, and of all pairs together (None: no limit), and those in a batch of a pair."""

    annotations_per_pair: int
    annotations: int | None
    batch_size: int


class PreparedPreferences(NamedTuple):
    """Study of preferences that a cell asks for: protocol, budget, bound rules, whether it is about the test set.

    `decide` is the decision rule, `judge_reference` the test of the full human evaluation, given counts of outcomes
    `[row, 3]`; `rounds` counts the looks. `clock` says how people work (None: nothing takes time). `accounted`: the
    study says what was planned, lost and left open; `cuts`: money ends collecting, without a clock. `sampled`: the
    posterior comes from chains. `bins` is how many sizes of its differences the metric tells apart.
    """

    seed: int
    design: PreferencesDesign
    budget: PreferencesBudget
    decide: Callable[[Evidence], Verdicts]
    judge_reference: Callable[[Array], Floats]
    reference_level: float
    rounds: int
    on_test_set: bool
    prices: Prices = Prices(0.0)
    limits: MoneyLimits = MoneyLimits()
    accounted: bool = False
    clock: Clock | None = None
    cuts: bool = False
    sampled: bool = False
    bins: int = 1


def prepare(config: Mapping[str, Any]) -> PreparedPreferences:
    """Bind the decision rule and the test of the full human evaluation."""
    plugins = config.get("plugins", ())
    return PreparedPreferences(
        seed=config["seed"],
        design=read_design(config["design"]),
        budget=PreferencesBudget(*(config["budget"][key] for key in PreferencesBudget._fields)),
        decide=bind(config["decision"], plugins),
        judge_reference=bind(config["analysis"]["reference"], plugins),
        reference_level=config["analysis"]["reference_level"],
        rounds=n_rounds(config),
        on_test_set=config["decision"].get("estimand") == "test_set",
        prices=read_prices(config["budget"], COMPARE),
        limits=read_money_limits(config["budget"]),
        accounted=has_account(config),
        clock=bind_clock(config, COMPARE),
        cuts=has_account(config) and not has_clock(config),
        sampled=config["decision"].get("posterior") == "nuts",
        bins=read_bins(config),
    )


def read_design(section: Mapping[str, Any]) -> PreferencesDesign:
    """Read the keys of a design; studies that were declared before a key had the default that stands here."""
    return PreferencesDesign(
        shared_order=section["shared_order"],
        pair_order=section["pair_order"],
        whole_documents=section.get("whole_documents", False),
        wait=section.get("wait", "round"),
    )


def read_bins(config: Mapping[str, Any]) -> int:
    """Return how many sizes of its differences a metric tells apart; a plug-in's key of that name is its own."""
    metric = config["metric"]
    return int(metric.get("bins", 1)) if is_own(metric) else 1


def same_layout(prepared: PreparedPreferences) -> str:
    """Return '': the test set that studies of a world share does not depend on the design."""
    return ""


def n_rounds(config: Mapping[str, Mapping[str, int]]) -> int:
    """Count the looks at which a campaign is followed, look 0 included."""
    budget = config["budget"]
    # A division of the negative rounds up; the 1 is look 0.
    return 1 - (-budget["annotations_per_pair"] // budget["batch_size"])
