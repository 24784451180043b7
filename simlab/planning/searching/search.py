"""Search for the cheapest design that reaches all targets, with a stated probability that the choice is right.

A choice is *right* if its true measures are at least their targets less the margin, it is within the limits, and it
costs at most 1.05 times as much as the cheapest design within the limits whose true measures are at least their targets
plus the margin; to choose none is right where no design within the limits is as good as that. How likely that is
follows from resampling worlds: all designs met the same worlds, so one set of weights resamples them all (a Bayesian
bootstrap; Rubin 1981), and the decision is judged in each resample. The design is chosen for which that is most likely,
and worlds are added where the choice is most often wrong: to the design itself, and to those that undercut it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from simlab.planning.searching.families import Curves, Family, curves, families, looked_at
from simlab.planning.terms import Bench, Design, Found, Wanted, family
from simlab.types import Bools, Floats

FIRST = 16
"""Worlds of a first look."""
GROWTH = 1.6
MOST_WORLDS = 4000
RESAMPLES = 600
SLACK = 1.05
"""A design that costs up to so many times the cheapest is as good."""
THREATS = 3
"""So many families that undercut the choice are looked at together."""
APART = 0.2
"""Sizes this far from where a target is reached, in logarithms, tell how a measure rises there."""
ROUNDS = 60
TELLING = 0.5
"""Families that undercut the choice at least so often as the worst of them are looked at with it."""

Say = Callable[[str], None]


class Judged(NamedTuple):
    """Hold a choice, the probability that it is right, and what speaks against it.

    `family` and `k` say where the design stands (None: no design is chosen). `undercut[family]` is how often a family
    has a design that is better by more than is allowed, `short` how often the choice itself does not reach its targets.
    """

    family: int | None
    k: int
    probability: float
    short: float
    undercut: Floats


def search(bench: Bench, designs: Sequence[Design], wanted: Wanted, say: Say | None = None) -> Found:
    """Name the cheapest design that reaches all targets within the limits, its rivals, and the one that gets furthest.

    Designs are looked at family by family along their sizes: power rises with size, as far as can be seen, and a line
    through what was seen tells where a target is reached; other measures are taken between sizes that were looked at.
    The search ends when the choice is right with the wanted probability, or with the bench's patience. `say` is told
    who leads. Raises ValueError without designs.
    """
    if not designs:
        raise ValueError("a search needs designs")
    held = families(designs)
    weights = np.random.default_rng(wanted.seed).exponential(1.0, (RESAMPLES, MOST_WORLDS)) - 1.0
    _first_looks(bench, held, wanted)
    why, judged = "the worlds that a search may take are used up", _judged(held, wanted, weights)
    for _ in range(ROUNDS):
        if say:
            say(_leading(held, judged, bench))
        wants = _further(held, judged, wanted, weights)
        if judged.probability >= wanted.confidence and _was_looked_at(held, judged):
            why = "the choice is right with the wanted probability"
            break
        if bench.left() <= 0:
            why = "patience is over"
            break
        if not wants:
            break
        _look(bench, held, wants)
        judged = _judged(held, wanted, weights)
    return _found(bench, held, judged, wanted, weights, len(designs), why)


def _look(bench: Bench, held: Sequence[Family], wants: dict[tuple[int, int], int]) -> None:
    """Look at designs, named by family and place in it."""
    wanted = {held[f].designs[k]: n for (f, k), n in wants.items()}
    looked = bench.look(wanted)
    for (f, k), n in wants.items():
        held[f].saw(k, looked[held[f].designs[k]], n)


def _first_looks(bench: Bench, held: Sequence[Family], wanted: Wanted) -> None:
    """Look at each family where its designs are about to end being within the limits, and well below that."""
    _look(bench, held, {(f, len(one) // 2): FIRST for f, one in enumerate(held)})
    for _ in range(8):
        wants: dict[tuple[int, int], int] = {}
        for f, one in enumerate(held):
            allowed = np.flatnonzero(one.allowed(wanted))
            if not len(allowed):
                # Not even what was looked at is within the limits: halve it.
                low = min(one.known)
                if low > 0:
                    wants[f, low // 2] = FIRST
            elif (top := int(allowed[-1])) not in one.known:
                wants[f, top] = FIRST
            elif len(one.known) == 1 and (below := int(np.searchsorted(one.log_size, one.log_size[top] - 1))) < top:
                wants[f, below] = FIRST
        if not wants or bench.left() <= 0:
            return
        _look(bench, held, wants)


def _judged(held: Sequence[Family], wanted: Wanted, weights: Floats) -> Judged:
    """Choose the design that is right most often in resamples of the worlds."""
    margin, fits = wanted.margin, [curves(one, wanted.targets, weights) for one in held]
    allowed = [one.allowed(wanted) for one in held]
    costs = [one.costs(wanted) for one in held]
    # What each family offers at the least for a measure that is surely enough: [family, resample].
    cheapest = np.array([_cheapest(*parts, margin, wanted) for parts in zip(fits, costs, allowed, strict=True)])
    least = cheapest.min(0)
    options: list[tuple[float, float, int, int, Bools]] = []
    for f, (fit, cost, mask) in enumerate(zip(fits, costs, allowed, strict=True)):
        enough = fit.margins(wanted.targets) >= -margin
        right = enough & (cost <= SLACK * least[:, None] * (1 + 1e-9)) & mask
        options += [(-float(right[:, k].mean()), float(cost[k]), f, int(k), enough[:, k]) for k in np.flatnonzero(mask)]
    none = float(np.isinf(least).mean())
    best = min(options, key=lambda one: one[:2], default=None)
    if best is None or none > -best[0]:
        return Judged(None, 0, none, 0.0, np.isfinite(cheapest).mean(1))
    share, cost_of_best, f, k, enough_of_best = best
    undercut = (cheapest * SLACK * (1 + 1e-9) < cost_of_best).mean(1)
    return Judged(f, k, -share, 1 - float(enough_of_best.mean()), undercut)


def _cheapest(fit: Curves, cost: Floats, mask: Bools, margin: float, wanted: Wanted) -> Floats:
    """Return what the cheapest design of a family costs that reaches the targets and the margin, in each resample."""
    reaches = (fit.margins(wanted.targets) >= margin) & mask
    return np.asarray(np.where(reaches, cost, np.inf).min(1))


def _was_looked_at(held: Sequence[Family], judged: Judged) -> bool:
    return judged.family is None or judged.k in held[judged.family].known


def _further(held: Sequence[Family], judged: Judged, wanted: Wanted, weights: Floats) -> dict[tuple[int, int], int]:
    """Say which designs to look at next, and in how many worlds."""
    wants: dict[tuple[int, int], int] = {}
    if judged.family is not None:
        wants |= _near(held[judged.family], judged.family, judged.k)
    doubts = judged.undercut.copy()
    if judged.family is not None:
        doubts[judged.family] = 0.0
    worst = doubts.max(initial=0.0)
    for f in np.argsort(-doubts)[:THREATS]:
        if doubts[f] > max(TELLING * worst, 0.25 * (1 - wanted.confidence) / len(held)):
            wants |= _near(held[f], int(f), _reaching(held[f], wanted, weights))
    return {at: n for at, n in wants.items() if n > held[at[0]].worlds.get(at[1], 0)}


def _near(held: Family, f: int, k: int) -> dict[tuple[int, int], int]:
    """Add worlds to a design and, fewer, to one on each side of it that tell how measures rise there."""
    most = max(held.worlds.values())
    now = held.worlds.get(k, 0)
    n = min(max(math.ceil(GROWTH * now), FIRST if not now else 0, min(most, 4 * FIRST)), MOST_WORLDS)
    wants = {(f, k): n}
    for x in (held.log_size[k] - APART, held.log_size[k] + APART):
        side = int(np.abs(held.log_size - x).argmin())
        if side != k and held.worlds.get(side, 0) < n // 2 and not _is_bracketed(held, k, side):
            wants[f, side] = max(n // 2, FIRST)
    return wants


def _is_bracketed(held: Family, k: int, side: int) -> bool:
    """Tell whether a design near enough on the same side has been looked at as often."""
    step = 1 if side > k else -1
    enough = held.worlds.get(k, 0) // 3
    near = (j for j, n in held.worlds.items() if n >= max(enough, FIRST) and (j - k) * step > 0)
    return any(abs(held.log_size[j] - held.log_size[k]) < 2.5 * APART for j in near)


def _reaching(held: Family, wanted: Wanted, weights: Floats) -> int:
    """Return the place of the smallest design that reaches all targets on average, else of the largest allowed."""
    allowed = np.flatnonzero(held.allowed(wanted))
    if not len(allowed):
        return min(held.known)
    margins = curves(held, wanted.targets, weights).margins(wanted.targets).mean(0)[allowed]
    reached = np.flatnonzero(margins >= 0)
    return int(allowed[reached[0]] if len(reached) else allowed[-1])


def _found(
    bench: Bench, held: Sequence[Family], judged: Judged, wanted: Wanted, weights: Floats, n_designs: int, why: str
) -> Found:
    """Put together what the search came to; the designs that are named have been looked at."""
    places = [_reaching(one, wanted, weights) for one in held]
    furthest = _furthest(held, wanted, weights)
    unseen = {(f, k): FIRST for f, k in [*enumerate(places), furthest] if k not in held[f].known}
    if judged.family is not None and judged.k not in held[judged.family].known:
        unseen[judged.family, judged.k] = FIRST
    _look(bench, held, unseen)
    advice = None if judged.family is None else held[judged.family].designs[judged.k]
    best = held[furthest[0]].designs[furthest[1]]
    named = held[judged.family if judged.family is not None else furthest[0]]
    order = sorted(range(len(held)), key=lambda f: _standing(held[f], places[f], wanted, weights))
    rivals = tuple(held[f].designs[places[f]] for f in order if held[f] is not named)
    return Found(
        advice=advice,
        best=best,
        rivals=tuple(one for one in rivals if family(one) != family(best) or one != best),
        tried=dict(looked_at(held)),
        probability=judged.probability,
        designs=n_designs,
        campaigns=bench.campaigns,
        why=why,
    )


def _furthest(held: Sequence[Family], wanted: Wanted, weights: Floats) -> tuple[int, int]:
    """Return the design within the limits that gets furthest: the largest first target's measure, others held.

    Where none is within the limits it is the one that costs least.
    """
    first = next((one for one in wanted.targets if not one.floor), wanted.targets[0])
    best = (-math.inf, 0, 0)
    for f, one in enumerate(held):
        fit = curves(one, wanted.targets, weights)
        others = [target for target in wanted.targets if target != first]
        kept = fit.margins(others).mean(0) >= -wanted.margin if others else np.ones(len(one), bool)
        mask = one.allowed(wanted)
        for k in np.flatnonzero(mask):
            value = float(fit.values[first.measure][:, k].mean()) - (0.0 if kept[k] else 2.0)
            best = max(best, (value, f, int(k)))
    if best[0] > -math.inf:
        return best[1], best[2]
    return min(((f, min(one.known)) for f, one in enumerate(held)), key=lambda at: _money(held, at))


def _money(held: Sequence[Family], at: tuple[int, int]) -> float:
    looked = held[at[0]].known[at[1]]
    return looked["money"].value if "money" in looked else math.inf


def _standing(held: Family, k: int, wanted: Wanted, weights: Floats) -> tuple[bool, float]:
    """Order families: those that reach the targets first, by cost, then the others by how far they get."""
    margin = float(curves(held, wanted.targets, weights).margins(wanted.targets).mean(0)[k])
    return (margin < 0, held.costs(wanted)[k] if margin >= 0 else -margin)


def _leading(held: Sequence[Family], judged: Judged, bench: Bench) -> str:
    if judged.family is None:
        return f"no design reaches the targets ({judged.probability:.2f}), {bench.campaigns:,} studies"
    said = ", ".join(f"{key.rpartition('.')[2]}={value}" for key, value in held[judged.family].designs[judged.k])
    return f"leads: {said} (right with probability {judged.probability:.2f}), {bench.campaigns:,} studies"
