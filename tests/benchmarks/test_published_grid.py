"""Fill the published grid: against the published model, sampled by NUTS with its published settings, in one run."""

from __future__ import annotations

import time

import numpy as np
import pytest

from simlab.analysis.adequacy.grid import PUBLISHED, measurable_grid
from simlab.analysis.adequacy.measurable_difference import measurable_difference
from simlab.analysis.adequacy.plans import Plan

SETTINGS: dict[str, tuple[float, ...]] = {
    "n_human": tuple(PUBLISHED["n_human"]),
    "n_metric": (1000, 10_000, 100_000),
    "rho": (0.55, 0.75, 0.95),
    "eta": (0.65, 0.85),
    "alpha": (0.1, 0.4, 0.6, 1.0),
    "n_calibration": (10, 1000),
}
"""A part of the grid, 1,152 settings that all have metric ratings and a calibration."""

COUNTS = (60, 100, 5400, 10_000, 420, 600, 280, 400)


def seconds_by_nuts() -> tuple[float, float]:
    """Time NUTS as published (5 chains, 2,000 warm-up, 10,000 draws) for one setting, compilation not counted.

    CPU seconds: chains run side by side, and work as much as one after the other. Return also the sd found.
    """
    from simlab.analysis import chains
    from simlab.analysis.adequacy.nuts import draw_alpha

    run = draw_alpha(*map(float, COUNTS), size=chains.PUBLISHED)
    run(0)
    began = time.process_time()
    alpha = run(1)
    return time.process_time() - began, float(alpha.std())


@pytest.mark.benchmark(group="measurable_difference", timer=time.process_time)
def test_measurable_difference(benchmark) -> None:
    nuts, sd = seconds_by_nuts()
    epsilon = benchmark(measurable_grid, **SETTINGS)
    per_setting = benchmark.stats.stats.median / epsilon.size
    # The two speak of the same posterior.
    plain = float(measurable_difference(Plan(100, 10_000, 0.7, 0.7, 0.6, 1000)).epsilon)
    assert abs(plain / (1.96 * np.sqrt(2) * sd) - 1) < 0.03
    began = time.process_time()
    measurable_difference(Plan(*np.meshgrid(*SETTINGS.values(), indexing="ij")))
    single = (time.process_time() - began) / epsilon.size
    benchmark.extra_info |= {
        "settings": epsilon.size,
        "nuts_seconds": nuts,
        "grid_microseconds_per_setting": 1e6 * per_setting,
        "single_microseconds_per_setting": 1e6 * single,
        "times_faster": nuts / per_setting,
        "times_faster_single": nuts / single,
    }
    print(benchmark.extra_info)
    assert nuts / per_setting > 5000
