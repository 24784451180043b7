"""Find how far an assumption may move from its value before the plan's advice changes.

Call `FollowedDesigns.choose` with a bench (which simulates designs), the result of a search and the request; its method
`crossing` looks at the advice and its rivals at other values of an assumption, and returns the nearest *event*, where
another design becomes the better advice. The *conditions* of a design are that
it reaches each target, ends as planned, keeps to the money, and costs less than the advice; the *margin* of one is at
least 0 where it holds (on the probit scale of shares, the log scale of money). *Distances* are those of
`AssumptionScale`; a *side* is 1 above the value that is assumed, and -1 below.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simlab.planning.bench import ENDED
from simlab.planning.rivals import SLACK
from simlab.planning.terms import Assumption, Bench, Design, MeasuredDesign, PlanRequest, SearchResult, replace_setting
from simlab.rng import stream
from simlab.types import Bools, Estimate, Floats

CERTAIN = 9.0
"""Margin of a condition that always holds, or (negative) never does: beyond all probits."""
FINE = 241
"""Number of distances in a span at which an event is looked for."""
SOON, OFTEN = 2.0, 0.05
"""A design is followed on if, up to `SOON` times the event's distance, it is one in a share `OFTEN` of resamples."""
LIMITS = ("ended_as_planned", "money", "cheaper")

RIVALS = 3
"""Designs that are followed beside the advice: those that are nearest to replacing it."""
TIMES, LONGEST = 300, 8192
ASSUMED = "systems.assumed_"
"""First part of settings that fix a spread in all posterior draws: setting even its present value is a change."""


class AssumptionScale(NamedTuple):
    """Distances of an assumption: 0 at its value, -1 and 1 at the ends of its plausible range."""

    assumption: Assumption

    def measure_distance(self, value: float) -> float:
        """Return the distance of a value, negative below the value that is assumed."""
        gap = self._plain_value(value) - self._plain_value(self.assumption.value)
        return gap / self._half_width(gap)

    def value(self, distance: float) -> float:
        """Return the value at a distance."""
        plain = self._plain_value(self.assumption.value) + distance * self._half_width(distance)
        return min(max(math.exp(plain) if self.assumption.log else plain, self.assumption.least), self.assumption.most)

    def end(self, side: int) -> float:
        """Return the largest distance at which a flip is looked for on a side, 1 or -1."""
        return abs(self.measure_distance(self.assumption.most if side > 0 else self.assumption.least))

    def _plain_value(self, value: float) -> float:
        return math.log(value) if self.assumption.log else value

    def _half_width(self, gap: float) -> float:
        """Return the half-width of the plausible range on a side; that of the other where it has none."""
        now = self._plain_value(self.assumption.value)
        above, below = self._plain_value(self.assumption.high) - now, now - self._plain_value(self.assumption.low)
        wide, other = (above, below) if gap >= 0 else (below, above)
        return wide if wide > 0 else other if other > 0 else 1.0


class Constraints(NamedTuple):
    """Conditions of a design at a value of an assumption: `margin[condition]`, and `error[condition, world]`.

    Squares of the errors sum to the variance of a margin.
    """

    margin: Floats
    error: Floats


class Track(NamedTuple):
    """Conditions of designs along distances: `x[point]`, `margin[design, condition, point]`, `error[..., world]`.

    `advised`: the first design is the advice, whose end is an event; other designs are one where they reach all.
    """

    x: Floats
    margin: Floats
    error: Floats
    advised: bool


class NearestEvent(NamedTuple):
    """Nearest event on a side, as a distance of at least 0: by the measures, and in each resample (`again[time]`).

    Where there is none it is infinite. `first` is the index of the design whose event it is, `near` those of all
    designs whose event it may be, and 0.
    """

    at: float
    again: Floats
    first: int
    near: tuple[int, ...]


