"""Declare studies of ratings: `KIND` lists their keys, parts, outcomes and the functions that carry them out.

`covers` describes one rating in lines of text, `footprint` forecasts the memory; both take a config.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypedDict

import numpy as np
from annotated_types import Ge, Gt, Le, Lt

from simlab.analysis.multiplicity import Multiplicity
from simlab.messages import pluralise
from simlab.parts import name_of
from simlab.studies.footprint import CountedSize, Extent, Footprint, Need, measure_array, read_extent
from simlab.studies.kind import Kind
from simlab.studies.money import Money, find_limit
from simlab.studies.ratings.appraising import OUTCOMES, appraise, blank, truth
from simlab.studies.ratings.checking import check, find_limits
from simlab.studies.ratings.collecting import chosen_documents, collect, document_set, draw, lay
from simlab.studies.ratings.concluding import conclude
from simlab.studies.ratings.preparing import prepare, same_layout
from simlab.types import RATE, Claims, Ints, Outputs, Place, RatedWorld, World
from simlab.types.bounds import Count, Price

LOOKED_AT = 40
"""Most draws of documents of the first world whose sizes `covers` describes."""
_CHOICES_MOST = 1e18
"""Most ways to choose the raters of a bucket that the forecast of memory counts.
"""


class RatingDesign(TypedDict):
    """Keys of `design`, beside the grouping."""

    documents: Count
    ratings_per_item: Count
    overlap: Annotated[float, Ge(0), Le(1)]
    boost_margin: Annotated[float, Ge(0), Le(1e6)] | None
    load_entropy: Annotated[float, Ge(0), Le(1)] | None
    load_tolerance: Annotated[float, Gt(0), Le(1)]
    load_tries: Annotated[int, Ge(1), Le(10**6)]
    studies_per_document_set: Count
    min_documents: Count
    estimand: Literal["all_raters", "these_raters"]


class RatingBudget(Money):
    """Keys of `budget`: money and prices of ratings."""

    price_per_metric_call: Price | None


class Assignment(TypedDict):
    """No keys: tasks are dealt beforehand."""


class RatingDecision(TypedDict):
    """Keys of `decision`: when a difference counts as found."""

    level: Annotated[float, Gt(0), Lt(1)]
    multiplicity: Multiplicity


def covers(config: Mapping[str, Any], world: World) -> list[str]:
    """Describe in lines of text how many segments and ratings studies of the first world ask about."""
    prepared = prepare(config)
    table = lay(prepared, world, Place(0))
    per_set = prepared.design.studies_per_document_set
    sets = min(-(-int(config["studies"]) // per_set), LOOKED_AT)
    chosen = [chosen_documents(prepared, world, table, Place(0, study=k * per_set)) for k in range(sets)]
    documents = np.array([int(mask.sum()) for mask in chosen])
    segments = np.array([int(mask[world.frame.document].sum()) for mask in chosen])
    systems, each, planned = world.frame.n_systems, int(table.slots.shape[2]), prepared.design.documents
    about = _span(segments) + ("" if np.ptp(segments) == 0 else f", {segments.mean():,.0f} on average,")
    lines = [
        f"a rating is of one segment by one rater: {_span(documents)} documents are {about} outputs of each of "
        f"{systems} systems, by {pluralise(each, 'rater')}"
    ]
    money = find_limit(prepared.limits, systems)
    if money is not None and prepared.cuts and (documents.min() < planned or each < prepared.design.ratings_per_item):
        less = f", with {each} of {prepared.design.ratings_per_item} ratings of each segment"
        less = less if each < prepared.design.ratings_per_item else ""
        lines.append(f"{money.setting} pays {_span(documents)} of {planned} documents{less}")
    return lines


def footprint(config: Mapping[str, Any]) -> Footprint:
    """Forecast the memory of worlds, with a number for every potential rating, and of the campaigns of a block."""
    size = read_extent(config)
    systems, items, documents, seats, pool = size[:5]
    potential = _potential(config)
    # The mean and shared part of minor and major errors; a fixed rating is a score, an error count and a rater.
    world = [
        measure_array(24 if potential else 16, systems, items, seats),
        measure_array(24, systems, items),
        measure_array(8, systems, systems) if "_target_" in config.get("metric", {}) else measure_array(0, systems),
        # Each possible rating of a table is at most a line of a dozen letters.
        measure_array(2, size.table),
    ]
    drawing = [
        measure_array(256 if potential else 32, systems, items, seats),
        measure_array(8, systems, items, pool),
        measure_array(24, systems, documents, pool),
        measure_array(24, systems, items),
        measure_array(12, size.table),
    ]
    return Footprint(world, drawing, _campaigns(config, size, fresh=not potential))


KIND = Kind(
    name="ratings",
    question=RATE,
    groups=frozenset({"design.grouping", "design.assignment", "analysis.normalization", "analysis.test"}),
    sections={
        "design": RatingDesign,
        "design.assignment": Assignment,
        "budget": RatingBudget,
        "decision": RatingDecision,
    },
    parts={"systems": (Outputs, RatedWorld), "raters": (RatedWorld,), "metric": (RatedWorld,), "decision": (Claims,)},
    brings={"recorded": "recorded", "fitted": "fitted"},
    # On a scale raters speak of its unit.
    suits={name: name for name in ("gaussian", "ordinal", "binary", "esa", "summaries", "answers", "english_chinese")},
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
    limits=find_limits,
    footprint=footprint,
    # The noise of one study is large, so that one is carried out after the other.
    batch=1,
    shares_noise=True,
)


def _span(counts: Ints) -> str:
    low, high = int(counts.min()), int(counts.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _campaigns(config: Mapping[str, Any], size: Extent, *, fresh: bool) -> list[Need]:
    systems, items, documents, seats, _, table = size
    design, test = config["design"], config["analysis"].get("test", {})
    each = CountedSize(design["ratings_per_item"], "ratings of each", "design.ratings_per_item")
    # More documents than there are are refused as such.
    chosen = CountedSize(min(design["documents"], documents.n), "documents asked about", "design.documents")
    share = chosen.n / documents.n
    segments = CountedSize(items.n * share, "segments asked about", "design.documents")
    flips = "flips" if "flips" in test else "permutations"
    permutations = CountedSize(test.get(flips, 1), flips, f"analysis.test.{flips}")
    studies = min(config["studies"], config["engine"]["block"])
    return [
        measure_array(32 if fresh else 0, systems, items, seats),
        measure_array(200, systems, segments, each),
        measure_array(12, systems, items, each),
        measure_array(_count_flip_bytes(config), size.pairs, permutations),
        measure_array(8, systems, chosen, permutations) if permutations.n > 1 else measure_array(0, permutations),
        measure_array(60 + 20 * studies, size.pairs),
        measure_array(2, systems, documents, seats),
        *_list_rater_needs(config, size, chosen),
        *_deals(size, each),
        measure_array(4, table),
    ]


def _count_flip_bytes(config: Mapping[str, Any]) -> int:
    """Count the bytes that a flip of a pair takes; without gaps a permutation test holds few pairs at a time."""
    test = name_of(config["analysis"].get("test", {}))
    if test == "crossed_flips":
        return 60
    gaps = name_of(config["systems"]) == "recorded"
    return 18 if gaps or test != "permutation" or config["decision"].get("multiplicity") == "max_t" else 0


def _list_rater_needs(config: Mapping[str, Any], size: Extent, chosen: CountedSize) -> list[Need]:
    """Count what tests lay out by pair, what each rater (on each document) says of either system, or by equation."""
    test = name_of(config["analysis"].get("test", {}))
    if test in ("mixed_model", "moderated"):
        # Some eight matrices of the equations of raters and documents.
        equations = [measure_array(64, size.pool, size.pool), measure_array(64, chosen, chosen)]
        if test == "mixed_model":
            return equations
        # Squares and statistics of all pairs in each table that is drawn.
        draws = CountedSize(config["analysis"]["test"].get("draws", 1), "tables drawn", "analysis.test.draws")
        return [*equations, measure_array(16, size.pairs, draws)]
    if test in ("two_way", "crossed_flips"):
        return [measure_array(120, size.pairs, chosen, size.seats)]
    return [measure_array(130, size.pairs, size.pool)] if test in ("by_rater", "rater_flips") else []


def _deals(size: Extent, each: CountedSize) -> list[Need]:
    """Count the ways to choose raters of a bucket: each is listed, and held against every document of each system."""
    n, k = size.seats.n, each.n
    # The number of choices overflows in large buckets, so it is bounded in logarithms.
    ways = math.exp(min(_log_choices(n, k), math.log(_CHOICES_MOST)))
    choices = CountedSize(ways, f"choices of {k:,.0f} out of {n:,.0f} raters of a bucket", "raters.raters_per_bucket")
    buckets = CountedSize(
        min(size.documents.n, size.pool.n * size.documents.n / n), "buckets", "raters.raters_per_bucket"
    )
    return [measure_array(17, size.systems, size.documents, choices, each), measure_array(24, choices, each, buckets)]


def _log_choices(n: float, k: float) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) if 0 < k <= n else 0.0


def _potential(config: Mapping[str, Any]) -> bool:
    return "potential" in (config.get("raters", {}).get("noise"), config["systems"].get("noise"))
