"""Reduce a table of ratings to what tells the parameters of the law: margins, and mean products of pairs of ratings.

All factors of the law are independent with mean 1, so the mean product of two ratings, each divided by what is
expected of its system and its rater, is the product of `exp(sd ** 2)` over the factors that the two share. Kinds of
pairs (same document? same segment? same system? same rater?) tell the spreads apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simlab.fit.pilot import Pilot
from simlab.types import Bools, Floats, Ints

PAIRS = (
    "same document, other segment, other system, other rater",
    "same document, other segment, other system, same rater",
    "same document, other segment, same system, other rater",
    "same document, other segment, same system, same rater",
    "same segment, other system, other rater",
    "same segment, other system, same rater",
    "same segment, same system, other rater",
    "the rating itself",
    "other document, same system, same rater",
)
"""Kinds of pairs whose mean products are used, in the order of `Margins.products`."""

ROUNDS = 30


class Margins(NamedTuple):
    """Hold logarithms of the mean scores of systems and the factors of raters, and of pairs' mean products.

    `system[system]` are in points for a rater of average factor, `rater[rater]` have mean 0 over raters;
    `severity[rater]` is the log odds that an error is major, `punctuation[rater]` the log of punctuation errors per
    average segment; `products[kind]` is NaN where there are too few such pairs.
    """

    system: Floats
    rater: Floats
    severity: Floats
    punctuation: Floats
    products: Floats
    taste: Floats


def margins(pilot: Pilot) -> Margins:
    """Reduce a table; half an error is added where a system or rater has none."""
    by_system, by_rater, fitted = multiplicative_fit(pilot)
    centre = np.log(by_rater).mean()
    severity, punctuation = _rater_kinds(pilot)
    relative = pilot.score / (by_system[pilot.system] * by_rater[pilot.rater])
    products = mean_products(pilot, relative / relative.mean())
    taste = _taste(pilot, fitted)
    return Margins(np.log(by_system) + centre, np.log(by_rater) - centre, severity, punctuation, products, taste)


def multiplicative_fit(pilot: Pilot) -> tuple[Floats, Floats, Floats]:
    """Fit score = system x rater x segment by equating margins in turn; return systems, raters and fitted scores.

    Segments are taken out, so that raters who had long ones are not held to be strict. These are the maximum
    likelihood equations of a Poisson law, which hold on average for any law.
    """
    labels = (pilot.system, pilot.rater, pilot.item)
    totals = [np.maximum(np.bincount(label, weights=pilot.score), _small(pilot)) for label in labels]
    factors = [np.ones(len(total)) for total in totals]
    factors[2] = totals[2] / np.bincount(pilot.item)
    for _ in range(ROUNDS):
        for k, label in enumerate(labels):
            others = np.prod([factors[j][labels[j]] for j in range(3) if j != k], axis=0)
            found = np.bincount(label, weights=others, minlength=len(totals[k]))
            factors[k] = np.divide(totals[k], found, out=np.ones_like(found), where=found > 0)
    fitted = factors[0][pilot.system] * factors[1][pilot.rater] * factors[2][pilot.item]
    mean_item = factors[2].mean()
    return factors[0] * mean_item, factors[1], fitted


def _small(pilot: Pilot) -> float:
    return 0.5 * pilot.minor_weight


def _rater_kinds(pilot: Pilot) -> tuple[Floats, Floats]:
    """Return each rater's log odds of major errors, and log of punctuation errors per segment."""
    n = pilot.n_raters
    minor, major, comma = (np.bincount(pilot.rater, weights=row, minlength=n) for row in pilot.counts)
    size = np.bincount(pilot.rater, minlength=n)
    if not pilot.counted:
        return np.zeros(n), np.full(n, -np.inf)
    punctuation = np.log((comma + 0.5) / np.maximum(size, 1)) if comma.any() else np.full(n, -np.inf)
    return np.log((major + 0.5) / (minor + 0.5)), punctuation


def _taste(pilot: Pilot, fitted: Floats) -> Floats:
    """Return log ratios of found to fitted scores per system and rater; 0 where a rater never rated a system."""
    cell = pilot.system * pilot.n_raters + pilot.rater
    n = pilot.n_systems * pilot.n_raters
    found, expected = (np.bincount(cell, weights=w, minlength=n) for w in (pilot.score, fitted))
    small = _small(pilot)
    return np.asarray(np.log((found + small) / (expected + small))).reshape(pilot.n_systems, -1)


def mean_products(pilot: Pilot, relative: Floats) -> Floats:
    """Return the logarithm of the mean product of pairs of `relative` scores, by kind of pair; see PAIRS."""
    place = [np.zeros_like(pilot.item), pilot.document[pilot.item], pilot.item]
    sums, numbers = zip(*(_by_sharing(pilot, where, relative) for where in place), strict=True)
    every, document, segment = (np.array(row) for row in sums)
    n_every, n_document, n_segment = (np.array(row) for row in numbers)
    total = np.concatenate([(document - segment), segment, (every - document)[3:]])
    number = np.concatenate([(n_document - n_segment), n_segment, (n_every - n_document)[3:]])
    usable = (number > 0) & (total > 0)
    return np.asarray(np.log(np.divide(total, number, out=np.full(9, np.nan), where=usable)))


def _by_sharing(pilot: Pilot, place: Ints, relative: Floats) -> tuple[list[float], list[float]]:
    """Add up products over ordered pairs in the same place: other system and rater, same rater, same system, both."""
    n_systems, n_raters = pilot.n_systems, pilot.n_raters
    labels = (
        place,
        place * n_raters + pilot.rater,
        place * n_systems + pilot.system,
        (place * n_systems + pilot.system) * n_raters + pilot.rater,
    )
    sums, numbers = zip(*(_squares(label, relative) for label in labels), strict=True)
    return _exclusive(sums), _exclusive(numbers)


def _exclusive(at: tuple[float, ...]) -> list[float]:
    all_, rater, system, both = at
    return [all_ - rater - system + both, rater - both, system - both, both]


def _squares(label: Ints, relative: Floats) -> tuple[float, float]:
    sums, sizes = np.bincount(label, weights=relative), np.bincount(label)
    return float(sums @ sums), float(sizes @ sizes)


def identified(pilot: Pilot) -> Bools:
    """Mark the kinds of pairs that a table has."""
    place = [np.zeros_like(pilot.item), pilot.document[pilot.item], pilot.item]
    numbers = [np.array(_by_sharing(pilot, where, np.ones(len(pilot.score)))[1]) for where in place]
    number = np.concatenate([numbers[1] - numbers[2], numbers[2], (numbers[0] - numbers[1])[3:]])
    return np.asarray(number > 0)
