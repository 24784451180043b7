"""Rows that say something twice are copies, answers to several questions, or repeats: each is told from the others."""

from __future__ import annotations

import csv
import random
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from simlab.tables import evidence, preferences
from simlab.tables.columns import parse_where
from simlab.tables.preferences import Preferences
from simlab.tables.rating_table import ColumnOverrides, Ratings
from simlab.tables.reading import read
from simlab.types import InputError
from tests.shared_data import SHARED
from tests.strangers import Rows, answer_or_line, mutations

Read = Callable[..., Ratings | Preferences]


def _votes(seed: int, column: str = "aspect", values: tuple[str, ...] = ("simplicity", "meaning"), n: int = 14) -> Rows:
    """Make comparisons up that each rater makes on several criteria, a row each, sides and rows in any order."""
    rng = random.Random(seed)
    rows = []
    for item in range(n):
        for value in values:
            sides = rng.sample(("one", "two"), 2)
            winner = ("one", "two")[(values.index(value) + (rng.random() < 0.1)) % 2]
            rows.append((f"q{item}", *sides, value, winner, f"w{item % 3}"))
    return [("item", "system_a", "system_b", column, "winner", "rater"), *rng.sample(rows, len(rows))]


def _ratings(seed: int, column: str = "aspect", values: tuple[str, ...] = ("fluency", "meaning", "style")) -> Rows:
    rng = random.Random(seed)
    rows = [
        (system, f"d{document}", f"r{rater}", value, str(rng.randint(1, 5)))
        for system in ("one", "two", "three")
        for document in range(5)
        for rater in range(2)
        for value in values
    ]
    return [("system", "document", "rater", column, "score"), *rng.sample(rows, len(rows))]


def _written(table: Rows, path: Path) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(table)
    return path


def _shared(name: str) -> Rows:
    with (SHARED / "strangers" / name).open(encoding="utf-8") as file:
        return list(csv.reader(file))


def _check_mixed(table: Rows, read: Read, folder: Path, seed: int, names: dict[str, tuple[str, ...]]) -> None:
    """However it is written, one line names the column; what it says to type reads the rows of one value."""
    refers = {"winner": "system"} if "winner" in table[0] else None
    place = next(k for k, name in enumerate(table[0]) if name in ("aspect", "turn", "layer", "criterion"))
    values = {row[place] for row in table[1:]}
    told = 0
    for one in mutations(table, folder, seed, names=names, refers=refers):
        line = answer_or_line(read, one.path)
        assert isinstance(line, str), one
        word = re.search(r"--where (\S+)$", line)
        assert word is not None, (one, line)
        column, _, value = shlex.split(word[1])[0].partition("=")
        assert column.lower() == table[0][place], line
        assert value in values, line
        assert isinstance(read(one.path, ColumnOverrides(where=((column, value),))), Ratings | Preferences)
        told += 1
    assert told == 40


@pytest.mark.needs_shared("strangers/03-criteria-mixed-in-comparisons.csv")
def test_comparisons_on_two_criteria_are_not_mixed(tmp_path: Path) -> None:
    table = _shared("03-criteria-mixed-in-comparisons.csv")
    names = {"system": ("system_a", "system_b"), "rater": ("rater",)}
    _check_mixed(table, preferences.read, tmp_path, 3, names)


@pytest.mark.needs_shared("strangers/09-criteria-in-rows.csv")
def test_ratings_on_two_criteria_are_not_mixed(tmp_path: Path) -> None:
    _check_mixed(_shared("09-criteria-in-rows.csv"), read, tmp_path, 9, {"system": ("system",), "rater": ("rater",)})


@pytest.mark.parametrize(("column", "values"), [("criterion", ("x", "y", "z")), ("turn", ("1", "2")), ("layer", "pq")])
def test_made_up_criteria_are_not_mixed(tmp_path: Path, column: str, values: tuple[str, ...]) -> None:
    values = tuple(values)
    names = {"system": ("system_a", "system_b"), "rater": ("rater",)}
    _check_mixed(_votes(1, column, tuple(values)), preferences.read, tmp_path / "votes", 1, names)
    names = {"system": ("system",), "rater": ("rater",)}
    _check_mixed(_ratings(2, column, values), read, tmp_path / "ratings", 2, names)


def test_two_columns_of_criteria_are_both_named(tmp_path: Path) -> None:
    header, *rows = _ratings(1)
    table = [(*header, "turn"), *((*row, turn) for row in rows for turn in ("1", "2"))]
    path = _written(table, tmp_path / "t.csv")
    line = answer_or_line(read, path)
    assert isinstance(line, str)
    assert re.search(r"--where aspect=\w+ --where turn=[12]$", line), line
    assert read(path, ColumnOverrides(where=parse_where(["aspect=style", "turn=2"]))).n_systems == 3


