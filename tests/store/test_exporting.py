"""What a whole store exports is what it holds, as readers that know nothing of simlab read it."""

from __future__ import annotations

import json
import os
import resource
import signal
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import fake_studies
import numpy as np
import pyarrow.parquet as pq
import pytest
import xarray as xr

import simlab
from simlab import schemas
from simlab.config.sweep import Axis
from simlab.store import exporting, filling, parquet
from simlab.store.coordinates import restore_axis_values
from simlab.store.fill_values import HOLDS, absent_cells
from simlab.store.opening import measures_of, name_axes, outcome_names, outcomes_of_cell
from simlab.store.query import records, select
from simlab.types import OK, UNRUN, InputError, Place


def unlike(config: Mapping[str, Any], places: Sequence[Place]) -> fake_studies.Block:
    """Return blocks of which some lack an outcome, and where one campaign has no estimate."""
    found = fake_studies.block({**config, "price": config["price"] or 0}, places)
    arrays = dict(found.arrays)
    arrays["estimate"] = np.where(arrays["status"][:, None] > 0, np.nan, arrays["estimate"])
    if config["n_systems"] == 3:
        del arrays["p_value"]
    return replace(found, arrays=arrays)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sweep = fake_studies.sweep(axes=[Axis("n_systems", "size", (4, 3)), Axis("price", "price", (None, 0.5))])
    place = tmp_path_factory.mktemp("store")
    parts = {"measures": fake_studies.MEASURES, "labels": fake_studies.LABELS, "check": fake_studies.check}
    filling.fill(sweep, place, jobs=1, block=unlike, quiet=True, **parts)  # type: ignore[arg-type]
    return place


