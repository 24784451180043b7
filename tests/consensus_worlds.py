"""Worlds of repeated answers whose consensus is known: easy, hard, spammers, few ties, two answers."""

from __future__ import annotations

import numpy as np

from simlab.analysis.preferences.consensus import RepeatedAnswers
from simlab.types import Floats

SHARES = np.array([[0.5, 0.2, 0.3], [0.2, 0.15, 0.65]])
UNEVEN = np.array([[0.85, 0.10, 0.05], [0.9, 0.05, 0.05]])
EASY = np.array([[0.82, 0.13, 0.05], [0.15, 0.70, 0.15], [0.05, 0.13, 0.82]])
HARD = np.array([[0.50, 0.30, 0.20], [0.26, 0.48, 0.26], [0.20, 0.30, 0.50]])
BINARY = np.array([[0.8, 0.2], [0.2, 0.8]])
BINARY_HARD = np.array([[0.58, 0.42], [0.42, 0.58]])
WORLDS = ("easy", "hard", "hard, 5 answers", "difficulty without steps", "3 of 10 at random", "uneven", "no ties, hard")


def made(
    rng: np.random.Generator, world: str, *, items: int = 40, answers: int = 3, raters: int = 10
) -> tuple[RepeatedAnswers, Floats]:
    """Draw a table of a world, and return the shares of its pairs `[pair, class]`.

    Raters' rows lie around a common matrix by laws of their own, row by row (their matrices are not the same with the
    systems turned round). On hard items all raters answer by one matrix, so that their errors depend on each other.
    """
    answers = 5 if "5 answers" in world else answers
    binary = "no ties" in world
    shares = np.array([[0.6, 0.4], [0.3, 0.7]]) if binary else UNEVEN if world == "uneven" else SHARES
    k = shares.shape[1]
    easy, hard = (BINARY, BINARY_HARD) if binary else (EASY, HARD)
    pair = np.repeat(np.arange(len(shares)), items)
    true = (shares[pair].cumsum(1) < rng.random((len(pair), 1))).sum(1)
    own = np.stack([[rng.dirichlet(15 * row) for row in easy] for _ in range(raters)])
    if "at random" in world:
        own[: 3 * raters // 10] = 1 / k
    how_hard = np.zeros(len(pair))
    if "hard" in world:
        how_hard = (rng.random(len(pair)) < 0.3).astype(float)
    if "without steps" in world:
        how_hard = rng.beta(1, 1.5, len(pair))
    item = np.repeat(np.arange(len(pair)), answers)
    rater = np.concatenate([rng.permutation(raters)[:answers] for _ in pair])
    weight = how_hard[item][:, None]
    law = (1 - weight) * own[rater, true[item]] + weight * hard[true[item]]
    said = (law.cumsum(1) < rng.random((len(item), 1))).sum(1).clip(0, k - 1)
    return RepeatedAnswers(said, item, rater, pair, k), shares


def majority(answers: RepeatedAnswers) -> Floats:
    """Return the shares `[pair, class]` of items by their most frequent answer; what leads together counts in part."""
    counts = answers.counts()
    most = counts == counts.max(1, keepdims=True)
    each = most / most.sum(1, keepdims=True)
    return np.stack([each[answers.pair == pair].mean(0) for pair in range(answers.n_pairs)])
