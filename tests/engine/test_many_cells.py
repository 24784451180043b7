"""What lets a driver hold many cells changes nothing that it says: shared sections, blocks looked at once."""

from __future__ import annotations

import copy
import io
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import fake_studies
import numpy as np
import pytest

from simlab.config import Sweep, compose_sweep
from simlab.config.sweep import Alike, Axis, Written, canonical_text
from simlab.engine import block_checks, ledger, run
from simlab.engine.addresses import Finished, pack, unpack
from simlab.engine.preparing import prepare
from simlab.engine.provenance import digest_installation

KINDS = ("item_grouping", "preference_protocol", "recorded_judgements")


def launch(sweep: Sweep, folder: Path) -> run.RunSummary:
    return run.run(sweep, folder, 1, block=fake_studies.block, check=fake_studies.check, quiet=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_nothing_that_is_asked_of_cells_writes_into_what_they_share(name: str) -> None:
    sweep = compose_sweep(name)
    before = copy.deepcopy([cell.config for cell in sweep.cells()])
    job = prepare(sweep)
    assert [cell.config for cell in sweep.cells()] == before
    assert [{**config, "engine": {}} for config in before] == [{**cell.config, "engine": {}} for cell in job.cells]


def test_cells_share_the_sections_in_which_they_are_alike_and_no_other() -> None:
    axes = [
        Axis(f"design.{name}", name, values) for name, values in (("documents", (10, 20)), ("min_documents", (1, 2)))
    ]
    sweep = compose_sweep("item_grouping")
    sweep = replace(sweep, axes=tuple(axes), composed={(): next(iter(sweep.composed.values()))})
    configs = [cell.config for cell in sweep.cells()]
    assert [(c["design"]["documents"], c["design"]["min_documents"]) for c in configs] == [
        (10, 1), (10, 2), (20, 1), (20, 2),
    ]  # fmt: skip
    assert len({id(config["systems"]) for config in configs}) == 1
    assert len({id(config["design"]["grouping"]) for config in configs}) == 1
    assert len({id(config["design"]) for config in configs}) == len(configs)


@pytest.mark.parametrize("name", KINDS)
def test_what_is_written_of_sections_once_is_what_is_written_of_each_cell(name: str) -> None:
    configs, written = [cell.config for cell in compose_sweep(name).cells()], Written()
    assert [canonical_text(config, written) for config in configs] == [
        canonical_text(copy.deepcopy(c)) for c in configs
    ]
    assert len(written) < len(configs) * len(configs[0])


@pytest.mark.parametrize("other", [1.0, True, "1", None])
def test_values_that_are_only_equal_are_not_taken_for_each_other(other: Any) -> None:
    alike = Alike()
    assert alike({"a": {"b": 1}})["a"] is alike({"a": {"b": 1}})["a"]
    assert repr(alike({"a": {"b": other}})) == repr({"a": {"b": other}})
    assert repr(alike({"a": {"b": 0.0}})) + repr(alike({"a": {"b": -0.0}})) == "{'a': {'b': 0.0}}{'a': {'b': -0.0}}"


def test_blocks_that_were_looked_at_are_held_against_their_checksums_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = fake_studies.sweep()
    launch(sweep, tmp_path)
    before = (tmp_path / ledger.FILE).read_bytes()
    read: list[bytes] = []
    monkeypatch.setattr(block_checks, "unpack", lambda payload: read.append(payload) or unpack(payload))
    assert launch(sweep, tmp_path).blocks == 0
    assert not read
    assert (tmp_path / ledger.FILE).read_bytes() == before
    # One that changed on the disk is found all the same.
    fake_studies.tear(tmp_path)
    again = launch(sweep, tmp_path)
    assert (again.torn, again.blocks) == (1, 1)


def test_a_block_that_came_otherwise_is_looked_at(tmp_path: Path) -> None:
    sweep = fake_studies.sweep()
    launch(sweep, tmp_path)
    with ledger.open_to_write(tmp_path) as book:
        assert book.is_seen(digest_installation())
        assert not book.is_seen("another simlab")
        at = next(book.blocks()).block.address
        book.discard([next(book.blocks())])
        book.record([Finished(at, pack({"nothing": np.zeros(2)}))])
        assert not book.is_seen(digest_installation())
    assert launch(sweep, tmp_path).torn == 1


def test_an_archive_gives_no_more_than_it_announced_and_what_its_checksum_seals() -> None:
    payload = pack({"a": np.arange(1000.0)})
    assert np.array_equal(unpack(payload)["a"], np.arange(1000.0))
    announced = payload.index(b"PK\x01\x02")
    for at, value in ((24, 200), (16, 7)):  # its size, its checksum
        changed = bytearray(payload)
        changed[announced + at : announced + at + 4] = value.to_bytes(4, "little")
        with pytest.raises(zipfile.BadZipFile, match="checksum of a"):
            unpack(bytes(changed))


def test_archives_that_numpy_writes_are_read() -> None:
    arrays = {"a": np.arange(12).reshape(3, 4), "b": np.array([True, False]), "none": np.zeros((0, 2))}
    for save in (np.savez, np.savez_compressed):
        file = io.BytesIO()
        save(file, **arrays)
        again = unpack(file.getvalue())
        assert again.keys() == arrays.keys()
        assert all(
            np.array_equal(again[name], array) and again[name].dtype == array.dtype for name, array in arrays.items()
        )
