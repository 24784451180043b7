"""Decide about pairs: against the published model, sampled by NUTS with its published settings, in one run."""

from __future__ import annotations

import time

import numpy as np
import pytest

from simlab.analysis.preference import win_decisions, win_posterior
from simlab.analysis.preferences.posterior import priors
from simlab.analysis.preferences.refinement import ERROR, ERROR_NEAR
from simlab.rng import stream

BATCH = 256


def protocol_states(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw what the protocol knows of pairs: 10 to 200 human ratings, all with a metric rating, and 1,000 others."""
    rng = stream(11, "benchmark")
    mu = np.array([[0.65, 0.40, 0.25], [0.10, 0.20, 0.10], [0.25, 0.40, 0.65]])
    human, confusion, metric = np.zeros((n, 3), int), np.zeros((n, 3, 3), int), np.zeros((n, 3), int)
    for k in range(n):
        p = rng.dirichlet([8, 4, 8])
        confusion[k] = rng.multinomial(10 * rng.integers(1, 21), (mu * p).ravel()).reshape(3, 3)
        human[k], metric[k] = confusion[k].sum(0), rng.multinomial(1000, mu @ p)
    return human, confusion, metric


def seconds_by_nuts(counts: tuple[np.ndarray, np.ndarray, np.ndarray]) -> float:
    """Time NUTS as published (5 chains, 2,000 warm-up, 10,000 draws) per decision, compilation not counted.

    CPU seconds: chains run side by side, and work as much as one after the other.
    """
    from simlab.analysis.preferences.nuts import sample_posterior

    took = []
    for k in range(3):
        one = [array[k : k + 1].astype(float) for array in counts]
        sample_posterior(*one)
        began = time.process_time()
        sample_posterior(*one, seed=1)
        took.append(time.process_time() - began)
    return float(np.mean(took))


@pytest.mark.benchmark(group="preference_decision", timer=time.process_time)
def test_preference_decision(benchmark) -> None:
    counts = protocol_states(BATCH)
    nuts = seconds_by_nuts(counts)
    win_decisions(*counts, level=0.05)
    theta, error, _ = benchmark(win_decisions, *counts, level=0.05)
    decision = benchmark.stats.stats.median / BATCH
    began = time.process_time()
    posterior = win_posterior(*counts)
    posterior = win_posterior(*counts)
    fine = (time.process_time() - began) / 2 / BATCH
    near = np.minimum(np.abs(posterior.theta - 0.025), np.abs(posterior.theta - 0.975)) < 0.02
    assert (posterior.error <= np.where(near, ERROR_NEAR, ERROR)).all()
    distance = np.minimum(np.abs(theta - 0.025), np.abs(theta - 0.975))
    assert ((distance > 4 * error) | (error <= ERROR_NEAR)).all()
    benchmark.extra_info |= {
        "nuts_seconds": nuts,
        "decision_microseconds": 1e6 * decision,
        "posterior_microseconds": 1e6 * fine,
        "times_faster_decision": nuts / decision,
        "times_faster_posterior": nuts / fine,
    }
    print(benchmark.extra_info)
    assert nuts / decision > 5000


@pytest.mark.benchmark(group="preference_decision", timer=time.process_time)
def test_decision_with_what_other_pairs_say(benchmark) -> None:
    """Decide the same pairs, 16 to a campaign, with priors from the others: beside decisions without."""
    counts = protocol_states(BATCH)
    win_decisions(*counts, level=0.05)
    began = time.process_time()
    win_decisions(*counts, level=0.05)
    alone = time.process_time() - began

    def together() -> None:
        prior = priors(counts[1], 16, "partial", two_outcomes=False)
        win_decisions(*counts, level=0.05, prior=prior)

    together()
    benchmark(together)
    began = time.process_time()
    together()
    ratio = (time.process_time() - began) / alone
    benchmark.extra_info |= {"times_as_long_as_alone": ratio}
    print(benchmark.extra_info)
    # Decisions alone go along lines, four times as fast as those about a peak; 8 to 11 times were seen.
    assert ratio < 16
