"""Read what is missing as missing: means over unequal cells are those of the store's own measures."""

from __future__ import annotations

import re
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import simlab
from simlab.cli import answer
from simlab.engine import ledger
from simlab.messages import Reservation
from simlab.store.fill_values import HOLDS

DOCS = Path(__file__).parents[2] / "docs"
SWEEP = """
aim: Unequal cells.
axes: {{{axes}}}
set: {{{keys}, worlds: 2, studies: 6}}
measures: [significant_share]
"""
RATINGS = "design.min_documents: 6, systems.n_documents: 42, systems.n_segments: 42"
PREFERENCES = "question: compare, decision: human_only, metric: none, budget.annotations_per_pair: 40"


def filled(folder: Path, axes: str, keys: str = RATINGS) -> None:
    Path("s.yaml").write_text(SWEEP.format(axes=axes, keys=keys))
    assert answer(["sweep", "s.yaml", "--jobs", "1", "--out", str(folder)]) in (0, 3)


def worlds_added_to_one_cell(folder: Path) -> None:
    filled(folder, "design.documents: [8, 12]")
    words = ["sweep", "s.yaml", "design.documents=8", "worlds=5", "--jobs", "1", "--out", str(folder)]
    assert answer(words) in (0, 3)


def unlike_numbers_of_systems(folder: Path) -> None:
    filled(folder, "systems.n_systems: [3, 5]")


def unlike_numbers_of_compared_systems(folder: Path) -> None:
    filled(folder, "systems.n_systems: [3, 4]", PREFERENCES)


def an_interrupted_sweep(folder: Path) -> None:
    filled(folder, "design.documents: [8, 12]")
    with ledger.open_to_write(folder) as book:
        book.mark_stale()
        book.discard([row for row in book.blocks(book.entries()[0].cell) if row.block.address.world == 1])
    shutil.rmtree(folder / "results.zarr")


UNEQUAL = [
    worlds_added_to_one_cell,
    unlike_numbers_of_systems,
    unlike_numbers_of_compared_systems,
    an_interrupted_sweep,
]


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("unequal")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for fill in UNEQUAL:
            fill(folder / fill.__name__)
    return {fill.__name__: folder / fill.__name__ for fill in UNEQUAL}


def opened(folder: Path) -> xr.Dataset:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Reservation)
        return simlab.open_results(folder).load()


def mean_significant(results: xr.Dataset) -> xr.DataArray:
    """Return the recipe that everybody writes."""
    return results["significant"].mean(("replicate", "pair"))


@pytest.mark.parametrize("name", [fill.__name__ for fill in UNEQUAL])
def test_a_mean_over_unequal_cells_is_the_measure(stores: dict[str, Path], name: str) -> None:
    results = opened(stores[name])
    np.testing.assert_allclose(mean_significant(results), results["significant_share"], rtol=1e-6)
    there = (results["status"] == 0) & results["pair_exists"]
    assert not there.all()
    # A value is there where, and only where, a campaign was carried out for a pair of the cell.
    for outcome in ("significant", "verdict" if "verdict" in results else "direction"):
        assert (results[outcome].notnull() == there.transpose(*results[outcome].dims)).all()
    assert (results["ratings_used"].notnull() == (results["status"] == 0)).all()
    if name == "an_interrupted_sweep":
        return
    with xr.open_zarr(stores[name] / "results.zarr", chunks=None) as plain:
        np.testing.assert_allclose(mean_significant(plain), results["significant_share"], rtol=1e-6)
        assert plain["significant"].dtype == results["significant"].dtype


@pytest.mark.parametrize("name", [fill.__name__ for fill in UNEQUAL[:3]])
def test_exports_hold_what_is_missing_as_missing(stores: dict[str, Path], name: str, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    results = opened(stores[name])
    for form, file in (("netcdf", "a.nc"), ("parquet", "a.parquet")):
        assert answer(["export", str(stores[name]), "--as", form, "--out", str(tmp_path / file)]) == 0
    with xr.open_dataset(tmp_path / "a.nc", engine="h5netcdf") as held:
        np.testing.assert_allclose(mean_significant(held), results["significant_share"], rtol=1e-6)
        assert held["significant"].encoding["dtype"] == np.int8
        xr.testing.assert_equal(held["ratings_used"].load(), results["ratings_used"])
    rows = pandas.read_parquet(tmp_path / "a.campaigns.parquet")
    axis = next(str(dim) for dim in results["significant_share"].dims)
    found = rows.explode("significant").groupby(axis)["significant"].apply(lambda one: one.astype(float).mean())
    np.testing.assert_allclose(found.to_numpy(), results["significant_share"], rtol=1e-6)


def test_outcomes_of_a_cell_are_what_campaigns_gave(stores: dict[str, Path]) -> None:
    from simlab.store.opening import outcomes_of_cell

    results = opened(stores["unlike_numbers_of_systems"])
    for k, n in enumerate((3, 10)):
        outcomes = outcomes_of_cell(results, (k,))
        assert outcomes["significant"].dtype == bool
        assert outcomes["direction"].dtype == np.int8
        assert outcomes["ratings_used"].dtype == np.int32
        assert outcomes["significant"].shape == (12, n)
    assert {str(results[name].attrs[HOLDS]) for name in ("significant", "direction")} == {"bool", "int8"}


BLOCKS = [
    pytest.param(text, id=f"{page.stem}-{k}")
    for page in sorted(DOCS.glob("*.md"))
    for k, text in enumerate(re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL))
    if 'open_results("store"' in text and "share" in text
]


@pytest.mark.parametrize("name", [fill.__name__ for fill in UNEQUAL])
@pytest.mark.parametrize("block", BLOCKS)
def test_recipes_of_the_pages_give_the_measures(
    stores: dict[str, Path], name: str, block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(stores[name], "store")
    found: dict[str, xr.DataArray] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Reservation)
        exec(compile(block, "recipe", "exec"), found)
        measures = simlab.query("store", measure=["significant_share", "ratings_used"])
    np.testing.assert_allclose(found["share"], measures["significant_share"], rtol=1e-6)
    if "used" in found:
        np.testing.assert_allclose(found["used"], measures["ratings_used"], rtol=1e-6)


def test_there_are_recipes() -> None:
    assert len(BLOCKS) >= 2
