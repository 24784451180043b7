"""A command given again does what is missing and no more; what a first launch refuses is refused again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import fake_studies
import pytest

from simlab.config import compose_sweep
from simlab.engine import ledger, preparing, provenance
from simlab.engine.preparing import check_key, prepare, read_known
from simlab.measures import errors
from simlab.measures.labels import LABELS
from simlab.store import filling, writing
from simlab.store.folder import content
from simlab.store.measures import bound_measures_of
from simlab.store.verifying import verify
from simlab.studies import checks
from simlab.types import InputError

SMALL = ["systems.n_systems=3", "systems.n_documents=14", "systems.n_segments=20", "design.documents=8"]
SWEEP = [
    *SMALL,
    "analysis.test=permutation",
    "decision=significance",
    "analysis.test.permutations=200",
    "worlds=1",
    "studies=2",
]


def launch(folder: Path, *more: str) -> None:
    typed = {word.partition("=")[0] for word in more}
    sweep = compose_sweep(None, [*(word for word in SWEEP if word.partition("=")[0] not in typed), *more])
    filling.fill(sweep, folder, bound_measures_of(sweep.base), 1, labels=LABELS, quiet=True)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("filled")
    launch(folder)
    return folder


@pytest.fixture
def folder(filled: Path, tmp_path: Path) -> Path:
    shutil.copytree(filled, tmp_path / "out")
    return tmp_path / "out"


@pytest.fixture
def laid(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Note which folders a store is laid in."""
    folders: list[Path] = []
    lay = writing.lay_store

    def noted(book: ledger.Ledger, *more: Any) -> None:
        folders.append(book.folder)
        lay(book, *more)

    monkeypatch.setattr(writing, "lay_store", noted)
    return folders


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note the cells that are checked."""
    cells: list[str] = []
    check = checks.check

    def noted(config: Any) -> Any:
        cells.append(config["design"]["documents"])
        return check(config)

    monkeypatch.setattr(checks, "check", noted)
    return cells


def test_a_relaunch_with_nothing_missing_checks_nothing_and_lays_nothing(
    folder: Path, laid: list[Path], checked: list[str]
) -> None:
    before = content(folder)
    launch(folder)
    assert (laid, checked, content(folder)) == ([], [], before)
    assert verify(folder).problems == ()


def lose_chunk(folder: Path) -> None:
    next(path for path in (folder / "results.zarr/estimate/c").rglob("*") if path.is_file()).unlink()


def change_chunk(folder: Path) -> None:
    chunk = next(path for path in (folder / "results.zarr/estimate/c").rglob("*") if path.is_file())
    chunk.write_bytes(bytes(reversed(chunk.read_bytes())))


def add_file(folder: Path) -> None:
    (folder / "results.zarr/estimate/stranger").write_text("")


def lose_store(folder: Path) -> None:
    shutil.rmtree(folder / "results.zarr")


@pytest.mark.parametrize("damage", [lose_chunk, change_chunk, add_file, lose_store])
def test_a_store_that_is_not_as_it_was_laid_is_laid_anew(
    folder: Path, laid: list[Path], damage: Callable[[Path], None]
) -> None:
    before = content(folder)
    damage(folder)
    launch(folder)
    assert (laid, content(folder)) == ([folder], before)


def test_another_simlab_checks_and_lays_anew(
    folder: Path, laid: list[Path], checked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (provenance, preparing, writing):
        monkeypatch.setattr(module, "digest_installation", lambda: "another", raising=False)
    monkeypatch.setattr("simlab.engine.run.digest_installation", lambda: "another")
    launch(folder)
    assert (laid, checked) == ([folder], [8])


def test_other_measures_are_laid_and_no_cell_is_checked_for_them(
    folder: Path, laid: list[Path], checked: list[str]
) -> None:
    launch(folder, "measure=[power]")
    assert (laid, checked) == ([folder], [])


def test_a_cell_that_was_never_checked_is_refused_beside_one_that_was(folder: Path, checked: list[str]) -> None:
    for _ in range(2):
        with pytest.raises(InputError, match="exceeds the 14 documents"):
            launch(folder, "design.documents=20")
    # More studies of the known cell are another question, too.
    launch(folder, "studies=3")
    assert checked == [20, 20, 8]


def test_files_and_plugins_are_looked_at_again_whatever_was_known() -> None:
    config = {"systems": {"path": None}, "worlds": 1, "studies": 2}
    assert check_key("cell", config) == check_key("cell", config) != check_key("cell", config | {"studies": 3})
    assert check_key("cell", config | {"systems": {"path": "ratings.csv"}}) is None
    assert check_key("cell", config | {"plugins": ["mine"]}) is None


def test_what_is_known_is_not_read_from_a_ledger_that_is_in_use_or_damaged(folder: Path) -> None:
    assert len(read_known(folder).systems) == 1
    with ledger.open_to_write(folder):
        assert read_known(folder).systems == {}
    (folder / ledger.FILE).write_bytes(b"no ledger" * 1000)
    assert read_known(folder).systems == read_known(folder / "none").systems == {}


def test_memory_is_looked_at_whatever_was_known(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = compose_sweep(None, SWEEP)
    monkeypatch.setattr(preparing, "refuse_memory", lambda *_: (_ for _ in ()).throw(InputError("too little memory")))
    with pytest.raises(InputError, match="too little memory"):
        prepare(sweep, known=read_known(folder))


def test_measures_that_no_config_names_are_computed_anew(tmp_path: Path, laid: list[Path]) -> None:
    """A function is somebody's to change; one of simlab, with its keys, is not."""
    fake = partial(filling.fill, fake_studies.sweep(), tmp_path, jobs=1, check=fake_studies.check, quiet=True)
    for measures in ({"share": errors.significant_share}, {"share": errors.significant_share}):
        fake(measures=measures, block=fake_studies.block)
    assert laid == [tmp_path, tmp_path]
