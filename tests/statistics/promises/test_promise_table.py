"""The page of promises: its rows, its rule for a second look, and tables that are those of files."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import promise_rows
import promise_table
import pytest
import table_promises
from promise_rows import Row

from simlab import rng
from simlab.concluding.concluding import conclude
from simlab.concluding.options import ConcludeOptions
from simlab.tables.rating_table import ColumnOverrides, Ratings

WRITTEN = promise_table.written(promise_table.DOCS.read_text(encoding="utf-8"))
ROWS = [row for rows in WRITTEN.values() for row in rows]


def test_the_page_is_what_its_rows_make_of_it() -> None:
    assert list(WRITTEN) == list(promise_table.SECTIONS)
    assert len(ROWS) > 600
    assert promise_table.page(WRITTEN) == promise_table.DOCS.read_text(encoding="utf-8")
    known = [one for rows in promise_table.MISSED.values() for one in rows]
    missed = [row for row in ROWS if not row.holds(promise_table.ERRORS)]
    assert [row for row in missed if not promise_table.is_known_miss(row, known, promise_table.ERRORS)] == []
    assert [one for one in known if not any(promise_table.is_of(row, [one]) for row in missed)] == []


def test_a_known_miss_hides_no_worse_one() -> None:
    """Fresh tables (bound .055) may claim .085 at most, others what three errors allow beside .08."""
    known = [("some claim", "a table")]
    fresh = [level(value, 20_000).afresh(level(value, 20_000)) for value in (0.06, 0.084, 0.086)]
    assert [promise_table.is_known_miss(row, known, 3) for row in fresh] == [True, True, False]
    first = [level(value, 4000) for value in (0.085, 0.095)]
    assert [promise_table.is_known_miss(row, known, 3) for row in first] == [True, False]
    coverage = Row("all differences in their intervals", "a table", 0.95, 0.9, 0.005, 4000, "at least")
    of_coverage = [(coverage.name, "a table")]
    assert promise_table.is_known_miss(coverage._replace(value=0.925), of_coverage, 3)
    assert not promise_table.is_known_miss(coverage, of_coverage, 3)
    assert not promise_table.is_known_miss(fresh[0], of_coverage, 3)


def test_each_level_bounds_an_error_from_above_and_each_coverage_from_below() -> None:
    for row in ROWS:
        if row.nominal == 0.05:
            assert row.side in ("at most", "control above"), row
            assert row.bound >= 0.05, row
        elif row.nominal is not None:
            assert row.side in ("at least", "control below"), row
            assert row.bound <= 0.95, row


def test_powers_widths_and_biases_have_no_nominal_level() -> None:
    names = {row.name for row in ROWS if row.nominal is None}
    assert len(names) < 36
    assert not [name for name in names if ("error" in name and "bias" not in name) or "coverage" in name]


def level(value: float, n: int, name: str = "some claim") -> Row:
    return Row(name, "a table (by_rater)", 0.05, value, (value * (1 - value) / n) ** 0.5, n)


@pytest.mark.parametrize(
    ("first", "second", "third", "looks", "holds"),
    [
        (0.06, 0.0, 0.0, [], True),
        (0.09, 0.055, 0.0, [(4000, 0)], True),
        (0.09, 0.07, 0.054, [(4000, 0), (20_000, 1)], True),
        (0.09, 0.07, 0.056, [(4000, 0), (20_000, 1)], False),
    ],
)
def test_a_level_that_is_exceeded_is_looked_at_again_and_fresh_tables_decide(
    first: float, second: float, third: float, looks: list[tuple[int, int]], holds: bool
) -> None:
    done: list[tuple[int, int]] = []

    def look(worlds: int, fresh: int) -> list[Row]:
        done.append((worlds, fresh))
        again = level(third if fresh else second, worlds)._replace(setting="a table (two_way)")
        return [again, level(0.9, worlds, "another")]

    found = promise_table.settled([level(first, 1500), level(0.04, 1500, "another")], look)
    assert done == looks
    assert found[0].holds(3) is holds
    assert found[1] == level(0.04, 1500, "another")


def test_fresh_tables_are_others(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = promise_rows.stream(1, "x", 2).random()
    assert usual == rng.stream(1, "x", 2).random()
    assert list(promise_rows.numbers(2)) == [0, 1]
    monkeypatch.setattr(promise_rows, "FRESH", 1)
    assert promise_rows.stream(1, "x", 2).random() != usual
    assert not set(promise_rows.numbers(1000)) & set(range(100_000))


def write(table: Ratings, path: Path) -> Path:
    with path.open("w", newline="", encoding="utf-8") as text:
        rows = csv.writer(text)
        rows.writerow(["system", "document", "segment", "rater", "score"])
        for s, i, r, score in zip(table.system, table.item, table.rater, table.score.tolist(), strict=True):
            document = table.document_names[table.document[i]]
            rows.writerow([table.system_names[s], document, table.item_names[i], table.rater_names[r], repr(score)])
    return path


@pytest.mark.parametrize("name", ["7 raters, side by side", "7 raters, two ratings, 10 % missing", "3 raters"])
def test_a_table_of_ratings_is_concluded_as_its_file_is(name: str, tmp_path: Path) -> None:
    (table,) = table_promises._tables(name, table_promises.TABLES[name], 1)
    better = "lower" if table.lower_is_better else "higher"
    asked = ConcludeOptions(again=False, seed=1, column_overrides=ColumnOverrides(better=better))
    of_file = conclude(write(table, tmp_path / "table.csv"), asked, lambda _: None)
    of_table = table_promises.conclusion(table, seed=1, again=False)
    assert of_file.about["test"] == of_table.about["test"]
    for ours, theirs in zip(of_table.pairs, of_file.pairs, strict=True):
        assert (ours.first, ours.second, ours.verdict) == (theirs.first, theirs.second, theirs.verdict)
        np.testing.assert_array_equal(
            [ours.difference, ours.low, ours.high], [theirs.difference, theirs.low, theirs.high]
        )
