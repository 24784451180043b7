"""Answer in which partial order of systems a campaign ended."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from simlab.commands.stores import opened
from simlab.drawing.text import orders as text
from simlab.store.orders import orders


def answer(
    folder: Path | None, conditions: Sequence[str], world: int, study: int, form: Literal["table", "json"]
) -> str:
    """Write the order of a campaign in each cell that meets the conditions."""
    with opened(folder, conditions) as dataset:
        ended = orders(dataset, world, study)
        return text.table(ended) if form == "table" else text.to_json(ended)