@pytest.fixture(params=[exporting.AT_ONCE, 200], ids=["in one slab", "in many"])
def _slabs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Export also as if a store were much larger than what is read at a time."""
    cut = exporting.slabs
    for module in (exporting, parquet):
        monkeypatch.setattr(module, "slabs", lambda sizes, row, most=0: cut(sizes, row, request.param))


def same(first: xr.DataArray, second: xr.DataArray) -> bool:
    if first.dtype.kind == "T":
        return bool(first.values.tolist() == second.values.tolist())
    return first.dtype == second.dtype and np.array_equal(
        first.values, second.values, equal_nan=first.dtype.kind == "f"
    )


@pytest.mark.usefixtures("_slabs")
def test_plain_xarray_reads_from_netcdf_what_the_store_holds(folder: Path, tmp_path: Path) -> None:
    with simlab.open_results(folder) as store:
        assert exporting.export(store, tmp_path / "a.nc", "netcdf") == [tmp_path / "a.nc"]
        with xr.open_dataset(tmp_path / "a.nc", engine="h5netcdf") as read:
            assert list(read.data_vars) == list(store.data_vars)
            assert set(read.coords) == set(store.coords)
            assert [n for n in store.variables if read[n].dims != store[n].dims or not same(store[n], read[n])] == []
            assert {"i", "f"} <= {read[n].dtype.kind for n in read.data_vars}
            np.testing.assert_array_equal(read["price"], [np.nan, 0.5])
            assert read.attrs["simlab"] == store.attrs["simlab"]
            assert read.attrs["config"] == store.attrs["config"]
            assert read.attrs["dirty"] == store.attrs["dirty"]
            assert absent_cells(read["p_value"].attrs) == absent_cells(store["p_value"].attrs) == [[0, 0], [0, 1]]
    assert os.listdir(tmp_path) == ["a.nc"]


@pytest.mark.usefixtures("_slabs")
def test_cells_of_parquet_are_the_records_of_a_query(folder: Path, tmp_path: Path) -> None:
    with simlab.open_results(folder) as store:
        exporting.export(store, tmp_path / "a.parquet", "parquet")
        rows = pq.read_table(tmp_path / "a.parquet").to_pylist()
        wanted = records(store, measures_of(store))
    assert len(rows) == len(wanted) == 4
    for row, record in zip(rows, wanted, strict=True):
        known = {name: value for name, value in record.items() if name in row}
        assert {*record} - {*row} <= {"held_fixed"}
        for name, value in known.items():
            assert row[name] == (None if value != value else value), name


@pytest.mark.usefixtures("_slabs")
def test_campaigns_of_parquet_are_the_outcomes_of_their_cells(folder: Path, tmp_path: Path) -> None:
    with simlab.open_results(folder) as store:
        files = exporting.export(store, tmp_path / "a.parquet", "parquet")
        assert [file.name for file in files] == ["a.parquet", "a.campaigns.parquet", "a.worlds.parquet"]
        campaigns, worlds = (pq.read_table(file) for file in files[1:])
        for position in np.ndindex(2, 2):
            held = outcomes_of_cell(store, position)
            place = {
                axis: restore_axis_values(store[axis].values)[k]
                for axis, k in zip(name_axes(store), position, strict=True)
            }
            for table, row in ((campaigns, "world"), (worlds, "of_world")):
                own = [r for r in table.to_pylist() if all(r[axis] == value for axis, value in place.items())]
                assert len(own) == (20 if row == "world" else 2)
                for name in (n for n in outcome_names(store) if n in table.column_names):
                    wanted = held[name].astype(object).tolist() if name in held else [None] * len(own)
                    if row == "world" and HOLDS in store[name].attrs and name in held:
                        # What a campaign that failed would have concluded is missing.
                        gone = held["status"] != OK
                        nan = np.full_like(held[name], np.nan, object)
                        wanted = np.where(
                            gone.reshape(-1, *[1] * (nan.ndim - 1)), nan, held[name].astype(object)
                        ).tolist()
                    told = [[None if v != v else v for v in w] if isinstance(w, list) else w for w in wanted]
                    assert [r[name] for r in own] == told, name
                if row == "world":
                    assert [r["study"] for r in own] == held["study"].tolist()


def test_parquet_says_where_its_rows_come_from(folder: Path, tmp_path: Path) -> None:
    with simlab.open_results(folder) as store:
        files = exporting.export(store, tmp_path / "a.parquet", "parquet")
        attributes = store.attrs
    for file in files:
        said = {key.decode(): value.decode() for key, value in pq.read_schema(file).metadata.items()}
        assert said["simlab"] == attributes["simlab"]
        assert json.loads(said["simlab.config"]) == json.loads(attributes["config"])
        assert (said["simlab.schema"], said["simlab.seed"]) == (str(schemas.STORE), "1")
    field = pq.read_schema(files[1]).field("estimate")
    assert field.metadata[b"dims"] == b"system"


def test_cells_are_kept_and_what_they_lack_goes_with_them(folder: Path, tmp_path: Path) -> None:
    with simlab.open_results(folder) as store:
        kept = select(store, {"size": [3]})
        assert absent_cells(kept["p_value"].attrs) == [[0, 0], [0, 1]]
        assert "absent" not in select(store, {"size": [4]})["p_value"].attrs
        assert absent_cells(store["p_value"].attrs) == [[0, 0], [0, 1]]
        exporting.export(kept, tmp_path / "a.parquet", "parquet")
    rows = pq.read_table(tmp_path / "a.campaigns.parquet").to_pylist()
    assert {row["size"] for row in rows} == {3}
    assert {row["p_value"] is None for row in rows} == {True}
    assert {len(row["estimate"]) for row in rows} == {3}


def test_campaigns_that_never_ran_have_no_row(tmp_path: Path) -> None:
    sweep = fake_studies.sweep()
    with simlab.open_results(_laid(sweep, tmp_path)) as store:
        status = store["status"].copy()
        status[0, :5] = UNRUN
        exporting.export(store.assign(status=status), tmp_path / "a.parquet", "parquet")
    assert pq.read_metadata(tmp_path / "a.campaigns.parquet").num_rows == 2 * 20 - 5


def _laid(sweep: Any, place: Path) -> Path:
    parts = {"measures": fake_studies.MEASURES, "labels": fake_studies.LABELS, "check": fake_studies.check}
    filling.fill(sweep, place / "s", jobs=1, block=fake_studies.block, quiet=True, **parts)  # type: ignore[arg-type]
    return place / "s"


@pytest.mark.parametrize(("form", "file"), [("netcdf", "a.nc"), ("parquet", "a.parquet")])
def test_a_full_disk_is_one_line_and_leaves_what_was_there(
    folder: Path, tmp_path: Path, form: exporting.Whole, file: str
) -> None:
    (tmp_path / file).write_text("older")
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with simlab.open_results(folder) as store:
            store.load()
            resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
            with pytest.raises(InputError, match=r"cannot be written \(File too large\); free some space") as refused:
                exporting.export(store, tmp_path / file, form)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert "\n" not in str(refused.value)
    assert os.listdir(tmp_path) == [file]
    assert (tmp_path / file).read_text() == "older"


@pytest.mark.parametrize(("form", "file"), [("netcdf", "a.nc"), ("parquet", "a.parquet")])
def test_a_damaged_chunk_is_named_and_nothing_is_written(tmp_path: Path, form: exporting.Whole, file: str) -> None:
    store = _laid(fake_studies.sweep(), tmp_path)
    chunk = next(path for path in sorted((store / "results.zarr/significant/c").rglob("*")) if path.is_file())
    content = bytearray(chunk.read_bytes())
    content[len(content) // 2] ^= 1
    chunk.write_bytes(content)
    with simlab.open_results(store) as held, pytest.raises(InputError, match=r"significant/c/.* is damaged"):
        exporting.export(held, tmp_path / file, form)
    assert sorted(os.listdir(tmp_path)) == ["s"]


def test_slabs_cover_everything_once() -> None:
    for sizes in ([], [1], [5], [2, 3], [3, 4, 5]):
        for most in (1, 7, 40, 10**6):
            seen = np.zeros(sizes, int)
            for slab in exporting.slabs(sizes, 2, most):
                seen[slab] += 1
                assert 2 * np.ones(sizes)[slab].size <= max(most, 2)
            assert (seen == 1).all()
