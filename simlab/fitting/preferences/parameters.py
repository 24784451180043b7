"""List the parameters of the law of preferences, their priors, and where each stands in the vector that is sampled.

Every entry of the vector is standard normal under the prior. A spread is the absolute value of its entry times its
scale, so that it is half-normal and 0 is no boundary; what differs by it is the entry times the spread.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from simlab.fitting.preferences.pilot import Pilot
from simlab.types import Floats

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


@dataclass(frozen=True, slots=True)
class Layout:
    """Say where parameters stand: `at[name]` is a slice of the vector; what a pilot says nothing about is absent."""

    at: Mapping[str, slice]
    size: int
    n_shared: int

    def has(self, name: str) -> bool:
        """Say whether a parameter is sampled."""
        return name in self.at

    def of(self, theta: Floats, name: str) -> Floats:
        """Take the entries of a parameter out of `theta[entry, ...]`."""
        return np.asarray(theta[self.at[name]])


def layout(pilot: Pilot, n_outputs: int) -> Layout:
    """Lay out the parameters that a pilot can say anything about, those of items and outputs last."""
    items, raters = items_repeat(pilot), pilot.n_raters > 1
    ties = bool((pilot.outcome == 1).any())
    n, r = pilot.n_systems, pilot.n_raters
    sizes = {"system_sd": 1, "strength": n, "log_ties": int(ties)}
    sizes |= dict.fromkeys(OF_ITEMS, int(items)) | {"sharpness_sd": int(raters), "taste_sd": int(raters)}
    sizes |= {"tie_sd": int(raters and ties), "sharpness": r * raters, "tie_habit": r * (raters and ties)}
    sizes |= {"taste": r * n * raters}
    shared = sum(sizes.values())
    sizes |= {"item": pilot.n_items * items, "output": n_outputs * items}
    at, start = {}, 0
    for name, size in sizes.items():
        if size:
            at[name] = slice(start, start + size)
            start += size
    return Layout(at, start, shared)


def items_repeat(pilot: Pilot) -> bool:
    """Say whether some item was compared more than once: else items and outputs cannot be told from chance."""
    return len(pilot.item) > pilot.n_items
