"""Estimate how a measure's true value is distributed over worlds, with the noise of studies removed.

`estimate_distribution` takes `values[world, study]`, the measure in each simulated study of each world (see
`world_values`), and returns quantiles over worlds and shares of worlds; `share_of_worlds_better` does so for two
designs.

The mean of a world's studies spreads more over worlds than its true value does. Means are drawn together around their
own until their variance is right (moments; Louis 1984, Ghosh 1992). What is wrong with the shape after that falls with
the number of studies, and the split-panel jackknife removes most of it: twice the statistic of all studies less that of
halves of them (Dhaene and Jochmans 2015; for quantiles and shares Jochmans and Weidner 2024). Errors come from a
bootstrap of worlds: a quantile has its percentiles, a share Wilson's interval with as many trials as have that error.
Where a quantile reaches an end of its range the interval goes as far inside as the studies of one world can miss.
Coverage is simulated in tests/comparing/test_world_distribution.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from simlab.analysis.means.intervals import wilson
from simlab.measures.labels import ANY, ValueRange
from simlab.measures.precision import LEVEL, is_share, unseen_probability
from simlab.rng import stream
from simlab.types import Floats, InputError, Ints

RESAMPLES = 1000
SPLITS = 4
"""Random splits of the studies into halves, over which the jackknife is averaged."""
LEAST_WORLDS = 20
"""Worlds that quantiles and shares need: a bootstrap of fewer is too narrow."""


class WorldStatistic(NamedTuple):
    """A quantile of, or a share among, the true values of worlds, with its standard error and 95 % interval."""

    value: float
    mcse: float
    low: float
    high: float


class WorldDistribution(NamedTuple):
    """Quantiles and shares over worlds, and the mean and standard deviation of their true values.

    `reliability` is the share of the variance of the worlds' means that is the worlds'. `worlds` have a value;
    `studies` is the least number of studies of one that has more than one.
    """

    quantiles: tuple[WorldStatistic, ...]
    shares: tuple[WorldStatistic, ...]
    mean: float
    sd: float
    reliability: float
    worlds: int
    studies: int


class _Panel(NamedTuple):
    """The mean of each world's studies, and the variance of its noise: `[world]`."""

    mean: Floats
    noise: Floats


class _Wanted(NamedTuple):
    """Statistics to estimate: probabilities of quantiles, thresholds of shares, and the range of the measure."""

    quantiles: Sequence[float]
    thresholds: Sequence[float]
    within: ValueRange


def estimate_distribution(
    values: Floats, quantiles: Sequence[float] = (), thresholds: Sequence[float] = (), within: ValueRange = ANY
) -> WorldDistribution:
    """Estimate quantiles of the worlds' true values, and for each threshold the share of worlds that reach it.

    `values[world, study]` average to the value of a world (NaN: there is no such study). `quantiles` are probabilities,
    `thresholds` values of the measure, and `within` is its range. Raises InputError where fewer than 20 worlds have a
    value, and where no world has two studies: noise cannot be told from worlds then.
    """
    values = values[np.isfinite(values).any(1)]
    n_studies = np.isfinite(values).sum(1)
    _refuse_few(n_studies)
    wanted, panel, rng = _Wanted(quantiles, thresholds, within), _panel(values), stream(0, "worlds", "distribution")
    halves = [half for _ in range(SPLITS) for half in _split(values, panel, rng)]
    rows = rng.integers(len(values), size=(RESAMPLES, len(values)))
    estimate = _statistics(panel, halves, np.arange(len(values))[None], wanted)[:, 0]
    resampled = _statistics(panel, halves, rows, wanted)
    mcse = resampled.std(1, ddof=1)
    low, high = np.quantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=1)
    n = len(quantiles)
    edge, shown = _resolution(panel, within), np.quantile(panel.mean, list(quantiles)).tolist()
    variance, between = float(panel.mean.var(ddof=1)), float(_estimate_variance(panel.mean, panel.noise))
    return WorldDistribution(
        tuple(
            _open_at_the_ends(WorldStatistic(*map(float, of)), mean, within, edge)
            for *of, mean in zip(estimate[:n], mcse[:n], low[:n], high[:n], shown, strict=True)
        ),
        tuple(
            _share(float(value), float(error), len(values)) for value, error in zip(estimate[n:], mcse[n:], strict=True)
        ),
        float(panel.mean.mean()),
        float(np.sqrt(between)),
        between / variance if variance > 0 else float("nan"),
        len(values),
        int(n_studies[n_studies > 1].min()),
    )


def share_of_worlds_better(
    values: Floats, others: Floats, by: float, *, less_is_better: bool = False, quantiles: Sequence[float] = ()
) -> WorldDistribution:
    """Estimate in what share of worlds a design is better than another by `by` or more: `.shares[0]` of the result.

    `values[world, study]` and `others[world, study]` are those of the two designs in the same worlds, study by study;
    studies that one of them lacks are left out. Quantiles are those of the difference (of the other from the design,
    where less is better). Raises InputError where the designs have other numbers of worlds, and as
    `estimate_distribution` does.
    """
    if len(values) != len(others):
        raise InputError(f"one design met {len(values)} worlds and the other {len(others)}; compare them in the same")
    n = min(values.shape[1], others.shape[1])
    difference = values[:, :n] - others[:, :n]
    return estimate_distribution(-difference if less_is_better else difference, quantiles, [by])


