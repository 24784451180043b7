"""Answer in which partial order of systems a campaign ended."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from simlab.commands.next_steps import ended
from simlab.commands.stores import named, opened
from simlab.drawing.text import orders as text
from simlab.store.orders import orders


def answer(
    folder: Path | None, conditions: Sequence[str], world: int, study: int, form: Literal["table", "json"]
) -> str:
    """Write the order of a campaign in each cell that meets the conditions."""
    folder = named(folder)
    with opened(folder, conditions) as dataset:
        found = orders(dataset, world, study)
        if form == "json":
            return text.to_json(found)
        return ended(text.table(found), "query", folder, *conditions)
