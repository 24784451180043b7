"""Follow designs along an assumption: simulate them at some of its values, and find where the advice changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simlab.planning import crossings
from simlab.planning.crossings import Crossing, Held, Scale
from simlab.planning.terms import Assumption, Bench, Design, Found, Looked, Wanted, with_setting
from simlab.rng import stream
from simlab.types import Floats

RIVALS = 3
"""So many designs beside the advice are followed: those that are nearest to taking its place."""
TIMES, LONGEST = 300, 8192
ASSUMED = "systems.assumed_"
"""Settings that take the place of what differs by draw: setting the value that is assumed is a change by itself."""


@dataclass(frozen=True, slots=True)
class Followed:
    """Follow designs, the first of which is the advice, else the best; `again[time, world]` draws worlds again."""

    bench: Bench
    found: Found
    wanted: Wanted
    designs: tuple[Design, ...]
    again: Floats

    @classmethod
    def of(cls, bench: Bench, found: Found, wanted: Wanted) -> Followed:
        """Choose the designs to follow."""
        chosen = found.chosen
        own = found.tried[chosen]
        ease = {
            one: float(crossings.held(found.tried[one], wanted, own).margin.min())
            for one in found.rivals
            if one != chosen and one in found.tried
        }
        rivals = sorted(ease, key=lambda one: -ease[one])[:RIVALS]
        longest = max([LONGEST, *(len(one.influence) for look in found.tried.values() for one in look.values())])
        again = stream(wanted.seed, "plan", "flips").standard_normal((longest, TIMES)).T
        return cls(bench, found, wanted, (chosen, *rivals), again)

    @property
    def advised(self) -> bool:
        """Tell whether there is an advice, whose end is an event."""
        return self.found.advice is not None

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
    ) -> Crossing:
        """Return where the advice changes on a side, from a start on, by so many worlds at distances `x`.

        `places` are the designs that are followed; what is returned counts all of them.
        """
        designs = [self.designs[k] for k in places]
        points = dict(zip(x, self.points(of, x, worlds, designs), strict=True))
        held = crossings.track(points, designs, advised=self.advised)
        span = (start, Scale(of).end(side))
        found = crossings.crossing(held, side, span, self.again, straight=straight)
        return found._replace(first=places[found.first], near=tuple(places[k] for k in found.near))

    def points(
        self, of: Assumption, x: Sequence[float], worlds: int, designs: Sequence[Design]
    ) -> list[dict[Design, Held]]:
        """Return the conditions of designs at distances; at 0 what the search knows of them."""
        known = self._conditions({one: self.found.tried[one] for one in (self.designs[0], *designs)}, designs)
        away = [at for at in x if at != 0]
        held = dict(zip(away, self._simulated(of, away, worlds, designs), strict=True))
        if away and of.key.startswith(ASSUMED):
            start = self._simulated(of, [0.0], worlds, designs)[0]
            held = {
                at: {one: crossings.moved(own, start[one], known[one]) for one, own in point.items()}
                for at, point in held.items()
            }
        return [known if at == 0 else held[at] for at in x]

    def _simulated(
        self, of: Assumption, x: Sequence[float], worlds: int, designs: Sequence[Design]
    ) -> list[dict[Design, Held]]:
        """Simulate designs at distances, and return their conditions there."""
        scale, every = Scale(of), dict.fromkeys((self.designs[0], *designs))
        named = {(at, one): with_setting(one, of.key, scale.value(at)) for at in x for one in every}
        looks = self.bench.look(dict.fromkeys(named.values(), worlds)) if named else {}
        return [self._conditions({one: looks.get(named[at, one], {}) for one in every}, designs) for at in x]

    def _conditions(self, looks: dict[Design, Looked], designs: Sequence[Design]) -> dict[Design, Held]:
        """Return the conditions of designs at a value; beside an advice others are to cost less."""
        first = self.designs[0]
        return {
            one: crossings.held(looks[one], self.wanted, looks[first] if self.advised and one != first else None)
            for one in designs
        }
