"""Hold tests of ratings to their family-wise error whoever takes which task; a dashboard breaks it everywhere."""

from __future__ import annotations

import pytest
from platform_promises import QUICK, platforms


@pytest.mark.slow
def test_hardly_any_claim_is_wrong_under_a_deadline_and_by_rank() -> None:
    for row in platforms(40, QUICK):
        assert row.holds(1 if row.control else 5), row


@pytest.mark.long
def test_hardly_any_claim_is_wrong_whoever_takes_which_task() -> None:
    for row in platforms(1000):
        assert row.holds(3), row
