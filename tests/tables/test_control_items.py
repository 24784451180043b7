"""Control items are told by the marks of campaigns, and are no ratings."""

from __future__ import annotations

import csv
import random
from pathlib import Path

import numpy as np
import pytest

from simlab.concluding.concluding import conclude
from simlab.concluding.options import ConcludeOptions
from simlab.tables import evidence, preferences, table_summary
from simlab.tables.rating_table import ColumnOverrides
from simlab.tables.reading import read
from tests.shared_data import SHARED
from tests.strangers import Rows, answer_or_line, mutations, ratings_of

NAMES = {"system": ("system",), "rater": ("rater",)}


def _campaign(seed: int, marks: tuple[str, ...] = ("TGT", "BAD", "REPEAT"), column: str = "itemType") -> Rows:
    """Make a campaign up: every target is rated once, some again as damaged copies or repetitions."""
    rng = random.Random(seed)
    rows = []
    for document in range(rng.randint(6, 12)):
        for k, system in enumerate(("ours", "theirs", "REF")):
            score = 50 + 10 * k + rng.randint(-8, 8)
            output = (system, f"d{document}", f"u{document % 2}")
            rows.append((*output, marks[0], str(score)))
            if rng.random() < 0.4:
                rows.append((*output, marks[1], str(score - rng.randint(20, 40))))
            if rng.random() < 0.2:
                rows.append((*output, marks[2], str(score + 1)))
    return [("system", "document", "rater", column, "score"), *rng.sample(rows, len(rows))]


def _check(table: Rows, folder: Path, seed: int, real: str) -> None:
    """However a campaign is written, the same rows are read, and the line says how many were left out."""
    at = {name: k for k, name in enumerate(table[0])}
    kinds = next(k for name, k in at.items() if name not in ("system", "document", "rater", "score"))
    targets = [row for row in table[1:] if row[kinds] == real]
    expected = {
        (r[at["system"]], r[at["document"]], r[at["document"]], r[at["rater"]], float(r[at["score"]])) for r in targets
    }
    read_alike = 0
    for one in mutations(table, folder, seed, names=NAMES, numbers=("score",)):
        found = answer_or_line(read, one.path)
        assert not isinstance(found, str), one
        assert set(ratings_of(found, one)) == expected, one
        assert found.left_out[0].ratings == len(table) - 1 - len(targets)
        assert "control items" in table_summary.line(found)
        read_alike += 1
    assert read_alike == 40


@pytest.mark.needs_shared("strangers/07-control-items-read-as-ratings.csv")
def test_control_items_of_a_table_are_no_ratings(tmp_path: Path) -> None:
    path = SHARED / "strangers/07-control-items-read-as-ratings.csv"
    with path.open(encoding="utf-8") as file:
        _check(list(csv.reader(file)), tmp_path, 7, "TGT")
    found = conclude(path, ConcludeOptions(again=False, gate=False), lambda words: None)
    assert found.read["left_out"] == {"ratings": 12, "why": "control items (itemType: BAD 12)"}
    assert "12 control items" in found.line
    assert [one.n for one in found.systems] == [10, 10]


@pytest.mark.parametrize(
    ("marks", "column"), [(("TGT", "BAD", "CHK"), "kind"), (("SYSTEM", "BAD_REF", "REPEAT"), "type")]
)
def test_control_items_of_made_up_campaigns_are_no_ratings(tmp_path: Path, marks: tuple[str, ...], column: str) -> None:
    _check(_campaign(3, marks, column), tmp_path, 3, marks[0])


def _written(table: Rows, path: Path) -> Path:
    path.write_text("".join(",".join(row) + "\n" for row in table))
    return path


def test_what_damaged_copies_say_of_raters(tmp_path: Path) -> None:
    table = _campaign(5)
    fooled = [
        (*row[:4], "100") if row[3] == "BAD" and row[2] == "u1" else row  # the best score for a damaged copy
        for row in table[1:]
    ]
    found = read(_written([table[0], *fooled], tmp_path / "t.csv"))
    assert found.controls is not None
    share = [float(np.mean(found.controls.failed[found.controls.rater == k])) for k in range(2)]
    assert (found.rater_names, share) == (("u0", "u1"), [0.0, 1.0])
    reverse = read(tmp_path / "t.csv", ColumnOverrides(better="lower"))
    assert reverse.controls is not None
    assert reverse.controls.failed[reverse.controls.rater == 0].all()


def test_names_of_systems_are_no_marks(tmp_path: Path) -> None:
    rows = [(system, f"d{k}", str(k % 5 + 1)) for k in range(9) for system in ("REF", "BAD", "TGT")]
    found = read(_written([("system", "document", "score"), *rows], tmp_path / "t.csv"))
    assert (found.n_systems, found.left_out) == (3, ())


def test_a_column_that_may_mark_control_items_is_named(tmp_path: Path) -> None:
    table = _campaign(1)
    others = [(*row[:3], "genuine" if row[3] == "TGT" else row[3], row[4]) for row in table[1:] if row[3] != "REPEAT"]
    rows = [row for row in others if row[3] == "genuine"] + [
        (row[0], f"{row[1]}x", *row[2:]) for row in others if row[3] == "BAD"
    ]
    found = read(_written([table[0], *rows], tmp_path / "t.csv"))
    assert not found.left_out
    assert any("itemType (BAD) seems to mark control items" in one and "--where" in one for one in found.remarks)
    chosen = read(tmp_path / "t.csv", ColumnOverrides(where=(("itemtype", "genuine"),)))
    assert not chosen.remarks
    assert len(chosen.score) == sum(row[3] == "genuine" for row in others)


def test_control_items_beside_metrics_and_in_comparisons_do_not_count(tmp_path: Path) -> None:
    outputs = [("system", "item", "human", "judge", "itemType")]
    outputs += [(s, f"q{k}", str(k % 4 + 1), str(k), "BAD" if k == 8 else "TGT") for s in "AB" for k in range(9)]
    scored = evidence.read(_written(outputs, tmp_path / "outputs.csv"))
    record = evidence.record(scored)
    assert (record["metrics"], record["used"], record["left_out"]["ratings"]) == (["judge"], 16, 2)
    votes = [("item", "system_a", "system_b", "winner", "kind")]
    votes += [(f"q{k}", "m1", "m2", "a" if k % 3 else "b", "CHK" if k > 6 else "TGT") for k in range(9)]
    held = preferences.read(_written(votes, tmp_path / "votes.csv"))
    assert (len(held.outcome), held.left_out[0].ratings, held.unused) == (7, 2, ())


@pytest.mark.needs_shared("esa")
def test_published_campaigns_are_read_as_before() -> None:
    files = sorted(path for path in (SHARED / "esa").iterdir() if path.suffix in (".csv", ".tsv"))
    for path in files[:1]:
        found = answer_or_line(read, path)
        assert isinstance(found, str) or not found.left_out
