"""Export campaigns of a folder, and conclude from them: by the table, and from the folder itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import xarray as xr

import simlab
from simlab.cli import answer
from simlab.engine import ledger
from simlab.engine.addresses import pack, unpack

SMALL = ["systems.n_systems=4", "systems.n_documents=21", "systems.n_segments=42", "worlds=2", "studies=3"]
SMALL += ["analysis.test=permutation", "decision=significance", "analysis.test.permutations=60"]
CELL = ["grouping=ungrouped", "documents=20"]
LIKE_ANYONES = "system,document,segment,rater,score,errors"


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported") / "s"
    words = ["sweep", "item_grouping", *SMALL, "design.documents=20,21", "engine.block=3", "--out", str(folder)]
    assert answer([*words, "--jobs", "1"]) == 0
    return folder


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def stored(folder: Path, cell: str, world: int, study: int) -> dict[str, Any]:
    with ledger.reading(folder) as book:
        entry = next(e for k, e in enumerate(book.entries()) if str(k) == cell)
        for row in book.blocks(entry.cell):
            at = row.block.address
            if at.world == world and at.first <= study < at.first + at.count:
                return {
                    name: array[study - at.first] for name, array in unpack(row.block.payload).items() if len(array) > 1
                }
    raise AssertionError(cell)


@pytest.mark.slow
@pytest.mark.parametrize(("form", "file"), [("table", "a.csv"), ("events", "a.jsonl")])
def test_an_exported_campaign_is_concluded_from_as_in_its_folder(
    swept: Path, capsys: pytest.CaptureFixture[str], form: str, file: str
) -> None:
    words = ["export", str(swept), *CELL, "--world", "1", "--study", "2", "--as", form, "--out", file]
    assert answer(words) == 0
    assert capsys.readouterr().out.splitlines() == [file, f"{file}.study.yaml"]
    assert answer(["conclude", file, "--plan", f"{file}.study.yaml", "--format", "json"]) == 0
    by_table = json.loads(capsys.readouterr().out)
    assert answer(["conclude", str(swept), *CELL, "--world", "1", "--study", "2", "--format", "json"]) == 0
    by_folder = json.loads(capsys.readouterr().out)
    held = stored(swept, "4", 1, 2)
    for said in (by_table, by_folder):
        assert [one["estimate"] for one in sorted(said["systems"], key=lambda one: one["system"])] == held[
            "estimate"
        ].tolist()
        assert [one["p_value"] for one in said["pairs"]] == held["p_value"].tolist()
        assert [one["direction"] for one in said["pairs"]] == held["direction"].tolist()
        assert [one["verdict"] for one in said["pairs"]] == np.where(held["significant"], held["direction"], 0).tolist()
    assert by_table["plan"]["deviations"] == []
    assert by_folder["plan"] is None
    assert by_table["pairs"] == by_folder["pairs"]


def test_a_table_is_like_anyones_and_the_file_beside_it_is_a_study(swept: Path) -> None:
    assert answer(["export", str(swept), *CELL, "--out", "a.csv"]) == 0
    lines = Path("a.csv").read_text().splitlines()
    assert lines[0] == LIKE_ANYONES
    beside = Path("a.csv.study.yaml").read_text().splitlines()
    assert beside[:2] == ["simlab: 1", "question: rate"]
    said = json.loads(beside[-1].removeprefix("campaign: "))
    assert said["address"] | {"digest": ""} == {
        "digest": "", "cell": {"grouping": "ungrouped", "documents": 20},
        "world": 0, "pool": 0, "draw": 0, "study": 0, "seed": 1, "path": ["world", 0, "study", 0],
    }  # fmt: skip
    assert said["told"]["answers"] == len(lines) - 1
    assert "truth" not in beside[-1]
    assert answer(["run", "a.csv.study.yaml", "worlds=1", "studies=2", "--dry-run"]) == 0


@pytest.mark.slow
def test_a_campaign_that_comes_out_otherwise_than_kept_is_a_reservation(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["run", *SMALL, "design.documents=20", "--jobs", "1", "--out", "s"]) == 0
    with ledger.open_to_write(Path("s")) as book:
        row = next(book.blocks())
        arrays = unpack(row.block.payload)
        arrays["estimate"] = np.nextafter(arrays["estimate"], 9e9)
        book.withdraw(row.block.address, "for another")
        from dataclasses import replace

        book.record([replace(row.block, payload=pack(arrays))])
    capsys.readouterr()
    assert answer(["export", "s", "--out", "a.csv"]) == 3
    assert "world 0, study 0 gave another estimate than s keeps" in capsys.readouterr().err
    with pytest.warns(UserWarning, match="gave another estimate"):
        assert simlab.export("s", out="b.csv") == [Path("b.csv"), Path("b.csv.study.yaml")]


def test_what_is_asked_of_a_campaign_goes_with_a_folder(swept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["conclude", "a.csv", "--study", "1"]) == 2
    for words in (["--level", ".1"], ["--better", "lower"], ["--adequate-from", "2"], ["--promise", "anytime"]):
        assert answer(["conclude", str(swept), *CELL, *words]) == 2
    assert answer(["conclude", str(swept), *CELL, "--plan", "a.yaml"]) == 2
    err = capsys.readouterr().err
    assert all(said in err for said in ("no folder is named", "has its own; leave it out", "has its own plan"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["question=compare", "systems.n_systems=3", "budget.annotations_per_pair=20"],
        ["question=compare", "systems.n_systems=3", "budget.annotations_per_pair=20", "design.collection=crowd"],
        ["question=judge", "systems.n_systems=3", "budget.human_ratings=30", "design.collection=crowd"],
        [*SMALL[:3], "design.documents=20", "design.collection=crowd", "budget.total=150"],
    ],
)
def test_a_run_is_exported_concluded_and_carried_out_again(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert answer(["run", *words, "worlds=1", "studies=2", "--out", "s", "--jobs", "1"]) == 0
    assert answer(["export", "s", "--study", "1", "--out", "a.csv"]) == 0
    capsys.readouterr()
    assert answer(["conclude", "a.csv", "--plan", "a.csv.study.yaml", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["plan"]["deviations"] == []
    assert answer(["verify", "s", "--replay", "0.0.1", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["same"] is True
    assert answer(["verify", "s"]) == 0


@pytest.mark.slow
@pytest.mark.parametrize(("form", "file"), [("netcdf", "a.nc"), ("parquet", "a.parquet")])
def test_a_whole_store_is_exported(swept: Path, capsys: pytest.CaptureFixture[str], form: str, file: str) -> None:
    assert answer(["export", str(swept), *CELL, "--as", form, "--out", file]) == 0
    written = capsys.readouterr().out.splitlines()
    assert sorted(written) == sorted(path.name for path in Path().iterdir())
    if form == "netcdf":
        with simlab.open_results(swept) as store, xr.open_dataset(file, engine="h5netcdf") as read:
            wanted = store.sel(grouping=["ungrouped"], documents=[20])
            assert np.array_equal(read["estimate"], wanted["estimate"], equal_nan=True)
    else:
        assert pq.read_metadata(file).num_rows == 1
        assert pq.read_metadata("a.campaigns.parquet").num_rows == 6
    assert simlab.export(swept, grouping="ungrouped", documents=[20], out=file, form=form) == [*map(Path, written)]  # type: ignore[arg-type]


def test_a_package_that_is_not_installed_is_named(
    swept: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from simlab.store import exporting

    monkeypatch.setattr(exporting, "find_spec", lambda name: None)
    assert answer(["export", str(swept), "--as", "parquet", "--out", "a.parquet"]) == 2
    assert "needs the package pyarrow, which is not installed; pip install 'simlab[export]'" in capsys.readouterr().err
