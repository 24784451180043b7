"""Humans and six metrics of WMT23: the random one is left out, and what is held is held as often as said."""

from __future__ import annotations

import pytest
from judged_wmt import METRICS, evidence_of, files, held

from simlab.concluding.concluding import conclude
from simlab.concluding.options import ConcludeOptions

pytestmark = pytest.mark.needs_shared("wmt23_ende")


@pytest.mark.parametrize("human", ["da-sqm", "mqm"])
def test_the_random_metric_is_left_out(human: str) -> None:
    table, second = files(human, "Random-sysname-src")
    found = conclude(
        table, ConcludeOptions(second=second, metrics=("Random",), again=False, gate=False), lambda _: None
    )
    (metric,) = found.metrics
    assert metric.verdict == "leave_out"
    assert metric.width <= 1.03
    assert any("synthetic_ref" in said for said in found.warnings)
    assert len(found.pairs) == 78


def test_a_metric_that_follows_humans_corrects_where_they_rated_less() -> None:
    table, second = files("mqm", "XCOMET-Ensemble-refA")
    found = conclude(
        table, ConcludeOptions(second=second, metrics=("XCOMET",), again=False, gate=False), lambda _: None
    )
    assert found.metrics[0].verdict == "correct"
    assert found.metrics[0].width < 1
    assert found.about["estimator"] == "ppi"


def _check(human: str, metric: str, draws: int, low: float, high: float) -> None:
    share, error, width = held(evidence_of(human, metric), metric, draws)
    assert low - 3 * error <= share <= high + 3 * error
    if metric.startswith("Random"):
        assert width <= 1.03


@pytest.mark.parametrize("metric", METRICS)
def test_intervals_from_a_tenth_of_the_documents_hold_the_mean_of_all(metric: str) -> None:
    _check("da-sqm", metric, 60, 0.93, 0.97)


@pytest.mark.long
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("human", ["da-sqm", "mqm"])
def test_intervals_from_a_tenth_of_the_documents_at_length(human: str, metric: str) -> None:
    _check(human, metric, 2000, 0.93, 0.97)
