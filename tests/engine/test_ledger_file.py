"""Open the file of a ledger alone, or to read; say in one line why it cannot be opened."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from simlab import schemas
from simlab.engine import ledger_file
from simlab.engine.ledger_file import (
    APPLICATION,
    COLUMNS,
    FILE,
    STORE,
    open_alone,
    open_to_read,
)
from simlab.types import InputError

BLOCK = ("c", 1, 0, 4, "done", "", "[]", "sum", b"payload", 0, 0)
INSERT = f"INSERT INTO blocks ({COLUMNS}) VALUES ({', '.join('?' * len(BLOCK))})"


def pragma(path: Path, name: str) -> int:
    with closing(sqlite3.connect(path / FILE)) as database:
        value: int = database.execute(f"PRAGMA {name}").fetchone()[0]
        return value


def test_a_new_ledger_says_whose_it_is_and_has_its_tables(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "er"
    with open_alone(folder) as database:
        names = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert names == {"meta", "cells", "blocks"}
    assert (pragma(folder, "application_id"), pragma(folder, "user_version")) == (APPLICATION, schemas.LEDGER)


def test_what_was_written_is_there_again_and_reading_changes_nothing(tmp_path: Path) -> None:
    with open_alone(tmp_path) as database:
        database.execute(INSERT, BLOCK)
    with open_to_read(tmp_path) as database:
        assert database.execute(f"SELECT {COLUMNS} FROM blocks").fetchall() == [BLOCK]
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            database.execute("DELETE FROM blocks")


def test_one_run_at_a_time_holds_a_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_file, "LOCK_SECONDS", 0.01)
    with open_alone(tmp_path):
        for opened in (open_alone, open_to_read):
            with pytest.raises(InputError, match=f"^{tmp_path} is in use by another run"), opened(tmp_path):
                pytest.fail("it was opened twice")
    with open_alone(tmp_path), pytest.raises(ZeroDivisionError), open_alone(tmp_path / "other"):
        raise ZeroDivisionError
    with open_alone(tmp_path / "other"):  # the lock is lifted, whatever happened
        pass


def test_a_mistake_in_a_statement_is_one_line(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match=r"ledger\.sqlite: no such table: nowhere"),
        open_alone(tmp_path) as database,
    ):
        database.execute("SELECT * FROM nowhere")


def test_folders_without_a_ledger_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no sweep: it has no ledger"), open_to_read(tmp_path):
        pytest.fail("it was opened")
    (tmp_path / FILE).touch()
    with pytest.raises(InputError, match=r"holds no sweep: its ledger\.sqlite is empty"), open_to_read(tmp_path):
        pytest.fail("it was opened")
    lonely = tmp_path / "lonely"
    (lonely / STORE).mkdir(parents=True)
    with pytest.raises(InputError, match=r"that no ledger\.sqlite belongs to"), open_alone(lonely):
        pytest.fail("it was opened")
    assert not (lonely / FILE).exists()


@pytest.mark.parametrize(
    ("application", "version", "says"),
    [
        (7, 1, "not a simlab"),
        (APPLICATION, schemas.LEDGER + 1, "made by a newer simlab"),
        (APPLICATION, schemas.LEDGER - 1, "made by an earlier simlab, and simlab .* reads schema"),
    ],
)
def test_a_ledger_of_somebody_else_or_of_tomorrow_is_refused(
    tmp_path: Path, application: int, version: int, says: str
) -> None:
    with closing(sqlite3.connect(tmp_path / FILE)) as database:
        database.execute(f"PRAGMA application_id = {application}")
        database.execute(f"PRAGMA user_version = {version}")
        database.execute("CREATE TABLE blocks (pool)")
    for opened in (open_alone, open_to_read):
        with pytest.raises(InputError, match=says), opened(tmp_path):
            pytest.fail("it was opened")
