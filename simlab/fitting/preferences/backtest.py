"""Hold predictions from some items of a table of preferences against studies on the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from simlab.effort import Chains
from simlab.fitting.predictions import prediction_interval
from simlab.fitting.preferences.checks import simulate
from simlab.fitting.preferences.fitting import PreferenceFit, fitted
from simlab.fitting.preferences.pilot import Compared, Pilot, connected, pilot_of
from simlab.fitting.preferences.studies import Measured, measured, sizes
from simlab.rng import stream
from simlab.types import Bools, Floats, InputError, Ints

FEWEST_ITEMS = 5
"""A study has at least so many items."""

INTERVAL = (0.05, 0.95)


class PreferenceRecord(NamedTuple):
    """Compare one prediction with what studies on the comparisons that were held out gave.

    `design` is `same raters, other items` (what a repetition has in common), `items` how many each study asks about.
    `low` and `high` bound the measure itself, the noise of simulated studies taken out; `judged_low` and `judged_high`
    bound what is observed, on a table of that size, by so many studies. NaN is what is not known.
    """

    split: int
    target: str
    method: str
    measure: str
    design: str
    items: int
    predicted: float
    low: float
    high: float
    observed: float
    observed_mcse: float
    judged_low: float
    judged_high: float

    @property
    def held(self) -> bool:
        """Tell whether the interval holds what was observed."""
        return bool(self.judged_low <= self.observed <= self.judged_high)


class PreferenceSize(NamedTuple):
    """Say how much is simulated: worlds of a prediction, and pairs of studies in each."""

    worlds: int
    repetitions: int


FULL, QUICK = PreferenceSize(200, 60), PreferenceSize(60, 20)


def backtest(
    preferences: Compared,
    *,
    pilot_share: float,
    splits: int,
    seed: int,
    size: PreferenceSize = FULL,
    chains: Chains | None = None,
) -> Iterator[PreferenceRecord]:
    """Split the items, fit to the one part, and predict what studies on the other conclude; go through the records.

    Raises InputError before anything is fitted for a share that leaves too few items, and for a table whose pilots do
    not hold the systems together.
    """
    whole = pilot_of(preferences)
    parts = [split(whole, pilot_share, number, seed) for number in range(splits)]
    for number, in_pilot in enumerate(parts):
        yield from one_split(whole, in_pilot, number, seed, size, chains)


def split(whole: Pilot, share: float, number: int, seed: int) -> Bools:
    """Draw the items of a pilot; return which comparisons are theirs.

    Raises InputError where pilot or rest are too small, or the pilot's systems fall into groups.
    """
    if not 0 < share < 1:
        raise InputError(f"--pilot-share {share} must lie between 0 and 1")
    n = round(whole.n_items * share)
    left = whole.n_items - n
    if n < 2 or left < 2 * FEWEST_ITEMS:
        raise InputError(
            f"--pilot-share {share} of {whole.n_items} items leaves {left}; the pilot needs 2 at least, and pairs of "
            f"studies on the others {2 * FEWEST_ITEMS}"
        )
    chosen = stream(seed, "backtest", "preferences", "split", number).permutation(whole.n_items)[:n]
    in_pilot = np.isin(whole.item, chosen)
    if len(connected(whole.where(in_pilot))) > 1:
        raise InputError(
            f"--pilot-share {share}: the comparisons of {n} items do not hold all {whole.n_systems} systems together; "
            "raise it"
        )
    return in_pilot


def one_split(
    whole: Pilot, in_pilot: Bools, number: int, seed: int, size: PreferenceSize, chains: Chains | None = None
) -> Iterator[PreferenceRecord]:
    """Fit to a pilot and predict studies on the other items, by the fit and naively."""
    pilot, rest = whole.where(in_pilot), whole.where(~in_pilot)
    fit = fitted(pilot, seed + 1000 * number, chains=chains)
    for method, worlds in (("fit", fitted_tables), ("naive", naive_tables)):
        rng = stream(seed, "backtest", "preferences", "worlds", number, method)
        tables = worlds(rng, fit, rest, size.worlds)
        yield from records(tables, rest, number, method, seed, size)


def fitted_tables(rng: np.random.Generator, fit: PreferenceFit, design: Pilot, n: int) -> Ints:
    """Draw what a fit lets one expect of other items, `[table, comparison]`; the raters are those of the pilot."""
    return np.array([simulate(rng, fit, k % fit.n_draws, design) for k in range(n)])


def naive_tables(rng: np.random.Generator, fit: PreferenceFit, design: Pilot, n: int) -> Ints:
    """Draw comparisons by each pair's shares in the pilot, as if items and raters were all alike."""
    pilot, n_pairs = fit.pilot, design.n_systems * (design.n_systems - 1) // 2
    counts = np.ones((n_pairs, 3))
    np.add.at(counts, (pilot.pair, pilot.outcome), 1)
    tables = []
    for _ in range(n):
        weight = rng.standard_gamma(counts)
        below = np.cumsum(weight / weight.sum(1, keepdims=True), axis=1)[design.pair, :2]
        tables.append((rng.random(len(design.pair))[:, None] > below).sum(1))
    return np.array(tables)


