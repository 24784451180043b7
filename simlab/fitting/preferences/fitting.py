"""Fit the law of preferences to a table of comparisons: draws of all parameters from their posterior.

Call `fit` on a table, or `fit_pilot` on a pilot; both return a `PreferenceFit`.

Chains of Hamiltonian Monte Carlo run side by side; the prior of each entry is standard normal. Trajectories have random
lengths, steps are as long as makes most proposals acceptable, and the mass matrix is learnt in the warm-up: dense for
the parameters that all data share, diagonal for the others. Sources: Neal 2011 (Handbook of MCMC, chapter 5); Hoffman
and Gelman 2014 (JMLR 15) for the length of steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from scipy.special import ndtri

from simlab.effort import ChainEffort, current_effort
from simlab.fitting.laws import SampledPosterior as Kept
from simlab.fitting.preferences.pilot import ComparisonTable, PreferencePilot, build_pilot, thin_items
from simlab.fitting.preferences.posterior import (
    OF_ITEMS,
    OF_RATERS,
    ParameterLayout,
    PreferencePosterior,
    build_posterior,
    has_repeated_items,
    log_factors,
    log_ties,
    spread,
    unit_values,
)
from simlab.rng import stream
from simlab.types import Davidson, Floats, Ints, RaterPool
from simlab.world.laws.davidson import Spreads

DRAWS = 200
"""Draws of the parameters that a fit returns."""
CLOSE_ENOUGH = 1.01
"""Chains agree where every R-hat is below."""
SPREADS = ("system_sd", *OF_ITEMS, *OF_RATERS)
"""Names of the standard deviations that are sampled."""
DIMS = {"strength": ("system",), "sharpness": ("rater",), "rater_ties": ("rater",), "taste": ("rater", "system")}
"""What parameters have one of."""
FEW_RATERS, FEW_SYSTEMS = 4, 4
"""With fewer raters, or systems, a spread between them is mostly prior."""
State = tuple[Floats, Floats, Floats]
"""Where chains are, `[entry, chain]`, with the log density there and its gradient."""
WANTED, LONGEST = 0.7, 30
"""Share of proposals that are accepted; steps of a trajectory at most."""
TIME = (0.8, 4.0)
"""How long trajectories are, in units in which the density has variance 1: up to two thirds of its period."""
# A dense matrix costs the square of its entries at each step, and their cube whenever it is learnt.
_DENSE = 250


@dataclass(frozen=True, slots=True)
class PreferenceFit:
    """Draws of all parameters of the law, given a pilot.

    `strength[draw, system]` (centred in each draw), `ties[draw]`, `spreads[name][draw]`; of the pilot's raters
    `sharpness[draw, rater]`, `rater_ties[draw, rater]`, `taste[draw, rater, system]`. `not_identified` are sentences on
    what the pilot cannot tell, `unknown` the spreads that it says nothing about; `diagnosis` says how sampling went,
    `posterior` is all that chains kept.
    """

    pilot: PreferencePilot
    strength: Floats
    ties: Floats
    spreads: Mapping[str, Floats]
    sharpness: Floats
    rater_ties: Floats
    taste: Floats
    not_identified: Sequence[str]
    unknown: frozenset[str]
    diagnosis: Mapping[str, float]
    posterior: Kept

    @property
    def n_draws(self) -> int:
        """Count the draws."""
        return len(self.ties)

    def law(self, draw: int) -> Davidson:
        """Return the law of outputs in one draw."""
        output_sd, item_sd = (float(self.spreads[name][draw]) for name in OF_ITEMS)
        return Davidson(self.strength[draw], output_sd, item_sd, float(self.ties[draw]))

    def rater_spreads(self, draw: int) -> Spreads:
        """Return how much raters at large differ in one draw."""
        return Spreads(*(float(self.spreads[name][draw]) for name in OF_RATERS))

    def pool(self, draw: int, whole_items: bool) -> RaterPool:
        """Return the raters of the pilot in one draw; `whole_items`: a rater makes all comparisons of an item."""
        return RaterPool(self.sharpness[draw], self.rater_ties[draw], self.taste[draw], whole_items)


def fit(preferences: ComparisonTable, seed: int = 0, draws: int = DRAWS) -> PreferenceFit:
    """Fit the law to comparisons; the same seed gives the same draws.

    Raises InputError where there is nothing to fit (see `build_pilot`).
    """
    return fit_pilot(build_pilot(preferences), seed, draws)


def fit_pilot(
    pilot: PreferencePilot, seed: int = 0, draws: int = DRAWS, chains: ChainEffort | None = None
) -> PreferenceFit:
    """Fit the law to a pilot, a table with ordered pairs (`build_pilot`); `chains` is the effort (None: usual)."""
    used, note = thin_items(stream(seed, "fit", "preferences", "items"), pilot)
    density = build_posterior(used)
    kept, diagnosis = _settle_chains(
        stream(seed, "fit", "preferences"), used, density, chains or current_effort().preferences
    )
    every = {name: np.concatenate(np.moveaxis(value, 1, 0)) for name, value in kept.items()}
    chosen = {name: value[_pick_evenly(len(value), draws)] for name, value in every.items()}
    spreads = {name: chosen.pop(name) for name in SPREADS}
    unknown = unknown_effects(pilot) | {name for name in SPREADS if not density.layout.has(name)}
    sentences = (*note, *list_unidentified(pilot))
    return PreferenceFit(
        pilot,
        **chosen,
        spreads=spreads,
        not_identified=sentences,
        unknown=unknown,
        diagnosis=diagnosis,
        posterior=Kept({name: np.swapaxes(value, 0, 1) for name, value in kept.items()}, DIMS, {}),
    )


def _settle_chains(
    rng: np.random.Generator, pilot: PreferencePilot, density: PreferencePosterior, effort: ChainEffort
) -> tuple[dict[str, Floats], dict[str, float]]:
    """Run chains until they agree, for some rounds at most; return draws `[draw, chain, ...]` and the diagnosis."""
    at, (chains, warmup, kept, rounds) = density.layout, effort
    running = begin(rng, density, density.scale(), at.n_shared, chains=chains, warmup=warmup)
    thetas, shares = [], []
    while True:
        theta, accepted = go_on(running, kept, at.n_shared)
        thetas.append(theta)
        shares.append(accepted)
        draws = extract_parameters(at, np.concatenate(thetas), pilot)
        diagnosis = {"accepted": float(np.mean(shares)), "r_hat": _largest_rhat(draws)}
        if diagnosis["r_hat"] <= CLOSE_ENOUGH or len(thetas) == rounds:
            return draws, diagnosis


def _pick_evenly(n: int, wanted: int) -> Ints:
    return np.linspace(0, n - 1, wanted).round().astype(np.int64)


def extract_parameters(at: ParameterLayout, theta: Floats, pilot: PreferencePilot) -> dict[str, Floats]:
    """Turn `theta[draw, entry, chain]` into parameters `[draw, chain, ...]` by name.

    Of those that are not sampled factors are 1, spreads and tastes 0.
    """
    n_draws, _, n_chains = theta.shape
    flat = np.moveaxis(theta, 1, 0).reshape(theta.shape[1], -1)
    n, r, size = pilot.n_systems, pilot.n_raters, flat.shape[1]
    units = {
        name: unit_values(at, flat, name) for name in ("strength", "sharpness", "tie_habit", "taste") if at.has(name)
    }
    strength = units["strength"].value
    parameters = {"strength": strength - strength.mean(0), "ties": np.exp(log_ties(at, flat))[0] * at.has("log_ties")}
    parameters |= {name: np.abs(spread(at, flat, name))[0] if at.has(name) else np.zeros(size) for name in SPREADS}
    for name, parameter in (("sharpness", "sharpness"), ("rater_ties", "tie_habit")):
        parameters[name] = np.exp(log_factors(units[parameter])) if parameter in units else np.ones((r, size))
    parameters["taste"] = units["taste"].value.reshape(r, n, size) if "taste" in units else np.zeros((r, n, size))
    return {
        name: np.moveaxis(value, -1, 0).reshape(n_draws, n_chains, *value.shape[:-1])
        for name, value in parameters.items()
    }


def _largest_rhat(draws: Mapping[str, Floats]) -> float:
    """Return the largest split R-hat of strengths, ties and spreads, over ranks so that tails do not matter."""
    single = [draws[name] for name in ("ties", *SPREADS)]
    each = [*single, *np.moveaxis(draws["strength"], 2, 0)]
    # What is the same in all draws (the pilot says nothing of it) has no R-hat.
    return max((rhat(values) for values in each if np.ptp(values) > 0), default=1.0)


def rhat(values: Floats) -> float:
    """Return the rank-normalised split R-hat of `values[draw, chain]`. Source: Vehtari et al. 2021 (Bayesian Anal.)."""
    half = len(values) // 2
    split = np.concatenate([values[:half], values[half : 2 * half]], axis=1)
    _, place, count = np.unique(split, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[place].reshape(split.shape)
    # Blom's normal scores, as Vehtari et al. 2021 take them.
    normal = ndtri((rank - 0.375) / (split.size + 0.25))
    within, between = normal.var(0, ddof=1).mean(), half * normal.mean(0).var(ddof=1)
    if within == 0:
        # Chains that each stand still, at different places, never agree.
        return float("inf")
    return float(np.sqrt((half - 1) / half + between / within / half))


def list_unidentified(pilot: PreferencePilot) -> Iterator[str]:
    """Yield sentences on the parameters that the pilot does not identify."""
    yield from _sentences_on_items(pilot)
    yield from _sentences_on_raters(pilot)
    ties = float((pilot.outcome == 1).mean())
    if ties == 0:
        yield "Nothing is a tie: raters are taken to have had no such answer."
    if ties == 1:
        yield "All comparisons are ties: they do not tell which system is better; what is said of it is the prior."
    if pilot.n_systems < FEW_SYSTEMS:
        yield (
            f"{pilot.n_systems} systems hardly tell how much systems differ at large; the prior of system_sd counts "
            "much, for systems other than these."
        )


def unknown_effects(pilot: PreferencePilot) -> frozenset[str]:
    """Name the spreads that are sampled and that the pilot does not inform: their draws come from the priors."""
    return frozenset(OF_ITEMS if pilot.n_items == 1 else ())


def _sentences_on_items(pilot: PreferencePilot) -> Iterator[str]:
    if pilot.n_items == 1:
        yield "There is one item: how much items and outputs differ is what the priors of item_sd and output_sd say."
    elif not has_repeated_items(pilot):
        yield (
            "No item was compared twice: how much items and outputs differ cannot be told from the noise of a single "
            "comparison; output_sd and item_sd are taken to be 0, and items compared again would agree no better than "
            "two items do."
        )
    elif len(np.unique(pilot.pair)) > 1 and _has_single_pairs(pilot):
        yield (
            "Each item was compared for one pair only: what an item does to all systems (item_sd) is hardly told from "
            "what it does to one (output_sd); their priors count much."
        )


def _has_single_pairs(pilot: PreferencePilot) -> bool:
    return len(np.unique(np.stack([pilot.item, pilot.pair]), axis=1).T) == pilot.n_items


def _sentences_on_raters(pilot: PreferencePilot) -> Iterator[str]:
    if not pilot.n_raters:
        yield (
            "The table names no raters: they are taken to be alike (sharpness_sd, tie_sd and taste_sd 0), and other "
            "raters to be like them."
        )
    elif pilot.n_raters == 1:
        yield (
            "There is one rater: what they alone prefer is taken for what systems are worth, and other raters are "
            "taken to be like them (sharpness_sd, tie_sd and taste_sd 0)."
        )
    elif pilot.n_raters < FEW_RATERS:
        yield (
            f"{pilot.n_raters} raters hardly tell how much raters at large differ; the priors of sharpness_sd, tie_sd "
            "and taste_sd count much."
        )


class Density(Protocol):
    """Density that chains sample, with its gradient and its mirror images."""

    def __call__(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return log density `[chain]` and gradient `[entry, chain]` of `theta[entry, chain]`."""

    def signs(self, theta: Floats) -> Floats:
        """Return 1 or -1 for each entry: with these signs the density is the same, and its mirror images are one."""


