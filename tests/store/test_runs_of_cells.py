"""Stores that are too large for one chunk are laid, checked and read run by run, and hold what small ones do."""

from __future__ import annotations

import itertools
import math
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import fake_studies
import numpy as np
import pytest
import xarray as xr

import simlab
from simlab.config.sweep import Axis
from simlab.engine.backends import children
from simlab.store import cell_reading, filling, layout, opening
from simlab.store.cell_reading import agree_on_sets
from simlab.store.layout import Cut, cut
from simlab.store.verifying import verify
from simlab.types import Estimate, InputError, Outcome, Outcomes, Place

AXES = (
    Axis("design.documents", "documents", tuple(range(10, 15))),
    Axis("price", "price", (1.0, 2.0, 3.0)),
)
PARTS: dict[str, Any] = {"check": fake_studies.check, "quiet": True, "labels": fake_studies.LABELS}


def late(config: Any, places: Sequence[Place]) -> fake_studies.Block:
    """Conclude in some cells what others do not, and deal documents otherwise in some."""
    found = fake_studies.block(config, places)
    if config["design"]["documents"] < 13:
        del found.arrays["p_value"]
    if config["design"]["documents"] == 14 and config["price"] == 2.0:
        found.arrays["document_set"] += np.int32(1)
    return found


def lay(folder: Path, block: Any = fake_studies.block, jobs: int = 1) -> Path:
    filling.fill(fake_studies.sweep(axes=AXES), folder, fake_studies.MEASURES, jobs, block=block, **PARTS)
    return folder


@pytest.mark.parametrize("block", [fake_studies.block, fake_studies.raising, late])
@pytest.mark.parametrize(
    "most", [4_000, pytest.param(40, marks=pytest.mark.slow), pytest.param(16_000, marks=pytest.mark.slow)]
)
def test_a_store_that_is_cut_holds_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: Any, most: int
) -> None:
    lay(tmp_path / "whole", block)
    monkeypatch.setattr(layout, "CHUNK_BYTES", most)
    monkeypatch.setattr(cell_reading, "BATCH", 2)
    monkeypatch.setattr(cell_reading, "MOST_HELD", 10)
    lay(tmp_path / "cut", block)
    with simlab.open_results(tmp_path / "whole") as whole, simlab.open_results(tmp_path / "cut") as split:
        xr.testing.assert_identical(whole.load(), split.load())
    problems = verify(tmp_path / "cut", fake_studies.MEASURES).problems
    assert {problem[:6] for problem in problems} == ({"failed"} if block is fake_studies.raising else set())
    chunks = list((tmp_path / "cut/results.zarr/estimate/c").rglob("*"))
    assert len([path for path in chunks if path.is_file()]) == {40: 15 * 20, 4_000: 10, 16_000: 1}[most]


