"""Refuse slips of the hand that would lose what is typed, or what lies there, in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from simlab.cli import answer
from simlab.messages import find_nearest
from tests import fake_studies
from tests.store.test_store import lay


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lay(fake_studies.sweep(), tmp_path / "s")
    return tmp_path / "s"


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["query", "s", "--measure", "mean", "--measure", "share"], "--measure is given twice"),
        (["compare", "s", "--by", "documents", "--by=price"], "--by is given twice"),
        (["run", "--out", "a", "--out", "b"], "--out is given twice"),
        (["run", "--out", ""], "--out names nothing (an unset variable?); name a folder"),
        (["run", "--out="], "--out names nothing"),
        (["query", "s", "documents=10", "documents=20"], "documents is given twice; write its values with commas"),
        (["query", "s", "s"], "of several folders `simlab compare` speaks"),
    ],
)
def test_a_slip_is_refused(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(Path().rglob("*"))
    assert answer(words) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1
    assert sorted(Path().rglob("*")) == before


def test_a_number_is_not_taken_for_another() -> None:
    assert find_nearest("150", ["10", "15", "1500"]) is None


def test_a_readme_of_somebody_else_stays(store: Path) -> None:
    (store / "README.txt").write_text("mine")
    lay(fake_studies.sweep(worlds=3), store)
    assert (store / "README.txt").read_text() == "mine"


def test_a_figure_of_somebody_else_stays(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = str(tmp_path / "r")
    words = ["sweep", "item_grouping", "worlds=2", "studies=4", "systems.n_systems=3", "--jobs", "1"]
    words += ["design.documents=10,20", "design.grouping=ungrouped"]
    assert answer([*words, "--out", folder]) == 0
    figure = tmp_path / "r/figure.png"
    figure.write_text("mine")
    capsys.readouterr()
    assert answer(["plot", folder]) == 2
    assert "is no figure of simlab" in capsys.readouterr().err
    assert figure.read_text() == "mine"
    figure.unlink()
    assert [answer(["plot", folder]) for _ in range(2)] == [0, 0]


def test_show_names_options_as_one_types_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["show", "item_grouping"]) == 0
    lines = {tuple(line.split()) for line in capsys.readouterr().out.splitlines()}
    assert {("raters", "expert_pool"), ("systems", "mqm")} <= lines
