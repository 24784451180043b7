"""Write the reservations on the numbers of a sweep that its users should know.

`reservations` and `list_fixed` take the view of a store (`store_view.view_store`) and return sentences.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from simlab.comparing.promises import find_doubts
from simlab.drawing import view
from simlab.drawing.reports import cells
from simlab.drawing.reports.sweeping.store_view import Record, StoreView, place
from simlab.drawing.text import tables
from simlab.drawing.text.findings import precision
from simlab.drawing.wording import axis_label
from simlab.measures.labels import FEW_CLUSTERS
from simlab.store.coordinates import restore_axis_values
from simlab.store.query import ALL_FAILED, NOT_RUN, RESERVATION
from simlab.store.reservations import skewness_warning, undivided_warning

MOST_PLACES = 3
"""Designs that are named in a reservation; others are counted."""


def reservations(seen: StoreView, warnings: Sequence[str] = ()) -> tuple[str, ...]:
    """State the reservations on a store: `warnings` of checks first, then those that its own numbers give."""
    dataset = seen.dataset
    stored = [str(dataset.attrs[RESERVATION])] if RESERVATION in dataset.attrs else []
    statements = (view.condition(dataset), skewness_warning(dataset), undivided_warning(dataset))
    lines = [*warnings, *([seen.left_out] if seen.left_out else []), *stored, *(line for line in statements if line)]
    if not seen.calculated:
        lines += [
            *_list_failures(seen),
            *_list_cells_without_campaigns(seen),
            *_promises(seen),
            *_warn_about_clusters(seen),
            *_errors(seen),
            *precision(dataset),
        ]
    return tuple(dict.fromkeys([*lines, *_list_undefined(seen), *_warn_about_changes(seen)]))


def _list_failures(seen: StoreView) -> list[str]:
    return cells.failures(seen.records, seen.measures) if seen.measures else []


def _list_cells_without_campaigns(seen: StoreView) -> list[str]:
    """State of how many cells no campaign was carried out."""
    names = [*seen.measures, *seen.undefined]
    lacking: dict[str, list[str]] = {}
    for record in seen.records:
        reasons = {record.get(f"{name}_reason") for name in names}
        for reason in (NOT_RUN, ALL_FAILED):
            if reason in reasons:
                lacking.setdefault(reason, []).append(place({axis: record[axis] for axis in seen.axes}))
    n = len(seen.records)
    return [f"{why} in {len(at)} of {tables.count_nouns([n], 'cell')}{_list_places(at)}" for why, at in lacking.items()]


def _promises(seen: StoreView) -> list[str]:
    """State which designs break a promise, or are stable by emptiness, a line for each sort of reason."""
    doubts = find_doubts(seen.dataset, seen.measure, seen.axes)
    places: dict[str, list[str]] = {}
    for index in np.ndindex(*doubts.marks.shape):
        at = {axis: restore_axis_values(seen.dataset[axis].values)[k] for axis, k in zip(seen.axes, index, strict=True)}
        for mark in doubts.marks[index]:
            places.setdefault(_sort(mark), []).append(f"{place(at)}: {mark}" if at else mark)
    return [f"{sort} in {tables.count_nouns([len(at)], 'design')}{_list_places(at)}" for sort, at in places.items()]


def _sort(mark: str) -> str:
    """Name the sort of a reason: what is the same of it from design to design."""
    if "emptiness" in mark:
        return "confirmed by emptiness, as hardly anything is found"
    return "a promise is missed"


def _list_places(at: Sequence[str]) -> str:
    named = [text for text in at if text]
    more = f"; and {len(named) - MOST_PLACES} more" if len(named) > MOST_PLACES else ""
    return f" ({'; '.join(named[:MOST_PLACES])}{more})" if named else ""


def _warn_about_clusters(seen: StoreView) -> list[str]:
    """State that values rest on few clusters: with more, another design may lead."""
    counts = {name: _clusters(seen, name) for name in seen.measures}
    known = {name: most for name, most in counts.items() if most}
    few = {name: most for name, most in known.items() if most < FEW_CLUSTERS}
    if not few:
        return []
    which = "every measure" if len(few) == len(known) else ", ".join(few)
    words = {view.cluster(seen.dataset, name) for name in few}
    word = words.pop() if len(words) == 1 else "cluster"
    return [
        f"{which} rests on {tables.count_nouns(list(few.values()), 'campaign' if word == 'replicate' else word)} at "
        "most: errors are hardly known, and with more another design may lead"
    ]


def _clusters(seen: StoreView, name: str) -> int:
    """Count the clusters behind a measure where it has most of them."""
    return max((int(record[f"{name}_clusters"]) for record in seen.records if math.isfinite(record[name])), default=0)


def _errors(seen: StoreView) -> list[str]:
    """State of which measures no error is known in some cells, as all clusters agree."""
    lacking = {name: n for name in seen.measures if (n := sum(_lacks_error(record, name) for record in seen.records))}
    if not lacking:
        return []
    counts = ", ".join(f"{name} in {n}" for name, n in lacking.items())
    return [
        f"no error is known where all campaigns agree, or too few clusters stand behind a value: {counts} of "
        f"{tables.count_nouns([len(seen.records)], 'cell')}"
    ]


def _lacks_error(record: Record, name: str) -> bool:
    if not math.isfinite(record[name]):
        return False
    interval = record[f"{name}_low"], record[f"{name}_high"]
    return not math.isfinite(tables.keep_known_error(record[f"{name}_mcse"], interval, record[f"{name}_clusters"]))


def _list_undefined(seen: StoreView) -> list[str]:
    """State which measures have no value in any cell, a line for each reason."""
    names_by_reason: dict[str, list[str]] = {}
    for name, why in seen.undefined.items():
        names_by_reason.setdefault(why, []).append(name)
    return [
        f"no value in any cell: {', '.join(names)}{f' ({why})' if why else ''}"
        for why, names in names_by_reason.items()
    ]


def _warn_about_changes(seen: StoreView) -> list[str]:
    dirty = bool(seen.dataset.attrs.get("dirty"))
    return ["simlab had changes that no commit holds when this was run"] if dirty else []


def list_fixed(seen: StoreView) -> tuple[str, ...]:
    """State what the measures hold fixed, and which designs share all else."""
    names_by_words: dict[str, list[str]] = {}
    for name in seen.measures:
        if words := str(seen.dataset[name].attrs.get("held_fixed", "")):
            names_by_words.setdefault(words, []).append(name)
    lines = [f"{words}: {', '.join(names)}" for words, names in names_by_words.items()]
    varied = ", ".join(axis_label(axis) for axis in seen.axes)
    return (*lines, *([f"all settings but {varied}: see Designs and the full config"] if varied else []))
