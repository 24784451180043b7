"""The commands that say how fast people work: fit writes it into the world, agreement shows it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from simlab.cli import answer
from simlab.rng import stream
from simlab.world.files.fitted_world import read_world


def table(folder: Path, *, timed: bool = True) -> Path:
    """Write ratings by two people with two logins each; one answer in ten comes after a long pause."""
    rng = stream(1, "timed")
    rows, now = ["system,document,segment,login,score,end"], dict.fromkeys("abcd", 1e9)
    for document in range(10):
        login = "abcd"[document % 4]
        for system in range(3):
            for segment in range(2):
                now[login] += 2000 if rng.random() < 0.1 else float(rng.integers(5, 60))
                score = round(60 + 8 * system + 10 * rng.standard_normal())
                rows.append(f"s{system},d{document},{segment},{login},{score},{now[login] if timed else ''}")
    path = folder / "pilot.csv"
    path.write_text("\n".join([*rows, ""]), encoding="utf-8")
    (folder / "people.csv").write_text("login,person\na,ann\nb,ann\nc,bo\nd,bo\n", encoding="utf-8")
    return path


@pytest.mark.slow
def test_a_fit_writes_speeds_and_says_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["fit", str(table(tmp_path)), "--people", "people.csv", "--law", "gaussian", "--out", "w.yaml"]
    assert answer([*words, "--cut", "100", "--save", "a.json"]) in (0, 3)
    assert "(gaps between answers cut at 100 s)" in " ".join(capsys.readouterr().out.split())
    told = json.loads((tmp_path / "a.json").read_text())["answer"]["speeds"]
    held = yaml.safe_load((tmp_path / "w.yaml").read_text())
    assert (told["people"], told["logins"], told["answers"], told["cut"]) == (2, 4, 56, 100)
    assert [one["cut"] for one in told["hours"]] == [30, 100, 300, 1800]
    assert told["hours"] == held["timing"]["hours"]
    assert told["hours_again"]["low"] < told["hours"][1]["hours"] < told["hours_again"]["high"]
    assert set(told["raters"]) == set(held["speeds"]) == {"ann", "bo"}
    assert len(read_world("w.yaml", None).timing) == len(held["timing"]["draws"]["rater_sd"]) == 100


def test_agreement_shows_hours_at_three_cuts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(table(tmp_path))
    assert answer(["agreement", path, "--people", str(tmp_path / "people.csv"), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(one["cut"], one["people"], one["logins"]) for one in told["hours"]] == [
        (30, 2, 4),
        (300, 2, 4),
        (1800, 2, 4),
    ]
    each = {one["rater"]: one["hours"] for one in told["corated"]}
    assert sum(each.values()) == pytest.approx(told["hours"][1]["hours"])
    assert answer(["agreement", path]) == 0
    said = capsys.readouterr().out
    assert "gaps cut at [s]  hours  seconds an answer" in said
    assert answer(["agreement", path, "--cut", "0"]) == 2
    assert "--cut 0: gaps are cut at 1 second or more" in capsys.readouterr().err


def test_hours_are_predicted_from_the_speeds_of_another_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "untimed").mkdir()
    path, other = str(table(tmp_path)), str(table(tmp_path / "other"))
    words = ["agreement", path, "--people", str(tmp_path / "people.csv"), "--speeds", other]
    assert answer([*words, "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    (held,) = told["predicted"]
    assert held["happened"] == told["hours"][1]["hours"]
    assert held["inside"] is (held["low"] <= held["happened"] <= held["high"])
    assert (held["people"], held["cut"]) == (2, 300)
    assert answer(words) == 0
    assert "speeds of other people" in capsys.readouterr().out
    untimed = str(table(tmp_path / "untimed", timed=False))
    assert answer(["agreement", path, "--speeds", untimed]) == 2
    assert "holds no times to learn speeds from" in capsys.readouterr().err
    assert answer(["agreement", untimed, "--speeds", path]) == 2
    assert "the ratings themselves have no times" in capsys.readouterr().err


def test_a_table_without_times_says_nothing_of_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(table(tmp_path, timed=False))
    assert answer(["agreement", path]) == 0
    assert "hours" not in capsys.readouterr().out
    assert answer(["agreement", path, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["hours"] == []
