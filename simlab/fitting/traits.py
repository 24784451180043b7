"""Describe a table of ratings by what a study depends on: scores, systems, raters, agreement, conclusions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import stdtrit

from simlab.tables.held import Ratings
from simlab.types import Bools, Floats, Ints

POINTS = (0.1, 0.25, 0.5, 0.75, 0.9, 0.97)
COMMON_EDGE = 0.02
"""An end of the scale is looked at where so many of the pilot's scores lie there."""
MAX_PAIRS, MAX_RATER_PAIRS = 105, 200
SPLITS = 10
FEWEST_DOCUMENTS = 6
"""With fewer documents there are no halves to hold against each other."""
LEVEL = 0.05
TOLD_APART, STABLE, CONFIRMED = (
    "pairs told apart by a t test",
    "halves: all confirmed (SRP)",
    "halves: claims confirmed",
)
CONCLUSIONS = (TOLD_APART, STABLE, CONFIRMED)
"""Traits that are what a study of the pilot's size would report."""


@dataclass(frozen=True, slots=True)
class Look:
    """Say where tables are looked at, as the pilot has it: thresholds, ends of the scale, halves of the documents.

    `first[split, document]` marks a half; `pairs[2, pair]` are pairs of systems; `raters[2, pair]` pairs of raters who
    share outputs.
    """

    thresholds: tuple[float, ...]
    edges: tuple[float, ...]
    first: Bools
    pairs: Ints
    shared: Ints


def look_at(rng: np.random.Generator, pilot: Ratings) -> Look:
    """Fix where all tables of a pilot's design are looked at."""
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
    return Look(tuple(thresholds), tuple(common), first, pairs, _of_one_output(pilot))


def traits(table: Ratings, look: Look) -> dict[str, float]:
    """Describe a table; NaN for what its design cannot show."""
    score = table.score
    means = _mean_by(table.system, score, table.n_systems)
    document = table.document[table.item]
    cell, held = _cells(table, document)
    return {
        "mean score": float(score.mean()),
        "sd of scores": float(score.std()),
        **{f"share of scores at {edge:g}": float((score == edge).mean()) for edge in look.edges},
        **{f"share of scores above {at:g}": float((score > at).mean()) for at in look.thresholds},
        "spread of systems (sd)": _sd(means),
        "spread of documents (sd)": _sd(_mean_by(document, score - means[table.system], table.n_documents)),
        "spread of raters (sd)": _sd(_mean_by(table.rater, score - means[table.system], table.n_raters)),
        "rater x system (sd)": _interaction(table.rater, table.system, score, table.n_raters, table.n_systems),
        "system x document (sd)": _interaction(document, table.system, score, table.n_documents, table.n_systems),
        "scatter of scores, worse systems over better": _scatter(table, means),
        **_agreement(table, look.shared),
        **conclusions(cell, held, look),
    }


def _mean_by(index: Ints, score: Floats, n: int) -> Floats:
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
        left = left - _mean_by(row, left, n_rows)[row]
        left = left - _mean_by(column, left, n_columns)[column]
    cells = _mean_by(row * n_columns + column, left, n_rows * n_columns)
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


def _of_one_output(table: Ratings) -> Ints:
    """List pairs of ratings of one output by two raters, `[2, pair]`: neighbours in the order of outputs."""
    output = table.item.astype(np.int64) * table.n_systems + table.system
    order = np.lexsort((table.rater, output))
    first, second = order[:-1], order[1:]
    same = (output[first] == output[second]) & (table.rater[first] != table.rater[second])
    return np.stack([first[same], second[same]])


def _agreement(table: Ratings, shared: Ints) -> dict[str, float]:
    """Say how far two raters of an output are apart, once their leniency is taken out, and how they rank outputs."""
    nothing = {"two raters of an output differ by (sd)": float("nan"), "correlation of two raters": float("nan")}
    if shared.shape[1] < 10:
        return nothing
    own = table.score - _mean_by(table.rater, table.score, table.n_raters)[table.rater]
    first, second = own[shared[0]], own[shared[1]]
    if first.std() == 0 or second.std() == 0:
        return nothing
    return dict(zip(nothing, (float((first - second).std()), float(np.corrcoef(first, second)[0, 1])), strict=True))


def _cells(table: Ratings, document: Ints) -> tuple[Floats, Bools]:
    """Return mean scores `[document, system]`, and where there are any."""
    shape = table.n_documents, table.n_systems
    mean = _mean_by(document * table.n_systems + table.system, table.score, shape[0] * shape[1]).reshape(shape)
    return np.nan_to_num(mean), np.isfinite(mean)


def conclusions(cell: Floats, held: Bools, look: Look) -> dict[str, float]:
    """Test all pairs of systems by a paired t test over documents: on all, and on one half held against the other."""
    i, j = look.pairs
    if cell.shape[0] < FEWEST_DOCUMENTS or not len(i):
        return dict.fromkeys(CONCLUSIONS, float("nan"))
    both = held[:, i] & held[:, j]
    difference = np.where(both, cell[:, i] - cell[:, j], 0.0)
    wanted = np.concatenate([np.ones((1, len(cell)), bool), look.first, ~look.first])
    claims, sign = _claims(wanted, difference, both)
    claimed, claims, (first, second) = claims[:1], claims[1:], np.split(sign[1:], 2)
    again = claims & np.tile(first == second, (2, 1))
    found = claims.sum()
    values = claimed.mean(), (again == claims).all(1).mean(), again.sum() / found if found else float("nan")
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
    return (n > 2) & (np.abs(mean) * np.sqrt(n) > limit * np.sqrt(variance) + 1e-12), np.sign(mean.round(12))
