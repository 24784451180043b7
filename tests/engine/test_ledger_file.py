"""Open the file of a ledger alone, or to read; say in one line why it cannot be opened."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from simlab.engine import ledger_file
from simlab.engine.ledger_file import (
    APPLICATION,
    COLUMNS,
    FILE,
    PLACED,
    SCHEMA,
    SEALED,
    STORE,
    bring_up_to_date,
    fields_of_blocks,
    opened_alone,
    opened_to_read,
)
from simlab.types import InputError

BLOCK = ("c", 1, 0, 4, "done", "", "[]", "sum", b"payload")
INSERT = f"INSERT INTO blocks ({COLUMNS}) VALUES ({', '.join('?' * len(BLOCK))})"


def pragma(path: Path, name: str) -> int:
    with closing(sqlite3.connect(path / FILE)) as database:
        value: int = database.execute(f"PRAGMA {name}").fetchone()[0]
        return value


def of_first_schema(folder: Path) -> None:
    with closing(sqlite3.connect(folder / FILE)) as database:
        database.execute(
            "CREATE TABLE blocks (cell, world, first, count, status, reason, failures, checksum, payload, "
            "PRIMARY KEY (cell, world, first, count))"
        )
        database.execute(INSERT, BLOCK)
        for table, columns in SEALED.items():
            database.execute(f"CREATE TABLE {table} ({columns})")
        database.execute(f"PRAGMA application_id = {APPLICATION}")
        database.execute("PRAGMA user_version = 1")
        database.commit()


def test_a_new_ledger_says_whose_it_is_and_has_its_tables(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "er"
    with opened_alone(folder) as database:
        names = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        assert fields_of_blocks(database) == PLACED
    assert names == {"meta", "cells", "asked", "blocks"}
    assert (pragma(folder, "application_id"), pragma(folder, "user_version")) == (APPLICATION, SCHEMA)


def test_what_was_written_is_there_again_and_reading_changes_nothing(tmp_path: Path) -> None:
    with opened_alone(tmp_path) as database:
        database.execute(INSERT, BLOCK)
    with opened_to_read(tmp_path) as database:
        assert database.execute(f"SELECT {fields_of_blocks(database)} FROM blocks").fetchall() == [(*BLOCK, 0, 0)]
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            database.execute("DELETE FROM blocks")


def test_one_run_at_a_time_holds_a_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_file, "LOCK_SECONDS", 0.01)
    with opened_alone(tmp_path):
        for opened in (opened_alone, opened_to_read):
            with pytest.raises(InputError, match=f"^{tmp_path} is in use by another run"), opened(tmp_path):
                pytest.fail("it was opened twice")
    with opened_alone(tmp_path), pytest.raises(ZeroDivisionError), opened_alone(tmp_path / "other"):
        raise ZeroDivisionError
    with opened_alone(tmp_path / "other"):  # the lock is lifted, whatever happened
        pass


def test_a_mistake_in_a_statement_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"ledger\.sqlite: no such table: nowhere"), opened_alone(tmp_path) as database:
        database.execute("SELECT * FROM nowhere")


def test_the_first_schema_is_opened_as_it_is_and_upgraded_when_asked_for(tmp_path: Path) -> None:
    of_first_schema(tmp_path)
    for opened in (opened_to_read, opened_alone):
        with opened(tmp_path) as database:
            assert database.execute(f"SELECT {fields_of_blocks(database)} FROM blocks").fetchall() == [(*BLOCK, 0, 0)]
        assert pragma(tmp_path, "user_version") == 1
    for _ in range(2):
        with opened_alone(tmp_path) as database:
            bring_up_to_date(database)
            assert database.execute(f"SELECT {fields_of_blocks(database)} FROM blocks").fetchall() == [(*BLOCK, 0, 0)]
    assert pragma(tmp_path, "user_version") == SCHEMA
    with opened_alone(tmp_path) as database:  # now another pool is another block
        database.execute(f"INSERT INTO blocks ({PLACED}) VALUES ({', '.join('?' * 11)})", (*BLOCK, 1, 0))
        assert database.execute("SELECT count(*) FROM blocks").fetchone() == (2,)


def test_an_upgrade_that_fails_leaves_the_old_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of_first_schema(tmp_path)
    monkeypatch.setattr(ledger_file, "PLACED", "no_such_column")
    with opened_alone(tmp_path) as database:
        database.execute("BEGIN")
        with pytest.raises(sqlite3.OperationalError, match="no_such_column"):
            bring_up_to_date(database)
    monkeypatch.undo()
    with opened_to_read(tmp_path) as database:
        assert database.execute(f"SELECT {fields_of_blocks(database)} FROM blocks").fetchall() == [(*BLOCK, 0, 0)]


def test_folders_without_a_ledger_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no sweep: it has no ledger"), opened_to_read(tmp_path):
        pytest.fail("it was opened")
    (tmp_path / FILE).touch()
    with pytest.raises(InputError, match=r"holds no sweep: its ledger\.sqlite is empty"), opened_to_read(tmp_path):
        pytest.fail("it was opened")
    lonely = tmp_path / "lonely"
    (lonely / STORE).mkdir(parents=True)
    with pytest.raises(InputError, match=r"that no ledger\.sqlite belongs to"), opened_alone(lonely):
        pytest.fail("it was opened")
    assert not (lonely / FILE).exists()


@pytest.mark.parametrize(
    ("application", "version", "says"), [(7, 1, "not a simlab"), (APPLICATION, SCHEMA + 1, "newer simlab")]
)
def test_a_ledger_of_somebody_else_or_of_tomorrow_is_refused(
    tmp_path: Path, application: int, version: int, says: str
) -> None:
    with closing(sqlite3.connect(tmp_path / FILE)) as database:
        database.execute(f"PRAGMA application_id = {application}")
        database.execute(f"PRAGMA user_version = {version}")
        database.execute("CREATE TABLE blocks (pool)")
    for opened in (opened_alone, opened_to_read):
        with pytest.raises(InputError, match=says), opened(tmp_path):
            pytest.fail("it was opened")
