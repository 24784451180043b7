"""Conclude with little effort: what matters is how a table is read, not how near a check is to the truth."""

from collections.abc import Iterator

import pytest

from simlab.effort import USUAL, use_effort


@pytest.fixture(autouse=True)
def _little_effort(short_effort: None) -> None:
    """Run chains and checks for a moment in each test of this folder."""


@pytest.fixture
def usual_effort(_little_effort: None) -> Iterator[None]:
    """Run them as long as users do, where numbers are compared."""
    with use_effort(USUAL):
        yield
