"""Families of designs that differ in their size only: costs and measures as functions of size.

`families` sorts designs; each `DesignFamily` records the measures of some sizes, and its `costs`, `path` and
`reaches` return the money, a measure and the excess over targets of all sizes, in each resample of the simulated worlds
(a Bayesian bootstrap: `Chance`). In shapes `size` counts the designs of a family, from the smallest on.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from simlab.answers.plan import Target
from simlab.planning.terms import Design, MeasuredDesign, PlanRequest, family, size_of
from simlab.types import Bools, Estimate, Floats, Ints

RISING = frozenset(("power", "power_at", "significant_share"))
"""Measures that rise with size, unless measurements contradict that."""
SURE = 4.0
"""Standard errors by which a measure must fall with size before it is taken for one that does not rise."""
NEVER = -1.0
"""Value in place of a measure that has none, so that it reaches no target."""
LEVEL = 2.0
"""Standard deviation of a measure's level, on the probit scale."""
JITTER = 1e-6

ENDED = 0.9
"""Within the limits are designs of which money or deadline end fewer than one campaign in ten."""
ROUNDING = 1e-9
MOST_MEASURES, MOST_SIZES = 100, 10_000


class CurveShape(NamedTuple):
    """Prior shape of a measure along the logarithm of sizes: a line's slope, and its bends `(sd, length)`."""

    slope: float
    slope_sd: float
    bends: tuple[tuple[float, float], ...]


RISES = CurveShape(0.8, 0.4, ((0.3, 2.0), (0.08, 0.6)))
"""Of a test of means the slope is about 1.4 at a power of .8; pairs that differ by more or less flatten it."""
WANDERS = CurveShape(0.0, 0.0, ((0.5, 1.2), (0.1, 0.4)))


@dataclass(frozen=True, slots=True)
class Chance:
    """Random numbers of a search: `worlds[resample, world]` are weights of worlds less 1, in all designs."""

    seed: int
    worlds: Floats

    @classmethod
    def draw(cls, seed: int, resamples: int, worlds: int) -> Chance:
        """Draw the weights of worlds: those of a Bayesian bootstrap."""
        return cls(seed, np.random.default_rng([seed, 0]).exponential(1.0, (resamples, worlds)) - 1.0)

    def draw_path(self, place: int, n: int) -> Floats:
        """Draw standard normal numbers `[resample, n]` for one measure of one family."""
        return np.random.default_rng([self.seed, 1, place]).standard_normal((len(self.worlds), n))

    def mean(self, estimate: Estimate) -> Floats:
        """Return the values of an estimate in resamples of its worlds, by influence: `[resample]`."""
        influence = np.nan_to_num(np.asarray(estimate.influence, float))
        n = len(influence)
        # Weights less 1 have variance 1, so that resamples spread by the standard error.
        return np.asarray(estimate.value + self.worlds[:, :n] @ influence / np.sqrt(n * max(n - 1, 1)))

    def share(self, estimate: Estimate, place: int) -> Floats:
        """Return a share in resamples of its worlds and of two more that half count: one of 0, one of 1.

        So a share of 1 in twenty worlds is not one of 1 for sure (Jeffreys' interval where worlds are 0 or 1).
        """
        n = len(estimate.influence)
        zero_weight, one_weight = np.random.default_rng([self.seed, 2, place]).gamma(0.5, 1.0, (2, len(self.worlds)))
        drawn = np.clip(self.mean(estimate), 0.0, 1.0)
        return np.asarray(np.clip((n * drawn + one_weight) / (n + zero_weight + one_weight), 1e-6, 1 - 1e-6))


def path(log_size: Floats, at: Ints, shares: Floats, shape: CurveShape, normals: Floats) -> Floats:
    """Draw a measure at all sizes, `[resample, size]`, from the shares `[resample, look]` of sizes that were seen.

    Those are the sizes `log_size[at[look]]`; the curve has a Gaussian process of this shape as its prior on the probit
    scale, drawn by `normals[resample, size]`.
    """
    z = ndtri(shares)
    x = log_size - log_size[at].mean()
    prior = shape.slope * x + (z.mean(0) - shape.slope * x[at]).mean()
    covariance = _covariance(x, shape)
    seen = covariance[np.ix_(at, at)] + np.diag(z.var(0) + JITTER)
    gain = np.linalg.solve(seen, covariance[at]).T
    # Sizes lie so close together that the covariance is singular to rounding; the jitter keeps Cholesky from failing.
    drawn = prior + normals @ np.linalg.cholesky(covariance + JITTER * np.eye(len(x))).T
    # Matheron's rule: a draw of the prior, moved by what it misses at the sizes seen, is one of the posterior.
    return np.asarray(ndtr(drawn + (z - drawn[:, at]) @ gain.T))


