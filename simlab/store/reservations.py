"""Notes on the measures of a store: what all campaigns share (hold fixed), and cells that cannot be trusted.

`words` and `add_notes` name the systems, raters or documents that all campaigns of a measure share; `undivided_warning`
and `skewness_warning` are lines for the user.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from simlab.measures.jackknife import mark_successes
from simlab.measures.labels import BETWEEN, LABELS
from simlab.parts import name_target
from simlab.types import OK, Outcomes
from simlab.world.recorded import recorded

if TYPE_CHECKING:
    import xarray as xr

HELD_FIXED = "held_fixed"
"""Attribute of measures, and field of records: what all campaigns share."""

NOTHING = "nothing but the law"
TABLE = "the systems, raters and documents of the table"
SAME_PEOPLE = "the systems, raters (the same people) and documents of the table"
ANEW = {"documents": "raters", "raters": "documents", "study": NOTHING}
"""Things held fixed by a measure whose name ends in `_new_...`, by that ending."""

RECORDED, OPTION = name_target(recorded), "recorded"

UNDIVIDED = "undivided"
"""Attribute of a store with cells in which most campaigns give all systems one estimate (`Undivided`)."""

MOST_UNDIVIDED = 0.5
"""Share of a cell's campaigns with equal estimates of all systems beyond which a warning names the cell."""
MOST_SKEWED = 0.2
"""A cell is named where more than this share of its intervals rest on judgements too skewed for their number; of 20
normal scores a sixteenth seem so."""


@dataclass(frozen=True, slots=True)
class Replication:
    """Numbers of draws: worlds, pools of raters in each, draws of documents in each.

    `own_documents` where each campaign has a document set of its own, `of_draw` where such sets are parts of one draw
    (else each comes from the law); `table` where a recorded one takes the place of the law.
    """

    worlds: int
    pools: int = 1
    draws: int = 1
    own_documents: bool = False
    of_draw: bool = True
    table: bool = False


def replication(sweep: Mapping[str, Any], config: Mapping[str, Any]) -> Replication:
    """Read the numbers of draws from the attributes of a store: its sweep, and the config of its cells.

    Test sets of studies that compare or judge come from the law, unless they are fixed.
    """
    kept = _values(sweep, config, "design.studies_per_document_set")
    of_draw = kept != {None}
    return Replication(
        int(sweep.get("worlds", 1)),
        int(sweep.get("pools", 1)),
        int(sweep.get("document_draws", 1)),
        (kept if of_draw else _values(sweep, config, "systems.test_set")) <= {1, "fresh"},
        of_draw,
        is_from_table(sweep, config),
    )


def is_from_table(sweep: Mapping[str, Any], config: Mapping[str, Any]) -> bool:
    """True if a recorded table takes the place of the law, also where systems are an axis of one value."""
    on_axis = next((axis["values"] for axis in sweep["axes"] if axis.get("key") == "systems"), None)
    return find_entry(config, "systems._target_") == RECORDED if on_axis is None else set(on_axis) == {OPTION}


def find_entry(config: Mapping[str, Any], key: str) -> Any:
    """Return the value of a dotted key; None where there is none."""
    value: Any = config
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _values(sweep: Mapping[str, Any], config: Mapping[str, Any], key: str) -> set[Any]:
    """Return the values that a key has in the cells of a sweep."""
    on_axis = next((axis["values"] for axis in sweep["axes"] if axis["key"] == key), None)
    return {find_entry(config, key)} if on_axis is None else set(on_axis)


def words(measure: str, of: Replication) -> str:
    """Name what a measure holds fixed, which is not drawn anew; an empty text for one that simlab does not know.

    >>> words("srp", Replication(50)), words("srp_new_raters", Replication(50, 2)), words("power", Replication(1))
    ('raters, documents', 'documents', 'systems, raters, documents')
    """
    if measure not in LABELS:
        return ""
    if of.table:
        return SAME_PEOPLE if measure == "srp_disjoint" else TABLE
    anew = measure.partition("_new_")[2]
    if anew in ANEW:
        return ANEW[anew]
    if measure in BETWEEN:
        return ", ".join(["raters", *_documents(of, 1)])
    if of.worlds > 1:
        return NOTHING
    return ", ".join(["systems", *(["raters"] if of.pools == 1 else []), *_documents(of, of.draws)])


