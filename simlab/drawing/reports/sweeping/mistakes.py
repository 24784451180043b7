"""Show the errors of campaigns in each design: for each pair of systems, how often it is claimed rightly or wrongly.

`section` takes `seen`, the view of a store of results, and returns that section of its report: a text, a triangle of
pairs for each design, and a table of mean shares. A cell is a design with its campaigns; a `Position` has its indices
along the axes of the store.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from simlab.comparing.kinds_of_errors import KINDS, Kinds, count_errors_in_cell, has_claims_and_truth
from simlab.drawing.reports.sweeping.store_view import StoreView, axis_cell, place
from simlab.drawing.reports.terms import Block, Cell, PairMatrix, Points, Prose, ReportTable, Section, Value
from simlab.drawing.text import tables
from simlab.drawing.wording import axis_label
from simlab.store.coordinates import restore_axis_values
from simlab.types import Estimate

if TYPE_CHECKING:
    import xarray as xr

MOST_DESIGNS = 60
MOST_NUMBERS = 6000
"""Errors are shown pair by pair for at most so many designs, and so many designs times pairs."""

Position = tuple[int, ...]


def section(seen: StoreView) -> Section | None:
    """Show the errors of the designs; None for a store without campaigns."""
    if seen.calculated or not seen.measures:
        return None
    if not has_claims_and_truth(seen.dataset):
        return Section("How errors were made", (Prose(_explain_absence(seen.dataset)),))
    places, note = choose_cells(seen)
    counted = [
        (place_, kinds) for place_ in places if (kinds := count_errors_in_cell(seen.dataset, place_)) is not None
    ]
    if not counted:
        return Section("How errors were made", (Prose("No campaign was carried out."),))
    sizes = dict.fromkeys(kinds.systems for _, kinds in counted)
    blocks: list[Block] = [Prose(_describe_squares(seen.dataset, [kinds for _, kinds in counted]))]
    blocks += [_matrix(seen, [entry for entry in counted if entry[1].systems == n]) for n in sizes]
    blocks += [_shares(seen, counted), *([Points((note,))] if note else [])]
    return Section("How errors were made", tuple(blocks))


def choose_cells(seen: StoreView) -> tuple[list[Position], str]:
    """Choose the cells whose errors are shown: all, or those at the largest value across, or every k-th of these.

    Returns their indices along the axes, and a note on the choice, empty for all.
    """
    shape = tuple(seen.dataset.sizes[axis] for axis in seen.axes)
    places = list(np.ndindex(*shape))
    most = max(1, min(MOST_DESIGNS, MOST_NUMBERS // max(seen.dataset.sizes.get("pair", 1), 1)))
    if len(places) <= most:
        return places, ""
    at = ""
    if seen.x is not None:
        k, values = seen.axes.index(seen.x), seen.dataset[seen.x].values.tolist()
        last = values.index(max(values))
        places, at = [place_ for place_ in places if place_[k] == last], f" at {place({seen.x: values[last]})}"
    step = -(-len(places) // most)
    kept = places[::step]
    few = "" if step == 1 else f", every {step}th of them"
    return kept, f"Shown are {len(kept)} of {len(seen.records)} designs: those{at}{few}, as a page holds no more."


def _explain_absence(dataset: xr.Dataset) -> str:
    if "estimate" not in dataset and "p_value" not in dataset:
        return "This store keeps measures only, so that what single campaigns claimed is not known."
    if "true_direction" not in dataset:
        return "The truth about pairs of systems is not known here, so that claims cannot be held against it."
    return "These studies make no claims about pairs of systems."


def _describe_squares(dataset: xr.Dataset, kinds: Sequence[Kinds]) -> str:
    """State what a square holds, and what systems are told apart by."""
    worlds = max(kind.worlds for kind in kinds)
    same = "The systems are those of one world" if worlds == 1 else f"Systems differ between the {worlds} worlds"
    return (
        "Each square is a pair of systems, placed by the true order, best first; it holds the share of campaigns that "
        "found the true difference, missed it, claimed it the wrong way round, or claimed a difference between equals. "
        f"{same}; a place is that in the true order of its world, equals in the order of their names."
    )


def _matrix(seen: StoreView, designs: Sequence[tuple[Position, Kinds]]) -> PairMatrix:
    first = designs[0][1]
    pairs = tuple(zip(first.first.tolist(), first.second.tolist(), strict=True))
    wrong = [float(kinds.shares[1:4].sum(0).mean()) for _, kinds in designs]
    span = " to ".join(dict.fromkeys(tables.number(share, 2) for share in (min(wrong), max(wrong))))
    return PairMatrix(
        "Which pairs of systems are judged wrongly, and how?",
        f"A triangle of {tables.count_nouns([len(pairs)], 'pair')} for each of {len(designs)} designs: on average "
        f"{span} of the claims about a pair are wrong or missing. The table below holds each design's shares.",
        tuple(f"{k + 1}" for k in range(first.systems)),
        pairs,
        tuple(_design(seen, place_) for place_, _ in designs),
        KINDS,
        tuple(_round_shares(kinds) for _, kinds in designs),
        tuple(kinds.n for _, kinds in designs),
    )


def _round_shares(kinds: Kinds) -> tuple[tuple[float | None, ...], ...]:
    """Round shares of campaigns to what a reader can use; a page of many pairs is shorter for it."""
    return tuple(tuple(round(float(share), 4) for share in kind) for kind in kinds.shares)


def _design(seen: StoreView, place_: Position) -> str:
    return place(_values_at_place(seen, place_)) or "all campaigns"


def _values_at_place(seen: StoreView, place_: Position) -> dict[str, object]:
    """Return the values of the axes at a place."""
    return {axis: restore_axis_values(seen.dataset[axis].values)[k] for axis, k in zip(seen.axes, place_, strict=True)}


def _shares(seen: StoreView, designs: Sequence[tuple[Position, Kinds]]) -> ReportTable:
    """Write, design by design, the mean share of each sort of claim over all pairs."""
    axes = [name for name in seen.axes if seen.dataset.sizes[name] > 1]
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (*(axis_cell(axis, at[axis]) for axis in axes), *map(_mean, kinds.means))
        for at, kinds in ((_values_at_place(seen, place_), kinds) for place_, kinds in designs)
    )
    n = {kinds.n for _, kinds in designs}
    counted = f"{min(n):,}" if len(n) == 1 else f"{min(n):,} to {max(n):,}"
    caption = f"Mean share of pairs of each sort, by design, in {counted} campaigns"
    return ReportTable(caption, (*map(axis_label, axes), *KINDS), rows)


def _mean(estimate: Estimate) -> Value:
    """Return a mean share with its error; without one where all clusters agree."""
    error = estimate.mcse if math.isfinite(estimate.mcse) and estimate.mcse > 0 else None
    return Value(float(estimate.value), error, estimate.n, len(estimate.influence))
