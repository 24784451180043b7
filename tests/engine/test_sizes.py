"""Sizes are counted and forecast before anything is composed or drawn, and forecasts end."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import fake_studies
import pytest

from simlab.config import compose_sweep
from simlab.config.sections import MOST_CELLS, refuse_many
from simlab.config.sweepfile import MULTIRUN
from simlab.engine import bounds, preparing, run
from simlab.engine.forecast import forecast
from simlab.types import InputError, Place

HUNDRED = "range(1,101)"


def asleep(config: Mapping[str, Any], places: Sequence[Place]) -> Any:
    time.sleep(600)


def test_cells_are_counted_before_any_is_composed() -> None:
    axes = ["design.documents", "systems.n_systems", "raters.pool_size", "design.load_tries"]
    before = time.process_time()
    refused = (
        r"^design\.documents \(100\) x systems\.n_systems \(100\) x raters\.pool_size \(100\) x "
        r"design\.load_tries \(100\) are 100,000,000 cells, more than 200,000; give design\.documents fewer values"
    )
    with pytest.raises(InputError, match=refused):
        compose_sweep(MULTIRUN, [f"{key}={HUNDRED}" for key in axes])
    assert time.process_time() - before < 5


def test_a_hundred_thousand_cells_are_a_sweep() -> None:
    assert MOST_CELLS >= 100_000
    refuse_many({"a": 1000, "b": 100}, MOST_CELLS)
    words = ["design.documents=range(6,106)", "raters.noise_share=range(0,1,.01)", "design.ratings_per_item=1,2,3"]
    assert compose_sweep(MULTIRUN, words).n_cells == 30_000


def test_cells_share_what_no_axis_changes() -> None:
    first, second, *_ = compose_sweep(MULTIRUN, ["design.documents=10,20"]).cells()
    assert first.config["raters"] is second.config["raters"]
    assert (first.config["design"]["documents"], second.config["design"]["documents"]) == (10, 20)


@pytest.mark.parametrize(
    ("sizes", "remedy"),
    [({"worlds": 10**9}, "lower worlds"), ({"studies": 10**9}, r"lower studies or raise engine\.block")],
)
def test_blocks_are_counted_before_any_is_made(sizes: dict[str, int], remedy: str) -> None:
    with pytest.raises(InputError, match=f"more than 2,000,000 blocks or 2,147,483,647 campaigns; {remedy}"):
        bounds.refuse_many_blocks(fake_studies.sweep(**sizes))


def test_a_million_processes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--jobs 1000000 is more than"):
        run.run(fake_studies.sweep(), tmp_path / "out", 10**6)
    sweep = fake_studies.sweep()
    sweep.base["engine"]["jobs"] = 10**6
    with pytest.raises(InputError, match=r"^engine\.jobs=1000000 is more than"):
        run.run(sweep, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_study_that_takes_too_long_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simlab.engine.forecast.LONGEST_SECONDS", 0.3)
    found = forecast(fake_studies.sweep(), tmp_path / "out", 1, block=asleep, check=fake_studies.check)
    assert found.at_least
    assert "was cut off here" in found.how
    assert 0.3 <= found.seconds < 60


def test_worlds_are_met_one_after_the_other() -> None:
    """Cells of a world are checked together, whatever the order of the axes."""
    asked: list[int] = []

    def check(config: Mapping[str, Any]) -> fake_studies.Shape:
        asked.append(config["systems"]["n_systems"])
        return fake_studies.Shape(("a", "b"))

    job = preparing.prepare(compose_sweep(MULTIRUN, ["design.documents=10,20", "systems.n_systems=3,4"]), check)
    assert asked == [3, 3, 4, 4]
    assert [cell.values for cell in job.cells] == [(10, 3), (10, 4), (20, 3), (20, 4)]
