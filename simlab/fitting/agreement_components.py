"""Estimate intraclass correlations from ratings with gaps, by variance components of outputs and raters."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from simlab.types import Floats, Ints


class Intraclass(NamedTuple):
    """Hold intraclass correlations of outputs; NaN: not known.

    `one_way` is ICC(1): raters are a sample, their leniency part of the noise. `single` is ICC(A,1), of one rating by a
    rater at large, and `average` ICC(A,k), of the mean of `ratings_each` by different raters: absolute agreement.
    """

    one_way: float
    single: float
    average: float
    ratings_each: float


class _Sums(NamedTuple):
    """Hold weighted sums: ratings and outputs, squares within outputs and within raters, raters that rated."""

    ratings: float
    outputs: float
    within_outputs: float
    within_raters: float
    raters: int


def intraclass(output: Ints, rater: Ints, score: Floats, weight: Floats) -> Intraclass:
    """Estimate the correlations; `weight[output]` says how often each output is there, as an output of its own.

    Components are those of the analysis of variance where all rated all, and of Henderson's third method where there
    are gaps: expected reductions in squares, unbiased whatever the distribution. ICC(A,k) averages the harmonic mean
    number of ratings. Source: McGraw and Wong 1996, cases 1 and 2; Henderson 1953; Searle, Casella and McCulloch 1992,
    section 5.5.
    """
    keep = weight[output] > 0
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
    seen = np.diag(met.T @ counts) - (met.T @ (met * weight[:, None])).toarray()
    right = np.asarray(np.bincount(rater, deviation * counts[output], sums.raters), float)
    rank, reduction = _solved(seen, right)
    free = sums.ratings - sums.outputs - rank
    if rank < 1 or free < 1:
        return None
    residual = max(sums.within_outputs - reduction, 0.0)
    noise = residual / free
    of_rater = (reduction - noise * rank) / float(np.trace(seen))
    of_output = (sums.within_raters - residual - noise * (sums.ratings - free - sums.raters)) / (
        sums.ratings - sums.raters
    )
    return of_output, of_rater + noise


def _solved(seen: Floats, right: Floats) -> tuple[int, float]:
    """Return the rank of a semidefinite matrix, and `right' seen^- right`."""
    values, vectors = np.linalg.eigh(seen)
    kept = values > 1e-9 * max(float(values[-1]), 1e-300)
    along = vectors[:, kept].T @ right
    return int(kept.sum()), float((along**2 / values[kept]).sum())


def _share(signal: float, noise: float) -> float:
    return signal / (signal + noise) if signal + noise > 0 else math.nan
