"""Test whether one of two systems wins more often where outputs come in documents: flip whole documents.

If two systems are exchangeable, exchanging them in any document changes nothing: given how far apart wins and losses
are in each, the sign of every document's total is a fair coin of its own, however alike the outputs of a document are.
"""

from __future__ import annotations

import numpy as np
from scipy.special import erfc

from simlab.formulas import SLACK
from simlab.types import Floats, Ints


def flips_asymptotic(total: Ints) -> Floats:
    """Return two-sided normal p-values of `z = sum D / sqrt(sum D^2)`, `total[..., document]` the D.

    With documents of one output each that is the sign test `sign_test.asymptotic`.

    >>> flips_asymptotic(np.array([[1, 1, 1, 1, -1, 0]])).round(4)
    array([0.1797])
    """
    square = (total.astype(float) ** 2).sum(-1)
    return np.asarray(erfc(np.abs(total.sum(-1)) / np.sqrt(2 * np.maximum(square, 1))))


def least_clusters(total: Ints, level: float, most: int = 60) -> int:
    """Return how many more clusters as large as these, all for who is ahead, flips need at a level; 0: none.

    `total[cluster]` are wins less losses; of more clusters than `most` at once nothing is known, and 0 is returned.

    >>> least_clusters(np.array([10, 10, 10, 10, 10, -10]), 0.05), least_clusters(np.array([3, 2]), 0.05)
    (3, 4)
    """
    there = np.abs(total[total != 0])
    ahead = 1 if total.sum() >= 0 else -1
    further = np.full(most, ahead * max(round(float(there.mean())) if len(there) else 1, 1))
    for n in range(most):
        if len(there) + n > most:
            return 0
        if flips_exact(np.concatenate([[0], total[total != 0], further[:n]])) <= level + SLACK:
            return n
    return 0


def flips_exact(total: Ints) -> Floats:
    """Return the share of all sign flips of `total[..., document]` whose sum is at least as far from 0.

    >>> flips_exact(np.array([[3, 3, 3], [1, 1, 1], [0, 0, 0]])).tolist()
    [0.25, 0.25, 1.0]
    """
    flat = np.abs(total.reshape(-1, total.shape[-1]))
    far = int(flat.sum(1).max(initial=0))
    chance = np.zeros((len(flat), 2 * far + 1))
    chance[:, far] = 1.0
    at = np.arange(2 * far + 1)
    for step in flat.T[:, :, None]:
        # Beyond the ends there is nothing: no sum is farther than all documents together.
        from_below = np.where(at >= step, np.take_along_axis(chance, np.maximum(at - step, 0), 1), 0.0)
        from_above = np.where(at + step <= 2 * far, np.take_along_axis(chance, np.minimum(at + step, 2 * far), 1), 0.0)
        chance = (from_below + from_above) / 2
    found = np.abs(total.sum(-1)).reshape(-1, 1)
    share = np.where(np.abs(at - far) >= found, chance, 0.0).sum(1)
    return np.asarray(np.minimum(share, 1.0)).reshape(total.shape[:-1])
