"""The check withdraws promises of tests that do not hold their level, and no others; what is promised is both together.

Quick versions take few tables and studies; the long one must hold within three errors.
"""

from __future__ import annotations

import pytest
from gate_promises import ERR, HOLD, gates
from test_concluded_tables import broken

NESTED = "flips of documents, nested, 10 raters, skewed"


def test_a_test_that_errs_is_withdrawn() -> None:
    fires, kept, *_ = gates(1, (NESTED,), studies=300)
    assert (fires.value, kept.value) == (1.0, 0.0)


def test_a_test_that_holds_is_not_withdrawn() -> None:
    fires, *_ = gates(1, ("crossed, skewed",), studies=100)
    assert fires.value == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("name", [NESTED, "nested, 10 raters, skewed"])
def test_some_tables_are_held_back_as_promised(name: str) -> None:
    rows = [row for row in gates(20, (name,), studies=300) if not row.control]
    assert len(rows) >= 2
    assert broken(rows, 3) == []


@pytest.mark.long
@pytest.mark.parametrize("name", [*ERR, *HOLD])
def test_many_tables_are_held_back_as_promised(name: str) -> None:
    assert broken(gates(100, (name,)), 3) == []
