"""Compute Krippendorff's alpha and intraclass correlations of raters, from a table of ratings with gaps.

Call `coefficients` on a table; it returns a `Coefficient` for each, with an interval from resampled documents.
Intraclass correlations come from variance components of outputs and raters. An output is a system's answer to an item.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from simlab.answers.agreement import Coefficient
from simlab.rng import stream
from simlab.tables.rating_table import Ratings
from simlab.types import Floats, Ints

Level: TypeAlias = Literal["interval", "ordinal", "nominal"]
"""Level of measurement of scores: it sets the distance between two of them."""
FEW_CATEGORIES = 10
"""Scores with more values than this are no categories."""
# Alpha of all resamples is one matrix product; each intraclass correlation is solved anew, so they get fewer.
ALPHA_RESAMPLES, ICC_RESAMPLES = 2000, 300


class RatedOutputs(NamedTuple):
    """Ratings, one entry each of `output`, `rater` and `score`; `document[output]` numbers each output's document."""

    output: Ints
    rater: Ints
    score: Floats
    document: Ints


def number_outputs(ratings: Ratings) -> RatedOutputs:
    """Number the outputs, systems on items, that have a rating."""
    key = ratings.system * len(ratings.item_names) + ratings.item
    outputs, output = np.unique(key, return_inverse=True)
    document = ratings.document[outputs % len(ratings.item_names)]
    return RatedOutputs(output, ratings.rater, ratings.score, np.unique(document, return_inverse=True)[1])


def keep_pairable(rated: RatedOutputs) -> RatedOutputs:
    """Keep the ratings of outputs that have two or more."""
    count = np.bincount(rated.output, minlength=len(rated.document))
    keep = count[rated.output] > 1
    number = np.cumsum(count > 1) - 1
    document = np.unique(rated.document[count > 1], return_inverse=True)[1]
    return RatedOutputs(number[rated.output[keep]], rated.rater[keep], rated.score[keep], document)


def coefficients(ratings: Ratings) -> tuple[Coefficient, ...]:
    """Compute alpha for each level of measurement that scores have, then ICC(1), ICC(A,1) and ICC(A,k), in order.

    Outputs with one rating carry no information on agreement: alpha leaves them out, ICC learns from them how outputs
    differ. Scores with few distinct values have an ordinal and a nominal alpha; with two values all levels are one.
    """
    whole = number_outputs(ratings)
    twice = keep_pairable(whole)
    values = np.unique(ratings.score)
    levels: tuple[Level, ...] = ("interval",)
    if len(values) <= FEW_CATEGORIES:
        levels = ("nominal",) if len(values) <= 2 else ("interval", "ordinal", "nominal")
    return *(_alpha(twice, level) for level in levels), *_intraclass_coefficients(whole)


def alpha(rated: RatedOutputs, level: Level) -> float:
    """Return Krippendorff's alpha; NaN where no output has two ratings, or all scores are the same.

    Source: Krippendorff 2004, Content Analysis, section 11.3; Hayes and Krippendorff 2007.
    """
    kept = keep_pairable(rated)
    documents = int(kept.document.max(initial=-1)) + 1
    return float(_statistic(kept, level)(np.ones((1, documents)))[0]) if documents else math.nan


def _alpha(rated: RatedOutputs, level: Level) -> Coefficient:
    name = f"Krippendorff's alpha ({level})"
    if not len(rated.document):
        return _coefficient(name, rated, math.nan, np.zeros(0))
    documents = int(rated.document.max()) + 1
    statistic = _statistic(rated, level)
    value = float(statistic(np.ones((1, documents)))[0])
    return _coefficient(name, rated, value, statistic(_weights(documents, ALPHA_RESAMPLES)))


def _statistic(rated: RatedOutputs, level: Level) -> Callable[[Floats], Floats]:
    """Return a function that computes alpha `[sample]` from `weights[sample, document]`, how often each is drawn."""
    return _alpha_by_squares(rated) if level == "interval" else _alpha_by_coincidences(rated, level)


def _alpha_by_squares(rated: RatedOutputs) -> Callable[[Floats], Floats]:
    """Compute alpha with squared differences from sums over documents."""
    # Centred: the difference of sums of squares below would cancel for scores far from 0.
    score = rated.score - rated.score.mean()
    count = np.bincount(rated.output)
    deviation = score - (np.bincount(rated.output, score) / count)[rated.output]
    # Squared differences of all ordered pairs of m values are 2 m times their squares about the mean: no pair
    # need be listed, and the 2 drops out of the ratio.
    within = np.bincount(rated.output, deviation**2) * count / (count - 1)
    of = rated.document[rated.output]
    sums = np.stack(
        [np.bincount(rated.document, within), *(np.bincount(of, score**power) for power in range(3))], axis=1
    )

    def compute_alpha(weights: Floats) -> Floats:
        observed, n, total, squares = (weights @ sums).T
        expected = (squares - total**2 / n) / (n - 1)
        # A resample of equal scores leaves a rounding error in place of 0, which must not pass for spread.
        return _correct_for_chance(observed / n, np.where(expected > 1e-12 * squares / n, expected, 0.0))

    return compute_alpha