@dataclass(slots=True)
class _Mass:
    """Covariance that momenta are the inverse of: `root` of the first entries, `sd` of the others."""

    root: Floats
    sd: Floats

    def velocity(self, momentum: Floats) -> Floats:
        """Turn standard normal momenta into the motion of the parameters."""
        n = len(self.root)
        return np.concatenate([self.root @ momentum[:n], self.sd * momentum[n:]])

    def force(self, gradient: Floats) -> Floats:
        """Turn a gradient into the change of standard normal momenta."""
        n = len(self.root)
        return np.concatenate([self.root.T @ gradient[:n], self.sd * gradient[n:]])


@dataclass(slots=True)
class _ChainSums:
    """Sum up where chains have been: the first entries with their products, of the others what a variance needs."""

    rows: list[Floats] = field(default_factory=list)
    total: Floats | float = 0.0
    square: Floats | float = 0.0
    count: int = 0

    def add(self, theta: Floats, n: int) -> None:
        """Take in `theta[entry, chain]`; the first n entries are dense."""
        self.rows += list(theta[:n].T)
        self.total += theta[n:].sum(1)
        self.square += (theta[n:] ** 2).sum(1)
        self.count += theta.shape[1]

    def mass(self) -> _Mass:
        """Estimate the covariance, drawn a little towards a small one."""
        # Few draws give a singular covariance: five pseudo-draws of a small variance hold it.
        rows, pull, small = np.array(self.rows), 5.0, 0.1
        rows = rows - rows.mean(0) if rows.size else rows
        variance = np.maximum(self.square / self.count - (self.total / self.count) ** 2, 0.0)
        sd = np.sqrt((self.count * variance + pull * small) / (self.count + pull))
        covariance = (rows.T @ rows + pull * small * np.eye(rows.shape[1])) / (self.count + pull)
        return _Mass(np.linalg.cholesky(covariance), np.asarray(sd)[:, None])


