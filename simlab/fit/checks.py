"""Hold a fitted law against the ratings that it was fitted to, by what it would have answered at the same design."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from simlab.fit import moments
from simlab.fit.fast import Fit
from simlab.fit.pilot import Pilot
from simlab.fit.simulating import simulate
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
    found = [traits(table) for table in tables]
    grid = np.unique(np.quantile(fit.pilot.score, np.linspace(0, 0.999, 60)))
    survival = np.array([[(table.score > at).mean() for at in grid] for table in tables])
    means = [np.array([_means(table, name) for table in tables]) for name in ("rater", "system")]
    return Checks([_check(name, found) for name in found[0]], grid, survival, *means)


def _means(table: Pilot, name: str) -> Floats:
    index, n = getattr(table, name), getattr(table, f"n_{name}s")
    return np.asarray(np.bincount(index, weights=table.score, minlength=n) / np.bincount(index, minlength=n))


def _check(name: str, found: list[Mapping[str, float]]) -> Check:
    real, *simulated = (one[name] for one in found)
    low, middle, high = np.nanquantile(simulated, (INTERVAL[0], 0.5, INTERVAL[1])) if _any(simulated) else [np.nan] * 3
    return Check(name, float(real), float(middle), float(low), float(high))


def _any(values: list[float]) -> bool:
    return bool(np.isfinite(values).any())


def traits(table: Pilot) -> dict[str, float]:
    """Describe a table by what a study depends on: scores, raters, agreement, systems."""
    score, margins = table.score, moments.margins(table)
    single, shared = agreement(table)
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


def agreement(table: Pilot) -> tuple[float, float]:
    """Average Kendall's tau-b between rater pairs: per document, and over all documents they share.

    Only documents of which both rated every output count. Source: Riley et al. 2024, table 2.
    """
    shape = table.n_raters, table.n_documents, table.n_systems
    cell = np.ravel_multi_index((table.rater, table.document[table.item], table.system), shape)
    total = np.bincount(cell, weights=table.score, minlength=np.prod(shape)).reshape(shape)
    size = np.bincount(cell, minlength=np.prod(shape)).reshape(shape)
    full = (size == np.bincount(table.document, minlength=table.n_documents)[:, None]).all(2)
    single, shared = [], []
    for a in range(table.n_raters):
        for b in range(a):
            both = full[a] & full[b]
            if both.any():
                ranked = kendall_tau(np.round(total[a, both], 6), np.round(total[b, both], 6))
                single.append(np.nanmean(ranked) if np.isfinite(ranked).any() else np.nan)
                sums = np.round(total[a, both].sum(0), 6), np.round(total[b, both].sum(0), 6)
                shared.append(kendall_tau(*sums).item())
    return _mean(single), _mean(shared)


def _mean(values: list[float]) -> float:
    return float(np.nanmean(values)) if _any(values) else float("nan")


def kendall_tau(x: Floats, y: Floats) -> Floats:
    """Return Kendall's tau-b of each row of `x[..., unit]` and `y[..., unit]`; NaN where either ranks nothing.

    >>> kendall_tau(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])).round(3).item()
    0.333
    """
    first, second = np.triu_indices(x.shape[-1], k=1)
    up_x, up_y = np.sign(x[..., first] - x[..., second]), np.sign(y[..., first] - y[..., second])
    untied = np.sqrt(np.abs(up_x).sum(-1) * np.abs(up_y).sum(-1))
    return np.asarray(np.divide((up_x * up_y).sum(-1), untied, out=np.full_like(untied, np.nan), where=untied > 0))
