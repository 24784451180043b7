"""Take from a ledger what it knows: the store stays, what is lost is said, and nobody answers as if all were there."""

from __future__ import annotations

import json
import shlex
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from reading import Undisturbed, composed, copy, digest, everything, fill, mended, say, undisturbed, well_said

from simlab.commands import launch
from simlab.engine import ledger, ledger_file
from simlab.engine import run as engine
from simlab.engine.provenance import LOST, provenance
from simlab.measures.labels import LABELS
from simlab.store import filling
from simlab.store.measures import bound_measures_of
from simlab.types import InputError

INTERRUPTED = "DELETE FROM blocks WHERE world = 1"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return undisturbed(tmp_path_factory.mktemp("lost") / "sound")


def change(folder: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(folder / ledger.FILE)) as database:
        for statement in statements:
            assert database.execute(statement).rowcount > 0, statement
        database.commit()
    return folder


def problems(folder: Path) -> str:
    """Return what verify says of a folder with problems."""
    said = say("verify", str(folder))
    well_said(said, "verify")
    assert said.code == 3, said
    return said.out


CELLS = {
    "a seal": "UPDATE cells SET config = replace(config, '0.05', '0.06') WHERE rowid = 1",
    "all": "DELETE FROM cells",
    "one": "DELETE FROM cells WHERE rowid = 1",
}


@pytest.mark.slow
@pytest.mark.parametrize("what", CELLS)
def test_cells_that_are_lost_cost_no_store(sound: Undisturbed, tmp_path: Path, what: str) -> None:
    folder = change(copy(sound, tmp_path / "d"), CELLS[what])
    assert "lost: the cell " in problems(folder)
    assert "of 4 blocks is not in ledger.sqlite any more; the same command writes it anew" in problems(folder)
    assert digest(folder) == sound.digest
    said = say("query", str(folder), "--format", "json")
    # A row that is damaged still names its cell, whose campaigns are all there.
    assert (said.code, said.out) == (0 if what == "a seal" else 3, sound.answers["query", "--format", "json"])
    assert mended(sound, folder, what) == "command"
    assert say("query", str(folder)).code == 0


def test_a_smaller_run_does_not_forget_a_cell_that_is_lost(sound: Undisturbed, tmp_path: Path) -> None:
    folder = change(copy(sound, tmp_path / "d"), CELLS["one"])
    second = replace(sound.sweep, axes=tuple(replace(axis, values=axis.values[-1:]) for axis in sound.sweep.axes))
    fill(second, folder)
    said = say("query", str(folder))
    assert (said.code, said.err) == (
        3,
        "incomplete: ledger.sqlite keeps 8 of 16 campaigns; the same command computes the rest\n",
    )


def test_cells_that_are_lost_are_said_where_there_is_no_store(sound: Undisturbed, tmp_path: Path) -> None:
    folder = change(copy(sound, tmp_path / "d"), CELLS["one"])
    (folder / "results.zarr").rename(tmp_path / "away")
    said = say("query", str(folder))
    assert (said.code, "blocks of 1 cells that are lost are left out" in said.err) == (3, True), said
    change(folder, "DELETE FROM cells")
    said = say("query", str(folder))
    assert (said.code, said.out, "its cells are lost" in said.err) == (2, "", True), said


ASKED = {
    "seals": "UPDATE meta SET value = replace(value, '[[2', '[[1') WHERE key = 'asked'",
    "a name": "UPDATE meta SET value = replace(value, ', [\"', ', [\"nobody') WHERE key = 'asked'",
    "all": "DELETE FROM meta WHERE key = 'asked'",
}


@pytest.mark.slow
@pytest.mark.parametrize("what", ASKED)
def test_what_was_asked_is_lost_and_all_that_is_declared_is_wanted(
    sound: Undisturbed, tmp_path: Path, what: str
) -> None:
    folder = change(copy(sound, tmp_path / "d"), INTERRUPTED, ASKED[what])
    said = say("verify", str(folder), "--format", "json")
    assert (said.code, "lost: what was asked of grouping=" in said.out) == (3, True), said
    assert len([line for line in json.loads(said.out)[0]["problems"] if line.startswith("missing: ")]) == 2
    assert say("query", str(folder)).code == 3
    assert "missing: " in problems(folder)
    for reader in (("query",), ("compare", "--by", "grouping", "--measure", "srp")):
        said = say(reader[0], str(folder), *reader[1:])
        assert said.code == 3
        assert "incomplete: ledger.sqlite keeps 8 of 16 campaigns; the same command computes the rest\n" in said.err
    assert mended(sound, folder, what) == "command"