def test_outputs_on_two_criteria_are_not_mixed(tmp_path: Path) -> None:
    header, *rows = _ratings(3)
    table = [
        ("system", "item", "rater", "aspect", "human", "judge"),
        *((*row, str(len(row[0]) + int(row[1][1]))) for row in rows),
    ]
    path = _written(table, tmp_path / "t.csv")
    with pytest.raises(InputError, match="differ in aspect"):
        evidence.read(path)
    with pytest.raises(InputError, match="differ in aspect"):
        evidence.read(path, metrics=["judge"])
    scored = evidence.read(path, ColumnOverrides(where=(("aspect", "style"),)))
    assert evidence.record(scored)["metrics"] == ["judge"]
    assert len(header) == 5


@pytest.mark.parametrize("seed", range(20))
def test_columns_of_other_things_are_no_criteria(tmp_path: Path, seed: int) -> None:
    """Times, identifiers, comments, confidence and numbers of slots beside votes that were repeated."""
    rng = random.Random(seed)
    header = (
        "item",
        "system_a",
        "system_b",
        "winner",
        "rater",
        "date",
        "vote",
        "remark",
        "confidence",
        "slot",
        "batch",
    )
    rows = []
    for item in range(12):
        for k in range(2):
            extra = (f"2024-05-0{k + 1}", str(2 * item + k), rng.choice(("ok", "", "hard")), str(rng.randint(1, 3)))
            extra += (str(k + 1), rng.choice("xyz"))
            rows.append((f"q{item}", *rng.sample(("ma", "mb"), 2), rng.choice(("ma", "mb")), f"w{item % 3}", *extra))
    named = _written([header, *rows], tmp_path / "named.csv")
    assert isinstance(answer_or_line(preferences.read, named), Preferences)
    anonymous = [tuple(cell for cell, name in zip(row, header, strict=True) if name != "rater") for row in rows]
    path = _written([tuple(name for name in header if name != "rater"), *anonymous], tmp_path / "anonymous.csv")
    assert isinstance(answer_or_line(preferences.read, path), Preferences)


def test_both_orders_are_no_criteria(tmp_path: Path) -> None:
    rows = [
        (f"q{item}", *pair, "ma", "j", "".join(pair)) for item in range(15) for pair in (("ma", "mb"), ("mb", "ma"))
    ]
    path = _written([("item", "system_a", "system_b", "winner", "rater", "shown"), *rows], tmp_path / "t.csv")
    assert len(preferences.read(path).outcome) == 30
    mixed = [(*row, aspect) for row in rows for aspect in ("x", "y")]
    header = ("item", "system_a", "system_b", "winner", "rater", "shown", "aspect")
    line = answer_or_line(preferences.read, _written([header, *mixed], tmp_path / "m.csv"))
    assert isinstance(line, str)
    assert line.endswith("--where aspect=x")


@pytest.mark.parametrize("seed", range(5))
def test_copies_of_rows_count_once(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    votes = [row for row in _votes(seed) if row[3] in ("aspect", "meaning")]
    ratings = [row for row in _ratings(seed) if row[3] in ("aspect", "style")]
    for table, read_one in ((votes, preferences.read), (ratings, read)):
        once = read_one(_written(table, tmp_path / "once.csv"))
        copied = [*table, *rng.sample(table[1:], 5)]
        twice = read_one(_written([copied[0], *rng.sample(copied[1:], len(copied) - 1)], tmp_path / "twice.csv"))
        assert twice.left_out[0].ratings == 5
        assert not once.left_out
        size = "outcome" if isinstance(once, Preferences) else "score"
        assert len(getattr(twice, size)) == len(getattr(once, size))


def test_a_whole_table_twice_counts_once_though_nobody_is_named(tmp_path: Path) -> None:
    rng = random.Random(1)
    rows = [(s, f"q{k}", str(rng.randint(1, 5)), str(rng.random())) for s in "ABC" for k in range(12)]
    header = ("system", "item", "human", "judge")
    once = evidence.read(_written([header, *rows], tmp_path / "once.csv"))
    twice = evidence.read(_written([header, *rows, *rows], tmp_path / "twice.csv"))
    assert evidence.record(twice)["used"] == evidence.record(once)["used"] == 36
    assert evidence.record(twice)["left_out"]["ratings"] == 36


def test_anonymous_raters_may_say_the_same(tmp_path: Path) -> None:
    rows = [("q1", "A", "B", "a"), ("q1", "A", "B", "a"), ("q2", "A", "B", "b"), ("q2", "A", "B", "b")]
    path = _written([("item", "system_a", "system_b", "winner"), *rows], tmp_path / "t.csv")
    assert len(preferences.read(path).outcome) == 4