def _refuse_few(n_studies: Ints) -> None:
    if len(n_studies) < LEAST_WORLDS:
        raise InputError(
            f"{len(n_studies)} worlds have a value here, and a distribution over worlds needs {LEAST_WORLDS}; "
            f"run more of them (worlds={5 * LEAST_WORLDS})"
        )
    if (n_studies < 2).all():
        raise InputError(
            "each world has one study, so that the noise of studies cannot be told from the spread of worlds; "
            "run more of them (studies=20)"
        )


def _panel(values: Floats) -> _Panel:
    n = np.isfinite(values).sum(1)
    several = n > 1
    variance = np.full(len(values), np.nan)
    variance[several] = np.nanvar(values[several], axis=1, ddof=1)
    # A world with one study has the noise of the others.
    variance[~several] = np.nanmean(variance)
    return _Panel(np.nanmean(values, axis=1), variance / n)


def _split(values: Floats, panel: _Panel, rng: np.random.Generator) -> list[_Panel]:
    """Return the means over either half of the studies, with the noise that they have."""
    order = rng.permutation(values.shape[1])
    half = len(order) // 2
    n = np.isfinite(values).sum(1)
    panels = []
    for columns in (order[:half], order[half : 2 * half]):
        own = np.isfinite(values[:, columns]).sum(1)
        total = np.nansum(values[:, columns], axis=1)
        # A half that holds none of a world's studies has the mean of all, so that no world is lost.
        mean = np.where(own > 0, total / np.maximum(own, 1), panel.mean)
        # The noise of a mean is inverse to the number of studies in it.
        panels.append(_Panel(mean, panel.noise * n / np.where(own > 0, own, n)))
    return panels


def _statistics(panel: _Panel, halves: Sequence[_Panel], rows: Ints, wanted: _Wanted) -> Floats:
    """Return quantiles, then shares, `[statistic, resample]` of the worlds whose indices are `rows[resample, world]`.

    `halves` are panels of half of the studies each, for the jackknife.
    """
    whole = _estimate_panel(panel, rows, wanted)
    corrected = 2 * whole - sum(_estimate_panel(half, rows, wanted) for half in halves) / len(halves)
    n = len(wanted.quantiles)
    corrected[:n] = np.clip(corrected[:n], wanted.within.least, wanted.within.greatest)
    corrected[n:] = np.clip(corrected[n:], 0.0, 1.0)
    return np.asarray(corrected)


def _estimate_panel(panel: _Panel, rows: Ints, wanted: _Wanted) -> Floats:
    """Return the statistics `[statistic, resample]` of one panel: means shrunk to the variance of true values."""
    mean, noise = panel.mean[rows], panel.noise[rows]
    centre, spread = mean.mean(1, keepdims=True), mean.var(1, ddof=1, keepdims=True)
    kept = np.sqrt(_estimate_variance(mean, noise)[:, None] / np.where(spread > 0, spread, 1.0))
    drawn = np.clip(centre + kept * (mean - centre), wanted.within.least, wanted.within.greatest)
    shares = [(drawn >= threshold).mean(1) for threshold in wanted.thresholds]
    return np.array([*np.quantile(drawn, list(wanted.quantiles), axis=1), *shares]).reshape(-1, len(rows))


def _estimate_variance(mean: Floats, noise: Floats) -> Floats:
    """Return the variance of true values, by moments."""
    return np.asarray(np.maximum(mean.var(-1, ddof=1) - noise.mean(-1), 0.0))


def _resolution(panel: _Panel, within: ValueRange) -> float:
    """Return how far the true value of a world can be from an end that all its studies show; 0 but for shares."""
    noise = float(panel.noise.mean())
    if not is_share(within) or noise == 0:
        return 0.0
    # As many independent trials as have the noise that was found.
    trials = 1 + float((panel.mean * (1 - panel.mean)).mean()) / noise
    return unseen_probability(int(trials))


def _open_at_the_ends(bounds: WorldStatistic, shown: float, within: ValueRange, edge: float) -> WorldStatistic:
    """Widen the interval of a quantile where its world's studies all show an end of the range."""
    low, high = bounds.low, bounds.high
    if edge and within.greatest is not None and max(shown, high) >= within.greatest:
        low, high = min(low, within.greatest - edge), within.greatest
    if edge and within.least is not None and min(shown, low) <= within.least:
        low, high = within.least, max(high, within.least + edge)
    return bounds._replace(low=low, high=high)


def _share(value: float, mcse: float, worlds: int) -> WorldStatistic:
    # p (1 - p) / n is the variance of a share of n; solved for n, and never more than there are worlds.
    trials = min(value * (1 - value) / mcse**2, worlds) if mcse > 0 else worlds
    low, high = wilson(np.array([value]), np.array([max(trials, 1.0)]), 1 - LEVEL)
    return WorldStatistic(value, mcse, float(low[0]), float(high[0]))
