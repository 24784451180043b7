"""A cell that names several systems is none of them, and no other name."""

from __future__ import annotations

import csv
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from simlab.tables import evidence, preferences
from simlab.tables.names import refuse_lists, spelling
from simlab.tables.reading import read
from simlab.types import InputError
from tests.strangers import Rows, answer_or_line, mutations

LISTS = (
    ("1", "6", "1 6"),
    ("A", "B", "A+B"),
    ("3", "10", "3,10"),
    ("gpt", "llama", "gpt and llama"),
    ("x", "y", "X/Y"),
)


def _ratings(systems: tuple[str, ...], seed: int) -> Rows:
    rng = random.Random(seed)
    rows = [(system, f"d{k}", "r1", str(rng.randint(1, 5))) for system in systems[:2] for k in range(6)]
    rows += [(systems[2], f"d{k}", "r1", "4") for k in (6, 7)]
    return [("system", "document", "rater", "score"), *rng.sample(rows, len(rows))]


def _votes(systems: tuple[str, ...], seed: int) -> Rows:
    rng = random.Random(seed)
    rows = [(f"q{k}", *rng.sample(systems[:2], 2), "tie") for k in range(8)]
    rows += [("q9", systems[2], "other", "tie"), ("q10", systems[0], "other", "tie")]
    return [("item", "system_a", "system_b", "winner"), *rng.sample(rows, len(rows))]


def _outputs(systems: tuple[str, ...], seed: int) -> Rows:
    rows = _ratings(systems, seed)[1:]
    return [("system", "item", "human", "judge"), *((row[0], row[1], row[3], "1") for row in rows)]


@pytest.mark.parametrize("systems", LISTS, ids=[name for *_, name in LISTS])
@pytest.mark.parametrize(
    ("table", "read_one"), [(_ratings, read), (_votes, preferences.read), (_outputs, evidence.read)]
)
def test_a_list_of_systems_is_refused_with_its_line(
    tmp_path: Path,
    table: Callable[[tuple[str, ...], int], Rows],
    read_one: Callable[[Path], object],
    systems: tuple[str, ...],
) -> None:
    rows = table(systems, 4)
    path = tmp_path / "t.csv"
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    number = next(k for k, row in enumerate(rows, 1) if systems[2] in row)
    with pytest.raises(InputError) as refused:
        read_one(path)
    assert f"line {number}: the system {systems[2]!r} names several systems of this table" in str(refused.value)
    assert "write a row for each" in str(refused.value)


@pytest.mark.parametrize("systems", LISTS[:2])
def test_lists_are_refused_however_a_table_is_written(tmp_path: Path, systems: tuple[str, ...]) -> None:
    for one in mutations(_ratings(systems, 1), tmp_path, 1, names={"rater": ("rater",)}, leave=["names"]):
        line = answer_or_line(read, one.path)
        assert isinstance(line, str)
        assert "names several systems" in line, one


def test_other_names_stay_names() -> None:
    refuse_lists(["GPT 4", "GPT 4 turbo", "GPT-4", "C++", "A&B", "A", "R 1", "1", "16"], str)
    assert spelling("1 6") != spelling("16")
    assert spelling("My System") == spelling("mySystem")
