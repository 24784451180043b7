"""A plan's folder is its study's: it says what was asked, is read from anywhere, and takes no other plan."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import made_plans as made
import pytest

from simlab.answers.plan import SIZE, StudyPlan
from simlab.cli import answer as command
from simlab.commands.exit_codes import DONE, REFUSED
from simlab.commands.plan import PlanOptions, keep
from simlab.concluding.assigning.planned_study import plan_of, read_study
from simlab.concluding.plans import read_plan
from simlab.config import compose_sweep
from simlab.config.studyfile import FrozenFamily, load_study
from simlab.planning import folder
from simlab.planning.assumptions import loads
from simlab.planning.terms import Design
from simlab.types import InputError

BUILT_IN = Path(folder.__file__).parents[1] / "world" / "data"
ASKED = {"table": "pilot.csv", "words": ["budget.total=2000"], "target": None, "margin": 0.02}
WORDS = (
    "budget.total=2000",
    "systems=fitted",
    "systems.n_documents=60",
    "decision=max_t",
    "analysis.test=rater_flips",
    "worlds=40",
)
FILES = ["front.csv", "front.png", "paragraph.md", "plan.json", "study.yaml"]


def design(size: int = 12, grouping: str = "ungrouped") -> Design:
    return ((SIZE, size), ("design.grouping", grouping), ("design.ratings_per_item", 1))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def plain() -> StudyPlan:
    return made.answered()


def planned(plan: StudyPlan, *words: str, of: Design | None = None) -> tuple[StudyPlan, Mapping[str, Any]]:
    return plan, folder.compose_folder_study(made.ground(words=(*WORDS, *words)), of or design())


def fitted(path: str) -> tuple[str, ...]:
    return (f"systems.path={path}",)


def composed(file: Path) -> Mapping[str, Any]:
    return next(compose_sweep(load_study(file)).cells()).config


def test_the_study_of_a_design_is_the_base_with_what_the_design_sets() -> None:
    words = (*WORDS, "design.documents=50", "design/grouping=system_balanced", "measure=[power]", "engine.jobs=1")
    config = folder.compose_folder_study(made.ground(words=words), design(12))
    assert config["design"]["documents"] == 12
    assert config["design"]["grouping"]["_target_"].endswith("ungrouped")
    assert config["budget"]["total"] == 2000
    # How often a plan simulates, and what it measures, is no part of the study.
    assert config["worlds"] == 5
    assert "srp" in config["measure"]


def test_a_folder_holds_study_plan_front_figure_and_paragraph(here: Path, plain: StudyPlan) -> None:
    kept = keep(Path("my"), *planned(plain), ASKED)
    assert sorted(file.name for file in Path("my").iterdir()) == FILES
    held = plan_of(Path("my"))
    assert held is not None
    assert held.asked == ASKED
    assert held.digest == kept.digest == read_plan(Path("my")).digest
    assert held.answer["reached"] is True
    assert held.answer["study"] == "study.yaml"
    assert composed(Path("my/study.yaml"))["design"]["documents"] == 12
    assert "Morris" in Path("my/paragraph.md").read_text()
    assert Path("my/front.csv").read_text().count("\n") == 36


def test_the_family_stands_beside_the_study_and_cannot_be_another_than_was_planned(
    here: Path, plain: StudyPlan
) -> None:
    asked = {**ASKED, "family": "against", "against": "S2"}
    keep(Path("my"), *planned(plain), asked, FrozenFamily("against", "S2"))
    assert read_plan(Path("my")).family == read_study(Path("my")).family == ("against", "S2")
    assert composed(Path("my/study.yaml"))["design"]["documents"] == 12
    study = Path("my/study.yaml")
    text = study.read_text()
    for other in (text.replace("against: S2", "against: S3"), text.replace("family: against\nagainst: S2\n", "")):
        assert other != text
        study.write_text(other)
        for reading in (read_plan, read_study):
            with pytest.raises(InputError, match=r"the family of its study is not the one of plan\.json"):
                reading(Path("my"))


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--family", "against"), "--family against: names no baseline"),
        (("--family", "best", "decision=significance"), "--family best: decision.multiplicity=none promises something"),
    ],
)
def test_a_family_that_cannot_be_promised_is_refused(
    words: tuple[str, ...], why: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(["plan", "--systems", "4", "--out", "my", *words]) == REFUSED
    assert why in capsys.readouterr().err
    assert not Path("my").exists()


def test_the_folder_of_a_plan_that_nothing_reaches_is_written_and_marked(here: Path) -> None:
    found = planned(made.answered(made.wanted(power=0.99, money=900.0)))
    keep(Path("my"), *found, ASKED)
    held = plan_of(Path("my"))
    assert held is not None
    assert held.answer["reached"] is False
    assert "No design reached this" in " ".join(Path("my/paragraph.md").read_text().split())


@pytest.mark.slow
def test_the_study_is_carried_out_and_can_be_looked_at(here: Path, plain: StudyPlan) -> None:
    keep(Path("my"), *planned(plain), ASKED)
    assert command(["run", "my/study.yaml", "worlds=1", "studies=2", "--out", "r", "--jobs", "1"]) == DONE
    assert command(["conclude", "--plan", "my"]) == DONE


def test_a_folder_can_be_moved_and_read_from_anywhere(here: Path, plain: StudyPlan) -> None:
    shutil.copy(next(BUILT_IN.glob("*.yaml*")), "pilot_world.yaml")
    named = keep(Path("my"), *planned(plain, *fitted("pilot_world.yaml")), ASKED).digest
    Path("pilot_world.yaml").unlink()
    assert Path("my/world.yaml").is_file()
    read = [read_plan(Path("my"))]
    shutil.move("my", "elsewhere")
    (here / "afar").mkdir()
    os.chdir("afar")
    read.append(read_plan(Path("../elsewhere")))
    os.chdir("../elsewhere")
    read.append(read_plan(Path("study.yaml")))
    assert {plan.digest for plan in read} == {named}
    assert [plan.config["systems"]["path"] for plan in read] == [
        "my/world.yaml",
        "../elsewhere/world.yaml",
        "world.yaml",
    ]
    assert len({plan.config["systems"]["sha256"] for plan in read}) == 1


def test_another_world_of_that_name_where_the_user_stands_is_not_taken(here: Path, plain: StudyPlan) -> None:
    source = next(BUILT_IN.glob("*.yaml*"))
    shutil.copy(source, "w.yaml")
    keep(Path("my"), *planned(plain, *fitted("w.yaml")), ASKED)
    Path("world.yaml").write_bytes(source.read_bytes() + b"\n")
    assert read_plan(Path("my")).config["systems"]["path"] == "my/world.yaml"
    # One that is the study's own is taken from where the user stands, as in any study file.
    shutil.copy(source, "world.yaml")
    assert read_plan(Path("my")).config["systems"]["path"] == "world.yaml"


def test_a_world_that_was_edited_is_refused(here: Path, plain: StudyPlan, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(next(BUILT_IN.glob("*.yaml*")), "w.yaml")
    keep(Path("my"), *planned(plain, *fitted("w.yaml")), ASKED)
    with Path("my/world.yaml").open("ab") as file:
        file.write(b"\n")
    assert command(["run", "my/study.yaml", "worlds=1", "studies=2", "--out", "r"]) == REFUSED
    assert "my/world.yaml has changed" in capsys.readouterr().err
    assert not Path("r").exists()


def test_files_of_designs_and_worlds_count_by_their_contents(here: Path, plain: StudyPlan) -> None:
    for name, text in (("a.csv", "design.documents\n12\n"), ("b.csv", "design.documents\n12\n"), ("c.csv", "other\n")):
        Path(name).write_text(text)

    def said(file: str, worlds: str) -> dict[str, Any]:
        asked = PlanOptions(candidates=Path(file), scenarios=worlds)
        return {**ASKED, **asked.said, **asked.contents}

    keep(Path("my"), *planned(plain), said("a.csv", "a.csv, c.csv"))
    folder.check(Path("my"), said("b.csv", "b.csv,c.csv"))
    for other, key in ((said("c.csv", "a.csv,c.csv"), "candidates"), (said("a.csv", "c.csv,a.csv"), "scenarios")):
        with pytest.raises(InputError, match=rf"holds another plan \({key}_sha256 was"):
            folder.check(Path("my"), other)


def test_the_same_plan_goes_on_and_another_is_refused_before_anything_runs(here: Path, plain: StudyPlan) -> None:
    out = Path("my")
    folder.check(out, ASKED)
    assert not out.exists()
    keep(out, *planned(plain), ASKED)
    folder.check(out, ASKED)
    folder.check(out, {**ASKED, "words": ("budget.total=2000",)})
    for other in ({**ASKED, "margin": 0.05}, {**ASKED, "by": "5d"}, {"table": "pilot.csv"}):
        with pytest.raises(InputError, match=r"--out my: holds another plan \(.*\); name another folder"):
            folder.check(out, other)
    keep(out, *planned(plain, of=design(20)), ASKED)
    assert composed(out / "study.yaml")["design"]["documents"] == 20


def test_a_folder_that_cannot_be_written_is_refused(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("file").write_text("")
    with pytest.raises(InputError, match="--out file: it is a file"):
        folder.check(Path("file"), ASKED)
    with pytest.raises(InputError, match="--out file/deeper: cannot be written"):
        folder.check(Path("file/deeper"), ASKED)
    with pytest.raises(InputError, match="cannot be written"):
        folder.check(Path("x" * 300), ASKED)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(InputError, match="--out new: cannot be written"):
        folder.check(Path("new"), ASKED)


@pytest.mark.parametrize(
    "text", ["", "[]", '{"simlab": 9, "asked": {}}', "{" * 9], ids=["empty", "list", "new", "torn"]
)
def test_a_folder_whose_plan_is_none_is_refused(text: str, here: Path) -> None:
    Path("my").mkdir()
    Path("my/plan.json").write_text(text)
    with pytest.raises(InputError, match=r"my/plan\.json: (is not JSON|must be a JSON object|is a plan of schema)"):
        folder.check(Path("my"), ASKED)


def test_a_study_that_was_not_planned_here_is_not_overwritten(here: Path) -> None:
    Path("my").mkdir()
    Path("my/study.yaml").write_text("simlab: 1\n")
    with pytest.raises(InputError, match="holds a study that was not planned here"):
        folder.check(Path("my"), ASKED)


def test_a_file_is_written_whole_or_not_at_all(here: Path, plain: StudyPlan) -> None:
    keep(Path("my"), *planned(plain), ASKED)
    before = {file.name: file.read_bytes() for file in Path("my").iterdir()}

    def torn(file: Path) -> None:
        file.write_text("half")
        raise OSError(28, "No space left on device")

    study = folder.freeze_study(planned(plain)[1])
    with pytest.raises(InputError, match=r"my/front.png: cannot be written .*; free some space"):
        folder.write(Path("my"), study, ASKED, {}, {}, torn)
    assert {file.name: file.read_bytes() for file in Path("my").iterdir()} == before


def test_the_same_plan_gives_the_same_files(here: Path, plain: StudyPlan) -> None:
    for name in ("one", "two"):
        keep(Path(name), *planned(plain), ASKED)
    assert all((Path("one") / name).read_bytes() == (Path("two") / name).read_bytes() for name in FILES)


def test_a_plan_holds_strict_json(here: Path, plain: StudyPlan) -> None:
    keep(Path("my"), *planned(plain), ASKED)
    json.loads(Path("my/plan.json").read_text(), parse_constant=pytest.fail)


def test_what_people_do_is_counted_in_campaigns_that_are_dealt() -> None:
    twice = (*design()[:2], ("design.ratings_per_item", 2))
    one, two = (loads(folder.compose_folder_study(made.ground(words=WORDS), of)) for of in (design(), twice))
    assert one is not None
    assert two is not None
    assert one.covers.startswith("a rating is of ")
    assert one.outputs == one.ratings
    assert (two.outputs, two.ratings) == (one.outputs, 2 * one.ratings)
    assert one.per_rater == pytest.approx(one.ratings / one.raters)
    assert one.per_rater <= one.most <= one.ratings
    assert 0 < one.per_rater_documents <= 12