def names(wanted: PlanRequest) -> list[str]:
    """Name the conditions of a design, in the order of `Constraints`."""
    return [*(target.measure for target in wanted.targets), *LIMITS]


def evaluate_constraints(look: MeasuredDesign, wanted: PlanRequest, advice: MeasuredDesign | None) -> Constraints:
    """Return the conditions of a design by its measures `look`.

    Without the measures of an advice the condition to cost less than it always holds.
    """
    parts = [_share(look.get(target.measure), target.least, -CERTAIN) for target in wanted.targets]
    parts += [
        _share(look.get("ended_as_planned"), ENDED, CERTAIN),
        _paid_margin(look.get("money"), wanted.limits.money),
    ]
    parts.append(_empty_margin(CERTAIN) if advice is None else _cost_margin(look.get("money"), advice.get("money")))
    worlds = max(len(error) for _, error in parts)
    error = np.stack([np.pad(part, (0, worlds - len(part))) for _, part in parts])
    return Constraints(np.array([margin for margin, _ in parts]), error)


def shift_constraints(constraints: Constraints, start: Constraints, known: Constraints) -> Constraints:
    """Return the conditions known at the start, changed by as much as simulated ones differ from those there.

    A condition that is always or never met in one of the three stays as it was simulated.
    """
    plain: Bools = np.asarray((np.abs([constraints.margin, start.margin, known.margin]) < CERTAIN).all(axis=0))
    worlds = max(part.error.shape[1] for part in (constraints, start, known))
    errors = [np.pad(part.error, ((0, 0), (0, worlds - part.error.shape[1]))) for part in (constraints, start, known)]
    # A difference over the same worlds has little noise; the level is known from the search, which met more.
    margin = np.where(plain, constraints.margin - start.margin + known.margin, constraints.margin)
    return Constraints(margin, np.where(plain[:, None], errors[0] - errors[1] + errors[2], errors[0]))


def track(points: Mapping[float, Mapping[Design, Constraints]], designs: Sequence[Design], *, advised: bool) -> Track:
    """Join the conditions of designs at several distances, `points[distance][design]`."""
    x = sorted(points)
    worlds = max(points[at][design].error.shape[1] for at in x for design in designs)
    margin = np.array([[points[at][design].margin for at in x] for design in designs])
    error = np.array([[_pad_error(points[at][design].error, worlds) for at in x] for design in designs])
    return Track(np.array(x), margin.transpose(0, 2, 1), error.transpose(0, 2, 1, 3), advised)


def crossing(of: Track, side: int, span: tuple[float, float], worlds: Floats, *, straight: bool) -> NearestEvent:
    """Return the nearest event of a track on a side (1, -1), within a span of distances.

    `worlds[time, world]` are standard normal numbers, a resample in each row. `straight`: one line is fitted to all
    points, else lines join neighbours.
    """
    distance = np.linspace(*span, FINE)
    basis = _line(of.x, side * distance) if straight else _interpolation_matrix(of.x, side * distance)
    shift = np.einsum("dcpw,tw->tdcp", of.error, worlds[:, : of.error.shape[3]], optimize=True)
    now = _first_distance(_events(of.margin[None] @ basis.T, of.advised), distance)[0]
    again = _first_distance(_events((of.margin[None] + shift) @ basis.T, of.advised), distance)
    return NearestEvent(float(now.min()), again.min(axis=1), int(now.argmin()), _near_designs(again))


def _near_designs(again: Floats) -> tuple[int, ...]:
    """Return the first design, and those that may be the event, or would be soon after it, from `[time, design]`."""
    event = again.min(axis=1)
    far = SOON * np.median(event[np.isfinite(event)]) if np.isfinite(event).any() else math.inf
    often = np.mean(again <= far, axis=0) >= OFTEN
    return tuple(k for k in range(again.shape[1]) if k == 0 or often[k])


