"""Test whether one of two systems wins more often: the sign test, draws left out.

`exact` and `asymptotic` take counts of wins, draws and losses, and return p-values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy.special import bdtr, erfc

from simlab.types import Array, Floats

Test: TypeAlias = Callable[[Array], Floats]


def exact(counts: Array) -> Floats:
    """Return two-sided binomial p-values of `counts[..., outcome]` (`>`, `=`, `<`); without wins and losses p = 1.

    >>> exact(np.array([[8, 3, 1]])).round(4)
    array([0.0391])
    """
    wins, losses = counts[..., 0], counts[..., 2]
    tail = bdtr(np.minimum(wins, losses).astype(float), wins + losses, 0.5)
    # With as many wins as losses both tails hold the middle, and twice one of them is more than 1.
    return np.asarray(np.minimum(1.0, 2 * np.where(wins + losses > 0, tail, 1.0)))


def asymptotic(counts: Array) -> Floats:
    """Return two-sided normal p-values of `z = (w - l) / sqrt(w + l)`, without continuity correction.

    Source: Coakley and Heise 1996, as used by Deriu et al. 2023. Without wins and losses p = 1.

    >>> asymptotic(np.array([[8, 3, 1]])).round(4)
    array([0.0196])
    """
    wins, losses = counts[..., 0].astype(float), counts[..., 2].astype(float)
    z = (wins - losses) / np.sqrt(np.maximum(wins + losses, 1))
    return np.asarray(erfc(np.abs(z) / np.sqrt(2)))
