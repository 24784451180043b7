"""Sample from a density whose prior is standard normal, by Hamiltonian Monte Carlo in several chains side by side.

Trajectories have random lengths, steps are as long as makes four of five proposals acceptable, and the mass matrix is
learnt while warming up: dense for the parameters that all data share, diagonal for the others. Sources: Neal 2011
(Handbook of MCMC, chapter 5); Hoffman and Gelman 2014 (JMLR 15) for the length of steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simlab.types import Floats

Density = Callable[[Floats], tuple[Floats, Floats]]

WANTED, LONGEST = 0.8, 64
"""Share of proposals that are accepted; steps of a trajectory at most."""

TIME = (0.4, 2.2)
"""How long trajectories are, in units in which the density has variance 1: about a quarter of its period."""

_DENSE = 250


@dataclass(slots=True)
class _Mass:
    """Hold the covariance that momenta are the inverse of: `root` of the first entries, `sd` of the others."""

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
        share = 1 / (self.count + 10)
        self.error = (1 - share) * self.error + share * (WANTED - accepted)
        self.log = self.centre - np.sqrt(self.count) / 0.05 * self.error
        weight = self.count**-0.75
        self.mean = weight * self.log + (1 - weight) * self.mean


@dataclass(frozen=True, slots=True)
class Sample:
    """Hold draws `[draw, entry, chain]`, and the share of proposals that were accepted."""

    theta: Floats
    accepted: float


def sample(
    rng: np.random.Generator, density: Density, scale: Floats, shared: int, *, chains: int, warmup: int, draws: int
) -> Sample:
    """Draw from a density whose entries spread about as `scale[entry]` under the prior, around 0.

    The first `shared` entries get a dense mass matrix, unless they are too many.
    """
    n = shared if shared <= _DENSE else 0
    mass = _Mass(np.diag(scale[:n]), scale[n:, None])
    # All chains begin where spreads are positive: which sign they have means nothing.
    start = 0.5 * np.abs(rng.standard_normal((len(scale), chains))) * scale[:, None]
    state = (start, *density(start))
    steps = _Steps(np.log(10 * 0.1), np.log(0.1))
    for window in _windows(warmup):
        kept = []
        for _ in range(window):
            state, accepted = _move(rng, density, state, mass, float(np.exp(steps.log)))
            steps.learn(accepted)
            kept.append(state[0])
        step = float(np.exp(steps.mean))
        mass = _learnt(np.array(kept[len(kept) // 3 :]), n)
        steps = _Steps(np.log(3 * step), np.log(step))
    for _ in range(warmup // 5):
        state, accepted = _move(rng, density, state, mass, float(np.exp(steps.log)))
        steps.learn(accepted)
    kept, shares = [], []
    for _ in range(draws):
        state, accepted = _move(rng, density, state, mass, float(np.exp(steps.mean)))
        kept.append(state[0])
        shares.append(accepted)
    return Sample(np.array(kept), float(np.mean(shares)))


def _windows(warmup: int) -> list[int]:
    """Split the warm-up into ever longer parts, after each of which the mass matrix is learnt anew."""
    return [round(warmup * share) for share in (0.15, 0.25, 0.4)]


def _move(
    rng: np.random.Generator, density: Density, state: tuple[Floats, Floats, Floats], mass: _Mass, step: float
) -> tuple[tuple[Floats, Floats, Floats], float]:
    """Follow one trajectory in every chain, and keep where it leads with the probability that is due."""
    theta, log, gradient = state
    momentum = rng.standard_normal(theta.shape)
    n_steps = int(np.clip(round(rng.uniform(*TIME) / step), 1, LONGEST))
    step *= rng.uniform(0.9, 1.1)
    at, slope, energy = theta, gradient, log - 0.5 * (momentum**2).sum(0)
    new = log
    # A step that is too long leaves the numbers that there are, and is not accepted.
    with np.errstate(all="ignore"):
        for _ in range(n_steps):
            momentum = momentum + 0.5 * step * mass.force(slope)
            at = at + step * mass.velocity(momentum)
            new, slope = density(at)
            momentum = momentum + 0.5 * step * mass.force(slope)
        share = np.exp(np.minimum(0.0, new - 0.5 * (momentum**2).sum(0) - energy))
    share = np.where(np.isfinite(share), share, 0.0)
    moved = rng.random(len(share)) < share
    kept = np.where(moved, at, theta), np.where(moved, new, log), np.where(moved, slope, gradient)
    return kept, float(share.mean())


def _learnt(theta: Floats, n: int) -> _Mass:
    """Estimate the covariance from `theta[draw, entry, chain]`, drawn a little towards that of the prior."""
    rows = np.moveaxis(theta, 1, 2).reshape(-1, theta.shape[1])
    count, pull = len(rows), 5.0
    rows = rows - rows.mean(0)
    variance = (count * rows.var(0) + pull * 1e-1) / (count + pull)
    covariance = (rows[:, :n].T @ rows[:, :n] + pull * 1e-1 * np.eye(n)) / (count + pull)
    return _Mass(np.linalg.cholesky(covariance), np.sqrt(variance[n:, None]))
