"""What a store holds, that it holds the same whatever way it came about, and what is asked of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import fake_studies
import numpy as np
import pytest
import xarray as xr
from places import places

import simlab
from simlab import schemas
from simlab.config import compose
from simlab.config.sweep import Axis, Sweep
from simlab.store import filling, layout, opening
from simlab.store.fill_values import BLANK, HOLDS
from simlab.store.folder import last_store, remember_last
from simlab.store.query import add_measures, records, select
from simlab.store.verifying import verify
from simlab.studies.blocks import run_block
from simlab.studies.kinds import outcomes as declared_outcomes
from simlab.types import BLOCK_FAILED, OK, UNRUN, InputError, Place


def lay(sweep: Sweep, folder: Path, block: str = "block", jobs: int = 1, **changes: Any) -> Path:
    parts = {"measures": fake_studies.MEASURES, "labels": fake_studies.LABELS, "check": fake_studies.check} | changes
    filling.fill(sweep, folder, jobs=jobs, block=getattr(fake_studies, block), quiet=True, **parts)
    return folder


ENDS = ("", "_mcse", "_n", "_clusters", "_low", "_high", "_failed")


def query(folder: Path, conditions: Mapping[str, Any] | None = None, measures: Any = None) -> list[dict[str, Any]]:
    with simlab.open_results(folder) as dataset:
        return records(select(dataset, conditions or {}), measures or opening.measures_of(dataset))


def sizes_differ() -> Sweep:
    return fake_studies.sweep(axes=[Axis("n_systems", "size", (4, 3)), Axis("price", "price", (None, 0.5))])


def block_with_price(config: Mapping[str, Any], places: Sequence[Place]) -> fake_studies.Block:
    return fake_studies.block({**config, "price": config["price"] or 0}, places)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lay(fake_studies.sweep(), tmp_path_factory.mktemp("store"))


def test_plain_xarray_opens_a_store_lazily(folder: Path) -> None:
    with xr.open_zarr(folder / "results.zarr", chunks=None) as dataset:
        assert not dataset["estimate"].variable._in_memory
        assert dataset["estimate"].dims == ("documents", "replicate", "system")
        assert dataset["documents"].values.tolist() == [10, 20]
        assert dataset["documents"].attrs["key"] == "design.documents"
        assert dataset["system"].values.tolist() == ["system 0", "system 1", "system 2"]
        assert {"world", "study", "document_set", "pair_first", "pair_second"} <= set(dataset.coords)
        assert dataset["pair_second"].values.tolist() == [1, 2, 2]
        assert dataset.sel(documents=20, system="system 1")["estimate"].shape == (20,)
        assert dataset["true_value"].dims == ("documents", "of_world", "system")


def test_dimensions_and_measures_come_in_the_order_of_the_sweep(tmp_path: Path) -> None:
    axes = [Axis("price", "price", (1.0, 2.0)), Axis("design.documents", "documents", (10,))]
    lay(fake_studies.sweep(axes=axes, measures=("share", "mean")), tmp_path)
    with simlab.open_results(tmp_path) as dataset:
        assert list(dataset.sizes)[:2] == ["price", "documents"] == list(opening.name_axes(dataset))
        assert list(dataset.data_vars)[:4] == ["share", "share_mcse", "share_n", "share_influence"]
        assert opening.measures_of(dataset) == ("share", "mean")


def test_a_store_says_where_it_comes_from(folder: Path) -> None:
    with simlab.open_results(str(folder)) as dataset:
        assert dataset.attrs["schema"] == schemas.STORE
        assert dataset.attrs["seed"] == 1
        assert dataset.attrs["conditional"] == 0
        assert dataset.attrs["simlab"] == simlab.__version__
        assert {"numpy", "scipy", "python", "commit", "lock"} <= set(dataset.attrs)
        assert json.loads(dataset.attrs["sweep"])["aim"] == "try the engine"
        assert json.loads(dataset.attrs["config"])["price"] == 1.0
        assert dataset["share"].attrs["label"] == "share of significant pairs"


@pytest.mark.parametrize("jobs", [2, 4])
def test_the_number_of_jobs_changes_no_byte(tmp_path: Path, folder: Path, jobs: int) -> None:
    assert fake_studies.digest(lay(fake_studies.sweep(), tmp_path, jobs=jobs)) == fake_studies.digest(folder)


@pytest.mark.parametrize(
    "smaller",
    [
        {"worlds": 1, "documents": (10,)},
        {"studies": 6},
        *(pytest.param(one, marks=pytest.mark.slow) for one in ({"documents": (10,)}, {"worlds": 1}, {"block": 9})),
    ],
)
def test_growing_into_a_sweep_changes_no_byte(tmp_path: Path, folder: Path, smaller: dict[str, Any]) -> None:
    lay(fake_studies.sweep(**smaller), tmp_path)
    assert fake_studies.digest(lay(fake_studies.sweep(), tmp_path)) == fake_studies.digest(folder)


def test_a_new_value_on_an_axis_changes_no_old_cell(tmp_path: Path, folder: Path) -> None:
    lay(fake_studies.sweep(), tmp_path)
    lay(fake_studies.sweep((5, 20)), tmp_path)
    with simlab.open_results(folder) as old, simlab.open_results(tmp_path) as new:
        assert new["documents"].values.tolist() == [5, 10, 20]
        xr.testing.assert_identical(old.drop_attrs().load(), new.isel(documents=[1, 2]).drop_attrs().load())


def test_measures_are_those_of_the_outcomes(folder: Path) -> None:
    with simlab.open_results(folder) as dataset:
        for k in range(2):
            outcomes = opening.outcomes_of_cell(dataset, (k,))
            for name, measure in fake_studies.MEASURES.items():
                estimate = measure(outcomes)
                assert dataset[name].values[k] == estimate.value
                assert dataset[f"{name}_mcse"].values[k] == estimate.mcse
                assert dataset[f"{name}_n"].values[k] == estimate.n
                influence = dataset[f"{name}_influence"].values[k]
                np.testing.assert_array_equal(influence[np.isfinite(influence)], estimate.influence)


def test_outcomes_come_back_as_the_blocks_gave_them(tmp_path: Path) -> None:
    parts = {"measures": {}, "check": fake_studies.check, "quiet": True}
    filling.fill(sizes_differ(), tmp_path, jobs=1, block=block_with_price, **parts)
    with simlab.open_results(tmp_path) as dataset:
        np.testing.assert_array_equal(dataset["price"], [np.nan, 0.5])
        assert dataset["n_systems"].values.tolist() == [[3, 3], [4, 4]]
        assert dataset["system"].values.tolist() == [0, 1, 2, 3]
        for cell in sizes_differ().cells():
            blocks = [block_with_price(cell.config, places(world, 10)).arrays for world in range(2)]
            # Sizes 4 and 3 were asked for in this order, and stand in ascending order.
            outcomes = opening.outcomes_of_cell(dataset, (1 - cell.index[0], cell.index[1]))
            assert outcomes.keys() == blocks[0].keys()
            failed = np.concatenate([block["status"] for block in blocks]) != OK
            for name, array in outcomes.items():
                given = np.concatenate([block[name] for block in blocks])
                if HOLDS in dataset[name].attrs and "replicate" in dataset[name].dims:
                    # What a campaign that failed concludes is blank.
                    given[failed] = dataset[name].attrs[BLANK]
                np.testing.assert_array_equal(array, given, err_msg=name)
                assert array.dtype == blocks[0][name].dtype


def test_small_chunks_hold_the_same(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "CHUNK_BYTES", 200)
    lay(fake_studies.sweep(), tmp_path)
    assert (tmp_path / "results.zarr/estimate/c/1/2/0").is_file()
    with simlab.open_results(folder) as whole, simlab.open_results(tmp_path) as split:
        xr.testing.assert_identical(whole.load(), split.load())
    assert verify(tmp_path, fake_studies.MEASURES).problems == ()


def test_a_single_cell_needs_no_axis(tmp_path: Path) -> None:
    lay(fake_studies.sweep(axes=(), worlds=1), tmp_path)
    with simlab.open_results(tmp_path) as dataset:
        assert dataset["mean"].dims == ()
        assert dataset.attrs["conditional"] == 1
        assert opening.outcomes_of_cell(dataset, ())["estimate"].shape == (10, 3)
    assert list(query(tmp_path)[0]) == [f"{m}{s}" for m in ("mean", "share") for s in ENDS]
    assert verify(tmp_path, fake_studies.MEASURES).problems == ()


def test_what_never_ran_has_its_own_status(tmp_path: Path) -> None:
    lay(fake_studies.sweep(worlds=1, studies=10), tmp_path)
    lay(fake_studies.sweep((30,), worlds=2, studies=4), tmp_path)
    with simlab.open_results(tmp_path) as dataset:
        ran = (dataset["status"] != UNRUN).sum("replicate")
        assert ran.values.tolist() == [10, 10, 8]
        assert len(opening.outcomes_of_cell(dataset, (2,))["world"]) == 8
    assert verify(tmp_path, fake_studies.MEASURES).problems == ()


def test_failed_blocks_are_counted_and_bounded(tmp_path: Path, folder: Path) -> None:
    lay(fake_studies.sweep(), tmp_path, "raising")
    with simlab.open_results(tmp_path) as dataset, simlab.open_results(folder) as sound:
        status = dataset["status"].values[0]
        assert (status == BLOCK_FAILED).sum() == 4
        assert dataset["document_set"].values.tolist() == sound["document_set"].values.tolist()
        lost = float(np.mean(status != OK))
        value = float(dataset["share"][0])
        assert float(dataset["share_low_if_failed"][0]) == pytest.approx((1 - lost) * value)
        assert float(dataset["share_high_if_failed"][0]) == pytest.approx((1 - lost) * value + lost)
        assert "mean_low_if_failed" not in dataset
        outcomes = opening.outcomes_of_cell(dataset, (0,))
        assert np.isnan(outcomes["estimate"][outcomes["status"] == BLOCK_FAILED]).all()
    assert [problem[:7] for problem in verify(tmp_path).problems] == ["failed:", "failed:"]


def test_a_sweep_of_which_nothing_succeeds_has_no_value(tmp_path: Path) -> None:
    def hopeless(*address: Any) -> fake_studies.Block:
        raise RuntimeError("no")

    parts = {"check": fake_studies.check, "quiet": True}
    filling.fill(fake_studies.sweep(), tmp_path, fake_studies.MEASURES, 1, block=hopeless, **parts)
    with simlab.open_results(tmp_path) as dataset:
        assert np.isnan(dataset["mean"].values).all()
        assert dataset["mean_n"].values.tolist() == [0, 0]


def test_a_sweep_may_keep_measures_only(tmp_path: Path, folder: Path) -> None:
    sweep = fake_studies.sweep()
    lay(replace(sweep, base={**sweep.base, "engine": {**sweep.base["engine"], "outcomes": False}}), tmp_path)
    with simlab.open_results(folder) as whole, simlab.open_results(tmp_path) as measures:
        assert "estimate" not in measures
        xr.testing.assert_equal(whole["share_influence"].load(), measures["share_influence"].load())
        with pytest.raises(InputError, match=r"engine\.outcomes=false"):
            opening.outcomes_of_cell(measures, (0,))


def test_every_outcome_of_a_study_has_its_place() -> None:
    declared = declared_outcomes()
    config = compose(["systems=recorded", "design.documents=10", "worlds=1"])
    block = run_block(config, places(0, 2))
    assert block.arrays.keys() <= {"world", "study", *declared}
    synthetic = run_block(compose(["design.documents=10"]), places(0, 2))
    assert synthetic.arrays.keys() <= {"world", "study", *declared}
    for arrays in (block.arrays, synthetic.arrays):
        for name in arrays.keys() & declared.keys():
            assert arrays[name].dtype == declared[name].dtype, name


def test_query_selects_cells_and_measures(folder: Path) -> None:
    records = query(folder, {"documents": ["20"]}, ["share"])
    with simlab.open_results(folder) as dataset:
        expected = {name: dataset[name].values[1].item() for name in ("share", "share_mcse", "share_n")}
    (record,) = records
    assert record == {"documents": 20, **expected, **{f"share{end}": record[f"share{end}"] for end in ENDS[3:]}}
    assert record["share_low"] < record["share"] < record["share_high"]
    # Of twenty campaigns two had a design that failed.
    assert (record["share_clusters"], record["share_failed"]) == (18, 2)
    assert [record["documents"] for record in query(folder, {"documents": [20, 10.0]})] == [20, 10]
    assert json.loads(json.dumps(query(folder))) == query(folder)


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({"document": ["10"]}, "the store has no axis document; did you mean documents?"),
        ({"documents": ["11"]}, "documents=11 is not in the store; "),
    ],
)
def test_query_names_the_nearest(folder: Path, conditions: Any, message: str) -> None:
    with pytest.raises(InputError) as refused:
        query(folder, conditions)
    assert message in str(refused.value)


def test_a_measure_that_is_not_stored_is_computed(tmp_path: Path, folder: Path) -> None:
    lay(fake_studies.sweep(), tmp_path, measures={"mean": fake_studies.mean})
    known = {"share": fake_studies.share}
    with simlab.open_results(tmp_path) as dataset, simlab.open_results(folder) as whole:
        more = add_measures(dataset, known)
        xr.testing.assert_equal(more["share_influence"].load(), whole["share_influence"].load())
        assert opening.measures_of(more) == ("mean", "share")


def test_a_folder_without_results_is_named(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(InputError, match="holds no results"):
        simlab.open_results(tmp_path)
    metadata = lay(fake_studies.sweep(), tmp_path) / "results.zarr/zarr.json"
    metadata.write_text(metadata.read_text().replace(f'"schema": {schemas.STORE}', '"schema": 1'))
    with pytest.raises(InputError, match="is a store of schema 1, made by simlab"):
        simlab.open_results(tmp_path)
    metadata.write_text("{")
    with pytest.raises(InputError, match="damaged"):
        simlab.open_results(tmp_path)


def test_the_last_store_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="nothing was run here yet"):
        last_store()
    (tmp_path / "outputs" / "a").mkdir(parents=True)
    remember_last(Path("outputs/a"))
    assert last_store() == Path("outputs/a")
    remember_last(tmp_path / "b")
    with pytest.raises(InputError, match="is gone"):
        last_store()


def test_values_added_later_stand_in_ascending_order(tmp_path: Path) -> None:
    def asked(*sizes: int) -> Sweep:
        return fake_studies.sweep(axes=[Axis("n_systems", "size", sizes), Axis("price", "price", (1.0, 0.5))])

    lay(asked(4, 3), tmp_path / "grown")
    grown = lay(asked(5, 2), tmp_path / "grown")
    at_once = lay(asked(2, 3, 4, 5), tmp_path / "at_once")
    with simlab.open_results(grown) as one, simlab.open_results(at_once) as other:
        assert one["size"].values.tolist() == [2, 3, 4, 5]
        assert one["price"].values.tolist() == [0.5, 1.0]
        assert one["n_systems"].sel(price=1.0).values.tolist() == [2, 3, 4, 5]
        assert json.loads(one.attrs["sweep"])["axes"] == json.loads(other.attrs["sweep"])["axes"]
        for name in opening.measures_of(one):
            xr.testing.assert_equal(one[name].variable, other[name].variable)
    assert verify(grown).problems == ()