def _covariance(x: Floats, shape: CurveShape) -> Floats:
    apart = (x[:, None] - x) ** 2
    bends = sum(sd**2 * np.exp(-apart / (2 * length**2)) for sd, length in shape.bends)
    return np.asarray(LEVEL**2 + shape.slope_sd**2 * np.outer(x, x) + bends)


def is_rising(estimates: Sequence[Estimate]) -> bool:
    """True if a measure rises with size as far as can be seen: no fall is larger than its error allows.

    Falls are those between any two sizes: several small ones may add up.
    """
    return not any(
        first.value - second.value > SURE * max(_error(first, second), ROUNDING)
        for first, second in itertools.combinations(estimates, 2)
    )


def _error(first: Estimate, second: Estimate) -> float:
    """Return the standard error of a difference: of the worlds that both met, and of those that one has beyond."""
    n = min(len(first.influence), len(second.influence))
    paired = np.asarray(second.influence)[:n] - np.asarray(first.influence)[:n]
    error = float(np.sqrt(np.sum(paired**2) / (n * max(n - 1, 1))))
    # With other numbers of worlds the value of one is not that of its first worlds.
    return max(error, first.mcse, second.mcse) if len(first.influence) != len(second.influence) else error


@dataclass(slots=True)
class DesignFamily:
    """Designs of a family in the order of their sizes, and the measurements of some of them.

    `known[k]` are the measures of the k-th design in `worlds[k]` worlds; `drawn` are its measures in resamples of
    them. `number` tells families apart where random numbers are drawn. The first `struck` designs
    are not chosen any more: fresh worlds did not show their targets.
    """

    number: int
    designs: tuple[Design, ...]
    log_size: Floats
    known: dict[int, MeasuredDesign] = field(default_factory=dict)
    worlds: dict[int, int] = field(default_factory=dict)
    drawn: dict[tuple[int, str], Floats] = field(default_factory=dict)
    paths: dict[str, Floats] = field(default_factory=dict)
    struck: int = 0

    def __len__(self) -> int:
        """Count the designs."""
        return len(self.designs)

    def record_look(self, k: int, looked: MeasuredDesign, worlds: int) -> None:
        """Record the measures of the k-th design in `worlds` worlds."""
        if self.worlds.get(k) == worlds:
            return
        self.known[k], self.worlds[k] = looked, worlds
        self.drawn = {at: values for at, values in self.drawn.items() if at[0] != k}
        self.paths = {}

    def is_within_limits(self, k: int, wanted: PlanRequest) -> bool:
        """True if the k-th design, which was looked at, is within the limits; one that has no money is not."""
        looked, money = self.known[k], wanted.limits.money
        if "money" not in looked:
            return False
        ended = looked["ended_as_planned"].value if "ended_as_planned" in looked else 1.0
        return ended >= ENDED and (money is None or looked["money"].value <= money * (1 + ROUNDING))

    def costs(self, wanted: PlanRequest, chance: Chance | None = None) -> Floats:
        """Return the money of every design: as measured where that is exact, else by a line over size.

        `[size]`, or, with random numbers, in each resample of worlds `[resample, size]`. Campaigns that money or
        deadline cut say nothing of what a design costs.
        """
        whole = sorted(k for k in self.known if self.is_within_limits(k, wanted))
        if not whole:
            return np.full(len(self) if chance is None else (len(chance.worlds), len(self)), np.inf)
        estimates = [self.known[k]["money"] for k in whole]
        if chance is None:
            money = np.array([[estimate.value for estimate in estimates]])
        else:
            money = np.stack([self._draw_measure(k, "money", chance) for k in whole], axis=1)
        exact = [j for j, estimate in enumerate(estimates) if not estimate.mcse > 0]
        cost = _line(np.exp(self.log_size), np.array(whole), money, [self.worlds[k] for k in whole])
        cost[:, np.array(whole)[exact]] = money[:, exact]
        # Larger designs never cost less: a noisy line must not say so.
        cost = np.maximum.accumulate(np.maximum(cost, 0.0), axis=1)
        return np.asarray(cost[0] if chance is None else cost, float)

    def mark_allowed(self, wanted: PlanRequest) -> Bools:
        """Mark the designs that are within the limits as far as is known: sizes above one that is not are not."""
        mask = np.ones(len(self), bool)
        cost, money = self.costs(wanted), wanted.limits.money
        if money is not None:
            mask &= cost <= money * (1 + ROUNDING)
        for k in self.known:
            if not self.is_within_limits(k, wanted):
                mask[k:] = False
        return mask

    def open(self, wanted: PlanRequest) -> Bools:
        """Mark the designs that are allowed and may still be chosen."""
        mask = self.mark_allowed(wanted)
        mask[: self.struck] = False
        return mask

    def reaches(self, targets: Sequence[Target], chance: Chance, margin: float = 0.0) -> Floats:
        """Return the least excess of measures over their targets, in each resample: `[resample, size]`.

        From it the margin is subtracted, or half of the distance of a target from 1, where that is less.
        """
        least = [target.least + min(margin, (1 - target.least) / 2) for target in targets]
        paths = [self.path(target.measure, chance) for target in targets]
        return np.asarray(np.min([path - bound for path, bound in zip(paths, least, strict=True)], axis=0))

    def path(self, measure: str, chance: Chance) -> Floats:
        """Return a measure of every design, in each resample: `[resample, size]`.

        A design that was looked at and has no value of it has -1, which reaches no target.
        """
        if measure not in self.paths:
            self.paths[measure] = self._path(measure, chance)
        return self.paths[measure]

    def _path(self, measure: str, chance: Chance) -> Floats:
        seen = [k for k in sorted(self.known) if measure in self.known[k] and self.known[k][measure].n]
        if not seen:
            return np.full((len(chance.worlds), len(self)), NEVER)
        estimates = [self.known[k][measure] for k in seen]
        shape = RISES if measure in RISING and is_rising(estimates) else WANDERS
        shares = np.stack([self._draw_measure(k, measure, chance) for k in seen], axis=1)
        normals = chance.draw_path(self._place(measure), len(self))
        paths = path(self.log_size, np.array(seen), shares, shape, normals)
        paths[:, [k for k in self.known if k not in seen]] = NEVER
        return paths

    def _draw_measure(self, k: int, measure: str, chance: Chance) -> Floats:
        if (k, measure) not in self.drawn:
            estimate = self.known[k][measure]
            place = self._place(measure) * MOST_SIZES + k
            self.drawn[k, measure] = chance.mean(estimate) if measure == "money" else chance.share(estimate, place)
        return self.drawn[k, measure]

    def _place(self, measure: str) -> int:
        # Python's own hash of a text is another one in each process, and the same plan would draw other numbers.
        return self.number * MOST_MEASURES + sum(measure.encode()) % MOST_MEASURES


