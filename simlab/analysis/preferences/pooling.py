"""Learn about the metric's errors on one pair of systems from the other pairs: partial pooling of mixture matrices.

Columns of mu vary from pair to pair: column c of pair k is Dirichlet(kappa * mean_c), with `s = (1 + kappa)^-1/2`
uniform on (0, 1): an entry m varies by `s sqrt(m (1 - m))`. Who of two systems comes first is a matter of names, so
pairs are taken as they are and mirrored: the mean of column `<` is that of column `>` upside down, and that of column
`=` is symmetric. A pair is told what the *others* say (its own counts come in by its likelihood, and beforehand by what
they tell of how alike pairs are): mean and variance of a new pair's column, given their confusion counts, as a
Dirichlet. What the metric says of outputs that no human rated teaches nothing about its errors here, so that pairs stay
independent given their priors.
Sources: Gelman 2006 (uniform spread); Kleinman 1973 (weights of shares that vary).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from scipy.special import gammaln

from simlab.types import Floats, Ints

Sharing: TypeAlias = Literal["own", "joint", "partial"]

_SPREADS = (np.arange(24) + 0.5) / 24
_LEAST = 1 / 3
"""Fewest pseudo-counts of a cell: what the others never say (a draw, say) may be said here; a uniform prior has 1."""

_FIRST_SPREAD = 0.15
"""Spread by which pairs are weighed before theirs is known."""


def priors(confusion: Ints | Floats, pairs: int, sharing: Sharing, *, two_outcomes: bool) -> Floats:
    """Return pseudo-counts `[row, metric outcome, oracle outcome]` of each pair's matrix, from the others' counts.

    `confusion[row, metric outcome, human outcome]`; `pairs` rows in a row are a campaign. `own`: uniform priors;
    `joint`: one matrix for all pairs; `partial`: as alike as counts say. A campaign with one pair has no others.

    >>> counts = np.array([np.diag([8, 2, 6])] * 3)
    >>> priors(counts, 3, "joint", two_outcomes=False)[0].tolist()
    [[29.0, 1.0, 1.0], [1.0, 5.0, 1.0], [1.0, 1.0, 29.0]]
    """
    uniform = np.ones((len(confusion), 3, 3))
    if sharing == "own" or pairs < 2:
        return uniform
    kept = [0, 2] if two_outcomes else [0, 1, 2]
    columns = _columns(np.asarray(confusion, float)[:, kept].reshape(-1, pairs, len(kept), 3))
    decided, drawn = _jointly(columns) if sharing == "joint" else _partially(columns)
    found = np.stack([decided, drawn, decided[:, :, ::-1]], axis=3)
    uniform[:, kept] = np.maximum(found.reshape(-1, len(kept), 3), _LEAST)
    return uniform


def _columns(counts: Floats) -> Floats:
    """List the columns of each pair `[campaign, pair, column, metric outcome]`: `>`, `<` upside down, and `=`."""
    return np.stack([counts[..., 0], counts[:, :, ::-1, 2], counts[..., 1]], axis=2)


def _others(columns: Floats) -> tuple[Floats, Floats]:
    """Add up the other pairs' columns `>` (both kinds), and `=` as it is and mirrored: `[campaign, pair, outcome]`."""
    others = columns.sum(1, keepdims=True) - columns
    drawn = others[:, :, 2]
    return others[:, :, 0] + others[:, :, 1], (drawn + drawn[..., ::-1]) / 2


def _jointly(columns: Floats) -> tuple[Floats, Floats]:
    decided, drawn = _others(columns)
    return 1 + decided, 1 + drawn


def _partially(columns: Floats) -> tuple[Floats, Floats]:
    """Return the Dirichlet of a further pair's columns `>` and `=`, as the other pairs let expect them."""
    near = _means(columns, np.full(columns.shape[:2], _FIRST_SPREAD**2))
    square = _squared_spread(columns, [mean for mean, _ in near])
    return tuple(_predicted(mean, worth, square) for mean, worth in _means(columns, square))  # type: ignore[return-value]


def _means(columns: Floats, square: Floats) -> list[tuple[Floats, Floats]]:
    """Average the others' columns `>` and `=`, and say how many ratings each is worth `[campaign, pair, 1]`."""
    n = columns.sum(3, keepdims=True)
    weighed = columns / (1 + np.maximum(n - 1, 0) * square[:, :, None, None])
    cells = columns.shape[3]
    found = []
    for counts in _others(weighed):
        worth = counts.sum(2, keepdims=True) + cells
        found.append(((1 + counts) / worth, worth))
    return found


def _squared_spread(columns: Floats, means: list[Floats]) -> Floats:
    """Return the mean of s squared, given how the other pairs' columns spread: `[campaign, pair]`."""
    kappa = _SPREADS**-2.0 - 1
    a = np.stack([means[0], means[0], means[1]], axis=2)[..., None] * kappa
    n = columns[..., None]
    of_column = (gammaln(a + n) - gammaln(a)).sum(3) + gammaln(kappa) - gammaln(kappa + n.sum(3))
    log_l = of_column.sum(2)
    others = log_l.sum(1, keepdims=True) - log_l
    w = np.exp(others - others.max(2, keepdims=True))
    return np.asarray((w * _SPREADS**2).sum(2) / w.sum(2))


def _predicted(mean: Floats, worth: Floats, square: Floats) -> Floats:
    # The variance of an entry over mean (1 - mean): that between pairs, and that of the mean itself.
    ratio = (square[..., None] * worth + 1) / (worth + 1)
    return np.asarray(mean * (1 / ratio - 1))
