"""Compare laws by how well they predict documents that they were not fitted to, and choose one.

Call `compare`, which returns a `LawScore` for each law, the best first; `choose_simplest_law` returns a name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from simlab.answers.fit import LawScore
from simlab.fitting.laws import FittableLaw
from simlab.fitting.parts import Fold, folds, thin_documents
from simlab.rng import stream
from simlab.tables.rating_table import Ratings
from simlab.types import Floats

MOST_RATINGS = 2000
"""Of larger tables as many documents as hold so many ratings are compared on: laws differ by far more than that."""
MOST_VALUES, BINS = 40, 25
"""A table of more values than that is compared on bins; floor, ceiling and zero have bins of their own."""
TABLES = 100
"""Tables that each law simulates of the documents held out."""
DRAWS = 40
"""Draws of the parameters of each fit."""
PRIOR = 1.0
"""Ratings that stand for what no simulation gave: they lie as all simulated ones of the law do, and evenly."""
SIMPLEST_FIRST = ("binary", "gaussian", "normal_scores", "ordinal", "mqm")
"""Names of laws, from the simplest on."""
CLEAR = 1.0
"""Standard errors of the difference by which a law must predict better than a simpler one."""

Advance = Callable[[str], None]
"""Callback that reports progress: it takes the name of a law."""


def compare(
    laws: Sequence[FittableLaw], ratings: Ratings, seed: int, advance: Advance = lambda law: None
) -> list[LawScore]:
    """Score laws on held-out documents, the best first; laws that a fold refuses are left out.

    `advance` is called with the name of each law that is done.
    The predictive probability of a held-out rating is the share of simulated ratings, by the same rater of the same
    system on new documents, that fall on its value: on a common grid, so that counts, categories and numbers compare.
    """
    part = thin_documents(stream(seed, "compare", "documents"), ratings, MOST_RATINGS)
    if part.n_documents < 2 or not laws:
        return []
    edges = grid(part.score, part.scale)
    parts = list(folds(stream(seed, "compare", "folds"), part))
    scored: dict[str, Floats] = {}
    for law in laws:
        if any(law.refused(fold.train) for fold in parts):
            continue
        scored[law.name] = _average_by_document(
            [_score(law, fold, edges, seed, k) for k, fold in enumerate(parts)], parts
        )
        advance(law.name)
    return rank_laws(scored)


def rank_laws(scored: dict[str, Floats]) -> list[LawScore]:
    """Order laws by their mean score; `scored[law][document]` are means over the ratings of a document."""
    means = {law: float(scores.mean()) for law, scores in scored.items()}
    best = max(means, key=lambda law: means[law], default="")
    rows = [
        LawScore(law=law, log_score=means[law], behind=behind, se=se)
        for law, scores in scored.items()
        for behind, se in [_margin(scored[best], scores)]
    ]
    return sorted(rows, key=lambda row: -row.log_score)


def choose_simplest_law(compared: Sequence[LawScore]) -> str:
    """Return the simplest law that does not clearly predict worse than the best."""
    # Not `<=`: the error of a law beside itself is NaN, and it must stay in.
    tied = [score.law for score in compared if not score.behind > CLEAR * score.se or score is compared[0]]
    return min(tied, key=lambda law: SIMPLEST_FIRST.index(law) if law in SIMPLEST_FIRST else len(SIMPLEST_FIRST))


def grid(score: Floats, scale: tuple[float, float] | None) -> Floats:
    """Return the inner edges of the bins that scores are compared on.

    Every value has its own bin where there are few; else bins hold about as many scores each, and a value that many
    share (floor, ceiling, zero) stands alone.

    >>> grid(np.array([1.0, 2.0, 4.0]), None).tolist()
    [1.5, 3.0]
    """
    values, counts = np.unique(score, return_counts=True)
    if len(values) <= MOST_VALUES:
        return np.asarray((values[1:] + values[:-1]) / 2)
    middle = (values[1:] + values[:-1]) / 2
    share = np.cumsum(counts) / counts.sum()
    cut = np.flatnonzero(np.diff(np.floor(share[:-1] * BINS), prepend=0) > 0)
    own = np.isin(values, [0.0, *(scale or ())]) | (counts > len(score) / BINS)
    alone = np.concatenate([np.flatnonzero(own) - 1, np.flatnonzero(own)])
    wanted = np.union1d(cut, alone[(alone >= 0) & (alone < len(middle))])
    return np.asarray(middle[wanted])


def _score(law: FittableLaw, fold: Fold, edges: Floats, seed: int, number: int) -> Floats:
    """Return the log score of every rating held out."""
    fitted = law.fit(fold.train, seed=seed + number, draws=DRAWS, rough=True)
    rng = stream(seed, "compare", law.name, number)
    answers = (law.answer(rng, fitted.effects[k % len(fitted.effects)], fold.held_out) for k in range(TABLES))
    n_bins = len(edges) + 1
    cells, cell = np.unique(fold.held_out.system * fold.held_out.n_raters + fold.held_out.rater, return_inverse=True)
    counts = np.zeros(len(cells) * n_bins)
    for scores in answers:
        counts += np.bincount(cell * n_bins + np.searchsorted(edges, scores), minlength=len(counts))
    share = predictive_probabilities(counts.reshape(len(cells), n_bins))
    return np.asarray(np.log(share[cell, np.searchsorted(edges, fold.held_out.score)]))


def predictive_probabilities(counts: Floats) -> Floats:
    """Turn simulated `counts[cell, bin]` into probabilities `[cell, bin]`, alike for all laws: none is 0."""
    overall = (counts.sum(0) + PRIOR) / (counts.sum() + PRIOR * counts.shape[1])
    return np.asarray((counts + PRIOR * overall) / (counts.sum(1, keepdims=True) + PRIOR))


def _average_by_document(scores: Sequence[Floats], parts: Sequence[Fold]) -> Floats:
    every, document = np.concatenate(scores), np.concatenate([fold.document for fold in parts])
    _, index = np.unique(document, return_inverse=True)
    return np.asarray(np.bincount(index, weights=every) / np.bincount(index))


def _margin(best: Floats, scores: Floats) -> tuple[float, float]:
    difference = best - scores
    if not difference.any():
        return 0.0, float("nan")
    return float(difference.mean()), float(difference.std(ddof=1) / np.sqrt(len(difference)))
