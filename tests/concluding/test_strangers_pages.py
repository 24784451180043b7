"""Strangers' tables are concluded without contradictions, however they are written, and so are generated siblings."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import pytest
import strangers
from shared_data import SHARED

from simlab.concluding.concluding import conclude
from simlab.concluding.conclusion import Conclusion
from simlab.concluding.wanted import Wanted

FOLDER = SHARED / "strangers"


def found(path: Path, **asked: object) -> Conclusion:
    return conclude(path, Wanted(**{"again": False, **asked}), lambda _: None)


def rows_of(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def ranks(one: Conclusion, mutation: strangers.Mutation | None = None) -> dict[str, tuple[int, int]]:
    return {
        mutation.named("system", each.system) if mutation else each.system: (each.rank_low, each.rank_high)
        for each in one.systems
    }


def votes(wins: dict[tuple[str, str], tuple[int, int]], raters: int) -> list[list[str]]:
    """Lay out comparisons: so many that the first of two won, and lost, each of an item of its own."""
    rows = [["item", "system_a", "system_b", "winner", "rater"]]
    for first, second in wins:
        rows += [
            [f"{first}{second}{k}", first, second, "a" if k < wins[first, second][0] else "b", f"r{k % raters}"]
            for k in range(sum(wins[first, second]))
        ]
    return rows


SIBLING = votes({("top", "x"): (19, 2), ("top", "y"): (22, 3), ("top", "z"): (17, 1)}, 9)
"""A star: all were compared with one system, which wins against each, and never with each other."""


@pytest.mark.parametrize(
    "table",
    [
        pytest.param("01-rank-1-to-3-better-than-all-others.csv", marks=pytest.mark.needs_shared("strangers")),
        pytest.param("", id="sibling"),
    ],
)
def test_who_is_better_than_all_others_has_rank_1(table: str, tmp_path: Path) -> None:
    rows = rows_of(FOLDER / table) if table else SIBLING
    kinds: dict[str, Sequence[str]] = {"system": ("system_a", "system_b"), "rater": ("rater",)}
    (plain,) = strangers.mutations(rows, tmp_path / "plain", 1, 1, names={})
    expected = ranks(found(plain.path))
    top = rows[1][1]
    assert expected[top] == (1, 1)
    assert all(low > 1 for name, (low, _) in expected.items() if name != top)
    for one in strangers.mutations(rows, tmp_path, 1, names=kinds):
        answer = strangers.answer_or_line(found, one.path)
        assert isinstance(answer, str) or ranks(answer, one) == expected, one
