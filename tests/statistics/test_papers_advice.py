"""Advice of papers is not said to hold where it has no effect, and is found where it has one; the truth is known."""

from __future__ import annotations

from collections import Counter
from math import sqrt
from pathlib import Path

import pytest

from simlab.answers.backtest import AdviceName
from simlab.commands.backtest import BacktestOptions, plan_backtest
from simlab.fitting.backtest import papers
from simlab.rng import stream
from tests.pilots import Truth, pilot, write

ALIKE = Truth(leniency=0.0, rater_system=0.0, rater_document=0.0)
"""Raters who differ in nothing: who is asked about what, and how much of it, has no effect."""
LENIENT = Truth(leniency=8.0, system=6.0)
NO_EFFECT: tuple[AdviceName, ...] = ("grouping", "load")


def verdicts(
    place: Path, truth: Truth, tables: int, names: tuple[AdviceName, ...], studies: int = 8, documents: int = 36
) -> Counter[str]:
    """Count the verdicts on the ratings of tables that were drawn from a truth, by the published test."""
    found: Counter[str] = Counter()
    for k in range(tables):
        write(pilot(stream(17, "papers", k), truth, n_systems=10, n_documents=documents), place / "t.csv")
        plan = plan_backtest(place / "t.csv", BacktestOptions(law="gaussian", seed=k))
        parts = papers.cut_parts(plan)
        for name in names:
            setting = papers.find_setting(parts, name)
            assert not isinstance(setting, str)
            pairs = [
                tuple(papers.measure_arm(part, arm, setting, "published", k, studies) for arm in papers.ADVICE[name])
                for part in parts
            ]
            one = papers.judge(name, "recorded", "published", setting, pairs, float("nan"), 0)  # type: ignore[arg-type]
            found[one.verdict] += 1
    return found


def _holds_wrongly(found: Counter[str]) -> None:
    n = found.total()
    assert found["holds"] / n <= 0.05 + 3 * sqrt(0.05 * 0.95 / n), found


def test_advice_without_effect_is_seldom_said_to_hold(tmp_path: Path) -> None:
    """A quick version: five tables."""
    _holds_wrongly(verdicts(tmp_path, ALIKE, 5, ("grouping",), studies=4))


@pytest.mark.slow
@pytest.mark.parametrize("name", NO_EFFECT)
def test_advice_without_effect_is_seldom_said_to_hold_in_many_tables(name: AdviceName, tmp_path: Path) -> None:
    _holds_wrongly(verdicts(tmp_path, ALIKE, 40, (name,)))


def test_advice_with_effect_is_found(tmp_path: Path) -> None:
    """The control: raters who differ by 8 points; a test that always said not known would fail."""
    found = verdicts(tmp_path, LENIENT, 3, ("grouping",), studies=5, documents=90)
    assert found["holds"] >= 2
    assert found["turned round"] == 0


@pytest.mark.slow
def test_advice_with_effect_is_found_in_many_tables(tmp_path: Path) -> None:
    found = verdicts(tmp_path, LENIENT, 20, ("grouping",), documents=90)
    assert found["holds"] / found.total() > 0.6
    assert found["turned round"] == 0
