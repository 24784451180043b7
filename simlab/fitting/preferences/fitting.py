"""Fit the law of preferences to a table of comparisons: draws of all parameters from their posterior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from simlab.effort import Chains, current_effort
from simlab.fitting.preferences import identification
from simlab.fitting.preferences.chains import begin, go_on
from simlab.fitting.preferences.parameters import OF_ITEMS, OF_RATERS, Layout
from simlab.fitting.preferences.pilot import Compared, Pilot, pilot_of, thinned
from simlab.fitting.preferences.posterior import Posterior, log_factors, log_ties, posterior_of, spread, unit_values
from simlab.rng import stream
from simlab.types import Davidson, Floats, Ints, RaterPool
from simlab.world.laws.davidson import Spreads

DRAWS = 200


CLOSE_ENOUGH = 1.01
"""Chains agree where every R-hat is below."""

SPREADS = ("system_sd", *OF_ITEMS, *OF_RATERS)


@dataclass(frozen=True, slots=True)
class PreferenceFit:
    """Hold draws of all parameters of the law, given a pilot.

    `strength[draw, system]` (centred in each draw), `ties[draw]`, `spreads[name][draw]`; of the pilot's raters
    `sharpness[draw, rater]`, `rater_ties[draw, rater]`, `taste[draw, rater, system]`. `not_identified` are sentences on
    what the pilot cannot tell, `unknown` the spreads that it says nothing about; `diagnosis` says how sampling went.
    """

    pilot: Pilot
    strength: Floats
    ties: Floats
    spreads: Mapping[str, Floats]
    sharpness: Floats
    rater_ties: Floats
    taste: Floats
    not_identified: Sequence[str]
    unknown: frozenset[str]
    diagnosis: Mapping[str, float]

    @property
    def n_draws(self) -> int:
        """Count the draws."""
        return len(self.ties)

    def law(self, draw: int) -> Davidson:
        """Return the law of outputs in one draw."""
        output_sd, item_sd = (float(self.spreads[name][draw]) for name in OF_ITEMS)
        return Davidson(self.strength[draw], output_sd, item_sd, float(self.ties[draw]))

    def at_large(self, draw: int) -> Spreads:
        """Return how much raters at large differ in one draw."""
        return Spreads(*(float(self.spreads[name][draw]) for name in OF_RATERS))

    def pool(self, draw: int, whole_items: bool) -> RaterPool:
        """Return the raters of the pilot in one draw."""
        return RaterPool(self.sharpness[draw], self.rater_ties[draw], self.taste[draw], whole_items)


def fit(preferences: Compared, seed: int = 0, draws: int = DRAWS) -> PreferenceFit:
    """Fit the law to comparisons; the same seed gives the same draws.

    Raises InputError where there is nothing to fit (see `pilot_of`).
    """
    return fitted(pilot_of(preferences), seed, draws)


def fitted(pilot: Pilot, seed: int = 0, draws: int = DRAWS, chains: Chains | None = None) -> PreferenceFit:
    """Fit the law to a pilot."""
    used, note = thinned(stream(seed, "fit", "preferences", "items"), pilot)
    density = posterior_of(used)
    held, diagnosis = _settled(
        stream(seed, "fit", "preferences"), used, density, chains or current_effort().preferences
    )
    every = {name: np.concatenate(np.moveaxis(value, 1, 0)) for name, value in held.items()}
    chosen = {name: value[_spaced(len(value), draws)] for name, value in every.items()}
    spreads = {name: chosen.pop(name) for name in SPREADS}
    unknown = identification.unknown(pilot) | {name for name in SPREADS if not density.layout.has(name)}
    sentences = (*note, *identification.not_identified(pilot))
    return PreferenceFit(
        pilot, **chosen, spreads=spreads, not_identified=sentences, unknown=unknown, diagnosis=diagnosis
    )


def _settled(
    rng: np.random.Generator, pilot: Pilot, density: Posterior, effort: Chains
) -> tuple[dict[str, Floats], dict[str, float]]:
    """Run chains until they agree, for at most so many rounds; their draws, `[draw, chain, ...]`, and how it went."""
    at, (chains, warmup, kept, rounds) = density.layout, effort
    running = begin(rng, density, density.scale(), at.n_shared, chains=chains, warmup=warmup)
    thetas, shares = [], []
    while True:
        theta, accepted = go_on(running, kept, at.n_shared)
        thetas.append(theta)
        shares.append(accepted)
        held = parameters_of(at, np.concatenate(thetas), pilot)
        diagnosis = {"accepted": float(np.mean(shares)), "r_hat": _largest_rhat(held)}
        if diagnosis["r_hat"] <= CLOSE_ENOUGH or len(thetas) == rounds:
            return held, diagnosis


def _spaced(n: int, wanted: int) -> Ints:
    return np.linspace(0, n - 1, wanted).round().astype(np.int64)


def parameters_of(at: Layout, theta: Floats, pilot: Pilot) -> dict[str, Floats]:
    """Turn `theta[draw, entry, chain]` into parameters `[draw, chain, ...]`; what the pilot says nothing of is none."""
    n_draws, _, n_chains = theta.shape
    flat = np.moveaxis(theta, 1, 0).reshape(theta.shape[1], -1)
    n, r, size = pilot.n_systems, pilot.n_raters, flat.shape[1]
    units = {
        name: unit_values(at, flat, name) for name in ("strength", "sharpness", "tie_habit", "taste") if at.has(name)
    }
    strength = units["strength"].value
    held = {"strength": strength - strength.mean(0), "ties": np.exp(log_ties(at, flat))[0] * at.has("log_ties")}
    held |= {name: np.abs(spread(at, flat, name))[0] if at.has(name) else np.zeros(size) for name in SPREADS}
    for name, parameter in (("sharpness", "sharpness"), ("rater_ties", "tie_habit")):
        held[name] = np.exp(log_factors(units[parameter])) if parameter in units else np.ones((r, size))
    held["taste"] = units["taste"].value.reshape(r, n, size) if "taste" in units else np.zeros((r, n, size))
    return {
        name: np.moveaxis(value, -1, 0).reshape(n_draws, n_chains, *value.shape[:-1]) for name, value in held.items()
    }


def _largest_rhat(held: Mapping[str, Floats]) -> float:
    """Return the largest split R-hat of strengths, ties and spreads, over ranks so that tails do not matter."""
    single = [held[name] for name in ("ties", *SPREADS)]
    each = [*single, *np.moveaxis(held["strength"], 2, 0)]
    return max((rhat(values) for values in each if np.ptp(values) > 0), default=1.0)


def rhat(values: Floats) -> float:
    """Return the rank-normalised split R-hat of `values[draw, chain]`. Source: Vehtari et al. 2021 (Bayesian Anal.)."""
    half = len(values) // 2
    split = np.concatenate([values[:half], values[half : 2 * half]], axis=1)
    _, place, count = np.unique(split, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[place].reshape(split.shape)
    normal = ndtri((rank - 0.375) / (split.size + 0.25))
    within, between = normal.var(0, ddof=1).mean(), half * normal.mean(0).var(ddof=1)
    if within == 0:
        return float("inf")
    return float(np.sqrt((half - 1) / half + between / within / half))
