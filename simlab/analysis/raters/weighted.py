"""Estimate systems by the weights that even out who rated what: rater levels and difficulties of items taken as drawn.

A plain mean favours the system that lenient raters met more often. These are the estimates of least variance (GLS) in
the model `score = system + rater + item + noise` at fixed ratios of variances (`LEVELS`, `ITEMS`), so that weights
follow from the design alone and never from scores. They are unbiased whatever the true ratios are; where all systems of
an item are rated by the same raters they are the plain means. How far they err is not taken from the model, but from
what whole raters and documents contribute. Source: Henderson 1975 for the equations; Cameron, Gelbach and Miller 2011
for the errors.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from simlab.analysis.raters.clusters import ALL
from simlab.analysis.raters.contributions import added
from simlab.analysis.raters.crossed import shared_part
from simlab.types import Bools, Floats, Ints, Rated

MOST = 0.9
"""Share of a system's ratings by one rater from which on residuals are stretched no further."""

CALIBRATION, DRAWN, LEAST_DRAWS, MOST_DRAWS = 2026, 100_000, 30, 100
"""The seed of draws by which errors are calibrated, the ratings that they have in all, and bounds of their number."""

SCALES = (0.5, 4.0)
"""Bounds of what variances are multiplied by."""

LEVELS, ITEMS = 9.0, 1.0
"""Variances of rater levels, and of difficulties of items, in that of noise. Levels vary less in most tables (.3 to 3):
where raters met both systems a larger ratio costs little, and lenient raters who met one system more then hardly
count."""


class Equations(NamedTuple):
    """Hold the mixed-model equations of a design, items eliminated.

    `there[item, column]` is how much each item has of each system and rater, `own[item]` what its difficulty is divided
    by, `inverse` solves for systems and raters.
    """

    there: Floats
    own: Floats
    inverse: Floats
    item: Ints
    column: Ints
    weight: Floats

    def effects(self, value: Floats) -> tuple[Floats, Floats]:
        """Return the level of each rating's rater, and the difficulty of its item, shrunk as the model has it."""
        n_items, n = self.there.shape
        scored = self.weight * value
        by_item = np.bincount(self.item, scored, minlength=n_items)
        by_column = sum(np.bincount(one, scored, minlength=n) for one in self.column)
        found = self.inverse @ (by_column - self.there.T @ (by_item / self.own))
        return np.asarray(found[self.column[1]]), np.asarray(((by_item - self.there @ found) / self.own)[self.item])


class Weights(NamedTuple):
    """Hold what a design alone decides: the weight of each rating in each system's estimate, `rating[system, rating]`.

    `cell[rating]` numbers what one rater said of one document; `by_cell`, `by_rater` and `by_document` `[..., pair]`
    are the shares that they have of the variance of a pair's difference, as the model has it. `stretch[rating]` makes
    up for what a rater draws the mean of a system towards himself, `single[system]` marks systems that one rater rated
    alone, and `equations` say how difficult items are. `scale[pair]` makes the errors right on average where the model
    is, and `freedom[pair]` are the degrees of freedom that they then have.
    """

    rating: Floats
    cell: Ints
    rater: Ints
    document: Ints
    by_cell: Floats
    by_rater: Floats
    by_document: Floats
    stretch: Floats
    single: Bools
    equations: Equations
    system: Ints
    scale: Floats
    freedom: Floats


class Contributed(NamedTuple):
    """Hold the `estimate[system]` and what cells contribute to differences, `[cell, pair]`, each adding up to 0.

    Of `for_raters` the difficulty of items is taken out, which cancels between the raters of an item, of
    `for_documents` the level of raters, which cancels between a rater's documents, and of `alone` both.
    """

    estimate: Floats
    for_raters: Floats
    for_documents: Floats
    alone: Floats
    weights: Weights

    @property
    def known(self) -> Bools:
        """Tell of which pairs the spread of raters is known: no system of them was rated by one rater alone."""
        first, second = np.triu_indices(len(self.estimate), 1)
        return np.asarray(~(self.weights.single[first] | self.weights.single[second]))

    @property
    def difference(self) -> Floats:
        """Return the difference of each pair, first less second."""
        first, second = np.triu_indices(len(self.estimate), 1)
        return np.asarray(self.estimate[first] - self.estimate[second])


