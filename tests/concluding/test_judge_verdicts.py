"""What a metric is worth is said rightly of metrics whose worth is known."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from judge_worlds import World, drawn

from simlab.concluding.judgements.estimates import choose_comparison, estimate_way, sum_by_document
from simlab.concluding.judgements.quality import binarise_metric
from simlab.concluding.judgements.verdicts import verdict
from simlab.concluding.options import ConcludeOptions
from simlab.rng import stream

SHARES, SCORES = np.array([0.8, 0.7, 0.7, 0.6]), np.array([0.0, 0.2, 0.2, 0.5])


def _verdicts(world: World, tables: int, word: str) -> Counter[str]:
    """Judge the metric of several tables."""
    rng, found = stream(1, "verdicts", word), Counter[str]()
    for table in range(tables):
        evidence = drawn(rng, world)
        asked = choose_comparison(evidence, np.arange(len(world.means)), ConcludeOptions(seed=table))
        asked = replace(asked, flips=499)
        of = sum_by_document(evidence, "judge")[1]
        alone, with_it = (estimate_way(asked, of, corrected=corrected) for corrected in (False, True))
        labels = binarise_metric(evidence, "judge", None) if evidence.labels else None
        says = None if labels is None else labels.says
        found[verdict(asked, evidence, "judge", says, alone, with_it).verdict] += 1
    return found


def _world(labels: bool, documents: int, follows: float, bias: float = 0.0) -> World:
    means = SHARES if labels else SCORES
    off = np.array([bias, 0.0, 0.0, 0.0])
    return World(means, labels, documents, follows=follows, bias=off, labelled=0.4)


def _check(labels: bool, tables: int, documents: int) -> None:
    slack = 4 * np.sqrt(0.05 * 0.95 / tables)
    for bias in (0.0, 1.0):
        useless = _verdicts(_world(labels, documents, 0.0, bias), tables, "useless")
        assert useless["leave_out"] >= (0.95 - slack) * tables
    biased = _verdicts(_world(labels, 6 * documents, 0.95, 0.5), tables // 4, "biased")
    assert biased["trust"] == 0
    assert biased["correct"] >= 0.9 * (tables // 4)
    perfect = _verdicts(_world(labels, 600 if labels else documents, 1.0), tables // 4, "perfect")
    assert perfect["trust"] >= 0.9 * (tables // 4)


@pytest.mark.slow
@pytest.mark.parametrize("labels", [True, False])
def test_metrics_of_known_worth(labels: bool) -> None:
    _check(labels, 32, 60)


@pytest.mark.long
@pytest.mark.parametrize("labels", [True, False])
def test_metrics_of_known_worth_at_length(labels: bool) -> None:
    _check(labels, 1000, 100)


def test_no_metric_is_trusted_from_few_labels() -> None:
    """A perfect metric that agreed on all of few labels might err in one of twenty."""
    assert _verdicts(_world(True, 30, 1.0), 10, "few")["trust"] == 0
