"""A store's work grows with its cells and no faster, and fits into memory: ten times the cells against a tenth.

`SIMLAB_CELLS=100000 SIMLAB_JOBS=2` takes the hundred thousand of a large sweep: some ten minutes on two quiet cores.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.apart import MANY, MOST_MIB, apart

CELLS = int(os.environ.get("SIMLAB_CELLS", "2000"))
STEPS = ("materialise", "verify")
READ = ("open", "slice", "cell", "query")


@pytest.mark.benchmark(group="size")
def test_a_store_of_ten_times_the_cells_takes_ten_times_as_long(benchmark: Any, tmp_path: Path) -> None:
    """CPU seconds for each cell, the memory that a hundred thousand would take, and how long it is to be read."""
    few = CELLS // 10
    taken: list[tuple[dict[str, Any], dict[str, Any]]] = []

    def both() -> None:
        k = len(taken)
        taken.append((apart("stored", few, tmp_path / f"few {k}"), apart("stored", few * 10, tmp_path / f"many {k}")))

    benchmark.pedantic(both, rounds=1 if CELLS >= MANY else 2)
    least = {step: [min(one[k][step]["cpu"] for one in taken) for k in (0, 1)] for step in (*STEPS, *READ, "relaunch")}
    ratios = {step: least[step][1] / (10 * least[step][0]) for step in STEPS}
    peaks = [max(of["peak"] for one in taken for of in one[k].values()) for k in (0, 1)]
    each = max(0.0, peaks[1] - peaks[0]) / (9 * few)
    benchmark.extra_info |= {"cells": 10 * few, "kib_per_cell": 1024 * each, "peak_mib": peaks[1], "ratios": ratios}
    benchmark.extra_info |= {f"{step}_ms_per_cell": 100 * least[step][1] / few for step in STEPS}
    benchmark.extra_info |= {f"{step}_wall": min(one[1][step]["wall"] for one in taken) for step in STEPS + READ}
    assert max(ratios.values()) <= 1.3
    assert peaks[0] + each * MANY <= MOST_MIB
    assert least["relaunch"][1] < least["materialise"][1] / 10
    # Whoever opens a store, or takes a cell of it, reads neither its outcomes nor all of its measures.
    assert max(least[step][1] for step in ("open", "slice", "cell")) < least["materialise"][1] / 10
