"""The report of a plan's folder: plan, who was asked and what came of it, each as its file has it, or one line."""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import made_plans as made
import pytest

from simlab import schemas
from simlab.cli import answer as command
from simlab.commands import report_plans
from simlab.commands.exit_codes import DONE, REFUSED, RESERVED
from simlab.commands.plan import PlanOptions, keep
from simlab.config import compose
from simlab.drawing.reports import markdown, plan_folder
from simlab.drawing.reports.paper import still_block
from simlab.drawing.reports.terms import Report, ReportTable, Value
from simlab.tables.rating_table import ColumnOverrides
from simlab.types import InputError

STUDY = (
    "systems=gaussian",
    "systems.n_systems=3",
    "systems.n_documents=12",
    "systems.n_segments=24",
    "raters.pool_size=6",
    "raters.raters_per_bucket=3",
    "raters.buckets_per_rater=1",
    "design.documents=8",
)
ASKED = PlanOptions(
    ("my pilot.csv", "budget.total=2000"),
    smallest=4.0,
    margin=0.03,
    at_most="90s",
    out=Path("elsewhere"),
    jobs=2,
    column_overrides=ColumnOverrides({"score": "mark"}, "higher", (0.0, 100.0)),
)
HOSTILE = '<script>alert("x")</script>'


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a plan that was `planned`, one that was `assigned` too, and one that was `concluded`."""
    here = tmp_path_factory.mktemp("folders")
    keep(here / "planned", made.answered(), compose(list(STUDY)), ASKED.said, command=ASKED.command)
    _items(here / "items.csv")
    shutil.copytree(here / "planned", here / "assigned")
    assert command(["assign", str(here / "assigned"), "--items", str(here / "items.csv")]) == DONE
    shutil.copytree(here / "assigned", here / "concluded")
    _fill(here / "concluded", here / "filled.csv")
    assert command(["conclude", str(here / "filled.csv"), "--plan", str(here / "concluded")]) in (DONE, RESERVED)
    return here


@pytest.fixture
def here(folders: Path, tmp_path: Path) -> Path:
    """Return these folders where a test may change them."""
    return shutil.copytree(folders, tmp_path / "folders")


def _items(file: Path) -> None:
    rows = [[f"d{d}", f"s{s}", "source", name, f"text {d} {s}"] for d in range(10) for s in range(2) for name in "ABC"]
    with file.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([["document", "segment", "source", "system", "output"], *rows])


def rows_of(file: Path) -> list[dict[str, str]]:
    with file.open(newline="", encoding="utf-8") as held:
        return list(csv.DictReader(held))


def _fill(folder: Path, file: Path) -> None:
    key = {row["slot"]: row["system"] for row in rows_of(folder / "key.csv")}
    rows = rows_of(folder / "assignment.csv")
    for k, row in enumerate(rows):
        row["rating"] = str(40 + 12 * "ABC".find(key[row["slot"]]) + k % 5)
    with file.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([list(rows[0]), *(list(row.values()) for row in rows)])


def report(folder: Path) -> Report:
    return plan_folder.report(report_plans.read(folder), folder)


def table(of: Report, caption: str) -> ReportTable:
    tables = (still_block(block) for section in of.sections for block in section.blocks)
    return next(one for one in tables if isinstance(one, ReportTable) and one.caption == caption)


def headings(of: Report) -> list[str]:
    return [section.heading for section in of.sections]


@pytest.mark.slow
def test_folders_of_plans_are_told_from_others(folders: Path, tmp_path: Path) -> None:
    assert report_plans.is_plan(folders / "planned")
    assert not report_plans.is_plan(folders)
    assert not report_plans.is_plan(tmp_path)


def test_a_plan_alone_is_reported_with_what_its_folder_says(folders: Path) -> None:
    made_of = report(folders / "planned")
    held = json.loads((folders / "planned/plan.json").read_text())
    power = held["answer"]["measures"]["power"]
    assert (made_of.figures[0].value, made_of.figures[0].mcse) == (power["value"], power["mcse"])
    paragraph = " ".join((folders / "planned/paragraph.md").read_text().split("\n\nReferences")[0].split())
    assert made_of.paragraph == paragraph
    assert made_of.title == "planned"
    assert made_of.provenance["study"] == held["digest"]
    assert any("nobody was asked yet" in one for one in made_of.reservations)
    assert "Who was asked" not in headings(made_of)
    assert made_of.data == {"plan": held, "assignment": None, "conclusion": None}


def test_a_plan_is_asked_for_again_in_the_same_words(folders: Path) -> None:
    (line,) = report(folders / "planned").reproduce
    assert "plan 'my pilot.csv' budget.total=2000" in line
    assert "--smallest-difference 4 --margin 0.03" in line
    assert "--columns score=mark --better higher --scale 0..100" in line
    assert not any(option in line for option in ("--force", "--at-most", "--jobs", "elsewhere"))
    assert line.endswith(f"--out {folders / 'planned'}")


def test_who_was_asked_is_counted(folders: Path) -> None:
    made_of = report(folders / "assigned")
    key = rows_of(folders / "assigned/key.csv")
    counts = Counter(row["rater"] for row in key)
    rows = table(made_of, "What each rater was asked").rows
    assert {str(row[0]): row[1].value for row in rows if isinstance(row[1], Value)} == dict(counts)
    assert [row[0] for row in rows] == sorted(counts)
    systems = Counter(row["system"] for row in key)
    spread = next(section for section in made_of.sections if section.heading == "Who was asked").blocks[0]
    assert all(f"{name} {n}" in str(spread) for name, n in systems.items())
    assert any(one.startswith(f"Assigned: {len(key)} ratings") for one in made_of.answer)
    # No page tells which code stands for which system.
    said = markdown.page(made_of)
    assert not any(row["slot"] in said for row in key)


def test_what_came_of_a_plan_stands_first(folders: Path) -> None:
    made_of = report(folders / "concluded")
    held = json.loads((folders / "concluded/conclusion.json").read_text())
    assert made_of.question == "Which systems do people rate better?"
    best = max(held["systems"], key=lambda one: one["estimate"])
    rows = table(made_of, "Systems, best first").rows
    first = rows[0][2]
    assert isinstance(first, Value)
    assert (rows[0][1], first.value, first.low) == (best["system"], best["estimate"], best["low"])
    assert headings(made_of).index("Systems") < headings(made_of).index("Who was asked")
    assert {"Designs", "What was looked at", "What was planned"} <= set(headings(made_of))
    assert any(one.startswith("As planned: buy") for one in made_of.answer)
    assert not any("nothing is concluded" in one for one in made_of.reservations)
    assert len(made_of.reproduce) == 3
    assert len({one.key for one in made_of.references}) == len(made_of.references)
    assert made_of.references[-1].key == "simlab"
    assert " nan " not in markdown.page(made_of)


def test_a_conclusion_of_another_plan_is_a_reservation(here: Path) -> None:
    file = here / "concluded/conclusion.json"
    assert not any("follows another study" in one for one in report(here / "concluded").reservations)
    held = json.loads(file.read_text())
    held["plan"]["digest"] = "0" * 64
    file.write_text(json.dumps(held))
    assert "conclusion.json follows another study" in report(here / "concluded").reservations[0]


def test_names_in_a_folder_stay_text(here: Path) -> None:
    folder = here / "concluded"
    for name in ("key.csv", "conclusion.json"):
        text = (folder / name).read_text()
        quoted = HOSTILE.replace('"', '""') if name == "key.csv" else HOSTILE.replace('"', '\\"')
        text = text.replace(",A,", f',"{quoted}",') if name == "key.csv" else text.replace('"A"', f'"{quoted}"')
        (folder / name).write_text(text)
    made_of = report(folder)
    assert any(row[1] == HOSTILE for row in table(made_of, "Systems, best first").rows)
    assert HOSTILE not in markdown.page(made_of)


def changed(file: Path, **change: Any) -> None:
    held = json.loads(file.read_text())
    file.write_text(json.dumps({**held, **change}))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("plan.json", "{", "is not JSON"),
        ("plan.json", "[]", "must be a JSON object"),
        ("plan.json", "[" * 100_000, "is not JSON"),
        ("plan.json", '{"simlab": NaN}', "NaN is no number"),
        ("plan.json", '{"asked": {}}', "is a plan of schema null, made by an earlier simlab"),
        ("plan.json", f'{{"schema": {schemas.PLAN + 1}, "simlab": "0.9", "asked": {{}}}}', "made by simlab 0.9"),
        (
            "plan.json",
            f'{{"schema": {schemas.PLAN}, "simlab": "0.2.0", "asked": {{}}}}',
            "plan.digest: is missing",
        ),
        ("study.yaml", "design: {documents: 8}", ""),
        ("study.yaml", "{", "is not valid YAML"),
        ("conclusion.json", "{}", "question: is missing; conclude anew"),
        ("conclusion.json", "\\x00", "is not JSON"),
        ("key.csv", "slot,system\\n", "key"),
    ],
)
def test_a_broken_file_is_one_line_that_names_it(here: Path, name: str, text: str, said: str) -> None:
    (here / "concluded" / name).write_text(text)
    with pytest.raises(InputError) as refused:
        report(here / "concluded")
    line = str(refused.value)
    assert line.startswith(str(here / "concluded" / name))
    assert said in line
    assert "\n" not in line


def test_a_plan_of_another_study_is_refused(here: Path) -> None:
    changed(here / "planned/plan.json", digest="0" * 64)
    with pytest.raises(InputError, match=r"study\.yaml: is not the study of plan\.json"):
        report(here / "planned")


def test_an_answer_of_a_wrong_form_names_its_file_and_what_to_do(here: Path) -> None:
    held = json.loads((here / "planned/plan.json").read_text())["answer"]
    changed(here / "planned/plan.json", answer={**held, "worlds": "many"})
    with pytest.raises(InputError, match=r"plan\.json: answer\.worlds: .* plan anew into a folder of its own$"):
        report(here / "planned")


@pytest.mark.parametrize("command", [3, "plan", [None, {}], {"plan": 1}])
def test_a_plan_with_an_odd_command_is_refused(command: object, here: Path) -> None:
    changed(here / "planned/plan.json", command=command)
    with pytest.raises(InputError, match=r"plan\.json: plan\.command.* must be .*plan anew"):
        report(here / "planned")


def test_the_command_of_a_plan_is_legible_words(here: Path) -> None:
    changed(here / "planned/plan.json", command=["plan", "$(id)\x1b[31m", "x" * 9999])
    (line,) = report(here / "planned").reproduce
    assert "'$(id)" in line
    assert line.isprintable()
    assert len(line) < 3000
    changed(here / "planned/plan.json", command=[])
    assert report(here / "planned").reproduce == ()


def test_a_second_study_is_reported_by_what_it_asks(here: Path) -> None:
    pairs = [{"first": "A", "second": HOSTILE, "number": 14}]
    record = {"systems": ["A", HOSTILE], "documents": 14, "ratings": 28, "raters": None, "pairs": pairs,
              "new_raters": False, "why": "settles A - B with 80 %"}  # fmt: skip
    changed(here / "assigned/plan.json", answer=record)
    made_of = report(here / "assigned")
    assert made_of.answer[0] == "This study settles A - B with 80 %."
    assert [one.value for one in made_of.figures] == [14, 28]
    assert "Who was asked" in headings(made_of)
    changed(here / "assigned/plan.json", answer={**record, "pairs": [{"first": "A"}]})
    with pytest.raises(InputError, match=r"answer\.pairs\[0\]\.second: is missing"):
        report(here / "assigned")


def test_the_command_makes_a_report_of_a_folder(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["report", str(here / "assigned"), "--out", str(here / "r.md")]) == DONE
    assert "Who was asked" in (here / "r.md").read_text()
    (here / "assigned/plan.json").write_text("{")
    capsys.readouterr()
    assert command(["report", str(here / "assigned"), "--out", str(here / "s.md")]) == REFUSED
    assert capsys.readouterr().err.count("\n") == 1
    assert not (here / "s.md").exists()
