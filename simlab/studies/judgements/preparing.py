"""Bind the parts of a study of judgements, once per cell (one config of a sweep).

Call `prepare` with a config, which returns `PreparedJudgements`: design, budget, bound estimator and rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from simlab.analysis.estimators import binary, control_variates, ppi, sample_mean
from simlab.analysis.means.intervals import RESAMPLED, Kind
from simlab.analysis.multiplicity import Multiplicity
from simlab.analysis.stopping_rules import fixed_width, ppi_width
from simlab.parts import bind, is_chosen
from simlab.studies.campaign_clock import Clock, bind_clock
from simlab.studies.money import MoneyLimits, Prices, has_account, has_clock, read_money_limits, read_prices
from simlab.types import JUDGE, Estimates, Judged, JudgementSequence, Stops

DEFAULT_LEVEL = 0.05

BY_ROW = (sample_mean, control_variates, ppi)
"""Estimators that look at one system at a time."""


class JudgementsDesign(NamedTuple):
    """Design of a study of judgements: which outputs are judged, as the keys of `design` say.

    `shared_inputs`: those of all systems are of the same inputs; `replacement`: they are drawn with it. `calibration`
    is shared by the systems, or each system's own.
    """

    shared_inputs: bool
    replacement: bool
    calibration: str


class JudgementsBudget(NamedTuple):
    """Numbers of outputs of each system that humans judge and the metric rates (None: all), and calibration ratings."""

    human_ratings: int
    metric_ratings: int | None
    calibration_ratings: int


class PreparedJudgements(NamedTuple):
    """Study of judgements that a cell asks for: its design and budget, and the bound estimator.

    `human_only`: the estimator does not look at a metric; `calibrates`: it learns from outputs rated by both; `rates`:
    it says how good a metric is. Its intervals are of the kind `interval` and miss with probability `interval_level`;
    `estimate_at(level)` is the same estimator at another level.

    `stops` is the rule by which the judging of a system ends (None: once the budget is spent), and `each` says that it
    needs the metric's scores of outputs that no human judged, one by one. `tests`: differences are judged by a test of
    means; else a rule says which systems differ. `by_row`: the estimate of a system depends on its own judgements and
    on no random number, so that systems of many campaigns can be estimated at once.

    On a `clock` (None: nothing takes time) a rule that ends judging looks once a `batch` has come. `accounted`: the
    study says what was planned, lost and left open; `cuts`: money limits the numbers beforehand, without a clock.
    """

    seed: int
    design: JudgementsDesign
    budget: JudgementsBudget
    estimate: Callable[[np.random.Generator, Judged], Estimates]
    human_only: bool
    calibrates: bool
    rates: bool
    interval: Kind
    interval_level: float
    level: float
    multiplicity: Multiplicity
    stops: Callable[[JudgementSequence], Stops] | None = None
    each: bool = False
    tests: bool = True
    by_row: bool = False
    section: Mapping[str, Any] = {}
    plugins: Sequence[str] = ()
    prices: Prices = Prices(0.0)
    limits: MoneyLimits = MoneyLimits()
    accounted: bool = False
    cuts: bool = False
    batch: int | None = None
    clock: Clock | None = None

    def estimate_at(self, level: float) -> Callable[[np.random.Generator, Judged], Estimates]:
        """Bind the estimator with intervals of another level."""
        return bind({**self.section, "level": level}, self.plugins) if "level" in self.section else self.estimate


def prepare(config: Mapping[str, Any]) -> PreparedJudgements:
    """Bind the estimator, and the rule by which judging ends."""
    plugins, estimator = config.get("plugins", ()), config["analysis"]["estimator"]
    decision = config["decision"]
    return PreparedJudgements(
        seed=config["seed"],
        design=JudgementsDesign(*(config["design"][key] for key in JudgementsDesign._fields)),
        budget=JudgementsBudget(*(config["budget"][key] for key in JudgementsBudget._fields)),
        estimate=bind(estimator, plugins),
        human_only=is_chosen(estimator, sample_mean, plugins),
        calibrates=estimator.get("quality") == "estimated",
        rates=is_chosen(estimator, binary, plugins),
        interval=estimator.get("interval", "normal"),
        interval_level=estimator.get("level", DEFAULT_LEVEL),
        level=decision["level"],
        multiplicity=decision.get("multiplicity", "none"),
        stops=bind(decision, plugins) if "_target_" in decision else None,
        each=is_chosen(decision, ppi_width, plugins),
        tests="_target_" not in decision or is_chosen(decision, fixed_width, plugins),
        by_row=any(is_chosen(estimator, part, plugins) for part in BY_ROW) and estimator["interval"] not in RESAMPLED,
        section=estimator,
        plugins=plugins,
        prices=read_prices(config["budget"], JUDGE),
        limits=read_money_limits(config["budget"]),
        accounted=has_account(config),
        cuts=has_account(config) and not has_clock(config),
        batch=decision.get("batch_size", 1) if "_target_" in decision else None,
        clock=bind_clock(config, JUDGE),
    )


def same_layout(prepared: PreparedJudgements) -> str:
    """Return as text the settings that the layout of a world depends on: cells with equal ones share a layout."""
    sizes = [prepared.seed, prepared.design, prepared.budget, prepared.human_only, prepared.calibrates, prepared.each]
    return repr([*sizes, prepared.prices, prepared.limits, prepared.cuts, prepared.clock is None])