@pytest.mark.slow
def test_a_smaller_command_does_not_forget_what_was_asked(sound: Undisturbed, tmp_path: Path) -> None:
    folder = change(copy(sound, tmp_path / "d"), INTERRUPTED, "DELETE FROM meta WHERE key = 'asked'")
    fill(replace(sound.sweep, worlds=1), folder)
    assert "missing: " in problems(folder)
    assert say("query", str(folder)).code == 3


@pytest.mark.slow
def test_one_of_two_requests_that_is_lost_is_found(sound: Undisturbed, tmp_path: Path) -> None:
    folder = copy(sound, tmp_path / "d")
    fill(replace(sound.sweep, worlds=1), folder)
    change(folder, INTERRUPTED, "UPDATE meta SET value = replace(value, '[2, 4', '[1, 4') WHERE key = 'asked'")
    assert "missing: " in problems(folder)
    assert mended(sound, folder, "requests") == "command"


def test_a_complete_folder_that_lost_what_was_asked_is_mended(sound: Undisturbed, tmp_path: Path) -> None:
    folder = change(copy(sound, tmp_path / "d"), "DELETE FROM meta WHERE key = 'asked'")
    assert say("verify", str(folder)).code == 3
    assert say("query", str(folder)).code == 0
    assert mended(sound, folder, "asked") == "command"


@pytest.mark.slow
def test_every_reader_says_that_campaigns_are_missing(sound: Undisturbed, tmp_path: Path) -> None:
    folder = change(copy(sound, tmp_path / "d"), "DELETE FROM blocks WHERE rowid = 1")
    assert "missing: " in problems(folder)
    line = "incomplete: ledger.sqlite keeps 14 of 16 campaigns; the same command computes the rest\n"
    readers = [
        ("query",),
        ("compare", "--by", "grouping", "--measure", "srp"),
        ("plot", "--out", str(tmp_path / "f.svg")),
    ]
    for reader in readers:
        said = say(reader[0], str(folder), *reader[1:])
        assert (said.code, line in said.err) == (3, True), said
    said = everything(folder)
    assert (said.code, said.err) == (3, line)
    assert mended(sound, folder, "torn") == "command"
    assert say("query", str(folder)).code == 0


def test_a_smaller_run_ends_well_and_the_folder_still_lacks_what_was_asked(sound: Undisturbed, tmp_path: Path) -> None:
    folder = change(copy(sound, tmp_path / "d"), INTERRUPTED)
    first = replace(sound.sweep, worlds=1)
    assert launch.carry_out(first, folder, 1, quiet=True) == []
    assert launch.finding(folder).code == 0
    said = say("query", str(folder))
    assert (said.code, said.err) == (
        3,
        "incomplete: ledger.sqlite keeps 8 of 16 campaigns; the same command computes the rest\n",
    )
    assert say("verify", str(folder)).code == 3


def test_an_emptied_ledger_costs_no_store(sound: Undisturbed, tmp_path: Path) -> None:
    folder = copy(sound, tmp_path / "d")
    (folder / ledger.FILE).write_bytes(b"")
    with pytest.raises(InputError, match=r"ledger\.sqlite is empty: .* that stays as it is; .* give another --out"):
        fill(sound.sweep, folder)
    text = problems(folder)
    assert "results.zarr is whole: query, compare and plot answer from it, and what the ledger held is lost" in text
    assert "next: " not in text
    assert (folder / ledger.FILE).read_bytes() == b""
    said = say("query", str(folder), "--format", "json")
    assert (said.code, said.out) == (3, sound.answers["query", "--format", "json"])
    assert digest(folder) == sound.digest
    assert sorted(path.name for path in folder.iterdir()) == ["README.txt", "ledger.sqlite", "results.zarr"]
    (folder / "results.zarr/srp/c/0/0").unlink()
    assert "nothing can be mended: bring back a copy" in say("query", str(folder)).err


VERSIONS = {
    "a seal": "UPDATE meta SET value = replace(value, 'numpy', 'numpie') WHERE key = 'provenance'",
    "all": "DELETE FROM meta WHERE key = 'provenance'",
}


@pytest.mark.parametrize("what", VERSIONS)
def test_versions_that_are_lost_are_not_taken_for_these(sound: Undisturbed, tmp_path: Path, what: str) -> None:
    folder = change(copy(sound, tmp_path / "d"), VERSIONS[what])
    with pytest.raises(InputError, match=r"does not say any more which simlab filled it.* --allow-version") as refused:
        fill(sound.sweep, folder)
    assert "\n" not in str(refused.value)
    engine.run(sound.sweep, folder, 1, quiet=True, allow_version=True)
    with ledger.reading(folder) as book:
        assert book.provenance() == [LOST]
    change(folder, INTERRUPTED)
    summary = engine.run(sound.sweep, folder, 1, quiet=True, allow_version=True)
    assert any("was filled by another program (simlab unknown" in line for line in summary.notes), summary.notes
    with ledger.reading(folder) as book:
        assert book.provenance() == [LOST, provenance()]


