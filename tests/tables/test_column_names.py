"""Columns go by one list of names in every file: tables of answers, of raters, of logins and of items."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from simlab.cli import answer
from simlab.concluding.assigning.items import RaterCapacity, read_items, read_people
from simlab.tables.people import people
from simlab.tables.reading import write_keys


def _file(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("column", ["rater", "Annotator ID", "worker_id", "judge", "person", "name", "participant"])
def test_a_list_of_raters_is_read_by_each_usual_name(tmp_path: Path, column: str) -> None:
    path = _file(tmp_path / "r.csv", f"{column},hours,most\nann,3,\nbob,,20\n")
    assert read_people(path) == (RaterCapacity("ann", hours=3.0), RaterCapacity("bob", cap=20.0))


@pytest.mark.parametrize("column", ["person", "people", "annotator_id", "who", "Name", "rater id"])
def test_who_a_login_is_stands_under_each_usual_name(tmp_path: Path, column: str) -> None:
    path = _file(tmp_path / "p.csv", f"remark,login,{column}\nnew,u1,ann\nold,u2,ann\n")
    assert people(path, ["u1", "u2"]) == {"u1": "ann", "u2": "ann"}


def test_a_column_that_says_person_is_the_likelier_one(tmp_path: Path) -> None:
    path = _file(tmp_path / "p.csv", "login,name,person\nu1,Ann B.,p1\n")
    assert people(path, ["u1"]) == {"u1": "p1"}


def test_items_are_read_by_usual_names_and_a_prompt_is_no_segment(tmp_path: Path) -> None:
    rows = "".join(f"d0,{name},say {name},write\n" for name in ("A", "B"))
    items = read_items(_file(tmp_path / "i.csv", f"doc_id,model,translation,prompt\n{rows}"))
    assert (items.systems, items.documents, items.segments) == (("A", "B"), ("d0",), (("",),))
    assert items.output == (("say A",), ("say B",))


@pytest.mark.parametrize(
    ("message", "keys"),
    [
        ("read one, --where 'aspect=is good', or", "read one, 'systems.where=\"aspect=is good\"', or"),
        ("--where a=1 --where b=x:y", "'systems.where=\"a=1,b=x:y\"'"),
        ("--columns score=scre: t.csv has none", "systems.columns=score=scre: t.csv has none"),
        ("is it right (--columns score=NAME)?", "is it right ('systems.columns=\"score=NAME\"')?"),
        ("leave it out, or say --better higher", "leave it out, or say systems.better=higher"),
        ("differ; write them alike, or say --alike merge or --alike keep", "differ; write them alike"),
        ("write a decimal point, or say --decimal ,", "write a decimal point"),
        ("t.csv, line 2: the system is empty", "t.csv, line 2: the system is empty"),
    ],
)
def test_options_become_keys_that_can_be_typed(message: str, keys: str) -> None:
    assert write_keys(message) == keys


STUDY = (
    "show --config systems=gaussian systems.n_systems=3 systems.n_documents=12 systems.n_segments=12 "
    "raters.pool_size=3 raters.raters_per_bucket=3 raters.buckets_per_rater=1 design.documents=8 "
    "design.ratings_per_item=3"
)


@pytest.mark.usefixtures("short_effort")
def test_a_second_batch_is_asked_of_one_criterion_and_of_other_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert answer(STUDY.split()) == 0
    (tmp_path / "my").mkdir()
    _file(tmp_path / "my" / "study.yaml", capsys.readouterr().out)
    rated = ["system,document,segment,rater,aspect,score"]
    for document in range(8):
        rated += [
            f"{name},d{document},s0,r{rater},{aspect},{worth + (7 * document + 5 * rater + 11 * k) % 19}"
            for k, (name, worth) in enumerate({"A": 60, "B": 58, "C": 30}.items())
            for rater in range(3)
            for aspect in ("fluency", "style")
        ]
    _file(tmp_path / "t.csv", "\n".join(rated) + "\n")
    items = ["document,segment,source,system,output"]
    items += [f"d{document},s0,text,{name},output" for document in range(300) for name in "ABC"]
    _file(tmp_path / "items.csv", "\n".join(items) + "\n")
    words = ["assign", "my", "--items", "items.csv", "--after", "t.csv", "--alone"]
    assert answer(words) == 2
    assert "--where aspect=fluency" in capsys.readouterr().err
    assert answer([*words, "--where", "aspect=fluency"]) == 0, capsys.readouterr().err
    (sheet,) = tmp_path.rglob("assignment.csv")
    with sheet.open(encoding="utf-8", newline="") as file:
        asked = {row["document"] for row in csv.DictReader(file)}
    assert asked
    assert not asked & {f"d{document}" for document in range(8)}
