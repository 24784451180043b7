"""Hold the page of published numbers to what computes them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.published.published_table import DOCS, page
from tests.published.rows import OWN, given, kinds_of_numbers, papers, rows, source

ALL = [(paper, k, row.get("by", {})) for paper in papers() for k, row in enumerate(given(paper))]
CHECKED = [(paper, k, by["check"]) for paper, k, by in ALL if "check" in by]
FIRST = list({one[2]: one for one in reversed(CHECKED)}.values())


def test_the_page_is_what_its_command_writes() -> None:
    assert DOCS.read_text(encoding="utf-8") == page()


@pytest.mark.parametrize("test", [by["test"] for _, _, by in ALL if "test" in by])
def test_a_row_names_a_test_that_is_there(test: str) -> None:
    file, _, name = test.partition("::")
    assert f"def {name}(" in (Path(__file__).parents[2] / file).read_text(encoding="utf-8")


def test_all_that_gives_numbers_says_how_and_nothing_else_does() -> None:
    assert kinds_of_numbers().keys() == {source(by) for _, _, by in ALL} - {""}


def test_only_numbers_of_simlabs_own_hold() -> None:
    every = [row for paper in papers() for row in rows(paper)]
    assert {row.how for row in every if row.verdict in ("holds", "carries over", "does not carry over")} <= {*OWN}
    assert not {row.how for row in every if row.verdict == "agrees"} & {*OWN}


@pytest.mark.slow
@pytest.mark.parametrize(("paper", "k", "check"), FIRST)
def test_a_check_gives_our_number(paper: str, k: int, check: str) -> None:
    row = rows(paper)[k]
    assert row.within is not None
    assert abs(row.checked() - float(row.ours or 0)) <= row.within


@pytest.mark.long
@pytest.mark.parametrize(("paper", "k", "check"), CHECKED)
def test_every_check_gives_our_number(paper: str, k: int, check: str) -> None:
    row = rows(paper)[k]
    assert row.within is not None
    assert abs(row.checked() - float(row.ours or 0)) <= row.within


def test_what_holds_is_near_what_was_published() -> None:
    """A verdict is not a matter of taste: a number that holds lies within its error and a printed digit."""
    for row in (row for paper in papers() for row in rows(paper)):
        if (
            row.verdict in ("holds", "agrees")
            and isinstance(row.published, float | int)
            and isinstance(row.ours, float | int)
        ):
            assert abs(row.published - row.ours) <= 2 * (row.within or 0) + 0.5 * _digit(row.published), row.name()


def _digit(value: float) -> float:
    """Return a unit of the last digit that was printed."""
    return float(10.0 ** -len(f"{value:g}".partition(".")[2]))


def test_the_article_counts_the_verdicts_as_the_page_does() -> None:
    n = Counter(row.verdict for paper in papers() for row in rows(paper))
    text = " ".join((DOCS.parent / "paper" / "paper.md").read_text(encoding="utf-8").split())
    assert (
        f"of {n.total()} numbers {n['holds']} hold, {n['differs']} differ, {n['carries over']} carry over "
        f"to other data, {n['does not carry over']} do not, {n['agrees']} merely agree with the paper's own, and "
        f"{n['not reproducible']} cannot be reproduced here"
    ) in text