def weights_of(rated: Rated) -> Weights:
    """Return the weights of a design; those of the last few designs are kept, since studies repeat one."""
    came = ~np.isnan(rated.total)[rated.document, rated.system]
    share = np.where(came, rated.share, 0.0)
    columns = (rated.system, rated.rater, rated.item, rated.document)
    keys = (np.ascontiguousarray(one, np.int64).tobytes() for one in columns)
    return _weights(*keys, share.tobytes(), rated.n_systems)


def contributed(rated: Rated) -> Contributed:
    """Estimate all systems, and lay out what each cell contributes to each difference beside its share of it."""
    return _contributed(weights_of(rated), rated.value)


def _contributed(of: Weights, value: Floats) -> Contributed:
    estimate = of.rating @ value
    left = value - estimate[of.system]
    level, difficulty = of.equations.effects(value)
    parts = (_by_cell(of, left - taken) for taken in (difficulty, level, level + difficulty))
    for_raters, for_documents, alone = (part - of.by_cell * part.sum(0) for part in parts)
    return Contributed(estimate, for_raters, for_documents, alone, of)


def _by_cell(of: Weights, value: Floats) -> Floats:
    """Add up weighted values of ratings, `[cell, pair]`."""
    each = np.stack(
        [np.bincount(of.cell, row, minlength=len(of.rater)) for row in of.rating * (of.stretch * value)], axis=1
    )
    first, second = np.triu_indices(len(of.rating), 1)
    # With even loads a rater's share of a pair is that of each system, and nothing is stretched.
    return np.asarray((each[:, first] - each[:, second]) * np.sqrt(1 - of.by_rater)[of.rater] * of.scale)


def rater_levels(rated: Rated) -> Floats:
    """Return how far each rater scores above the average one, shrunk as the model has it, `[rater]`; 0 of nobody."""
    level, _ = weights_of(rated).equations.effects(rated.value)
    found = np.zeros(int(rated.rater.max(initial=-1)) + 1)
    found[rated.rater] = level
    return np.asarray(found - level.mean())


def weighted_means(rated: Rated) -> Floats:
    """Return systems' estimates about the mean of all ratings, which weights leave as it is, `[system]`."""
    came = ~np.isnan(rated.total)[rated.document, rated.system]
    share = np.where(came, rated.share, 0.0)
    estimate = weights_of(rated).rating @ rated.value
    return np.asarray(estimate + (share * (rated.value - estimate[rated.system])).sum() / share.sum())


@lru_cache(maxsize=4)
def _weights(system: bytes, rater: bytes, item: bytes, document: bytes, share: bytes, n_systems: int) -> Weights:
    of_system, of_rater, of_item, of_document = (
        np.unique(np.frombuffer(one, np.int64), return_inverse=True)[1] if k else np.frombuffer(one, np.int64)
        for k, one in enumerate((system, rater, item, document))
    )
    weight = np.frombuffer(share, float)
    equations = _equations(of_system, of_rater, of_item, weight, n_systems)
    rating = _rating_weights(equations, n_systems)
    n_documents = int(of_document.max(initial=-1)) + 1
    code, cell = np.unique(of_rater * n_documents + of_document, return_inverse=True)
    first, second = np.triu_indices(n_systems, 1)
    apart = rating[first] - rating[second]
    noise = apart**2 / np.where(weight > 0, weight, 1.0)
    by_item, by_rater = _summed(apart, of_item), _summed(apart, of_rater)
    document_of_item = np.zeros(len(by_item), np.int64)
    document_of_item[of_item] = of_document
    raters = LEVELS * by_rater**2 + _summed(noise, of_rater)
    documents = ITEMS * _summed((by_item**2).T, document_of_item) + _summed(noise, of_document)
    by_cell, by_raters, by_documents = (
        one / np.maximum(one.sum(0), np.finfo(float).tiny) for one in (_summed(noise, cell), raters, documents)
    )
    stretch, single = _leverage(of_system, of_rater, weight, n_systems)
    unscaled = np.ones(len(first))
    shares = by_cell, by_raters, by_documents
    who, where = code // n_documents, code % n_documents
    found = Weights(rating, cell, who, where, *shares, stretch, single, equations, of_system, unscaled, unscaled)
    truth = noise.sum(1) + LEVELS * (by_rater**2).sum(0) + ITEMS * (by_item**2).sum(0)
    scale, freedom = _calibrated(found, truth, of_rater, of_item)
    return found._replace(scale=scale, freedom=freedom)


