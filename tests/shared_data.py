"""Say where published data lie beside this repository, and count the tests that need them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

SHARED = Path(__file__).parents[2] / "shared/data"
MARK = "needs_shared"


class Report(Protocol):
    """What pytest tells of a phase of a test; `keywords` holds the names of its marks, also across processes."""

    nodeid: str
    outcome: str
    keywords: dict[str, object]


def missing(names: Iterable[str]) -> list[str]:
    """List those of the files and folders that are not here."""
    return [name for name in names if not (SHARED / name).exists()]


def told(reports: Iterable[Report]) -> str | None:
    """Say of how many tests the data are here or not; None where no test needs any."""
    outcomes: dict[str, set[str]] = {}
    for one in reports:
        if MARK in one.keywords:
            outcomes.setdefault(one.nodeid, set()).add(one.outcome)
    if not outcomes:
        return None
    skipped = sum("skipped" in said for said in outcomes.values())
    ran = f"{len(outcomes) - skipped} tests ran on ../shared/data"
    return f"{ran}, {skipped} were skipped: what they need is not here" if skipped else ran
