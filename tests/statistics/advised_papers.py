"""Judge what papers advise on tables whose truth is known: raters and metrics that make a difference, or none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from simlab.answers.backtest import AdviceName, AdviceTest, TestName
from simlab.commands.backtest import BacktestOptions, plan_backtest
from simlab.fitting.backtest import papers
from simlab.rng import stream
from simlab.types import Floats
from tests.pilots import Truth, pilot, write

ALIKE = Truth(leniency=0.0, rater_system=0.0, rater_document=0.0)
"""Raters who differ in nothing: who is asked about what, and how much of it, has no effect."""
LENIENT = Truth(leniency=8.0, system=6.0)
VARIED = Truth(system=3.0, document=6.0, system_document=4.0)
"""Outputs that differ much within systems, which a metric may know."""


def judge_tables(
    place: Path,
    truth: Truth,
    tables: Iterable[int],
    name: AdviceName,
    *,
    studies: int = 8,
    documents: int = 36,
    noise: float | None = None,
    test: TestName = "published",
) -> Iterator[AdviceTest]:
    """Judge an advice on the ratings of each table that was drawn from a truth.

    A metric says what an output is worth, with so much `noise`, in points; None for one that knows nothing.
    """
    for k in tables:
        drawn = pilot(stream(17, "papers", k), truth, n_systems=10, n_documents=documents)
        write(drawn, place / "t.csv")
        plan = plan_backtest(place / "t.csv", BacktestOptions(law="gaussian", seed=k))
        parts = papers.cut_parts(plan, _draw_metric(drawn.quality[:, None] + drawn.seen, k, noise))
        setting = papers.find_setting(parts, name)
        assert not isinstance(setting, str), setting
        pairs = [
            tuple(papers.measure_arm(part, arm, setting, test, k, studies) for arm in papers.ADVICE[name])
            for part in parts
        ]
        yield papers.judge(name, "recorded", test, setting, pairs, float("nan"), 0)  # type: ignore[arg-type]


def _draw_metric(output: Floats, table: int, noise: float | None) -> Floats:
    drawn = stream(17, "papers", "metric", table).standard_normal(output.shape)
    return np.asarray(drawn if noise is None else output + noise * drawn)
