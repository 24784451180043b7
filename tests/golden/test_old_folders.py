"""Read and continue folders that an earlier version wrote."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import goldens
import pytest
from digests import alike, cpu, differences, digests

BLOCKS = "SELECT cell, world, first, count, status, checksum, payload, rowid FROM blocks"
FOLDERS = sorted(goldens.QUESTIONS)


def on_its_cpu(name: str) -> bool:
    """Tell whether this is the CPU on which a folder was computed."""
    return goldens.written_on(name) == cpu()


def data(answer: dict[str, Any]) -> Any:
    text = "\n".join(answer["answer"])
    return json.loads(text) if "json" in answer["words"] else text


@pytest.mark.parametrize("name", FOLDERS)
def test_an_old_folder_answers_as_it_did(name: str, tmp_path: Path) -> None:
    recorded = json.loads(goldens.file("folders", name).read_text(encoding="utf-8"))["answers"]
    found = goldens.answers(name, tmp_path)
    assert alike([data(answer) for answer in recorded], [data(answer) for answer in found])
    if on_its_cpu(name):
        assert found == recorded


@pytest.mark.parametrize("name", FOLDERS)
def test_an_old_folder_goes_on_where_it_stopped(name: str, tmp_path: Path) -> None:
    old, fresh = tmp_path / "old", tmp_path / "fresh"
    shutil.copytree(goldens.HERE / "folders" / name, old)
    before, cells = goldens.rows(old, BLOCKS), goldens.cells(old)
    foreseen = goldens.launch(name, "old", tmp_path, [*goldens.LARGER[name], "--dry-run"])
    for out in ("old", "fresh"):
        goldens.launch(name, out, tmp_path, goldens.LARGER[name])
    after = goldens.rows(old, BLOCKS)
    assert set(before) < set(after)
    # What was there is asked of nobody again.
    assert re.search(r"in (\d+) blocks", foreseen)[1] == str(len(after) - len(before))
    assert cells.items() <= goldens.cells(old).items() == goldens.cells(fresh).items()
    stores = [digests(folder / "results.zarr", 24) for folder in (old, fresh)]
    assert differences(*stores, to_the_bit=on_its_cpu(name)) == []
    assert "checksums hold" in goldens.said(["verify", "old"], tmp_path)


@pytest.mark.parametrize("name", FOLDERS)
def test_an_old_folder_is_complete_as_it_is(name: str, tmp_path: Path) -> None:
    shutil.copytree(goldens.HERE / "folders" / name, tmp_path / "old")
    before = goldens.rows(tmp_path / "old", BLOCKS)
    stored = digests(tmp_path / "old" / "results.zarr", 24)
    assert "0 to run" in goldens.launch(name, "old", tmp_path, ["--dry-run"])
    goldens.launch(name, "old", tmp_path)
    assert goldens.rows(tmp_path / "old", BLOCKS) == before
    again = digests(tmp_path / "old" / "results.zarr", 24)
    # Pairs are named since the folder was written; all else is as it was.
    assert again.keys() - stored.keys() == {"pair_first_name", "pair_second_name"}
    kept = {array: again[array] for array in again if array in stored}
    assert differences(stored, kept, to_the_bit=on_its_cpu(name)) == []
