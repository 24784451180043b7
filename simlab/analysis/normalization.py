"""Normalise segment scores by rater: take out differences of level or spread between raters.

`none`, `mean`, `error` and `zscore` are the choices of `analysis.normalization`; each takes and returns `Seen`, flat
arrays with an entry per rating. Source of all four: Riley et al. 2024, section 6.1.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Le

from simlab.messages import clip
from simlab.types import Floats, InputError, Ints, Seen

LEAST_KEPT = 0.5
"""A difference of two systems of which raters' levels take more than half is no longer that of the systems."""


def kept_differences(counts: Ints) -> Floats:
    """Return the share of the difference of two systems that is left once each rater's mean is taken out.

    `counts[rater, system]` are numbers of ratings; the answer is `[system, system]`, NaN beside systems without any.
    It is 1 where all raters rated the systems alike, 0 where each rated one of the two only. It follows from the means
    alone: one system is raised by 1, and the rise of its raters' means is taken from its own mean and from the other's.

    >>> [kept_differences(np.array(counts))[0, 1].item() for counts in ([[3, 0], [0, 3]], [[3, 3], [2, 2]])]
    [0.0, 1.0]
    """
    with np.errstate(invalid="ignore"):
        met = counts / counts.sum(0)
        share = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    risen = met.T @ share
    own = np.diag(risen)
    return np.asarray(1 - (own[:, None] + own - risen - risen.T) / 2)


def refuse_separate_raters(name: str, counts: Ints, systems: Sequence[str]) -> None:
    """Raise InputError where a normalization takes out most of the difference of two systems, whose raters differ.

    `counts[rater, system]` are numbers of ratings, `name` is the normalization.
    """
    # The lower half holds the same pairs, and a 1 there is never the worst.
    kept = np.triu(np.nan_to_num(kept_differences(counts), nan=1.0), 1) + np.tri(counts.shape[1])
    worst = np.unravel_index(int(kept.argmin()), kept.shape)
    if kept[worst] >= LEAST_KEPT:
        return
    pair = " - ".join(clip(systems[int(k)], 40) for k in worst)
    raise InputError(
        f"analysis.normalization={name} takes out what differs between raters, and {1 - kept[worst]:.0%} of {pair} "
        "goes with it, as hardly any rater rated both; set analysis.normalization=none, or have raters rate all systems"
    )


def none(seen: Seen) -> Seen:
    """Leave every score as the rater gave it."""
    return seen


def mean(seen: Seen) -> Seen:
    """Multiply a factor per rater, so that each rater's mean is the study's mean before.

    A rater whose mean is 0 keeps factor 1.
    """
    count, total = _sum_by_rater(seen)
    target = seen.value.mean()
    factor = np.divide(target * count, total, out=np.ones_like(total), where=total != 0)
    return replace(seen, value=seen.value * factor[seen.rater])


def error(seen: Seen, *, errors: Literal["total", "per_segment"]) -> Seen:
    """Give weight to raters who mark many errors: after mean-normalisation, a factor proportional to their number.

    Severity is ignored and the factors are scaled so that the study's mean is unchanged. `total` counts all
    errors a rater marked, as published, which confounds load where load is uneven; `per_segment` does not.
    """
    levelled = mean(seen)
    count, total = _sum_by_rater(levelled)
    factor = np.bincount(seen.rater, weights=seen.errors)
    if errors == "per_segment":
        factor = np.divide(factor, count, out=np.zeros_like(factor), where=count > 0)
    scaled = float(factor @ total)
    if scaled == 0:
        return levelled
    return replace(levelled, value=levelled.value * (factor * (total.sum() / scaled))[seen.rater])


def zscore(seen: Seen, *, ddof: Annotated[int, Ge(0), Le(1000)]) -> Seen:
    """Subtract each rater's mean and divide by the rater's standard deviation.

    Zero spread, or no more ratings than `ddof` (at least 2 are needed), gives zeros.
    """
    count, total = _sum_by_rater(seen)
    centred = seen.value - (total / np.maximum(count, 1))[seen.rater]
    variance = np.bincount(seen.rater, weights=centred**2) / np.maximum(count - ddof, 1)
    # Means of multiples of .1 are inexact, so a constant rater's spread is rounding noise, not exactly 0.
    scale = np.bincount(seen.rater, weights=seen.value**2) / np.maximum(count, 1)
    usable = (count > max(ddof, 1)) & (variance > 1e-24 * scale)
    inverse = np.divide(1.0, np.sqrt(variance), out=np.zeros_like(variance), where=usable)
    return replace(seen, value=centred * inverse[seen.rater])


def spread_within(seen: Seen) -> float:
    """Return the pooled standard deviation of scores within raters, in points; 0 where nobody rated twice."""
    count, total = _sum_by_rater(seen)
    centred = seen.value - (total / np.maximum(count, 1))[seen.rater]
    # Each rater's mean costs a degree of freedom.
    return float(np.sqrt(centred @ centred / max(len(centred) - int(np.count_nonzero(count)), 1)))


def _sum_by_rater(seen: Seen) -> tuple[Floats, Floats]:
    """Count the ratings and add up the scores of each rater."""
    count = np.bincount(seen.rater).astype(float)
    return count, np.asarray(np.bincount(seen.rater, weights=seen.value), float)
