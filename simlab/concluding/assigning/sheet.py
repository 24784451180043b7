"""Write an assignment as one long csv, to be filled in."""

from __future__ import annotations

from collections.abc import Sequence

from simlab.concluding.assigning.blinding import Line
from simlab.concluding.assigning.cells import table

COLUMNS = ("position", "rater", "task", "document", "segment", "slot", "control", "source", "output", "rating")


def text(lines: Sequence[Line]) -> str:
    """Write what is to be rated, rater by rater and in the order of their work; ratings are empty."""
    held = ([*(getattr(one, name) for name in COLUMNS[:-1]), None] for one in lines)
    return table(COLUMNS, ([None if cell == "" else cell for cell in row] for row in held))
