"""Declare the outcomes that studies of every kind have, and what a failed campaign holds in their place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from simlab.types import IMPOSSIBLE, UNRUN, Array, Outcome
from simlab.types.collection import ALL_CAME, NOBODY

NAN = float("nan")

STATUS = "0 ok, 1 design failed, 2 block failed, 3 not run, 4 a value that cannot be"
DIRECTION = "+1: the first system is better, -1: the second, 0: equal"

COMMON: Mapping[str, Outcome] = {
    "status": Outcome(("replicate",), "int8", UNRUN, STATUS, low=0, high=IMPOSSIBLE),
    "document_set": Outcome(("replicate",), "int32", -1, "index of the draw of documents", low=0),
    "ratings_used": Outcome(("replicate",), "int32", 0, "ratings asked for, of all systems together", low=0),
    "cost": Outcome(("replicate",), "float64", NAN, "price of the ratings, of all systems together", low=0),
    "estimate": Outcome(("replicate", "system"), "float64", NAN, "estimated quality"),
    "direction": Outcome(("replicate", "pair"), "int8", 0, DIRECTION, low=-1, high=1),
    "significant": Outcome(("replicate", "pair"), "bool", False, "whether the difference is significant"),
    "true_value": Outcome(("of_world", "system"), "float64", NAN, "true quality"),
    "true_direction": Outcome(("of_world", "pair"), "int8", 0, "true direction", low=-1, high=1),
}
P_VALUE = {"p_value": Outcome(("replicate", "pair"), "float64", NAN, "two-sided p-value", low=0, high=1)}
ADJUSTED = {
    "adjusted_p_value": Outcome(
        ("replicate", "pair"), "float64", NAN, "p-value adjusted for the number of pairs", low=0, high=1
    )
}
"""Where `decision.multiplicity` is not none: what is significant follows it."""

LOAD = {
    "load_entropy_reached": Outcome(
        ("replicate",), "float64", NAN, "normalised entropy of the raters' load", low=0, high=1, gap=True
    )
}
"""Of ratings always; of other answers where people are known, on a clock."""

ENDED_BY = "0 all that was planned came, 1 a decision rule, 2 the money, 3 the deadline, 4 nobody is left to work"

ACCOUNT: Mapping[str, Outcome] = {
    "ended_by": Outcome(("replicate",), "int8", -1, ENDED_BY, low=ALL_CAME, high=NOBODY),
    "ratings_planned": Outcome(
        ("replicate",), "int32", 0, "ratings that the design asks for, of all systems together", low=0
    ),
    "ratings_lost": Outcome(
        ("replicate",), "int32", 0, "ratings lost with raters who were excluded, and not made up for", low=0
    ),
    "ratings_open": Outcome(("replicate",), "int32", 0, "ratings that were planned and never came", low=0),
    "work_hours": Outcome(("replicate",), "float64", NAN, "hours of work, of all people together", low=0, gap=True),
    "campaign_days": Outcome(
        ("replicate",), "float64", NAN, "days on the calendar until the campaign ended", low=0, gap=True
    ),
}
"""Of studies that are accounted: on a clock, or with money that can run out."""

RATED = {
    "documents_rated": Outcome(
        ("replicate",), "int32", 0, "documents of which each segment was rated for every system", low=0
    )
}
"""Of accounted studies of ratings."""

POOL, DRAW = "pool", "draw"
IDENTITY = ("world", POOL, DRAW, "study")
"""What every block gives beside outcomes: where its campaigns live."""


def blank(outcomes: Mapping[str, Outcome], names: tuple[str, ...], sizes: Mapping[str, int]) -> dict[str, Array]:
    """Fill in the named outcomes of one campaign that could not be carried out."""
    return {
        name: np.full([sizes[dim] for dim in outcomes[name].dims[1:]], outcomes[name].fill, outcomes[name].dtype)
        for name in names
    }


def unaccounted(names: Iterable[str], *, accounted: bool, load: bool = True) -> tuple[str, ...]:
    """Leave out of outcomes the account where there is none, and the load where nobody knows who answered."""
    left_out = {**({} if accounted else {**ACCOUNT, **RATED}), **({} if load else LOAD)}
    return tuple(name for name in names if name not in left_out)


def of_campaigns(outcomes: Mapping[str, Outcome]) -> tuple[str, ...]:
    """Name the outcomes that a campaign has, what is true of its world left out."""
    return tuple(name for name, outcome in outcomes.items() if outcome.dims[0] == "replicate")
