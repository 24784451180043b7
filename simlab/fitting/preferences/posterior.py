"""Compute the log posterior density of the law of preferences and its gradient, for several chains at once.

Call `build_posterior` on a pilot; the `PreferencePosterior` is a function of `theta[entry, chain]`, the vector that is
sampled, whose `ParameterLayout` says which entries belong to which parameter.

A spread is the absolute value of its entry times its scale; the entry is standard normal, so the spread is half-normal.
Units (systems, raters, outputs, items) differ by `y * spread / root`, where the entry `y` is N(0, root^2) and `root^2 =
spread^2 + error^2`: with an `error` as large as the data leave it, entries hardly depend on the spread. A cell is all
comparisons of two outputs (or systems) by one rater.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from simlab.fitting.preferences.pilot import Cells, PreferencePilot, build_cells
from simlab.types import Floats, Ints

NO_TIES = -40.0
"""Logarithm of `ties` where the pilot has none: draws are as good as impossible."""
FACTORS = ("item", "sharpness", "tie_habit")
"""Units that differ by a lognormal factor with mean 1."""
SCALES: Mapping[str, float] = {
    "system_sd": 1.0,
    "output_sd": 1.0,
    "item_sd": 0.5,
    "sharpness_sd": 0.5,
    "tie_sd": 0.7,
    "taste_sd": 0.5,
}
"""Scales of the half-normal priors: in logits, those of items, sharpness and ties of the logarithm."""
LOG_TIES = (-0.7, 2.0)
"""Mean and standard deviation of the normal prior of the logarithm of `ties`."""
OF_ITEMS, OF_RATERS = ("output_sd", "item_sd"), ("sharpness_sd", "tie_sd", "taste_sd")
"""Spreads of items and outputs; spreads of raters."""
UNITS: Mapping[str, str] = {
    "strength": "system_sd",
    "sharpness": "sharpness_sd",
    "tie_habit": "tie_sd",
    "taste": "taste_sd",
    "item": "item_sd",
    "output": "output_sd",
}
"""What differs from unit to unit, and by how much it does."""
_ERROR, _LARGE = 2.5, 4.0
"""Roughly the error, in logits, of what one comparison says of a unit: how fast chains move depends on it, no more."""


class Side(NamedTuple):
    """Units of each cell: `value[entry]`, less `value[other]` if given; `back[unit, cell]` sums over cells likewise."""

    entry: Ints
    other: Ints | None
    back: Any

    def cell_values(self, value: Floats) -> Floats:
        """Return what `value[entry, chain]` gives each cell."""
        values = np.take(value, self.entry, axis=0)
        if self.other is not None:
            values -= np.take(value, self.other, axis=0)
        return values


@dataclass(frozen=True, slots=True)
class PreferencePosterior:
    """Posterior density of a law, given a pilot as cells: their systems (or outputs), items, raters and outcomes.

    `won[cell, 1]` is half of the wins less the losses, `tied` and `total` count draws and comparisons.
    """

    layout: ParameterLayout
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
        log = -0.5 * _sum_cells(theta**2)
        units = {name: unit_values(self.layout, theta, name) for name in self.layout.error}
        for name, unit in units.items():
            log += _prior(self.layout, theta, name, unit, gradient)
        seen = _cell_distances(self, theta, units)
        _add_gradient(self, theta, units, seen, gradient)
        return log + _log_likelihood(self, seen), gradient

    def signs(self, theta: Floats) -> Floats:
        """Return the signs with which all spreads are positive: a spread turns with the entries that it spreads."""
        signs, at = np.ones_like(theta), self.layout.at
        for name in self.layout.error:
            sign = np.copysign(1.0, theta[at[UNITS[name]]])
            signs[at[UNITS[name]]] = signs[at[name]] = sign
        return signs

    def scale(self) -> Floats:
        """Return about how far each entry spreads under the prior."""
        scale = np.ones(self.layout.size)
        for name, error in self.layout.error.items():
            scale[self.layout.at[name]] = np.sqrt(error[:, 0] ** 2 + SCALES[UNITS[name]] ** 2)
        return scale


class Unit(NamedTuple):
    """Deviations of units, `value = entry * spread / root`; see the head of the module."""

    value: Floats
    spread: Floats
    root: Floats


class _CellDistances(NamedTuple):
    """Distances of each cell's outputs by themselves, on their item, and to the rater; and the rest.

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


