"""Hold a fitted law against the ratings that it was fitted to, by what it would have answered at the same design."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from simlab.fitting.mqm import moments
from simlab.fitting.mqm.fast import Fit
from simlab.fitting.mqm.pilot import Pilot
from simlab.fitting.mqm.simulating import simulate
from simlab.rng import stream
from simlab.types import Floats

SHARES = (0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
INTERVAL = (0.05, 0.95)


class Check(NamedTuple):
    """Compare a trait of real ratings with the median and the 90 % interval of simulated ones."""

    trait: str
    real: float
    simulated: float
    low: float
    high: float

    @property
    def inside(self) -> bool:
        """Tell whether the real ratings lie within the interval."""
        return bool(self.low <= self.real <= self.high)


class Checks(NamedTuple):
    """Hold the checks of single traits, and what figures show: survival of scores, means of raters and systems.

    `survival[table, score]`, `raters[table, rater]` and `systems[table, system]` have the real table first.
    """

    traits: list[Check]
    grid: Floats
    survival: Floats
    raters: Floats
    systems: Floats


def checks(fit: Fit, seed: int = 0, n_tables: int = 100) -> Checks:
    """Simulate tables at the pilot's design, each from a draw of the parameters, and compare them with the real one."""
    rng = stream(seed, "fit", "checks")
    tables = [fit.pilot]
    tables += [simulate(rng, fit.effects[k % len(fit.effects)], fit.pilot) for k in range(n_tables)]
    summaries = [traits(table) for table in tables]
    grid = np.unique(np.quantile(fit.pilot.score, np.linspace(0, 0.999, 60)))
    survival = np.array([[(table.score > at).mean() for at in grid] for table in tables])
    means = [np.array([_means(table, name) for table in tables]) for name in ("rater", "system")]
    return Checks([_check(name, summaries) for name in summaries[0]], grid, survival, *means)


def _means(table: Pilot, name: str) -> Floats:
    index, n = getattr(table, name), getattr(table, f"n_{name}s")
    return np.asarray(np.bincount(index, weights=table.score, minlength=n) / np.bincount(index, minlength=n))


def _check(name: str, summaries: Sequence[Mapping[str, float]]) -> Check:
    real, *simulated = (one[name] for one in summaries)
    low, middle, high = np.nanquantile(simulated, (INTERVAL[0], 0.5, INTERVAL[1])) if _any(simulated) else [np.nan] * 3
    return Check(name, float(real), float(middle), float(low), float(high))


def _any(values: list[float]) -> bool:
    return bool(np.isfinite(values).any())


def traits(table: Pilot) -> dict[str, float]:
    """Describe a table by what a study depends on: scores, raters, agreement, systems."""
    score, margins = table.score, moments.margins(table)
    single, shared = margins.pairs[-2:]
    return {
        "mean score": score.mean(),
        "sd of scores": score.std(),
        "share of zeros": (score == 0).mean(),
        **{f"{100 * share:g} % of scores up to": np.quantile(score, share) for share in SHARES},
        "errors per segment": table.counts.sum(0).mean(),
        "spread of systems (sd of log means)": margins.system.std(),
        "spread of raters (sd of log factors)": margins.rater.std(),
        "rater by system (sd of log ratios)": margins.taste.std(),
        "Kendall's tau per document": single,
        "Kendall's tau over shared documents": shared,
    }