def _alpha_by_coincidences(rated: RatedOutputs, level: Level) -> Callable[[Floats], Floats]:
    """Compute alpha of categories from their coincidences within outputs, added over documents."""
    values, category = np.unique(rated.score, return_inverse=True)
    counts = np.zeros((len(rated.document), len(values)))
    np.add.at(counts, (rated.output, category), 1)
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(len(values))
    # Divided by m - 1 every rating counts once, however many others of its output it is paired with.
    pairs /= (counts.sum(1) - 1)[:, None, None]
    by_document = np.zeros((int(rated.document.max()) + 1, len(values) ** 2))
    np.add.at(by_document, rated.document, pairs.reshape(len(pairs), -1))

    def compute_alpha(weights: Floats) -> Floats:
        together = (weights @ by_document).reshape(len(weights), len(values), len(values))
        n = together.sum(2)
        distance = _distance(n, level)
        total = n.sum(1)
        expected = np.einsum("bc,bk,bck->b", n, n, distance) / (total * (total - 1))
        return _correct_for_chance(np.einsum("bck,bck->b", together, distance) / total, expected)

    return compute_alpha


def _distance(n: Floats, level: Level) -> Floats:
    """Return squared distances of categories `[sample, category, category]`, given how often each occurs."""
    k = n.shape[1]
    if level == "nominal":
        return np.broadcast_to(1 - np.eye(k), (len(n), k, k))
    # Half of the ends and all between: how many values lie from one category to the other.
    middle = np.cumsum(n, axis=1) - n / 2
    return np.asarray((middle[:, :, None] - middle[:, None, :]) ** 2)


def _correct_for_chance(observed: Floats, expected: Floats) -> Floats:
    shown = np.full(len(expected), np.nan)
    np.divide(observed, expected, out=shown, where=expected > 0)
    return 1 - shown


def _intraclass_coefficients(rated: RatedOutputs) -> list[Coefficient]:
    """Estimate the three correlations and their intervals from one set of resamples."""
    whole = intraclass_correlations(rated.output, rated.rater, rated.score, np.ones(len(rated.document)))
    samples = np.zeros((0, 3))
    documents = int(rated.document.max(initial=-1)) + 1
    if documents > 1 and math.isfinite(whole.one_way):
        weights = _weights(documents, ICC_RESAMPLES)[:, rated.document]
        resampled = [intraclass_correlations(rated.output, rated.rater, rated.score, weight) for weight in weights]
        samples = np.array([_list_correlations(estimate) for estimate in resampled])
    names = "ICC(1)", "ICC(A,1)", "ICC(A,k)"
    each = math.nan, math.nan, whole.ratings_each
    return [
        _coefficient(name, rated, value, samples[:, k], each[k])
        for k, (name, value) in enumerate(zip(names, _list_correlations(whole), strict=True))
    ]


def _list_correlations(intraclass: Intraclass) -> tuple[float, float, float]:
    return intraclass.one_way, intraclass.single, intraclass.average


def _weights(documents: int, n: int) -> Floats:
    """Draw documents with replacement, n times: how often each is there, `[sample, document]`."""
    # The seed is fixed, so that a table has one interval, whichever command asks for it.
    rng = stream(0, "agreement", "documents")
    return np.asarray(rng.multinomial(documents, np.full(documents, 1 / documents), size=n), float)


def _coefficient(
    name: str, rated: RatedOutputs, value: float, samples: Floats, ratings_each: float = math.nan
) -> Coefficient:
    known = samples[np.isfinite(samples)]
    documents = len(np.unique(rated.document))
    low, high = math.nan, math.nan
    # A sample of documents may have no output that was rated twice; with many such the rest would be a choice.
    if documents > 1 and math.isfinite(value) and len(known) > 0.95 * len(samples) > 0:
        low, high = np.quantile(known, (0.025, 0.975)).tolist()
    return Coefficient(
        coefficient=name,
        value=value,
        low=low,
        high=high,
        ratings=len(rated.score),
        outputs=len(rated.document),
        raters=len(np.unique(rated.rater)),
        documents=documents,
        ratings_each=ratings_each,
    )


class Intraclass(NamedTuple):
    """Intraclass correlations of outputs; NaN: not known.

    `one_way` is ICC(1): raters are a sample, their leniency part of the noise. `single` is ICC(A,1), of one rating by a
    rater at large, and `average` ICC(A,k), of the mean of `ratings_each` by different raters: absolute agreement.
    """

    one_way: float
    single: float
    average: float
    ratings_each: float


