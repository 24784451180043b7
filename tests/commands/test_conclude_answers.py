"""`simlab conclude` and `simlab.conclude` say the same, write what is asked for, and name a command that works."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import made_conclusions as made
import numpy as np
import pytest

import simlab
from simlab.cli import answer
from simlab.commands import conclude as conclusions
from simlab.commands import conclude_next
from simlab.commands.exit_codes import DONE, REFUSED, RESERVED
from simlab.concluding import concluding
from simlab.concluding.options import ConcludeOptions
from simlab.concluding.plans import LoadedPlan
from simlab.config import compose
from simlab.tables.rating_table import ColumnOverrides

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("UV_RUN_RECURSION_DEPTH", raising=False)
    found = made.rated(notes=["one rating is left out"])
    for module in (conclusions, concluding):
        monkeypatch.setattr(module, "conclude", lambda table, wanted, say: found)
    return tmp_path


def test_the_page_names_the_command_that_draws_it(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["conclude", "ratings.csv", "--against", "S3", "--better", "lower"]) == DONE
    said = capsys.readouterr()
    assert said.out.splitlines()[-1] == (
        "next: simlab conclude ratings.csv --against S3 --better lower --figure order.png --paragraph paragraph.md"
    )
    assert "one rating is left out" in said.err
    assert list(here.iterdir()) == []


@pytest.mark.slow
def test_files_are_written_where_they_are_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["conclude", "ratings.csv", "--figure", "o.svg", "--paragraph", "p.md"]) == DONE
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == ["written: o.svg, p.md", "next: simlab fit ratings.csv"]
    assert "We collected 1,031 ratings" in Path("p.md").read_text()
    assert Path("o.svg").read_text().startswith("<?xml")


def test_a_promise_that_does_not_hold_is_a_reservation(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(conclusions, "conclude", lambda table, wanted, say: made.interim())
    assert answer(["conclude", "ratings.csv"]) == RESERVED
    assert "The promise does not hold here: " in capsys.readouterr().out


def test_next_repeats_all_that_was_asked() -> None:
    told = ColumnOverrides(columns={"score": "my score"}, scale=(0.0, 100.0), people=Path("people.csv"))
    wanted = ConcludeOptions(
        column_overrides=told,
        promise="fixed",
        level=0.1,
        metrics=("a", "b"),
        second=Path("scores.csv"),
        margin=2.5,
        exclude=("r 1", "r2"),
        overrides=("analysis.test=by_rater",),
        seed=3,
        adequate_from=4.0,
        threshold=0.5,
    )
    words = shlex.split(conclude_next.suggest_next(Path("t.csv"), wanted, "judge", None, None))
    expected = "conclude t.csv scores.csv analysis.test=by_rater --promise fixed --level 0.1 --metric a,b --margin 2.5"
    expected += " --exclude 'r 1' --exclude r2 --adequate-from 4 --threshold 0.5 --seed 3 --columns 'score=my score'"
    expected += " --scale 0..100 --people people.csv --figure order.png --paragraph paragraph.md"
    assert words[words.index("conclude") :] == shlex.split(expected)


@pytest.mark.slow
def test_a_plan_alone_is_told_before_anything_is_rated(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = dict(compose(["decision.multiplicity=holm"]))
    monkeypatch.setattr(
        "simlab.concluding.plans.read_plan",
        lambda path, plugins=(): LoadedPlan(path, "rate", config, "3f9c2a7b11aa99", None, path),
    )
    assert answer(["conclude", "--plan", "study.yaml", "--paragraph", "plan.md"]) == DONE
    said = capsys.readouterr().out
    assert "planned in advance (study file 3f9c2a7b11aa)" in said
    assert Path("plan.md").read_text() == said
    assert answer(["conclude", "--plan", "study.yaml", "--format", "json"]) == DONE
    assert json.loads(capsys.readouterr().out)["digest"] == "3f9c2a7b11aa99"
    for words in (["--figure", "o.png"], ["--margin", "3"], ["--against", "S1"], ["--format", "csv"]):
        assert answer(["conclude", "--plan", "study.yaml", *words]) == REFUSED
    assert "nothing is drawn before there is a table" in capsys.readouterr().err


@pytest.mark.slow
def test_a_notebook_says_what_the_command_line_says(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = simlab.conclude("ratings.csv", against="S3")
    assert answer(["conclude", "ratings.csv", "--format", "json"]) == DONE
    line: Any = json.loads(capsys.readouterr().out)
    assert found.systems["system"].values.tolist() == [one["system"] for one in line["systems"]]
    assert found.systems["estimate"].attrs["units"] == "points"
    assert np.allclose(found.pairs["difference"], [one["difference"] for one in line["pairs"]])
    assert found.pairs["verdict"].values.tolist() == [one["verdict"] for one in line["pairs"]]
    assert np.isfinite(found.pairs["more_median"]).sum() == 5
    assert found.promise["holds"] is True
    assert found.text.startswith("S3 is better than all others; 23 of 28 pairs claimed, 5 open.")
    assert found.paragraph().startswith("We collected 1,031 ratings")
    assert len(found.plot("order.png").axes) == 3
    assert Path("order.png").exists()
    with pytest.raises(simlab.InputError, match="level"):
        simlab.conclude("ratings.csv", level=2)


@pytest.mark.slow
def test_a_level_goes_with_a_rule_that_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["conclude", str(EXAMPLES / "preferences.csv"), "--level", "0.2"]
    assert answer([*words, "decision=fixed", "--format", "json"]) == DONE
    assert json.loads(capsys.readouterr().out)["promise"]["level"] == 0.2
    assert answer([*words, "decision.level=.1"]) == REFUSED
    assert "--level 0.2: decision.level is given, too" in capsys.readouterr().err
