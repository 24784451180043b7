"""Bind the parts of a study of judgements, once a cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from simlab.analysis.estimators import binary, sample_mean
from simlab.analysis.means.intervals import Kind
from simlab.analysis.multiplicity import Multiplicity
from simlab.parts import bind, chosen
from simlab.types import Estimates, Judged

DEFAULT_LEVEL = 0.05


class Prepared(NamedTuple):
    """Hold what a cell asks: its design and budget, and the bound estimator.

    `human_only`: the estimator does not look at a metric; `calibrates`: it learns from outputs rated by both; `rates`:
    it says how good a metric is. Its intervals are of the kind `interval` and miss with probability `interval_level`.
    """

    seed: int
    design: Mapping[str, Any]
    budget: Mapping[str, Any]
    estimate: Callable[[np.random.Generator, Judged], Estimates]
    human_only: bool
    calibrates: bool
    rates: bool
    interval: Kind
    interval_level: float
    level: float
    multiplicity: Multiplicity


def prepare(config: Mapping[str, Any]) -> Prepared:
    """Bind the estimator."""
    plugins, estimator = config.get("plugins", ()), config["analysis"]["estimator"]
    return Prepared(
        seed=config["seed"],
        design=config["design"],
        budget=config["budget"],
        estimate=bind(estimator, plugins),
        human_only=chosen(estimator, sample_mean, plugins),
        calibrates=estimator.get("quality") == "estimated",
        rates=chosen(estimator, binary, plugins),
        interval=estimator.get("interval", "normal"),
        interval_level=estimator.get("level", DEFAULT_LEVEL),
        level=config["decision"]["level"],
        multiplicity=config["decision"].get("multiplicity", "none"),
    )


def same_layout(prepared: Prepared) -> str:
    """Say that nothing is shared between cells beside the world: sizes differ from one to the other."""
    return repr([prepared.seed, prepared.design, prepared.budget, prepared.human_only, prepared.calibrates])
