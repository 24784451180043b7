"""Compare predictions from some items of a table of preferences with studies on its other items.

Call `backtest` on a table; it yields a `Prediction` for each measure, size of study, split and method. A study asks
about some items, about each two outputs once; its repetition asks the same raters about other items. Many simulated
tables are computed side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from simlab.analysis.decisions import win_probability
from simlab.answers.backtest import NOTHING_CLAIMED, Measure, Method, Prediction
from simlab.answers.fit import PREFERENCE
from simlab.effort import ChainEffort
from simlab.fitting.predictions import prediction_interval
from simlab.fitting.preferences.checks import simulate
from simlab.fitting.preferences.fitting import PreferenceFit, fit_pilot
from simlab.fitting.preferences.pilot import ComparisonTable, PreferencePilot, build_pilot, find_groups
from simlab.rng import stream
from simlab.types import Array, Bools, Floats, InputError, Ints

FEWEST_ITEMS = 5
"""A study has at least so many items."""
INTERVAL = (0.05, 0.95)
"""Quantiles of tables: a 90 % interval."""
BOUNDS: Mapping[str, tuple[float, float]] = {"kendall": (-1.0, 1.0)}
"""What a measure lies between, if not 0 and 1."""
LEVEL = 0.05
"""Significance level of a study's verdicts."""
Ratio = tuple[Floats, Floats]
"""Numerator and denominator of a measure, `[table]`, of one pair of studies."""


class PreferenceSize(NamedTuple):
    """Amount of simulation: worlds of a prediction, and pairs of studies in each."""

    worlds: int
    repetitions: int


FULL, QUICK = PreferenceSize(200, 60), PreferenceSize(60, 20)
"""Amounts of simulation of a backtest, and of a quick look."""


def backtest(
    preferences: ComparisonTable,
    *,
    pilot_share: float,
    splits: int,
    seed: int,
    size: PreferenceSize = FULL,
    chains: ChainEffort | None = None,
) -> Iterator[Prediction]:
    """Split the items, fit to one part, predict studies' conclusions on the other; yield predictions and outcomes.

    Raises InputError before anything is fitted for a share that leaves too few items, and for a table whose pilots do
    not hold the systems together.
    """
    whole = build_pilot(preferences)
    parts = [split(whole, pilot_share, number, seed) for number in range(splits)]
    for number, in_pilot in enumerate(parts):
        yield from predict_split(whole, in_pilot, number, seed, size, chains)


def split(whole: PreferencePilot, share: float, number: int, seed: int) -> Bools:
    """Draw the items of a pilot, a `share` of all; return which comparisons are of these, `[comparison]`.

    Raises InputError where pilot or rest are too small, or the pilot's systems fall into groups that were not compared.
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
    if len(find_groups(whole.select_comparisons(in_pilot))) > 1:
        raise InputError(
            f"--pilot-share {share}: the comparisons of {n} items do not hold all {whole.n_systems} systems together; "
            "raise it"
        )
    return in_pilot


def predict_split(
    whole: PreferencePilot,
    in_pilot: Bools,
    number: int,
    seed: int,
    size: PreferenceSize,
    chains: ChainEffort | None = None,
) -> list[Prediction]:
    """Fit to the comparisons `in_pilot`; predict studies on the other items by the fit and naively."""
    pilot, rest = whole.select_comparisons(in_pilot), whole.select_comparisons(~in_pilot)
    fit = fit_pilot(pilot, seed + 1000 * number, chains=chains)
    methods: Mapping[Method, Callable[..., Ints]] = {"fit": fitted_tables, "naive": naive_tables}
    predictions: list[Prediction] = []
    for method, worlds in methods.items():
        rng = stream(seed, "backtest", "preferences", "worlds", number, method)
        predictions += compare(worlds(rng, fit, rest, size.worlds), rest, number, method, seed, size)
    return predictions


def fitted_tables(rng: np.random.Generator, fit: PreferenceFit, design: PreferencePilot, n: int) -> Ints:
    """Draw n tables of outcomes on other items from a fit, `[table, comparison]`; the raters are those of the pilot."""
    return np.array([simulate(rng, fit, k % fit.n_draws, design) for k in range(n)])


def naive_tables(rng: np.random.Generator, fit: PreferenceFit, design: PreferencePilot, n: int) -> Ints:
    """Draw n tables of outcomes, `[table, comparison]`, by each pair's shares in the pilot: all items, raters alike."""
    pilot, n_pairs = fit.pilot, design.n_systems * (design.n_systems - 1) // 2
    # The uniform Dirichlet prior of Deriu et al. 2023: no outcome is impossible.
    counts = np.ones((n_pairs, 3))
    np.add.at(counts, (pilot.pair, pilot.outcome), 1)
    tables = []
    for _ in range(n):
        # Gamma draws over their sum are a Dirichlet draw.
        weight = rng.standard_gamma(counts)
        below = np.cumsum(weight / weight.sum(1, keepdims=True), axis=1)[design.pair, :2]
        tables.append((rng.random(len(design.pair))[:, None] > below).sum(1))
    return np.array(tables)


