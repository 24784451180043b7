"""Find what another kind of design gives for the money of the advice: the largest size that is not dearer."""

from __future__ import annotations

import math
from collections.abc import Mapping

from simlab.planning.curves import Curve, curves, ranked, with_size
from simlab.planning.figures import first_target, looked_at, shared_mean, value_of
from simlab.planning.terms import Bench, Design, Found, Ground, Looked, Wanted, family, size_of

MOST = 3
SLACK = 0.005
"""Documents differ in length: designs whose costs differ by less over the same worlds cost the same."""
TRIES = 5
WORLDS = 24


def sizes(ground: Ground, tried: Mapping[Design, Looked]) -> tuple[int, int]:
    """Return the least and the greatest size that designs of a plan may have."""
    declared = [int(value) for lever in ground.levers if lever.is_size for value in lever.values]
    known = declared or [size for one in tried if (size := size_of(one)) is not None]
    return (min(known), max(known)) if known else (1, 1)


def same_money(found: Found, bench: Bench, ground: Ground, wanted: Wanted) -> list[Design]:
    """Return the best rivals of other families at the advice's cost, best first, at most three.

    A family whose least size is dearer than the advice is none. Designs without a size are as they are, where they are
    not dearer.
    """
    chosen = found.advice or found.best
    measure, bounds = first_target(wanted).measure, sizes(ground, found.tried)
    money = value_of(found.tried[chosen], "money")
    others = {one: held for one, held in found.tried.items() if family(one) != family(chosen)}
    fitting: list[Design] = []
    for one in ranked(curves(others, measure, wanted), money):
        if len(fitting) == MOST:
            break
        if (design := not_dearer(bench, one, chosen, bounds)) is not None:
            fitting.append(design)
    return [*fitting, *_unsized(others, measure, money)][:MOST]


def not_dearer(bench: Bench, one: Curve, chosen: Design, bounds: tuple[int, int]) -> Design | None:
    """Return the largest design of a family that is not dearer than the one chosen, over the same worlds; or none."""
    held: dict[int, float] = {}
    wanted = bench.look({chosen: WORLDS})[chosen]
    size = _clipped(one.size_for(value_of(wanted, "money")), bounds)
    for _ in range(TRIES):
        if size in held:
            break
        looked = looked_at(bench, with_size(one.of, size), WORLDS)
        if "money" not in looked:
            return None
        own, other = shared_mean(looked["money"], wanted["money"])
        held[size] = own - other * (1 + SLACK)
        # The next size is where a line from here, as steep as the family's, meets the money.
        size = _clipped(size - held[size] / max(float(one.money.at[1]), 1e-12), bounds)
    paid = [size for size, beyond in held.items() if beyond <= 0]
    return with_size(one.of, max(paid)) if paid else None


def _clipped(size: float, bounds: tuple[int, int]) -> int:
    return min(max(math.floor(size + 1e-9), bounds[0]), bounds[1]) if math.isfinite(size) else bounds[1]


def _unsized(others: Mapping[Design, Looked], measure: str, money: float) -> list[Design]:
    held = [one for one, looked in others.items() if size_of(one) is None and measure in looked]
    paid = [one for one in held if not value_of(others[one], "money") > money * (1 + SLACK)]
    return sorted(paid, key=lambda one: -value_of(others[one], measure))
