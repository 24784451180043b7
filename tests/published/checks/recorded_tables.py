"""Compute on the ratings built into simlab what papers show of theirs: correlations of metrics, noise of raters."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np

import simlab
from simlab.types import Floats

DATA = Path(simlab.__file__).parent / "world" / "data"
REFERENCE = "refA"
FEWEST_SHARED = 100
"""Outputs that two raters share; of fewer a share is chance."""


def correlation(metric: str, people: str, over: str) -> float:
    """Correlate a metric with people on WMT23 English-German: `systems`, `outputs`, or one of the `within` systems.

    `within, least` and `within, most` are those of the systems that the metric follows least and most. The reference,
    of which metrics that compare with it have no score, is left out.
    """
    each = dict(_scores(metric, people))
    if over == "systems":
        return _pearson(np.array([one.mean(axis=0) for one in each.values()]))
    if over == "outputs":
        return _pearson(np.concatenate([*each.values()]))
    within = sorted(map(_pearson, each.values()))
    return {"within, least": within[0], "within, most": within[-1], "within, median": float(np.median(within))}[over]


def gamma() -> float:
    """Return the annotator variance over that of outputs within systems, of three MQM ratings of each output."""
    rated = _side_by_side()
    noise = float(np.mean([values.var(axis=1, ddof=1).mean() for values in rated.values()]))
    means = float(np.mean([values.mean(axis=1).var(ddof=1) for values in rated.values()]))
    return noise / (means - noise / 3)


def differing_raters(of: str) -> float:
    """Compare two raters on the outputs that both rated, for the pair that differs most in how often it finds no error.

    `least` and `most` are the two shares of outputs without an error.
    """
    pairs = [*_raters_of_the_same()]
    least, most = max(
        ((float((low == 0).mean()), float((high == 0).mean())) for low, high in pairs),
        key=lambda shares: abs(shares[0] - shares[1]),
    )
    return {"least": min(least, most), "most": max(least, most)}[of]


def _pearson(values: Floats) -> float:
    return float(np.corrcoef(values.T)[0, 1])


@cache
def _table(file: str) -> list[dict[str, str]]:
    opened = gzip.open if file.endswith(".gz") else open
    with opened(DATA / file, "rt", encoding="utf-8") as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


def _scores(metric: str, people: str) -> Iterator[tuple[str, Floats]]:
    rows = [row for row in _table("wmt23_ende.tsv.gz") if row[people] and row["system"] != REFERENCE]
    for system in sorted({row["system"] for row in rows}):
        yield system, np.array([(float(row[people]), float(row[metric])) for row in rows if row["system"] == system])


def _side_by_side() -> dict[str, Floats]:
    """Return the three scores of each output, by system."""
    outputs: dict[str, dict[str, list[float]]] = {}
    for row in _table("sxs_mqm_generalMT2023_ende.tsv"):
        outputs.setdefault(row["system"], {}).setdefault(row["segment"], []).append(float(row["score"]))
    return {system: np.array([*of.values()]) for system, of in outputs.items()}


def _raters_of_the_same() -> Iterator[tuple[Floats, Floats]]:
    """Yield the scores of two raters on the outputs that both rated, where these are enough."""
    scores: dict[str, dict[tuple[str, str], float]] = {}
    for row in _table("sxs_mqm_generalMT2023_ende.tsv"):
        scores.setdefault(row["rater"], {})[row["system"], row["segment"]] = float(row["score"])
    for one, two in combinations(scores.values(), 2):
        if len(both := sorted(one.keys() & two.keys())) >= FEWEST_SHARED:
            yield np.array([one[key] for key in both]), np.array([two[key] for key in both])
