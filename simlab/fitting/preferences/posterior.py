"""Give the log posterior density of the law of preferences and its gradient, for several chains at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from simlab.fitting.preferences.parameters import LOG_TIES, SCALES, Layout, items_repeat, layout
from simlab.fitting.preferences.pilot import Cells, Pilot, cells_of
from simlab.types import Floats, Ints

NO_TIES = -40.0
"""Logarithm of `ties` where the pilot has none: draws are as good as impossible."""


class Side(NamedTuple):
    """Look up what cells are about: `value[entry]` is added, `value[other]` taken away; `back` sums over cells."""

    entry: Ints
    other: Ints | None
    back: Any

    def of(self, value: Floats) -> Floats:
        """Return what `value[entry, chain]` gives each cell."""
        found = np.take(value, self.entry, axis=0)
        if self.other is not None:
            found -= np.take(value, self.other, axis=0)
        return found


@dataclass(frozen=True, slots=True)
class Posterior:
    """Hold a pilot as cells: which systems (or outputs), item, rater and tastes each is about, and what was said.

    `won[cell, 1]` is half of the wins less the losses, `tied` and `total` count draws and comparisons.
    """

    layout: Layout
    compared: Side
    taste: Side
    item: Side
    rater: Side
    system_of: Side
    won: Floats
    tied: Floats
    total: Floats

    def __call__(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return log density `[chain]` and gradient `[entry, chain]` of `theta[entry, chain]`."""
        gradient = -theta
        seen = _forward(self, theta)
        log = -0.5 * (theta**2).sum(0) + _log_likelihood(self, seen)
        _backward(self, theta, seen, gradient)
        return log, gradient


class _Seen(NamedTuple):
    """Hold, for each cell, how far apart outputs lie by themselves, on their item, and to the rater; and the rest.

    `upset` and `draw` are how likely the farther win and the draw are, the nearer win being 1; `total` is their sum.
    """

    apart: Floats
    factor: Floats | float
    on_item: Floats
    sharpness: Floats | float
    distance: Floats
    log_ties: Floats
    upset: Floats
    draw: Floats
    total: Floats


def posterior_of(pilot: Pilot) -> Posterior:
    """Lay out a pilot."""
    items = items_repeat(pilot)
    cells = cells_of(pilot, items)
    compared, system_of, n_outputs = _outputs(pilot, cells) if items else (_systems(pilot, cells), None, 0)
    n, counts = pilot.n_systems, cells.counts
    # Raters that are not named are average: the entry after the last, which is 0.
    rater = np.where(cells.rater < 0, pilot.n_raters, cells.rater)
    first, second = (np.minimum(rater * n + of, pilot.n_raters * n) for of in (cells.first, cells.second))
    return Posterior(
        layout(pilot, n_outputs),
        compared,
        _side(first, second, pilot.n_raters * n + 1),
        _side(cells.item, None, pilot.n_items),
        _side(rater, None, pilot.n_raters + 1),
        compared if system_of is None else system_of,
        (counts[:, :1] - counts[:, 2:]) / 2,
        counts[:, 1:2],
        counts.sum(1, keepdims=True),
    )


def _systems(pilot: Pilot, cells: Cells) -> Side:
    return _side(cells.first, cells.second, pilot.n_systems)


def _outputs(pilot: Pilot, cells: Cells) -> tuple[Side, Side, int]:
    """Number the outputs that were compared; say which cells compare them, and which system made each."""
    n, size = pilot.n_systems, len(cells.first)
    both = np.concatenate([cells.item * n + cells.first, cells.item * n + cells.second])
    names, output = np.unique(both, return_inverse=True)
    return _side(output[:size], output[size:], len(names)), _side(names % n, None, n), len(names)


def _side(entry: Ints, other: Ints | None, n: int) -> Side:
    rows, one = np.arange(len(entry)), np.ones(len(entry))
    back = csr_matrix((one, (entry, rows)), shape=(n, len(entry)))
    if other is not None:
        back = back - csr_matrix((one, (other, rows)), shape=(n, len(entry)))
    return Side(entry, other, back.tocsr())


def spread(layout: Layout, theta: Floats, name: str) -> Floats:
    """Return a spread `[1, chain]` with the sign that its entry happens to have."""
    return np.asarray(SCALES[name] * layout.of(theta, name))


def factors(layout: Layout, theta: Floats, name: str, sd: str) -> Floats:
    """Return lognormal factors with mean 1, `[unit, chain]`, as logarithms."""
    sigma = spread(layout, theta, sd)
    return np.asarray(sigma * layout.of(theta, name) - sigma**2 / 2)


