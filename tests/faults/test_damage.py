"""Damage what is on the disk: it is found, named, never taken for a result, and mended by the next run."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import fake_studies
import pytest

from simlab.engine import ledger
from simlab.store import filling, folder, opening
from simlab.store.verifying import verify
from simlab.types import InputError


def lay(folder: Path) -> dict[str, str]:
    parts = {"labels": fake_studies.LABELS, "block": fake_studies.block, "check": fake_studies.check, "quiet": True}
    filling.fill(fake_studies.sweep(), folder, fake_studies.MEASURES, 1, **parts)
    return fake_studies.digest(folder)


def tear_block(folder: Path) -> None:
    fake_studies.tear(folder)


def lose_block(folder: Path) -> None:
    with closing(sqlite3.connect(folder / ledger.FILE)) as database:
        database.execute("DELETE FROM blocks WHERE rowid = 3")
        database.commit()


def flip(folder: Path, name: str) -> None:
    path = folder / "results.zarr" / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def flip_outcome(folder: Path) -> None:
    flip(folder, "estimate/c/0/0/0")


def flip_measure(folder: Path) -> None:
    flip(folder, "share_mcse/c/0")


def lose_chunk(folder: Path) -> None:
    (folder / "results.zarr/significant/c/0/0/0").unlink()


def change_attribute(folder: Path) -> None:
    path = folder / "results.zarr/zarr.json"
    path.write_text(path.read_text().replace("try the engine", "try the motor"))


def change_metadata(folder: Path) -> None:
    path = folder / "results.zarr/cost/zarr.json"
    path.write_text(path.read_text().replace("price of", "prize of"))


def lose_array(folder: Path) -> None:
    shutil.rmtree(folder / "results.zarr/cost")


def lose_metadata(folder: Path) -> None:
    (folder / "results.zarr/cost/zarr.json").unlink()


def garble_root(folder: Path) -> None:
    (folder / "results.zarr/zarr.json").write_text("{")


def lose_store(folder: Path) -> None:
    (folder / "results.zarr").rename(folder / "elsewhere")


DAMAGES: dict[Callable[[Path], None], str] = {
    tear_block: "torn: documents=10, world 0, studies 0 to 3: its checksum does not hold",
    lose_block: "missing: documents=10, world 0, studies 4 to 7",
    flip_outcome: "results.zarr/estimate is damaged: ",
    flip_measure: "results.zarr/share_mcse is damaged: ",
    lose_chunk: "results.zarr/significant/c/0/0/0 is lost",
    change_attribute: "results.zarr: the attribute sweep is not what the ledger says",
    change_metadata: "results.zarr/cost: its metadata are not those at the root",
    lose_array: "results.zarr lacks cost",
    lose_metadata: "results.zarr/cost: its metadata are lost",
    garble_root: "is damaged or no store of simlab",
    lose_store: "has no results.zarr yet",
}


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_damage_is_found_and_mended(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    sound = lay(tmp_path)
    assert verify(tmp_path).problems == ()
    damage(tmp_path)
    problems = verify(tmp_path).problems
    assert any(DAMAGES[damage] in problem for problem in problems), problems
    assert not any("\n" in problem for problem in problems)
    assert lay(tmp_path) == sound
    assert verify(tmp_path, fake_studies.MEASURES).problems == ()


def test_a_store_that_is_not_the_ledgers_is_found(tmp_path: Path) -> None:
    lay(tmp_path / "a")
    parts = {"labels": fake_studies.LABELS, "block": fake_studies.block, "check": fake_studies.check, "quiet": True}
    filling.fill(fake_studies.sweep(seed=2), tmp_path / "b", fake_studies.MEASURES, 1, **parts)
    (tmp_path / "a/results.zarr").rename(tmp_path / "a/old")
    (tmp_path / "b/results.zarr").rename(tmp_path / "a/results.zarr")
    problems = verify(tmp_path / "a", fake_studies.MEASURES).problems
    for name in ("estimate", "significant", "true_value", "share", "share_influence"):
        assert f"results.zarr/{name} is not what the ledger says" in problems
    assert "results.zarr: the attribute seed is not what the ledger says" in problems


def test_a_damaged_ledger_is_one_clear_line(tmp_path: Path) -> None:
    lay(tmp_path)
    path = tmp_path / ledger.FILE
    content = bytearray(path.read_bytes())
    content[4096:] = bytes(len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(InputError, match="is damaged") as refused:
        lay(tmp_path)
    assert "\n" not in str(refused.value)
    assert "is damaged" in verify(tmp_path).problems[0]
    assert path.read_bytes() == content


def test_what_a_killed_run_left_is_cleared_away(tmp_path: Path) -> None:
    sound = lay(tmp_path)
    (tmp_path / folder.NEW / "estimate").mkdir(parents=True)
    (tmp_path / folder.NEW / "zarr.json").write_text("{")
    assert verify(tmp_path).problems == ()
    assert lay(tmp_path) == sound
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.txt", "ledger.sqlite", "results.zarr"]


@pytest.mark.parametrize("renamed", [0, 1])
def test_a_crash_while_the_new_store_takes_its_place_leaves_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renamed: int
) -> None:
    sound = lay(tmp_path)
    rename, renames = Path.rename, []

    def crash(path: Path, target: Path) -> Path:
        if len(renames) == renamed:
            raise OSError(5, "crash")
        renames.append(path)
        return rename(path, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", crash)
        with pytest.raises(InputError, match="crash"):
            lay(tmp_path)
    assert verify(tmp_path).problems == ()
    with opening.open_results(tmp_path) as dataset:
        assert dataset["mean_n"].values.tolist() == [18, 18]
    assert lay(tmp_path) == sound
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.txt", "ledger.sqlite", "results.zarr"]
