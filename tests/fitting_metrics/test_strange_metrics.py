"""Columns that score nothing are no metrics; answers are scores; what a judge could not say is left out, and said."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simlab.tables import evidence
from simlab.tables.judged_outputs import JudgedOutputs
from simlab.tables.preferences import Preferences
from simlab.tables.rating_table import ColumnOverrides
from simlab.types import InputError
from tests.shared_data import SHARED
from tests.strangers import Rows, mutations

ANSWERS = (("True", "False"), ("pass", "fail"), ("yes", "no"))
J08 = SHARED / "strangers/j08-turn-taken-for-a-metric.csv"


def saved(rows: Rows, path: Path) -> Path:
    path.write_text("".join(",".join(row) + "\n" for row in rows))
    return path


def read(path: Path, **told: Any) -> JudgedOutputs | Preferences:
    found = evidence.read(path, ColumnOverrides(**told))
    assert isinstance(found, JudgedOutputs | Preferences)
    return found


@pytest.mark.needs_shared("strangers/j08-turn-taken-for-a-metric.csv")
def test_a_turn_is_no_metric() -> None:
    with pytest.raises(InputError, match=r"the rows differ in turn \(1, 2\).*--where turn=1"):
        read(J08)
    found = read(J08, where=(("turn", "1"),))
    assert (list(found.metrics), found.rows) == (["judge"], 20)


def turned(seed: int) -> Rows:
    """Let people and a judge compare 25 items, in one turn each; a column of remarks begins with no verdicts."""
    rng = random.Random(seed)
    words = ["model_a", "model_b", "tie"]
    rows = [
        (f"q{k}", *rng.sample(["s1", "s2", "s3"], 2), rng.choice(words), rng.choice(words), str(k % 2 + 1), "fine")
        for k in range(25)
    ]
    return [("item", "model_a", "model_b", "winner", "gpt", "turn", "language"), *rows]


@pytest.mark.parametrize("seed", [1, 2])
def test_only_verdicts_make_metrics_of_comparisons_however_written(tmp_path: Path, seed: int) -> None:
    kinds, alike = {"system": ("model_a", "model_b")}, 0
    for one in mutations(turned(seed), tmp_path, seed, names=kinds):
        found = read(one.path)
        assert [name.lower() for name in found.metrics] == ["gpt"], one
        assert any("language" in note.lower() and "no preference" in note for note in found.notes)
        alike += 1
    assert alike >= 10


def test_a_mistake_in_a_metric_names_the_option(tmp_path: Path) -> None:
    table = [list(row) for row in turned(1)]
    table[20][4] = "modle_a"
    with pytest.raises(InputError, match=r"line 21: gpt='modle_a' must be .*or name the metrics with --metrics"):
        read(saved(table, tmp_path / "typing.csv"))


def runs(seed: int) -> Rows:
    """Let two agents do tasks in two runs each, which humans and a judge pass or fail."""
    rng = random.Random(seed)
    rows = [
        (f"t{task}", model, str(run), *(rng.choice(words) for words in ANSWERS))
        for task in range(12)
        for model in ("A", "B")
        for run in (1, 2)
    ]  # fmt: skip
    return [("task", "model", "run", "tests", "human", "judge"), *rows]


def test_answers_of_yes_and_no_are_scores_and_runs_are_segments(tmp_path: Path) -> None:
    path = saved(runs(1), tmp_path / "agents.csv")
    with pytest.raises(InputError, match=r"same output.*if each run is an output of its own, --columns segment=run"):
        read(path)
    alike = 0
    for one in mutations(runs(1), tmp_path / "written", 1, names={"system": ("model",)}, n=24):
        columns = {"segment": "run"}
        found = read(one.path, columns=columns)
        assert isinstance(found, JudgedOutputs)
        assert (len(found.system), found.n_items, found.n_documents) == (48, 24, 12)
        assert sorted(name.lower() for name in found.metrics) == ["judge", "tests"], one
        assert set(np.unique(found.human[np.isfinite(found.human)])) == {0.0, 1.0}
        assert any("pass is 1, fail is 0" in note for note in found.notes)
        alike += 1
    assert alike >= 8


def test_answers_are_written_in_one_way(tmp_path: Path) -> None:
    table = [list(row) for row in runs(1) if row[2] != "2"]
    table[5][4] = "1"
    with pytest.raises(InputError, match=r"line 6: human='1' is written in another way"):
        read(saved(table, tmp_path / "mixed.csv"))


def scored(seed: int, failed: Callable[[int], str]) -> Rows:
    rng = random.Random(seed)
    rows = [
        (system, f"q{k}", str(rng.randint(1, 5)), failed(k) or str(rng.randint(1, 10)))
        for k in range(20)
        for system in ("A", "B")
    ]
    return [("system", "item", "human", "judge"), *rows]


@pytest.mark.parametrize("mark", ["-1", "-99"])
def test_a_failed_answer_of_a_judge_is_left_out_and_said(tmp_path: Path, mark: str) -> None:
    alike = 0
    for one in mutations(scored(1, lambda k: mark if k == 7 else ""), tmp_path, 1, names={"system": ("system",)}, n=20):
        found = read(one.path)
        assert isinstance(found, JudgedOutputs)
        (score,) = found.metrics.values()
        assert np.isnan(score).sum() == 2
        line = evidence.describe(found)
        assert f"left out: 2 scores {mark} of" in line
        assert "outside its scale of 1 to 10 (line " in line
        assert evidence.record(found)["left_out"]["ratings"] == 2
        alike += 1
    assert alike >= 8


@pytest.mark.parametrize("values", ["-1 0 1", "-2 -1 0 1 2", "-1.37 0.25 1.5 2.75 3.1"])
def test_scales_with_numbers_below_zero_are_left_as_they_are(tmp_path: Path, values: str) -> None:
    each = values.split()
    found = read(saved(scored(2, lambda k: each[k % len(each)]), tmp_path / "scale.csv"))
    assert isinstance(found, JudgedOutputs)
    assert np.isfinite(found.metrics["judge"]).all()
    assert found.left_out == ()
