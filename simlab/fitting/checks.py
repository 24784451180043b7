"""Check a fitted law against the ratings that it was fitted to, by tables simulated at the same design.

Call `checks` on a law and its fit; it returns `FitChecks`, with a `Check` for each trait of a table: scores, systems,
raters, agreement, conclusions. A law that is right fails a check in at most 5 % of pilots, whatever the number of
traits: the limit is the one that 95 % of the simulated tables, each compared with the others, keep in all traits at
once (Westfall and Young 1993, single step).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import stdtrit

from simlab.answers.fit import PredictionError
from simlab.effort import current_effort
from simlab.fitting.laws import FittableLaw, Fitted
from simlab.fitting.parts import replace_scores
from simlab.rng import stream
from simlab.tables.rating_table import Ratings
from simlab.types import Bools, Floats, Ints

LEVEL = 0.05
"""Share of pilots of a right law that fail some check, at most."""
LEAST_TABLES = 0.9
"""A trait that fewer of the simulated tables show is not judged."""
SHARES = "share", "pairs", "halves"
"""How the names of traits begin that lie between 0 and 1."""
SHARE_MARGIN, SPREAD_MARGIN = 0.02, 0.05
"""What a law may miss on a table so large that it shows: a share by two points, a spread by 5 %."""
POINTS = (0.1, 0.25, 0.5, 0.75, 0.9, 0.97)
"""Quantiles of the pilot's scores at which tables are compared."""
COMMON_EDGE = 0.02
"""An end of the scale is looked at where so many of the pilot's scores lie there."""
# All pairs of fifteen systems; where there are more systems as many pairs are drawn.
MAX_PAIRS = 105
SPLITS = 10
"""How often documents are split into halves."""
FEWEST_DOCUMENTS = 6
"""With fewer documents there are no halves to hold against each other."""
TOLD_APART, STABLE, CONFIRMED = (
    "pairs told apart by a t test",
    "halves: all confirmed (SRP)",
    "halves: claims confirmed",
)
CONCLUSIONS = (TOLD_APART, STABLE, CONFIRMED)
"""Traits that are what a study of the pilot's size would report."""


MEASURES: Mapping[str, Literal["power", "SRP", "confirmed"]] = {
    TOLD_APART: "power",
    STABLE: "SRP",
    CONFIRMED: "confirmed",
}
"""What a study would report of the conclusions that are checked."""


class Check(NamedTuple):
    """A trait of real ratings beside the median of simulated ones and the interval that it must lie in."""

    name: str
    real: float
    simulated: float
    low: float
    high: float

    @property
    def inside(self) -> bool:
        """True if the real ratings lie within the interval."""
        return bool(self.low <= self.real <= self.high)


@dataclass(frozen=True, slots=True)
class FitChecks:
    """Checks of single traits, and what figures show: survival of scores, means of raters and systems.

    `erring` compares conclusions of a real study with simulated ones. `survival[table, score]` are the shares of scores
    above those of `grid`; like `raters[table, rater]` and `systems[table, system]` it has the real table first.
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
        return tuple(sorted((check for check in self.traits if not check.inside), key=_distance, reverse=True))

    @property
    def passed(self) -> int:
        """Count the traits in which the real ratings lie inside."""
        return sum(check.inside for check in self.traits)


def checks(law: FittableLaw, fitted: Fitted, seed: int = 0, n_tables: int | None = None) -> FitChecks:
    """Simulate `n_tables` tables at the pilot's design, from draws of the fit, and compare the real one with them."""
    rng, pilot = stream(seed, "fit", "checks"), fitted.ratings
    look = look_at(rng, pilot)
    tables = [pilot]
    for k in range(n_tables or current_effort().checked_tables):
        tables.append(replace_scores(pilot, law.answer(rng, fitted.effects[k % len(fitted.effects)], pilot)))
    summaries = [traits(table, look) for table in tables]
    values = np.array([list(summary.values()) for summary in summaries])
    judged = judge(list(summaries[0]), values, pilot)
    grid = np.unique(np.quantile(pilot.score, np.linspace(0, 0.999, 60)))
    survival = np.array([[(table.score > at).mean() for at in grid] for table in tables[:101]])
    means = [np.array([_means(table, name) for table in tables[:101]]) for name in ("rater", "system")]
    return FitChecks(tuple(judged), tuple(_prediction_errors(list(summaries[0]), values)), grid, survival, *means)


