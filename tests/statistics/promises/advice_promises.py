"""Measure how often papers' advice is said to hold on tables where it has no effect, and where it has one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from promise_rows import Row, numbers

from simlab.answers.backtest import AdviceName, TestName
from tests.pilots import Truth
from tests.statistics.advised_papers import ALIKE, LENIENT, VARIED, judge_tables

LEVEL = 0.05


class Setting(NamedTuple):
    """Name an advice, the world in which it is judged, and what is promised: its level, or that it is found."""

    advice: AdviceName
    words: str
    truth: Truth
    documents: int
    noise: float | None = None
    test: TestName = "published"
    studies: int = 8
    least: float | None = None


SETTINGS = {
    "grouping": Setting("grouping", "side by side, raters who differ in nothing", ALIKE, 36),
    "load": Setting("load", "even loads, raters who differ in nothing", ALIKE, 36),
    "metric": Setting("metric", "a metric that knows nothing", VARIED, 60, test="default", studies=2),
    "lenient": Setting("grouping", "side by side, raters who differ by 8 points", LENIENT, 90, least=0.6),
    "close": Setting("metric", "a metric 1 point off", VARIED, 60, 1.0, test="default", studies=2, least=0.6),
}


def papers_advice(n: int, names: tuple[str, ...] = tuple(SETTINGS)) -> Iterator[Row]:
    """Judge each advice on n tables; the control takes an advice to hold wherever its effect is above 0."""
    for name in names:
        advice, words, truth, documents, noise, test, studies, least = SETTINGS[name]
        with TemporaryDirectory() as place:
            tests = list(
                judge_tables(
                    Path(place), truth, numbers(n), advice, studies=studies, documents=documents, noise=noise, test=test
                )
            )
        where = f"{words}: 10 systems, {documents} documents, {test} test"
        share, error = _measure_share([one.verdict == "holds" for one in tests])
        if least is not None:
            yield Row("power to say that an advice holds", where, least, share, error, n, "at least")
            continue
        yield Row("an advice without effect is said to hold", where, LEVEL, share, error, n)
        share, error = _measure_share([one.effect > 0 for one in tests])
        name = "an advice without effect came out ahead"
        yield Row(name, where, LEVEL, share, error, n, "control above")


def _measure_share(hits: Sequence[bool]) -> tuple[float, float]:
    share = sum(hits) / len(hits)
    return share, sqrt(share * (1 - share) / len(hits))
