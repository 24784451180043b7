"""Search for the cheapest design that reaches all targets: few worlds first, more where the choice could be wrong.

`search` takes designs, a request (`wanted`) and a bench that simulates them, and returns a `SearchResult`; `begin` and
`go_on` do the same in steps. In a resample of worlds a design is *right* where it reaches its targets within the margin
and costs at most 5 % more than the cheapest that surpasses them by the margin.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simlab.planning.families import Chance, DesignFamily, families, list_measured_designs
from simlab.planning.stages import worlds_in_time
from simlab.planning.terms import Bench, Design, PlanRequest, SearchResult, family, size_of
from simlab.types import Bools, Floats, Ints

SLACK = 1.05
"""Ratio of costs up to which a design is as good as the cheapest."""
ROUNDING = 1e-9
TIE, SAME_COST = 0.05, 1.01
"""Difference of probabilities of being right, and ratio of costs, up to which designs are alike."""
EVEN = 0.5
PLAIN = {"design.grouping": "pseudo_side_by_side", "analysis.normalization": "none"}
"""Values that are simplest to carry out and to explain: ties go to them."""

At = tuple[int, int]
"""The number of a family and the place of a design in it."""

FEW, FIRST = 8, 16
"""Worlds of a first look at a design: if patience is over or no pace is known yet, and else."""
LEAST = 48
"""Fewest worlds of a choice, and of the designs that were close to it."""
GROWTH = 1.6
MOST_WORLDS = 4000
RESAMPLES = 1000
THREATS = 4
"""Most designs that are looked at together."""
TELLING = 0.5
"""Share of the greatest doubt from which on the design of a doubt is looked at, too."""
ROUNDS = 100

Say = Callable[[str], None]


class JudgedChoice(NamedTuple):
    """A choice (None: no design is chosen), the probability that it is right, and the objection to it.

    `cheapest` is the probability that no design which reaches the targets is cheaper by more than 5 %.

    `doubts` say of designs how often they are what makes the choice wrong: the choice itself, where it does not reach
    its targets, and of each family the design that most often reaches them for too much less.
    """

    choice: At | None
    probability: float
    doubts: dict[At, float]
    cheapest: float = math.nan


class _All(NamedTuple):
    """Designs within the limits, joined from all families: the place of each, its cost and excess over its targets.

    `family` and `k` make the place of a design, `plain` counts its oddities (`count_oddities`), `[design]`.
    `cost`, `excess` and `beyond`, by how much it exceeds them more than the margin, are `[resample, design]`.
    """

    family: Ints
    k: Ints
    plain: Ints
    cost: Floats
    excess: Floats
    beyond: Floats

    def locate(self, d: int) -> At:
        return int(self.family[d]), int(self.k[d])


def judge(families: Sequence[DesignFamily], wanted: PlanRequest, chance: Chance) -> JudgedChoice:
    """Choose the design that is right in most resamples of worlds (`chance`), the cheapest of those that are alike."""
    every = _join_families(families, wanted, chance)
    if not len(every.k):
        return JudgedChoice(None, 1.0, {})
    good = every.beyond >= 0
    least = np.where(good, every.cost, np.inf).min(1)
    right = (every.excess >= -wanted.margin) & (every.cost <= SLACK * least[:, None] * (1 + ROUNDING))
    share, none = right.mean(0), float(np.isinf(least).mean())
    best = _take_firmer(
        _take_plainer(int(np.lexsort((every.cost.mean(0), -share))[0]), every, share, wanted), every, share, wanted
    )
    # Within the margin both may be right: then a design helps more than none.
    if none > share[best] and share[best] < wanted.confidence:
        return JudgedChoice(None, none, _rate_opposition(every, good))
    doubts = _rate_opposition(every, good & (every.cost * SLACK * (1 + ROUNDING) < every.cost[:, [best]]))
    doubts = {at: often for at, often in doubts.items() if at != every.locate(best)}
    doubts[every.locate(best)] = float((every.excess[:, best] < -wanted.margin).mean())
    cheapest = (every.cost[:, best] <= SLACK * least * (1 + ROUNDING)).mean()
    return JudgedChoice(every.locate(best), float(share[best]), doubts, float(cheapest))


def _take_plainer(best: int, every: _All, share: Floats, wanted: PlanRequest) -> int:
    """Take, of designs as often right at the same cost, what is simplest to carry out and explain."""
    cost = every.cost.mean(0)
    alike = (share >= share[best] - TIE) & (cost <= SAME_COST * cost[best])
    alike &= _is_as_sure(best, share, wanted)
    at = np.flatnonzero(alike)
    return int(at[np.lexsort((cost[at], -share[at], every.plain[at]))[0]])


def _take_firmer(best: int, every: _All, share: Floats, wanted: PlanRequest) -> int:
    """Take the first size, from a design's own on, that more likely than not reaches its targets in full.

    A design that reaches them within the margin only is right, but fresh worlds would hardly show it.
    """
    same = (every.family == every.family[best]) & (every.k >= every.k[best])
    full = same & ((every.excess >= 0).mean(0) >= EVEN) & _is_as_sure(best, share, wanted)
    at = np.flatnonzero(full)
    return int(at[np.argmin(every.k[at])]) if len(at) else best


def _is_as_sure(best: int, share: Floats, wanted: PlanRequest) -> Bools:
    """Mark designs that may take a choice's place: where that is as sure as was wanted, they are to be as well."""
    return np.asarray(share >= (wanted.confidence if share[best] >= wanted.confidence else 0.0))


