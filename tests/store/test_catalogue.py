"""The stores of a folder, as `simlab show FOLDER` lists them."""

from __future__ import annotations

import json
import math
import shutil
import time
from pathlib import Path

import pytest
from made_once import made_once

import simlab
from simlab import schemas
from simlab.answers.show import StoredSweeps
from simlab.cli import answer
from simlab.store import catalogue
from simlab.store.folder import disk_bytes
from simlab.types import InputError

TINY = ["systems.n_systems=3", "systems.n_documents=12", "systems.n_segments=24", "worlds=2", "studies=2", "--jobs=1"]
GRID = ["item_grouping", "design.grouping=pseudo_side_by_side,ungrouped", "design.documents=8"]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def make(folder: Path) -> None:
        assert answer(["sweep", *GRID, *TINY, "--out", "outputs/grid"]) in (0, 3)
        assert answer(["run", "design.documents=10", *TINY, "--out", "outputs/deeper/one"]) == 0
        assert answer(["sweep", "measurable_difference", "n_metric=0,9", "--quick", "--out", "outputs/sums"]) == 0

    return made_once(tmp_path_factory, "catalogue", make)


@pytest.fixture
def outputs(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(made / "outputs", tmp_path / "outputs")
    monkeypatch.chdir(tmp_path)
    return Path("outputs")


def rows(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> dict[str, dict[str, object]]:
    capsys.readouterr()
    assert answer(["show", *words, "--format", "json"]) == code
    return {row["store"]: row for row in json.loads(capsys.readouterr().out)}


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    assert answer(["show", *words]) == 2
    said = capsys.readouterr()
    assert not said.out
    return said.err.strip()


def test_stores_say_what_they_are(outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = rows(capsys, "outputs")
    assert list(found) == ["outputs/deeper/one", "outputs/grid", "outputs/sums"]
    grid = found["outputs/grid"]
    with simlab.open_results("outputs/grid") as dataset:
        assert grid["mcse"] == float(dataset["srp_mcse"].max())
        assert grid["simlab"] == dataset.attrs["simlab"]
        assert grid["dirty"] == bool(dataset.attrs["dirty"])
    assert grid["axes"] == {"grouping": ["pseudo_side_by_side", "ungrouped"], "documents": [8]}
    assert (grid["done"], grid["asked"], grid["measure"]) == (2, 2, "srp")
    assert str(grid["question"]).startswith("Which way of handing outputs")
    assert str(grid["command"]).startswith("simlab sweep item_grouping design.grouping=")
    assert {store: row["bytes"] for store, row in found.items()} == {s: disk_bytes(Path(s)) for s in found}
    assert found["outputs/sums"]["done"] == found["outputs/sums"]["asked"]
    page = simlab.show("outputs")
    assert isinstance(page, StoredSweeps)
    assert "outputs/grid" in str(page._repr_html_())
    assert answer(["show", "outputs"]) == 0
    said = capsys.readouterr().out
    assert "3 stores" in said
    assert f"simlab show {grid['command']}" not in said
    assert str(grid["command"]) in said


def test_settings_and_axes_keep_stores(outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert list(rows(capsys, "outputs", "documents=8")) == ["outputs/grid"]
    assert list(rows(capsys, "outputs", "design.documents=8,10")) == ["outputs/deeper/one", "outputs/grid"]
    assert list(rows(capsys, "outputs", "grouping=ungrouped", "documents=8")) == ["outputs/grid"]
    assert list(rows(capsys, "outputs", "sweep=run")) == ["outputs/deeper/one"]
    both = simlab.show("outputs", {"documents": [8, 10]})
    assert isinstance(both, StoredSweeps)
    assert len(both.rows) == 2
    assert "did you mean documents" in refusal(capsys, "outputs", "documets=8")
    assert "documents is 8, 10" in refusal(capsys, "outputs", "documents=9")
    assert "is given twice" in refusal(capsys, "outputs", "documents=8", "documents=10")
    assert "is no KEY=VALUE" in refusal(capsys, "outputs", "documents")


def test_a_folder_without_stores_and_a_name_are_told_apart(outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty").mkdir()
    assert "no store lies in this folder" in refusal(capsys, "empty/")
    assert "nothing called empty" in refusal(capsys, "empty")
    (outputs / "grid").rename("item_grouping")
    assert "aim" in rows_of_page(capsys, "item_grouping")
    assert "1 store on" in rows_of_page(capsys, "./item_grouping")
    assert "Sweeps: simlab sweep NAME" in rows_of_page(capsys)
    assert "use `simlab show`" in _old_word(capsys)


def rows_of_page(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert answer(["show", *words]) == 0
    return capsys.readouterr().out


def _old_word(capsys: pytest.CaptureFixture[str]) -> str:
    assert answer(["list"]) == 2
    return capsys.readouterr().err


def test_what_cannot_be_read_is_named_and_hides_nothing(outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = outputs / "grid/results.zarr/zarr.json"
    whole = root.read_text()
    for torn in (
        "",
        "{",
        '{"attributes": 1}',
        whole.replace(f'"schema": {schemas.STORE}', '"schema": 3', 1),
        whole[:200],
    ):
        root.write_text(torn)
        found = rows(capsys, "outputs", code=3)
        assert found["outputs/grid"]["problem"]
        assert found["outputs/deeper/one"]["problem"] is None
        assert answer(["show", "outputs"]) == 3
        assert "outputs/grid: not read" in " ".join(capsys.readouterr().out.split())
    root.write_text(whole)
    assert rows(capsys, "outputs")["outputs/grid"]["problem"] is None


def test_an_interrupted_run_is_counted_from_its_ledger(outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import sqlite3

    shutil.rmtree(outputs / "grid/results.zarr")
    with sqlite3.connect(outputs / "grid/ledger.sqlite") as ledger:
        (cell,) = ledger.execute("SELECT cell FROM blocks").fetchone()
        ledger.execute("DELETE FROM blocks WHERE cell = ?", [cell])
    ledger.close()
    grid = rows(capsys, "outputs")["outputs/grid"]
    assert (grid["done"], grid["asked"], grid["mcse"]) == (1, 2, None)
    assert answer(["show", "outputs"]) == 0
    assert "1 of 2" in capsys.readouterr().out


def test_no_chunk_is_read(outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = rows(capsys, "outputs")
    for chunk in (outputs / "grid/results.zarr").glob("*/c/**/*"):
        if chunk.is_file():
            chunk.write_bytes(b"x" * chunk.stat().st_size)
    assert rows(capsys, "outputs") == before


@pytest.mark.slow
def test_two_hundred_stores_take_a_second_of_a_core(outputs: Path) -> None:
    for k in range(200):
        shutil.copytree(outputs / "grid", Path(f"many/s{k}"))
    began = time.process_time()
    found = [catalogue.describe_store(one) for one in catalogue.find_stores(Path("many"))]
    assert time.process_time() - began < 1
    assert len(found) == 200
    assert not any(one.entry.problem or math.isnan(one.entry.mcse) for one in found)


def test_a_store_that_is_none_is_no_reason_to_fail(tmp_path: Path) -> None:
    (tmp_path / "odd/results.zarr").mkdir(parents=True)
    attributes = {"schema": schemas.STORE, "sweep": "[]", "config": "1"}
    (tmp_path / "odd/results.zarr/zarr.json").write_text(json.dumps({"attributes": attributes}))
    (tmp_path / "link").symlink_to(tmp_path / "odd")
    found = [catalogue.describe_store(one).entry for one in catalogue.find_stores(tmp_path)]
    assert [bool(one.problem) for one in found] == [True]
    with pytest.raises(InputError, match="no store in it has the setting"):
        catalogue.keep_matching([catalogue.describe_store(tmp_path / "odd")], {"a": ["1"]}, "here")