def add_notes(dataset: xr.Dataset, measures: Iterable[str]) -> xr.Dataset:
    """Add to measures of an open store the attribute of what they hold fixed; a calculation stays as it is."""
    if not {"sweep", "config"} <= dataset.attrs.keys():
        return dataset
    sweep, config = (json.loads(dataset.attrs[name]) for name in ("sweep", "config"))
    if "calculation" in sweep:
        return dataset
    of = replication(sweep, config)
    for name in measures:
        if note := words(name, of):
            dataset[name].attrs[HELD_FIXED] = note
    return dataset


def describe_world(dataset: xr.Dataset) -> str:
    """State what the campaigns of one world of a store share."""
    of = replication(*(json.loads(dataset.attrs[name]) for name in ("sweep", "config")))
    return words("power", replace(of, worlds=1))


def read_notes(dataset: xr.Dataset, measures: Iterable[str]) -> dict[str, str]:
    """Return the notes on what measures of an open store hold fixed, by measure."""
    return {name: str(dataset[name].attrs[HELD_FIXED]) for name in measures if HELD_FIXED in dataset[name].attrs}


def _documents(of: Replication, draws: int) -> list[str]:
    """State which documents studies share in so many draws."""
    if draws > 1 or (of.own_documents and not of.of_draw):
        return []
    return ["the documents that sets are drawn from" if of.own_documents else "documents"]


class Undivided(NamedTuple):
    """Number of campaigns of a cell, of `total`, in which all systems have the same estimate, `value` in the first."""

    campaigns: int
    of: int
    value: float


def count_undivided(outcomes: Outcomes) -> Undivided | None:
    """Return how many of a cell's campaigns tell no system from another; None where at most half of them do."""
    ok = mark_successes(outcomes)
    if "estimate" not in outcomes or not ok.any():
        return None
    estimate = outcomes["estimate"][ok]
    same = (estimate.min(1) == estimate.max(1)) & (estimate.shape[1] > 1)
    if "significant" in outcomes:
        same &= ~outcomes["significant"][ok].any(1)
    if not same.mean() > MOST_UNDIVIDED:
        return None
    return Undivided(int(same.sum()), len(same), float(estimate[same][0, 0]))


def undivided_attribute(cells: Mapping[tuple[int, ...], Undivided]) -> dict[str, str]:
    """Return the attribute that lists the cells without a difference between systems; {} where there are none."""
    if not cells:
        return {}
    listed = [{"cell": list(position), **cell._asdict()} for position, cell in cells.items()]
    return {UNDIVIDED: json.dumps(listed)}


def undivided_warning(dataset: xr.Dataset) -> str | None:
    """Return a warning on cells where most campaigns have equal estimates of all systems; None if there are none."""
    listed: list[dict[str, Any]] = json.loads(dataset.attrs.get(UNDIVIDED, "[]"))
    if not listed:
        return None
    campaigns, of = (sum(cell[word] for cell in listed) for word in ("campaigns", "of"))
    values = np.unique([cell["value"] for cell in listed])
    value = f" ({values[0]:g})" if len(values) == 1 else ""
    settings = f" of {len(listed)} settings" if len(listed) > 1 else ""
    return (
        f"in {campaigns} of {of} campaigns{settings} every system has the same estimate{value}: nothing can be told "
        "apart, and what looks stable is empty; see the keys of systems and raters, such as raters.leniency_sd"
    )


def skewness_warning(dataset: xr.Dataset) -> str | None:
    """Return a warning that intervals may cover less than stated; None without one, or if the store lacks the data."""
    if not {"skewed", "status"} <= set(dataset.variables):
        return None
    ran = (dataset["status"] == OK).transpose(..., "replicate")
    skewed = (dataset["skewed"].transpose(..., "replicate", "system").values == 1) & ran.values[..., None]
    of = np.maximum(ran.values.sum(-1) * skewed.shape[-1], 1)
    share = np.atleast_1d(skewed.sum((-2, -1)) / of)
    named = share[share > MOST_SKEWED]
    if not named.size:
        return None
    settings = f" in {named.size} of {share.size} settings" if share.size > 1 else ""
    return (
        f"judgements are too skewed for so few of them{settings} (up to {named.max():.0%} of the intervals): intervals "
        "cover less than they say; raise budget.human_ratings or choose analysis.estimator.interval=bootstrap_t"
    )