def test_what_might_have_been_large_and_is_not_lies_in_one_chunk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The widest outcome that campaigns can have is not the widest that these have."""
    lay(tmp_path / "whole")
    monkeypatch.setattr(layout, "count_largest_bytes", lambda size, names: 10**8 if "baseline" in names else 480)
    monkeypatch.setattr("simlab.store.writing.count_largest_bytes", layout.count_largest_bytes)
    lay(tmp_path / "cut")
    assert fake_studies.digest(tmp_path / "cut") == fake_studies.digest(tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.parametrize("block", [fake_studies.block, late])
def test_processes_change_no_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: Any) -> None:
    lay(tmp_path / "alone", block)
    started: list[children.Child] = []

    class Counted(children.Child):
        def __init__(self, start: bytes) -> None:
            super().__init__(start)
            started.append(self)

    monkeypatch.setattr(children, "Child", Counted)
    monkeypatch.setattr(cell_reading, "MANY", 1)
    monkeypatch.setattr(cell_reading, "BATCH", 2)
    monkeypatch.setattr(layout, "CHUNK_BYTES", 4_000)
    lay(tmp_path / "cut", block, jobs=1)
    assert started == []
    lay(tmp_path / "together", block, jobs=2)
    # Those of the measures, which are started last; another carries out blocks.
    assert [child.start for child in started].count(started[-1].start) == 2
    assert fake_studies.digest(tmp_path / "together") == fake_studies.digest(tmp_path / "cut")
    assert verify(tmp_path / "together", fake_studies.MEASURES, jobs=2).problems == ()


def deadly(outcomes: Outcomes) -> Estimate:
    """End the process that computes this measure, once."""
    with suppress(FileNotFoundError):
        Path(os.environ["SIMLAB_TEST_KILL"]).unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    return fake_studies.mean(outcomes)


@pytest.mark.slow
def test_a_worker_that_is_killed_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cell_reading, "MANY", 1)
    monkeypatch.setattr(cell_reading, "BATCH", 2)
    monkeypatch.setenv("SIMLAB_TEST_KILL", str(tmp_path / "kill"))
    sweep, measures = fake_studies.sweep(axes=AXES), {"mean": deadly, "share": fake_studies.share}
    filling.fill(sweep, tmp_path / "alone", measures, 1, block=fake_studies.block, **PARTS)
    (tmp_path / "kill").touch()
    filling.fill(sweep, tmp_path / "together", measures, 2, block=fake_studies.block, **PARTS)
    assert not (tmp_path / "kill").exists()
    assert fake_studies.digest(tmp_path / "together") == fake_studies.digest(tmp_path / "alone")


@pytest.mark.parametrize("name", ["estimate", "mean_influence", "share", "true_value"])
def test_a_changed_value_of_a_store_that_is_cut_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    import zarr

    monkeypatch.setattr(layout, "CHUNK_BYTES", 4_000)
    lay(tmp_path)
    array = zarr.open_group(tmp_path / "results.zarr", mode="a", use_consolidated=False)[name]
    changed = array[...]
    changed.flat[0] += 1
    array[...] = changed
    assert verify(tmp_path, fake_studies.MEASURES).problems == (f"results.zarr/{name} is not what the ledger says",)


def test_a_run_names_every_cell_once_and_in_order() -> None:
    for shape, cell_bytes in itertools.product([(), (7,), (3, 5), (2, 3, 4), (1, 9)], [1, 2**20, 2**22, 2**30]):
        of = cut(shape, cell_bytes)
        positions = [position for run in of.runs(shape) for position in run.positions()]
        assert positions == list(np.ndindex(*shape))
        assert all(len(run.shape) == len(shape) for run in of.runs(shape))
        largest = max(math.prod(run.shape) for run in of.runs(shape))
        assert largest == 1 or largest * cell_bytes <= layout.CHUNK_BYTES
    assert cut((4,), 2**20) == Cut(0, 4)


def test_document_sets_agree_where_they_are_known() -> None:
    outcome = Outcome(("replicate",), "int32", -1, "")
    first, second, third = np.array([0, 0, -1]), np.array([-1, 0, 1]), np.array([-1, 1, 1])
    assert agree_on_sets([], 3, outcome).tolist() == [-1, -1, -1]
    assert agree_on_sets([first, second], 3, outcome).tolist() == [0, 0, 1]
    assert agree_on_sets([first, second, third], 3, outcome) is None


def test_outcomes_are_read_chunk_by_chunk_where_that_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dask = pytest.importorskip("dask.array")
    monkeypatch.setattr(layout, "CHUNK_BYTES", 4_000)
    lay(tmp_path)
    with simlab.open_results(tmp_path, chunks={}) as chunked, simlab.open_results(tmp_path) as plain:
        estimate = chunked["estimate"]
        assert isinstance(estimate.data, dask.Array)
        assert max(map(math.prod, itertools.product(*estimate.chunks))) * 8 <= 4_000
        np.testing.assert_allclose(estimate.mean("replicate").values, plain["estimate"].mean("replicate").values)
        assert not isinstance(plain["estimate"].variable._data, dask.Array)
        assert opening.outcomes_of_cell(chunked, (4, 2)).keys() == opening.outcomes_of_cell(plain, (4, 2)).keys()


def test_without_dask_a_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"chunks=\{\}\): .*install simlab\[dask\], or leave chunks out"):
        simlab.open_results(tmp_path, chunks={})
