"""Mark the dear cases of a test, which the default suite leaves out, and say how little effort will do."""

from collections.abc import Iterable
from typing import Any

import pytest

from simlab.effort import ChainEffort, Effort, ManyChains

SHORT = Effort(
    scales=ChainEffort(2, 150, 150),
    outputs=ManyChains(2, 100, 8, 4, 6),
    preferences=ChainEffort(2, 150, 100),
    nuts=ChainEffort(2, 150, 150),
    consensus=ChainEffort(2, 100, 100, 3),
    mqm_tables=(30, 40),
    draws=40,
    checked_tables=60,
    equal_studies=100,
    timing_seconds=0.5,
    quoting_seconds=0.5,
)
"""Enough of everything for an answer; not for one that is near the truth."""


def slow_except(quick: Iterable[str], cases: Iterable[str]) -> list[Any]:
    """Return the cases, marked slow but for the quick ones; raise ValueError where a quick one is no case."""
    cases = list(cases)
    if unknown := set(quick) - set(cases):
        raise ValueError(f"there is no case {sorted(unknown)}")
    return [case if case in quick else pytest.param(case, marks=pytest.mark.slow) for case in cases]
