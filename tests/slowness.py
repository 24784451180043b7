"""Mark the dear cases of a test: the default suite carries out the quick ones."""

from collections.abc import Iterable
from typing import Any

import pytest


def slow_except(quick: Iterable[str], cases: Iterable[str]) -> list[Any]:
    """Return the cases, marked slow but for the quick ones; raise ValueError where a quick one is no case."""
    cases = list(cases)
    if unknown := set(quick) - set(cases):
        raise ValueError(f"there is no case {sorted(unknown)}")
    return [case if case in quick else pytest.param(case, marks=pytest.mark.slow) for case in cases]
