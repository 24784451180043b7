"""Figures by the command line: a column of a paper with its caption, a line at a target, and what is refused."""

from __future__ import annotations

from pathlib import Path

import looked_at
import pytest

from simlab.cli import answer


@pytest.fixture
def folder(item_grouping_store: Path) -> str:
    return str(item_grouping_store)


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


RATINGS = str(Path(__file__).parents[2] / "examples/ratings.csv")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["conclude", RATINGS, "--figure"], "Which systems do people rate better?"),
        (["agreement", RATINGS, "--plot"], "How far do the raters of this table agree, and how do they differ?"),
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
