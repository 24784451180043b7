"""Draw systems with true mean MQM scores and the expected score of each of their outputs; draw lognormal factors.

`mqm`, an option of `systems`, takes the option's keys and returns `Outputs`: expected scores `[system, item]`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, NamedTuple

import numpy as np
from annotated_types import Ge, Le
from scipy.special import gammaln, polygamma

from simlab.types import Floats, InputError, Ints, Outputs
from simlab.types.bounds import Count, LogSpread, Score

_MOST_PLACES = 10**9
"""Segments are spread over fewer places than that."""


class QualitySpread(NamedTuple):
    """Spreads of documents, segments (and how skewed), systems on documents: sds of the logarithm."""

    document: float
    segment: float
    skew: float
    both: float


def mqm(
    rng: np.random.Generator,
    *,
    n_systems: Annotated[int, Ge(2), Le(10**9)],
    n_documents: Count,
    n_segments: Count,
    max_segments: Count,
    mean_score: Score,
    system_sd: LogSpread,
    document_sd: LogSpread,
    segment_sd: LogSpread,
    segment_skew: Annotated[float, Ge(0), Le(10)],
    system_document_sd: LogSpread,
) -> Outputs:
    """Draw systems with true mean MQM scores and their expected score on every segment; lower is better.

    A segment's expected score is the system's true mean times factors of the document, of the segment (its length)
    and of the system on this document. All factors are lognormal with mean 1, their spreads given as standard
    deviations of the logarithm; so are the true means, around `mean_score` points per segment. With `segment_skew`
    the factors of segments are generalised gamma (see `draw_skewed`): more segments without errors, fewer with many.
    `n_segments` are spread at random over the documents, 1 to `max_segments` each.

    Raises InputError for segments that do not fill the documents.
    """
    document = spread_segments(rng, n_documents, n_segments, max_segments)
    truth = mean_score * draw_lognormal(rng, system_sd, n_systems)
    spread = QualitySpread(document_sd, segment_sd, segment_skew, system_document_sd)

    def again(rng: np.random.Generator) -> Outputs:
        return _outputs(rng, truth, spread_segments(rng, n_documents, n_segments, max_segments), spread)

    return replace(_outputs(rng, truth, document, spread), again=again)


def _outputs(rng: np.random.Generator, truth: Floats, document: Ints, spread: QualitySpread) -> Outputs:
    """Draw what systems of known means do on documents."""
    n_documents = int(document[-1]) + 1
    by_document = draw_lognormal(rng, spread.document, n_documents)
    by_segment = draw_skewed(rng, spread.segment, spread.skew, len(document))
    by_both = draw_lognormal(rng, spread.both, (len(truth), n_documents))
    quality = truth[:, None] * (by_document * by_both)[:, document] * by_segment
    return Outputs(quality, document, truth, lower_is_better=True)


def draw_lognormal(rng: np.random.Generator, sd: float, shape: int | tuple[int, ...]) -> Floats:
    """Draw lognormal factors with mean 1 from the standard deviation of their logarithm.

    >>> draw_lognormal(np.random.default_rng(0), 0.0, 2)
    array([1., 1.])
    """
    return np.exp(sd * rng.standard_normal(shape) - sd**2 / 2)


def draw_skewed(rng: np.random.Generator, sd: float, skew: float, shape: int | tuple[int, ...]) -> Floats:
    """Draw generalised gamma factors with mean 1, `sd` being the standard deviation of their logarithm.

    Their logarithm is that of a gamma variable of shape `skew ** -2`, stretched to the spread: many are near 0 and few
    are large where `skew` is large; 0 gives the lognormal law. Source: Prentice, Biometrika 61 (1974) 539.
    """
    if sd == 0 or skew == 0:
        return draw_lognormal(rng, sd, shape)
    gamma_shape = skew**-2.0
    # The logarithm of a gamma variable has variance trigamma(shape).
    power = sd / np.sqrt(polygamma(1, gamma_shape))
    # The mean of a power of a gamma variable.
    level = gammaln(gamma_shape + power) - gammaln(gamma_shape)
    # Gamma draws of small shapes underflow to 0, which has no logarithm.
    return np.asarray(np.exp(power * np.log(np.maximum(rng.gamma(gamma_shape, size=shape), 1e-300)) - level))


def spread_segments(rng: np.random.Generator, n_documents: int, n_segments: int, max_segments: int) -> Ints:
    """Return the document of each segment, `[item]`: one segment each, the others spread at random over free places."""
    if not n_documents <= n_segments <= n_documents * max_segments:
        raise InputError(
            f"systems.n_segments={n_segments} does not fit {n_documents} documents of 1 to {max_segments} segments; "
            "change systems.n_segments, systems.n_documents or systems.max_segments"
        )
    if n_documents * (max_segments - 1) >= _MOST_PLACES:
        raise InputError(
            f"systems.max_segments={max_segments} in {n_documents} documents are {_MOST_PLACES:,} places or more for "
            "segments; lower it"
        )
    places = np.full(n_documents, max_segments - 1)
    # The method `marginals` does not list the places one by one, of which there may be a billion.
    sizes = 1 + rng.multivariate_hypergeometric(places, n_segments - n_documents, method="marginals")
    return np.repeat(np.arange(n_documents), sizes)