def _join_families(families: Sequence[DesignFamily], wanted: PlanRequest, chance: Chance) -> _All:
    masks = [members.open(wanted) for members in families]
    used = [(members, mask) for members, mask in zip(families, masks, strict=True) if mask.any()]
    n = len(chance.worlds)
    where = [(f, int(k)) for f, mask in enumerate(masks) for k in np.flatnonzero(mask)]
    cost = [members.costs(wanted, chance)[:, mask] for members, mask in used]
    excess = [members.reaches(wanted.targets, chance)[:, mask] for members, mask in used]
    beyond = [members.reaches(wanted.targets, chance, wanted.margin)[:, mask] for members, mask in used]
    numbers = np.array(where, int).reshape(-1, 2)
    nothing = np.zeros((n, 0))
    plain = np.array([count_oddities(families[f].designs[k]) for f, k in where], int)
    stacked = (np.hstack([nothing, *one]) for one in (cost, excess, beyond))
    return _All(numbers[:, 0], numbers[:, 1], plain, *stacked)


def count_oddities(design: Design) -> int:
    """Count in how much a design differs from plain scores by raters who see all outputs of a document."""
    return sum(PLAIN.get(key, value) != value for key, value in design)


def list_simpler_designs(design: Design) -> list[Design]:
    """List the designs of the same size that are simpler to carry out and explain, the simplest first."""
    odd = [key for key, value in design if PLAIN.get(key, value) != value]
    sets = [odd, *([[key] for key in odd] if len(odd) > 1 else [])] if odd else []
    return [tuple((key, PLAIN[key] if key in keys else value) for key, value in design) for keys in sets]


def _rate_opposition(every: _All, against: Bools) -> dict[At, float]:
    """Return how often each family's design speaks against a choice that does so most often."""
    often = against.mean(0)
    # In rising order the last entry of a family overwrites the others, and is its most frequent one.
    worst = {int(every.family[d]): int(d) for d in np.argsort(often, kind="stable")}
    return {every.locate(d): float(often[d]) for d in worst.values() if often[d] > 0}


def make_result(
    bench: Bench,
    families: Sequence[DesignFamily],
    judged: JudgedChoice,
    wanted: PlanRequest,
    chance: Chance,
    why: str,
    look: Callable[[dict[At, int]], None],
) -> SearchResult:
    """Return the result of a search; designs that it names are first measured by `look` if they were not yet."""
    places = [_find_reaching_size(members, wanted, chance) for members in families]
    furthest = _find_furthest(families, wanted, chance)
    named = [*enumerate(places), furthest, *([judged.choice] if judged.choice else [])]
    new = [(f, k) for f, k in dict.fromkeys(named) if k not in families[f].known]
    look(dict.fromkeys(new, FIRST if worlds_in_time(bench, FIRST * len(new)) == FIRST * len(new) else FEW))
    first = judged.choice or furthest
    best = families[furthest[0]].designs[furthest[1]]
    order = sorted(range(len(families)), key=lambda f: _standing(families[f], places[f], wanted, chance))
    rivals = tuple(families[f].designs[places[f]] for f in order if f != first[0])
    return SearchResult(
        advice=judged.choice and families[first[0]].designs[first[1]],
        best=best,
        rivals=tuple(design for design in rivals if family(design) != family(best) or design != best),
        tried=dict(list_measured_designs(families)),
        probability=judged.probability,
        designs=sum(map(len, families)),
        campaigns=bench.campaigns,
        why=_add_reasons(why, families, wanted),
        cheapest=judged.cheapest,
    )


def _add_reasons(why: str, families: Sequence[DesignFamily], wanted: PlanRequest) -> str:
    """Return what ended the search, and how many designs had no campaigns or no value."""
    looked = [design for _, design in list_measured_designs(families)]
    none = sum(1 for one in looked if "money" not in one)
    if none:
        why += f"; {none} of the {len(looked)} designs that were looked at could not be carried out"
    for measure in dict.fromkeys(target.measure for target in wanted.targets):
        undefined = sum(1 for one in looked if "money" in one and (measure not in one or not one[measure].n))
        if undefined:
            why += f"; {measure} has no value in {undefined} of {len(looked)} designs, which do not reach it"
    return why


