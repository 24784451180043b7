"""Name what a search came to: the advice, the design that gets furthest, the best size of each other family."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from simlab.planning.searching.families import Family, looked_at
from simlab.planning.searching.judging import At, Judged
from simlab.planning.searching.paths import Chance
from simlab.planning.stages import in_time
from simlab.planning.terms import Bench, Found, Wanted, family

FEW, FIRST = 8, 16
"""Worlds of a design that is named and was never looked at: where patience is over, and else."""


def found(
    bench: Bench,
    held: Sequence[Family],
    judged: Judged,
    wanted: Wanted,
    chance: Chance,
    why: str,
    look: Callable[[dict[At, int]], None],
) -> Found:
    """Put together what the search came to; the designs that are named have been looked at."""
    places = [_reaching(one, wanted, chance) for one in held]
    furthest = _furthest(held, wanted, chance)
    named = [*enumerate(places), furthest, *([judged.choice] if judged.choice else [])]
    new = [(f, k) for f, k in dict.fromkeys(named) if k not in held[f].known]
    look(dict.fromkeys(new, FIRST if in_time(bench, FIRST * len(new)) == FIRST * len(new) else FEW))
    first = judged.choice or furthest
    best = held[furthest[0]].designs[furthest[1]]
    order = sorted(range(len(held)), key=lambda f: _standing(held[f], places[f], wanted, chance))
    rivals = tuple(held[f].designs[places[f]] for f in order if f != first[0])
    return Found(
        advice=judged.choice and held[first[0]].designs[first[1]],
        best=best,
        rivals=tuple(one for one in rivals if family(one) != family(best) or one != best),
        tried=dict(looked_at(held)),
        probability=judged.probability,
        designs=sum(map(len, held)),
        campaigns=bench.campaigns,
        why=_with_reasons(why, held, wanted),
        cheapest=judged.cheapest,
    )


def _with_reasons(why: str, held: Sequence[Family], wanted: Wanted) -> str:
    """Say what was left out beside what ended the search."""
    looked = [one for _, one in looked_at(held)]
    none = sum(1 for one in looked if "money" not in one)
    if none:
        why += f"; {none} of the {len(looked)} designs that were looked at could not be carried out"
    for measure in dict.fromkeys(one.measure for one in wanted.targets):
        undefined = sum(1 for one in looked if "money" in one and (measure not in one or not one[measure].n))
        if undefined:
            why += f"; {measure} has no value in {undefined} of {len(looked)} designs, which do not reach it"
    return why


def _reaching(held: Family, wanted: Wanted, chance: Chance) -> int:
    """Return the place of the smallest design that reaches all targets on average, else of the largest allowed."""
    allowed = np.flatnonzero(held.open(wanted))
    if not len(allowed):
        allowed = np.flatnonzero(held.allowed(wanted))
    if not len(allowed):
        return min(held.known)
    reached = np.flatnonzero(held.reaches(wanted.targets, chance).mean(0)[allowed] >= 0)
    return int(allowed[reached[0]] if len(reached) else allowed[-1])


def _furthest(held: Sequence[Family], wanted: Wanted, chance: Chance) -> At:
    """Return the design within the limits that gets furthest: the largest first target's measure, others held.

    Where none is within the limits it is the one that costs least.
    """
    first = next((one for one in wanted.targets if not one.floor), wanted.targets[0])
    others = [target for target in wanted.targets if target != first]
    best: tuple[float, At] = (-math.inf, (0, 0))
    for f, one in enumerate(held):
        value = one.path(first.measure, chance).mean(0)
        if others:
            value = value - 2.0 * (one.reaches(others, chance).mean(0) < -wanted.margin)
        best = max([best, *((float(value[k]), (f, int(k))) for k in np.flatnonzero(one.allowed(wanted)))])
    if best[0] > -math.inf:
        return best[1]
    return min(((f, min(one.known)) for f, one in enumerate(held)), key=lambda at: _money(held, at))


def _money(held: Sequence[Family], at: At) -> float:
    looked = held[at[0]].known[at[1]]
    return looked["money"].value if "money" in looked else math.inf


def _standing(held: Family, k: int, wanted: Wanted, chance: Chance) -> tuple[bool, float]:
    """Order families: those that reach the targets first, by cost, then the others by how far they get."""
    excess = float(held.reaches(wanted.targets, chance).mean(0)[k])
    return (excess < 0, float(held.costs(wanted)[k]) if excess >= 0 else -excess)