def build_posterior(pilot: PreferencePilot) -> PreferencePosterior:
    """Return the posterior density of the parameters, given a pilot."""
    items = has_repeated_items(pilot)
    cells = build_cells(pilot, items)
    compared, system_of, n_outputs = _outputs(pilot, cells) if items else (_systems(pilot, cells), None, 0)
    n, counts = pilot.n_systems, cells.counts
    # Raters that are not named are average: the entry after the last, which is 0.
    rater = np.where(cells.rater < 0, pilot.n_raters, cells.rater)
    first, second = (np.minimum(rater * n + of, pilot.n_raters * n) for of in (cells.first, cells.second))
    sides = {
        "compared": compared,
        "taste": _side(first, second, pilot.n_raters * n + 1),
        "item": _side(cells.item, None, pilot.n_items),
        "rater": _side(rater, None, pilot.n_raters + 1),
        "system_of": compared if system_of is None else system_of,
    }
    total = counts.sum(1, keepdims=True)
    n_of = {name: np.asarray(abs(side.back) @ total).ravel() for name, side in sides.items() if name != "system_of"}
    raters, systems = n_of["rater"][:-1], _systems(pilot, cells)
    units = {"sharpness": raters, "tie_habit": raters, "taste": n_of["taste"][:-1], "item": n_of["item"]}
    units |= {"strength": np.asarray(abs(systems.back) @ total).ravel(), "output": n_of["compared"][:n_outputs]}
    return PreferencePosterior(
        layout(pilot, units),
        **sides,
        won=(counts[:, :1] - counts[:, 2:]) / 2,
        tied=counts[:, 1:2],
        total=total,
    )


def _systems(pilot: PreferencePilot, cells: Cells) -> Side:
    return _side(cells.first, cells.second, pilot.n_systems)


def _outputs(pilot: PreferencePilot, cells: Cells) -> tuple[Side, Side, int]:
    """Number the outputs that were compared; return which each cell compares, the system of each, and how many."""
    n, size = pilot.n_systems, len(cells.first)
    both = np.concatenate([cells.item * n + cells.first, cells.item * n + cells.second])
    names, output = np.unique(both, return_inverse=True)
    return _side(output[:size], output[size:], len(names)), _side(names % n, None, n), len(names)


def _side(entry: Ints, other: Ints | None, n: int) -> Side:
    rows, ones = np.arange(len(entry)), np.ones(len(entry))
    back = csr_matrix((ones, (entry, rows)), shape=(n, len(entry)))
    if other is not None:
        back = back - csr_matrix((ones, (other, rows)), shape=(n, len(entry)))
    return Side(entry, other, back.tocsr())


def spread(layout: ParameterLayout, theta: Floats, name: str) -> Floats:
    """Return a spread `[1, chain]` with the sign that its entry happens to have."""
    return np.asarray(SCALES[name] * layout.entries(theta, name))


def unit_values(layout: ParameterLayout, theta: Floats, name: str) -> Unit:
    """Return the deviations of the units of a parameter, `[unit, chain]`."""
    sd = spread(layout, theta, UNITS[name])
    root = np.sqrt(sd**2 + layout.error[name] ** 2)
    return Unit(layout.entries(theta, name) * (sd / root), sd, root)


def log_factors(unit: Unit) -> Floats:
    """Return logarithms of lognormal factors with mean 1, `[unit, chain]`."""
    return np.asarray(unit.value - unit.spread**2 / 2)


def log_ties(layout: ParameterLayout, theta: Floats) -> Floats:
    """Return the logarithm of `ties`, `[1, chain]`."""
    if not layout.has("log_ties"):
        return np.full((1, *theta.shape[1:]), NO_TIES)
    return np.asarray(LOG_TIES[0] + LOG_TIES[1] * layout.entries(theta, "log_ties"))


def _prior(at: ParameterLayout, theta: Floats, name: str, unit: Unit, gradient: Floats) -> Floats:
    """Return the log prior of units in place of that of standard normal entries, and put its gradient in place."""
    entry = at.entries(theta, name)
    standard = (entry / unit.root) ** 2
    gradient[at.at[name]] = -entry / unit.root**2
    gradient[at.at[UNITS[name]]] += SCALES[UNITS[name]] * unit.spread * _sum_cells((standard - 1) / unit.root**2)
    return _sum_cells(0.5 * (entry**2 - standard) - np.log(unit.root))


def _cell_distances(posterior: PreferencePosterior, theta: Floats, units: Mapping[str, Unit]) -> _CellDistances:
    place = units["strength"].value
    factor: Floats | float = 1.0
    if "output" in units:
        place = posterior.system_of.cell_values(place) + units["output"].value
        factor = posterior.item.cell_values(np.exp(log_factors(units["item"])))
    apart = posterior.compared.cell_values(place)
    on_item, ties = factor * apart, log_ties(posterior.layout, theta)
    if "taste" not in units:
        return _CellDistances(apart, factor, on_item, 1.0, on_item, ties, *_weights(on_item, ties))
    sharpness = posterior.rater.cell_values(np.exp(_pad_zero(log_factors(units["sharpness"]))))
    if "tie_habit" in units:
        ties = ties + posterior.rater.cell_values(_pad_zero(log_factors(units["tie_habit"])))
    distance = sharpness * (on_item + posterior.taste.cell_values(_pad_zero(units["taste"].value)))
    return _CellDistances(apart, factor, on_item, sharpness, distance, ties, *_weights(distance, ties))


def _pad_zero(value: Floats) -> Floats:
    return np.concatenate([value, np.zeros((1, *value.shape[1:]))])


