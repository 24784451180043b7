"""What sizes of a real metric's differences add to its sign on WMT23 English-German: shares explained, and level."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from simlab.analysis.decisions import group_sequential, human_only
from simlab.config import compose
from simlab.design.protocol import gather, list_looks, make_places, order_items
from simlab.formulas import grade_preferences
from simlab.studies.worlds import draw_world
from simlab.types import Array, Evidence, Floats, TestSet
from simlab.world.laws.comparisons import require_contest

REAL = "XCOMET-Ensemble-refA", "COMET-refA", "GEMBA-MQM-src", "CometKiwi-src", "BLEU-refA"
RANDOM = "Random-sysname-src"
PLANNED = 100


@functools.cache
def recorded(column: str, bins: int) -> tuple[Array, Array]:
    """Return what experts and a metric prefer, `[pair, item]`; humans were asked about the first items."""
    words = "systems=recorded", "systems.path=simlab:wmt23_ende", "decision=bayes", "metric=recorded"
    names = "AIRC,GPT4-5shot,NLLB_Greedy,ONLINE-A,ONLINE-W"
    sizes = f"metric.column={column}", f"metric.bins={bins}", f"systems.names=[{names}]"
    world = draw_world(compose([*words, *sizes]), 0)
    human, metric = require_contest(world).recorded, world.metric.recorded
    assert human is not None
    return human, metric


def explained(column: str, bins: int) -> float:
    """Return the share of the variance of human preferences that the metric explains, averaged over pairs."""
    human, metric = recorded(column, bins)
    both = (1.0 - human, grade_preferences(metric[:, : human.shape[1]], bins))
    return float(np.mean([np.corrcoef(x, g)[0, 1] ** 2 for x, g in zip(*both, strict=True) if g.std() > 0]))


def evidence_of_equals(rng: np.random.Generator, column: str, bins: int) -> Evidence:
    """Swap the names of each two outputs by a coin: systems are equal, and the metric knows as much as it did."""
    human, metric = recorded(column, bins)
    swapped = rng.random(metric.shape) < 0.5
    n = human.shape[1]
    fair = TestSet(np.where(swapped[:, :n], 2 - human, human), np.where(swapped, 2 * bins - metric, metric))
    order = order_items(rng, fair.human, shared=False)
    places = make_places(np.arange(n), None, metric.shape[1])
    return gather(fair, order, list_looks(PLANNED, 10, n), places, bins)


def claimed(column: str, bins: int, orders: int) -> tuple[Floats, Floats]:
    """Return the share of equal pairs that is claimed in each order: by the corrected rule, and by looking often."""
    corrected, often = [], []
    for k in range(orders):
        of = evidence_of_equals(np.random.default_rng([7, k]), column, bins)
        rule = group_sequential(
            of, level=0.05, spending="obrien_fleming", unit="output", multiplicity="none", metric="correct"
        )
        corrected.append((rule.verdict[:, -1] != 0).mean())
        often.append((human_only(of, level=0.05).verdict != 0).any(1).mean())
    return np.array(corrected), np.array(often)


@pytest.mark.slow
def test_sizes_explain_more_than_the_sign_unless_the_metric_is_random() -> None:
    assert explained(REAL[0], 3) > explained(REAL[0], 1) + 0.015
    assert explained(RANDOM, 3) < 0.01


@pytest.mark.parametrize(
    ("orders", "columns"),
    [pytest.param(8, (REAL[0],), id="quick"), pytest.param(100, (*REAL, RANDOM), id="full", marks=pytest.mark.long)],
)
def test_equal_systems_are_claimed_as_rarely_as_promised(orders: int, columns: tuple[str, ...]) -> None:
    for column in columns:
        wrong, often = claimed(column, 3, orders)
        assert wrong.mean() <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / (10 * orders))
        assert often.mean() > 0.05 + 3 * np.sqrt(0.05 * 0.95 / (10 * orders))  # the control: looks that nobody corrects
