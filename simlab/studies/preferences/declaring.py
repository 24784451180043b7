"""Declare studies of preferences: their keys, parts and outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from simlab.design.waiting import Wait
from simlab.studies.kind import Kind
from simlab.studies.money import Money
from simlab.studies.preferences.appraising import appraise, blank, truth
from simlab.studies.preferences.checking import check
from simlab.studies.preferences.collecting import collect, document_set, draw, lay
from simlab.studies.preferences.concluding import conclude
from simlab.studies.preferences.covering import covers
from simlab.studies.preferences.footprint import footprint
from simlab.studies.preferences.outcomes import OUTCOMES, n_rounds
from simlab.studies.preferences.preparing import prepare, same_layout
from simlab.types import COMPARE, ComparedWorld, Contest, RatedWorld, Verdicts
from simlab.types.bounds import Count, Price


class Design(TypedDict):
    """Keys of what is asked where outputs are compared pair by pair."""

    shared_order: bool
    pair_order: Literal["random", "fixed"]
    whole_documents: bool
    wait: Wait


class Budget(Money):
    """Keys of what preferences cost, and how many are collected."""

    annotations_per_pair: Count
    annotations: Count | None
    batch_size: Count
    price_per_comparison: Price | None


def sizes(config: Mapping[str, Any]) -> dict[str, int]:
    """Count the outcomes of a comparison, and the looks at which a campaign is followed."""
    return {"preference": 3, "round": n_rounds(config)}


KIND = Kind(
    name="preferences",
    question=COMPARE,
    groups=frozenset({"analysis.reference"}),
    sections={"design": Design, "budget": Budget},
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
