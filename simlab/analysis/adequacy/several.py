"""Carry what two systems are told apart by over to several: a stricter level for each pair, a larger power of it.

Systems that are measured alike have estimates that scatter alike, and independently given what the metric's rates are.
So all that several systems add is two numbers, whatever the ratings: the level at which a pair is tested, so that of
equal systems no pair is called different too often, and the power of a single pair that comes with the power wanted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from scipy.special import ndtr, ndtri

from simlab.analysis.adequacy.nodes import legendre
from simlab.messages import or_nearest, shown
from simlab.types import Floats, InputError

Rule: TypeAlias = Literal["max_t", "holm", "none"]
"""max_t: the largest difference of all pairs keeps the level; holm: each pair is held against its share of the level,
as the first step of Holm's rule does; none: each pair by itself."""

Find: TypeAlias = Literal["pair", "best", "all"]
"""What is found with the power: pair: any given pair; best: one system that stands out is told from every other; all:
every pair of a better and a worse half."""

RULES: tuple[Rule, ...] = get_args(Rule)
FINDS: tuple[Find, ...] = get_args(Find)
MOST_SYSTEMS = 10_000
NODES, FAR = 200, 9.0


class Among(NamedTuple):
    """Hold how many systems there are, what is done about all their pairs, and what is to be found.

    >>> eight = Among(8)
    >>> round(eight.level(0.05), 5), round(eight.power(0.8), 2), round(Among(8, find="all").power(0.8), 3)
    (0.00244, 0.8, 0.979)
    """

    n_systems: int = 2
    multiplicity: Rule = "max_t"
    find: Find = "pair"

    def checked(self) -> Among:
        """Return itself; raise InputError for what cannot be."""
        if not (2 <= self.n_systems <= MOST_SYSTEMS and self.n_systems == round(self.n_systems)):
            raise InputError(f"n_systems={self.n_systems:g} is not a number of systems; give 2 to {MOST_SYSTEMS}")
        for name, known in (("multiplicity", RULES), ("find", FINDS)):
            if (value := getattr(self, name)) not in known:
                raise InputError(f"{name}={shown(value)} is unknown; {or_nearest(str(value), known)}")
        return self._replace(n_systems=int(self.n_systems))

    @property
    def n_pairs(self) -> int:
        """Count the pairs."""
        return self.n_systems * (self.n_systems - 1) // 2

    def level(self, level: float) -> float:
        """Return the level of a single pair; of two systems it is `level`.

        With max_t no two of equal systems are called different with probability 1 - `level`: the bar is a quantile of
        the studentised range, exact where all estimates have the same spread and cautious else (Tukey 1953; Hayter
        1984). Raises InputError for a level that is not between 0 and 1.
        """
        if not 0 < level < 1:
            raise InputError(f"level={level:g} is not between 0 and 1")
        if self.n_systems == 2 or self.multiplicity == "none":
            return level
        if self.multiplicity == "holm":
            return level / self.n_pairs
        bar = _where(lambda x: range_below(x * np.sqrt(2), self.n_systems), 1 - level)
        return float(2 * ndtr(-bar))

    def power(self, power: float) -> float:
        """Return the power of a single pair that is needed for the `power` of what is to be found.

        Raises InputError for a power that is not from .5 to below 1.
        """
        if not 0.5 <= power < 1:
            raise InputError(f"power={power:g} is not from .5 to below 1")
        if self._alone:
            return power
        return float(ndtr(_where(lambda u: float(self._apart(np.array([u]))[0]), power)))

    def found(self, power: Floats) -> Floats:
        """Return how often what is to be found is found, given the power of each single pair; NaN stays NaN."""
        power = np.asarray(power, float)
        if self._alone:
            return power
        known = np.nan_to_num(power.ravel(), nan=0.5)
        found = self._apart(np.asarray(ndtri(np.clip(known, 1e-300, 1 - 1e-16)))).reshape(power.shape)
        return np.where(np.isnan(power), np.nan, found)

    @property
    def _alone(self) -> bool:
        return self.n_systems == 2 or self.find == "pair"

    def _apart(self, u: Floats) -> Floats:
        """Return the probability that the lowest of some normal variables passes the highest of the others by a bar.

        A single pair does with the probability Phi(`u`). Integrated over the lowest.
        """
        better = 1 if self.find == "best" else self.n_systems // 2
        x, weight = _line()
        lowest = weight * better * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) * ndtr(-x) ** (better - 1)
        return np.asarray(ndtr(x + np.sqrt(2) * u[:, None]) ** (self.n_systems - better) @ lowest)


def range_below(width: float, n: int) -> float:
    """Return the probability that n independent standard normal variables lie within a `width`.

    >>> round(range_below(4.2863, 8), 4)
    0.95
    """
    x, weight = _line()
    lowest = weight * n * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    return float(lowest @ np.maximum(ndtr(x + width) - ndtr(x), 0.0) ** (n - 1))


def _line() -> tuple[Floats, Floats]:
    node, part = legendre(NODES)
    return 2 * FAR * node - FAR, 2 * FAR * part


def _where(rising: Callable[[float], float], wanted: float) -> float:
    """Bisect for where a rising function passes a value, between 0 and 40."""
    low, high = 0.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < wanted else (low, middle)
    return high