class _Sums(NamedTuple):
    """Weighted sums: ratings and outputs, squares within outputs and within raters, raters that rated."""

    ratings: float
    outputs: float
    within_outputs: float
    within_raters: float
    raters: int


def intraclass_correlations(output: Ints, rater: Ints, score: Floats, weight: Floats) -> Intraclass:
    """Estimate the correlations from ratings, one entry each of `output`, `rater` and `score`.

    `weight[output]` is how often each output counts, as in a resample. Components are those of the analysis of variance
    where all rated all, and of Henderson's third method where there are gaps: expected reductions in squares, unbiased
    whatever the distribution. ICC(A,k) averages the harmonic mean number of ratings. Source: McGraw and Wong 1996,
    cases 1 and 2; Henderson 1953; Searle, Casella and McCulloch 1992, section 5.5.
    """
    keep = weight[output] > 0
    # Centred scores have the same correlations, and their sums of squares lose fewer digits.
    output, rater, score = output[keep], np.unique(rater[keep], return_inverse=True)[1], score[keep] - score.mean()
    count, weights = np.bincount(output, minlength=len(weight)), weight[output]
    mean = np.bincount(output, score, len(weight)) / np.maximum(count, 1)
    sums = _sums(rater, score, score - mean[output], weights, float(weight[count > 0].sum()))
    if sums.ratings <= sums.outputs or sums.outputs < 2:
        return Intraclass(math.nan, math.nan, math.nan, math.nan)
    rated = count > 0
    each = float(weight[rated].sum() / (weight[rated] / count[rated]).sum())
    one_way = _one_way(sums, count, mean, weight)
    parts = _two_way(sums, output, rater, score - mean[output], weight / np.maximum(count, 1))
    if parts is None:
        return Intraclass(one_way, math.nan, math.nan, each)
    of_output, noise = parts
    return Intraclass(one_way, _share(of_output, noise), _share(of_output, noise / each), each)


def _sums(rater: Ints, score: Floats, deviation: Floats, weights: Floats, outputs: float) -> _Sums:
    by_rater = np.bincount(rater, weights * score) ** 2 / np.bincount(rater, weights)
    within_raters = float((weights * score**2).sum() - by_rater.sum())
    within = float((weights * deviation**2).sum())
    return _Sums(float(weights.sum()), outputs, within, within_raters, len(by_rater))


def _one_way(sums: _Sums, count: Ints, mean: Floats, weight: Floats) -> float:
    """Return ICC(1) for unequal numbers of ratings (Donner 1986)."""
    noise = sums.within_outputs / (sums.ratings - sums.outputs)
    grand = float((weight * count * mean).sum()) / sums.ratings
    between = float((weight * count * (mean - grand) ** 2).sum()) / (sums.outputs - 1)
    each = (sums.ratings - float((weight * count**2).sum()) / sums.ratings) / (sums.outputs - 1)
    return _share((between - noise) / each, noise)


def _two_way(sums: _Sums, output: Ints, rater: Ints, deviation: Floats, weight: Floats) -> tuple[float, float] | None:
    """Return the variance of outputs, and of all else (raters and noise); None where they cannot be told apart.

    `weight[output]` is that of an output over the number of its ratings.
    """
    from scipy.sparse import csr_array

    met = csr_array((np.ones(len(rater)), (output, rater)), shape=(len(weight), sums.raters))
    counts = np.asarray(met.sum(axis=1)).reshape(-1) * weight
    # Outputs are swept out first, so that the matrix has a row per rater and not one per output.
    information = np.diag(met.T @ counts) - (met.T @ (met * weight[:, None])).toarray()
    right = np.asarray(np.bincount(rater, deviation * counts[output], sums.raters), float)
    rank, reduction = _solve_semidefinite(information, right)
    free = sums.ratings - sums.outputs - rank
    if rank < 1 or free < 1:
        return None
    # Where raters explain everything rounding can take the difference below 0.
    residual = max(sums.within_outputs - reduction, 0.0)
    noise = residual / free
    of_rater = (reduction - noise * rank) / float(np.trace(information))
    of_output = (sums.within_raters - residual - noise * (sums.ratings - free - sums.raters)) / (
        sums.ratings - sums.raters
    )
    return of_output, of_rater + noise


def _solve_semidefinite(matrix: Floats, right: Floats) -> tuple[int, float]:
    """Return the rank of a semidefinite matrix, and `right' matrix^- right`."""
    values, vectors = np.linalg.eigh(matrix)
    # Groups of raters that share no output leave a null direction each; 1e-300 gives a matrix of zeros rank 0.
    kept = values > 1e-9 * max(float(values[-1]), 1e-300)
    along = vectors[:, kept].T @ right
    return int(kept.sum()), float((along**2 / values[kept]).sum())


def _share(signal: float, noise: float) -> float:
    return signal / (signal + noise) if signal + noise > 0 else math.nan
