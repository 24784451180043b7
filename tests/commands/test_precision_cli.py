"""Ask for a precision at the command line: what is reached is said, and what is not is a reservation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simlab.cli import answer

SMALL = ["question=judge", "systems.n_systems=2", "budget.human_ratings=20", "studies=2", "--jobs", "1"]


def run(folder: Path, *words: str) -> int:
    return answer(["run", *SMALL, "--out", str(folder), *words])


def test_a_precision_that_is_reached_is_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path / "s", "--precision", "rmse=.5", "--format", "json") == 0
    assert [row["reached"] for row in json.loads(capsys.readouterr().out)] == [True]


@pytest.mark.slow
def test_an_end_to_patience_is_a_reservation_and_leaves_a_whole_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "s"
    words = ["--precision", "rmse=.0001"]
    assert run(folder, *words, "--at-most", "60") == 3
    said = capsys.readouterr()
    assert "0.0001 or less, as asked, in 0 of 1 cell" in said.err
    assert "60 campaigns" in said.err
    assert answer(["query", str(folder), "--format", "json"]) == 3
    assert [row["reached"] for row in json.loads(capsys.readouterr().out)] == [False]
    assert answer(["verify", str(folder)]) == 0
