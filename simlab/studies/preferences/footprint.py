"""Say how much memory studies of preferences take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simlab.parts import name_of
from simlab.studies.extent import Size, extent_of
from simlab.studies.footprint import Footprint, Need, need
from simlab.studies.money import on_a_clock
from simlab.studies.preferences.outcomes import n_rounds

_LOOK_BYTES = {"bayes": 600, "equivalence": 2800}
_LOOK_BYTES_WITH_METRIC = {"bayes": 6000, "anytime": 2600}
_USUAL_LOOK_BYTES = 350
"""What a decision rule takes of each pair at each look; those that integrate take more."""


_STEP_BYTES, _USUAL_STEP_BYTES = {"betting": 240}, 60
"""What is kept of each output that is asked about, and what a rule that goes through them takes beside it."""


_LOG_BYTES = 160
"""What is kept of each answer on a clock, that it was asked for and that it came."""


def footprint(config: Mapping[str, Any]) -> Footprint:
    """Forecast the outcomes of every pair on every item, drawn anew for each campaign of a block."""
    size = extent_of(config)
    systems, items, pairs = size.systems, size.items, size.pairs
    budget, metric = config["budget"], config.get("metric", {})
    rated = Size(metric.get("n_outputs", 0) if "_target_" in metric else 0, "outputs", "metric.n_outputs")
    drawn = max((items, rated), key=lambda of: of.n)
    block = config["engine"]["block"]
    studies = Size(min(config["studies"], block), "studies of a block", "engine.block")
    looks = Size(n_rounds(config), "looks", "budget.annotations_per_pair")
    asked = Size(min(budget["annotations_per_pair"], items.n), "annotations", "budget.annotations_per_pair")
    world = [need(240, pairs), need(8, items), need(26, size.table), need(8, systems, items)]
    campaigns: list[Need] = [
        need(52, pairs, drawn),
        need(16, systems, drawn),
        need(12, studies, pairs, items),
        need(1, studies, pairs, rated),
        need(60, studies, pairs, asked),
        need(_step_bytes(config), studies, pairs, asked),
        need(_look_bytes(config), studies, pairs, looks),
        need(_LOG_BYTES if on_a_clock(config) else 0, studies, pairs, asked),
    ]
    return Footprint(world, [need(14, size.table), need(400, pairs)], campaigns)


def _step_bytes(config: Mapping[str, Any]) -> int:
    return _STEP_BYTES.get(name_of(config["decision"]), _USUAL_STEP_BYTES)


def _look_bytes(config: Mapping[str, Any]) -> int:
    rule, decision = name_of(config["decision"]), config["decision"]
    if "_target_" in config.get("metric", {}) and decision.get("use_metric", True):
        return _LOOK_BYTES_WITH_METRIC.get(rule, _LOOK_BYTES.get(rule, _USUAL_LOOK_BYTES))
    return _LOOK_BYTES.get(rule, _USUAL_LOOK_BYTES)
