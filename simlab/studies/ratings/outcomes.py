"""Declare what studies of ratings conclude."""

from __future__ import annotations

from collections.abc import Mapping

from simlab.studies.outcomes import COMMON, NAN, P_VALUE
from simlab.types import NO_TWIN, Outcome

OUTCOMES: Mapping[str, Outcome] = {
    **COMMON,
    **P_VALUE,
    "load_entropy_reached": Outcome(("replicate",), "float64", NAN, "normalised entropy of the raters' load"),
    "human_count": Outcome(("replicate", "system"), "int32", 0, "ratings of the system"),
    "twin_direction": Outcome(
        ("replicate", "pair"), "int8", NO_TWIN, "direction with other raters; -128: not possible"
    ),
    "twin_significant": Outcome(("replicate", "pair"), "bool", False, "whether it is significant with other raters"),
}
