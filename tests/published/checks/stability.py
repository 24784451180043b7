"""Compute what Riley et al. 2024 say of their data and raters, on worlds of the same sizes."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np

from simlab.config import compose
from simlab.fitting.agreement import agreement
from simlab.formulas import normalized_entropy
from simlab.studies.worlds import draw_world
from simlab.types import World


def size(language: str, of: str) -> float:
    """Return how many documents, raters, systems, ratings or buckets a language pair has, or what they hold at most."""
    frame = _world(language, 0).frame
    segments = np.bincount(frame.document)
    in_bucket = np.bincount(frame.bucket)
    seats = [np.unique(frame.rater[:, frame.bucket[frame.document] == b]) for b in range(len(in_bucket))]
    held = {
        "documents": frame.n_documents,
        "segments": len(frame.document),
        "raters": frame.n_raters,
        "systems": frame.n_systems,
        "ratings": frame.rater.size,
        "raters of an output": frame.rater.shape[2],
        "least segments of a document": segments.min(),
        "most segments of a document": segments.max(),
        "buckets": len(in_bucket),
        "least documents of a bucket": in_bucket.min(),
        "most documents of a bucket": in_bucket.max(),
        "buckets of a rater": np.bincount(np.concatenate(seats)).max(),
    }
    return float(held[of])


def ratings_of_both() -> float:
    """Count the segment ratings of both language pairs."""
    return size("english_german", "ratings") + size("english_chinese", "ratings")


def kendall(language: str, over: str, worlds: int) -> float:
    """Average Kendall's tau between raters, on single documents or over all that both rated, as in table 2."""
    found = [_agreement(language, world) for world in range(worlds)]
    return float(np.mean([getattr(one, over).kendall for one in found]))


def least_entropy(language: str) -> float:
    """Return the least normalised entropy of loads: each bucket is rated by one of its raters alone."""
    frame = _world(language, 0).frame
    weight = np.bincount(frame.bucket[frame.document])
    seats = [np.unique(frame.rater[:, frame.bucket[frame.document] == b]).tolist() for b in range(len(weight))]
    loads = (np.bincount(chosen, weights=weight, minlength=frame.n_raters) for chosen in product(*seats))
    return min(normalized_entropy(one) for one in loads)


def setting(key: str) -> float:
    """Return the value that a key has in a study of ratings by the published test unless another is chosen."""
    held: Any = compose(["analysis.test=permutation", "decision=significance"])
    for part in key.split("."):
        held = held[part]
    return float(held)


@cache
def _world(language: str, world: int) -> World:
    return draw_world(compose([f"systems={language}", "raters.noise=potential"]), world)


@cache
def _agreement(language: str, world: int) -> Any:
    return agreement(_world(language, world))