def _find_reaching_size(family: DesignFamily, wanted: PlanRequest, chance: Chance) -> int:
    """Return the place of the smallest design that reaches all targets on average, else of the largest allowed."""
    allowed = np.flatnonzero(family.open(wanted))
    if not len(allowed):
        allowed = np.flatnonzero(family.mark_allowed(wanted))
    if not len(allowed):
        return min(family.known)
    reached = np.flatnonzero(family.reaches(wanted.targets, chance).mean(0)[allowed] >= 0)
    return int(allowed[reached[0]] if len(reached) else allowed[-1])


def _find_furthest(families: Sequence[DesignFamily], wanted: PlanRequest, chance: Chance) -> At:
    """Return the design within the limits that gets furthest: the largest first target's measure, others held.

    Where none is within the limits it is the one that costs least.
    """
    first = next((target for target in wanted.targets if not target.floor), wanted.targets[0])
    others = [target for target in wanted.targets if target != first]
    best: tuple[float, At] = (-math.inf, (0, 0))
    for f, members in enumerate(families):
        value = members.path(first.measure, chance).mean(0)
        if others:
            # Shares are at most 1: a design that misses another target falls behind all that miss none.
            value = value - 2.0 * (members.reaches(others, chance).mean(0) < -wanted.margin)
        best = max([best, *((float(value[k]), (f, int(k))) for k in np.flatnonzero(members.mark_allowed(wanted)))])
    if best[0] > -math.inf:
        return best[1]
    return min(((f, min(members.known)) for f, members in enumerate(families)), key=lambda at: _money(families, at))


def _money(families: Sequence[DesignFamily], at: At) -> float:
    looked = families[at[0]].known[at[1]]
    return looked["money"].value if "money" in looked else math.inf


def _standing(family: DesignFamily, k: int, wanted: PlanRequest, chance: Chance) -> tuple[bool, float]:
    """Order families: those that reach the targets first, by cost, then the others by how far they get."""
    excess = float(family.reaches(wanted.targets, chance).mean(0)[k])
    return (excess < 0, float(family.costs(wanted)[k]) if excess >= 0 else -excess)


def search(bench: Bench, designs: Sequence[Design], wanted: PlanRequest, say: Say | None = None) -> SearchResult:
    """Name the cheapest design that reaches all targets within the limits, its rivals, and the one that gets furthest.

    `designs` are all that may be chosen, `wanted` are targets and limits. Families are looked at in the middle of their
    sizes, and then wherever the choice could be wrong: power rises with size, as far as can be seen; other measures may
    go up and down between the sizes that were looked at. The search ends when the choice is right with the wanted
    probability, or with the bench's patience. `say` gets a line on the leading design. Raises ValueError without
    designs.
    """
    return go_on(begin(designs, wanted), bench, say)


@dataclass(frozen=True, slots=True)
class Search:
    """A search that can go on: its families of designs with their measurements, the request, and random numbers."""

    families: Sequence[DesignFamily]
    wanted: PlanRequest
    chance: Chance

    def exclude_design(self, design: Design) -> None:
        """Exclude a design, whose targets fresh worlds did not show, and smaller ones of its family from the choice."""
        of = self._family(design)
        smaller = sum((size_of(one) or 0) <= (size_of(design) or 0) for one in of.designs)
        of.struck = max(of.struck, smaller)

    def holds(self, design: Design) -> bool:
        """True if a design is one of those that may be chosen."""
        of = next((members for members in self.families if design in members.designs), None)
        return of is not None and of.designs.index(design) >= of.struck

    def _family(self, design: Design) -> DesignFamily:
        return next(members for members in self.families if family(members.designs[0]) == family(design))

    def find_undecided_sizes(self, design: Design) -> tuple[int, int] | None:
        """Return the sizes of a design's family between which nothing is decided; None where there are no sizes.

        From the smallest that may reach the targets to the smallest that very likely does, else the largest allowed.
        """
        of = self._family(design)
        sizes = [size_of(design) for design in of.designs]
        places = np.flatnonzero(of.open(self.wanted))
        if not len(places):
            places = np.flatnonzero(of.mark_allowed(self.wanted))[-1:]
        if not len(places) or None in sizes:
            return None
        often = (of.reaches(self.wanted.targets, self.chance) >= -self.wanted.margin).mean(0)
        doubtful = 1 - self.wanted.confidence
        low = next((k for k in places if often[k] > doubtful), places[-1])
        high = next((k for k in places if k >= low and often[k] >= 1 - doubtful), places[-1])
        return int(sizes[low] or 0), int(sizes[high] or 0)


