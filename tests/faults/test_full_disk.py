"""Fill the disk, or take it away, in each phase: a line that says what is needed, and the same command goes on."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import fake_studies
import pytest
import zarr.storage._local

from simlab.commands.errors import explain
from simlab.config import compose_calculation, load_sweep
from simlab.engine import ledger, ledger_file
from simlab.store import calculations, filling, readme
from simlab.types import InputError

SMALL, LARGE = 3, 40
PARTS = {"labels": fake_studies.LABELS, "block": fake_studies.block, "check": fake_studies.check, "quiet": True}


def lay(folder: Path) -> list[str]:
    sweep = fake_studies.sweep((10, 20, 30), worlds=3, studies=20)
    return list(filling.fill(sweep, folder, fake_studies.MEASURES, 1, **PARTS).notes)


def n_blocks(folder: Path) -> int:
    if not (folder / ledger.FILE).exists() or not (folder / ledger.FILE).stat().st_size:
        return 0
    with ledger.reading(folder) as book:
        return book.n_blocks()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("undisturbed")
    lay(folder)
    return fake_studies.digest(folder)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """Mount a small disk; called again, it is of another size."""
    place = tmp_path / "disk"
    place.mkdir()

    def mount(kib: int) -> Path:
        option = f"size={kib}k" + (",remount" if os.path.ismount(place) else "")
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", option, "tmpfs", str(place)], capture_output=True)
        if done.returncode:
            pytest.skip("only root can mount a small disk")
        return place

    yield mount
    if os.path.ismount(place):
        subprocess.run(["umount", str(place)], check=True)


def where_full(said: str) -> str:
    assert "\n" not in said
    assert "run the same command again" in said or "give another --out" in said, said
    return next(part for part in ("cannot be made", "ledger", "results.zarr") if part in said)


def phases(disk: Callable[[int], Path], sizes: list[int], undisturbed: dict[str, str]) -> list[str]:
    """Give the same command on a disk that grows until it is large enough; return where it was full."""
    full, kept = [], 0
    for kib in [*sizes, 8192]:
        folder = disk(kib) / "out"
        try:
            lay(folder)
        except InputError as error:
            full.append(where_full(str(error)))
        assert n_blocks(folder) >= kept
        kept = n_blocks(folder)
    assert fake_studies.digest(folder) == undisturbed
    assert sorted(path.name for path in folder.iterdir()) == ["README.txt", "ledger.sqlite", "results.zarr"]
    return full


def test_a_full_disk_in_some_phases(disk: Callable[[int], Path], undisturbed: dict[str, str]) -> None:
    full = phases(disk, [4, 60, 300, 500], undisturbed)
    assert {"ledger", "results.zarr"} <= set(full), full


@pytest.mark.long
def test_a_full_disk_in_every_phase(disk: Callable[[int], Path], undisturbed: dict[str, str]) -> None:
    full = phases(disk, list(range(4, 1000, 8)), undisturbed)
    print({part: full.count(part) for part in full})
    assert {"ledger", "results.zarr"} <= set(full), full


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EACCES])
def test_a_store_that_the_disk_does_not_take(
    tmp_path: Path, undisturbed: dict[str, str], monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    put, calls = zarr.storage._local._put, []

    def full(*arguments, **more):
        calls.append(arguments)
        if len(calls) > 60:
            raise OSError(code, os.strerror(code))
        return put(*arguments, **more)

    monkeypatch.setattr(zarr.storage._local, "_put", full)
    with pytest.raises(InputError) as refused:
        lay(tmp_path)
    monkeypatch.undo()
    assert str(refused.value).startswith(f"{tmp_path}/results.zarr: cannot be written ({os.strerror(code)}); ")
    assert "run the same command again: finished blocks are kept" in str(refused.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ledger.sqlite"]
    lay(tmp_path)
    assert fake_studies.digest(tmp_path) == undisturbed


def test_a_ledger_that_the_disk_does_not_take(
    tmp_path: Path, undisturbed: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = ledger_file._connect

    def small(*arguments):
        database = connect(*arguments)
        database.execute("PRAGMA max_page_count = 24")
        return database

    monkeypatch.setattr(ledger_file, "_connect", small)
    with pytest.raises(InputError, match=r"ledger\.sqlite: database or disk is full; free some space and run the same"):
        lay(tmp_path)
    monkeypatch.undo()
    assert n_blocks(tmp_path) > 0
    lay(tmp_path)
    assert fake_studies.digest(tmp_path) == undisturbed


def test_a_page_that_cannot_be_written_fails_no_run(
    tmp_path: Path, undisturbed: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"{readme.PAGE}.new").mkdir()
    notes = lay(tmp_path)
    assert len(notes) == 1
    assert "README.txt is not written (Is a directory); the store beside it is whole" in notes[0]
    assert fake_studies.digest(tmp_path) == undisturbed


def test_a_calculation_that_the_disk_does_not_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calculation = compose_calculation(load_sweep("measurable_difference"), ["n_metric=0,1000"], quick=True)

    def full(*arguments, **more):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(zarr.storage._local, "_put", full)
    with pytest.raises(InputError, match=r"No space left on device\); free some space and run the same command again"):
        calculations.run(calculation, tmp_path / "c", {})
    monkeypatch.undo()
    assert calculations.run(calculation, tmp_path / "c", {}) == []


def test_an_error_of_the_disk_without_a_name_is_no_bug(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))) == 2
    assert capsys.readouterr().err == (
        "simlab: no space left on device; free some space and run the same command again\n"
    )


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full")
@pytest.mark.parametrize("redirection", [">/dev/full", ">&-"])
def test_an_answer_that_cannot_be_written_is_no_bug(redirection: str) -> None:
    program = "import sys; from simlab import cli; sys.exit(cli.answer(['detect', 'n_human=100']))"
    done = subprocess.run(
        ["bash", "-c", f'exec "$0" -c "{program}" {redirection}', sys.executable], capture_output=True, text=True
    )
    assert "Traceback" not in done.stderr
    assert "bug" not in done.stderr
    assert "Exception" not in done.stderr
    assert done.returncode == (2 if "full" in redirection else 3), done.stderr
    assert "full" in redirection or "standard output is closed, and the answer went nowhere" in done.stderr
