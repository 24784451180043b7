"""Ask folders whose run was interrupted: what is kept answers, and a line says what is missing."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from reading import Undisturbed, copy, digest, everything, fill, mended, say, undisturbed, well_said

import simlab
from simlab.commands import launch
from simlab.engine import ledger
from simlab.types import InputError


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return undisturbed(tmp_path_factory.mktemp("interrupted") / "sound")


def interrupt(folder: Path, left: str, *, store: bool = False) -> Path:
    """Make a folder one whose run was killed before the blocks that do not meet a condition were finished."""
    with closing(sqlite3.connect(folder / ledger.FILE)) as database:
        database.execute(f"DELETE FROM blocks WHERE NOT ({left})")
        database.execute("DELETE FROM meta WHERE key = 'store'")
        database.commit()
    if not store:
        (folder / "results.zarr").rename(folder.parent / f"{folder.name}-away")
    return folder


def before(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.slow
def test_what_is_kept_answers_and_what_is_missing_is_said(sound: Undisturbed, tmp_path: Path) -> None:
    folder = interrupt(copy(sound, tmp_path / "d"), "world = 0")
    held = before(folder)
    said = say("query", str(folder), "--measure", "srp,cost", "--format", "json")
    assert (said.code, said.err) == (
        3,
        "interrupted: 8 of 16 campaigns are there; the same command continues it\n",
    )
    rows = json.loads(said.out)
    assert [row["srp_n"] for row in rows] == [4, 4]
    with simlab.open_results(sound.folder) as whole:
        of_first_world = whole["cost"].values[..., :4].mean(-1).ravel().tolist()
    assert [row["cost"] for row in rows] == pytest.approx(of_first_world)
    assert say("compare", str(folder), "--by", "grouping", "--measure", "srp").code == 3
    assert say("plot", str(folder), "--out", str(tmp_path / "figure.svg")).code == 3
    assert before(folder) == held
    assert mended(sound, folder, "interrupted") == "command"


def test_cells_without_anything_have_no_value(sound: Undisturbed, tmp_path: Path) -> None:
    with ledger.reading(sound.folder) as book:
        first = book.entries()[0].cell
    folder = interrupt(copy(sound, tmp_path / "d"), f"cell = '{first}'")
    said = say("query", str(folder), "--measure", "srp", "--format", "json")
    assert said.err == (
        "interrupted: 8 of 16 campaigns are there (none of grouping=system_balanced, documents=8); "
        "the same command continues it\n"
    )
    rows = json.loads(said.out)
    assert [row["srp_n"] for row in rows] == [8, 0]
    assert [row["srp"] is None for row in rows] == [False, True]


@pytest.mark.slow
def test_a_store_that_is_behind_its_ledger_is_not_the_answer(sound: Undisturbed, tmp_path: Path) -> None:
    folder = interrupt(copy(sound, tmp_path / "d"), "world = 0")
    assert everything(folder).code == 3
    fill(sound.sweep, folder)
    smaller = copy(sound, tmp_path / "e")
    with ledger.open_to_write(smaller) as book:
        rows = list(book.blocks())
        book.discard([row for row in rows if row.block.address.world])
    assert launch.carry_out(replace(sound.sweep, worlds=1), smaller, 1, quiet=True) == []
    # A run that was killed before it laid the store anew.
    with ledger.open_to_write(smaller) as book:
        book._put("store", ledger.BEHIND)
        book.record([rows[-1].block])
    said = say("query", str(smaller), "--measure", "srp", "--format", "json")
    assert said.code == 3
    assert said.err.startswith("interrupted: 10 of 16 campaigns are there; ")
    assert mended(sound, smaller, "behind") == "command"


def test_a_store_that_holds_all_is_the_answer_whatever_the_mark_says(sound: Undisturbed, tmp_path: Path) -> None:
    folder = interrupt(copy(sound, tmp_path / "d"), "1", store=True)
    assert say("query", str(folder), "--format", "json").code == 0


def test_while_a_run_is_writing_the_store_before_it_answers(sound: Undisturbed, tmp_path: Path) -> None:
    folder = copy(sound, tmp_path / "d")
    with ledger.open_to_write(folder):
        said = say("query", str(folder), "--format", "json")
        assert said.code == 3
        assert "in use by another run" in said.err
        assert said.out == sound.answers["query", "--format", "json"]
        (folder / "results.zarr").rename(tmp_path / "away")
        said = say("query", str(folder), "--format", "json")
        assert (said.code, said.out) == (2, "")
        assert "in use by another run" in said.err


def test_damaged_blocks_and_records_are_left_out_and_said(sound: Undisturbed, tmp_path: Path) -> None:
    folder = interrupt(copy(sound, tmp_path / "d"), "1")
    with closing(sqlite3.connect(folder / ledger.FILE)) as database:
        database.execute("UPDATE blocks SET payload = x'00' WHERE rowid = 1")
        database.execute("UPDATE meta SET value = replace(value, '[[2', '[[7') WHERE key = 'asked'")
        database.commit()
    said = say("query", str(folder), "--measure", "srp")
    assert said.code == 3
    assert "1 damaged blocks are left out; 1 damaged records of the ledger are left out" in said.err
    well_said(said, "damaged")


RECORDS = {
    "config": "UPDATE cells SET config = replace(config, '\"level\": 0.05', '\"level\": 0.06') WHERE rowid = 1",
    "systems": "UPDATE cells SET systems = replace(systems, '1', '7') WHERE rowid = 1",
    "position": "UPDATE cells SET position = '[1, 7]' WHERE rowid = 1",
    "asked": "UPDATE meta SET value = replace(value, '[[2, 4', '[[2, 5') WHERE key = 'asked'",
    "declaration": "UPDATE meta SET value = replace(value, '\"worlds\": 2', '\"worlds\": 3') WHERE key = 'sweep'",
    "no declaration": "DELETE FROM meta WHERE key = 'sweep'",
    "mark": "UPDATE meta SET value = replace(value, 'laid', 'lain') WHERE key = 'store'",
}


@pytest.mark.parametrize("what", RECORDS)
def test_a_flipped_byte_beside_the_blocks_is_found_and_mended(sound: Undisturbed, tmp_path: Path, what: str) -> None:
    folder = copy(sound, tmp_path / "d")
    with closing(sqlite3.connect(folder / ledger.FILE)) as database:
        assert database.execute(RECORDS[what]).rowcount == 1
        database.commit()
    said = say("verify", str(folder))
    assert said.code in (2, 3), said
    well_said(said, what)
    assert mended(sound, folder, what) == "command"


def test_a_declaration_that_is_lost_comes_back_with_the_command_that_asked_for_all(
    sound: Undisturbed, tmp_path: Path
) -> None:
    folder = copy(sound, tmp_path / "d")
    with closing(sqlite3.connect(folder / ledger.FILE)) as database:
        database.execute("DELETE FROM meta WHERE key = 'sweep'")
        database.commit()
    part = replace(sound.sweep, axes=tuple(replace(axis, values=axis.values[:1]) for axis in sound.sweep.axes))
    with pytest.raises(InputError, match="give the command that asked for all of them"):
        fill(part, folder)
    assert mended(sound, folder, "declaration") == "command"


def test_an_interrupted_folder_is_verified_on_one_page(sound: Undisturbed, tmp_path: Path) -> None:
    folder = interrupt(copy(sound, tmp_path / "d"), "first = 99")
    said = say("verify", str(folder))
    assert said.code == 3
    assert len(said.out.splitlines()) <= 20
    full = json.loads(say("verify", str(folder), "--format", "json").out)[0]
    assert len(full["problems"]) >= 4
    assert any(line.startswith("missing: 4 in 2 cells, e.g. grouping=") for line in said.out.splitlines()), said.out


@pytest.mark.parametrize("what", ["code", "simlab", "numpy"])
def test_a_folder_that_another_program_filled_is_refused_and_goes_on_when_allowed(
    sound: Undisturbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    from simlab.engine import provenance
    from simlab.engine import run as engine

    folder = copy(sound, tmp_path / "d")
    other = provenance.provenance() | {what: "9.9"}
    for module in (provenance, engine):
        if what == "code":
            monkeypatch.setattr(module, "code_digest", lambda: "f" * 32)
        else:
            monkeypatch.setattr(module, "provenance", lambda: other)
    held = before(folder)
    with pytest.raises(InputError, match=r"filled by another program \(.* --allow-version") as refused:
        fill(sound.sweep, folder)
    assert "\n" not in str(refused.value)
    assert before(folder) == held
    with ledger.open_to_write(folder) as book:
        book.discard(list(book.blocks())[:1])
    summary = engine.run(sound.sweep, folder, 1, quiet=True, allow_version=True)
    assert any("was filled by another program (" in line for line in summary.notes), summary.notes


def test_both_commands_take_the_flag() -> None:
    for command in ("run", "sweep"):
        assert "--allow-version" in say(command, "--help").out


def test_a_check_changes_no_file(sound: Undisturbed, tmp_path: Path) -> None:
    folder = copy(sound, tmp_path / "d")
    held = before(folder)
    said = say("verify", str(folder))
    assert (said.code, said.err) == (0, "")
    assert "the store is what the ledger says" in said.out
    assert before(folder) == held
    assert digest(folder) == sound.digest