def judge(names: Sequence[str], values: Floats, pilot: Ratings) -> list[Check]:
    """Judge each trait of `values[table, trait]`, the real table first, all at once; return a check per trait."""
    real, simulated = values[0], values[1:]
    known = np.isfinite(real) & (np.isfinite(simulated).mean(0) >= LEAST_TABLES)
    if not known.any():
        return []
    simulated = simulated[:, known]
    middle = np.nanmedian(simulated, axis=0)
    # Each side has its own unit: traits near 0 or 1 are skewed, and one width would be too narrow on one side.
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
    # Other traits have no step, and a width of 0 would be divided by.
    return np.where(shares, 1 / len(pilot.score), 1e-9)


def _margins(names: Sequence[str], known: Bools, middle: Floats) -> Floats:
    """Return what each trait may be off by, however large the table is."""
    shares = np.array([name.startswith(SHARES) for name in names])[known]
    spreads = np.array(["sd" in name for name in names])[known]
    return np.where(shares, SHARE_MARGIN, np.where(spreads, SPREAD_MARGIN * np.abs(middle), 0.0))


def _prediction_errors(names: Sequence[str], values: Floats) -> Iterator[PredictionError]:
    for name in CONCLUSIONS:
        real, *rest = values[:, names.index(name)]
        simulated = np.array(rest)[np.isfinite(rest)]
        if np.isfinite(real) and len(simulated):
            # Ties count half, so that the share below is .5 on average for a right law, discrete traits included.
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


@dataclass(frozen=True, slots=True)
class CheckPoints:
    """Points at which tables are compared, as the pilot has it: thresholds, ends of the scale, halves of the documents.

    `first[split, document]` marks a half; `pairs[2, pair]` are pairs of systems; `shared[2, pair]` pairs of ratings of
    one output by two raters.
    """

    thresholds: tuple[float, ...]
    edges: tuple[float, ...]
    first: Bools
    pairs: Ints
    shared: Ints


def look_at(rng: np.random.Generator, pilot: Ratings) -> CheckPoints:
    """Choose, from the pilot, the thresholds, ends, halves and pairs at which all tables of its design are compared."""
    # Thresholds are scores that occur, so that a share above one is a share of whole categories.
    values = np.quantile(pilot.score, POINTS, method="inverted_cdf")
    edges = {float(pilot.score.min()), float(pilot.score.max()), 0.0}
    common = sorted(edge for edge in edges if (pilot.score == edge).mean() >= COMMON_EDGE)
    thresholds = sorted(
        {float(value) for value in values} - {float(pilot.score.max())} - {common[0] if common else None}
    )
    n = pilot.n_documents
    first = np.argsort(rng.random((SPLITS, n)), axis=1) < n // 2
    pairs = np.array(np.triu_indices(pilot.n_systems, 1))
    if pairs.shape[1] > MAX_PAIRS:
        pairs = pairs[:, rng.choice(pairs.shape[1], MAX_PAIRS, replace=False)]
    return CheckPoints(tuple(thresholds), tuple(common), first, pairs, _list_rater_pairs(pilot))


def traits(table: Ratings, look: CheckPoints) -> dict[str, float]:
    """Return the traits of a table by name, at the points `look`; NaN for a trait that its design cannot show."""
    score = table.score
    means = _mean_by_index(table.system, score, table.n_systems)
    document = table.document[table.item]
    cell, rated = _cells(table, document)
    return {
        "mean score": float(score.mean()),
        "sd of scores": float(score.std()),
        **{f"share of scores at {edge:g}": float((score == edge).mean()) for edge in look.edges},
        **{f"share of scores above {at:g}": float((score > at).mean()) for at in look.thresholds},
        "spread of systems (sd)": _sd(means),
        "spread of documents (sd)": _sd(_mean_by_index(document, score - means[table.system], table.n_documents)),
        "spread of raters (sd)": _sd(_mean_by_index(table.rater, score - means[table.system], table.n_raters)),
        "rater x system (sd)": _interaction(table.rater, table.system, score, table.n_raters, table.n_systems),
        "system x document (sd)": _interaction(document, table.system, score, table.n_documents, table.n_systems),
        "scatter of scores, worse systems over better": _scatter(table, means),
        **_agreement(table, look.shared),
        **conclusions(cell, rated, look),
    }


def _mean_by_index(index: Ints, score: Floats, n: int) -> Floats:
    number = np.bincount(index, minlength=n)
    total = np.bincount(index, weights=score, minlength=n)
    return np.asarray(np.divide(total, number, out=np.full(n, np.nan), where=number > 0))


def _sd(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.std(ddof=1)) if len(known) > 1 else float("nan")


def _interaction(row: Ints, column: Ints, score: Floats, n_rows: int, n_columns: int) -> float:
    """Return the sd of cell means after rows and columns are taken out, as least squares has it in a few sweeps."""
    if n_rows < 2 or n_columns < 2:
        return float("nan")
    left = score - score.mean()
    for _ in range(3):
        left = left - _mean_by_index(row, left, n_rows)[row]
        left = left - _mean_by_index(column, left, n_columns)[column]
    cells = _mean_by_index(row * n_columns + column, left, n_rows * n_columns)
    # Rows and columns take n_rows + n_columns - 1 parameters: of fewer cells nothing is left over.
    return _sd(cells) if np.isfinite(cells).sum() > n_rows + n_columns else float("nan")