def begin(designs: Sequence[Design], wanted: PlanRequest) -> Search:
    """Begin a search among designs; raise ValueError where there are none."""
    if not designs:
        raise ValueError("a search needs designs")
    return Search(families(designs), wanted, Chance.draw(wanted.seed, RESAMPLES, MOST_WORLDS))


def go_on(search: Search, bench: Bench, say: Say | None = None) -> SearchResult:
    """Search, or search on after designs were struck, until the choice is as sure as was wanted or patience ends."""
    groups, wanted, chance = search.families, search.wanted, search.chance
    if not any(group.known for group in groups):
        _look_first(bench, groups, wanted)
    why, judged = "the worlds that a search may take are used up", judge(groups, wanted, chance)
    for _ in range(ROUNDS):
        if say:
            say(_describe_leading(groups, judged, bench))
        wants = _choose_further_looks(groups, judged, wanted)
        if judged.probability >= wanted.confidence and _has_enough_support(groups, judged):
            why = "the choice is right with the wanted probability"
            break
        if not wants:
            break
        if not (wants := _limit_to_patience(bench, groups, wants)):
            why = "patience is over"
            break
        look(bench, groups, wants)
        judged = judge(groups, wanted, chance)
    return make_result(bench, groups, judged, wanted, chance, why, lambda wants: look(bench, groups, wants))


def look(bench: Bench, families: Sequence[DesignFamily], wants: dict[At, int]) -> None:
    """Look at designs in `wants[(family, place)]` worlds each; their families record the measures."""
    wanted = {families[f].designs[k]: n for (f, k), n in wants.items()}
    looked = bench.look(wanted) if wanted else {}
    for (f, k), n in wants.items():
        families[f].record_look(k, looked[families[f].designs[k]], n)


def _look_first(bench: Bench, families: Sequence[DesignFamily], wanted: PlanRequest) -> None:
    """Look at each family in its middle, or at the largest size below that is within the limits, by halves."""
    wants = {(f, len(members) // 2): FIRST for f, members in enumerate(families)}
    while wants:
        look(bench, families, dict.fromkeys(wants, FEW))
        look(bench, families, _limit_to_patience(bench, families, wants))
        low = {f: min(members.known) for f, members in enumerate(families) if not members.mark_allowed(wanted).any()}
        wants = {(f, k // 2): FIRST for f, k in low.items() if k > 0} if bench.remaining_seconds() > 0 else {}


def _limit_to_patience(bench: Bench, families: Sequence[DesignFamily], wants: dict[At, int]) -> dict[At, int]:
    """Take as many of the worlds that are wanted of each design as end before patience does; none where it is over."""
    added = {at: n - families[at[0]].worlds.get(at[1], 0) for at, n in wants.items()}
    if bench.remaining_seconds() <= 0:
        return {}
    share = worlds_in_time(bench, sum(added.values())) / max(sum(added.values()), 1)
    return {at: wants[at] - n + int(share * n) for at, n in added.items() if int(share * n) > 0}


def _has_enough_support(families: Sequence[DesignFamily], judged: JudgedChoice) -> bool:
    return judged.choice is None or families[judged.choice[0]].worlds.get(judged.choice[1], 0) >= LEAST


def _choose_further_looks(families: Sequence[DesignFamily], judged: JudgedChoice, wanted: PlanRequest) -> dict[At, int]:
    """Return which designs to look at next, and in how many worlds: those by which the choice is most often wrong."""
    doubts = sorted(judged.doubts.items(), key=lambda one: -one[1])
    least = max(TELLING * doubts[0][1], 0.1 * (1 - wanted.confidence)) if doubts else 0.0
    places = [at for at, often in doubts if often >= least][:THREATS]
    if judged.choice is not None and not _has_enough_support(families, judged):
        places.append(judged.choice)
    wants = {(f, k): _more_worlds(families[f].worlds.get(k, 0)) for f, k in places}
    return {(f, k): n for (f, k), n in wants.items() if n > families[f].worlds.get(k, 0)}


def _more_worlds(now: int) -> int:
    """Return in how many worlds a design is looked at that was looked at in so many."""
    return min(max(math.ceil(GROWTH * now), 2 * FIRST if not now else LEAST), MOST_WORLDS)


def _describe_leading(families: Sequence[DesignFamily], judged: JudgedChoice, bench: Bench) -> str:
    if judged.choice is None:
        return f"no design reaches the targets ({judged.probability:.2f}), {bench.campaigns:,} studies"
    f, k = judged.choice
    settings = ", ".join(f"{key.rpartition('.')[2]}={value}" for key, value in families[f].designs[k])
    return f"leads: {settings} (right with probability {judged.probability:.2f}), {bench.campaigns:,} studies"