def _events(margins: Floats, advised: bool) -> Floats:
    """Return by how much each design is an event `[time, design, distance]`, from `[time, design, condition, ...]`."""
    least = margins.min(axis=2)
    if advised:
        # The advice is an event where it stops reaching its targets, others where they begin to.
        least[:, 0] *= -1
    return np.asarray(least)


def _first_distance(event: Floats, distance: Floats) -> Floats:
    """Return the first distance at which an event is at least 0, along the last axis; infinite where it is nowhere."""
    met = event >= 0
    k = met.argmax(axis=-1)
    before = np.maximum(k - 1, 0)
    here, there = (np.take_along_axis(event, at[..., None], -1)[..., 0] for at in (k, before))
    with np.errstate(divide="ignore", invalid="ignore"):
        # Between the two distances an event is a straight line, so that its zero lies at this part of the step.
        part = np.where(k > 0, here / (here - there), 0.0)
    return np.asarray(np.where(met.any(axis=-1), distance[k] - part * (distance[k] - distance[before]), np.inf))


def _line(x: Floats, grid: Floats) -> Floats:
    """Return the matrix that makes a least-squares line at distances of values `[distance, point]`."""
    rows = np.column_stack([np.ones_like(x), x])
    # Places may coincide at the end of a range, where a plain inverse would not exist.
    return np.asarray(np.column_stack([np.ones_like(grid), grid]) @ np.linalg.pinv(rows))


def _interpolation_matrix(x: Floats, grid: Floats) -> Floats:
    """Return the matrix that makes lines from point to point at distances of values `[distance, point]`."""
    return np.column_stack([np.interp(grid, x, row) for row in np.eye(len(x))])


def _share(estimate: Estimate | None, least: float, otherwise: float) -> tuple[float, Floats]:
    from scipy.special import ndtri

    if estimate is None or len(estimate.influence) < 2:
        return _empty_margin(otherwise)
    n = len(estimate.influence)
    # Probits of 0 and 1 are infinite: half a world keeps a share off them.
    value = min(max(estimate.value, 0.5 / n), 1 - 0.5 / n)
    at = float(ndtri(value))
    # By the delta method errors of a probit are those of the share over the normal density there.
    slope = math.exp(-(at**2) / 2) / math.sqrt(2 * math.pi)
    return at - float(ndtri(least)), np.asarray(estimate.influence) / math.sqrt(n * (n - 1)) / slope


def _paid_margin(estimate: Estimate | None, limit: float | None) -> tuple[float, Floats]:
    if estimate is None or limit is None or not estimate.value > 0:
        return _empty_margin(CERTAIN)
    # Money that is spent to the last is within the limit.
    return math.log(limit * (1 + 1e-9) / estimate.value), _scale_influence(estimate, 1 / estimate.value)


def _cost_margin(estimate: Estimate | None, advice: Estimate | None) -> tuple[float, Floats]:
    if estimate is None or advice is None or not min(estimate.value, advice.value) > 0:
        return _empty_margin(-CERTAIN)
    n = min(len(estimate.influence), len(advice.influence))
    own, other = (float(one.value + np.mean(one.influence[:n])) for one in (estimate, advice))
    # The influence of a log ratio: worlds in common cancel, as dear documents are dear in either design.
    gap = np.asarray(advice.influence[:n]) / other - np.asarray(estimate.influence[:n]) / own
    return math.log(other / own) - SLACK, gap / math.sqrt(max(n * (n - 1), 1))


def _scale_influence(estimate: Estimate, factor: float) -> Floats:
    n = len(estimate.influence)
    return np.asarray(estimate.influence) * (-factor / math.sqrt(max(n * (n - 1), 1)))


def _empty_margin(margin: float) -> tuple[float, Floats]:
    return margin, np.zeros(1)


def _pad_error(error: Floats, worlds: int) -> Floats:
    return np.pad(error, ((0, 0), (0, worlds - error.shape[1])))


