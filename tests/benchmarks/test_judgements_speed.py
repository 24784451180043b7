"""Studies of judgements: a block at once against its studies one by one, and cells that share what they draw.

Ratios of CPU seconds within one run. The baseline of a block is the same code with one study at a time and nothing
remembered, which is how a user would write it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from simlab import rng as addresses
from simlab.analysis.adequacy import shared_rates
from simlab.config import compose_sweep
from simlab.studies.blocks import run_block
from simlab.studies.worlds import draw_at
from simlab.types import Place

STUDIES = 50
ROUNDS = 5
CELLS = {
    "data_efficiency": (["raters.gamma=0.1,0.3,1.0", "metric.correlation=0,0.5,0.9", "design.replacement=true"], 0.35),
    "metric_assisted_ranking": (
        ["analysis.estimator=sample_mean,control_variates,ppi", "budget.per_system=100,400"],
        0.5,
    ),
}
"""Cells, and the most that their blocks may take of what studies one by one take."""


def forget() -> None:
    addresses._held = addresses._Held()
    shared_rates._youden.cache_clear()
    draw_at.cache_clear()


def cpu(call: Callable[[], object]) -> float:
    began = time.process_time()
    with np.errstate(all="ignore"), threadpool_limits(1):
        call()
    return time.process_time() - began


@pytest.mark.benchmark(group="judgements")
@pytest.mark.parametrize("name", CELLS)
def test_a_block_of_judgements_against_its_studies(name: str, benchmark: Any) -> None:
    overrides, most = CELLS[name]
    configs = [cell.config for cell in compose_sweep(name, overrides, quick=False, plugins=[]).cells()]
    places = [Place(0, study=k) for k in range(STUDIES)]

    def at_once() -> None:
        forget()
        for config in configs:
            run_block(config, places)

    def one_by_one() -> None:
        for config in configs:
            for place in places:
                addresses._held = addresses._Held()
                shared_rates._youden.cache_clear()
                run_block(config, [place])

    at_once()
    ratio = min(cpu(at_once) for _ in range(ROUNDS)) / min(cpu(one_by_one) for _ in range(2))
    benchmark.extra_info["of one by one"] = ratio
    benchmark.pedantic(at_once, rounds=1)
    assert ratio < most
