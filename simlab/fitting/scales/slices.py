"""Draw many single numbers at once by slice sampling (Neal 2003), each from a density of its own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from simlab.types import Floats

MOST = 200


def slice_step(rng: np.random.Generator, density: Callable[[Floats], Floats], at: Floats, width: Floats) -> Floats:
    """Move every number of an array by one step that leaves its log density, element by element, as it is.

    Intervals of `width`, which must not depend on `at`, are laid at random around `at` and shrunk; none is widened.
    """
    level = density(at) - rng.exponential(size=at.shape)
    low = at - width * rng.random(at.shape)
    high = low + width
    new, todo = at.copy(), np.ones(at.shape, bool)
    for _ in range(MOST):
        tried = np.where(todo, low + (high - low) * rng.random(at.shape), new)
        inside = todo & (density(tried) >= level)
        new = np.where(inside, tried, new)
        todo &= ~inside
        if not todo.any():
            break
        low, high = np.where(todo & (tried < at), tried, low), np.where(todo & (tried >= at), tried, high)
    return new
