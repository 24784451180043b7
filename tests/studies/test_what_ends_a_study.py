"""What is planned, and what ends a campaign, is one statement: with a clock and without, for each kind of limit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from clocks import IDEAL
from places import places

from simlab.config import compose
from simlab.studies.blocks import run_block
from simlab.types import ALL_CAME, DECIDED, MONEY, Array, InputError

JUDGED = (
    "question=judge",
    "systems.n_systems=3",
    "metric=none",
    "analysis.estimator=sample_mean",
    "budget.human_ratings=30",
)
COMPARED = (
    "question=compare",
    "systems.n_systems=3",
    "systems.n_items=40",
    "metric=none",
    "budget.annotations_per_pair=40",
    "budget.batch_size=10",
)


def carried_out(words: tuple[str, ...], *, clock: bool, **budget: float) -> dict[str, Array]:
    config: dict[str, Any] = dict(compose((*words, *(f"budget.{key}={value}" for key, value in budget.items()))))
    if clock:
        config["design"] = {**config["design"], "collection": IDEAL}
    arrays = run_block({**config, "studies": 2, "worlds": 1}, places(0, 2)).arrays
    assert (arrays["status"] == 0).all()
    return arrays


def ended(arrays: dict[str, Array]) -> tuple[int, int, int]:
    """Return what was planned, used, and what ended all campaigns."""
    names = ("ratings_planned", "ratings_used", "ended_by")
    planned, used, code = (set(arrays[name].tolist()) for name in names)
    return planned.pop(), used.pop(), code.pop()


@pytest.mark.parametrize("clock", [False, True])
@pytest.mark.parametrize(
    ("budget", "wanted"),
    [
        ({"total": 60.0}, (90, 60, MONEY)),
        ({"total": 90.0}, (90, 90, ALL_CAME)),
        ({"total": 900.0}, (90, 90, ALL_CAME)),
        ({"per_system": 20.0}, (60, 60, ALL_CAME)),
        ({"per_system": 50.0}, (150, 150, ALL_CAME)),
        ({"per_system": 50.0, "total": 90.0}, (150, 90, MONEY)),
    ],
)
def test_judgements_are_bought_and_accounted_alike_with_a_clock_and_without(
    budget: dict[str, float], wanted: tuple[int, int, int], *, clock: bool
) -> None:
    assert ended(carried_out(JUDGED, clock=clock, **budget)) == wanted


@pytest.mark.parametrize("clock", [False, True])
@pytest.mark.parametrize(
    ("budget", "wanted"),
    [
        # A number of comparisons is no money: in whole batches, all that it allows came, and no rule decided.
        ({"annotations": 25, "total": 1000.0}, (20, 20, ALL_CAME)),
        ({"annotations": 75, "total": 44.0}, (70, 40, MONEY)),
        ({"annotations": 25, "total": 44.0}, (20, 20, ALL_CAME)),
        ({"total": 1000.0}, (120, 120, ALL_CAME)),
    ],
)
def test_comparisons_are_planned_in_whole_batches(
    budget: dict[str, float], wanted: tuple[int, int, int], *, clock: bool
) -> None:
    arrays = carried_out((*COMPARED, "decision=fixed"), clock=clock, **budget)
    planned, used, code = ended(arrays)
    # On a clock what is paid of half a batch is lost.
    assert (planned, used, code) == wanted
    if not clock:
        assert (arrays["ratings_open"] == planned - used).all()


@pytest.mark.parametrize("clock", [False, True])
def test_only_a_rule_that_ended_all_that_lack_decides(*, clock: bool) -> None:
    words = (*COMPARED, "decision=human_only")
    found = [
        carried_out(words, clock=clock, annotations=annotations, total=10_000.0)
        for annotations in (20, 60, 100, 130, 200)
    ]
    codes = np.concatenate([one["ended_by"] for one in found])
    lacking = np.concatenate([one["ratings_planned"] - one["ratings_used"] for one in found])
    np.testing.assert_array_equal(codes == ALL_CAME, lacking == 0)
    np.testing.assert_array_equal(codes == DECIDED, lacking > 0)


def test_who_rates_is_all_of_a_pool() -> None:
    clock = ("design.collection=crowd",)
    with pytest.raises(InputError, match=r"those of its pool; set raters\.pool_size"):
        compose((*clock, "design.collection.crew_size=4"))
    assert compose((*clock, "design.collection.crew_size=30")) == compose(clock)
    assert compose((*JUDGED, *clock, "design.collection.crew_size=4"))["design"]["collection"]["crew_size"] == 4
