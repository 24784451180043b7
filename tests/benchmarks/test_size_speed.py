"""A driver's work grows with the cells and no faster, and fits into memory: ten times the cells against a tenth.

`SIMLAB_CELLS=100000` takes the hundred thousand of a large sweep: some minutes.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.apart import MANY, MOST_MIB, apart

CELLS = int(os.environ.get("SIMLAB_CELLS", "4000"))
STEPS = ("prepare", "launch", "relaunch")


@pytest.mark.benchmark(group="size")
def test_ten_times_the_cells_take_ten_times_as_long(benchmark: Any, tmp_path: Path) -> None:
    """CPU seconds for each cell, and the memory that a hundred thousand of them would take."""
    few, rounds = CELLS // 10, 1 if CELLS >= MANY else 2
    taken: list[tuple[dict[str, Any], dict[str, Any]]] = []

    def both() -> None:
        k = len(taken)
        taken.append((apart("sized", few, tmp_path / f"few {k}"), apart("sized", few * 10, tmp_path / f"many {k}")))

    benchmark.pedantic(both, rounds=rounds)
    least = {step: [min(one[k][step]["cpu"] for one in taken) for k in (0, 1)] for step in STEPS}
    ratios = {step: many / (10 * of_few) for step, (of_few, many) in least.items()}
    peaks = [max(of["peak"] for one in taken for of in one[k].values()) for k in (0, 1)]
    each = max(0.0, peaks[1] - peaks[0]) / (9 * few)
    benchmark.extra_info |= {"cells": 10 * few, "kib_per_cell": 1024 * each, "peak_mib": peaks[1], "ratios": ratios}
    benchmark.extra_info |= {f"{step}_ms_per_cell": 100 * many / few for step, (_, many) in least.items()}
    benchmark.extra_info |= {f"{step}_wall": min(one[1][step]["wall"] for one in taken) for step in STEPS}
    assert max(ratios.values()) <= 1.3
    assert peaks[0] + each * MANY <= MOST_MIB
    assert least["relaunch"][1] < least["launch"][1] / 3