def compare(
    tables: Ints, rest: PreferencePilot, number: int, method: Method, seed: int, size: PreferenceSize
) -> Iterator[Prediction]:
    """Carry out the same studies on the real comparisons `rest` and on drawn `tables[table, comparison]`, and compare.

    Outputs are compared side by side: items are what a study counts, each pair of outputs is compared once.
    """
    every = np.concatenate([rest.outcome[None], tables])
    for n_items in sizes(rest.n_items, FEWEST_ITEMS):
        rng = stream(seed, "backtest", "preferences", "studies", number, n_items)
        for measure, measured in measure_tables(rng, rest, every, n_items, size.repetitions).items():
            numbers = _compare_measure(measure, measured)
            yield Prediction(
                split=number,
                target="held_out",
                method=method,
                law=PREFERENCE if method == "fit" else "",
                grouping="pairs",
                normalization="none",
                documents=n_items,
                ratings_per_item=1,
                repetition="other documents",
                measure=measure,
                unknown="" if np.isfinite(numbers["observed"]) else NOTHING_CLAIMED,
                **numbers,
            )


def _compare_measure(measure: str, measured: MeasuredTables) -> dict[str, float]:
    """Return prediction and interval, what was observed with its error, and the interval that this must lie in."""
    value, error = measured.value[1:], measured.error[1:]
    known = np.isfinite(value)
    names = ("predicted", "low", "high", "judged_low", "judged_high")
    numbers = dict.fromkeys(names, float("nan"))
    if known.sum() > 1:
        own = _clip_interval(measure, prediction_interval(value[known], error[known]))
        # The real table is studied as often as each simulated one: its value has the same noise, which stays in.
        judged = np.quantile(value[known], INTERVAL, method="weibull")
        numbers = dict(zip(names, (float(value[known].mean()), *own, *map(float, judged)), strict=True))
    return numbers | {"observed": float(measured.value[0]), "observed_mcse": float(measured.error[0])}


def _clip_interval(measure: str, interval: tuple[float, float]) -> tuple[float, float]:
    low, high = BOUNDS.get(measure, (0.0, 1.0))
    return max(interval[0], low), min(interval[1], high)


class StudyVerdicts(NamedTuple):
    """Verdicts of two studies on pairs: `verdict[table, study, pair]` and `direction`, +1, 0 or -1."""

    verdict: Floats
    direction: Floats


class MeasuredTables(NamedTuple):
    """A measure of each table, and its standard error `[table]` from the number of pairs of studies; NaN: not known."""

    value: Floats
    error: Floats


def measure_tables(
    rng: np.random.Generator, design: PreferencePilot, outcome: Ints, n_items: int, repetitions: int
) -> Mapping[Measure, MeasuredTables]:
    """Carry out `repetitions` pairs of studies of `n_items` items each on `outcome[table, comparison]`; measure them.

    All tables are asked about the same comparisons. Verdicts are those of `decision=human_only` with one look at level
    .05. Returns values by measure.
    """
    verdicts = [_two_studies(rng, design, outcome, n_items) for _ in range(repetitions)]
    return {name: _ratio([measure(verdict) for verdict in verdicts]) for name, measure in MEASURES.items()}


