"""Name the values that travel between the rooms of simlab: world, asked, seen, conclusion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]

Outcomes: TypeAlias = Mapping[str, Array]
"""Outcome arrays of one cell, replicates first (see the outcome table in CONTRIBUTING.md)."""


OK, DESIGN_FAILED = 0, 1
"""Status of a campaign: carried out; its design could not be carried out."""

NO_TWIN = -128
"""Fills `twin_direction` where no deal with other raters was found."""


class InputError(ValueError):
    """Report what a user can mend, in one line: where, which value, which rule, what to do."""


class DesignFailure(RuntimeError):
    """Report a replicate whose design could not be carried out; it is stored, not raised to the user."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Say what can be rated and by whom.

    An item is one segment of the input. `document[item]` and `bucket[document]` are indices from 0;
    `rater[system, item, slot]` is the index of the rater who sits in a slot of the item's bucket, -1 where
    that rater never rated the output (a gap) or the bucket has fewer raters than others. Slot j of a bucket
    is the same rater throughout the bucket.
    """

    document: Ints
    bucket: Ints
    rater: Ints
    system_names: tuple[str, ...]
    document_names: tuple[str, ...]
    rater_names: tuple[str, ...]
    lower_is_better: bool

    @property
    def n_systems(self) -> int:
        """Count the systems."""
        return len(self.rater)

    @property
    def n_documents(self) -> int:
        """Count the documents."""
        return len(self.bucket)

    @property
    def n_raters(self) -> int:
        """Count the raters of the pool, idle ones included."""
        return len(self.rater_names)


@dataclass(frozen=True, slots=True)
class Ratings:
    """Hold what raters answer: `value[system, item, slot]` (NaN = gap), `errors` the number of errors marked."""

    value: Floats
    errors: Ints


@dataclass(frozen=True, slots=True)
class Outputs:
    """Hold what a system model draws: the expected quality of every output for an average rater.

    `quality[system, item]`, `document[item]`, and `truth[system]`, the mean quality over all inputs that the
    documents were drawn from.
    """

    quality: Floats
    document: Ints
    truth: Floats
    lower_is_better: bool


@dataclass(frozen=True, slots=True)
class RatingLaw:
    """Say how a potential rating comes about, so that a study can draw its own (`noise=fresh`).

    `expected[kind, system, item, slot]` is the expected number of errors of a kind (minor, major) that the
    rater in the slot marks, `shared[kind, system, item]` the standard normal part of the count that all raters
    share, `own_share` the share of its variance that is each rating's own, `dispersion` the variance of the
    gamma multiplier of the count (0 = Poisson) and `weight[kind]` the points an error costs.
    """

    expected: Floats
    shared: Floats
    own_share: float
    dispersion: float
    weight: Floats


@dataclass(frozen=True, slots=True)
class World:
    """Hold one draw of all that is true, unasked answers included.

    Exactly one of `ratings` (fixed: recorded, or `noise=potential`) and `law` (each study draws its rating
    noise anew) is given. `truth[system]` is None where nobody knows it.
    """

    frame: Frame
    truth: Floats | None
    ratings: Ratings | None
    law: RatingLaw | None


@dataclass(frozen=True, slots=True)
class Asked:
    """Say whom a design asks: `slot[system, document, k]`, -1 = not asked; all items of a document go together."""

    slot: Ints


@dataclass(frozen=True, slots=True)
class Seen:
    """Hold all that an analyst may use: flat arrays of equal length, one entry per rating."""

    system: Ints
    item: Ints
    rater: Ints
    value: Floats
    errors: Ints


@dataclass(frozen=True, slots=True)
class Estimate:
    """Hold a performance measure with what its error needs.

    `influence[cluster]` are jackknife influence values (cluster = world, document set or replicate), so
    `mcse = sqrt(sum(influence**2) / (K (K - 1)))`; `n` is the number of campaigns the value rests on.
    """

    value: float
    influence: Floats
    cluster: str
    n: int

    @property
    def mcse(self) -> float:
        """Give the Monte-Carlo standard error; NaN with fewer than two clusters."""
        k = len(self.influence)
        return float(np.sqrt(np.sum(self.influence**2) / (k * (k - 1)))) if k > 1 else float("nan")
