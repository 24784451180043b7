"""Estimate each rater's leniency: how far they score above others on the same outputs, or the same systems.

Call `leniency` on ratings; it returns each rater's mean difference from others, in points, with an interval.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simlab.types import Bools, Floats, Ints, ScoredRatings


class Leniency(NamedTuple):
    """Leniency of each rater: the number of ratings, how far they lie `above` others', its interval's half `width`.

    In points of the scores; NaN where no ratings of others compare, of infinite width where documents are too few.
    `outputs[rater]` is True where others rated the same outputs; else the rater is compared with others' ratings of the
    same systems, on whatever documents.
    """

    n: Ints
    above: Floats
    width: Floats
    outputs: Bools


def leniency(rated: ScoredRatings, n_raters: int, level: float) -> Leniency:
    """Compare each rater's scores with those of others, with a 1 - `level` interval from the spread over documents.

    Outputs that others rated, too, count alone where they are at least half of a rater's; else all outputs do, each
    compared with the others' mean score of its system, which the others' documents make uncertain, too.
    """
    item = np.unique(rated.item, return_inverse=True)[1]
    output = item * rated.n_systems + rated.system
    apart = rated.value - _mean_of_others(rated, output)
    n = np.bincount(rated.rater, minlength=n_raters)
    common = np.bincount(rated.rater[~np.isnan(apart)], minlength=n_raters)
    outputs = (2 * common >= n) & (n > 0)
    apart = np.where(outputs[rated.rater], apart, rated.value - _mean_of_others(rated, rated.system))
    above, width = _estimate_leniency(rated, apart, outputs, level)
    return Leniency(n, above, width, outputs)


def _mean_of_others(rated: ScoredRatings, label: Ints) -> Floats:
    """Return the mean of other raters' values of the same label, for each rating; NaN where nobody else gave one."""
    both = np.unique(label * (int(rated.rater.max(initial=0)) + 1) + rated.rater, return_inverse=True)[1]
    total, count = np.bincount(label, weights=rated.value), np.bincount(label)
    own, times = np.bincount(both, weights=rated.value), np.bincount(both)
    left = count[label] - times[both]
    difference = total[label] - own[both]
    return np.asarray(np.divide(difference, left, out=np.full(len(label), np.nan), where=left > 0))


def _estimate_leniency(rated: ScoredRatings, apart: Floats, outputs: Bools, level: float) -> tuple[Floats, Floats]:
    """Return each rater's mean difference from others, and the half width of its interval (infinite: not known).

    A document contributes what its ratings add to the difference: the rater's and, where these are held against the
    mean of a system and not of an output (`outputs`), the others'. Squares of contributions where the rater was are
    corrected for what centring takes away, and have degrees of freedom, as ratings of one variance make them, which
    loads alone decide; documents that only others rated have theirs. Source: Bell and McCaffrey 2002; Satterthwaite
    1946.
    """
    from scipy.special import stdtrit

    known, size = ~np.isnan(apart), rated.n_documents
    mean, width = np.full(len(outputs), np.nan), np.full(len(outputs), np.inf)
    for rater in np.unique(rated.rater[known]):
        own = known & (rated.rater == rater)
        mean[rater] = apart[own].mean()
        load = np.bincount(rated.document[own], minlength=size) / own.sum()
        contribution = np.bincount(rated.document[own], apart[own] - mean[rater], size) / own.sum()
        squares, cubes, seen, net = (load**2).sum(), (load**3).sum(), load > 0, load
        if not outputs[rater]:
            of_others, their_load = _contributions_of_others(rated, own, rated.rater != rater)
            contribution, net = contribution - of_others, load - their_load
        spread = np.sqrt((contribution**2).sum())
        # Differences that are all alike do not say how far others would be; their spread is rounding, not exactly 0.
        if seen.sum() < 2 or spread <= 1e-9 * np.abs(rated.value).max():
            continue
        # Centred contributions of loads w have the covariance M = diag(w) - w w': tr(M), then tr(M)^2 / tr(M^2).
        variance = (contribution[seen] ** 2).sum() / (1 - squares) + (contribution[~seen] ** 2).sum()
        spare = (1 - squares) ** 2 / (squares - 2 * cubes + squares**2)
        here, elsewhere = (net[seen] ** 2).sum(), (net[~seen] ** 2).sum()
        freedom = (here + elsewhere) ** 2 / (here**2 / spare + elsewhere**2 / max(np.count_nonzero(net[~seen]) - 1, 1))
        width[rater] = stdtrit(freedom, 1 - level / 2) * np.sqrt(variance)
    return mean, width


def _contributions_of_others(rated: ScoredRatings, own: Bools, others: Bools) -> tuple[Floats, Floats]:
    """Return the parts `[document]` of others' ratings in the mean with which a rater's `own` are compared.

    The second array holds the documents' shares in that mean.
    """
    system, document, n_systems = rated.system[others], rated.document[others], rated.n_systems
    count = np.maximum(np.bincount(system, minlength=n_systems), 1)
    mean = np.bincount(system, rated.value[others], n_systems) / count
    weight = (np.bincount(rated.system[own], minlength=n_systems) / own.sum() / count)[system]
    deviation = rated.value[others] - mean[system]
    size = rated.n_documents
    contribution = np.bincount(document, weight * deviation, size)
    return np.asarray(contribution), np.asarray(np.bincount(document, weight, size), float)
