"""Intervals of differences: how often they hold the true one, and how wide they are, counted by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from simlab.measures.estimates import difference_coverage, difference_width
from simlab.measures.labels import measure_range

PAIRS = list(itertools.combinations(range(3), 2))


def outcomes(n: int = 24, worlds: int = 4) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    middle, half = rng.normal(0, 0.3, (n, 3)), rng.uniform(0.1, 0.5, (n, 3))
    return {
        "world": np.repeat(np.arange(worlds, dtype=np.int32), n // worlds),
        "study": np.tile(np.arange(n // worlds, dtype=np.int32), worlds),
        "document_set": np.arange(n, dtype=np.int32),
        "status": np.zeros(n, np.int8),
        "true_value": rng.random((worlds, 3)),
        "difference_low": middle - half,
        "difference_high": middle + half,
    }


def test_every_pair_of_every_campaign_counts() -> None:
    data = outcomes()
    held, width = [], []
    for campaign, world in enumerate(data["world"]):
        for pair, (i, j) in enumerate(PAIRS):
            apart = data["true_value"][world, i] - data["true_value"][world, j]
            low, high = data["difference_low"][campaign, pair], data["difference_high"][campaign, pair]
            held.append(low <= apart <= high)
            width.append(high - low)
    found = difference_coverage(data)
    assert found.value == pytest.approx(np.mean(held))
    assert 0.1 < found.value < 0.9
    assert (found.n, found.cluster, len(found.influence)) == (24, "world", 4)
    assert difference_width(data).value == pytest.approx(np.mean(width))
    # The order of the systems in a pair matters.
    turned = data | {"difference_low": -data["difference_high"], "difference_high": -data["difference_low"]}
    assert difference_coverage(turned).value != pytest.approx(found.value)


def test_studies_without_such_intervals_have_no_value() -> None:
    bare = {name: array for name, array in outcomes().items() if not name.startswith("difference")}
    assert difference_coverage(bare).n == difference_width(bare).n == 0
    assert measure_range("difference_coverage") == measure_range("coverage")
