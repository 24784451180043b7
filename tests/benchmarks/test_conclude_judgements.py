"""Measure what concluding from a hundred thousand rows of a judge costs, against reading them with csv alone."""

from __future__ import annotations

import csv
import time
from pathlib import Path
from typing import Any

import pytest

from simlab.concluding.concluding import conclude
from simlab.concluding.options import ConcludeOptions
from simlab.rng import stream
from tests.benchmarks.test_stability import seconds

TABLES, MOST = 1000, 0.5
"""A conclusion is held against so many tables of equal systems; each takes so much of what reading the rows does."""


def _table(file: Path, systems: int = 10, documents: int = 2000, items: int = 5, rated: float = 0.1) -> Path:
    rng = stream(1, "benchmarks", "judged")
    lines = ["system,item,document,human,judge"]
    for document in range(documents):
        judged = rng.random() < rated
        for item in range(items):
            adequate = rng.random(systems) < 0.7
            said = (5 + 3 * adequate + rng.normal(size=systems)).round(2)
            for k in range(systems):
                human = str(int(adequate[k])) if judged else ""
                lines.append(f"s{k},{document}-{item},{document},{human},{said[k]}")
    file.write_text("\n".join(lines) + "\n")
    return file


def means(table: Path) -> dict[str, float]:
    """Average what a judge says of each system, as anyone would."""
    said: dict[str, list[float]] = {}
    with table.open(newline="") as file:
        for row in csv.DictReader(file):
            said.setdefault(row["system"], []).append(float(row["judge"]))
    return {system: sum(scores) / len(scores) for system, scores in said.items()}


@pytest.mark.benchmark(group="conclude", timer=time.process_time)
def test_a_hundred_thousand_rows(tmp_path: Path, benchmark: Any) -> None:
    table = _table(tmp_path / "judged.csv")
    baseline = seconds(lambda: means(table), 3)
    found = benchmark.pedantic(conclude, args=(table, ConcludeOptions(metrics=("judge",)), lambda _: None), rounds=1)
    assert found.read["rows"] == 100_000
    assert found.metrics[0].verdict == "correct"
    ratio = benchmark.stats.stats.median / baseline / TABLES
    benchmark.extra_info |= {"reading_s": baseline, "s": benchmark.stats.stats.median, "ratio": ratio}
    print(benchmark.extra_info)
    assert ratio < MOST