def records(
    tables: Ints, rest: Pilot, number: int, method: str, seed: int, size: PreferenceSize
) -> Iterator[PreferenceRecord]:
    """Carry out the same studies on the real comparisons and on drawn ones, and compare."""
    every = np.concatenate([rest.outcome[None], tables])
    for n_items in sizes(rest.n_items, FEWEST_ITEMS):
        rng = stream(seed, "backtest", "preferences", "studies", number, n_items)
        for measure, found in measured(rng, rest, every, n_items, size.repetitions).items():
            where = number, "held_out", method, measure, "same raters, other items", n_items
            yield PreferenceRecord(*where, *compared(measure, found))


def compared(measure: str, found: Measured) -> Sequence[float]:
    """Return prediction and interval, what was observed with its error, and the interval that this must lie in."""
    value, error = found.value[1:], found.error[1:]
    known = np.isfinite(value)
    observed = float(found.value[0]), float(found.error[0])
    if known.sum() < 2:
        return float("nan"), float("nan"), float("nan"), *observed, float("nan"), float("nan")
    judged = np.quantile(value[known], INTERVAL, method="weibull")
    own = _within(measure, prediction_interval(value[known], error[known]))
    return float(value[known].mean()), *own, *observed, float(judged[0]), float(judged[1])


BOUNDS: Mapping[str, tuple[float, float]] = {"kendall": (-1.0, 1.0)}
"""What a measure lies between, if not 0 and 1."""


def _within(measure: str, interval: tuple[float, float]) -> tuple[float, float]:
    low, high = BOUNDS.get(measure, (0.0, 1.0))
    return max(interval[0], low), min(interval[1], high)


def summary(records: Sequence[PreferenceRecord]) -> list[dict[str, float | str | int]]:
    """Sum up by method and measure: mean absolute error, bias, share of intervals that hold, mean width."""
    rows: list[dict[str, float | str | int]] = []
    known = [one for one in records if np.isfinite(one.predicted) and np.isfinite(one.observed)]
    for method, measure in dict.fromkeys((one.method, one.measure) for one in known):
        own = [one for one in known if (one.method, one.measure) == (method, measure)]
        error: Floats = np.array([one.predicted - one.observed for one in own])
        numbers = {"mae": np.abs(error).mean(), "bias": error.mean(), "coverage": np.mean([one.held for one in own])}
        numbers["width"] = np.mean([one.high - one.low for one in own])
        named: dict[str, float | str | int] = {"method": method, "measure": measure, "n": len(own)}
        rows.append(named | {name: float(value) for name, value in numbers.items()})
    return rows
