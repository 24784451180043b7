"""Hold what is known of the designs of a family, which differ in their size only: what they cost, what they reach."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtr, ndtri

from simlab.planning.terms import Design, Looked, Target, Wanted, family, size_of
from simlab.types import Estimate, Floats, Ints

RISING = frozenset(("power", "power_at", "significant_share"))
"""Measures that rise with size, unless what is seen says otherwise."""
ENDED = 0.9
"""Within the limits are designs of which money or deadline end fewer than one campaign in ten."""
SURE = 4.0
"""Standard errors by which a measure must fall with size before it is taken for one that does not rise."""
REACH = 0.5
"""Sizes count in a fit by how near they are to where it is needed: a normal kernel of this width, in logarithms."""
ROUNDING = 1e-9


@dataclass(slots=True)
class Family:
    """Hold the designs of a family in the order of their sizes, and what was seen of some of them.

    `known[k]` is what was measured of the k-th design, of `worlds[k]` worlds. `weights` are those of `resamples` of the
    worlds less 1: `[resample, world]`.
    """

    designs: tuple[Design, ...]
    log_size: Floats
    known: dict[int, Looked] = field(default_factory=dict)
    worlds: dict[int, int] = field(default_factory=dict)

    def __len__(self) -> int:
        """Count the designs."""
        return len(self.designs)

    def saw(self, k: int, looked: Looked, worlds: int) -> None:
        """Take note of what was measured."""
        self.known[k], self.worlds[k] = looked, worlds

    def within(self, k: int, wanted: Wanted) -> bool:
        """Tell whether the k-th design, which was looked at, is within the limits."""
        looked, money = self.known[k], wanted.limits.money
        if "money" not in looked:
            return False
        ended = looked["ended_as_planned"].value if "ended_as_planned" in looked else 1.0
        return ended >= ENDED and (money is None or looked["money"].value <= money * (1 + ROUNDING))

    def costs(self, wanted: Wanted) -> Floats:
        """Return the mean money of every design: what was measured, and between that a line through sizes.

        Campaigns that money or deadline cut say nothing of what a design costs.
        """
        whole = sorted(k for k in self.known if self.within(k, wanted))
        if not whole:
            return np.full(len(self), np.inf)
        size = np.exp(self.log_size)
        money = np.array([self.known[k]["money"].value for k in whole])
        if len(whole) == 1:
            cost = money[0] * size / size[whole[0]]
        else:
            slope, start = np.polyfit(size[whole], money, 1)
            cost = start + slope * size
        cost[whole] = money
        return np.asarray(np.maximum.accumulate(np.maximum(cost, 0.0)), float)

    def allowed(self, wanted: Wanted) -> np.ndarray:
        """Mark the designs that are within the limits as far as is known: sizes above one that is not are not."""
        mask = np.ones(len(self), bool)
        cost, money = self.costs(wanted), wanted.limits.money
        if money is not None:
            mask &= cost <= money * (1 + ROUNDING)
        for k in self.known:
            if not self.within(k, wanted):
                mask[k:] = False
        return mask


def families(designs: Sequence[Design]) -> list[Family]:
    """Sort designs into families, each in the order of its sizes."""
    sorted_by: dict[Design, list[Design]] = {}
    for design in designs:
        sorted_by.setdefault(family(design), []).append(design)
    found = []
    for members in sorted_by.values():
        ordered = sorted(dict.fromkeys(members), key=lambda one: size_of(one) or 0)
        found.append(Family(tuple(ordered), np.log([float(size_of(one) or 1) for one in ordered])))
    return found


@dataclass(frozen=True, slots=True)
class Curves:
    """Hold measures of all designs of a family, in each of many resamples of the worlds: `[resample, design]`."""

    values: Mapping[str, Floats]

    def margins(self, targets: Sequence[Target]) -> Floats:
        """Return by how much the worst of the targets is exceeded."""
        return np.asarray(np.min([self.values[one.measure] - one.least for one in targets], axis=0))


def curves(held: Family, targets: Sequence[Target], weights: Floats) -> Curves:
    """Say what every design of a family may reach, from what was seen of some, in resamples of the worlds."""
    return Curves({one.measure: _curve(held, one, weights) for one in targets})


def _curve(held: Family, target: Target, weights: Floats) -> Floats:
    seen = [k for k in sorted(held.known) if target.measure in held.known[k]]
    if not seen:
        return np.full((len(weights), len(held)), -1.0)
    estimates = [held.known[k][target.measure] for k in seen]
    drawn = np.stack([resampled(one, weights) for one in estimates], axis=1)
    at = np.array(seen)
    if len(seen) > 1 and target.measure in RISING and rises(estimates):
        return _rising(held.log_size, at, estimates, drawn, target.least)
    return _between(held.log_size, at, drawn)


def resampled(estimate: Estimate, weights: Floats) -> Floats:
    """Return the values of an estimate in resamples of its clusters, by influence: `[resample]`."""
    influence = np.nan_to_num(np.asarray(estimate.influence, float))
    n = len(influence)
    return np.asarray(estimate.value + weights[:, :n] @ influence / np.sqrt(n * max(n - 1, 1)))


def rises(estimates: Sequence[Estimate]) -> bool:
    """Tell whether a measure rises with size as far as can be seen: no fall is larger than its error allows."""
    for first, second in itertools.pairwise(estimates):
        n = min(len(first.influence), len(second.influence))
        paired = second.influence[:n] - first.influence[:n]
        error = float(np.sqrt(np.sum(paired**2) / (n * max(n - 1, 1))))
        # With other numbers of worlds the value of one is not that of its first worlds.
        error = max(error, first.mcse, second.mcse) if len(first.influence) != len(second.influence) else error
        if first.value - second.value > SURE * max(error, ROUNDING):
            return False
    return True


def _rising(log_size: Floats, at: Ints, estimates: Sequence[Estimate], drawn: Floats, least: float) -> Floats:
    """Fit probit lines along log size, near to where the target is reached; one for each resample."""
    clipped = np.array([0.5 / (len(one.influence) + 1) for one in estimates])
    z = ndtri(np.clip(drawn, clipped, 1 - clipped))
    centre = ndtri(np.clip([one.value for one in estimates], clipped, 1 - clipped))
    density = np.exp(-(centre**2) / 2) / np.sqrt(2 * np.pi)
    error = np.array([max(one.mcse, 0.2 / len(one.influence)) for one in estimates]) / density
    x = log_size[at]
    crossing = _crossing(x, centre, error, float(ndtri(least)))
    weight = np.exp(-((x - crossing) ** 2) / (2 * REACH**2)) + 1e-4
    weight = weight / (error**2 + 0.05**2)
    shifted = x - crossing
    s0, s1, s2 = (float((weight * shifted**power).sum()) for power in (0, 1, 2))
    t0, t1 = (weight * z).sum(1), (weight * shifted * z).sum(1)
    below = max(s0 * s2 - s1**2, 1e-12)
    slope = np.maximum((s0 * t1 - s1 * t0) / below, 0.0)
    start = (t0 - slope * s1) / s0
    return np.asarray(ndtr(start[:, None] + slope[:, None] * (log_size - crossing)))


def _crossing(x: Floats, z: Floats, error: Floats, wanted: float) -> float:
    """Return about where the line through all points reaches what is wanted, within the sizes that were seen."""
    slope, start = np.polyfit(x, z, 1, w=1 / error)
    crossing = (wanted - start) / slope if slope > 0 else x[-1]
    return float(np.clip(crossing, x[0], x[-1]))


def _between(log_size: Floats, at: Ints, drawn: Floats) -> Floats:
    """Lay lines between the sizes that were seen; beyond them the last value holds."""
    x = log_size[at]
    if len(at) == 1:
        return np.repeat(drawn, len(log_size), axis=1)
    right = np.clip(np.searchsorted(x, log_size), 1, len(x) - 1)
    share = np.clip((log_size - x[right - 1]) / (x[right] - x[right - 1]), 0.0, 1.0)
    return np.asarray(drawn[:, right - 1] * (1 - share) + drawn[:, right] * share)


def looked_at(all_of_them: Sequence[Family]) -> Iterator[tuple[Design, Looked]]:
    """Go through all designs that were looked at."""
    for held in all_of_them:
        for k in sorted(held.known):
            yield held.designs[k], held.known[k]
