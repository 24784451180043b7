"""Hold predictions against the built-in ratings, and the studies of a backtest against those of the engine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from places import places

from simlab.config import compose
from simlab.fitting import backtest
from simlab.fitting.backtest import FULL, QUICK, Record
from simlab.fitting.studies import NORMALIZATIONS, Design, stable_shares
from simlab.measures.stability import srp
from simlab.rng import stream
from simlab.studies.blocks import run_block
from simlab.types import World
from simlab.world.recorded import recorded


@pytest.fixture(scope="module")
def world() -> World:
    return recorded(stream(0), path=None, sha256=None, names=None, better=None, columns=None, people=None)


@pytest.mark.parametrize("grouping", ["ungrouped", "system_balanced"])
def test_studies_are_the_same_bits_as_those_of_the_engine(world: World, grouping: str) -> None:
    found = stable_shares(world, Design(grouping, 20, 1), NORMALIZATIONS, seed=1, sets=2, per_set=8)
    for name in NORMALIZATIONS:
        words = [f"design.grouping={grouping}", f"analysis.normalization={name}", "design.documents=20"]
        config = compose(["systems=recorded", *words, "design.studies_per_document_set=8", "worlds=1"])
        outcomes = run_block(config, places(0, 16)).arrays
        assert found[name][0] == float(srp(outcomes).value)


def carried_out(world: World, size: backtest.Size, splits: int, methods: tuple[str, ...]) -> list[Record]:
    tasks = [task for task in backtest.tasks(world, 0.5, splits, size, 0) if task.method in methods]
    return [record for task in tasks for record in backtest.carry_out(task)]


def errors(records: list[Record], target: str, method: str) -> np.ndarray:
    chosen = [record for record in records if (record.target, record.method) == (target, method)]
    return np.array([record.predicted - record.observed for record in chosen])


def test_predictions_from_half_of_the_documents_come_true(world: World) -> None:
    """A quick version: few worlds, so the error allowed is wider than that of the long one."""
    size = replace(QUICK, worlds=12)
    records = carried_out(world, size, 1, ("fit", "naive"))
    fitted, naive = errors(records, "all", "fit"), errors(records, "all", "naive")
    assert np.abs(fitted).mean() < 0.08
    assert np.abs(naive).mean() > np.abs(fitted).mean()
    held = [record.low <= record.observed <= record.high for record in records if record.method == "fit"]
    assert np.mean(held) > 0.7


@pytest.mark.long
def test_predictions_are_as_close_as_the_page_says(world: World) -> None:
    records = carried_out(world, FULL, 3, ("fit", "own", "naive"))
    fitted = [record for record in records if (record.target, record.method) == ("all", "fit")]
    assert np.abs(errors(records, "all", "fit")).mean() <= 0.04
    assert np.mean([record.low <= record.observed <= record.high for record in fitted]) >= 0.8
    assert np.abs(errors(records, "all", "naive")).mean() > 0.05
    own, other = (np.abs(errors(records, "held_out", method)).mean() for method in ("own", "fit"))
    assert other < own + 0.03
