"""Check that a cell whose values are patched in equals the same study composed in full."""

from __future__ import annotations

import numpy as np
import pytest

from simlab.config import compose, compose_sweep
from simlab.rng import stream

AXES = {
    "systems": ["mqm", "mqm_two_buckets"],
    "raters": ["expert_pool", "crowd_pool"],
    "design.grouping": ["ungrouped", "system_balanced"],
    "analysis.normalization": ["none", "error", "zscore"],
    "design.documents": [20, 30],
    "design.load_entropy": ["null", 0.8],
    "systems.n_systems": [5, 6],
    "decision.level": [0.05, 0.01],
}
OTHERS = [key for key in AXES if key not in ("design.grouping", "design.documents")]


@pytest.mark.parametrize("draw", range(4))
def test_a_patched_cell_equals_a_full_compose(draw: int) -> None:
    rng = stream(1, "axes", draw)
    # The axes of the sweep file come first, then those of the command line.
    chosen = ["design.grouping", "design.documents", *(key for key in OTHERS if rng.random() < 0.5)]
    axes = {key: AXES[key] for key in chosen}
    sweep = compose_sweep("item_grouping", [f"{key}={','.join(map(str, values))}" for key, values in axes.items()])
    assert [axis.key for axis in sweep.axes] == list(axes)
    cells = list(sweep.cells())
    assert len(cells) == int(np.prod([len(values) for values in axes.values()]))
    for cell in (cells[int(i)] for i in rng.integers(0, len(cells), 3)):
        words = [f"{key}={axes[key][place]}" for key, place in zip(axes, cell.index, strict=True)]
        assert cell.config == compose(["analysis.test=permutation", "decision=significance", *words])
