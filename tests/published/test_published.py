"""Hold the page of published numbers to what computes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.published.published_table import DOCS, page
from tests.published.rows import Row, papers, rows

ALL = [row for paper in papers() for row in rows(paper)]
CHECKED = [row for row in ALL if "check" in row.by]
FIRST = list({row.by["check"]: row for row in reversed(CHECKED)}.values())


def test_the_page_is_what_its_command_writes() -> None:
    assert DOCS.read_text(encoding="utf-8") == page()


@pytest.mark.parametrize("row", [row for row in ALL if "test" in row.by], ids=Row.name)
def test_a_row_names_a_test_that_is_there(row: Row) -> None:
    file, _, name = row.by["test"].partition("::")
    assert f"def {name}(" in (Path(__file__).parents[2] / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("row", FIRST, ids=Row.name)
def test_a_check_gives_our_number(row: Row) -> None:
    assert row.within is not None
    assert abs(row.checked() - float(row.ours or 0)) <= row.within


@pytest.mark.long
@pytest.mark.parametrize("row", CHECKED, ids=Row.name)
def test_every_check_gives_our_number(row: Row) -> None:
    assert row.within is not None
    assert abs(row.checked() - float(row.ours or 0)) <= row.within


def test_what_holds_is_near_what_was_published() -> None:
    """A verdict is not a matter of taste: a number that holds lies within its error and a printed digit."""
    for row in ALL:
        if row.verdict == "holds" and isinstance(row.published, float | int) and isinstance(row.ours, float | int):
            assert abs(row.published - row.ours) <= 2 * (row.within or 0) + 0.5 * _digit(row.published), row.name()


def _digit(value: float) -> float:
    """Return a unit of the last digit that was printed."""
    return float(10.0 ** -len(f"{value:g}".partition(".")[2]))
