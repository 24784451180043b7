"""Answer in which partial order of systems a campaign ended."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from simlab.commands.next_steps import ended
from simlab.commands.stores import named, opened
from simlab.drawing.figures import files
from simlab.drawing.figures import orders as diagram
from simlab.drawing.text import orders as text
from simlab.store.orders import orders


def answer(
    folder: Path | None,
    conditions: Sequence[str],
    world: int,
    study: int,
    form: Literal["table", "json"],
    figure: Path | None = None,
) -> str:
    """Write the order of a campaign in each cell that meets the conditions; draw them if a file for that is named."""
    files.check_suffix(figure, "--figure")
    folder = named(folder)
    with opened(folder, conditions) as dataset:
        found = orders(dataset, world, study)
        if figure is not None:
            files.write(lambda: diagram.draw(found, f"World {world}, study {study}"), figure)
        return ended(text.table(found), "query", folder, *conditions) if form == "table" else text.to_json(found)
