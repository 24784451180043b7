"""Where a rule ended judging its interval holds what it says, and a naive one does not."""

from __future__ import annotations

import pytest
import stopping_promises as promises


@pytest.mark.parametrize(
    "rows", [promises.coverage_where_judging_ends, promises.coverage_with_a_metric, promises.claims_of_equal_systems]
)
def test_rules_that_end_judging_keep_their_promise(rows) -> None:  # type: ignore[no-untyped-def]
    for row in rows(40):
        assert row.holds(5 if not row.control else 2), row


@pytest.mark.long
@pytest.mark.parametrize(
    "rows", [promises.coverage_where_judging_ends, promises.coverage_with_a_metric, promises.claims_of_equal_systems]
)
def test_every_rule_keeps_its_promise(rows) -> None:  # type: ignore[no-untyped-def]
    for row in rows(2000):
        assert row.holds(3), row