def strengths(layout: Layout, theta: Floats) -> Floats:
    """Return the strengths `[system, chain]`; their level means nothing."""
    return np.asarray(spread(layout, theta, "system_sd") * layout.of(theta, "strength"))


def log_ties(layout: Layout, theta: Floats) -> Floats:
    """Return the logarithm of `ties`, `[1, chain]`."""
    if not layout.has("log_ties"):
        return np.full((1, *theta.shape[1:]), NO_TIES)
    return np.asarray(LOG_TIES[0] + LOG_TIES[1] * layout.of(theta, "log_ties"))


def _forward(held: Posterior, theta: Floats) -> _Seen:
    at = held.layout
    place = strengths(at, theta)
    if at.has("output"):
        place = held.system_of.of(place) + spread(at, theta, "output_sd") * at.of(theta, "output")
    apart = held.compared.of(place)
    factor = held.item.of(np.exp(factors(at, theta, "item", "item_sd"))) if at.has("item") else 1.0
    on_item, ties = factor * apart, log_ties(at, theta)
    if not at.has("taste"):
        return _Seen(apart, factor, on_item, 1.0, on_item, ties, *_weights(on_item, ties))
    seen = on_item + held.taste.of(_padded(spread(at, theta, "taste_sd") * at.of(theta, "taste")))
    sharpness = np.exp(held.rater.of(_padded(factors(at, theta, "sharpness", "sharpness_sd"))))
    if at.has("tie_habit"):
        ties = ties + held.rater.of(_padded(factors(at, theta, "tie_habit", "tie_sd")))
    seen *= sharpness
    return _Seen(apart, factor, on_item, sharpness, seen, ties, *_weights(seen, ties))


def _padded(value: Floats) -> Floats:
    return np.concatenate([value, np.zeros((1, *value.shape[1:]))])


def _weights(distance: Floats, ties: Floats) -> tuple[Floats, Floats, Floats]:
    half = np.exp(-0.5 * np.abs(distance))
    upset, draw = half**2, np.exp(ties) * half
    return upset, draw, 1 + draw + upset


def _log_likelihood(held: Posterior, seen: _Seen) -> Floats:
    log = held.won * seen.distance + held.tied * seen.log_ties
    log -= held.total * (0.5 * np.abs(seen.distance) + np.log(seen.total))
    return _summed(log)


def _summed(of_cells: Floats) -> Floats:
    return np.asarray(np.ones(len(of_cells)) @ of_cells)


def _backward(held: Posterior, theta: Floats, seen: _Seen, gradient: Floats) -> None:
    """Add the gradient of the log likelihood."""
    at = held.layout
    each = held.total / seen.total
    of_distance = held.won - 0.5 * each * np.copysign(1 - seen.upset, seen.distance)
    of_ties = held.tied - each * seen.draw
    if at.has("log_ties"):
        gradient[at.at["log_ties"]] += LOG_TIES[1] * _summed(of_ties)
    of_seen = of_distance * seen.sharpness
    if at.has("taste"):
        of_taste = (held.taste.back @ of_seen)[:-1]
        _scaled(at, theta, gradient, "taste", "taste_sd", of_taste)
        of_sharpness = (held.rater.back @ (of_distance * seen.distance))[:-1]
        _of_factors(at, theta, gradient, "sharpness", "sharpness_sd", of_sharpness)
    if at.has("tie_habit"):
        _of_factors(at, theta, gradient, "tie_habit", "tie_sd", (held.rater.back @ of_ties)[:-1])
    if at.has("item"):
        _of_factors(at, theta, gradient, "item", "item_sd", held.item.back @ (of_seen * seen.on_item))
    of_place = held.compared.back @ (of_seen * seen.factor)
    if at.has("output"):
        _scaled(at, theta, gradient, "output", "output_sd", of_place)
        of_place = held.system_of.back @ of_place
    _scaled(at, theta, gradient, "strength", "system_sd", of_place)


def _scaled(at: Layout, theta: Floats, gradient: Floats, name: str, sd: str, of: Floats) -> None:
    """Pass the gradient of what is an entry times its spread on to both."""
    gradient[at.at[name]] += spread(at, theta, sd) * of
    gradient[at.at[sd]] += SCALES[sd] * _summed(at.of(theta, name) * of)


def _of_factors(at: Layout, theta: Floats, gradient: Floats, name: str, sd: str, of: Floats) -> None:
    """Pass the gradient of the logarithm of a factor with mean 1 on to its entry and its spread."""
    sigma = spread(at, theta, sd)
    gradient[at.at[name]] += sigma * of
    gradient[at.at[sd]] += SCALES[sd] * _summed((at.of(theta, name) - sigma) * of)
