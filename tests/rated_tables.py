"""Make ratings as a test is handed them, from what every rater would say."""

from __future__ import annotations

import numpy as np

from simlab.types import ScoredRatings


def rated(
    score: np.ndarray, by: np.ndarray, document: np.ndarray | None = None, came: np.ndarray | None = None
) -> ScoredRatings:
    """Lay out `score[item, system, k]`, given by `by[item, system, k]`; `came` tells which of them there are."""
    n_items, n_systems, _ = score.shape
    document = np.arange(n_items) if document is None else document
    item, system, k = np.nonzero(np.ones(score.shape, bool) if came is None else came)
    value, output = score[item, system, k], item * n_systems + system
    count = np.bincount(output, minlength=n_items * n_systems)
    share = 1 / count[output]
    mean = np.bincount(output, weights=share * value, minlength=n_items * n_systems)
    of_item = np.where(count > 0, mean, np.nan).reshape(n_items, n_systems)
    total = np.zeros((document.max() + 1, n_systems))
    np.add.at(total, document, of_item)
    return ScoredRatings(document[item], item, by[item, system, k], system, value, share, total)


def from_totals(total: np.ndarray, n_raters: int) -> ScoredRatings:
    """Let raters rate one segment a document in turn, all systems of it."""
    by = np.broadcast_to((np.arange(len(total)) % n_raters)[:, None, None], (*total.shape, 1))
    return rated(total[:, :, None], by)


def side_by_side(
    rng: np.random.Generator, n_raters: int, each: int, n_systems: int, taste: float = 0.3
) -> ScoredRatings:
    """Draw ratings of documents dealt evenly to raters who have tastes; systems are equal."""
    rater = np.repeat(np.arange(n_raters), each)
    liking = taste * rng.standard_normal((n_raters, n_systems))
    score = rng.standard_normal((len(rater), 1)) + liking[rater] + rng.standard_normal((len(rater), n_systems))
    by = np.broadcast_to(rater[:, None, None], (*score.shape, 1))
    return rated(score[:, :, None], by)


def scattered(
    rng: np.random.Generator, n_raters: int, n_documents: int, n_systems: int, per_item: int = 1, segments: int = 1
) -> ScoredRatings:
    """Draw ratings of outputs that anyone may be asked about; loads, and shares of systems, differ."""
    document = np.repeat(np.arange(n_documents), segments)
    chance = rng.dirichlet(np.full(n_raters, 5.0))
    order = np.argsort(-np.log(rng.random((n_documents, n_systems, n_raters))) / chance, axis=2)[:, :, :per_item]
    by = order[document]
    leniency, liking = rng.standard_normal(n_raters), 0.5 * rng.standard_normal((n_raters, n_systems))
    score = leniency[by] + liking[by, np.arange(n_systems)[:, None]] + rng.gamma(1.0, 1.0, by.shape)
    return rated(score, by, document)
