"""The command that writes answers as files: what it makes, where it goes, and what it refuses."""

from __future__ import annotations

import csv
import html
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import zarr

import simlab
from simlab import schemas
from simlab.cli import answer
from simlab.commands import query, report
from simlab.commands.exit_codes import DONE, REFUSED, RESERVED
from simlab.types import InputError

KEPT = Path(__file__).parents[1] / "drawing" / "reports" / "kept"
WORDS = ["systems.n_systems=3", "systems.n_documents=21", "systems.n_segments=21", "studies=4"]
WORDS += ["worlds=5", "design.documents=8,12", "design.grouping=ungrouped,system_balanced"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reported") / "g"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder.parent)
        simlab.sweep("item_grouping", *WORDS, out=folder, jobs=1)
    return folder


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Path:
    """Return a copy of the store that a test may write to."""
    return Path(shutil.copytree(made, tmp_path / "g"))


def held(page: str, name: str = "simlab-data") -> Any:
    """Return the data that stands in a page."""
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found.group(1))


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Return the one line with which a command line is refused."""
    assert answer(["report", *words]) == REFUSED
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    return said.err


def test_a_store_becomes_a_page_with_the_rows_of_query(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["report", str(store)]) == DONE
    first, _, following = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{store}/report.html: ")
    assert following.startswith("next: ")
    assert "--out" in following
    page = (store / "report.html").read_text("utf-8")
    rows = json.loads(query.write(query.Query(store, [], None), "json", {}).text)
    assert [{key: row[key] for key in shown} for row, shown in zip(rows, held(page), strict=True)] == held(page)
    markup = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert re.search(r'(src|href)="(?!data:|#)', markup) is None
    assert "default-src 'none'" in page


@pytest.mark.slow
def test_more_cells_than_a_page_walks_into_are_said(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simlab.drawing.reports.sweeping.browsing.MOST_CELLS", 3)
    assert answer(["report", str(store)]) == DONE
    said = "4 cells are more than the 3 whose worlds and campaigns a page holds."
    assert capsys.readouterr().out.splitlines()[1] == said
    assert said in (store / "report.html").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("form", ["md", "tex"])
def test_tables_and_a_paragraph_are_for_a_paper(store: Path, form: str) -> None:
    assert answer(["report", str(store), "--format", form]) == DONE
    text = (store / f"report.{form}").read_text("utf-8")
    assert "we simulated 4 designs in 5 worlds of 4 campaigns each" in text
    assert "<script" not in text
    assert (r"\begin{tabular}" if form == "tex" else "| --- |") in text
    if form == "tex":
        assert text.count(r"\begin{") == text.count(r"\end{")
        assert re.search(r"(?<!\\)[&%#_]", re.sub(r"^%.*$| & ", "", text, flags=re.M)) is None


@pytest.mark.slow
def test_a_datasheet_is_added_on_request(store: Path) -> None:
    assert answer(["report", str(store), "--heds", "--out", str(store / "a.html")]) == DONE
    assert answer(["report", str(store), "--out", str(store / "b.html")]) == DONE
    assert ["(HEDS 3.0)" in (store / name).read_text("utf-8") for name in ("a.html", "b.html")] == [True, False]


@pytest.mark.slow
def test_several_answers_stand_on_one_page(store: Path, tmp_path: Path) -> None:
    files = [KEPT / "conclude.json", KEPT / "detect_rows.json"]
    assert answer(["report", *map(str, files), str(store), "--out", str(tmp_path / "all.html")]) == DONE
    page = (tmp_path / "all.html").read_text("utf-8")
    assert [held(page, name)["command"] for name in ("simlab-data", "simlab-data-2")] == [
        json.loads(file.read_text("utf-8"))["command"] for file in files
    ]
    assert isinstance(held(page, "simlab-data-3"), list)
    places = re.findall(r'data-place="(\d+)"', page)
    assert len(places) == len(set(places)) > 3


def test_an_answer_is_reported_beside_itself(tmp_path: Path) -> None:
    shutil.copy(KEPT / "mutt.json", tmp_path / "mutt.json")
    assert answer(["report", str(tmp_path / "mutt.json")]) == DONE
    assert (tmp_path / "mutt-report.html").exists()


@pytest.mark.slow
def test_notebooks_get_the_same_text(store: Path, tmp_path: Path) -> None:
    text = simlab.report(store)
    assert not (store / "report.html").exists()
    assert simlab.report(store, out=tmp_path / "r.html") == text == (tmp_path / "r.html").read_text("utf-8")
    assert simlab.report(store, form="tex").startswith("% Written by simlab")


@pytest.mark.slow
def test_what_fails_its_checks_is_said_on_top(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = zarr.open_group(store / "results.zarr", mode="r+", use_consolidated=False)
    array: Any = root["srp"]
    array[0, 0] = 0.123456
    assert answer(["report", str(store)]) == RESERVED
    said = capsys.readouterr()
    page = (store / "report.html").read_text("utf-8")
    reserved = page.split('class="reservations"')[1].split("</section>")[0]
    (line,) = [one for one in said.err.splitlines() if "srp" in one]
    assert html.escape(line) in reserved
    assert page.index('class="reservations"') < page.index("<nav")


def test_missing_chunks_are_refused_as_by_query(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    next(path for path in (store / "results.zarr/srp/c").rglob("*") if path.is_file()).unlink()
    line = refused(capsys, str(store))
    assert answer(["query", str(store)]) == REFUSED
    assert capsys.readouterr().err == line
    assert not (store / "report.html").exists()


@pytest.mark.slow
def test_bad_input_is_one_line(tmp_path: Path, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Refuse, in one line, and write nothing."""
    before = sorted(path.name for path in store.iterdir())
    newer = json.loads((KEPT / "mutt.json").read_text("utf-8")) | {"schema": schemas.ANSWER + 1}
    other = newer | {"schema": schemas.ANSWER, "command": "simlab query outputs/a --save q.json"}
    files = {"newer": json.dumps(newer), "none": "{}", "list": "[]", "nan": '{"simlab": NaN}', "cut": '{"simlab": "0.1'}
    files |= {
        "deep": "[" * 100_000,
        "query": json.dumps(other),
        "form": json.dumps(newer | {"schema": schemas.ANSWER, "answer": []}),
    }
    for name, text in files.items():
        (tmp_path / f"{name}.json").write_text(text, encoding="utf-8")
    (tmp_path / "empty").mkdir()
    told = {name: refused(capsys, str(tmp_path / f"{name}.json")) for name in files}
    assert f"is an answer of schema {schemas.ANSWER + 1}, made by" in told["newer"]
    assert "name the folder of that store" in told["query"]
    assert all(f"{name}.json" in line for name, line in told.items())
    assert "holds no results" in refused(capsys, str(tmp_path / "empty"))
    for name in ("nothing.json", "nothing"):
        assert "is not there; name the folder of a sweep or of a plan" in refused(capsys, str(tmp_path / name))
    assert "make them agree" in refused(capsys, str(store), "--out", "a.tex", "--format", "md")
    assert "no form of reports" in refused(capsys, str(store), "--out", "a.pdf")
    assert "there is no folder" in refused(capsys, str(store), "--out", str(tmp_path / "no" / "r.html"))
    assert "leave --heds out" in refused(capsys, str(KEPT / "mutt.json"), "--heds", "--out", str(tmp_path / "r.html"))
    assert sorted(path.name for path in store.iterdir()) == before
    assert not list(tmp_path.glob("*.html"))


