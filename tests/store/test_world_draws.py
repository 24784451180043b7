"""Keys that worlds draw, in a store: their values beside the outcomes, the same however the store came about."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import zarr
from faults.told import told

import simlab
from simlab.comparing.world_values import panel_of_cells
from simlab.store.opening import name_axes
from simlab.store.world_draws import read_drawn_inputs, refuse_dependent
from simlab.studies.drawn_keys import draw_value, read_law
from simlab.types import InputError

LENIENT, TASTE = "raters.leniency_sd", "raters.rater_system_sd"
SIZES = ["systems.n_systems=4", "systems.n_documents=14", "systems.n_segments=28", "studies=2", "--jobs", "1"]
TEST = ["analysis.test.permutations=20"]
LAWS = [f"{LENIENT}=uniform(.1,.9),uniform(.1,.2),0.4", f"{TASTE}=lognormal(.2,.4)"]
WORDS = ["sweep", "item_grouping", "design.documents=7,14", "design.grouping=ungrouped", *SIZES, *LAWS, *TEST]


def sweep(folder: Path, *more: str) -> str:
    code, _, err = told(*WORDS, *more, "--out", str(folder))
    assert code in (0, 3), err
    return " ".join(err.split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("drawn") / "o"
    assert f"each world draws {LENIENT} by uniform(0.1,0.9) or uniform(0.1,0.2)" in sweep(place, "worlds=4")
    return place


def test_values_stand_over_worlds(folder: Path) -> None:
    with xr.open_zarr(folder / "results.zarr", chunks=None) as dataset:
        taste, lenient = dataset["drawn_rater_system_sd"], dataset["drawn_leniency_sd"]
        law = read_law(TASTE, "lognormal(.2,.4)")
        assert taste.dims == ("of_world",)
        assert taste.values.tolist() == [draw_value(law, 1, world, TASTE) for world in range(4)]
        assert taste.attrs["long_name"] == f"{TASTE} of each world, drawn by lognormal(0.2,0.4)"
        # Only where laws differ do values, and designs have the same ones.
        assert lenient.dims == ("leniency_sd", "of_world")
        wide, narrow, fixed = lenient.values
        assert (fixed == 0.4).all()
        np.testing.assert_allclose((wide - 0.1) / 0.8, (narrow - 0.1) / 0.1)
        assert "drawn_leniency_sd" in dataset.coords


def test_what_is_drawn_together_has_no_importance_of_its_own() -> None:
    def drawn(*laws: str) -> xr.Dataset:
        about = ({"key": f"raters.{k}", "law": law} for k, law in enumerate(laws))
        return xr.Dataset({f"drawn_{k}": (("of_world",), [0.0], one) for k, one in enumerate(about)})

    of_one, of_other = (f"posterior({file}), 100 draws from 1 to 2" for file in ("0123456789ab", "ba9876543210"))
    refuse_dependent(drawn("uniform(0.1,0.9)", of_one, of_other), ["drawn_0", "drawn_1", "drawn_2"])
    with pytest.raises(InputError, match=r"raters.0 and raters.1 were drawn together, by posterior\(0123456789ab\)"):
        refuse_dependent(drawn(of_one, of_one), ["drawn_0", "drawn_1"])


def test_pages_tell_what_is_drawn_and_how(folder: Path) -> None:
    line = f"each world draws {LENIENT} by uniform(0.1,0.9) or uniform(0.1,0.2), {TASTE} by lognormal(0.2,0.4)"
    assert line in " ".join(told("query", str(folder))[1].split())
    assert line[1:] in " ".join(told("show", str(folder))[1].split())
    found = json.loads(told("show", str(folder), "--format", "json")[1])
    assert found[0]["drawn"] == {LENIENT: "uniform(0.1,0.9) or uniform(0.1,0.2)", TASTE: "lognormal(0.2,0.4)"}
    code, out, _ = told("query", str(folder), "leniency_sd=uniform(0.1,0.2)", "--format", "json")
    assert code == 0
    assert {row["leniency_sd"] for row in json.loads(out)} == {"uniform(0.1,0.2)"}


def test_a_store_is_sound_and_a_campaign_comes_again(folder: Path) -> None:
    assert told("verify", str(folder))[0] == 0
    assert told("verify", str(folder), "--replay", "3.2.1")[0] == 0


def test_resumed_and_run_at_once_are_the_same_bits(folder: Path, tmp_path: Path) -> None:
    sweep(tmp_path / "o", "worlds=2")
    sweep(tmp_path / "o", "worlds=4")
    with simlab.open_results(folder) as whole, simlab.open_results(tmp_path / "o") as resumed:
        xr.testing.assert_identical(whole.drop_attrs(), resumed.drop_attrs())
        assert not whole["srp"].isel(leniency_sd=0).equals(whole["srp"].isel(leniency_sd=1))


def test_a_value_that_is_not_the_law_s_is_found(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "o")
    zarr.open_group(tmp_path / "o" / "results.zarr")["drawn_rater_system_sd"][1] = 0.123
    code, page, _ = told("verify", str(tmp_path / "o"))
    assert code == 3
    assert "drawn_rater_system_sd is not what the ledger says" in " ".join(page.split())


def test_tables_have_what_is_drawn(folder: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    assert told("export", str(folder), "--as", "parquet", "--out", str(tmp_path / "a.parquet"))[0] == 0
    table = parquet.read_table(tmp_path / "a.worlds.parquet").to_pydict()
    with simlab.open_results(folder) as dataset:
        drawn = dataset["drawn_rater_system_sd"].values
        for world, value in zip(table["of_world"], table["drawn_rater_system_sd"], strict=True):
            assert value == drawn[world]


def test_a_store_without_laws_has_no_such_variable(tmp_path: Path) -> None:
    code, _, err = told("run", *SIZES, "design.documents=7", "worlds=2", "--out", str(tmp_path / "o"))
    assert code in (0, 3), err
    with simlab.open_results(tmp_path / "o") as dataset:
        assert not [name for name in dataset.variables if str(name).startswith("drawn_")]
        assert "drawn" not in dataset.attrs


def test_importance_of_what_is_drawn_needs_worlds(folder: Path) -> None:
    code, _, err = told("query", str(folder), "--importance", "power")
    assert code == 2
    assert "4 worlds have a value here, and shares of what was drawn for them need 50; run more of them" in err


def test_a_world_has_one_place_whatever_law_a_cell_has(folder: Path) -> None:
    with simlab.open_results(folder) as dataset:
        inputs = read_drawn_inputs(dataset)
        assert inputs.keys() == {"drawn_leniency_sd", "drawn_rater_system_sd"}
        order = np.argsort(inputs["drawn_leniency_sd"]).tolist()
        assert order == np.argsort(dataset["drawn_leniency_sd"].values[1]).tolist()
        panel = panel_of_cells(dataset, "power", 4)
        assert panel.shape == (1, 2, 3, 4, 2)
        np.testing.assert_allclose(np.nanmean(panel, (-1, -2)), dataset["power"].transpose(*name_axes(dataset)).values)


@pytest.mark.slow
def test_importance_names_axes_and_what_is_drawn(tmp_path: Path) -> None:
    place = str(tmp_path / "o")
    words = [*SIZES[:3], "studies=3", f"{LENIENT}=uniform(0,3)", "design.documents=7,14", "worlds=60", *TEST]
    code, _, err = told("sweep", "item_grouping", "design.grouping=ungrouped", *words, "--out", place)
    assert code in (0, 3), err
    _, page, _ = told("query", place, "--importance", "power")
    said = " ".join(page.split())
    assert "drawn_leniency_sd" in page
    assert "over these cells and their worlds" in said
    assert "is chance of worlds that nothing here explains" in said
    found = json.loads(told("query", place, "--importance", "power", "--format", "json")[1])
    assert [row["axis"] for row in found["rows"]] == ["documents", "drawn_leniency_sd"]
    assert 0 <= found["rest"]["low"] <= found["rest"]["value"] <= found["rest"]["high"] <= 1
    with simlab.open_results(place) as dataset:
        laid = dataset.simlab.importance("power")
        assert laid["main"].values.tolist() == [row["main"] for row in found["rows"]]
        assert laid.attrs["rest"] == found["rest"]["value"]
