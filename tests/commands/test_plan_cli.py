"""Plan a study on the command line: the page, what programs read, the folder, and what cannot be meant."""

from __future__ import annotations

import csv
import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from made_once import made_once

from simlab.cli import answer
from simlab.commands.exit_codes import DONE, REFUSED, RESERVED

SMALL = [
    "plan",
    "--systems",
    "3",
    "--raters",
    "6",
    "--price",
    ".5",
    "--budget",
    "300",
    "--at-most",
    "3000",
    "--jobs",
    "1",
]
FEW = ["--over", "design.documents=10..24,design.ratings_per_item=1,2"]
WIDE = ["--smallest-difference", "9", "--target", "power=.5", "--margin", ".1", "--confidence", ".8"]


@pytest.fixture(scope="session")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan of three systems, with its page and its answer for programs beside it, which nobody writes to."""

    def make(place: Path) -> None:
        words = [*SMALL, *FEW, *WIDE, "--out", str(place / "my"), "--save", str(place / "answer.json")]
        assert answer(words) == DONE

    return made_once(tmp_path_factory, "plan", make)


@pytest.fixture
def planned(plan: Path, tmp_path: Path) -> Path:
    """Return a copy of that plan."""
    return Path(shutil.copytree(plan, tmp_path / "planned"))


def _saved(place: Path) -> dict[str, Any]:
    held: dict[str, Any] = json.loads((place / "answer.json").read_text(encoding="utf-8"))["answer"][0]
    return held


@pytest.mark.slow
def test_the_page_leads_with_the_design_and_ends_with_the_next_command(
    planned: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert answer([*SMALL, *FEW, *WIDE, "--out", str(planned / "my")]) == DONE
    page = capsys.readouterr().out.rstrip("\n").splitlines()
    assert page[0].startswith("Buy")
    assert max(map(len, page[:-2])) <= 100
    assert page[-2].startswith(f"wrote {planned / 'my'}/: study.yaml (frozen, ")
    assert page[-1].startswith("next: ")
    assert "simlab assign" in page[-1]


@pytest.mark.slow
def test_the_same_plan_goes_on_where_it_was(planned: Path, tmp_path: Path) -> None:
    before = (planned / "my" / "study.yaml").read_bytes()
    again = tmp_path / "answer.json"
    assert answer([*SMALL, *FEW, *WIDE, "--out", str(planned / "my"), "--save", str(again)]) == DONE
    assert _saved(tmp_path)["design"] == _saved(planned)["design"]
    assert (planned / "my" / "study.yaml").read_bytes() == before


@pytest.mark.slow
def test_its_folder_takes_no_other_plan(planned: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer([*SMALL, *FEW, "--out", str(planned / "my")]) == REFUSED
    said = capsys.readouterr().err.strip()
    assert "holds another plan" in said
    assert "\n" not in said


@pytest.mark.slow
def test_the_study_is_one_that_runs(planned: Path, tmp_path: Path) -> None:
    study = planned / "my" / "study.yaml"
    assert answer(["run", str(study), "worlds=2", "studies=2", "--out", str(tmp_path / "run"), "--jobs", "1"]) == DONE


@pytest.mark.slow
def test_what_nothing_reaches_is_a_reservation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*SMALL, "--over", "design.documents=6,8", "--smallest-difference", "1", "--out", str(tmp_path / "my")]
    assert answer(words) == RESERVED
    assert "Nothing within the limits reaches the targets" in capsys.readouterr().out
    assert json.loads((tmp_path / "my" / "plan.json").read_text())["answer"]["reached"] is False


def _rows(file: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))


def _filled(folder: Path, seed: int) -> Path:
    """Fill a sheet in: systems differ by a point or two, ratings by much more."""
    draw = random.Random(seed)
    key = {row["slot"]: row["system"] for row in _rows(folder / "key.csv")}
    mean = {name: 70 + 2 * k for k, name in enumerate(sorted(set(key.values())))}
    rows = _rows(folder / "assignment.csv")
    for row in rows:
        row["rating"] = str(min(100, max(0, round(draw.gauss(mean[key[row["slot"]]], 12)))))
    out = folder / "filled.csv"
    with out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return out


def _items(out: Path, documents: int) -> Path:
    with out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["document", "segment", "source", "system", "output"])
        for document in range(documents):
            for segment in (1, 2):
                for system in "ABC":
                    writer.writerow([f"d{document}", segment, "source", system, f"output {system}"])
    return out


@pytest.mark.slow
def test_what_is_open_becomes_a_study_of_its_own(
    planned: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, items = planned / "my", _items(tmp_path / "items.csv", 4000)
    assert answer(["assign", str(folder), "--items", str(items)]) == DONE
    filled = _filled(folder, 1)
    assert answer(["conclude", str(filled), "--plan", str(folder)]) in (DONE, RESERVED)
    assert json.loads((folder / "conclusion.json").read_text())["plan"]
    after = ["assign", str(folder), "--items", str(items), "--after", str(filled)]
    capsys.readouterr()
    assert answer(after) == REFUSED
    assert "one of a single look" in capsys.readouterr().err
    assert answer([*after, "--alone"]) == DONE, capsys.readouterr().err
    first = {row["document"] for row in _rows(folder / "assignment.csv")}
    second = {row["document"] for row in _rows(folder / "second" / "assignment.csv")}
    assert len(second) == json.loads((folder / "second" / "plan.json").read_text())["answer"]["documents"]
    assert not first & second
