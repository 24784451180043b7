"""Find the nearest value of each assumption at which another design is the better advice.

Call `find_nearest_flips` with a bench (which simulates designs), the result of a search, the ground (the study that all
designs share) and the request, which returns a list of `Flip`. Another design is better where the advice no longer
reaches its targets within the limits, or a cheaper one does. Few worlds at the ends of a range locate it roughly, more
worlds about it precisely.

An *event* is where the advice changes along one assumption, on one side of its value now. Its *distance* is 0 at that
value and 1 at the end of the assumption's plausible range. A *flip* is an event that is sure enough to be reported.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from simlab.planning import crossings, remedies
from simlab.planning.bench import measure_value
from simlab.planning.crossings import LIMITS, AssumptionScale, FollowedDesigns, NearestEvent
from simlab.planning.curves import set_size
from simlab.planning.stages import worlds_in_time
from simlab.planning.terms import Assumption, Bench, Design, Flip, Ground, PlanRequest, SearchResult, family, size_of

SCREENING, REFINING, GROWTH = 24, 64, 2
"""Worlds at a value at the ends and about an event, and the factor by which they grow until it is precise."""
LIKELY, SURE = 0.2, 0.8
"""Shares of resamples of worlds that have an event for it to be followed, and for it to be reported."""
NARROW = 0.1
"""Half of an interval's width, as a share of the distance, at which an event is precise enough."""
ABOUT, NEAREST = 0.4, 0.15
"""Reach of the values about an event: as a share of its distance, and the least."""
PLACES = (-1.0, -1 / 3, 1 / 3, 1.0)
BELOW = 2.0
MOVES = 3
TAIL = 0.05


def find_nearest_flips(
    bench: Bench, search: SearchResult, ground: Ground, wanted: PlanRequest, *, worlds: int = 512
) -> list[Flip]:
    """Return the nearest flip of each assumption that has one in its range, by their scaled distances.

    At most `worlds` worlds are simulated at a value. The 90 % interval is from resamples of worlds, the same for all
    designs and values. Prices need no simulation. Where time ends, intervals are wider, and unsure flips are left out.
    """
    plain = [assumption for assumption in ground.assumptions if remedies.is_all(assumption, ground)]
    flips = [flip for assumption in plain if (flip := remedies.flip(assumption, search, wanted)) is not None]
    following = _Following(FollowedDesigns.choose(bench, search, wanted), worlds)
    events = [
        event
        for assumption in ground.assumptions
        if assumption not in plain
        for event in following.list_likely_events(assumption)
    ]
    refined = [finer for event in sorted(events, key=_distance) if (finer := following.refine_event(event)) is not None]
    for event in _keep_nearest(refined):
        grown = following.narrow_event(event)
        if _is_sure(grown):
            flips.append(following.flip(grown))
    return sorted(flips, key=lambda flip: flip.distance)


def name_assumptions_without_flip(flips: Sequence[Flip], ground: Ground) -> list[str]:
    """Name the assumptions along which no flip was found."""
    named = {flip.assumption.key for flip in flips}
    return [assumption.name for assumption in ground.assumptions if assumption.key not in named]


@dataclass(frozen=True, slots=True)
class _Event:
    """Event on a side (1, -1) of an assumption, simulated in so many worlds at values about the distance `about`."""

    assumption: Assumption
    side: int
    about: float
    crossing: NearestEvent
    worlds: int