def _weights(distance: Floats, ties: Floats) -> tuple[Floats, Floats, Floats]:
    # Weights are relative to the likelier win, so that no exponential overflows.
    half = np.exp(-0.5 * np.abs(distance))
    upset, draw = half**2, np.exp(ties) * half
    return upset, draw, 1 + draw + upset


def _log_likelihood(posterior: PreferencePosterior, seen: _CellDistances) -> Floats:
    log = posterior.won * seen.distance + posterior.tied * seen.log_ties
    log -= posterior.total * (0.5 * np.abs(seen.distance) + np.log(seen.total))
    return _sum_cells(log)


def _sum_cells(of_cells: Floats) -> Floats:
    # A product with ones is several times faster than a sum along the long axis of a narrow array.
    return np.asarray(np.ones(len(of_cells)) @ of_cells)


def _add_gradient(
    posterior: PreferencePosterior, theta: Floats, units: Mapping[str, Unit], seen: _CellDistances, gradient: Floats
) -> None:
    """Add the gradient of the log likelihood."""
    each = posterior.total / seen.total
    of_distance = posterior.won - 0.5 * each * np.copysign(1 - seen.upset, seen.distance)
    of_ties = posterior.tied - each * seen.draw
    of_seen = of_distance * seen.sharpness
    of_place = posterior.compared.back @ (of_seen * seen.factor)
    of: dict[str, Floats] = {}
    if "output" in units:
        of["item"] = posterior.item.back @ (of_seen * seen.on_item)
        of["output"], of_place = of_place, posterior.system_of.back @ of_place
    of["strength"] = of_place
    if "taste" in units:
        of["taste"] = (posterior.taste.back @ of_seen)[:-1]
        of["sharpness"] = (posterior.rater.back @ (of_distance * seen.distance))[:-1]
    if "tie_habit" in units:
        of["tie_habit"] = (posterior.rater.back @ of_ties)[:-1]
    if posterior.layout.has("log_ties"):
        gradient[posterior.layout.at["log_ties"]] += LOG_TIES[1] * _sum_cells(of_ties)
    for name, of_value in of.items():
        _pass_on(posterior.layout, theta, name, units[name], of_value, gradient)


def _pass_on(at: ParameterLayout, theta: Floats, name: str, unit: Unit, of_value: Floats, gradient: Floats) -> None:
    """Pass the gradient of what units differ by on to their entries and their spread."""
    sd = UNITS[name]
    gradient[at.at[name]] += of_value * (unit.spread / unit.root)
    of_spread = at.entries(theta, name) * at.error[name] ** 2 / unit.root**3
    # The logarithm of a factor with mean 1 holds -spread^2 / 2, which moves with the spread.
    if name in FACTORS:
        of_spread = of_spread - unit.spread
    gradient[at.at[sd]] += SCALES[sd] * _sum_cells(of_spread * of_value)


@dataclass(frozen=True, slots=True)
class ParameterLayout:
    """Layout of parameters: `at[name]` is a slice of the vector; what a pilot says nothing about is absent.

    `error[name]` are the errors of units, `[unit or 1, 1]`; the first `n_shared` entries are those of all but items and
    outputs.
    """

    at: Mapping[str, slice]
    size: int
    n_shared: int
    error: Mapping[str, Floats]

    def has(self, name: str) -> bool:
        """True if a parameter is sampled."""
        return name in self.at

    def entries(self, theta: Floats, name: str) -> Floats:
        """Take the entries of a parameter out of `theta[entry, ...]`."""
        return np.asarray(theta[self.at[name]])


def layout(pilot: PreferencePilot, counts: Mapping[str, Floats]) -> ParameterLayout:
    """Lay out the parameters that a pilot can inform, those of items and outputs last.

    `counts[name]` says in how many comparisons each unit takes part.
    """
    items, raters = has_repeated_items(pilot), pilot.n_raters > 1
    ties = bool((pilot.outcome == 1).any())
    single = {"system_sd": True, "log_ties": ties, "output_sd": items, "item_sd": items, "sharpness_sd": raters}
    single |= {"taste_sd": raters, "tie_sd": raters and ties}
    units = {name: single[sd] for name, sd in UNITS.items()}
    sizes = {name: int(there) for name, there in single.items()}
    sizes |= {name: len(counts[name]) * there for name, there in units.items()}
    at, start = {}, 0
    for name, size in sizes.items():
        if size:
            at[name] = slice(start, start + size)
            start += size
    shared = start - sizes["item"] - sizes["output"]
    error = {name: _ERROR / np.sqrt(np.maximum(counts[name][:, None], 1.0)) for name in UNITS if name in at}
    # Little is known of a single output, and what is known of all depends on their spread.
    error |= {name: np.full((1, 1), _LARGE) for name in ("item", "output") if name in at}
    return ParameterLayout(at, start, shared, error)


def has_repeated_items(pilot: PreferencePilot) -> bool:
    """True if some item was compared more than once: else items and outputs cannot be told from chance."""
    return len(pilot.item) > pilot.n_items