@dataclass(slots=True)
class _Steps:
    """Tune the logarithm of the step by dual averaging."""

    centre: float
    log: float
    mean: float = 0.0
    error: float = 0.0
    count: int = 0

    def learn(self, accepted: float) -> None:
        """Take in the share that was accepted."""
        self.count += 1
        # Constants t0 = 10, gamma = .05 and kappa = .75 of Hoffman and Gelman 2014.
        share = 1 / (self.count + 10)
        self.error = (1 - share) * self.error + share * (WANTED - accepted)
        self.log = self.centre - np.sqrt(self.count) / 0.05 * self.error
        weight = self.count**-0.75
        self.mean = weight * self.log + (1 - weight) * self.mean


@dataclass(slots=True)
class RunningChains:
    """Chains that can be run on: the density, their state, and their steps."""

    rng: np.random.Generator
    density: Density
    state: State
    mass: _Mass
    step: float


def begin(
    rng: np.random.Generator, density: Density, scale: Floats, shared: int, *, chains: int, warmup: int
) -> RunningChains:
    """Warm up chains for a density whose entries spread about as `scale[entry]` under the prior, around 0.

    The first `shared` entries get a dense mass matrix, unless they are too many.
    """
    n = shared if shared <= _DENSE else 0
    start = 0.5 * np.abs(rng.standard_normal((len(scale), chains))) * scale[:, None]
    mass, steps = _Mass(np.diag(scale[:n]), scale[n:, None]), _Steps(np.log(1.0), np.log(0.1))
    state = (start, *density(start))
    for window in _windows(warmup):
        state, seen = _warm_up(rng, density, state, mass, steps, window, n)
        if seen is not None:
            mass = seen.mass()
            # Steps are pulled towards longer ones than the last, since short ones cost most (Hoffman and Gelman 2014).
            steps = _Steps(steps.mean + np.log(3), steps.mean)
    return RunningChains(rng, density, state, mass, float(np.exp(steps.mean)))


