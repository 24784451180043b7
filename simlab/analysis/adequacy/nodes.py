"""Place the nodes of a quadrature over alpha where its posterior is, panel by panel."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from simlab.types import Floats

REACH = 5.0
"""How far panels go, in standard deviations of the tempered density; what lies beyond has no mass that matters."""

TEMPER = 0.5
"""The power of the density that panels share out: below 1 so that tails get their nodes."""

CELLS, ROUNDS = 64, 4


class Nodes(NamedTuple):
    """Hold a Gauss-Legendre rule in panels: `alpha[row, panel, k]` and its `weight[row, panel, k]`."""

    alpha: Floats
    weight: Floats


@cache
def legendre(k: int) -> tuple[Floats, Floats]:
    """Return nodes and weights of the Gauss-Legendre rule on [0, 1]."""
    node, weight = np.polynomial.legendre.leggauss(k)
    return (node + 1) / 2, weight / 2


@cache
def running(k: int) -> Floats:
    """Return the matrix that integrates from 0 to each Gauss-Legendre node on [0, 1] from values at the nodes."""
    node, _ = legendre(k)
    powers = np.arange(k)
    return np.asarray((node[:, None] ** (powers + 1) / (powers + 1)) @ np.linalg.inv(node[:, None] ** powers))


def nodes(
    log_density: Callable[[Floats], Floats], rows: int, panels: int, k: int, kinks: Floats | None = None
) -> Nodes:
    """Share out panels evenly over a density, up to its far tails, and put k nodes in each.

    `log_density(alpha[row, cell])` returns `[row, variant, cell]`, unnormalised; nodes serve all variants of a row. It
    may be rough: it only says where nodes are needed. Panels are laid in t = arcsin(sqrt(alpha)), where proportions
    have the same spread everywhere, and refined in rounds, so that a peak narrower than the first cells is found. Where
    the density has `kinks[row, ...]`, panels are cut in two: no polynomial is right on both sides.
    """
    edges = np.broadcast_to(np.linspace(0, np.pi / 2, CELLS + 1), (rows, CELLS + 1))
    for left in range(ROUNDS)[::-1]:
        middle = (edges[:, 1:] + edges[:, :-1]) / 2
        mass = _tempered(log_density(np.sin(middle) ** 2), np.diff(edges))
        edges = _quantiles(edges, mass, CELLS if left else panels)
    node, weight = legendre(k)
    edges = np.sin(edges) ** 2 if kinks is None else _cut(np.sin(edges) ** 2, kinks)
    width = np.diff(edges)[..., None]
    return Nodes(edges[:, :-1, None] + width * node, width * weight)


def _cut(edges: Floats, kinks: Floats) -> Floats:
    """Add an edge at each kink; one that lies beyond all panels cuts a middle one instead."""
    outside = (kinks <= edges[:, :1]) | (kinks >= edges[:, -1:])
    some = edges.shape[1] // 2 + np.arange(kinks.shape[1])
    middle = (edges[:, some - 1] + edges[:, some]) / 2
    return np.sort(np.concatenate([edges, np.where(outside, middle, kinks)], axis=1), axis=1)


def _tempered(log_density: Floats, width: Floats) -> Floats:
    scaled = TEMPER * (log_density - log_density.max(-1, keepdims=True))
    mass = np.exp(scaled) * width[:, None]
    mass = (mass / mass.sum(-1, keepdims=True)).mean(1)
    # A peak on the border of two cells must not be lost to one of them.
    mass[:, 1:-1] = (mass[:, :-2] + 2 * mass[:, 1:-1] + mass[:, 2:]) / 4
    return np.asarray(mass)


def _quantiles(edges: Floats, mass: Floats, n: int) -> Floats:
    """Find n + 1 edges that are evenly spaced as the quantiles of a normal distribution are."""
    below = np.concatenate([np.zeros((len(mass), 1)), np.cumsum(mass, axis=1)], axis=1)
    below /= below[:, -1:]
    wanted = ndtr(np.linspace(-REACH, REACH, n + 1))
    # Rows are told apart by whole numbers, so that one call interpolates all of them.
    row = 2.0 * np.arange(len(mass))[:, None]
    edge = np.interp((wanted + row).ravel(), (below + row).ravel(), edges.ravel())
    return np.asarray(edge.reshape(len(mass), n + 1))
