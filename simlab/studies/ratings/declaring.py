"""Declare studies of ratings: their keys, parts and outcomes."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from annotated_types import Ge, Gt, Le, Lt

from simlab.analysis.multiplicity import Multiplicity
from simlab.studies.kind import Kind
from simlab.studies.money import Money
from simlab.studies.ratings.appraising import appraise, blank, truth
from simlab.studies.ratings.checking import check
from simlab.studies.ratings.collecting import collect, document_set, draw, lay
from simlab.studies.ratings.concluding import conclude
from simlab.studies.ratings.covering import covers
from simlab.studies.ratings.footprint import footprint
from simlab.studies.ratings.outcomes import OUTCOMES
from simlab.studies.ratings.preparing import prepare, same_layout
from simlab.types import RATE, Claims, Outputs, RatedWorld
from simlab.types.bounds import Count, Price


class Design(TypedDict):
    """Keys of what is asked, beside the grouping."""

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


class Budget(Money):
    """Keys of what ratings cost."""

    price_per_metric_call: Price | None


class Assignment(TypedDict):
    """No keys: tasks are dealt beforehand."""


class Decision(TypedDict):
    """Keys of when a difference counts as found."""

    level: Annotated[float, Gt(0), Lt(1)]
    multiplicity: Multiplicity


KIND = Kind(
    name="ratings",
    question=RATE,
    groups=frozenset({"design.grouping", "design.assignment", "analysis.normalization", "analysis.test"}),
    sections={"design": Design, "design.assignment": Assignment, "budget": Budget, "decision": Decision},
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
    footprint=footprint,
    # The noise of one study is large, so that one is carried out after the other.
    batch=1,
    shares_noise=True,
)
