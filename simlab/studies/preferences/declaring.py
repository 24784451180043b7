"""Declare studies of preferences: `KIND` lists their keys, parts, outcomes and the functions that carry them out.

`covers` describes one comparison in lines of text, `footprint` forecasts the memory; both take a config.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from simlab.analysis.decisions import Level
from simlab.design.waiting import Wait
from simlab.parts import name_of
from simlab.studies.footprint import CountedSize, Footprint, Need, measure_array, read_extent
from simlab.studies.kind import Kind
from simlab.studies.money import Money, has_clock
from simlab.studies.preferences.appraising import appraise, blank, truth
from simlab.studies.preferences.checking import check
from simlab.studies.preferences.collecting import collect, document_set, draw, lay
from simlab.studies.preferences.concluding import conclude
from simlab.studies.preferences.preparing import OUTCOMES, n_rounds, prepare, same_layout
from simlab.studies.preferences.spending import cut_said
from simlab.types import COMPARE, ComparedWorld, Contest, RatedWorld, Verdicts, World
from simlab.types.bounds import Count, Price
from simlab.world.laws.comparisons import require_contest

_LOOK_BYTES = {"bayes": 600, "equivalence": 2800}
_LOOK_BYTES_WITH_METRIC = {"bayes": 6000, "anytime": 2600}
_USUAL_LOOK_BYTES = 350
"""Bytes that a decision rule takes for each pair at each look; rules that integrate take more."""
_STEP_BYTES, _USUAL_STEP_BYTES = {"betting": 240}, 60
"""Bytes kept of each output that is asked about, and more for a rule that goes through them one by one."""
_LOG_BYTES = 160
"""Bytes kept of each answer on a clock: that it was asked for, and that it came."""


class PreferenceDesign(TypedDict):
    """Keys of `design` where outputs are compared pair by pair."""

    shared_order: bool
    pair_order: Literal["random", "fixed"]
    whole_documents: bool
    wait: Wait


class Analysis(TypedDict):
    """Keys of the full human evaluation that a study is held against."""

    reference_level: Level


class PreferenceBudget(Money):
    """Keys of `budget`: how many comparisons are collected, and prices."""

    annotations_per_pair: Count
    annotations: Count | None
    batch_size: Count
    price_per_comparison: Price | None


def sizes(config: Mapping[str, Any]) -> dict[str, int]:
    """Count the outcomes of a comparison, and the looks at which a campaign is followed."""
    return {"preference": 3, "round": n_rounds(config)}


def covers(config: Mapping[str, Any], world: World) -> list[str]:
    """Describe in lines of text on how many inputs each pair of systems is compared at most."""
    prepared, systems, contest = prepare(config), world.frame.n_systems, require_contest(world)
    n = min(int(config["budget"]["annotations_per_pair"]), contest.n_items)
    pairs = systems * (systems - 1) // 2
    size = int(contest.documents.size)
    pieces = f", {-(-n // size):,} documents at least," if size > 1 else ""
    return [
        f"a comparison is of two outputs for one input, by one rater: at most {n:,} outputs{pieces} of each system for "
        f"each of its pairs, {n * pairs:,} comparisons of {pairs:,} pairs",
        *cut_said(prepared, systems, contest.n_items),
    ]


def footprint(config: Mapping[str, Any]) -> Footprint:
    """Forecast the memory of worlds and of the outcomes that each campaign of a block draws anew."""
    size = read_extent(config)
    systems, items, pairs = size.systems, size.items, size.pairs
    budget, metric = config["budget"], config.get("metric", {})
    rated = CountedSize(metric.get("n_outputs", 0) if "_target_" in metric else 0, "outputs", "metric.n_outputs")
    drawn = max((items, rated), key=lambda of: of.n)
    block = config["engine"]["block"]
    studies = CountedSize(min(config["studies"], block), "studies of a block", "engine.block")
    looks = CountedSize(n_rounds(config), "looks", "budget.annotations_per_pair")
    n_annotations = CountedSize(
        min(budget["annotations_per_pair"], items.n), "annotations", "budget.annotations_per_pair"
    )
    world = [
        measure_array(240, pairs),
        measure_array(8, items),
        measure_array(26, size.table),
        measure_array(8, systems, items),
    ]
    campaigns: list[Need] = [
        measure_array(52, pairs, drawn),
        measure_array(16, systems, drawn),
        measure_array(12, studies, pairs, items),
        measure_array(1, studies, pairs, rated),
        measure_array(60, studies, pairs, n_annotations),
        measure_array(_step_bytes(config), studies, pairs, n_annotations),
        measure_array(_look_bytes(config), studies, pairs, looks),
        measure_array(_LOG_BYTES if has_clock(config) else 0, studies, pairs, n_annotations),
    ]
    return Footprint(world, [measure_array(14, size.table), measure_array(400, pairs)], campaigns)


KIND = Kind(
    name="preferences",
    question=COMPARE,
    groups=frozenset({"analysis.reference"}),
    sections={"design": PreferenceDesign, "analysis": Analysis, "budget": PreferenceBudget},
    parts={
        "systems": (Contest, RatedWorld, ComparedWorld),
        "raters": (ComparedWorld,),
        "metric": (ComparedWorld,),
        "decision": (Verdicts,),
    },
    brings={"recorded": "compared_scores", "fitted_preferences": "fitted"},
    outcomes=OUTCOMES,
    check=check,
    prepare=prepare,
    lay=lay,
    draw=draw,
    collect=collect,
    conclude=conclude,
    appraise=appraise,
    truth=truth,
    blank=blank,
    document_set=document_set,
    same_layout=same_layout,
    covers=covers,
    footprint=footprint,
    sizes=sizes,
    names={"preference": (">", "=", "<")},
)


def _step_bytes(config: Mapping[str, Any]) -> int:
    return _STEP_BYTES.get(name_of(config["decision"]), _USUAL_STEP_BYTES)


def _look_bytes(config: Mapping[str, Any]) -> int:
    rule, decision = name_of(config["decision"]), config["decision"]
    if "_target_" in config.get("metric", {}) and decision.get("use_metric", True):
        return _LOOK_BYTES_WITH_METRIC.get(rule, _LOOK_BYTES.get(rule, _USUAL_LOOK_BYTES))
    return _LOOK_BYTES.get(rule, _USUAL_LOOK_BYTES)
