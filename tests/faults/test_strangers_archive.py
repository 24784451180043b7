"""Share a store as one file: it answers as its folder does, and a stranger's file is refused in one line."""

from __future__ import annotations

import json
import shutil
import stat
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import google_crc32c
import numcodecs
import pytest
import xarray as xr
import zarr
from reading import READERS, Said, Undisturbed, ask, say, undisturbed

import simlab
from simlab.config import compose_sweep, load_sweep
from simlab.config.calculation import compose_calculation
from simlab.config.sweepwriting import write_calculation
from simlab.store import archive
from simlab.store.folder import disk_bytes
from simlab.types import InputError

CHUNK = "srp/c/0/0"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return undisturbed(tmp_path_factory.mktemp("archives") / "sound")


@pytest.fixture(scope="module")
def packed(sound: Undisturbed) -> Path:
    file = sound.folder.parent / "packed.zip"
    said = say("export", str(sound.folder), "--as", "archive", "--out", str(file))
    assert (said.code, said.out) == (0, f"{file}\n")
    return file


def refused(said: Said, *parts: str) -> None:
    assert said.code == 2, said
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert all(part in said.err for part in parts), said.err


def test_an_archive_answers_as_its_folder_does(sound: Undisturbed, packed: Path) -> None:
    for reader in READERS:
        said = ask(packed, reader)
        assert (said.code, said.err) == (0, "")
        assert said.out == sound.answers[reader]
    with simlab.open_results(packed) as dataset, simlab.open_results(sound.folder) as held:
        assert dataset.identical(held)


def test_an_archive_is_small_and_the_same_whenever_it_is_made(sound: Undisturbed, packed: Path, tmp_path: Path) -> None:
    assert packed.stat().st_size <= disk_bytes(sound.folder) / 2
    assert simlab.export(sound.folder, out=tmp_path / "again.zip", form="archive") == [tmp_path / "again.zip"]
    assert (tmp_path / "again.zip").read_bytes() == packed.read_bytes()


