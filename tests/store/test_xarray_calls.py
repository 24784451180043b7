"""The commonest calls of xarray on a store of each kind of study, opened by simlab and by plain xarray."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

import simlab
from simlab.cli import answer

SMALL = ("worlds=2", "studies=2", "--jobs", "1")
KINDS = {
    "rate": ("srp", "design.documents=40,20", *SMALL),
    "prefer": (
        "power",
        "systems=preference",
        "metric=none",
        "decision=human_only",
        "budget.annotations_per_pair=30,20",
        *SMALL,
    ),
    "judge": ("coverage", "question=judge", "budget.human_ratings=400,200", "budget.metric_ratings=1000", *SMALL),
}
"""The measure that is looked at, and what is run for a store whose axis is given from the greater to the less."""

Call = Callable[[xr.Dataset, str, Path], Any]


def written(dataset: xr.Dataset, measure: str, folder: Path, engine: str) -> None:
    dataset.to_netcdf(folder / "a.nc", engine=engine)
    with xr.open_dataset(folder / "a.nc", engine=engine) as read:
        np.testing.assert_array_equal(read[measure], dataset[measure])
        assert read[measure].attrs["long_name"] == dataset[measure].attrs["long_name"]


def zarred(dataset: xr.Dataset, measure: str, folder: Path, form: int) -> None:
    warnings.filterwarnings("ignore", ".*does not have a Zarr V3 specification")
    dataset.to_zarr(folder / "a.zarr", zarr_format=form, consolidated=form == 2)
    read = xr.open_zarr(folder / "a.zarr", consolidated=form == 2)
    np.testing.assert_array_equal(read[measure], dataset[measure])


def ascends(found: xr.DataArray) -> None:
    assert (np.diff(found) > 0).all()


CALLS: dict[str, Call] = {
    "to_netcdf h5netcdf": lambda ds, m, at: written(ds, m, at, "h5netcdf"),
    "to_netcdf netcdf4": lambda ds, m, at: written(ds, m, at, "netcdf4"),
    "to_netcdf of a measure": lambda ds, m, at: ds[m].to_netcdf(at / "a.nc", engine="h5netcdf"),
    "to_zarr 2": lambda ds, m, at: zarred(ds, m, at, 2),
    "to_zarr 3": lambda ds, m, at: zarred(ds, m, at, 3),
    "pickle": lambda ds, m, at: xr.testing.assert_identical(pickle.loads(pickle.dumps(ds.load())), ds),
    "merge": lambda ds, m, at: xr.testing.assert_equal(xr.merge([ds[[m]], ds[[f"{m}_n"]]])[m], ds[m]),
    "concat": lambda ds, m, at: xr.testing.assert_equal(
        xr.concat([ds[[m]].isel({axis(ds): [k]}) for k in (0, 1)], axis(ds))[m], ds[m]
    ),
    "to_dataframe": lambda ds, m, at: ds[[m]].to_dataframe()[m].loc[20:],
    "to_pandas": lambda ds, m, at: ds[m].to_pandas(),
    "to_dict": lambda ds, m, at: xr.testing.assert_equal(xr.Dataset.from_dict(ds[[m]].to_dict())[m], ds[m]),
    "sel": lambda ds, m, at: float(ds[m].sel({axis(ds): ds[axis(ds)].values[0]})),
    "sel nearest": lambda ds, m, at: float(ds[m].sel({axis(ds): 10**6}, method="nearest")),
    "sel of a slice": lambda ds, m, at: np.testing.assert_array_equal(ds[m].sel({axis(ds): slice(0, 10**6)}), ds[m]),
    "sel of a system": lambda ds, m, at: ds["estimate"].sel(system=ds["system"].values[0]).load(),
    "diff": lambda ds, m, at: ascends(ds[axis(ds)]),
    "interp": lambda ds, m, at: ds[m].interp({axis(ds): float(ds[axis(ds)].mean())}),
    "groupby of systems": lambda ds, m, at: ds["estimate"].groupby("system").mean(),
    "groupby of worlds": lambda ds, m, at: ds["estimate"].groupby("world").mean(),
    "idxmax": lambda ds, m, at: ds["estimate"].idxmax("system").load(),
    "astype": lambda ds, m, at: ds["system"].astype(str).load(),
    "plot": lambda ds, m, at: ds[m].plot(),
    "plot.imshow": lambda ds, m, at: ds["estimate"].mean((axis(ds), "replicate")).expand_dims("row").plot.imshow(),
    "where": lambda ds, m, at: ds[m].where(ds[axis(ds)] > 0, drop=True).load(),
    "to_array": lambda ds, m, at: ds[[m, f"{m}_mcse"]].to_array("what").load(),
}


def axis(dataset: xr.Dataset) -> str:
    return str(dataset[next(iter(dataset.data_vars))].dims[0])


@pytest.fixture(scope="module", params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp(str(request.param)) / "run"
    measure, *words = KINDS[request.param]
    assert answer(["run", "-m", *words, "--out", str(folder)]) == 0
    return folder, measure


@pytest.fixture(params=["open_results", "open_zarr"])
def dataset(request: pytest.FixtureRequest, store: tuple[Path, str]) -> xr.Dataset:
    folder, _ = store
    if request.param == "open_results":
        return simlab.open_results(folder)
    # Plain xarray takes along how chunks lie on the disk, which neither format 2 of Zarr nor NetCDF can be told.
    return xr.open_zarr(folder / "results.zarr", chunks=None).drop_encoding()


@pytest.mark.parametrize("call", CALLS)
def test_a_store_takes_the_usual_calls(call: str, dataset: xr.Dataset, store: tuple[Path, str], tmp_path: Path) -> None:
    CALLS[call](dataset, store[1], tmp_path)
    plt.close("all")