@dataclass(frozen=True, slots=True)
class FollowedDesigns:
    """Designs that are followed along assumptions; the first is the advice, else the best.

    `again[time, world]` are standard normal numbers that draw the worlds again, a resample in each row.
    """

    bench: Bench
    result: SearchResult
    wanted: PlanRequest
    designs: tuple[Design, ...]
    again: Floats

    @classmethod
    def choose(cls, bench: Bench, search: SearchResult, wanted: PlanRequest) -> FollowedDesigns:
        """Choose the designs to follow: the advice, and the rivals that are nearest to meeting their conditions."""
        chosen = search.chosen
        own = search.tried[chosen]
        ease = {
            design: float(evaluate_constraints(search.tried[design], wanted, own).margin.min())
            for design in search.rivals
            if design != chosen and design in search.tried
        }
        rivals = sorted(ease, key=lambda one: -ease[one])[:RIVALS]
        longest = max(
            [LONGEST, *(len(estimate.influence) for look in search.tried.values() for estimate in look.values())]
        )
        # One number a world, for all designs and values: what these owe to the same worlds then cancels.
        again = stream(wanted.seed, "plan", "flips").standard_normal((longest, TIMES)).T
        return cls(bench, search, wanted, (chosen, *rivals), again)

    @property
    def advised(self) -> bool:
        """True if there is an advice, whose end is an event."""
        return self.result.advice is not None

    def crossing(
        self,
        of: Assumption,
        x: Sequence[float],
        worlds: int,
        side: int,
        places: Sequence[int],
        *,
        start: float = 0.0,
        straight: bool,
    ) -> NearestEvent:
        """Return the nearest change of the advice on a side, from distance `start` on, by `worlds` worlds at each `x`.

        `places` are indices of the designs that are followed; those returned count in `designs`, too.
        """
        designs = [self.designs[k] for k in places]
        points = dict(zip(x, self.points(of, x, worlds, designs), strict=True))
        tracks = track(points, designs, advised=self.advised)
        span = (start, AssumptionScale(of).end(side))
        event = crossing(tracks, side, span, self.again, straight=straight)
        return event._replace(first=places[event.first], near=tuple(places[k] for k in event.near))

    def points(
        self, of: Assumption, x: Sequence[float], worlds: int, designs: Sequence[Design]
    ) -> list[dict[Design, Constraints]]:
        """Return the conditions of designs at distances; at 0 those by the measures of the search."""
        known = self._conditions({design: self.result.tried[design] for design in (self.designs[0], *designs)}, designs)
        away = [at for at in x if at != 0]
        by_distance = dict(zip(away, self._simulate_constraints(of, away, worlds, designs), strict=True))
        if away and of.key.startswith(ASSUMED):
            start = self._simulate_constraints(of, [0.0], worlds, designs)[0]
            by_distance = {
                at: {design: shift_constraints(own, start[design], known[design]) for design, own in point.items()}
                for at, point in by_distance.items()
            }
        return [known if at == 0 else by_distance[at] for at in x]

    def _simulate_constraints(
        self, of: Assumption, x: Sequence[float], worlds: int, designs: Sequence[Design]
    ) -> list[dict[Design, Constraints]]:
        """Simulate designs at distances, and return their conditions there."""
        scale, every = AssumptionScale(of), dict.fromkeys((self.designs[0], *designs))
        named = {(at, design): replace_setting(design, of.key, scale.value(at)) for at in x for design in every}
        looks = self.bench.look(dict.fromkeys(named.values(), worlds)) if named else {}
        return [self._conditions({design: looks.get(named[at, design], {}) for design in every}, designs) for at in x]

    def _conditions(self, looks: dict[Design, MeasuredDesign], designs: Sequence[Design]) -> dict[Design, Constraints]:
        """Return the conditions of designs at a value; beside an advice others are to cost less."""
        first = self.designs[0]
        return {
            design: evaluate_constraints(
                looks[design], self.wanted, looks[first] if self.advised and design != first else None
            )
            for design in designs
        }
