"""Declare studies of judgements: their keys, parts and outcomes."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from annotated_types import Ge, Gt, Le, Lt

from simlab.analysis.multiplicity import Multiplicity
from simlab.studies.judgements.appraising import appraise, blank, truth
from simlab.studies.judgements.checking import check
from simlab.studies.judgements.collecting import collect, document_set, draw, lay
from simlab.studies.judgements.concluding import conclude
from simlab.studies.judgements.covering import covers
from simlab.studies.judgements.footprint import footprint
from simlab.studies.judgements.outcomes import OUTCOMES
from simlab.studies.judgements.preparing import prepare, same_layout
from simlab.studies.kind import Kind
from simlab.studies.money import Money
from simlab.types import JUDGE, Contest, JudgedWorld, RatedWorld, Stops
from simlab.types.bounds import Price


class Design(TypedDict):
    """Keys of what is asked where single outputs are judged."""

    shared_inputs: bool
    replacement: bool
    calibration: Literal["own", "shared"]


class Budget(Money):
    """Keys of how many outputs are judged, and what it costs."""

    human_ratings: Annotated[int, Ge(0), Le(10**7)]
    metric_ratings: Annotated[int, Ge(0), Le(10**7)] | None
    calibration_ratings: Annotated[int, Ge(0), Le(10**7)]
    price_per_judgement: Price | None
    price_per_calibration_rating: Price | None
    price_per_metric_call: Price | None


class Decision(TypedDict):
    """Keys of when a difference counts as found."""

    level: Annotated[float, Gt(0), Lt(1)]
    multiplicity: Multiplicity


KIND = Kind(
    name="judgements",
    question=JUDGE,
    groups=frozenset({"analysis.estimator"}),
    sections={"design": Design, "budget": Budget, "decision": Decision},
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
