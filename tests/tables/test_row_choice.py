"""Rows are chosen by what stands in their columns, whichever verb reads the table."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

from simlab.cli import answer as simlab
from simlab.tables import evidence, preferences
from simlab.tables.columns import parse_where
from simlab.tables.rating_table import ColumnOverrides
from simlab.tables.reading import read
from simlab.types import InputError
from simlab.world.laws.fixed import fixed_ratings
from simlab.world.recorded import recorded
from tests.strangers import Rows, answer_or_line, mutations, ratings_of


def _by_criterion(seed: int) -> Rows:
    """Make ratings up in which each rater rates each output on two or three criteria, a row each."""
    rng = random.Random(seed)
    criteria = ["fluency", "meaning", "style"][: rng.randint(2, 3)]
    rows = [
        (system, f"d{document}", f"r{rater}", aspect, str(rng.randint(1, 5)))
        for system in "ABC"
        for document in range(rng.randint(4, 8))
        for rater in range(2)
        for aspect in criteria
    ]
    return [("system", "document", "rater", "aspect", "score"), *rng.sample(rows, len(rows))]


def _written(table: Rows, path: Path) -> Path:
    path.write_text("".join(",".join(row) + "\n" for row in table))
    return path


@pytest.mark.parametrize("seed", [1, 2])
def test_rows_are_chosen_however_a_table_is_written(tmp_path: Path, seed: int) -> None:
    table = _by_criterion(seed)
    told = ColumnOverrides(where=(("aspect", "meaning"),))
    expected = {(s, d, d, r, float(score)) for s, d, r, aspect, score in table[1:] if aspect == "meaning"}
    kinds = {"system": ("system",), "rater": ("rater",)}
    read_alike = 0
    for one in mutations(table, tmp_path, seed, names=kinds):
        found = answer_or_line(lambda path: read(path, told), one.path)
        assert not isinstance(found, str), (one, found)
        assert set(ratings_of(found, one)) == expected, one
        read_alike += 1
    assert read_alike == 40


def test_values_of_one_column_are_alternatives_and_columns_go_together(tmp_path: Path) -> None:
    path = _written(_by_criterion(1), tmp_path / "t.csv")
    whole = {(s, r) for s in "ABC" for r in ("r0", "r1")}
    found = read(path, ColumnOverrides(where=parse_where(["aspect=fluency", "System=a", "system=B"])))
    assert found.system_names == ("A", "B")
    found = read(path, ColumnOverrides(where=parse_where(["aspect=fluency", "rater=r1"])))
    assert found.rater_names == ("r1",)
    assert len(whole) == 6


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["aspect=fluencyy"], "did you mean fluency?"),
        (["aspct=fluency"], "did you mean aspect?"),
        (["aspect=fluency", "aspect=nothing"], "no row of"),
        (["fluency"], "write COLUMN=VALUE"),
    ],
)
def test_what_no_row_has_is_refused(tmp_path: Path, words: list[str], line: str) -> None:
    path = _written(_by_criterion(1), tmp_path / "t.csv")
    with pytest.raises(InputError, match=line.replace("?", r"\?")):
        read(path, ColumnOverrides(where=parse_where(words)))


def test_rows_that_go_together_nowhere_are_refused(tmp_path: Path) -> None:
    table = [("system", "document", "part", "score"), ("A", "1", "x", "3"), ("B", "1", "y", "4")]
    path = _written(table, tmp_path / "t.csv")
    with pytest.raises(InputError, match="no row with all of these"):
        read(path, ColumnOverrides(where=(("system", "A"), ("part", "y"))))


def test_a_table_without_a_header_has_no_columns_to_choose_by(tmp_path: Path) -> None:
    path = tmp_path / "averages"
    path.write_text("system score seg_id\nA -1.0 1\nB -2.0 1\n")
    with pytest.raises(InputError, match="--where part=x"):
        read(path, ColumnOverrides(where=(("part", "x"),)))


def test_votes_and_metrics_are_chosen_alike(tmp_path: Path) -> None:
    votes = [("item", "system_a", "system_b", "winner", "aspect")]
    votes += [(f"q{k}", "A", "B", "a" if k % 3 else "b", aspect) for k in range(9) for aspect in ("x", "y")]
    told = ColumnOverrides(where=(("aspect", "y"),))
    held = preferences.read(_written(votes, tmp_path / "votes.csv"), told)
    assert (len(held.outcome), held.where) == (9, told.where)
    outputs = [("system", "item", "human", "judge", "aspect")]
    outputs += [(s, f"q{k}", str(k % 4 + 1), str(k), aspect) for s in "AB" for k in range(9) for aspect in ("x", "y")]
    scored = evidence.read(_written(outputs, tmp_path / "outputs.csv"), told, ["judge"])
    assert evidence.record(scored)["where"] == {"aspect": ["y"]}
    assert evidence.record(scored)["used"] == 18


@pytest.mark.usefixtures("short_effort")
@pytest.mark.parametrize("verb", ["conclude", "agreement"])
def test_verbs_say_which_rows_they_read(tmp_path: Path, verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = _written(_by_criterion(1), tmp_path / "t.csv")
    more = [f"--paragraph={tmp_path / 'p.md'}"] if verb == "conclude" else []
    assert simlab([verb, str(path), "--where", "aspect=fluency", *more, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["read"]["where"] == {"aspect": ["fluency"]}
    assert simlab([verb, str(path), "--where", "aspect=fluency"]) == 0
    page = capsys.readouterr()
    assert "rows with aspect=fluency" in " ".join((page.out + page.err).split())
    assert "--where aspect=fluency" in " ".join(page.out.split())  # the next command reads the same rows
    if more:
        assert "rows with aspect=fluency" in " ".join((tmp_path / "p.md").read_text().split())


def test_a_world_of_real_ratings_reads_the_same_rows(tmp_path: Path) -> None:
    path = str(_written(_by_criterion(1), tmp_path / "t.csv"))
    told = {"sha256": None, "names": None, "better": None, "columns": None, "people": None}
    ratings = fixed_ratings(recorded(np.random.default_rng(0), path=path, where="aspect=fluency", **told))
    assert ratings is not None
    expected = sum(float(row[4]) for row in _by_criterion(1)[1:] if row[3] == "fluency")
    assert float(np.nansum(ratings.value)) == expected
    with pytest.raises(InputError, match="differ in aspect"):
        recorded(np.random.default_rng(0), path=path, where=None, **told)
