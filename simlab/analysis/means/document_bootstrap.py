"""Resample whole documents: percentile and studentised intervals of means whose outputs come in documents."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from simlab.analysis.means.bootstrap import CHUNK, studentised
from simlab.analysis.means.checks import check_level, reject
from simlab.analysis.means.documents import Totals
from simlab.analysis.means.estimates import Interval
from simlab.types import Bools, Floats

N, Y, G, N_ALL, G_ALL = range(5)


def document_bootstrap(
    rng: np.random.Generator,
    of: Totals,
    coefficient: ArrayLike | None = 0.0,
    *,
    studentise: bool,
    level: float = 0.05,
    resamples: int = 1000,
) -> Interval:
    """Give bootstrap intervals of `document_mean`: percentiles, or with `studentise` those of t.

    Documents with judgements and those that only the metric has seen are resampled apart, lambda is tuned anew in each
    resample. A resample is a row of counts: the mean and its error are quadratic forms in sums over documents.

    Raises InputError with fewer than 3 judged documents in a row or 2 resamples, or unless 0 < level < 1.
    """
    check_level(level)
    reject(resamples < 2, f"resamples={resamples} is below 2; 1000 give stable intervals")
    least = int((of.n > 0).sum(1).min())
    reject(least < 3, f"{least} documents with judgements are fewer than the 3 needed; judge outputs of more documents")
    slopes = None if coefficient is None else np.broadcast_to(np.asarray(coefficient, float), (len(of.n),))
    bounds = []
    for row in range(len(of.n)):
        parts = _columns(of, row)
        slope = None if slopes is None else float(slopes[row])
        here = _means(parts, np.ones((1, len(parts))), slope, of.n_all is not None)
        there = _resampled(rng, parts, slope, resamples, of.n_all is not None)
        bounds.append(studentised(*here, *there, level) if studentise else _percentiles(there[0], level))
    low, high = np.array(bounds).T
    return Interval(low, high)


def _columns(of: Totals, row: int) -> Floats:
    """Lay one row out as `[document, 5]`, about its means, so that no digits are lost."""
    n, y, g = of.n[row], of.y[row], of.g[row]
    shift = g.sum() / n.sum() if of.n_all is not None else 0.0
    n_all, g_all = (np.zeros_like(n) if part is None else part[row] for part in (of.n_all, of.g_all))
    return np.stack([n, y, g - shift * n, n_all, g_all - shift * n_all], axis=1)


def _resampled(
    rng: np.random.Generator, parts: Floats, slope: float | None, resamples: int, rest: bool
) -> tuple[Floats, Floats]:
    """Return estimate and squared standard error of each resample, a few at a time: there may be many documents."""
    step = max(1, CHUNK // len(parts))
    found = [
        _means(parts, _counts(rng, parts[:, N] > 0, min(step, resamples - first)), slope, rest)
        for first in range(0, resamples, step)
    ]
    values, variances = (np.concatenate(part) for part in zip(*found, strict=True))
    return values, variances


def _counts(rng: np.random.Generator, judged: Bools, resamples: int) -> Floats:
    counts = np.zeros((resamples, len(judged)))
    for part in (judged, ~judged):
        if k := int(part.sum()):
            counts[:, part] = rng.multinomial(k, np.full(k, 1 / k), size=resamples)
    return counts


def _means(parts: Floats, counts: Floats, slope: float | None, rest: bool) -> tuple[Floats, Floats]:
    """Return estimate and squared standard error of each resample."""
    total = counts @ parts
    products = np.einsum("bc,cij->bij", counts, parts[:, :, None] * parts[:, None, :])
    n, zero = total[:, N], np.zeros(len(total))
    y_mean, g_mean = total[:, Y] / n, total[:, G] / n
    of_y = np.stack([-y_mean / n, 1 / n, zero, zero, zero], axis=1)
    if rest:
        n_all = total[:, N_ALL]
        g_all = total[:, G_ALL] / n_all
        of_g = np.stack([-g_mean / n, zero, 1 / n, g_all / n_all, -1 / n_all], axis=1)
    else:
        g_all = zero
        of_g = np.stack([-g_mean / n, zero, 1 / n, zero, zero], axis=1)
    yg, gg = (np.einsum("bi,bij,bj->b", part, products, of_g) for part in (of_y, of_g))
    yy = np.einsum("bi,bij,bj->b", of_y, products, of_y)
    used = np.divide(yg, gg, out=np.zeros_like(gg), where=gg > 0) if slope is None else np.full(len(gg), slope)
    variance = np.maximum(yy - 2 * used * yg + used**2 * gg, 0.0)
    return y_mean - used * (g_mean - g_all), variance


def _percentiles(values: Floats, level: float) -> Floats:
    return np.quantile(values, [level / 2, 1 - level / 2])
