"""Say how far each rater scores above the others on the same outputs, or on the same systems."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simlab.types import Bools, Floats, Ints, Rated


class Leniency(NamedTuple):
    """Hold of each rater the number of ratings, how far they lie `above` others', and its interval's half `width`.

    `outputs[rater]` tells whether others rated the same outputs; where they did not, their ratings of the same systems
    are what it is held against, documents and all.
    """

    n: Ints
    above: Floats
    width: Floats
    outputs: Bools


def leniency(rated: Rated, n_raters: int, level: float) -> Leniency:
    """Hold each rater's scores against what others say, with an interval by the documents that the rater saw.

    Outputs that others rated, too, count alone where they are at least half of a rater's; else all outputs do, each
    held against what others say of its system on average.
    """
    item = np.unique(rated.item, return_inverse=True)[1]
    output = item * rated.n_systems + rated.system
    apart = rated.value - _others(rated, output)
    n = np.bincount(rated.rater, minlength=n_raters)
    common = np.bincount(rated.rater[~np.isnan(apart)], minlength=n_raters)
    outputs = (2 * common >= n) & (n > 0)
    apart = np.where(outputs[rated.rater], apart, rated.value - _others(rated, rated.system))
    above, width = _estimated(rated, apart, n_raters, level)
    return Leniency(n, above, width, outputs)


def _others(rated: Rated, label: Ints) -> Floats:
    """Return the mean of other raters' values of the same label, for each rating; NaN where nobody else gave one."""
    both = np.unique(label * (int(rated.rater.max(initial=0)) + 1) + rated.rater, return_inverse=True)[1]
    total, count = np.bincount(label, weights=rated.value), np.bincount(label)
    own, times = np.bincount(both, weights=rated.value), np.bincount(both)
    left = count[label] - times[both]
    difference = total[label] - own[both]
    return np.asarray(np.divide(difference, left, out=np.full(len(label), np.nan), where=left > 0))


def _estimated(rated: Rated, apart: Floats, n_raters: int, level: float) -> tuple[Floats, Floats]:
    from scipy.special import stdtrit

    known = ~np.isnan(apart)
    rater, document, value = rated.rater[known], rated.document[known], apart[known]
    n = np.bincount(rater, minlength=n_raters)
    mean = np.divide(
        np.bincount(rater, weights=value, minlength=n_raters), n, out=np.full(n_raters, np.nan), where=n > 0
    )
    cell, at = np.unique(rater * rated.n_documents + document, return_inverse=True)
    squares = np.bincount(at, weights=value - mean[rater], minlength=len(cell)) ** 2
    documents = np.bincount(cell // rated.n_documents, minlength=n_raters)
    variance = np.bincount(cell // rated.n_documents, weights=squares, minlength=n_raters) / np.maximum(n, 1) ** 2
    # Differences that are all alike do not say how far others would be; their spread is rounding, not exactly 0.
    few = (documents < 2) | (np.sqrt(variance) <= 1e-9 * np.abs(rated.value).max(initial=0.0))
    spare = np.where(few, 1, documents - 1)
    width = stdtrit(spare.astype(float), 1 - level / 2) * np.sqrt(variance * documents / spare)
    return mean, np.where(few, np.inf, width)
