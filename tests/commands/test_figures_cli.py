"""Figures by the command line: a column of a paper with its caption, a line at a target, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import looked_at
import pytest

from simlab.cli import answer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("figures") / "store"
    words = ["sweep", "item_grouping", "--quick", "worlds=2", "studies=4", "--jobs", "1", "--out", str(out)]
    assert answer(words) == 0
    return str(out)


def test_a_figure_for_a_paper_leaves_its_title_to_the_caption_that_is_printed(
    folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "paper.pdf"
    asked = ["plot", folder, "--target", ".8", "--style", "paper", "--width", "84mm", "--out", str(file)]
    assert answer(asked) == 0
    first, *caption = capsys.readouterr().out.splitlines()
    assert first == str(file)
    said = " ".join(caption)
    assert said.startswith("Which way of handing outputs to raters gives a stable ranking of systems?")
    assert "95 % intervals over worlds" in said
    assert max(map(len, caption)) <= 100
    assert looked_at.inches_of(file) == pytest.approx(84 / 25.4, abs=0.002)


def test_on_a_screen_only_the_file_is_named(folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["plot", folder, "--out", str(tmp_path / "a.png")]) == 0
    assert capsys.readouterr().out.splitlines() == [str(tmp_path / "a.png")]


def test_an_order_is_drawn_beside_its_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store, file = str(tmp_path / "naive"), tmp_path / "order.svg"
    words = ["systems.n_systems=4", "worlds=1", "studies=2", "metric=ideal", "--jobs", "1", "--out", store]
    assert answer(["sweep", "preference_naive", "--quick", *words]) == 0
    capsys.readouterr()
    assert answer(["order", store, "--format", "json", "--figure", str(file)]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert sum(map(len, found["ranks"])) == 4
    assert file.stat().st_size > 1000
    assert answer(["order", store, "--figure", "order.txt"]) == 2
    assert "written as .png, .svg, .pdf" in capsys.readouterr().err


RATINGS = str(Path(__file__).parents[2] / "examples/ratings.csv")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["conclude", RATINGS, "--figure"], "Which systems are better than which?"),
        (["agreement", RATINGS, "--plot"], "How do raters differ in what they score?"),
    ],
)
def test_figures_of_answers_are_as_wide_as_a_column_too(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "paper.pdf"
    assert answer([*words, str(file), "--style", "paper"]) == 0
    assert looked_at.inches_of(file) == pytest.approx(3.3, abs=0.002)
    printed = capsys.readouterr()
    (caption,) = (line for line in printed.err.splitlines() if line.startswith("caption of "))
    assert said in caption
    assert said not in printed.out
    # What one figure was drawn in is not the look of the next.
    assert answer([*words, str(tmp_path / "screen.pdf")]) == 0
    assert looked_at.inches_of(tmp_path / "screen.pdf") > 4
    assert "caption of " not in capsys.readouterr().err
