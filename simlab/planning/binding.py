"""Say what keeps a plan's largest design from being larger: the money, the deadline, people, or the range of sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, TypeAlias

from simlab.answers.plan import LargestDesign, TriedDesign
from simlab.planning.figures import ENDED, figures, first_target, looked_at, reaches, value_of, within_limits
from simlab.planning.terms import Bench, Design, Found, Ground, Looked, Wanted, family, size_of

Binds: TypeAlias = Literal["money", "deadline", "documents", "raters", "none"]
ENDS: Mapping[Binds, str] = {"money": "ended_by_money", "deadline": "ended_by_deadline", "raters": "ended_by_nobody"}
"""Measures of what ends campaigns, by what there is too little of."""
WORLDS = 24


def binding(found: Found, bench: Bench, ground: Ground, wanted: Wanted) -> tuple[Binds, LargestDesign]:
    """Return what the next larger design of the best one's kind runs out of.

    "documents" is the end of their range, "raters": nobody is left to ask.
    """
    best = found.best
    if (larger := _larger(best, found, ground)) is None:
        return "documents" if size_of(best) is not None else "none", LargestDesign(
            design=best, next=None, ended_by=math.nan
        )
    looked = found.tried.get(larger) or looked_at(bench, larger, WORLDS)
    if not looked:
        return "none", LargestDesign(design=best, next=larger, ended_by=math.nan)
    name, share = _ended_by(looked, wanted)
    return name, LargestDesign(design=best, next=larger, ended_by=share)


def front(tried: Mapping[Design, Looked], wanted: Wanted) -> tuple[TriedDesign, ...]:
    """Return all that was looked at, cheapest first, and mark what nothing beats in money, days and the measure."""
    measure = first_target(wanted).measure
    held = {one: looked for one, looked in tried.items() if measure in looked and "money" in looked}
    ordered = sorted(held, key=lambda one: (value_of(held[one], "money"), -value_of(held[one], measure)))
    return tuple(
        TriedDesign(
            design=one,
            front=not any(_beats(held[other], held[one], measure) for other in ordered if other != one),
            reaches=reaches(held[one], wanted),
            within=within_limits(held[one], wanted),
            measures=figures(held[one]),
        )
        for one in ordered
    )


def _beats(other: Looked, one: Looked, measure: str) -> bool:
    """Tell whether a design is at least as good in all ways, and better in one."""
    gains = [value_of(other, measure) - value_of(one, measure)]
    gains += [
        value_of(one, name) - value_of(other, name) for name in ("money", "days") if name in one and name in other
    ]
    return min(gains) >= 0 and max(gains) > 0


def _larger(best: Design, found: Found, ground: Ground) -> Design | None:
    """Return the next larger design of a kind that was looked at, or could have been."""
    from simlab.planning.curves import with_size

    size = size_of(best)
    if size is None:
        return None
    tried = {held for one in found.tried if family(one) == family(best) and (held := size_of(one)) is not None}
    listed = {int(value) for lever in ground.levers if lever.is_size for value in lever.values}
    beyond = sorted(one for one in tried | listed if one > size)
    return with_size(best, beyond[0]) if beyond else None


def _ended_by(looked: Looked, wanted: Wanted) -> tuple[Binds, float]:
    """Name what most campaigns of a design that is not within the limits run out of."""
    shares = {name: value_of(looked, measure) for name, measure in ENDS.items()}
    known = {name: share for name, share in shares.items() if share > 0}
    if value_of(looked, "ended_as_planned") < ENDED:
        if known:
            name = max(known, key=lambda one: known[one])
            return name, known[name]
        return ("money" if wanted.limits.deadline is None else "deadline"), math.nan
    limit = wanted.limits.money
    if limit is not None and value_of(looked, "money") > limit:
        return "money", shares["money"]
    return "none", math.nan
