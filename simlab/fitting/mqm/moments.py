"""Reduce a table of ratings to what tells the parameters of the law: margins, and products of `pairs` of ratings."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simlab.fitting.mqm.pairs import of_all_kinds
from simlab.fitting.mqm.pilot import Pilot
from simlab.types import Floats

ROUNDS, CLOSE = 30, 1e-5


class Margins(NamedTuple):
    """Hold logarithms of the mean scores of systems and the factors of raters, and of pairs' mean products.

    `system[system]` are in points for a rater of average factor, `rater[rater]` have mean 0 over raters;
    `severity[rater]` is the log odds that an error is major, `punctuation[rater]` the log of punctuation errors per
    average segment, `sharpness[rater]` the slope of scores on systems' mean scores (both logarithms, in one step from
    slope 1), `minor_sharpness[0]` that of minor errors over all raters; `pairs[kind]`, of `PAIRS`, is NaN where
    there are no such pairs.
    """

    system: Floats
    rater: Floats
    severity: Floats
    sharpness: Floats
    minor_sharpness: Floats
    punctuation: Floats
    pairs: Floats


def margins(pilot: Pilot) -> Margins:
    """Reduce a table; half an error is added where a system or rater has none."""
    by_system, by_rater, fitted = multiplicative_fit(pilot)
    centre = np.log(by_rater).mean()
    severity, punctuation = _rater_kinds(pilot)
    x = np.log(by_system)
    sharpness, minor = _sharpness(pilot, x - x.mean(), fitted)
    pairs = of_all_kinds(pilot, by_system[pilot.system] * by_rater[pilot.rater])
    rater = np.log(by_rater) - centre
    return Margins(x + centre, rater, severity, sharpness, minor, punctuation, pairs)


def _sharpness(pilot: Pilot, x: Floats, fitted: Floats) -> tuple[Floats, Floats]:
    """Return how steeply each rater's scores go with the systems' means `x`, and minor errors of all raters."""
    at, n = x[pilot.system], pilot.n_raters
    # Centring within items takes out whose outputs a rater happened to see.
    weight = np.bincount(pilot.rater, weights=fitted, minlength=n)
    mean = np.bincount(pilot.rater, weights=fitted * at, minlength=n) / np.maximum(weight, 1e-12)
    centred = at - mean[pilot.rater]
    moved = np.bincount(pilot.rater, weights=centred * (pilot.score - fitted), minlength=n)
    room = np.bincount(pilot.rater, weights=centred**2 * fitted, minlength=n)
    slope = np.divide(moved, room, out=np.zeros(n), where=room > 1e-9 * max(weight.max(), 1e-12))
    minor = pilot.counts[0] if pilot.counted else pilot.score
    by_rater = np.bincount(pilot.rater, weights=minor, minlength=n) / np.maximum(weight, 1e-12)
    expected = fitted * by_rater[pilot.rater]
    spread = float((centred**2 * expected).sum())
    of_minor = float((centred * (minor - expected)).sum()) / spread if spread > 0 else 0.0
    return 1 + np.clip(slope, -2, 3), np.array([1 + of_minor])


def multiplicative_fit(pilot: Pilot) -> tuple[Floats, Floats, Floats]:
    """Fit score = system x rater x segment by equating margins in turn; return systems, raters and fitted scores.

    Segments are taken out, so that raters who had long ones are not held to be strict. These are the maximum
    likelihood equations of a Poisson law, which hold on average for any law.
    """
    labels = (pilot.system, pilot.rater, pilot.item)
    totals = [np.maximum(np.bincount(label, weights=pilot.score), _small(pilot)) for label in labels]
    factors = [np.ones(len(total)) for total in totals]
    factors[2] = totals[2] / np.bincount(pilot.item)
    crossed, by_item = pilot.layout.crossed
    for _ in range(ROUNDS):
        before = factors[0]
        segments = (crossed @ factors[2]).reshape(len(totals[0]), -1)
        factors[0] = _ratio(totals[0], segments @ factors[1])
        factors[1] = _ratio(totals[1], factors[0] @ segments)
        factors[2] = _ratio(totals[2], by_item @ np.outer(factors[0], factors[1]).ravel())
        if np.abs(factors[0] / before - 1).max() < CLOSE:
            break
    of_ratings = [factor[label] for factor, label in zip(factors, labels, strict=True)]
    mean_item = factors[2].mean()
    return factors[0] * mean_item, factors[1], of_ratings[0] * of_ratings[1] * of_ratings[2]


def _ratio(total: Floats, others: Floats) -> Floats:
    return np.divide(total, others, out=np.ones_like(others), where=others > 0)


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
