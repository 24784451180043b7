"""Hold the keys of a study of preferences against each other and against its world."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from simlab.parts import bind
from simlab.studies.kind import Shape
from simlab.types import Evidence, InputError, World
from simlab.world.laws.comparisons import contest_of


def check(config: Mapping[str, Any], world: World) -> Shape:
    """Hold the budget and the worlds of a study of preferences against the outputs that there are."""
    contest, budget = contest_of(world), config["budget"]
    if contest.p is None and config["worlds"] > 1:
        raise InputError(f"worlds={config['worlds']}: a recorded table is one world; set worlds=1 and raise studies")
    if "_target_" not in config["decision"]:
        raise InputError("decision=significance judges ratings; for preferences choose decision=bayes or another rule")
    wanted = budget["annotations_per_pair"]
    if contest.p is not None and wanted > contest.n_items:
        raise InputError(
            f"budget.annotations_per_pair={wanted} exceeds the {contest.n_items} outputs that humans can rate; "
            "lower it or raise systems.n_items"
        )
    if budget["batch_size"] > wanted:
        raise InputError(
            f"budget.batch_size={budget['batch_size']} exceeds budget.annotations_per_pair={wanted}; lower it"
        )
    _ask_once(config, world)
    return Shape(world.frame.n_systems, contest.n_items, contest.n_items, 0, contest.system_names)


def _ask_once(config: Mapping[str, Any], world: World) -> None:
    """Let the decision rule say, before anything is run, whether it can work with such a metric and its own keys."""
    none = np.zeros((1, 1, 3), np.int64)
    metric = none + (world.metric is not None)
    if world.metric is not None and (
        not world.metric.mu[:, 1].any() if world.metric.mu is not None else world.metric.margin == 0
    ):
        metric[..., 1] = 0
    bind(config["decision"], config.get("plugins", ()))(Evidence(none[0, 0, :1], none, none[..., None] * none, metric))
