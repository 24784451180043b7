"""Say how dependable studies of other sizes would be, in closed form from variance components.

Documents are always drawn anew. Raters are *drawn* (a study has raters like the pilot's, other people) or *fixed*
(these raters, and what they favour counts as true). All raters of a document rate all its outputs. Source: Brennan
(2001), Generalizability Theory, chapters 1 and 4 (E rho^2 for comparing systems, Phi for their scores as they stand).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from simlab.answers.fit import Dependability, ErrorByRatings
from simlab.fitting.components import INTERVAL, Components
from simlab.types import Floats

DOCUMENTS = (10, 20, 40, 80, 160, 320)
MOST_EACH = 20
PRICES = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
"""What a document costs, in ratings of one of its segments."""
Raters = Literal["drawn", "fixed"]
NAMES: tuple[Literal["e_rho2", "phi"], ...] = ("e_rho2", "phi")


class Size(NamedTuple):
    """Say how large a study is: documents, raters of each document, raters in all."""

    documents: float
    each: float
    raters: float


class Best(NamedTuple):
    """Hold how many ratings each are best at a price of a document [ratings], with a 95 % interval."""

    price: float
    each: float
    low: float
    high: float


class Trade(NamedTuple):
    """Say what more ratings of an output cost: `rows` by ratings each, and from which price of a document they pay.

    `price[low, middle, high]` is how many ratings a document must cost for a second rating each to be worth more than
    more documents, `best` how many are best at other prices.
    """

    ratings: float
    rows: tuple[ErrorByRatings, ...]
    price: tuple[float, float, float]
    best: tuple[Best, ...]


def relative_error(held: Components, size: Size, raters: Raters) -> Floats:
    """Return, by draw, half the variance of a difference of two systems' mean scores about its truth."""
    by_document, by_rating = _per_document(held)
    taste = _of(held, "rater_system") / size.raters if raters == "drawn" else 0.0
    return np.asarray(by_document / size.documents + by_rating / (size.documents * size.each) + taste)


def absolute_error(held: Components, size: Size, raters: Raters) -> Floats:
    """Return, by draw, the variance of a system's mean score about its truth."""
    m = held.segments
    shared = _of(held, "document") + _of(held, "segment") / m
    rated = _of(held, "rater_document") + _of(held, "rater_segment") / m
    leniency = _of(held, "leniency") / size.raters if raters == "drawn" else 0.0
    more = shared / size.documents + rated / (size.documents * size.each) + leniency
    return np.asarray(relative_error(held, size, raters) + more)


def _per_document(held: Components) -> tuple[Floats, Floats]:
    """Split what differs between systems on a document: what all its raters share, and what each rating brings."""
    m = held.segments
    by_document = _of(held, "system_document") + _of(held, "output") / m
    return by_document, _of(held, "rater_output_document") + _of(held, "residual") / m


def _of(held: Components, name: str) -> Floats:
    return np.asarray(held.variance.get(name, np.zeros(1)))


def coefficients(held: Components, each: int, documents: Sequence[int] = DOCUMENTS) -> list[Dependability]:
    """Return E rho^2 and Phi of studies with so many documents, raters drawn and fixed."""
    return [
        Dependability(name=name, raters=raters, documents=n, each=each, value=value, low=low, high=high)
        for name in NAMES
        for raters in _known(held)
        for n in documents
        for value, low, high in [_summary(_coefficient(held, Size(n, each, held.n_raters), name, raters))]
    ]


def _known(held: Components) -> tuple[Raters, ...]:
    """Leave out what a pilot cannot tell: raters at large, where it had one."""
    return ("fixed",) if {"rater_system", "leniency"} & held.unknown else ("drawn", "fixed")


def _coefficient(held: Components, size: Size, name: str, raters: Raters) -> Floats:
    true = _of(held, "system") + (_of(held, "rater_system") / size.raters if raters == "fixed" else 0.0)
    error = (relative_error if name == "e_rho2" else absolute_error)(held, size, raters)
    return np.asarray(np.divide(true, true + error, out=np.zeros_like(true), where=true > 0))


def trade(held: Components, ratings: float, most: int = MOST_EACH) -> Trade | None:
    """Weigh more documents against more ratings each at equal cost: `ratings` a system, K = 1 .. `most` each.

    With `A` what the raters of a document share and `B` what each rating brings, the variance is `2 (A + B / K) / D`.
    None where the pilot cannot tell A from B.
    """
    if {"system_document", "output", "residual"} & held.unknown:
        return None
    m = held.segments
    each = [k for k in range(1, most + 1) if ratings / (k * m) >= 2]
    sizes = {k: ratings / (k * m) for k in each}
    errors = {k: np.sqrt(2 * relative_error(held, Size(n, k, 1), "fixed")) for k, n in sizes.items()}
    if not errors:
        return None
    best = np.array(each)[np.argmin(np.stack(list(errors.values())), axis=0)]
    rows = tuple(
        ErrorByRatings(each=k, documents=sizes[k], error=error, low=low, high=high, best=float((best == k).mean()))
        for k in each
        for error, low, high in [_summary(errors[k])]
    )
    shared, own = _per_document(held)
    price = np.divide(2 * m * shared, own, out=np.full_like(own, np.inf), where=own > 0)
    low, middle, high = np.quantile(price, INTERVAL)
    return Trade(ratings, rows, (float(low), float(middle), float(high)), tuple(best_each(held, most=most)))


def best_each(held: Components, prices: Sequence[float] = PRICES, most: int = MOST_EACH) -> list[Best]:
    """Return how many ratings each are best where a document costs as much as so many ratings, and 1 .. `most` can be.

    `K = sqrt(price B / (segments A))`, to the whole number that is better (Brennan 2001, section 8.1).
    """
    shared, own = _per_document(held)
    each = np.arange(1, most + 1)[:, None]
    rows = []
    for price in prices:
        worth = (shared + own / each) * (price + each * held.segments)
        rows.append(Best(price, *_summary(1 + worth.argmin(0))))
    return rows


def _summary(values: Floats) -> tuple[float, float, float]:
    low, middle, high = map(float, np.quantile(values, INTERVAL))
    return middle, low, high
