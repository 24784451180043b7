"""Advice of papers is not said to hold where it has no effect, and is found where it has one; the truth is known."""

from __future__ import annotations

from collections import Counter
from math import sqrt
from pathlib import Path

import pytest

from simlab.answers.backtest import AdviceName
from tests.statistics.advised_papers import ALIKE, LENIENT, VARIED, judge_tables


def _holds_wrongly(verdicts: Counter[str]) -> None:
    n = verdicts.total()
    assert verdicts["holds"] / n <= 0.05 + 3 * sqrt(0.05 * 0.95 / n), verdicts


def test_advice_without_effect_is_seldom_said_to_hold(tmp_path: Path) -> None:
    """A quick version: five tables."""
    _holds_wrongly(Counter(one.verdict for one in judge_tables(tmp_path, ALIKE, range(5), "grouping", studies=4)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["grouping", "load"])
def test_advice_without_effect_is_seldom_said_to_hold_in_many_tables(name: AdviceName, tmp_path: Path) -> None:
    _holds_wrongly(Counter(one.verdict for one in judge_tables(tmp_path, ALIKE, range(40), name)))


@pytest.mark.slow
def test_a_metric_that_knows_nothing_is_seldom_said_to_help(tmp_path: Path) -> None:
    judged = judge_tables(tmp_path, VARIED, range(20), "metric", documents=60, studies=2, test="default")
    _holds_wrongly(Counter(one.verdict for one in judged))


def test_advice_with_effect_is_found(tmp_path: Path) -> None:
    """The control: raters who differ by 8 points; a test that always said not known would fail."""
    judged = judge_tables(tmp_path, LENIENT, range(3), "grouping", studies=5, documents=90)
    verdicts = Counter(one.verdict for one in judged)
    assert verdicts["holds"] >= 2
    assert verdicts["turned round"] == 0


@pytest.mark.slow
def test_advice_with_effect_is_found_in_many_tables(tmp_path: Path) -> None:
    verdicts = Counter(one.verdict for one in judge_tables(tmp_path, LENIENT, range(20), "grouping", documents=90))
    assert verdicts["holds"] / verdicts.total() > 0.6
    assert verdicts["turned round"] == 0


@pytest.mark.slow
def test_a_close_metric_is_said_to_help(tmp_path: Path) -> None:
    judged = judge_tables(tmp_path, VARIED, range(10), "metric", documents=60, studies=2, noise=1.0, test="default")
    verdicts = Counter(one.verdict for one in judged)
    assert verdicts["holds"] >= 5
    assert verdicts["turned round"] == 0


def test_the_published_test_says_nothing_of_a_metric(tmp_path: Path) -> None:
    """SRP falls with a close metric, and even one that knows nothing finds more: neither is a verdict."""
    judged = {
        noise: list(judge_tables(tmp_path, VARIED, range(4), "metric", documents=60, noise=noise))
        for noise in (None, 1.0)
    }
    assert {one.verdict for tests in judged.values() for one in tests} == {"not known here"}
    assert sum(one.effect for one in judged[1.0]) < 0
    assert all(one.advised_found > one.other_found for tests in judged.values() for one in tests)
