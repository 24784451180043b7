"""Search for the cheapest design that reaches all targets, with a stated probability that the choice is right.

A choice is *right* if its true measures are at least their targets less the margin, it is within the limits, and it
costs at most 1.05 times as much as the cheapest design within the limits whose true measures are at least their targets
plus the margin (or plus half of what a target leaves up to 1, where that is less); to choose none is right where no
design within the limits is as good as that. How likely that is follows from resampling worlds: all designs met the same
worlds, so one set of weights resamples them all (a Bayesian bootstrap; Rubin 1981), and the decision is judged in each
resample. The design is chosen for which that is most likely,
and worlds are added where the choice is most often wrong: to the design itself, and to those that undercut it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from simlab.planning.searching.families import Family, families
from simlab.planning.searching.judging import At, Judged, judge
from simlab.planning.searching.naming import found
from simlab.planning.searching.paths import Chance
from simlab.planning.stages import in_time
from simlab.planning.terms import Bench, Design, Found, Wanted, family, size_of

FEW, FIRST = 8, 16
"""Worlds of a first look: the first of them tell how long the others take."""
LEAST = 48
"""A choice rests on so many worlds at least, and so do the designs that were close to it."""
GROWTH = 1.6
MOST_WORLDS = 4000
RESAMPLES = 1000
THREATS = 4
"""So many designs are looked at together."""
TELLING = 0.5
"""Designs that speak against the choice at least so often as the worst of them are looked at with it."""
ROUNDS = 100

Say = Callable[[str], None]


def search(bench: Bench, designs: Sequence[Design], wanted: Wanted, say: Say | None = None) -> Found:
    """Name the cheapest design that reaches all targets within the limits, its rivals, and the one that gets furthest.

    Families are looked at in the middle of their sizes, and then wherever the choice could be wrong: power rises with
    size, as far as can be seen; other measures may go up and down between the sizes that were looked at. The search
    ends when the choice is right with the wanted probability, or with the bench's patience. `say` is told who leads.
    Raises ValueError without designs.
    """
    return go_on(begin(designs, wanted), bench, say)


@dataclass(frozen=True, slots=True)
class Search:
    """A search that can go on: its families of designs with what was seen of them, and its random numbers."""

    held: Sequence[Family]
    wanted: Wanted
    chance: Chance

    def strike(self, design: Design) -> None:
        """Choose this design, whose targets fresh worlds did not show, and smaller ones of its family no more."""
        of = self._family(design)
        smaller = sum((size_of(one) or 0) <= (size_of(design) or 0) for one in of.designs)
        of.struck = max(of.struck, smaller)

    def holds(self, design: Design) -> bool:
        """True if a design is one of those that may be chosen."""
        of = next((one for one in self.held if design in one.designs), None)
        return of is not None and of.designs.index(design) >= of.struck

    def _family(self, design: Design) -> Family:
        return next(one for one in self.held if family(one.designs[0]) == family(design))

    def undecided(self, design: Design) -> tuple[int, int] | None:
        """Return the sizes of a design's family between which nothing is decided; None where there are no sizes.

        From the smallest that may reach the targets to the smallest that very likely does, else the largest allowed.
        """
        of = self._family(design)
        sizes = [size_of(one) for one in of.designs]
        places = np.flatnonzero(of.open(self.wanted))
        if not len(places):
            places = np.flatnonzero(of.allowed(self.wanted))[-1:]
        if not len(places) or None in sizes:
            return None
        often = (of.reaches(self.wanted.targets, self.chance) >= -self.wanted.margin).mean(0)
        doubtful = 1 - self.wanted.confidence
        low = next((k for k in places if often[k] > doubtful), places[-1])
        high = next((k for k in places if k >= low and often[k] >= 1 - doubtful), places[-1])
        return int(sizes[low] or 0), int(sizes[high] or 0)


def begin(designs: Sequence[Design], wanted: Wanted) -> Search:
    """Begin a search among designs; raise ValueError where there are none."""
    if not designs:
        raise ValueError("a search needs designs")
    return Search(families(designs), wanted, Chance.of(wanted.seed, RESAMPLES, MOST_WORLDS))


def go_on(search: Search, bench: Bench, say: Say | None = None) -> Found:
    """Search, or search on after designs were struck, until the choice is as sure as was wanted or patience ends."""
    held, wanted, chance = search.held, search.wanted, search.chance
    if not any(one.known for one in held):
        _first_looks(bench, held, wanted)
    why, judged = "the worlds that a search may take are used up", judge(held, wanted, chance)
    for _ in range(ROUNDS):
        if say:
            say(_leading(held, judged, bench))
        wants = _further(held, judged, wanted)
        if judged.probability >= wanted.confidence and _rests_on_enough(held, judged):
            why = "the choice is right with the wanted probability"
            break
        if not wants:
            break
        if not (wants := _in_time(bench, held, wants)):
            why = "patience is over"
            break
        look(bench, held, wants)
        judged = judge(held, wanted, chance)
    return found(bench, held, judged, wanted, chance, why, lambda wants: look(bench, held, wants))


def look(bench: Bench, held: Sequence[Family], wants: dict[At, int]) -> None:
    """Look at designs, named by family and place in it."""
    wanted = {held[f].designs[k]: n for (f, k), n in wants.items()}
    looked = bench.look(wanted) if wanted else {}
    for (f, k), n in wants.items():
        held[f].saw(k, looked[held[f].designs[k]], n)


def _first_looks(bench: Bench, held: Sequence[Family], wanted: Wanted) -> None:
    """Look at each family in its middle, or at the largest size below that is within the limits, by halves."""
    wants = {(f, len(one) // 2): FIRST for f, one in enumerate(held)}
    while wants:
        look(bench, held, dict.fromkeys(wants, FEW))
        look(bench, held, _in_time(bench, held, wants))
        low = {f: min(one.known) for f, one in enumerate(held) if not one.allowed(wanted).any()}
        wants = {(f, k // 2): FIRST for f, k in low.items() if k > 0} if bench.left() > 0 else {}


def _in_time(bench: Bench, held: Sequence[Family], wants: dict[At, int]) -> dict[At, int]:
    """Take as many of the worlds that are wanted of each design as end before patience does; none where it is over."""
    added = {at: n - held[at[0]].worlds.get(at[1], 0) for at, n in wants.items()}
    if bench.left() <= 0:
        return {}
    share = in_time(bench, sum(added.values())) / max(sum(added.values()), 1)
    return {at: wants[at] - n + int(share * n) for at, n in added.items() if int(share * n) > 0}


def _rests_on_enough(held: Sequence[Family], judged: Judged) -> bool:
    return judged.choice is None or held[judged.choice[0]].worlds.get(judged.choice[1], 0) >= LEAST


def _further(held: Sequence[Family], judged: Judged, wanted: Wanted) -> dict[At, int]:
    """Say which designs to look at next, and in how many worlds: those by which the choice is most often wrong."""
    doubts = sorted(judged.doubts.items(), key=lambda one: -one[1])
    least = max(TELLING * doubts[0][1], 0.1 * (1 - wanted.confidence)) if doubts else 0.0
    places = [at for at, often in doubts if often >= least][:THREATS]
    if judged.choice is not None and not _rests_on_enough(held, judged):
        places.append(judged.choice)
    wants = {(f, k): _more(held[f].worlds.get(k, 0)) for f, k in places}
    return {(f, k): n for (f, k), n in wants.items() if n > held[f].worlds.get(k, 0)}


def _more(now: int) -> int:
    """Return in how many worlds a design is looked at that was looked at in so many."""
    return min(max(math.ceil(GROWTH * now), 2 * FIRST if not now else LEAST), MOST_WORLDS)


def _leading(held: Sequence[Family], judged: Judged, bench: Bench) -> str:
    if judged.choice is None:
        return f"no design reaches the targets ({judged.probability:.2f}), {bench.campaigns:,} studies"
    f, k = judged.choice
    said = ", ".join(f"{key.rpartition('.')[2]}={value}" for key, value in held[f].designs[k])
    return f"leads: {said} (right with probability {judged.probability:.2f}), {bench.campaigns:,} studies"
