"""Score originals and corruptions by metrics, and keep the raw pairs of scores.

Call `score` on trials and metrics; it returns `ScorePairs`, one for each corruption, number of references and score. A
metric that raises, or returns too few scores, has no scores for these trials, with the reason, and the others go on; a
score that is not a finite number is NaN.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simlab.metric_tests.metrics import TestedMetric
from simlab.metric_tests.trials import Trials
from simlab.types import Bools, Floats


@dataclass(frozen=True, slots=True)
class ScorePairs:
    """Scores of a metric for the sentences of trials: `original[trial]` and `corrupted[trial]`.

    Both are NaN where either is not a finite number; `failure` says why all are. Scores up to `zero` count as 0.
    """

    trials: Trials
    metric: str
    lower_is_better: bool
    zero: float
    original: Floats
    corrupted: Floats
    failure: str | None

    @property
    def scored(self) -> Bools:
        """Mark which trials have two scores."""
        finite: Bools = np.isfinite(self.original)
        return finite


def score(trials: Iterable[Trials], metrics: Sequence[TestedMetric]) -> list[ScorePairs]:
    """Score all trials by all metrics; return the scores for each corruption, number of references and metric."""
    return [pairs for own in trials for metric in metrics for pairs in _score(own, metric)]


def records(pairs: Iterable[ScorePairs]) -> list[dict[str, Any]]:
    """Return a record for each trial, number of references and metric: raw scores, NaN where there is none."""
    return [
        {
            "corruption": scores.trials.corruption,
            "kind": scores.trials.kind,
            "metric": scores.metric,
            "references": scores.trials.n_references,
            "trial": name,
            "original": original,
            "corrupted": corrupted,
            "lower_is_better": scores.lower_is_better,
        }
        for scores in pairs
        for name, original, corrupted in zip(
            scores.trials.name, scores.original.tolist(), scores.corrupted.tolist(), strict=True
        )
    ]


def _score(trials: Trials, metric: TestedMetric) -> list[ScorePairs]:
    try:
        sentences = (trials.original, trials.corrupted)
        # Lists of its own for every call: a metric may change what it is handed.
        scores = [
            metric.score(list(texts), [list(texts_of_trial) for texts_of_trial in trials.references])
            for texts in sentences
        ]
        failure = None
    except Exception as error:
        scores, failure = [], " ".join(f"it raised {type(error).__name__}: {error}".split())[:200]
    return [_pairs(trials, metric, name, [given.get(name) for given in scores], failure) for name in metric.names]


def _pairs(trials: Trials, metric: TestedMetric, name: str, given: Sequence[Any], failure: str | None) -> ScorePairs:
    n = len(trials.name)
    failure = failure or next(filter(None, (_fault(scores, n) for scores in given)), None)
    scores = np.full((2, n), np.nan) if failure else np.array([np.asarray(side, float) for side in given])
    scores[:, ~np.isfinite(scores).all(0)] = np.nan
    return ScorePairs(trials, name, metric.lower_is_better, metric.zero, scores[0], scores[1], failure)


def _fault(scores: Any, n: int) -> str | None:
    """Return what is wrong with the scores of n sentences; None where nothing is."""
    try:
        shape = np.asarray(scores, float).shape
    except (TypeError, ValueError):
        return "what it gave are not numbers"
    if shape == (n,):
        return None
    return f"it gave {shape[0]} scores for {n} sentences" if len(shape) == 1 else "it gave no list of scores"
