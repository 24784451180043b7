"""Describe the scores of each rater by themselves: how many, how large, how spread."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simlab.answers.agreement import RaterScores
from simlab.types import Bools, Floats, Ints


@dataclass(frozen=True, slots=True)
class Given:
    """Hold the ratings that exist, flat."""

    rater: Ints
    system: Ints
    document: Ints
    value: Floats
    errors: Ints


def describe_scores(name: str, given: Given, own: Bools) -> RaterScores:
    """Describe the ratings that are one rater's `own[rating]`."""
    value, errors = given.value[own], given.errors[own]
    q25, q50, q75, q90 = np.quantile(value, (0.25, 0.5, 0.75, 0.9)).tolist()
    return RaterScores(
        rater=name,
        ratings=len(value),
        documents=len(np.unique(given.document[own])),
        mean=float(value.mean()),
        sd=float(value.std(ddof=1)) if len(value) > 1 else math.nan,
        maximum=float(value.max()),
        zero_share=float((value == 0).mean()),
        errors_per_segment=float(errors.mean()) if (errors >= 0).all() else math.nan,
        q25=q25,
        q50=q50,
        q75=q75,
        q90=q90,
    )
