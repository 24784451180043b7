"""Check that answers come back from JSON as they were, and that what is no answer is refused in one line."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simlab.answers.records import Count, Lower, Num, Record, Rows, Upper, read_record
from simlab.types import InputError

NUMBERS = st.floats(-1e15, 1e15) | st.sampled_from([math.nan, math.inf, -math.inf])


class Row(Record):
    name: str
    value: Num
    low: Lower
    high: Upper
    n: Count


class Answer(Record):
    reached: bool
    rows: tuple[Row, ...]
    price: Num = math.nan


@given(st.lists(st.tuples(st.text(), NUMBERS, NUMBERS, NUMBERS, st.integers(0, 10**15)), max_size=3))
def test_what_is_written_is_read_again(rows: list[tuple[str, float, float, float, int]]) -> None:
    """A number that JSON has not becomes what null means in its place: not known, or no bound."""
    made = Answer(reached=True, rows=tuple(Row(**dict(zip(Row.model_fields, row, strict=True))) for row in rows))
    read = read_record(Answer, json.loads(json.dumps(made.serialise(), allow_nan=False)))
    for row, (name, value, low, high, n) in zip(read.rows, rows, strict=True):
        missing = {"value": math.nan, "low": -math.inf, "high": math.inf}
        for field, held in (("value", value), ("low", low), ("high", high)):
            expected = held if math.isfinite(held) else missing[field]
            assert repr(getattr(row, field)) == repr(expected)
        assert (row.name, row.n) == (name, n)
    assert read.serialise() == made.serialise()


SOUND: dict[str, Any] = {"reached": True, "rows": [{"name": "a", "value": 0.5, "low": None, "high": 1, "n": 3}]}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"reached": 1}, "answer.reached: 1 must be a valid boolean"),
        ({"rows": {}}, "answer.rows: an object of 0 must be a valid array"),
        ({"rows": [3]}, "answer.rows[0]: 3 must be an object"),
        ({"rows": [{**SOUND["rows"][0], "n": -1}]}, "answer.rows[0].n: -1 must be greater than or equal to 0"),
        ({"rows": [{**SOUND["rows"][0], "n": 2.5}]}, "answer.rows[0].n: 2.5 must be a valid integer"),
        ({"rows": [{**SOUND["rows"][0], "value": "x"}]}, "answer.rows[0].value: x must be a valid number"),
        ({"rows": [{**SOUND["rows"][0], "value": True}]}, "answer.rows[0].value: true must be a valid number"),
        ({"rows": [{**SOUND["rows"][0], "high": 1e300}]}, "answer.rows[0].high: 1e+300 must be a number of at most 15"),
        ({"rows": [{"name": "a"}]}, "answer.rows[0].value: is missing"),
        ({"typo": 1}, "answer.typo: is not a part of this answer"),
    ],
)
def test_what_is_no_answer_is_refused_where_it_is_none(change: dict[str, Any], said: str) -> None:
    assert read_record(Answer, SOUND).rows[0].high == 1
    with pytest.raises(InputError) as refused:
        read_record(Answer, {**SOUND, **change})
    assert str(refused.value).startswith(said)
    assert str(refused.value).endswith("; keep the answer anew with --save")
    assert "\n" not in str(refused.value)


class Table(Rows[Row]):
    """A table alone."""


class Name(Record):
    name: str


class Names(Rows[Name]):
    """Another table alone."""


def test_an_answer_that_is_one_table_is_the_list_of_its_rows() -> None:
    held = [SOUND["rows"][0], {**SOUND["rows"][0], "value": None}]
    read = read_record(Table, json.loads(json.dumps(held)), others=(Names,))
    assert [type(row) for row in read.rows] == [Row, Row]
    assert math.isnan(read.rows[1].value)
    assert read.serialise() == held
    assert [name for name, _ in read.each_row()] == ["", ""]
    assert isinstance(read_record(Table, [{"name": "a"}], others=(Names,)), Names)


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ([], "answer: a list of 0 must have a row"),
        ({"rows": []}, "answer: an object of 1 must be a valid array"),
        ([{**SOUND["rows"][0], "n": -1}], "answer[0].n: -1 must be greater"),
        ([{"name": "a"}, {"name": 3}], "answer[1].name: 3 must be a valid string"),
    ],
)
def test_what_is_no_table_is_refused_by_the_model_that_it_fits_best(held: Any, said: str) -> None:
    with pytest.raises(InputError) as refused:
        read_record(Table, held, others=(Names,))
    assert str(refused.value).startswith(said)


def test_a_record_is_not_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        read_record(Answer, SOUND).reached = False  # type: ignore[misc]


def test_a_record_is_shown_in_a_line() -> None:
    shown = repr(read_record(Answer, {**SOUND, "rows": SOUND["rows"] * 500}))
    assert shown == "Answer(reached=True, rows=<500 rows>, price=nan)"
