"""Locate a crossing by a sweep at the command line: few cells of the grid, the same ones however it was carried out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import simlab
from simlab.cli import answer
from simlab.comparing.locating import CellChoice
from simlab.config import compose_sweep
from simlab.config.locating import Locate, spread_range
from simlab.config.sweepfile import load
from simlab.engine import locating
from simlab.types import UNRUN, Estimate

FILE = """
axes:
  analysis.estimator: [sample_mean, ppi]
  budget.human_ratings: [20, 40, 60, 80, 100, 140, 180, 220, 260, 300]
set: {question: judge, systems.n_systems: 2, worlds: 10, studies: 2}
measures: [rmse]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("judge.yaml").write_text(FILE)
    return tmp_path


def sweep(*words: str) -> int:
    return answer(["sweep", *words, "--jobs", "1"])


def cells(folder: str) -> dict[str, Any]:
    """Return the campaigns of each cell that has some, and its error, by its values on the axes."""
    with simlab.open_results(folder) as held:
        ran = (held["status"] != UNRUN).sum("replicate").to_series()
        return {str(at): (n, held["rmse"].to_series()[at]) for at, n in ran.items() if n}


@pytest.mark.slow
def test_a_crossing_is_located_in_few_cells_and_goes_on_where_it_was_interrupted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sweep("judge.yaml", "--locate", "rmse=.04", "--out", "whole", "--format", "json") == 0
    said = capsys.readouterr()
    answered = json.loads(said.out)
    assert [row["estimator"] for row in answered["rows"]] == ["sample_mean", "ppi"]
    assert all(row["reach"] == "crossed" and row["low"] < row["value"] < row["high"] for row in answered["rows"])
    assert "of the 400 of the whole grid" in said.err
    whole = cells("whole")
    assert 8 < len(whole) < 20
    assert answer(["query", "whole", "--solve", "human_ratings", "--target", "rmse=.04", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == answered
    assert answer(["sweep", "judge.yaml", "--locate", "rmse=.04", "--jobs", "2", "--out", "two"]) == 0
    assert cells("two") == whole
    assert sweep("judge.yaml", "--locate", "rmse=.04", "--dry-run") == 0
    assert "whole grid would take this, and --locate carries out about a fifth" in capsys.readouterr().out

    once, carry_out = [], locating.carry_out

    def interrupt(*given: Any) -> None:
        if once:
            raise KeyboardInterrupt
        once.append(carry_out(*given))

    with monkeypatch.context() as patch:
        patch.setattr(locating, "carry_out", interrupt)
        sweep("judge.yaml", "--locate", "rmse=.04", "--out", "parts")
    assert sweep("parts") == 0
    assert cells("parts") == whole


def test_curves_that_cross_are_located_and_a_file_keeps_what_is(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["judge.yaml", "--locate", "rmse:estimator"]
    assert sweep(*words, "--write", "again.yaml") == 0
    assert 'target: "rmse:estimator"' in Path("again.yaml").read_text()
    assert "20 cells" in capsys.readouterr().out
    located = compose_sweep(load(Path("again.yaml"))).locate
    assert located == Locate("rmse", by="estimator", along="human_ratings")


def test_a_range_is_read_where_the_file_says_what_is_located(capsys: pytest.CaptureFixture[str]) -> None:
    Path("located.yaml").write_text(FILE + "locate: {target: rmse=.04}\n")
    assert sweep("located.yaml", "budget.human_ratings=20..300", "--write", "again.yaml") == 0
    assert "40 cells" in capsys.readouterr().out


def test_curves_that_cross_are_located() -> None:
    sweep = compose_sweep(load(Path("judge.yaml")))
    choice = CellChoice(replace(sweep, locate=Locate("power", by="estimator", along="human_ratings")))
    worlds = choice({}, {})
    assert sorted(worlds) == [(k, j) for k in (0, 1) for j in (0, 3, 6, 9)]
    assert set(worlds.values()) == {5}
    noise = np.array([0.01, -0.01, 0.02, -0.02, 0.0])
    falling = {at: Estimate(0.5 - 0.05 * at[1] * at[0], noise, "world", 5) for at in worlds}
    # The second curve begins above the first, and meets it about the fifth value.
    crossing = {at: replace(one, value=one.value + 0.22 * at[0]) for at, one in falling.items()}
    following = choice(crossing, worlds)
    assert {at for at in following if at not in worlds} == {(0, 4), (1, 4), (0, 5), (1, 5)}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("k=3..9", "k=3,4,5,6,7,8,9"),
        ("k=0..1", "k=0,1"),
        ("k=.1..0.2", None),
        ("k=10..200", "k=10,12,14,16,19,22,26,30,35,41,48,57,66,78,91,106,125,146,171,200"),
        ("k=a..b", "k=a..b"),
        ("k=uniform(.1,.5)", "k=uniform(.1,.5)"),
    ],
)
def test_a_range_stands_for_values_between_its_ends(text: str, values: str | None) -> None:
    spread = spread_range(text)
    if values is None:
        numbers = [float(one) for one in spread.removeprefix("k=").split(",")]
        assert len(numbers) == 20
        assert (numbers[0], numbers[-1]) == (0.1, 0.2)
        assert numbers == sorted(numbers)
    else:
        assert spread == values
