"""Find the nearest value of each assumption at which another design is the better advice.

A design is the better advice where the one that is advised no longer reaches its targets within the limits, or where a
cheaper one does. Few worlds at the ends of what is looked at say where that may be; more worlds at values about it say
where it is, nearest first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from simlab.planning import crossings, prices
from simlab.planning.crossings import LIMITS, Crossing, Held, Scale
from simlab.planning.curves import with_size
from simlab.planning.figures import value_of
from simlab.planning.terms import (
    Assumption,
    Bench,
    Design,
    Flip,
    Found,
    Ground,
    Looked,
    Wanted,
    family,
    size_of,
    with_setting,
)
from simlab.rng import stream
from simlab.types import Floats

SCREENING, REFINING, GROWTH = 24, 64, 2
"""Worlds at a value: at the ends, about an event, and by how much more they become until it is known well enough."""
RIVALS = 3
"""So many designs beside the advice are followed: those that are nearest to taking its place."""
LIKELY, SURE = 0.2, 0.8
"""An event is followed where so many of the times worlds are drawn again have it, and told where so many do."""
NARROW = 0.1
"""Half of an interval's width, of the distance, at which an event is known well enough."""
ABOUT, NEAREST = 0.4, 0.15
"""Values lie so far about an event, of its distance; at least so far."""
PLACES = (-1.0, -1 / 3, 1 / 3, 1.0)
MOVES = 3
TIMES, LONGEST = 300, 8192
TAIL = 0.05
ASSUMED = "systems.assumed_"
"""Settings that take the place of what differs by draw: setting the value that is assumed is a change by itself."""


def nearest(bench: Bench, found: Found, ground: Ground, wanted: Wanted, *, worlds: int = 512) -> list[Flip]:
    """Return the nearest flip of each assumption that has one in its range, by their scaled distances.

    At most `worlds` worlds are simulated at a value. The 90 % interval is that of worlds drawn again, with the same
    weights for all designs and values. Prices need no simulation. Where time ends intervals are wider, and flips that
    might be none are left out.
    """
    plain = [one for one in ground.assumptions if prices.is_all(one, ground)]
    flips = [flip for one in plain if (flip := prices.flip(one, found, wanted)) is not None]
    following = _Following.of(bench, found, wanted, worlds)
    events = [event for one in ground.assumptions if one not in plain for event in following.screened(one)]
    refined = [one for event in sorted(events, key=_distance) if (one := following.refined(event)) is not None]
    for event in _nearest_each(refined):
        grown = following.grown(event)
        if np.isfinite(grown.crossing.again).mean() >= SURE and math.isfinite(grown.crossing.at):
            flips.append(following.flip(grown))
    return sorted(flips, key=lambda flip: flip.distance)


def without(flips: Sequence[Flip], ground: Ground) -> list[str]:
    """Name the assumptions along which no flip was found."""
    named = {one.assumption.key for one in flips}
    return [one.name for one in ground.assumptions if one.key not in named]


@dataclass(frozen=True, slots=True)
class _Event:
    """Hold where an advice may change, on a side (1, -1), and so many worlds at how many values say so."""

    of: Assumption
    side: int
    about: float
    crossing: Crossing
    worlds: int


