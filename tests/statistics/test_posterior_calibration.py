"""Simulation-based calibration: where the truth is drawn from the prior, its rank in the posterior is uniform."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from simlab.analysis.preferences import reversal
from simlab.rng import stream

N = 1500


def simulate(rater_only: int, both: int, m: int, *, two_outcomes: bool) -> tuple[np.ndarray, ...]:
    rng = stream(7, "calibration", rater_only, both, m, int(two_outcomes))
    p = rng.dirichlet([1, 1, 1], N)
    mu = np.zeros((N, 3, 3))
    rows = [0, 2] if two_outcomes else [0, 1, 2]
    mu[:, rows] = rng.dirichlet([1.0] * len(rows), (N, 3)).transpose(0, 2, 1)
    confusion = np.stack([rng.multinomial(both, (mu[k] * p[k]).ravel()).reshape(3, 3) for k in range(N)])
    extra = np.stack([rng.multinomial(rater_only, p[k]) for k in range(N)])
    metric = np.stack([rng.multinomial(m, mu[k] @ p[k]) for k in range(N)])
    return p, confusion.sum(1) + extra, confusion, metric


def ranks(p: np.ndarray, human: np.ndarray, confusion: np.ndarray, metric: np.ndarray, two: bool) -> np.ndarray:
    counts = [array.astype(float) for array in (human, confusion, metric)]
    a = reversal.proposal(*counts[:2], two_outcomes=two)
    drawn, weight = reversal.draws(*counts, a, 0)
    below = (drawn[:, 0] - drawn[:, 2]) < (p[:, 0] - p[:, 2])[:, None]
    return np.asarray((weight * below).sum(1) / weight.sum(1))


@pytest.mark.parametrize(("extra", "both", "m", "two"), [(0, 12, 150, False), (10, 8, 60, False), (0, 15, 800, True)])
def test_ranks_of_the_truth_are_uniform(extra: int, both: int, m: int, two: bool) -> None:
    p, human, confusion, metric = simulate(extra, both, m, two_outcomes=two)
    rank = ranks(p, human, confusion, metric, two)
    counts = np.histogram(rank, bins=20, range=(0, 1))[0]
    assert stats.chisquare(counts).pvalue > 1e-4


def test_ranks_show_a_posterior_that_is_too_sure() -> None:
    p, human, confusion, metric = simulate(0, 12, 150, two_outcomes=False)
    perfect = human + metric  # the metric's ratings taken for human ones
    rank = ranks(p, perfect, np.zeros_like(confusion), np.zeros_like(metric), two=False)
    assert stats.chisquare(np.histogram(rank, bins=20, range=(0, 1))[0]).pvalue < 1e-12
