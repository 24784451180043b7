"""Read tables of a judge and humans: repeats, gaps, labels and scales; one line for what cannot be."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simlab.cli import answer
from simlab.tables import evidence, judged_outputs
from simlab.tables.judged_outputs import JudgedOutputs
from simlab.tables.rating_table import ColumnOverrides
from simlab.types import InputError
from tests import judged_tables
from tests.commands.test_cli import said

HEAD = "system,item,document,rater,human,judge\n"
ROWS = "A,1,d1,r1,70,.5\nA,1,d2,r1,,.7\nB,1,d1,r1,100,\nA,1,d1,r2,80,.5\n"


def read(folder: Path, text: str, told: ColumnOverrides | None = None) -> JudgedOutputs:
    path = folder / "table.csv"
    path.write_text(text)
    held = evidence.read(path, told or ColumnOverrides())
    assert isinstance(held, JudgedOutputs)
    return held


def test_items_that_start_again_in_each_document_are_others(tmp_path: Path) -> None:
    held = read(tmp_path, HEAD + ROWS)
    np.testing.assert_array_equal(held.human, [[70, 80], [np.nan, np.nan], [100, np.nan]])
    np.testing.assert_array_equal(held.metrics["judge"], [0.5, 0.7, np.nan])
    assert (held.item.tolist(), held.system.tolist()) == ([0, 1, 0], [0, 0, 1])
    assert judged_outputs.describe(held, lower_is_better=None) == (
        "3 outputs of 2 systems, 2 items, 2 documents; 3 human ratings by 2 raters, 1 gap; scores from 70 to 100, "
        "higher is better (--better lower turns it); metrics judge"
    )


def test_columns_have_usual_names_or_told_ones(tmp_path: Path) -> None:
    text = "model;seg_id;doc;annotator;gold;judge\n" + ROWS.replace(",", ";")
    held = read(tmp_path, text, ColumnOverrides(columns={"human": "gold"}))
    assert (held.n_documents, held.rater_names) == (2, ("r1", "r2"))


def test_repeats_by_the_same_rater_are_kept_and_said(tmp_path: Path) -> None:
    held = read(tmp_path, HEAD + ROWS + "A,1,d1,r2,90,.5\n")
    assert held.notes == ("kept as repeats: 1 rating of an output that the same rater had rated",)
    assert held.human.shape == (3, 3)
    unsigned = read(tmp_path, "system,item,human,judge\nA,1,3,.5\nB,1,2,.4\nA,1,4,.5\n")
    assert unsigned.notes == ("kept as repeats: 1 row of an output that was there before; no rater is named",)


def test_a_scale_that_is_told_holds(tmp_path: Path) -> None:
    held = read(tmp_path, HEAD + ROWS, ColumnOverrides(scale=(0, 100)))
    assert "; 0 to 100, lower is better;" in judged_outputs.describe(held, lower_is_better=True)
    assert judged_outputs.record(held, lower_is_better=True)["scale"] == [0, 100]
    with pytest.raises(InputError, match=r"line 4: human=100 is off the scale from 0 to 90; mend it"):
        read(tmp_path, HEAD + ROWS, ColumnOverrides(scale=(0, 90)))


def test_the_example_is_what_the_generator_writes() -> None:
    assert (judged_tables.EXAMPLES / "judged.csv").read_text() == judged_tables.judged()


@pytest.fixture
def learned(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = json.loads(
        said(capsys, "fit-metric", str(judged_tables.EXAMPLES / "judged.csv"), "--format", "json")
    )
    return found


def test_the_truth_of_the_example_is_inside_of_its_intervals(learned: dict[str, Any]) -> None:
    rows = {row["what"]: row for row in learned["learned"] if row["metric"] == "humans"}
    alphas = [rows[f"alpha of system{k + 1}"] for k in range(5)]
    inside = [row["low"] < share < row["high"] for row, share in zip(alphas, judged_tables.SHARES, strict=True)]
    assert sum(inside) >= 4  # of five 95 % intervals
    assert learned["read"]["used"] == 600


@pytest.mark.parametrize("how", ["--dry-run", pytest.param("--quick", marks=pytest.mark.long)])
def test_what_is_suggested_can_be_done(learned: dict[str, Any], how: str) -> None:
    assert len(learned["next"]) == 2
    for command in learned["next"]:
        words = shlex.split(command.replace("decision=human_only,bayes", "decision=human_only"))
        assert answer([*words[words.index("simlab") + 1 :], "worlds=2", "studies=2", how]) == 0, command


def test_directions_that_contradict_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = str(judged_tables.EXAMPLES / "judged.csv"), "--human-lower-is-better", "--better", "higher"
    assert "contradicts --human-lower-is-better" in said(capsys, "fit-metric", *words, code=2)
    assert not list(tmp_path.iterdir())
