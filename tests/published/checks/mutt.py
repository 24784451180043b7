"""Compute pass rates of metrics on the published trials (004); sentences stay where they are."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path

import pytest

from simlab.metric_tests import files, metrics, pass_rates, scoring
from simlab.metric_tests.metrics import TestedMetric
from simlab.metric_tests.trials import Trials

SHARED = Path(__file__).parents[4] / "shared" / "data" / "mutt"


def pass_rate(corruption: str, metric: str, references: int) -> float:
    """Return the percents of trials that a metric passes; skip where trials, or the Java of METEOR, are not here."""
    if not SHARED.is_dir():
        pytest.skip("the published trials, ../shared/data/mutt, are not here")
    family = next(family for family, members in metrics.FAMILIES.items() if metric in members)
    if family == "meteor" and shutil.which("java") is None:
        pytest.skip("METEOR needs Java, which is not here")
    return _rates(corruption, family)[metric, references]


@cache
def _rates(corruption: str, family: str) -> dict[tuple[str, int], float]:
    """Score all numbers of references at once; a metric, and METEOR's process with it, serves all corruptions."""
    pairs = scoring.score(_trials()[corruption], [_metric(family)])
    rates = pass_rates.pass_rates(pairs, tolerance=0.15)
    return {(row.metric, row.references): 100 * row.pass_rate for row in rates.rows}


@cache
def _trials() -> dict[str, list[Trials]]:
    held: dict[str, list[Trials]] = {}
    for trials in files.read(SHARED).trials:
        held.setdefault(trials.corruption, []).append(trials)
    return held


@cache
def _metric(family: str) -> TestedMetric:
    (metric,) = metrics.list_built_in_metrics([family])
    return metric
