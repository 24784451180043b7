"""Hold a fitted law against the ratings that it was fitted to, by what it would have answered at the same design.

A law that is right should fail hardly any pilot, whatever the number of traits: the limit is the one that 95 % of the
simulated tables, each held against the others, keep in all traits at once (Westfall and Young 1993, single step).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from simlab.answers.fit import PredictionError
from simlab.effort import current_effort
from simlab.fitting.laws import Fitted, Law
from simlab.fitting.parts import with_scores
from simlab.fitting.traits import CONCLUSIONS, CONFIRMED, STABLE, TOLD_APART, look_at, traits
from simlab.rng import stream
from simlab.tables.held import Ratings
from simlab.types import Bools, Floats

MEASURES: Mapping[str, Literal["power", "SRP", "confirmed"]] = {
    TOLD_APART: "power",
    STABLE: "SRP",
    CONFIRMED: "confirmed",
}
"""What a study would report of the conclusions that are checked."""
LEVEL = 0.05
"""Share of pilots of a right law that fail some check, at most."""
LEAST_TABLES = 0.9
"""A trait that fewer of the simulated tables show is not judged."""
SHARES = "share", "pairs", "halves"
"""How the names of traits begin that lie between 0 and 1."""
SHARE_MARGIN, SPREAD_MARGIN = 0.02, 0.05
"""What a law may miss on a table so large that it shows: a share by two points, a spread by 5 %."""


class Check(NamedTuple):
    """Compare a trait of real ratings with the median of simulated ones and the interval that it must lie in."""

    name: str
    real: float
    simulated: float
    low: float
    high: float

    @property
    def inside(self) -> bool:
        """Tell whether the real ratings lie within the interval."""
        return bool(self.low <= self.real <= self.high)


@dataclass(frozen=True, slots=True)
class Checks:
    """Hold the checks of single traits, and what figures show: survival of scores, means of raters and systems.

    `survival[table, score]`, `raters[table, rater]` and `systems[table, system]` have the real table first.
    """

    traits: tuple[Check, ...]
    erring: tuple[PredictionError, ...]
    grid: Floats
    survival: Floats
    raters: Floats
    systems: Floats

    @property
    def failed(self) -> tuple[Check, ...]:
        """Return the traits in which the real ratings lie outside, the farthest first."""
        return tuple(sorted((one for one in self.traits if not one.inside), key=_distance, reverse=True))

    @property
    def passed(self) -> int:
        """Count the traits in which the real ratings lie inside."""
        return sum(one.inside for one in self.traits)


def checks(law: Law, fitted: Fitted, seed: int = 0, n_tables: int | None = None) -> Checks:
    """Simulate tables at the pilot's design, each from a draw of the parameters, and compare them with the real one."""
    rng, pilot = stream(seed, "fit", "checks"), fitted.ratings
    look = look_at(rng, pilot)
    tables = [pilot]
    for k in range(n_tables or current_effort().checked_tables):
        tables.append(with_scores(pilot, law.answer(rng, fitted.effects[k % len(fitted.effects)], pilot)))
    summaries = [traits(table, look) for table in tables]
    values = np.array([list(one.values()) for one in summaries])
    judged = judge(list(summaries[0]), values, pilot)
    grid = np.unique(np.quantile(pilot.score, np.linspace(0, 0.999, 60)))
    survival = np.array([[(table.score > at).mean() for at in grid] for table in tables[:101]])
    means = [np.array([_means(table, name) for table in tables[:101]]) for name in ("rater", "system")]
    return Checks(tuple(judged), tuple(_erring(list(summaries[0]), values)), grid, survival, *means)


def judge(names: Sequence[str], values: Floats, pilot: Ratings) -> list[Check]:
    """Judge each trait of `values[table, trait]`, the first table being the real one, all traits at once."""
    real, simulated = values[0], values[1:]
    known = np.isfinite(real) & (np.isfinite(simulated).mean(0) >= LEAST_TABLES)
    if not known.any():
        return []
    simulated = simulated[:, known]
    middle = np.nanmedian(simulated, axis=0)
    low, high = middle - np.nanquantile(simulated, 0.05, axis=0), np.nanquantile(simulated, 0.95, axis=0) - middle
    low, high = (np.maximum(side, _resolution(names, known, pilot)) for side in (low, high))
    away = np.where(simulated < middle, (middle - simulated) / low, (simulated - middle) / high)
    limit = float(np.quantile(np.nanmax(np.nan_to_num(away), axis=1), 1 - LEVEL))
    margin = _margins(names, known, middle)
    least, most = middle - np.maximum(limit * low, margin), middle + np.maximum(limit * high, margin)
    shares = np.array([name.startswith(SHARES) for name in names])[known]
    least, most = np.where(shares, np.maximum(least, 0), least), np.where(shares, np.minimum(most, 1), most)
    columns = real[known], middle, least, most
    named = [name for name, wanted in zip(names, known, strict=True) if wanted]
    return [Check(name, *map(float, row)) for name, row in zip(named, zip(*columns, strict=True), strict=True)]


def _resolution(names: Sequence[str], known: Bools, pilot: Ratings) -> Floats:
    """Return the least step of each trait: a share cannot be known better than one rating makes it."""
    shares = np.array([name.startswith("share") for name in names])[known]
    return np.where(shares, 1 / len(pilot.score), 1e-9)


def _margins(names: Sequence[str], known: Bools, middle: Floats) -> Floats:
    """Return what each trait may be off by, however large the table is."""
    shares = np.array([name.startswith(SHARES) for name in names])[known]
    spreads = np.array(["sd" in name for name in names])[known]
    return np.where(shares, SHARE_MARGIN, np.where(spreads, SPREAD_MARGIN * np.abs(middle), 0.0))


def _erring(names: Sequence[str], values: Floats) -> Iterator[PredictionError]:
    for name in CONCLUSIONS:
        real, *rest = values[:, names.index(name)]
        simulated = np.array(rest)[np.isfinite(rest)]
        if np.isfinite(real) and len(simulated):
            below = (simulated < real).mean() + (simulated == real).mean() / 2
            yield PredictionError(
                measure=MEASURES[name], real=float(real), simulated=float(simulated.mean()), below=float(below)
            )


def _distance(check: Check) -> float:
    width = max(check.high - check.low, 1e-12)
    return max(check.low - check.real, check.real - check.high) / width


def _means(table: Ratings, name: str) -> Floats:
    index, n = getattr(table, name), getattr(table, f"n_{name}s")
    number = np.bincount(index, minlength=n)
    return np.asarray(np.bincount(index, weights=table.score, minlength=n) / np.maximum(number, 1))
