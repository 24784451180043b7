"""Say what is held fixed from a study to its repetition, or in all studies that a measure looks at.

A measure that compares campaigns names what is drawn anew (`_new_raters`); the rest is held fixed. One that looks at
single campaigns depends on what all of them share: nothing but the law where they live in several worlds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from simlab.measures.labels import BETWEEN, LABELS
from simlab.parts import target_of
from simlab.world.recorded import recorded

if TYPE_CHECKING:
    import xarray as xr

HELD_FIXED = "held_fixed"
"""Attribute of measures, and field of records."""

NOTHING = "nothing but the law"
TABLE = "the systems, raters and documents of the table"
SAME_PEOPLE = "the systems, raters (the same people) and documents of the table"
ANEW = {"documents": "raters", "raters": "documents", "study": NOTHING}
"""What a measure holds fixed whose name ends in `_new_...`."""

RECORDED, OPTION = target_of(recorded), "recorded"


@dataclass(frozen=True, slots=True)
class Replication:
    """Say how often everything is drawn: worlds, pools of raters in each, draws of documents in each.

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
    """Read from what a store says of its sweep, and of what its cells share, how often everything is drawn.

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
        of_table(sweep, config),
    )


def of_table(sweep: Mapping[str, Any], config: Mapping[str, Any]) -> bool:
    """Tell whether a recorded table takes the place of the law, also where systems are an axis of one value."""
    on_axis = next((axis["values"] for axis in sweep["axes"] if axis.get("key") == "systems"), None)
    return entry_of(config, "systems._target_") == RECORDED if on_axis is None else set(on_axis) == {OPTION}


def entry_of(config: Mapping[str, Any], key: str) -> Any:
    """Return what stands under a dotted key; None where nothing does."""
    held: Any = config
    for part in key.split("."):
        held = held.get(part) if isinstance(held, Mapping) else None
    return held


def _values(sweep: Mapping[str, Any], config: Mapping[str, Any], key: str) -> set[Any]:
    """Return the values that a key has in the cells of a sweep."""
    on_axis = next((axis["values"] for axis in sweep["axes"] if axis["key"] == key), None)
    return {entry_of(config, key)} if on_axis is None else set(on_axis)


def words(measure: str, of: Replication) -> str:
    """Say what a measure holds fixed; nothing of one that simlab does not know.

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


def say(dataset: xr.Dataset, measures: Iterable[str]) -> xr.Dataset:
    """Let measures of an open store say in an attribute what they hold fixed; calculations have no studies."""
    if not {"sweep", "config"} <= dataset.attrs.keys():
        return dataset
    sweep, config = (json.loads(dataset.attrs[name]) for name in ("sweep", "config"))
    if "calculation" in sweep:
        return dataset
    of = replication(sweep, config)
    for name in measures:
        if told := words(name, of):
            dataset[name].attrs[HELD_FIXED] = told
    return dataset


def within_a_world(dataset: xr.Dataset) -> str:
    """Say what the campaigns of one world of a store share."""
    of = replication(*(json.loads(dataset.attrs[name]) for name in ("sweep", "config")))
    return words("power", replace(of, worlds=1))


def held_fixed(dataset: xr.Dataset, measures: Iterable[str]) -> dict[str, str]:
    """Return what measures of an open store say that they hold fixed."""
    return {name: str(dataset[name].attrs[HELD_FIXED]) for name in measures if HELD_FIXED in dataset[name].attrs}


def _documents(of: Replication, draws: int) -> list[str]:
    """Say which documents studies share in so many draws."""
    if draws > 1 or (of.own_documents and not of.of_draw):
        return []
    return ["the documents that sets are drawn from" if of.own_documents else "documents"]