def _line(size: Floats, at: np.ndarray, money: Floats, worlds: Sequence[int]) -> Floats:
    """Fit lines to the money of some sizes, `[resample, size]` at all; through 0 where one size was seen."""
    if len(at) == 1:
        return np.asarray(money * size / size[at])
    # Errors of money grow with it.
    slope, start = np.polyfit(size[at], money.T, 1, w=np.sqrt(worlds) / size[at])
    return np.asarray(start[:, None] + slope[:, None] * size)


def families(designs: Sequence[Design]) -> list[DesignFamily]:
    """Sort designs into families, each in the order of its sizes."""
    sorted_by: dict[Design, list[Design]] = {}
    for design in designs:
        sorted_by.setdefault(family(design), []).append(design)
    result = []
    for number, members in enumerate(sorted_by.values()):
        ordered = sorted(dict.fromkeys(members), key=lambda one: size_of(one) or 0)
        result.append(DesignFamily(number, tuple(ordered), np.log([float(size_of(design) or 1) for design in ordered])))
    return result


def list_measured_designs(all_of_them: Sequence[DesignFamily]) -> Iterator[tuple[Design, MeasuredDesign]]:
    """Yield all designs that were looked at, with their measures."""
    for group in all_of_them:
        for k in sorted(group.known):
            yield group.designs[k], group.known[k]