@dataclass(frozen=True, slots=True)
class _Following:
    """Follow designs along assumptions: the first of `designs` is the advice, else the best."""

    bench: Bench
    found: Found
    wanted: Wanted
    designs: tuple[Design, ...]
    again: Floats
    worlds: int

    @classmethod
    def of(cls, bench: Bench, found: Found, wanted: Wanted, worlds: int) -> _Following:
        """Choose the designs to follow."""
        chosen = found.advice or found.best
        own = found.tried[chosen]
        ease = {
            one: float(crossings.held(found.tried[one], wanted, own).margin.min())
            for one in found.rivals
            if one != chosen and one in found.tried
        }
        rivals = sorted(ease, key=lambda one: -ease[one])[:RIVALS]
        longest = max([LONGEST, *(len(one.influence) for look in found.tried.values() for one in look.values())])
        again = stream(wanted.seed, "plan", "flips").standard_normal((longest, TIMES)).T
        return cls(bench, found, wanted, (chosen, *rivals), again, worlds)

    def screened(self, of: Assumption) -> Iterator[_Event]:
        """List events that few worlds at the ends do not rule out, at most one a side."""
        scale = Scale(of)
        x = sorted({0.0} | {side * min(part, scale.end(side)) for side in (-1, 1) for part in (1.0, scale.end(side))})
        if self.bench.left() <= 0:
            return
        for side in (-1, 1):
            crossing = self._crossing(of, x, SCREENING, side, straight=False)
            met = np.isfinite(crossing.again)
            if scale.end(side) > 0 and met.mean() >= LIKELY:
                yield _Event(of, side, float(np.median(crossing.again[met])), crossing, SCREENING)

    def refined(self, event: _Event) -> _Event | None:
        """Follow an event with more worlds at values about it; None where it turns out to be none."""
        for _ in range(MOVES):
            if self.bench.left() <= 0:
                break
            before, event = event.about, self._looked(event, REFINING)
            if not math.isfinite(event.crossing.at):
                return None
            if abs(event.crossing.at - before) <= _reach(before):
                break
            event = replace(event, about=event.crossing.at)
        return event

    def grown(self, event: _Event) -> _Event:
        """Follow an event with more and more worlds, until its interval is narrow or there is no more time."""
        while event.worlds < self.worlds and self.bench.left() > 0 and not _is_narrow(event):
            at = event.crossing.at
            if abs(at - event.about) > _reach(event.about) / 2 and math.isfinite(at):
                event = replace(event, about=at)
            event = self._looked(event, min(event.worlds * GROWTH, self.worlds))
        return event

    def flip(self, event: _Event) -> Flip:
        """Say where the advice changes, and to what."""
        scale, crossing = Scale(event.of), event.crossing
        ends = np.quantile(np.minimum(crossing.again, scale.end(event.side)), [TAIL, 1 - TAIL])
        low, high = sorted(scale.value(event.side * float(one)) for one in ends)
        advised = self.found.advice is not None
        if advised and crossing.first == 0:
            then, why = self._beyond(event)
        else:
            then = self.designs[crossing.first]
            why = "a cheaper design reaches the targets" if advised else "a design reaches the targets"
        return Flip(event.of, scale.value(event.side * crossing.at), low, high, crossing.at, then, why)

    def _beyond(self, event: _Event) -> tuple[Design | None, str]:
        """Return the cheapest other design that reaches the targets beyond an event, and what ends the advice."""
        scale = Scale(event.of)
        at = event.side * min(event.crossing.at + _reach(event.crossing.at) / 2, scale.end(event.side))
        advice, others = self.designs[0], _others(self.found)
        point = self._points(event.of, [at], event.worlds, (advice, *others))[0]
        lacks = crossings.names(self.wanted)[int(point[advice].margin[:-1].argmin())]
        # All designs cost more or less what they cost now, in this order.
        able = [one for one in others if point[one].margin[:-1].min() >= 0]
        why = _why(lacks, self.wanted)
        if not able:
            return None, f"{why}, and no design reaches the targets"
        return min(able, key=lambda one: value_of(self.found.tried[one], "money")), why

    def _looked(self, event: _Event, worlds: int) -> _Event:
        end, reach = Scale(event.of).end(event.side), _reach(event.about)
        centre = min(max(event.about, reach), max(end - reach, 0.0))
        x = sorted({event.side * min(max(centre + place * reach, 0.0), end) for place in PLACES})
        return replace(event, crossing=self._crossing(event.of, x, worlds, event.side, straight=True), worlds=worlds)

    def _crossing(self, of: Assumption, x: Sequence[float], worlds: int, side: int, *, straight: bool) -> Crossing:
        points = dict(zip(x, self._points(of, x, worlds, self.designs), strict=True))
        held = crossings.track(points, self.designs, advised=self.found.advice is not None)
        return crossings.crossing(held, side, Scale(of).end(side), self.again, straight=straight)

    def _points(
        self, of: Assumption, x: Sequence[float], worlds: int, designs: Sequence[Design]
    ) -> list[dict[Design, Held]]:
        """Return the conditions of designs at distances; at 0 what the search knows of them."""
        advice = self.found.tried[self.designs[0]] if self.found.advice is not None else None
        known = {
            one: crossings.held(self.found.tried[one], self.wanted, _unless(one, self.designs[0], advice))
            for one in designs
        }
        anchored = of.key.startswith(ASSUMED)
        away = [at for at in x if at != 0]
        held = dict(zip(away, self._held(of, away, worlds, designs), strict=True))
        if anchored:
            start = self._held(of, [0.0], worlds, designs)[0]
            held = {
                at: {one: crossings.moved(own, start[one], known[one]) for one, own in point.items()}
                for at, point in held.items()
            }
        return [known if at == 0 else held[at] for at in x]

    def _held(
        self, of: Assumption, x: Sequence[float], worlds: int, designs: Sequence[Design]
    ) -> list[dict[Design, Held]]:
        """Simulate designs at distances, and return their conditions there."""
        scale, first = Scale(of), self.designs[0]
        named = {(at, one): with_setting(one, of.key, scale.value(at)) for at in x for one in {first, *designs}}
        looks = self.bench.look(dict.fromkeys(named.values(), worlds))
        held = []
        for at in x:
            advice = looks[named[at, first]] if self.found.advice is not None else None
            held.append(
                {
                    one: crossings.held(looks[named[at, one]], self.wanted, _unless(one, first, advice))
                    for one in designs
                }
            )
        return held


