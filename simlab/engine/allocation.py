"""Decide how many worlds and studies a run to a precision carries out next: from errors and costs, never from values.

`make_first_round` begins; after it `choose_studies` settles the studies of a world, and after each round `enlarge_goal`
returns the next `Goal`. A round is decided from all that the one before has carried out, so that the same command comes
to the same campaigns whoever interrupts it and with however many jobs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from simlab.config.precision_targets import PrecisionTarget, Until
from simlab.config.sweep import Sweep
from simlab.engine.ledger import LedgerEntry
from simlab.measures.labels import CONDITIONAL, ValueRange, measure_range
from simlab.measures.precision import (
    AHEAD,
    LEAST_CLUSTERS,
    ErrorProgress,
    Halves,
    VarianceParts,
    clusters_to_bound_unseen,
    gap,
    is_share,
    parts,
    standing,
)
from simlab.types import Estimate, Floats, InputError

FIRST_STUDIES = 4
"""Studies of each of the first worlds: two halves of two, the fewest that tell worlds from studies over pairs."""
MOST_STUDIES = 64
GROWTH = 4
"""Most worlds of a round, as a multiple of those of the round before: few worlds tell an error only roughly."""
SURE = 0.7
"""Share of a far larger number of worlds that a round carries out first, before errors are estimated anew."""

Estimates = Mapping[str, Mapping[str, Estimate]]
"""Estimates by cell and measure."""


@dataclass(frozen=True, slots=True)
class Goal:
    """Goal of a round: `along[cell]` worlds of each cell (where there is one world only, studies of it).

    Each world has `studies`, whose number is `chosen` after the first round; a world costs as much as `ratio` studies.
    Of the variance of a target's error the share in `worlds` is that of worlds, in the middle of all cells.
    """

    along: Mapping[str, int]
    studies: int
    chosen: bool
    ratio: float = 1.0
    worlds: Mapping[str, float] = field(default_factory=dict)

    def serialise(self) -> dict[str, Any]:
        """Write it as plain data."""
        return asdict(self)

    def describe_variance(self) -> str:
        """Return a line on where the variance of errors lies; an empty one where that is not known."""
        shares = ", ".join(f"{name} {share:.0%} and {1 - share:.0%}" for name, share in self.worlds.items())
        return f"variance of the error due to worlds, and to their {self.studies} studies each: {shares}" * bool(shares)


class ErrorQuestion(NamedTuple):
    """Target of precision with the key of the cell, or the two cells, in which its error is measured."""

    target: PrecisionTarget
    cells: tuple[str, ...]

    @property
    def within(self) -> ValueRange:
        """Return between which values the measure lies."""
        return measure_range(self.target.measure)

    def find_estimates(self, estimates: Estimates) -> list[Estimate] | None:
        """Return the estimates of the target's measure in the cells; None where one has no value."""
        measured = [estimates.get(cell, {}).get(self.target.measure) for cell in self.cells]
        known = [estimate for estimate in measured if estimate is not None and math.isfinite(estimate.value)]
        return known if len(known) == len(self.cells) else None

    def standing(self, estimates: Estimates) -> ErrorProgress | None:
        """Compare the error with the target; None where a cell has no value."""
        known = self.find_estimates(estimates)
        if known is None:
            return None
        influence, clusters = combine_influence(known)
        counted = [estimate.telling for estimate in known if estimate.telling is not None]
        telling = min(counted) if counted and self.target.measure in CONDITIONAL else None
        return standing(influence, self.target.mcse, within=self.within, clusters=clusters, telling=telling)


def combine_influence(known: Sequence[Estimate]) -> tuple[Floats, int]:
    """Return `influence[cluster]` of one estimate, or of the difference of two, and its number of clusters."""
    first = known[0].influence
    return gap(first, known[1].influence) if len(known) > 1 else (first, int(np.isfinite(first).sum()))


def questions(targets: Sequence[PrecisionTarget], entries: Sequence[LedgerEntry]) -> list[ErrorQuestion]:
    """List the questions: each target in each cell, or for each two cells that differ in the value on one axis."""
    neighbours = [
        (entry.cell, other.cell)
        for entry, other in combinations(entries, 2)
        if sum(a != b for a, b in zip(entry.position, other.position, strict=True)) == 1
    ]
    return [
        ErrorQuestion(target, cells)
        for target in targets
        for cells in (neighbours if target.difference else [(entry.cell,) for entry in entries])
    ]


