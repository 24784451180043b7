"""Flip, zero, cut and delete every region of store and ledger: never a wrong answer, and the same command mends it."""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from reading import Undisturbed, ask, copy, digest, mended, never_wrong, one_line, undisturbed, well_said

from simlab.commands import launch
from simlab.rng import stream
from simlab.types import InputError

FEW, MANY = 12, 400


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give a folder in memory where there is one: hundreds of stores are laid, each flushed to its disk."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path_factory.mktemp("regions")
        return
    with tempfile.TemporaryDirectory(prefix="simlab-", dir="/dev/shm") as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def sound(place: Path) -> Undisturbed:
    return undisturbed(place / "sound")


def flip(path: Path, rng: np.random.Generator) -> None:
    content = bytearray(path.read_bytes())
    at = int(rng.integers(len(content)))
    content[at] ^= 1 << int(rng.integers(8))
    path.write_bytes(content)


def zero(path: Path, rng: np.random.Generator) -> None:
    content = bytearray(path.read_bytes())
    at, length = int(rng.integers(len(content))), int(rng.integers(1, 600))
    content[at : at + length] = bytes(len(content[at : at + length]))
    path.write_bytes(content)


def cut(path: Path, rng: np.random.Generator) -> None:
    path.write_bytes(path.read_bytes()[: int(rng.integers(path.stat().st_size))])


def delete(path: Path, rng: np.random.Generator) -> None:
    path.unlink()


DAMAGES = (flip, zero, cut, delete)
Damage = Callable[[Path, np.random.Generator], None]


def files_of_store(sound: Undisturbed) -> list[str]:
    return [f"results.zarr/{name}" for name in sound.digest]


def disturb(sound: Undisturbed, folder: Path, cases: Iterator[tuple[str, Damage, int]]) -> Counter[str]:
    """Carry out damages one at a time; return by what they were mended."""
    by: Counter[str] = Counter()
    for file, damage, seed in cases:
        what = f"{damage.__name__} {file} ({seed})"
        damage(copy(sound, folder) / file, stream(seed, damage.__name__, file))
        never_wrong(sound, folder, what)
        by[mended(sound, folder, what).partition(":")[0]] += 1
    return by


def sample(files: list[str], n: int) -> Iterator[tuple[str, Damage, int]]:
    rng = stream(1, "which")
    for k in range(n):
        yield files[int(rng.integers(len(files)))], DAMAGES[k % len(DAMAGES)], k


@pytest.mark.slow
def test_some_regions_of_a_store(sound: Undisturbed, place: Path) -> None:
    by = disturb(sound, place / "d", sample(files_of_store(sound), FEW))
    assert by == {"command": FEW}


@pytest.mark.slow
def test_some_regions_of_a_ledger(sound: Undisturbed, place: Path) -> None:
    cases = (("ledger.sqlite", (flip, flip, zero, cut)[k % 4], k) for k in range(FEW))
    by = disturb(sound, place / "d", cases)
    # Of a file that is cut off early nothing may be left that says whose it was; then the store still answers.
    assert (by["command"] >= 3 * FEW // 4, by["command"] + by["refused"]) == (True, FEW), by


@pytest.mark.long
def test_every_file_of_a_store(sound: Undisturbed, place: Path) -> None:
    files = files_of_store(sound)
    by = disturb(sound, place / "d", ((file, damage, 7) for file in files for damage in DAMAGES))
    print(f"{len(files)} files x {len(DAMAGES)} damages: {dict(by)}")
    assert by == {"command": len(files) * len(DAMAGES)}


@pytest.mark.long
def test_many_regions_of_a_ledger(sound: Undisturbed, place: Path) -> None:
    cases = (("ledger.sqlite", (flip, flip, zero, cut)[k % 4], k) for k in range(100, 100 + MANY))
    by = disturb(sound, place / "d", cases)
    print(f"{MANY} regions of the ledger: {dict(by)}")
    assert (by["command"] >= 0.65 * MANY, by["command"] + by["refused"]) == (True, MANY), by


def spoil_pages(path: Path, rng: np.random.Generator) -> bytes:
    """Fill one to three pages of a file of pages with noise or nothing; return what the file then holds."""
    content = bytearray(path.read_bytes())
    size = int.from_bytes(content[16:18], "big")
    for page in rng.integers(len(content) // size, size=rng.integers(1, 4)):
        content[page * size : (page + 1) * size] = rng.bytes(size) if rng.random() < 0.5 else bytes(size)
    path.write_bytes(content)
    return bytes(content)


@pytest.mark.parametrize("n", [8, pytest.param(80, marks=pytest.mark.slow)])
def test_bad_pages_of_a_ledger_are_left_behind_by_the_same_command(sound: Undisturbed, place: Path, n: int) -> None:
    """The store is laid with the bytes of an undisturbed run, or the file is refused; it stays as it was either way."""
    by: Counter[str] = Counter()
    for k in range(n):
        folder = copy(sound, place / "d")
        spoilt = spoil_pages(folder / "ledger.sqlite", stream(k, "pages"))
        aside = folder / "ledger.sqlite.damaged"
        try:
            summary = launch.carry_out(sound.sweep, folder, 1, quiet=True)
        except InputError as error:
            by[one_line("refused", error)] += 1
            assert ((folder / "ledger.sqlite").read_bytes(), aside.exists()) == (spoilt, False), k
            assert digest(folder) == sound.digest, k
            continue
        assert digest(folder) == sound.digest, k
        assert ask(folder, ("verify",)).code == 0, k
        by["salvaged" if aside.exists() else "mended"] += 1
        if aside.exists():
            assert aside.read_bytes() == spoilt, k
            assert any("that are lost or were never there are computed now" in line for line in summary), (k, summary)
        assert not (folder / "ledger.sqlite.new").exists(), k
    print(f"{n} ledgers with bad pages: {dict(by)}")
    assert by["salvaged"] >= n // 4, by


def test_a_ledger_that_is_gone_leaves_a_store_that_answers(sound: Undisturbed, place: Path) -> None:
    folder = copy(sound, place / "d")
    (folder / "ledger.sqlite").unlink()
    never_wrong(sound, folder, "no ledger")
    assert mended(sound, folder, "no ledger").startswith("refused: ")
    said = ask(folder, ("verify",))
    well_said(said, "no ledger")
    assert (said.code, "is gone, so nothing can be mended" in said.err) == (2, True)


def test_a_salvage_that_is_killed_leaves_a_ledger(
    sound: Undisturbed, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copy(sound, place / "d")
    file = folder / "ledger.sqlite"
    for seed in itertools.count():
        file.write_bytes((sound.folder / "ledger.sqlite").read_bytes())
        spoilt = spoil_pages(file, stream(seed, "killed"))
        with contextlib.suppress(InputError), monkeypatch.context() as patched:
            patched.setattr(Path, "replace", lambda path, target: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                launch.carry_out(sound.sweep, folder, 1, quiet=True)
            break
    assert (file.read_bytes(), (folder / "ledger.sqlite.damaged").read_bytes()) == (spoilt, spoilt)
    launch.carry_out(sound.sweep, folder, 1, quiet=True)
    assert (folder / "ledger.sqlite.damaged.1").read_bytes() == spoilt
    assert digest(folder) == sound.digest
