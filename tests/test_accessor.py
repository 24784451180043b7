"""What a dataset of xarray can be asked: the same as the functions of simlab, once simlab is imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import simlab
from simlab.cli import answer
from simlab.commands.accessor import Accessor

TYPED = ("systems.n_systems=4", "systems.n_documents=21", "systems.n_segments=42", "worlds=2", "studies=4")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("asked") / "store"
    words = ["sweep", "item_grouping", *TYPED, "design.documents=8,12", "--out", str(folder), "--jobs", "1"]
    assert answer(words) == 0
    return folder


def asked(dataset: xr.Dataset) -> Accessor:
    # Types of xarray know nothing of what is registered.
    accessor: Any = dataset
    return accessor.simlab  # type: ignore[no-any-return]


@pytest.fixture(params=["open_results", "open_zarr"])
def dataset(request: pytest.FixtureRequest, store: Path) -> xr.Dataset:
    if request.param == "open_results":
        return simlab.open_results(store)
    return xr.open_zarr(store / "results.zarr", chunks=None)


@pytest.mark.parametrize("name", ["power", "srp", "cost", "kendall"])
def test_a_measure_is_what_query_says_of_it(dataset: xr.Dataset, name: str) -> None:
    told, queried = asked(dataset).measure(name, documents=12), simlab.query(dataset, measure=name, documents=12)
    assert list(told)[:3] == ["value", "mcse", "n"]
    assert set(told["value"].dims) == {"grouping", "documents"}
    for short, full in (("value", name), ("mcse", f"{name}_mcse"), ("n", f"{name}_n"), ("low", f"{name}_low")):
        np.testing.assert_array_equal(told[short], queried[full])
        assert told[short].attrs["long_name"] == queried[full].attrs["long_name"]
    assert told["value"].attrs["units"] == told["mcse"].attrs["units"] == dataset[name].attrs["units"]
    assert told["value"].attrs["ancillary_variables"].split() == ["mcse", "n"]


def test_measures_say_what_they_are_by_names_of_the_cf_conventions(dataset: xr.Dataset) -> None:
    about = asked(dataset).measure("srp")["value"].attrs
    assert about["comment"].startswith("Stable ranking probability")
    assert about["references"] == "Riley et al. 2024, section 5"
    for name in ("srp", "power"):
        beside = dataset[name].attrs["ancillary_variables"].split()
        assert beside == [f"{name}_mcse", f"{name}_n"]
        assert all(dataset[one].dims == dataset[name].dims for one in beside)


def test_designs_are_compared_and_drawn_as_by_the_functions(dataset: xr.Dataset, tmp_path: Path) -> None:
    told = asked(dataset).compare(by="grouping", measure="power", baseline="ungrouped", documents=[12])
    wanted = simlab.compare(dataset, by="grouping", measure="power", baseline="ungrouped", documents=[12])
    xr.testing.assert_identical(told, wanted)
    figure = asked(dataset).plot("grouping=ungrouped", measure="power", target=0.5, out=tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 0
    drawn = simlab.plot(dataset, "grouping=ungrouped", measure="power", target=0.5)
    for one, other in zip(figure.axes[0].lines, drawn.axes[0].lines, strict=True):
        np.testing.assert_array_equal(one.get_xydata(), other.get_xydata())


def test_which_axis_decides_is_told_of_the_cells_that_are_kept(dataset: xr.Dataset) -> None:
    found = asked(dataset).importance("cost")
    assert found["main"].sel(axis="documents") == pytest.approx(1.0)
    assert found["main"].sel(axis="grouping") == pytest.approx(0.0, abs=1e-9)
    kept = asked(dataset).importance("power", "documents=12")
    assert kept["axis"].values.tolist() == ["grouping"]


def test_answers_over_worlds_refuse_what_a_few_worlds_cannot_tell(dataset: xr.Dataset) -> None:
    ask = asked(dataset)
    for question in (
        lambda: ask.quantiles("power"),
        lambda: ask.share("power>=.8"),
        lambda: ask.share_better("power", 0.02, by="grouping", baseline="ungrouped"),
    ):
        with pytest.raises(simlab.InputError, match="2 worlds have a value here"):
            question()
    with pytest.raises(simlab.InputError, match="a curve needs 3"):
        ask.solve("documents", power=0.8)
    with pytest.raises(simlab.InputError, match=r"one target, such as power=\.8; 2 are given"):
        ask.solve("documents", power=0.8, srp=0.9)


def test_mistakes_are_those_of_the_functions(dataset: xr.Dataset) -> None:
    with pytest.raises(simlab.InputError, match="does not have the measure powr; did you mean power"):
        asked(dataset).measure("powr")
    with pytest.raises(simlab.InputError, match="the axis group"):
        asked(dataset).compare(by="group")
    for verb in ("measure", "compare", "plot"):
        words: Any = {"measure": {"name": "a"}, "compare": {"by": "x"}, "plot": {}}[verb]
        with pytest.raises(simlab.InputError, match="no attribute sweep; take one that"):
            getattr(asked(xr.Dataset({"a": ("x", [1.0])})), verb)(**words)


@pytest.mark.parametrize(
    "lines",
    [
        "import simlab; import xarray",
        "import xarray; import simlab",
        "import simlab; from xarray.core import dataset; import xarray",
        "import simlab; from importlib.util import find_spec; find_spec('xarray'); import xarray",
    ],
)
def test_datasets_have_it_whichever_is_imported_first(lines: str) -> None:
    code = f"{lines}; print(type(xarray.Dataset().simlab).__name__)"
    out = subprocess.run(
        [sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning", "-c", code],
        capture_output=True,
        text=True,
        check=True,
    )
    assert out.stdout == "Accessor\n"


def test_importing_simlab_does_not_import_xarray() -> None:
    code = "import sys, simlab; print('xarray' in sys.modules, 'numpy' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == "False False\n"