def test_an_archive_says_where_its_numbers_come_from(sound: Undisturbed, packed: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(packed) as held:
        texts = {name: held.read(name).decode() for name in archive.BESIDE}
        assert not [name for name in held.namelist() if "ledger" in name]
    assert "simlab query FILE.zip" in texts["README.txt"]
    assert "Cells: 2, each 2 worlds x 4 studies." in texts["README.txt"]
    assert "sqlite" not in texts["README.txt"]
    about = json.loads(texts["versions.json"])
    assert about["cells"] == {"done": 2, "asked": 2}
    assert {"simlab", "numpy", "commit"} <= about["versions"][-1].keys()
    (tmp_path / "again.yaml").write_text(texts["sweep.yaml"])
    assert compose_sweep(str(tmp_path / "again.yaml")).n_cells == 2
    assert texts["CITATION.cff"].startswith("cff-version")
    shown = say("show", str(packed))
    assert shown.code == 0
    assert "item_grouping" in shown.out


def test_an_archive_of_a_calculation_carries_its_sweep_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = ["n_human=50,100", "accuracy=.7,.8", "alpha=.55", "n_metric=500"]
    asked = compose_calculation(load_sweep("metric_accuracy"), settings)
    assert say("sweep", "metric_accuracy", *settings, "--out", "c").code == 0
    assert say("export", "c", "--as", "archive", "--out", "c.zip").code == 0
    with zipfile.ZipFile("c.zip") as held:
        Path("again.yaml").write_bytes(held.read("sweep.yaml"))
        assert "sweep.yaml" in held.read("README.txt").decode()
    again = compose_calculation(load_sweep("again.yaml"))
    assert again.section == asked.section
    assert again.measures == asked.measures
    assert {axis.key: axis.values for axis in again.axes} == {axis.key: tuple(axis.values) for axis in asked.axes}
    # The control: a calculation that no option of simlab makes has no file that would run it.
    declared = {"calculation": {"_target_": "elsewhere.part"}, "axes": [], "aim": "", "measures": [], "figure": {}}
    assert write_calculation(declared) == ""


def test_an_archive_is_opened_without_simlab(sound: Undisturbed, packed: Path) -> None:
    with warnings.catch_warnings(), simlab.open_results(sound.folder) as held:
        warnings.simplefilter("ignore")
        plain = xr.open_zarr(zarr.storage.ZipStore(packed, mode="r"), chunks=None)
        assert (plain["srp"] == held["srp"]).all()


@pytest.mark.slow
def test_figures_and_reports_lie_beside_an_archive(packed: Path, tmp_path: Path) -> None:
    shutil.copy(packed, tmp_path / "a.zip")
    assert say("plot", str(tmp_path / "a.zip")).code == 0
    assert say("report", str(tmp_path / "a.zip")).code == 0
    assert {file.name for file in tmp_path.iterdir()} == {"a.zip", "a-figure.png", "a-report.html"}
    assert "simlab verify" not in (tmp_path / "a-report.html").read_text()


@pytest.mark.parametrize(
    "words",
    [
        ["verify", "FILE"],
        ["verify", "FILE", "--replay", "0.0.0"],
        ["sweep", "FILE", "worlds=9"],
        ["export", "FILE", "grouping=ungrouped", "--out", "a.csv"],
        ["merge", "merged", "FILE"],
    ],
)
def test_what_needs_the_ledger_refuses_an_archive(
    packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    said = say(*(str(packed) if word == "FILE" else word for word in words))
    refused(said, "is an archive, which has no ledger.sqlite; name the folder that it was exported from")
    assert not any(tmp_path.iterdir())


def test_what_is_no_whole_store_is_not_archived(sound: Undisturbed, packed: Path, tmp_path: Path) -> None:
    out = ("--as", "archive", "--out", str(tmp_path / "a.zip"))
    refused(say("export", str(sound.folder), "grouping=ungrouped", *out), "leave AXIS=VALUE out")
    refused(say("export", str(sound.folder), "--world", "1", *out), "leave --world out")
    refused(say("export", str(sound.folder), *out[:3], str(tmp_path / "a.tar")), "end the name with .zip")
    refused(say("export", str(packed), *out), "is an archive already")
    refused(say("export", str(tmp_path), *out), "holds no results")
    damaged = tmp_path / "damaged"
    shutil.copytree(sound.folder, damaged)
    (damaged / "results.zarr" / CHUNK).unlink()
    refused(say("export", str(damaged), *out), "srp/c/0/0 is lost")
    assert not (tmp_path / "a.zip").exists()


def rewritten(change: Callable[[dict[str, bytes]], None]) -> Callable[[Path], None]:
    """Return what changes the files of an archive by their names."""

    def rewrite(file: Path) -> None:
        with zipfile.ZipFile(file) as held:
            contents = {name: held.read(name) for name in held.namelist()}
        change(contents)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as held:
            for name, content in contents.items():
                held.writestr(name, content)

    return rewrite


def added(name: str, content: bytes = b"x", mode: int = 0o644) -> Callable[[Path], None]:
    def add(file: Path) -> None:
        about = zipfile.ZipInfo(name)
        about.external_attr = mode << 16
        with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as held, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            held.writestr(about, content, zipfile.ZIP_DEFLATED)

    return add


def sealed(content: bytes) -> bytes:
    return content + google_crc32c.value(content).to_bytes(4, "little")


def flipped(file: Path) -> None:
    with zipfile.ZipFile(file) as held:
        at = held.getinfo(CHUNK).header_offset + 60
    with file.open("r+b") as opened:
        opened.seek(at)
        (byte,) = opened.read(1)
        opened.seek(at)
        opened.write(bytes([byte ^ 255]))


STRANGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "no zip": (lambda file: file.write_text("PK?"), "is no zip file, or a broken one"),
    "nothing": (lambda file: file.write_bytes(b""), "is no zip file, or a broken one"),
    "a torn one": (lambda file: file.write_bytes(file.read_bytes()[:-50]), "is no zip file, or a broken one"),
    "another's": (rewritten(lambda held: (held.clear(), held.update({"a.txt": b"a"}))), "a.txt is none of its files"),
    "an empty one": (rewritten(lambda held: held.clear()), "holds no zarr.json"),
    "a name above": (added("../evil"), "is no name of a file in a store"),
    "a name above within": (added("srp/../../evil"), "is no name of a file in a store"),
    "an absolute name": (added("/etc/evil"), "is no name of a file in a store"),
    "a name of Windows": (added("srp\\..\\evil"), "none of its files"),
    "a program": (added("sitecustomize.py"), "is none of its files"),
    "a link": (added("srp/link", b"/etc/passwd", stat.S_IFLNK | 0o777), "is no regular file"),
    "a bomb": (added("srp/bomb", bytes(2**28)), "takes more than 200 times as much unpacked"),
    "two of one name": (added("zarr.json"), "holds two files of one name"),
    "a chunk too few": (rewritten(lambda held: held.pop(CHUNK)), "srp/c/0/0 is lost"),
    "other metadata": (rewritten(lambda held: held.update({"srp/zarr.json": b"{}"})), "not those at the root"),
    "a damaged root": (rewritten(lambda held: held.update({"zarr.json": b"{"})), "is damaged or no store of simlab"),
    "a chunk that was flipped": (flipped, "is damaged"),
    "a chunk that unpacks to more": (
        rewritten(lambda held: held.update({CHUNK: sealed(numcodecs.Zstd().encode(bytes(2**22)))})),
        "unpacked it has another size",
    ),
}


@pytest.mark.parametrize("what", STRANGE)
def test_a_strangers_archive_is_refused_in_a_line(packed: Path, tmp_path: Path, what: str) -> None:
    disturb, why = STRANGE[what]
    file = tmp_path / "strange.zip"
    shutil.copy(packed, file)
    disturb(file)
    refused(say("query", str(file), "--measure", "srp"), why, "strange.zip")
    assert [one.name for one in tmp_path.iterdir()] == ["strange.zip"]


def test_an_archive_that_was_packed_again_is_opened(sound: Undisturbed, packed: Path, tmp_path: Path) -> None:
    shutil.copy(packed, tmp_path / "again.zip")
    rewritten(lambda held: None)(tmp_path / "again.zip")
    assert ask(tmp_path / "again.zip", READERS[0]).out == sound.answers[READERS[0]]


def test_arrays_of_an_archive_do_not_take_all_memory(packed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_HELD", 100)
    with pytest.raises(InputError, match="from an archive; ask for the folder"):
        simlab.open_results(packed)
