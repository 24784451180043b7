"""Say what a campaign claims of each two systems, in studies of every kind."""

from __future__ import annotations

import numpy as np

from simlab.types import Array, Outcomes


def claims(outcomes: Outcomes) -> Array:
    """Return `[campaign, pair]`: +1 the first system is called better, -1 the second, 0 neither.

    Studies of preferences say so in `verdict`; others call a pair different where it is `significant`, in its
    `direction`. Raises KeyError, naming the outcome, where a kind of study concludes neither.

    >>> claims({"significant": np.array([[True, False]]), "direction": np.array([[-1, 1]])}).tolist()
    [[-1, 0]]
    """
    if "verdict" in outcomes:
        return outcomes["verdict"]
    return np.where(outcomes["significant"].astype(bool), outcomes["direction"], np.int8(0))
