"""Find designs of other families at the cost of the advice, and test whether they find more than it.

`same_money` returns such designs; `rivalry` takes the rows of a page and returns the most by which another row may be
better than the first. The rows of a plan's page are designs, the advice first, that met the same worlds. Among m + 1 of
them the best one finds more than any other by at most the largest of the m differences to that one, each with a
one-sided bound at a level of 1/m: the bounds of multiple comparisons with the best (Hsu 1984), whichever row is named
after the worlds were seen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from simlab.answers.plan import DesignRow, Figure
from simlab.planning.bench import first_target, measure_extra_design, measure_value
from simlab.planning.curves import SURE, Curve, curves, rank_families, set_size
from simlab.planning.terms import Bench, Design, Ground, MeasuredDesign, PlanRequest, SearchResult, family, size_of
from simlab.types import Estimate

MOST = 3
SLACK = 0.005
"""Documents differ in length: designs whose costs differ by less over the same worlds cost the same."""
TRIES = 5
WORLDS = 24
TELLING = 1.5
"""Ratio of the margin to half of a bound's width: 1 would name the best row; more leaves room for ties."""


class Rivalry(NamedTuple):
    """Upper bound on the difference by which rows that are not dearer are better than the first, for all at once.

    `rows` counts these rows. `best` is the one that finds most more beyond chance, None where none does.
    """

    rows: int
    at_most: float
    best: DesignRow | None


def rivalry(rows: Sequence[DesignRow], wanted: PlanRequest) -> Rivalry:
    """Compare the first row with those that are not dearer, in the first target, with the plan's confidence."""
    measure, (named, *others) = first_target(wanted).measure, rows
    gaps = {row.design: row.difference[measure] for row in others if is_rival(row, named, wanted)}
    at = {design: bounds(gap, len(others), wanted) for design, gap in gaps.items()}
    more = max(at, key=lambda one: at[one][0], default=None)
    best = next((row for row in others if row.design == more and at[row.design][0] > 0), None)
    return Rivalry(len(gaps), max([0.0, *(high for _, high in at.values())]), best)


def is_rival(row: DesignRow, named: DesignRow, wanted: PlanRequest) -> bool:
    """True if a row is not dearer than the named one, and falls short of no other target that this one reaches."""
    first, own, other = first_target(wanted), named.measures, row.measures
    others = [target for target in wanted.targets if target != first and target.measure in own]
    return (
        first.measure in row.difference
        and not row.gap > SLACK
        and all(
            target.measure in other
            # Where the named design itself falls short of a target, a rival need only do as well.
            and other[target.measure].value >= min(target.least, own[target.measure].value) - wanted.margin
            for target in others
        )
    )


def error_that_tells(rows: int, wanted: PlanRequest) -> float:
    """Return the standard error of differences at which this number of rows can be compared within the margin."""
    from scipy.special import ndtri

    # The bound's level is split over the rows, as in `bounds`.
    return wanted.margin / float(TELLING * ndtri(1 - (1 - wanted.confidence) / max(rows, 1)))


def bounds(gap: Figure, rows: int, wanted: PlanRequest) -> tuple[float, float]:
    """Return the lower and the upper bound of a difference, each one-sided, simultaneously for this number of rows."""
    from scipy.special import stdtrit

    if not math.isfinite(gap.mcse):
        return -math.inf, math.inf
    half = float(stdtrit(max(gap.worlds - 1, 1), 1 - (1 - wanted.confidence) / max(rows, 1))) * gap.mcse
    return gap.value - half, gap.value + half


def sizes(ground: Ground, tried: Mapping[Design, MeasuredDesign]) -> tuple[int, int]:
    """Return the least and the greatest size that designs of a plan may have."""
    declared = [int(value) for lever in ground.levers if lever.is_size for value in lever.values]
    known = declared or [size for design in tried if (size := size_of(design)) is not None]
    return (min(known), max(known)) if known else (1, 1)


def same_money(search: SearchResult, bench: Bench, ground: Ground, wanted: PlanRequest) -> list[Design]:
    """Return the best rivals of other families at the advice's cost, best first, at most three.

    A family whose least size is dearer than the advice is none. Designs without a size are as they are, where they are
    not dearer.
    """
    chosen = search.chosen
    measure, bounds = first_target(wanted).measure, sizes(ground, search.tried)
    money = measure_value(search.tried[chosen], "money")
    others = {design: looked for design, looked in search.tried.items() if family(design) != family(chosen)}
    fitting: list[Design] = []
    for curve in rank_families(curves(others, measure, wanted), money):
        if len(fitting) == MOST:
            break
        if (design := find_not_dearer(bench, curve, chosen, money, bounds)) is not None:
            fitting.append(design)
    return [*fitting, *_list_unsized(others, measure, money)][:MOST]


def find_not_dearer(bench: Bench, curve: Curve, chosen: Design, money: float, bounds: tuple[int, int]) -> Design | None:
    """Return the largest design of a curve's family that is not dearer than `chosen`, which costs `money`, or None.

    The curve of money gives its size; the worlds that both designs met show whether it is dearer, as far as they can:
    documents differ in length, so that a few worlds err by more than a document.
    """
    steep, fits = max(float(curve.money.at[1]), 1e-12), dict[int, bool]()
    size, wanted = _clip_size(curve.size_for(money * (1 + SLACK)), bounds), measure_extra_design(bench, chosen, WORLDS)
    while size not in fits and len(fits) < TRIES:
        looked = measure_extra_design(bench, set_size(curve.design, size), WORLDS)
        if "money" not in looked or "money" not in wanted:
            return None
        gap, error = _gap(looked["money"], wanted["money"])
        room = SLACK * wanted["money"].value
        fits[size] = gap <= room + SURE * error
        if not fits[size]:
            size = _clip_size(min(size - gap / steep, size - 1), bounds)
        elif gap + steep <= room - SURE * error:
            size = _clip_size(max(size - gap / steep, size + 1), bounds)
    paid = [size for size, fine in fits.items() if fine]
    return set_size(curve.design, max(paid)) if paid else None


def _gap(own: Estimate, other: Estimate) -> tuple[float, float]:
    """Return how much dearer a design is over the worlds that both met, and the error of that."""
    n = min(len(own.influence), len(other.influence))
    gaps = (own.value + own.influence[:n]) - (other.value + other.influence[:n])
    return float(np.mean(gaps)), float(np.std(gaps, ddof=1)) / math.sqrt(n) if n > 1 else 0.0


def _clip_size(size: float, bounds: tuple[int, int]) -> int:
    # A size that is whole but for rounding must not lose a document.
    return min(max(math.floor(size + 1e-9), bounds[0]), bounds[1]) if math.isfinite(size) else bounds[1]


def _list_unsized(others: Mapping[Design, MeasuredDesign], measure: str, money: float) -> list[Design]:
    unsized = [design for design, looked in others.items() if size_of(design) is None and measure in looked]
    paid = [design for design in unsized if not measure_value(others[design], "money") > money * (1 + SLACK)]
    return sorted(paid, key=lambda one: -measure_value(others[one], measure))
