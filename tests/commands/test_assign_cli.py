"""Ask `simlab assign` for sheets, and `simlab conclude` for what they show, at the command line."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

import simlab
from simlab.cli import answer
from simlab.commands.exit_codes import DONE, REFUSED, RESERVED
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
Said = Callable[..., tuple[str, str]]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    plan("my")
    items("items.csv")


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    def ask(*words: str, code: int = DONE) -> tuple[str, str]:
        capsys.readouterr()
        assert answer(list(words)) == code, capsys.readouterr()
        held = capsys.readouterr()
        return held.out, held.err

    return ask


def plan(name: str, *words: str) -> None:
    from simlab.config import compose
    from simlab.config.studyfile import write

    Path(name).mkdir(exist_ok=True)
    given = dict(word.split("=", 1) for word in (*STUDY, *words))
    study = compose([f"{key}={value}" for key, value in given.items()])
    Path(name, "study.yaml").write_text(write(study) + "\n", encoding="utf-8")


def items(name: str, documents: int = 10, systems: str = "ABC", **cells: str) -> None:
    head = ["document", "segment", "source", "system", "output"]
    rows = [
        [f"d{d}", f"s{s}", f"source {d}", system, f"text {d} {s}"]
        for d in range(documents)
        for s in range(2)
        for system in systems
    ]
    write(name, head, rows)


def write(name: str, head: list[str], rows: list[list[str]]) -> None:
    with Path(name).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])


def rows_of(name: str) -> list[dict[str, str]]:
    with Path(name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def filled(name: str = "filled.csv", *, leave: int = 0, **change: str) -> None:
    key = {row["slot"]: row["system"] for row in rows_of("my/key.csv")}
    rows = rows_of("my/assignment.csv")
    for k, row in enumerate(rows):
        row["rating"] = "" if k < leave else str(40 + 12 * "ABC".find(key[row["slot"]]) + k % 5)
    rows[-1] |= change
    write(name, list(rows[0]), [list(row.values()) for row in rows])


@pytest.mark.slow
def test_a_sheet_is_made_filled_and_concluded_from(said: Said) -> None:
    out, _ = said("assign", "my", "--items", "items.csv")
    lines = out.splitlines()
    assert len(lines) <= 12
    assert max(map(len, lines)) <= 100
    assert lines[0].endswith("3 systems, 8 documents, 6 raters: 48 ratings")
    assert lines[-1].endswith("conclude my/assignment.csv --plan my")
    filled(leave=2)
    out, _ = said("conclude", "filled.csv", "--plan", "my", code=DONE)
    assert "46 of 48 planned ratings: 3 systems, 8 documents, 6 raters" in out
    assert "2 missing" in out
    assert [row["rater"] for row in rows_of("my/missing.csv")] == ["r1", "r1"]
    filled()
    said("conclude", "filled.csv", "--plan", "my", code=RESERVED)  # a second look
    assert not Path("my/missing.csv").exists()


def test_an_unfinished_sheet_can_be_checked_and_is_looked_at_only_if_wanted(said: Said) -> None:
    said("assign", "my", "--items", "items.csv")
    filled(leave=20)
    out, _ = said("conclude", "filled.csv", "--plan", "my", "--check")
    assert "28 of 48 planned answers" in out
    assert "not before the plan's end: a look now (--look) withdraws it" in out
    assert out.rstrip().endswith("conclude filled.csv --plan my --check")
    _, err = said("conclude", "filled.csv", "--plan", "my", code=REFUSED)
    assert "holds 28 of 48 planned answers (missing.csv beside the key lists the rest), and the plan promises" in err
    assert err.count("\n") == 1
    filled()
    out, _ = said("conclude", "filled.csv", "--plan", "my", "--check")
    assert "48 of 48 planned answers" in out
    assert out.rstrip().endswith("conclude filled.csv --plan my")
    assert not list(Path("my").glob("*.looks.json"))


def test_a_study_file_and_json_do_as_well(said: Said) -> None:
    held = json.loads(said("assign", "my/study.yaml", "--items", "items.csv", "--format", "json")[0])
    assert held["ratings"] == 48
    assert sum(one["ratings"] for one in held["loads"]) == 48
    assert [Path(name).name for name in held["files"]] == ["assignment.csv", "key.csv", "assigned.study.yaml"]
    assert len(held["left_out"]) == 2
    lines = said("assign", "my", "--items", "items.csv", "--format", "csv")[0].splitlines()
    assert (lines[0], len(lines)) == ("rater,ratings", 7)


def test_systems_are_named_in_the_key_only(said: Said) -> None:
    items("items.csv", systems=["OmegaMT", "Zeta 9", "Kappa"])  # type: ignore[arg-type]
    for form in ("csv", "label_studio", "appraise"):
        said("assign", "my", "--items", "items.csv", "--as", form, "--controls", ".1")
    sheets = [Path("my/assignment.csv"), *Path("my/label_studio").iterdir(), *Path("my/appraise").iterdir()]
    for file in sheets:
        assert not any(name in file.read_text(encoding="utf-8") for name in ("OmegaMT", "Zeta 9", "Kappa")), file
    assert "OmegaMT" in Path("my/key.csv").read_text(encoding="utf-8")


def test_label_studio_gets_a_project_for_each_rater(said: Said) -> None:
    write("raters.csv", ["rater"], [[name] for name in ("Zoë", "../x", "=a", "b", "c", "d")])
    said("assign", "my", "--items", "items.csv", "--raters", "raters.csv", "--as", "label_studio", "--out", "ls")
    projects = rows_of("ls/projects.csv")
    assert [one["rater"] for one in projects] == ["Zoë", "../x", "'=a", "b", "c", "d"]
    for one in projects:
        tasks = json.loads(Path("ls", one["tasks"]).read_text(encoding="utf-8"))
        assert len(tasks) == int(one["ratings"])
        assert [task["data"]["position"] for task in tasks] == list(range(1, len(tasks) + 1))
        assert {"slot", "source", "output"} <= tasks[0]["data"].keys()
        assert not {"system", "control"} & tasks[0]["data"].keys()
        tags = {tag.tag: tag.attrib for tag in ElementTree.parse(Path("ls", one["config"])).iter()}
        assert tags["Number"] | {"min": "0", "max": "100", "step": "1", "toName": "output"} == tags["Number"]


def test_scales_of_few_values_are_stars_or_choices() -> None:
    from simlab.concluding.assigning.planned_study import RatingScale
    from simlab.concluding.assigning.platforms import config

    assert '<Rating name="rating" toName="output" maxRating="5"' in config(RatingScale(1, 5, 1.0), sources=True)
    text = config(RatingScale(0, 1, 0.0, (0.0, 1.0)), sources=False)
    assert [one.attrib["value"] for one in ElementTree.fromstring(text).iter("Choice")] == ["0", "1"]
    assert "$source" not in text


def test_appraise_gets_an_account_for_each_rater(said: Said) -> None:
    said("assign", "my", "--items", "items.csv", "--as", "appraise", "--languages", "eng-jpn")
    manifest = json.loads(Path("my/appraise/manifest.json").read_text(encoding="utf-8"))
    batches = json.loads(Path("my/appraise/batches.json").read_text(encoding="utf-8"))
    assert manifest["TASKS_TO_ANNOTATORS"] == [["eng", "jpn", "uniform", 6, 6]]
    assert (manifest["REDUNDANCY"], manifest["TASK_TYPE"], len(batches)) == (1, "Document", 6)
    assert [row["account"] for row in rows_of("my/appraise/accounts.csv")][:2] == ["engjpn0101", "engjpn0102"]
    for batch in batches:
        ids = [(one["targetID"], one["itemID"]) for one in batch["items"]]
        assert len(set(ids)) == len(ids)
        ends = [one["targetID"] for one in batch["items"] if one["isCompleteDocument"]]
        assert ends == list(dict.fromkeys(target for target, _ in ids))
        assert {one["itemType"] for one in batch["items"]} == {"TGT"}


def test_no_key_is_overwritten_while_people_rate_by_it(said: Said) -> None:
    said("assign", "my", "--items", "items.csv")
    said("assign", "my", "--items", "items.csv", "--as", "label_studio")  # the same codes
    before = Path("my/key.csv").read_bytes()
    _, err = said("assign", "my", "--items", "items.csv", "--seed", "2", code=REFUSED)
    assert "is the key of another assignment" in err
    assert Path("my/key.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"slot": "zzzzzz-1"}, r"filled.csv, line 49: has the code zzzzzz-1, which is none of this plan's \(key.csv\)"),
        ({"slot": ""}, "filled.csv, line 49: has no code"),
        ({"rating": "101"}, "filled.csv, line 49: rating 101 is off the scale, 0 to 100 in steps of 1"),
        ({"rating": "7.5"}, "filled.csv, line 49: rating 7.5 is off the scale"),
        ({"rating": "good"}, "filled.csv, line 49: rating 'good' is no number"),
    ],
)
def test_bad_rows_are_named_by_their_line(change: dict[str, str], line: str, said: Said) -> None:
    import re

    said("assign", "my", "--items", "items.csv")
    filled(**change)
    _, err = said("conclude", "filled.csv", "--plan", "my", code=REFUSED)
    assert len(err.splitlines()) == 1
    assert re.search(line, err), err


def test_a_code_that_is_rated_twice_is_named(said: Said) -> None:
    said("assign", "my", "--items", "items.csv")
    slot = rows_of("my/assignment.csv")[0]["slot"]
    filled(slot=slot)
    _, err = said("conclude", "filled.csv", "--plan", "my", code=REFUSED)
    assert f"filled.csv, line 49: {slot} is rated a second time (first: filled.csv, line 2)" in err


def test_the_sheet_of_another_plan_is_refused(said: Said) -> None:
    said("assign", "my", "--items", "items.csv")
    filled()
    plan("other", "design.documents=9")
    said("assign", "other", "--items", "items.csv")
    _, err = said("conclude", "filled.csv", "--plan", "other", code=REFUSED)
    assert "which is none of this plan's (key.csv); name the plan of this sheet" in err


@pytest.mark.slow
def test_other_raters_and_failed_controls_are_said(said: Said) -> None:
    with Path("items.csv").open("a", encoding="utf-8") as file:
        file.write("check,s0,,,nonsense\n")
    rows = [[*list(row.values()), "0..20" * (row["document"] == "check")] for row in rows_of("items.csv")]
    write("items.csv", [*rows_of("items.csv")[0], "control"], rows)
    out, _ = said("assign", "my", "--items", "items.csv")
    assert "48 ratings" in out
    assert Path("my/assignment.csv").read_text(encoding="utf-8").count("0..20") == 6
    filled(rater="newcomer")
    out, _ = said("conclude", "filled.csv", "--plan", "my", "--save", "c.json")
    held = json.loads(Path("c.json").read_text(encoding="utf-8"))["answer"]
    said_of_plan = " ".join(held["plan"]["deviations"])
    assert "by other raters than planned" in said_of_plan or "newcomer failed" in said_of_plan
    assert "r1 failed 1 of 1 control item" in said_of_plan


def test_a_notebook_assigns(said: Said) -> None:
    files = simlab.assign("my", items="items.csv", form="appraise", controls=0.1)
    assert [file.name for file in files] == ["appraise", "key.csv", "assigned.study.yaml"]
    with pytest.raises(InputError, match="seed"):
        simlab.assign("my", items="items.csv", seed=-1)
