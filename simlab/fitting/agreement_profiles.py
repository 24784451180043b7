"""Describe the scores of each rater by themselves: how many, how large, how spread."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from simlab.types import Bools, Floats, Ints

QUANTILES = (0.25, 0.5, 0.75, 0.9)
RARE = 0.02
"""Scores of 0 that are rarer are no band of their own."""


@dataclass(frozen=True, slots=True)
class Given:
    """Hold the ratings that exist, flat."""

    rater: Ints
    system: Ints
    document: Ints
    value: Floats
    errors: Ints


@dataclass(frozen=True, slots=True)
class RaterProfile:
    """Describe the scores of one rater; `errors_per_segment` is NaN where errors were not counted."""

    rater: str
    ratings: int
    documents: int
    mean: float
    sd: float
    quantiles: tuple[float, ...]
    maximum: float
    zero_share: float
    errors_per_segment: float


def profile(name: str, given: Given, own: Bools) -> RaterProfile:
    """Describe the ratings that are one rater's `own[rating]`."""
    value, errors = given.value[own], given.errors[own]
    return RaterProfile(
        rater=name,
        ratings=len(value),
        documents=len(np.unique(given.document[own])),
        mean=float(value.mean()),
        sd=float(value.std(ddof=1)) if len(value) > 1 else math.nan,
        quantiles=tuple(np.quantile(value, QUANTILES).tolist()),
        maximum=float(value.max()),
        zero_share=float((value == 0).mean()),
        errors_per_segment=float(errors.mean()) if (errors >= 0).all() else math.nan,
    )


def profile_row(rater: RaterProfile) -> dict[str, Any]:
    """Give a profile as a plain record, a key for each quantile."""
    row = asdict(rater)
    quantiles = row.pop("quantiles")
    return row | {f"q{100 * share:.0f}": value for share, value in zip(QUANTILES, quantiles, strict=True)}


def band_edges(scores: Floats) -> Floats:
    """Return the upper edges of bands: zero and quarters of all above it, or fifths where hardly any is zero."""
    if np.mean(scores == 0) < RARE:
        return np.unique(np.quantile(scores, (0.2, 0.4, 0.6, 0.8, 1), method="lower"))
    positive = scores[scores > 0]
    if not len(positive):
        return np.zeros(1)
    return np.unique([0, *np.quantile(positive, (0.25, 0.5, 0.75, 1), method="lower")])
