"""A hundred thousand rows of a judge are read and concluded from in under twenty seconds."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

import pytest

from simlab.concluding.concluding import conclude
from simlab.concluding.wanted import Wanted
from simlab.rng import stream

SECONDS = 20.0


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


@pytest.mark.benchmark(group="conclude")
def test_a_hundred_thousand_rows(tmp_path: Path, benchmark: object) -> None:
    table = _table(tmp_path / "judged.csv")
    start = perf_counter()
    found = conclude(table, Wanted(metrics=("judge",)), lambda _: None)
    took = perf_counter() - start
    assert found.read["rows"] == 100_000
    assert found.metrics[0].verdict == "correct"
    assert took < SECONDS
    benchmark(lambda: None)  # type: ignore[operator]
