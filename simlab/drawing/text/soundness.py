"""Write what a check of a store came to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from simlab.drawing.text.tables import counted

if TYPE_CHECKING:
    from simlab.store.verifying import Report


def of_studies(report: Report) -> str:
    """Write a line per problem, and what was checked."""
    parts = [(report.cells, "cell"), (report.blocks, "block"), (report.arrays, "array")]
    checked = f"{', '.join(counted([count], noun) for count, noun in parts)} checked"
    if report.problems:
        return "\n".join([*report.problems, f"{checked}: {counted([len(report.problems)], 'problem')}"])
    return f"{checked}: checksums hold, nothing is missing, the store is what the ledger says"


def of_calculation(count: int, problems: Sequence[str]) -> str:
    """Write a line per measure that differs, and how many were calculated anew."""
    end = "they differ" if problems else "the store holds the same"
    return "\n".join([*problems, f"{counted([count], 'measure')} calculated anew: {end}"])
