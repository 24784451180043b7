"""Declare what studies of ratings conclude."""

from __future__ import annotations

from collections.abc import Mapping

from simlab.studies.outcomes import ACCOUNT, ADJUSTED, COMMON, LOAD, P_VALUE, RATED
from simlab.types import NO_TWIN, Outcome

_PAIR, _TWIN = ("replicate", "pair"), "direction with other raters; -128: not possible"

OUTCOMES: Mapping[str, Outcome] = {
    **COMMON,
    **P_VALUE,
    **ADJUSTED,
    **LOAD,
    **ACCOUNT,
    **RATED,
    "human_count": Outcome(("replicate", "system"), "int32", 0, "ratings of the system", low=0),
    "twin_direction": Outcome(_PAIR, "int8", NO_TWIN, _TWIN, low=-1, high=1, gap=True),
    "twin_significant": Outcome(_PAIR, "bool", False, "whether it is significant with other raters"),
}
