"""Draw how one campaign of a store went: who worked on what and when, carried out again on its clock.

`draw_timeline` takes the store's folder, the cell and the place of the campaign, and returns the figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simlab.commands.export import name_campaign, repeat_campaign
from simlab.drawing.figures import files, timeline
from simlab.messages import word
from simlab.types import Place

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_timeline(
    folder: Path,
    conditions: Sequence[str],
    place: Place,
    plugins: Sequence[str] = (),
    file: Path | None = None,
) -> tuple[Figure, tuple[str, ...]]:
    """Carry out one campaign again and draw it, to a file if one is named.

    `conditions` name its cell, `place` the campaign in it. Returns the figure, and lines on how the campaign differs
    from the one that the folder keeps.
    """
    from simlab.engine import timelines

    again = repeat_campaign(folder, conditions, place, plugins)
    line = timelines.timeline(again.config, again.collected)
    return files.write(lambda: timeline.draw(line, _title(again.cell, place)), file), again.doubts


def _title(cell: Mapping[str, Any], place: Place) -> str:
    """Name a campaign by its cell and place."""
    return ", ".join([*(f"{name}={word(value)}" for name, value in cell.items()), name_campaign(place)])
