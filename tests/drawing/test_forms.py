"""Check that every form of an answer has one home, and that other forms are refused."""

from __future__ import annotations

from typing import get_args

import pytest

from simlab.answers.records import Num, Record
from simlab.drawing.text import tables
from simlab.types import InputError

RECORDS = [{"srp": 0.5}]


class Ranking(Record):
    kendall: Num


class Pair(Record):
    first: str
    single: Num


class Both(Record):
    rows_read: int
    agreement: tuple[Ranking, ...]
    pairs: tuple[Pair, ...]


TABLES = Both(rows_read=2, agreement=(Ranking(kendall=0.5),), pairs=(Pair(first="a", single=float("nan")),))


def test_the_command_line_offers_the_forms_that_can_be_written() -> None:
    assert set(get_args(tables.Form)) == {"table", *tables.FORMS}


def test_an_unknown_form_is_refused_and_never_taken_for_another() -> None:
    with pytest.raises(InputError, match=r"--format cvs: .*did you mean csv\?"):
        tables.write(RECORDS, "cvs")
    with pytest.raises(InputError, match="--format table"):
        tables.write(RECORDS, "table")
    with pytest.raises(InputError, match="--format html"):
        tables.write_tables(TABLES, "html")


def test_a_form_is_added_in_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "FORMS", {**tables.FORMS, "count": lambda records: str(len(records))})
    assert tables.write(RECORDS, "count") == "1"
    assert tables.write_tables(TABLES, "count") == "2"


def test_tables_of_several_sorts_are_told_apart_in_csv_and_json() -> None:
    assert tables.write_tables(TABLES, "csv").splitlines() == [
        "table,kendall,first,single",
        "agreement,0.5,,",
        "pairs,,a,",
    ]
    answer = tables.write_tables(TABLES, "json")
    assert '"single": null' in answer
    assert '"rows_read": 2' in answer
