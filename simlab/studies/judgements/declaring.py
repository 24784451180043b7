"""Declare studies of judgements: `KIND` lists their keys, parts, outcomes and the functions that carry them out.

`covers` describes one judgement in lines of text, `footprint` forecasts the memory; both take a config.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypedDict

from annotated_types import Ge, Gt, Le, Lt

from simlab.analysis.multiplicity import Multiplicity
from simlab.studies.footprint import CountedSize, Footprint, measure_array, read_extent
from simlab.studies.judgements.appraising import OUTCOMES, appraise, blank, truth
from simlab.studies.judgements.checking import check
from simlab.studies.judgements.collecting import collect, count_extras, document_set, draw, lay, plan
from simlab.studies.judgements.concluding import conclude
from simlab.studies.judgements.preparing import prepare, same_layout
from simlab.studies.judgements.spending import cut_said
from simlab.studies.kind import Kind
from simlab.studies.money import Money, count_payable, has_clock, read_prices
from simlab.types import JUDGE, Contest, JudgedWorld, RatedWorld, Stops, World
from simlab.types.bounds import Price
from simlab.world.laws.judgements import require_judgements

_LOG_BYTES = 160
"""Bytes kept of each answer on a clock: that it was asked for, and that it came."""
PARTIAL = 6_000_000
"""Bytes of a system's evidence at all hyperparameters of partial pooling, with few calibration outputs."""


class JudgementDesign(TypedDict):
    """Keys of `design` where single outputs are judged."""

    shared_inputs: bool
    replacement: bool
    calibration: Literal["own", "shared"]


class JudgementBudget(Money):
    """Keys of `budget`: how many outputs of each system are judged, and prices."""

    human_ratings: Annotated[int, Ge(0), Le(10**7)]
    metric_ratings: Annotated[int, Ge(0), Le(10**7)] | None
    calibration_ratings: Annotated[int, Ge(0), Le(10**7)]
    price_per_judgement: Price | None
    price_per_calibration_rating: Price | None
    price_per_metric_call: Price | None


class JudgementDecision(TypedDict):
    """Keys of `decision`: when a difference counts as found."""

    level: Annotated[float, Gt(0), Lt(1)]
    multiplicity: Multiplicity


def covers(config: Mapping[str, Any], world: World) -> list[str]:
    """Describe in lines of text how many outputs of each system are judged, and how many the metric rates."""
    prepared, systems = prepare(config), world.frame.n_systems
    needs = plan(prepared, world)
    size = int(require_judgements(world).contest.documents.size)
    pieces = f" ({-(-needs.human // size):,} documents)" if size > 1 else ""
    metric = f"; the metric rates {needs.metric:,} more" if needs.metric else ""
    return [
        f"a judgement is of one output by one rater: {needs.human:,} outputs{pieces} of each of {systems} systems"
        f"{metric}",
        *cut_said(prepared, count_extras(needs, systems)),
    ]


def footprint(config: Mapping[str, Any]) -> Footprint:
    """Forecast the memory of worlds and of the outputs that each campaign of a block draws anew."""
    size, budget, systems = read_extent(config), config["budget"], config["systems"]
    human = CountedSize(_count_judgements(budget), "judgements", _human_key(budget))
    metric = CountedSize(budget["metric_ratings"] or 0, "ratings by the metric", "budget.metric_ratings")
    calibration = CountedSize(budget["calibration_ratings"], "calibration ratings", "budget.calibration_ratings")
    studies = CountedSize(min(config["studies"], config["engine"]["block"]), "studies of a block", "engine.block")
    raters = CountedSize(config.get("raters", {}).get("n_raters") or 1, "raters", "raters.n_raters")
    fixed = systems.get("test_set") == "fixed"
    items = size.items if fixed else CountedSize(0, "items", "systems.n_items")
    # Outputs of inputs of their own are picked from those of every system for every input.
    own = not config["design"]["shared_inputs"] and bool(systems.get("item_sd") or systems.get("item_agreement"))
    # What outputs of a document have in common is drawn beside what is their own.
    together = bool(systems.get("document_agreement")) and systems.get("outputs_per_document", 1) > 1
    campaigns = [
        measure_array(44, studies, size.systems, human),
        measure_array(60, size.systems, human),
        measure_array(_LOG_BYTES if has_clock(config) else 0, studies, size.systems, human),
        measure_array(16 if own else 0, size.systems, size.systems, human),
        measure_array(40, size.systems, metric),
        measure_array(40, size.systems, calibration),
        measure_array(16 if own else 0, size.systems, size.systems, metric),
        measure_array(60, size.systems, items),
        measure_array(32 if together else 0, size.systems, max((human, metric, items), key=lambda of: of.n)),
        measure_array(120, studies, size.pairs),
        measure_array(PARTIAL if config["analysis"]["estimator"].get("sharing") == "partial" else 0, size.systems),
    ]
    world = [
        measure_array(8, size.items),
        measure_array(8, raters),
        measure_array(240, size.pairs),
        measure_array(26, size.table),
    ]
    return Footprint(world, [measure_array(400, size.pairs), measure_array(14, size.table)], campaigns)


KIND = Kind(
    name="judgements",
    question=JUDGE,
    groups=frozenset({"analysis.estimator"}),
    sections={"design": JudgementDesign, "budget": JudgementBudget, "decision": JudgementDecision},
    parts={"systems": (Contest, RatedWorld), "raters": (JudgedWorld,), "metric": (JudgedWorld,), "decision": (Stops,)},
    brings={"recorded": "judged_scores"},
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
)


def _count_judgements(budget: Mapping[str, Any]) -> float:
    """Count the judgements of a system at most; what pays all systems pays one of them."""
    each = budget["per_system"]
    prices = read_prices(budget, JUDGE)
    return float(budget["human_ratings"]) if each is None or not prices.answer else float(count_payable(prices, each))


def _human_key(budget: Mapping[str, Any]) -> str:
    return "budget.human_ratings" if budget["per_system"] is None else "budget.per_system"