def go_on(chains: RunningChains, draws: int, kept: int) -> tuple[Floats, float]:
    """Run chains on for `draws` draws; return the first `kept` entries, `[draw, entry, chain]`, and acceptance."""
    thetas, shares = [], []
    for _ in range(draws):
        chains.state, accepted = _move(chains.rng, chains.density, chains.state, chains.mass, chains.step)
        thetas.append(chains.state[0][:kept])
        shares.append(accepted)
    return np.array(thetas), float(np.mean(shares))


def _warm_up(
    rng: np.random.Generator,
    density: Density,
    state: State,
    mass: _Mass,
    steps: _Steps,
    window: tuple[int, bool],
    n: int,
) -> tuple[State, _ChainSums | None]:
    """Move on through a part of the warm-up, tuning steps; return what was seen after its first third, if wanted."""
    length, wanted = window
    seen = _ChainSums()
    for k in range(length):
        state, accepted = _move(rng, density, state, mass, float(np.exp(steps.log)))
        steps.learn(accepted)
        if wanted and k >= length // 3:
            seen.add(state[0], n)
    return state, seen if wanted else None


def _windows(warmup: int) -> list[tuple[int, bool]]:
    """Split the warm-up into ever longer parts, after each of which but the last the mass matrix is learnt anew."""
    return [(round(warmup * share), True) for share in (0.15, 0.25, 0.4)] + [(round(warmup * 0.2), False)]


def _move(rng: np.random.Generator, density: Density, state: State, mass: _Mass, step: float) -> tuple[State, float]:
    """Follow one trajectory in every chain, and keep where it leads with the probability that is due."""
    theta, log, gradient = state
    momentum = rng.standard_normal(theta.shape)
    n_steps = int(np.clip(round(rng.uniform(*TIME) / step), 1, LONGEST))
    # A fixed step may resonate with a period of the density (Neal 2011).
    step *= rng.uniform(0.9, 1.1)
    at, slope, energy = theta, gradient, log - 0.5 * (momentum**2).sum(0)
    new = log
    # A step that is too long leaves the numbers that there are, and is not accepted.
    with np.errstate(all="ignore"):
        for _ in range(n_steps):
            # Leapfrog steps keep volume and can be reversed, so that the acceptance needs no Jacobian (Neal 2011).
            momentum = momentum + 0.5 * step * mass.force(slope)
            at = at + step * mass.velocity(momentum)
            new, slope = density(at)
            momentum = momentum + 0.5 * step * mass.force(slope)
        share = np.exp(np.minimum(0.0, new - 0.5 * (momentum**2).sum(0) - energy))
    share = np.where(np.isfinite(share), share, 0.0)
    moved = rng.random(len(share)) < share
    theta, gradient = np.where(moved, at, theta), np.where(moved, slope, gradient)
    signs = density.signs(theta)
    return (theta * signs, np.where(moved, new, log), gradient * signs), float(share.mean())