def test_a_target_that_cannot_be_written_is_refused_before_any_work(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK or Path(path) != store)
    monkeypatch.setattr(report, "make_report", lambda *_, **__: pytest.fail("worked before it looked"))
    assert "Permission denied" in refused(capsys, str(store))


def test_a_store_without_a_sound_campaign_is_refused(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from simlab.commands import launch
    from simlab.commands.exit_codes import NOTHING

    monkeypatch.setattr(launch, "judge_soundness", lambda _: NOTHING)
    with pytest.raises(InputError, match="no campaign of it succeeded"):
        report.make_report(made)


@pytest.mark.slow
def test_names_of_columns_never_run(tmp_path: Path) -> None:
    """A conclusion about systems with hostile names, from a csv to the page."""
    name = '</script><script>alert("1")</script>'
    rows = [
        (system, f"d{k}", f"r{k % 3}", 50 + 10 * (system == "b") + k % 7) for k in range(24) for system in (name, "b")
    ]
    with (tmp_path / "t.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("system", "document", "rater", "score"), *rows])
    assert answer(["conclude", str(tmp_path / "t.csv"), "--save", str(tmp_path / "c.json")]) in (DONE, RESERVED)
    assert answer(["report", str(tmp_path / "c.json")]) == DONE
    page = (tmp_path / "c-report.html").read_text("utf-8")
    assert "<script>alert" not in page
    assert name in json.dumps(held(page), ensure_ascii=False).replace('\\"', '"')