def _unless(one: Design, first: Design, advice: Looked | None) -> Looked | None:
    """Return the advice's measures, with which the cost of others is compared."""
    return None if one == first else advice


def _others(found: Found) -> list[Design]:
    """List what may be advised in place of the advice: its rivals, and larger designs of its kind."""
    chosen = found.advice or found.best
    own = size_of(chosen)
    sizes = sorted({size_of(one) or 0 for one in found.tried if family(one) == family(chosen)})
    larger = [] if own is None else [size for size in sizes if size > own]
    near = [with_size(chosen, size) for size in (*larger[:1], *larger[-1:])]
    return [one for one in dict.fromkeys([*found.rivals, *near]) if one != chosen and one in found.tried]


def _nearest_each(events: Sequence[_Event]) -> list[_Event]:
    """Keep the nearer event of each assumption, nearest first, of those that may be told."""
    likely = [one for one in events if np.isfinite(one.crossing.again).mean() >= LIKELY]
    held: dict[str, _Event] = {}
    for one in sorted(likely, key=_distance):
        held.setdefault(one.of.key, one)
    return list(held.values())


def _distance(event: _Event) -> float:
    return event.crossing.at if math.isfinite(event.crossing.at) else event.about


def _reach(about: float) -> float:
    return max(ABOUT * about, NEAREST)


def _is_narrow(event: _Event) -> bool:
    low, high = np.quantile(event.crossing.again, [TAIL, 1 - TAIL], method="higher")
    return bool(math.isfinite(high) and high - low <= 2 * NARROW * event.crossing.at)


def _why(lacks: str, wanted: Wanted) -> str:
    """Say which condition of the advice no longer holds."""
    if lacks in LIMITS:
        late = lacks == "ended_as_planned" and wanted.limits.deadline is not None
        return "the deadline ends it" if late else "the money ends it"
    least = next(one.least for one in wanted.targets if one.measure == lacks)
    return f"{lacks} falls below {least:g}"