def _calibrated(of: Weights, truth: Floats, rater: Ints, item: Ints) -> tuple[Floats, Floats]:
    """Return what makes the error of each difference right on average over the model, and its freedom, `[pair]`.

    Levels and difficulties are estimated from few ratings, and what is left of these is too small by as much. Draws
    are the same for every table of a design, so that nothing depends on scores.
    """
    rng = np.random.default_rng(CALIBRATION)
    n, weight = len(item), of.equations.weight
    draws = int(np.clip(DRAWN / max(n, 1), LEAST_DRAWS, MOST_DRAWS))
    found = np.zeros((draws, len(truth)))
    for k in range(draws):
        value = rng.normal(size=n) / np.sqrt(np.where(weight > 0, weight, 1.0))
        value += np.sqrt(LEVELS) * rng.normal(size=int(rater.max()) + 1)[rater]
        value += np.sqrt(ITEMS) * rng.normal(size=int(item.max()) + 1)[item]
        one = _contributed(of, value)
        raters, documents = added(one.for_raters, of.rater), added(one.for_documents, of.document)
        documents = documents * shared_part(raters, documents, added(one.alone**2, of.document))
        for part, share in ((raters, of.by_rater), (documents, of.by_document)):
            squares = np.minimum((share**2).sum(0), MOST)
            found[k] += (part**2).sum(0) / (1 - squares)
    mean, spread = np.maximum(found.mean(0), np.finfo(float).tiny), found.var(0, ddof=1)
    freedom = 2 * mean**2 / np.maximum(spread, np.finfo(float).tiny)
    return np.sqrt(np.clip(truth / mean, *SCALES)), np.maximum(freedom, 1.0)


def _leverage(system: Ints, rater: Ints, weight: Floats, n_systems: int) -> tuple[Floats, Bools]:
    """Return by how much residuals of ratings are too small, `[rating]`, and which systems one rater rated alone.

    A rater with a share h of a system's ratings draws its mean along: residuals shrink by the root of 1 - h. Source:
    Bell and McCaffrey 2002.
    """
    n_raters = int(rater.max()) + 1
    load = np.bincount(rater * n_systems + system, weight, minlength=n_raters * n_systems).reshape(-1, n_systems)
    share = load / np.maximum(load.sum(0), np.finfo(float).tiny)
    return np.asarray(1 / np.sqrt(1 - np.minimum(share, MOST)))[rater, system], np.asarray((share > ALL).any(0))


def _summed(values: Floats, label: Ints) -> Floats:
    """Add up `values[pair, rating]` by label, `[label, pair]`."""
    n = int(label.max(initial=-1)) + 1
    return np.stack([np.bincount(label, row, minlength=n) for row in values], axis=1)


def _equations(system: Ints, rater: Ints, item: Ints, weight: Floats, n_systems: int) -> Equations:
    """Set the mixed-model equations up for systems and raters, and solve them."""
    n_raters, n_items = int(rater.max()) + 1, int(item.max()) + 1
    n = n_systems + n_raters
    there = np.zeros((n_items, n))
    np.add.at(there, (item, system), weight)
    np.add.at(there, (item, n_systems + rater), weight)
    normal = np.zeros((n, n))
    np.add.at(normal, (system, system), weight)
    np.add.at(normal, (n_systems + rater, n_systems + rater), weight)
    np.add.at(normal, (system, n_systems + rater), weight)
    np.add.at(normal, (n_systems + rater, system), weight)
    own = there[:, :n_systems].sum(1) + 1 / ITEMS
    normal -= there.T @ (there / own[:, None])
    levels = np.arange(n_systems, n)
    normal[levels, levels] += 1 / LEVELS
    # A system that was rated nowhere in full has no equation.
    lone = np.flatnonzero(np.bincount(system, weight, minlength=n_systems) == 0)
    normal[lone, lone] = 1.0
    column = np.stack([system, n_systems + rater])
    return Equations(there, own, np.asarray(np.linalg.inv(normal), float), item, column, weight)


def _rating_weights(of: Equations, n_systems: int) -> Floats:
    """Return how much each rating counts in each system's estimate, `[system, rating]`."""
    inverse = of.inverse[:n_systems]
    taken = inverse @ (of.there / of.own[:, None]).T
    return np.asarray(of.weight * (inverse[:, of.column].sum(1) - taken[:, of.item]))