def _scatter(table: Ratings, means: Floats) -> float:
    """Return the ratio of sds of scores about their systems' means, of the worse half of systems to the better."""
    if table.n_systems < 4:
        return float("nan")
    order = np.argsort(means if not table.lower_is_better else -means)
    worse = np.isin(table.system, order[: table.n_systems // 2])
    left = table.score - means[table.system]
    low, high = left[worse].std(), left[~worse].std()
    return float(low / high) if high > 0 else float("nan")


def _list_rater_pairs(table: Ratings) -> Ints:
    """List pairs of ratings of one output by two raters, `[2, pair]`: neighbours in the order of outputs."""
    output = table.item.astype(np.int64) * table.n_systems + table.system
    order = np.lexsort((table.rater, output))
    # Neighbours only: m ratings of an output give m - 1 pairs, not m (m - 1) / 2, so that no output dominates.
    first, second = order[:-1], order[1:]
    same = (output[first] == output[second]) & (table.rater[first] != table.rater[second])
    return np.stack([first[same], second[same]])


def _agreement(table: Ratings, shared: Ints) -> dict[str, float]:
    """Return how far two raters of an output are apart, once their leniency is taken out, and how they rank outputs."""
    nothing = {"two raters of an output differ by (sd)": float("nan"), "correlation of two raters": float("nan")}
    if shared.shape[1] < 10:
        return nothing
    own = table.score - _mean_by_index(table.rater, table.score, table.n_raters)[table.rater]
    first, second = own[shared[0]], own[shared[1]]
    if first.std() == 0 or second.std() == 0:
        return nothing
    return dict(zip(nothing, (float((first - second).std()), float(np.corrcoef(first, second)[0, 1])), strict=True))


def _cells(table: Ratings, document: Ints) -> tuple[Floats, Bools]:
    """Return mean scores `[document, system]`, and where there are any."""
    shape = table.n_documents, table.n_systems
    mean = _mean_by_index(document * table.n_systems + table.system, table.score, shape[0] * shape[1]).reshape(shape)
    return np.nan_to_num(mean), np.isfinite(mean)


def conclusions(cell: Floats, rated: Bools, look: CheckPoints) -> dict[str, float]:
    """Test all pairs of systems by a paired t test over documents: on all, and on one half held against the other.

    `cell[document, system]` are mean scores, `rated` marks those that there are. Returns `CONCLUSIONS` by name.
    """
    i, j = look.pairs
    if cell.shape[0] < FEWEST_DOCUMENTS or not len(i):
        return dict.fromkeys(CONCLUSIONS, float("nan"))
    both = rated[:, i] & rated[:, j]
    difference = np.where(both, cell[:, i] - cell[:, j], 0.0)
    wanted = np.concatenate([np.ones((1, len(cell)), bool), look.first, ~look.first])
    claims, sign = _claims(wanted, difference, both)
    claimed, claims, (first, second) = claims[:1], claims[1:], np.split(sign[1:], 2)
    again = claims & np.tile(first == second, (2, 1))
    n_claims = claims.sum()
    values = claimed.mean(), (again == claims).all(1).mean(), again.sum() / n_claims if n_claims else float("nan")
    return dict(zip(CONCLUSIONS, map(float, values), strict=True))


@cache
def _quantiles(most: int) -> Floats:
    """Return the quantile of a two-sided t test for each number of degrees of freedom up to `most`."""
    return np.asarray(stdtrit(np.maximum(np.arange(most + 1), 1), 1 - LEVEL / 2))


def _claims(half: Bools, difference: Floats, both: Bools) -> tuple[Bools, Floats]:
    """Return which pairs are significant in each half `[split, pair]`, and the signs of their differences."""
    wanted = half.astype(float)
    n = wanted @ both.astype(float)
    mean = np.divide(wanted @ difference, n, out=np.zeros_like(n), where=n > 0)
    square = np.divide(wanted @ difference**2, n, out=np.zeros_like(n), where=n > 0)
    variance = np.maximum(square - mean**2, 0) * n / np.maximum(n - 1, 1)
    limit = _quantiles(both.shape[0])[np.maximum(n - 1, 1).astype(int)]
    # Sums of equal scores differ in their last bits: without the hair such pairs are significant, or have a sign.
    return (n > 2) & (np.abs(mean) * np.sqrt(n) > limit * np.sqrt(variance) + 1e-12), np.sign(mean.round(12))