def enlarge_goal(goal: Goal, questions: Sequence[ErrorQuestion], estimates: Estimates, step: int = 1) -> Goal | None:
    """Return the next goal: more worlds of the cells that have not reached a target; None where all have.

    Numbers of worlds (of one world: studies) that grow become multiples of `step`. A cell without a value rests, too:
    more of the same would tell no error.
    """
    wanted: dict[str, float] = {}
    for question in questions:
        at = question.standing(estimates)
        if at is not None and at.reached is False:
            for cell in question.cells:
                wanted[cell] = max(wanted.get(cell, 0.0), at.needed / max(at.clusters, 1))
    if not wanted:
        return None
    along = {
        cell: -(-_grow_size(n, wanted[cell]) // step) * step if cell in wanted else n for cell, n in goal.along.items()
    }
    return replace(goal, along=along)


def _grow_size(n: int, factor: float) -> int:
    wanted = math.ceil(n * factor)
    if wanted > 2 * n:
        wanted = min(GROWTH * n, math.ceil(SURE * wanted))
    # A goal that does not grow would be carried out again and again.
    return max(wanted, n + 1)


def choose_studies(
    goal: Goal, questions: Sequence[ErrorQuestion], halves: tuple[Estimates, Estimates], fits: Fits
) -> Goal:
    """Choose how many studies a world has, for all cells: the number at which the targets cost least.

    `halves` are estimates from the first and the second half of the studies of each world; `fits(n)` is true of
    numbers of studies that may be chosen.
    """
    known = [
        (question, variance_parts)
        for question in questions
        if (variance_parts := _parts(question, halves, goal.studies // 2))
    ]
    candidates = [n for n in _list_doublings(goal.studies) if fits(n)]
    if not known or not candidates:
        return replace(goal, chosen=True)
    best = min(candidates, key=lambda n: _cost(known, n, goal.ratio))
    shares: dict[str, list[float]] = {}
    for question, of in known:
        shares.setdefault(str(question.target), []).append(
            of.between / of.compute_variance(best) if of.compute_variance(best) else 1.0
        )
    return replace(goal, studies=best, chosen=True, worlds={name: median(of) for name, of in shares.items()})


Fits = Callable[[int], bool]
"""True if a number of studies of a world makes whole document sets."""


def _list_doublings(first: int) -> Iterator[int]:
    n = first
    while n <= max(MOST_STUDIES, first):
        yield n
        n *= 2


def _parts(question: ErrorQuestion, halves: tuple[Estimates, Estimates], studies: int) -> VarianceParts | None:
    measured = [known for half in halves if (known := question.find_estimates(half)) is not None]
    if len(measured) < len(halves):
        return None
    first, second = (combine_influence(known)[0] for known in measured)
    return parts(Halves(first, second, studies)) if len(first) == len(second) else None


def _cost(parts: Sequence[tuple[ErrorQuestion, VarianceParts]], studies: int, ratio: float) -> float:
    """Add up what all cells cost, counted in studies, each with as many worlds as its hardest target needs."""
    worlds: dict[str, int] = {}
    for question, of in parts:
        least = clusters_to_bound_unseen(question.target.mcse) if is_share(question.within) else 0
        needed = max(LEAST_CLUSTERS, least, math.ceil(AHEAD * of.compute_variance(studies) / question.target.mcse**2))
        for cell in question.cells:
            worlds[cell] = max(worlds.get(cell, 0), needed)
    return sum(worlds.values()) * (ratio + studies)


def make_first_round(sweep: Sweep) -> Sweep:
    """Return a sweep of the worlds and studies (of a recorded table: the studies) that come first."""
    sets = list_set_sizes(sweep)
    if is_one_world(sweep):
        return replace_sizes(sweep, 1, LEAST_CLUSTERS * max(sets))
    return replace_sizes(sweep, LEAST_CLUSTERS, first_studies(sweep, sets))


def is_one_world(sweep: Sweep) -> bool:
    """True if a sweep is over recorded tables, which are one world."""
    recorded = (str(config.get("systems", {}).get("_target_", "")) for config in sweep.composed.values())
    return sweep.worlds == 1 and any(target.startswith("simlab.world.recorded.") for target in recorded)


def refuse_too_few(first: Sweep, until: Until) -> None:
    """Raise InputError where an end to patience leaves no world of each cell."""
    needed = first.n_cells * first.worlds * first.of_world
    if until.campaigns is not None and until.campaigns < needed:
        raise InputError(
            f"--at-most {until.campaigns}: the first world of {first.n_cells} cells takes {needed} campaigns; raise it"
        )


def replace_sizes(sweep: Sweep, worlds: int, studies: int) -> Sweep:
    """Return the sweep with other numbers of worlds and of studies of each."""
    return replace(sweep, worlds=worlds, studies=studies)


def list_set_sizes(sweep: Sweep) -> frozenset[int]:
    """List the numbers of studies that share a set of documents, of all cells."""
    return frozenset(int(cell.config.get("design", {}).get("studies_per_document_set") or 1) for cell in sweep.cells())


def whole_sets(studies: int, sets: frozenset[int]) -> bool:
    """True if a number of studies is at most, or a multiple of, each number in `sets` (`list_set_sizes`)."""
    return all(studies <= n or studies % n == 0 for n in sets)


def first_studies(sweep: Sweep, sets: frozenset[int]) -> int:
    """Return the studies of a world in the first round: the number typed, or at most as many as are declared."""
    if sweep.until is not None and sweep.until.studies is not None:
        return sweep.until.studies
    if sweep.studies <= FIRST_STUDIES:
        return sweep.studies
    # Even numbers only: the studies are compared in two equal halves.
    fitting = (n for n in range(FIRST_STUDIES, sweep.studies + 1, 2) if whole_sets(n, sets))
    return next(fitting, sweep.studies)
