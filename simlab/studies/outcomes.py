"""Declare the outcomes that studies of every kind have, and what a failed campaign holds in their place."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from simlab.types import UNRUN, Array, Outcome

NAN = float("nan")

COMMON: Mapping[str, Outcome] = {
    "status": Outcome(("replicate",), "int8", UNRUN, "0 ok, 1 design failed, 2 block failed, 3 not run"),
    "document_set": Outcome(("replicate",), "int32", -1, "index of the draw of documents"),
    "ratings_used": Outcome(("replicate",), "int32", 0, "ratings asked for"),
    "cost": Outcome(("replicate",), "float64", NAN, "price of the ratings"),
    "estimate": Outcome(("replicate", "system"), "float64", NAN, "estimated quality"),
    "direction": Outcome(("replicate", "pair"), "int8", 0, "+1: the first system is better, -1: the second, 0: equal"),
    "significant": Outcome(("replicate", "pair"), "bool", False, "whether the difference is significant"),
    "true_value": Outcome(("of_world", "system"), "float64", NAN, "true quality"),
    "true_direction": Outcome(("of_world", "pair"), "int8", 0, "true direction"),
}
P_VALUE = {"p_value": Outcome(("replicate", "pair"), "float64", NAN, "two-sided p-value")}

IDENTITY = ("world", "study")
"""What every block gives beside outcomes: where its campaigns live."""


def blank(outcomes: Mapping[str, Outcome], names: tuple[str, ...], sizes: Mapping[str, int]) -> dict[str, Array]:
    """Fill in the named outcomes of one campaign that could not be carried out."""
    return {
        name: np.full([sizes[dim] for dim in outcomes[name].dims[1:]], outcomes[name].fill, outcomes[name].dtype)
        for name in names
    }
