"""Axes with null among numbers, and of true and false: what the store holds of them, and all that reads it."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import simlab
from simlab.cli import answer

SMALL = ("worlds=2", "studies=2", "--jobs", "1")
NUMBERS = ("design.documents=20", *SMALL)
OPTIONS = ("design.shared_order=true,false", "systems=preference", "metric=none", "decision=human_only", *SMALL)


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store to whose axis values were added later, null among them, in no order."""
    folder = tmp_path_factory.mktemp("numbers") / "run"
    for values in (".9,.5", ".9,.5,null", ".9,null,.5"):
        assert answer(["run", "-m", f"design.load_entropy={values}", *NUMBERS, "--out", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("options") / "run"
    assert answer(["run", "-m", *OPTIONS, "--out", str(folder)]) == 0
    return folder


def said(capsys: pytest.CaptureFixture[str], *words: Any) -> str:
    capsys.readouterr()
    # Of so few worlds no design may be called the best, which is an exit code of its own.
    assert answer([str(word) for word in words]) in (0, 3), capsys.readouterr().err
    return capsys.readouterr().out


@pytest.mark.parametrize("plain", [False, True])
def test_null_among_numbers_is_nan_and_is_chosen_as_any_value(numbers: Path, plain: bool) -> None:
    dataset = xr.open_zarr(numbers / "results.zarr", chunks=None) if plain else simlab.open_results(numbers)
    np.testing.assert_array_equal(dataset["load_entropy"], [np.nan, 0.5, 0.9])
    assert dataset["load_entropy"].attrs["units"] == "1"
    power = dataset["power"].load()
    assert float(power.sel(load_entropy=0.9)) == float(power[2])
    assert float(power.sel(load_entropy=np.nan)) == float(power[0])
    held = power.where(power["load_entropy"].notnull(), drop=True)
    assert held.sel(load_entropy=slice(0.6, None)).sizes["load_entropy"] == 1
    assert power.to_series().index.isna().tolist() == [True, False, False]


@pytest.mark.parametrize("plain", [False, True])
def test_true_and_false_are_boolean(options: Path, plain: bool) -> None:
    dataset = xr.open_zarr(options / "results.zarr", chunks=None) if plain else simlab.open_results(options)
    assert dataset["shared_order"].dtype == bool
    assert dataset["shared_order"].values.tolist() == [True, False]
    assert float(dataset["correct"].sel(shared_order=False)) == float(dataset["correct"][1])
    assert dataset["correct"].where(dataset["shared_order"], drop=True).sizes["shared_order"] == 1


def test_values_added_later_are_those_of_a_sweep_of_all(numbers: Path, tmp_path: Path) -> None:
    words = ["run", "-m", "design.load_entropy=null,.5,.9", *NUMBERS, "--out", str(tmp_path / "once")]
    assert answer(words) == 0
    with simlab.open_results(numbers) as grown, simlab.open_results(tmp_path / "once") as once:
        xr.testing.assert_equal(grown, once)


@pytest.mark.parametrize("value", [None, "null", np.nan])
def test_null_is_chosen_by_each_of_its_names(numbers: Path, value: Any) -> None:
    found = simlab.query(numbers, load_entropy=value, measure="power")
    assert np.isnan(found["load_entropy"].item())
    assert found["power"].item() == simlab.open_results(numbers)["power"][0].item()
    with pytest.raises(simlab.InputError, match=r"load_entropy=0\.7 is not in the store"):
        simlab.query(numbers, load_entropy=0.7)


def test_answers_say_null_true_and_false(
    numbers: Path, options: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert re.findall(r"^(null|0\.5|0\.9) ", said(capsys, "query", numbers), re.MULTILINE)[:3] == ["null", "0.5", "0.9"]
    assert re.findall(r"^(true|false) ", said(capsys, "query", options), re.MULTILINE)[:2] == ["true", "false"]
    listed = [json.loads(said(capsys, "query", folder, "--format", "json")) for folder in (numbers, options)]
    assert [row["load_entropy"] for row in listed[0]] == [None, 0.5, 0.9]
    assert [row["shared_order"] for row in listed[1]] == [True, False]
    table = said(capsys, "query", options, "--format", "csv")
    assert [row["shared_order"] for row in csv.DictReader(io.StringIO(table))] == ["true", "false"]
    read = pd.read_csv(io.StringIO(said(capsys, "query", numbers, "--format", "csv")))
    np.testing.assert_array_equal(read["load_entropy"], [np.nan, 0.5, 0.9])
    chosen = json.loads(said(capsys, "query", options, "shared_order=false", "--format", "json"))
    assert chosen == listed[1][1:]


def test_designs_are_compared_with_null_and_with_false(
    numbers: Path, options: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder, by, baseline, held in (
        (numbers, "load_entropy", "null", None),
        (options, "shared_order", "false", False),
    ):
        words = ("compare", folder, "--by", by, "--baseline", baseline)
        assert f"minus {baseline}" in said(capsys, *words)
        rows = json.loads(said(capsys, *words, "--format", "json"))
        assert {row["baseline"] for row in rows} == {held}
        assert [row[by] for row in rows if row["difference"] is None] == [held]
        with pytest.raises(simlab.InputError, match="is not in the store"):
            simlab.compare(folder, by=by, baseline="7")
    compared = simlab.compare(numbers, by="load_entropy", baseline="null")
    assert np.isnan(compared["difference"].sel(load_entropy=np.nan))
    assert simlab.compare(options, by="shared_order")["shared_order"].dtype == bool


def test_figures_and_reports_name_every_value(
    numbers: Path, options: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ticks = [[label.get_text() for label in simlab.plot(f).axes[0].get_xticklabels()] for f in (numbers, options)]
    assert ticks == [["balanced", "0.5", "0.9"], ["true", "false"]]
    for folder, words in ((numbers, ("null", "balanced")), (options, ("true", "false"))):
        for name in ("a.html", "a.md"):
            said(capsys, "report", folder, "--out", tmp_path / name)
            page = (tmp_path / name).read_text()
            assert all(word in page for word in words)
            assert re.search(r"[>=|] *(nan|NaN|None|True|False) *[<,|]", page.partition("<script")[0]) is None


def test_tables_of_other_programs_keep_the_types(numbers: Path, options: Path, tmp_path: Path) -> None:
    for folder, axis in ((numbers, "load_entropy"), (options, "shared_order")):
        with simlab.open_results(folder) as dataset:
            held = dataset[axis].load()
        simlab.export(folder, out=tmp_path / f"{axis}.nc", form="netcdf")
        with xr.open_dataset(tmp_path / f"{axis}.nc", engine="h5netcdf") as read:
            xr.testing.assert_identical(read[axis], held)
        simlab.export(folder, out=tmp_path / f"{axis}.parquet", form="parquet")
        column = pd.read_parquet(tmp_path / f"{axis}.parquet")[axis]
        assert column.dtype == held.dtype
        np.testing.assert_array_equal(column, held)


def test_page_beside_a_store_lists_values_as_its_axes_have_them(numbers: Path) -> None:
    assert "load_entropy (design.load_entropy): null, 0.5, 0.9" in (numbers / "README.txt").read_text()