def _two_studies(rng: np.random.Generator, design: PreferencePilot, outcome: Ints, n_items: int) -> StudyVerdicts:
    order = rng.permutation(design.n_items)
    once = _choose_comparisons(rng, design)
    tables = [_counts(design, outcome, once, items) for items in (order[:n_items], order[n_items : 2 * n_items])]
    counts = np.stack(tables, axis=1)
    theta = win_probability(counts)
    verdict = (theta > 1 - LEVEL / 2).astype(float) - (theta < LEVEL / 2)
    return StudyVerdicts(verdict, np.sign(counts[..., 0] - counts[..., 2]))


def _choose_comparisons(rng: np.random.Generator, design: PreferencePilot) -> Ints:
    """Choose one comparison of each two outputs, at random."""
    order = rng.permutation(len(design.item))
    outputs = design.item * (design.n_systems**2) + design.pair
    return np.asarray(order[np.unique(outputs[order], return_index=True)[1]])


def _counts(design: PreferencePilot, outcome: Ints, once: Ints, items: Ints) -> Array:
    """Count outcomes `[table, pair, outcome]` of the comparisons of some items."""
    wanted = np.zeros(design.n_items, bool)
    wanted[items] = True
    rows = once[wanted[design.item[once]]]
    n_pairs = design.n_systems * (design.n_systems - 1) // 2
    pairs = csr_matrix((np.ones(len(rows)), (design.pair[rows], np.arange(len(rows)))), shape=(n_pairs, len(rows)))
    outcomes = outcome[:, rows].T
    return np.stack([(pairs @ (outcomes == code).astype(float)).T for code in range(3)], axis=-1)


def _significant_share(verdicts: StudyVerdicts) -> Ratio:
    share = np.abs(verdicts.verdict).mean((1, 2))
    return share, np.ones_like(share)


def _confirmed_share(verdicts: StudyVerdicts) -> Ratio:
    again = verdicts.verdict * verdicts.direction[:, ::-1]
    return (again > 0).sum((1, 2)).astype(float), np.abs(verdicts.verdict).sum((1, 2))


def _srp(verdicts: StudyVerdicts) -> Ratio:
    again = verdicts.verdict * verdicts.direction[:, ::-1]
    stable = ((again > 0) | (verdicts.verdict == 0)).all(2).mean(1)
    return stable, np.ones_like(stable)


def _kendall(verdicts: StudyVerdicts) -> Ratio:
    untied = np.sqrt(np.abs(verdicts.direction).sum(2).prod(1))
    tau = verdicts.direction.prod(1).sum(1)
    return np.divide(tau, untied, out=np.zeros_like(tau), where=untied > 0), (untied > 0).astype(float)


MEASURES: Mapping[Measure, Callable[[StudyVerdicts], Ratio]] = {
    "significant_share": _significant_share,
    "confirmed": _confirmed_share,
    "srp": _srp,
    "kendall": _kendall,
}
"""As `simlab.measures.stability` defines them, between studies of the same raters on other items."""


def _ratio(parts: list[Ratio]) -> MeasuredTables:
    """Sum up pairs of studies: a ratio of means, and its standard error by influence values."""
    above, below = (np.array(of) for of in zip(*parts, strict=True))
    mean = below.mean(0)
    known = mean > 0
    value = np.divide(above.mean(0), mean, out=np.full(len(mean), np.nan), where=known)
    influence = np.divide(above - value * below, mean, out=np.full(above.shape, np.nan), where=known)
    return MeasuredTables(value, influence.std(0, ddof=1) / np.sqrt(len(parts)))


def sizes(n_items: int, fewest: int) -> Iterator[int]:
    """Yield numbers of items of a study: a sixth, a third and a half of `n_items`, at least `fewest`."""
    seen = {max(fewest, n_items * part // 6) for part in (1, 2, 3)}
    yield from sorted(size for size in seen if 2 * size <= n_items)