@dataclass(frozen=True, slots=True)
class _Following:
    """Search for the events of an advice, with at most `worlds` worlds at a value."""

    along: FollowedDesigns
    worlds: int

    def has_time(self, worlds: int) -> bool:
        """True if this number of worlds of a design ends before patience does."""
        bench = self.along.bench
        return bench.remaining_seconds() > 0 and worlds_in_time(bench, worlds) == worlds

    def list_likely_events(self, of: Assumption) -> Iterator[_Event]:
        """List events that few worlds at the ends do not rule out, at most one a side."""
        scale, places = AssumptionScale(of), range(len(self.along.designs))
        x = sorted({0.0} | {side * min(part, scale.end(side)) for side in (-1, 1) for part in (1.0, scale.end(side))})
        if not self.has_time(SCREENING * len(x) * len(places)):
            return
        for side in (-1, 1):
            if scale.end(side) > 0:
                crossing = self.along.crossing(of, x, SCREENING, side, places, straight=False)
                met = np.isfinite(crossing.again)
                if met.mean() >= LIKELY:
                    yield _Event(of, side, float(np.median(crossing.again[met])), crossing, SCREENING)

    def refine_event(self, event: _Event) -> _Event | None:
        """Follow an event with more worlds at values about it; None where it turns out to be none."""
        for _ in range(MOVES):
            if not self.has_time(REFINING * len(PLACES) * (1 + len(event.crossing.near))):
                break
            before, event = event.about, self._simulate_event(event, REFINING)
            if not math.isfinite(event.crossing.at):
                return None
            if abs(event.crossing.at - before) <= _reach(before):
                break
            event = replace(event, about=event.crossing.at)
        return event

    def narrow_event(self, event: _Event) -> _Event:
        """Follow an event with more and more worlds, until its interval is narrow or there is no more time."""
        each = len(PLACES) * (1 + len(event.crossing.near))
        while (
            event.worlds < self.worlds
            and not _is_narrow(event)
            and self.has_time(min(event.worlds * GROWTH, self.worlds) * each)
        ):
            at = event.crossing.at
            if math.isfinite(at) and abs(at - event.about) > _reach(event.about) / 2:
                event = replace(event, about=at)
            event = self._simulate_event(event, min(event.worlds * GROWTH, self.worlds))
        return event

    def flip(self, event: _Event) -> Flip:
        """Return an event as a flip: the value at which the advice changes, its interval, and the next advice."""
        scale, crossing = AssumptionScale(event.assumption), event.crossing
        # Times without an event count as one at the end of what is looked at, so that the interval reaches there.
        ends = np.quantile(np.minimum(crossing.again, scale.end(event.side)), [TAIL, 1 - TAIL])
        low, high = (float(end) for end in (min(ends[0], crossing.at), max(ends[1], crossing.at)))
        low, high = sorted(scale.value(event.side * end) for end in (low, high))
        if self.along.advised and crossing.first == 0:
            then, why = self._find_replacement(event)
        else:
            then = self.along.designs[crossing.first]
            why = "a cheaper design reaches the targets" if self.along.advised else "a design reaches the targets"
        return Flip(event.assumption, scale.value(event.side * crossing.at), low, high, crossing.at, then, why)

    def _find_replacement(self, event: _Event) -> tuple[Design | None, str]:
        """Return the cheapest other design that reaches the targets beyond an event, and what ends the advice."""
        along, scale = self.along, AssumptionScale(event.assumption)
        # A little beyond the event, where it is clear which condition fails; at the event itself it is a tie.
        at = event.side * min(event.crossing.at + _reach(event.crossing.at) / 2, scale.end(event.side))
        advice, others = along.designs[0], _list_alternatives(along.result)
        point = along.points(event.assumption, [at], event.worlds, (advice, *others))[0]
        lacks = crossings.names(along.wanted)[int(point[advice].margin[:-1].argmin())]
        why = _describe_broken_condition(lacks, along.wanted)
        # The last condition, to cost less than the advice, is not asked of what takes its place. What they cost now
        # orders them: only prices change that, and those of ratings change all costs alike.
        able = [design for design in others if point[design].margin[:-1].min() >= 0]
        if not able:
            return None, f"{why}, and no design reaches the targets"
        return min(able, key=lambda one: measure_value(along.result.tried[one], "money")), why

    def _simulate_event(self, event: _Event, worlds: int) -> _Event:
        """Simulate about an event. Lines are not followed far below it, where other designs may seem to be one."""
        end, reach = AssumptionScale(event.assumption).end(event.side), _reach(event.about)
        centre = min(max(event.about, reach), max(end - reach, 0.0))
        x = sorted({event.side * min(max(centre + place * reach, 0.0), end) for place in PLACES})
        start = min(max(event.about - BELOW * reach, 0.0), end)
        near = event.crossing.near
        crossing = self.along.crossing(event.assumption, x, worlds, event.side, near, start=start, straight=True)
        return replace(event, crossing=crossing, worlds=worlds)


def _list_alternatives(search: SearchResult) -> list[Design]:
    """List the designs that may take the place of the advice: its rivals, and larger designs of its kind."""
    chosen = search.chosen
    own = size_of(chosen)
    sizes = sorted({size_of(design) or 0 for design in search.tried if family(design) == family(chosen)})
    larger = [] if own is None else [size for size in sizes if size > own]
    near = [set_size(chosen, size) for size in (*larger[:1], *larger[-1:])]
    return [design for design in dict.fromkeys([*search.rivals, *near]) if design != chosen and design in search.tried]


def _keep_nearest(events: Sequence[_Event]) -> list[_Event]:
    """Keep the nearer event of each assumption, nearest first, of those that are likely."""
    likely = [event for event in events if np.isfinite(event.crossing.again).mean() >= LIKELY]
    nearest: dict[str, _Event] = {}
    for event in sorted(likely, key=_distance):
        nearest.setdefault(event.assumption.key, event)
    return list(nearest.values())


def _distance(event: _Event) -> float:
    return event.crossing.at if math.isfinite(event.crossing.at) else event.about


def _reach(about: float) -> float:
    return max(ABOUT * about, NEAREST)


def _is_sure(event: _Event) -> bool:
    """True if values about an event show it, not a line that was followed far from them."""
    met = np.isfinite(event.crossing.again).mean()
    return bool(met >= SURE and abs(event.crossing.at - event.about) <= _reach(event.about))


def _is_narrow(event: _Event) -> bool:
    # Some times have no event (infinite), between which and others nothing can be interpolated.
    low, high = np.quantile(event.crossing.again, [TAIL, 1 - TAIL], method="higher")
    return bool(math.isfinite(high) and high - low <= 2 * NARROW * event.crossing.at)


def _describe_broken_condition(lacks: str, wanted: PlanRequest) -> str:
    """Return which condition of the advice no longer holds."""
    if lacks in LIMITS:
        late = lacks == "ended_as_planned" and wanted.limits.deadline is not None
        return "the deadline ends it" if late else "the money ends it"
    least = next(target.least for target in wanted.targets if target.measure == lacks)
    return f"{lacks} falls below {least:g}"
