"""Draw truths from the prior, fit, and count how often intervals hold them (simulation-based calibration).

Many tables of one design are fitted side by side, as chains of one density: the posterior and the sampler are those of
`simlab.fitting.preferences`, steps and mass matrix are shared. Source: Cook, Gelman and Rubin 2006 (JCGS 15).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from compared_tables import Truth, answered, asked

from simlab.fitting.preferences.fitting import begin, extract_parameters, go_on
from simlab.fitting.preferences.pilot import PreferencePilot, build_cells, build_pilot
from simlab.fitting.preferences.posterior import LOG_TIES, SCALES, build_posterior
from simlab.rng import stream

CHAINS = 2
LEAST, MOST = 0.90, 0.98
"""Between which 95 % intervals must cover."""

Found = Mapping[str, tuple[np.ndarray, np.ndarray]]
"""Draws `[draw, table]` and truths `[table]` of each parameter."""


def recovered(seed: int, n_tables: int, trajectories: tuple[int, int], zero: str = "", **sizes: int) -> Found:
    rng = stream(seed, "truths")
    truths = [drawn_truth(rng, zero) for _ in range(n_tables)]
    design = asked(stream(seed, "design"), **sizes)
    tables = [answered(stream(seed, "answers", k), truth, design) for k, truth in enumerate(truths)]
    draws = fitted_together(seed, [build_pilot(one) for one in tables], trajectories)
    found = {name: (draws[name], np.array([getattr(truth, name) for truth in truths])) for name in (*SCALES, "ties")}
    return found | {
        f"strength {k}": (draws["strength"][..., k], np.array([one.strength[k] for one in tables])) for k in range(2)
    }


def drawn_truth(rng: np.random.Generator, zero: str) -> Truth:
    spreads = {name: abs(rng.standard_normal()) * scale * (name != zero) for name, scale in SCALES.items()}
    return Truth(ties=float(np.exp(LOG_TIES[0] + LOG_TIES[1] * rng.standard_normal())), **spreads)


def fitted_together(
    seed: int, pilots: Sequence[PreferencePilot], trajectories: tuple[int, int]
) -> Mapping[str, np.ndarray]:
    """Return draws `[draw, table, ...]` of what each of several tables of one design says."""
    one = build_posterior(pilots[0])
    counts = np.repeat(np.stack([build_cells(pilot, True).counts for pilot in pilots], axis=1), CHAINS, axis=1)
    every = replace(one, won=(counts[..., 0] - counts[..., 2]) / 2, tied=counts[..., 1])
    warmup, kept = trajectories
    chains = CHAINS * len(pilots)
    shared = one.layout.n_shared
    warm = begin(stream(seed, "chains"), every, one.scale(), shared, chains=chains, warmup=warmup)
    held = extract_parameters(one.layout, go_on(warm, kept, shared)[0], pilots[0])
    # Chains of a table stand side by side.
    return {name: np.concatenate([of[:, k::CHAINS] for k in range(CHAINS)]) for name, of in held.items()}


def covered(found: Found, zero: str = "") -> dict[str, float]:
    """Return how often 95 % intervals hold the truth; a truth of 0 need not lie above the lower bound."""
    shares = {}
    for name, (draws, truth) in found.items():
        low, high = np.quantile(draws, (0.025, 0.975), axis=0)
        shares[name] = float(np.mean(((low <= truth) | (name == zero)) & (truth <= high)))
    return shares


def test_intervals_cover_truths_drawn_from_the_prior_quickly() -> None:
    n = 40
    found = recovered(1, n, (100, 80), n_systems=4, n_items=15, n_raters=3, per_item=4)
    error = np.sqrt(0.95 * 0.05 / n)
    shares = covered(found)
    assert all(LEAST - 3 * error <= share for share in shares.values()), shares
    assert LEAST <= np.mean(list(shares.values())) <= MOST + error
    others = {name: (draws, np.roll(truth, 1)) for name, (draws, truth) in found.items()}
    assert covered(others)["ties"] < 0.8  # the control: intervals of another table do not hold the truth


@pytest.mark.long
@pytest.mark.parametrize("zero", ["", "system_sd", "output_sd", "taste_sd"])
def test_intervals_cover_truths_drawn_from_the_prior(zero: str) -> None:
    n = 200
    shares = covered(recovered(2, n, (200, 200), zero, n_systems=4, n_items=40, n_raters=4, per_item=5), zero)
    error = np.sqrt(0.95 * 0.05 / n)
    for name, share in shares.items():
        upper = 1.0 if name == zero or (name.startswith("strength") and zero == "system_sd") else MOST + 2 * error
        assert LEAST - error <= share <= upper, (name, shares)