def test_a_store_of_studies_without_a_ledger_is_given_the_true_remedy(sound: Undisturbed, tmp_path: Path) -> None:
    folder = copy(sound, tmp_path / "d")
    (folder / ledger.FILE).unlink()
    said = say("verify", str(folder))
    gone = (
        "is gone, so nothing can be mended: bring back a copy of the folder, or run the sweep again with another --out"
    )
    assert (said.code, gone in said.err, "same command" in said.err) == (2, True, False), said
    (folder / "results.zarr/srp/c/0/0").unlink()
    said = say("query", str(folder))
    assert (said.code, gone in said.err, "same command" in said.err) == (2, True, False), said


def test_a_calculation_is_laid_anew_by_the_same_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("sweep", "measurable_difference", "--quick", "--out", "d")
    assert say(*words).code == 0
    next((tmp_path / "d/results.zarr").glob("*/c/0*")).rename(tmp_path / "away")
    assert "run the same command again to lay it anew" in say("query", "d").err
    assert say(*words).code == 0
    assert say("query", "d").code == 0


def test_rows_with_large_numbers_are_read_from_a_damaged_ledger(
    sound: Undisturbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_file, "MOST_ROWS", 3)
    folder = change(copy(sound, tmp_path / "d"), "UPDATE blocks SET rowid = rowid + 3000000")
    monkeypatch.setattr(ledger_file, "_is_damaged", lambda folder: True)
    salvaged = ledger_file.salvage(folder)
    assert salvaged is not None
    assert salvaged.blocks == 8
    assert digest(folder) == sound.digest
    said = say("verify", str(folder))
    assert said.code == 0, said


def test_rows_that_nobody_looks_for_are_said(
    sound: Undisturbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_file, "MOST_ROWS", 3)
    folder = copy(sound, tmp_path / "d")
    with closing(sqlite3.connect(folder / ledger.FILE)) as database:
        (root,) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'blocks'").fetchone()
        (page,) = database.execute("PRAGMA page_size").fetchone()
    content = bytearray((folder / ledger.FILE).read_bytes())
    content[(root - 1) * page : root * page] = bytes(page)
    (folder / ledger.FILE).write_bytes(content)
    done = launch.carry_out(sound.sweep, folder, 1, quiet=True)
    assert any("rows of the table blocks beyond 3 were not looked for" in line for line in done), done
    assert digest(folder) == sound.digest


def test_verify_ends_with_the_command_that_mends(sound: Undisturbed, tmp_path: Path) -> None:
    folder = change(copy(sound, tmp_path / "d"), INTERRUPTED)
    last = problems(folder).splitlines()[-1]
    words = shlex.split(last.removeprefix("next: ").removeprefix("uv run "))
    assert words[:3] == ["simlab", "sweep", "item_grouping"]
    assert say(*words[1:]).code in (0, 3)
    assert digest(folder) == sound.digest
    assert say("verify", str(folder)).code == 0
    page = folder / "README.txt"
    page.write_text(page.read_text().replace("simlab sweep", "rm -rf"))
    change(folder, INTERRUPTED)
    assert problems(folder).endswith(f"\n\nthe same `simlab sweep` or `simlab run`, with --out {folder}, mends it\n")


@pytest.mark.parametrize("lost", [["meta"], ["meta", "cells"]])
def test_a_damaged_file_without_its_declaration_is_mended_by_the_sweep_that_filled_it(
    sound: Undisturbed, tmp_path: Path, lost: list[str]
) -> None:
    folder = copy(sound, tmp_path / "d")
    content = bytearray((folder / ledger.FILE).read_bytes())
    with closing(sqlite3.connect(folder / ledger.FILE)) as database:
        (page,) = database.execute("PRAGMA page_size").fetchone()
        roots = dict(database.execute("SELECT name, rootpage FROM sqlite_master").fetchall())
    for table in lost:
        content[(roots[table] - 1) * page : roots[table] * page] = bytes(page)
    (folder / ledger.FILE).write_bytes(content)
    assert "is damaged" in problems(folder)
    other = "holds another sweep" if lost == ["meta"] else r"what its sweep is cannot be read.*bring back a copy"
    with pytest.raises(InputError, match=other):
        engine.run(composed("seed=7"), folder, 1, quiet=True, allow_version=True)
    assert (folder / ledger.FILE).read_bytes() == content
    measures = bound_measures_of(sound.sweep.base)
    summary = filling.fill(sound.sweep, folder, measures, 1, labels=LABELS, quiet=True, allow_version=True)
    assert summary.blocks == 0
    assert say("verify", str(folder)).code == 0
    said = say("query", str(folder), "--format", "json")
    assert (said.code, said.out) == (0, sound.answers["query", "--format", "json"])
