"""Say why a measure has no value in studies that were carried out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from simlab.store.held_fixed import Replication, replication

if TYPE_CHECKING:
    import xarray as xr

UNDEFINED, EMPTY = "undefined in these studies", "nothing of what it counts occurred"
NO_TRUTH, NONE_EQUAL = "the truth is not known", "no two systems are truly equal"
NONE_DIFFER, NO_CLAIM = "no two systems truly differ", "nothing was significant"
OF_TRUTH = frozenset([
    *("power", "power_from", "power_at", "type_s", "best_system_found"),
    *("false_positive", "family_wise_error", "no_wrong_claim"),
    *("correct_true", "inversion_true", "omission_true", "insertion_true", "order_agreement_true"),
])  # fmt: skip
"""Measures that hold claims against what is true."""

OF_CLOCK = frozenset(["hours", "days"])
OF_ACCOUNTS = frozenset(["lost", "open", "completed_share", "documents_finished"])
NO_CLOCK = "no clock; choose design.collection=experts, crowd or team"
NO_ACCOUNTS = "told of studies with a clock (design.collection) or a budget for all of it (budget.total)"

ANEW = {"documents": ("document_draws",), "raters": ("pools",), "study": ("pools", "document_draws")}
"""What has to be drawn more than once for a measure whose name ends in `_new_...`."""
OF_TABLE = {"pools": "one pool of raters", "document_draws": "one set of documents"}


def undefined(dataset: xr.Dataset, measure: str) -> str:
    """Say why a measure is undefined in studies such as these."""
    anew = measure.partition("_new_")[2]
    if anew in ANEW and {"sweep", "config"} <= dataset.attrs.keys():
        return _lacking(anew, replication(*(json.loads(dataset.attrs[name]) for name in ("sweep", "config"))))
    if measure in OF_CLOCK:
        return NO_CLOCK
    if measure in OF_ACCOUNTS or measure.startswith("ended_"):
        return NO_ACCOUNTS
    if measure not in OF_TRUTH or "estimate" not in dataset:
        return UNDEFINED
    if "true_direction" not in dataset:
        return NO_TRUTH
    return NONE_EQUAL if measure == "false_positive" else UNDEFINED


def nothing_counted(measure: str) -> str:
    """Say what did not occur where a measure of simlab has nothing to count."""
    if measure == "power":
        return NONE_DIFFER
    return NO_CLAIM if measure.startswith("confirmed") or measure == "srp_given_any" else EMPTY


def _lacking(anew: str, of: Replication) -> str:
    """Name the keys by which what is new would be drawn; a recorded table has what it has."""
    if of.table:
        return f"a recorded table has {' and '.join(OF_TABLE[key] for key in ANEW[anew])}: its own"
    there = {"pools": of.pools, "document_draws": of.draws}
    lacking = [f"{key}=2" for key in ANEW[anew] if there[key] < 2]
    return f"needs {' and '.join(lacking)} or more" if lacking else "no two campaigns that were carried out differ so"
