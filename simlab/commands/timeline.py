"""Answer with how one campaign of a store went: who worked on what and when, carried out again on its clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simlab.commands.exit_codes import DONE, RESERVED
from simlab.commands.export import carried_out, named
from simlab.commands.next_steps import step
from simlab.commands.notes import note
from simlab.commands.plot import Drawn, caption
from simlab.drawing.figures import files, timeline
from simlab.messages import word
from simlab.store.folder import last_store
from simlab.types import Place

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def answer(
    folder: Path | None,
    conditions: Sequence[str],
    place: Place,
    out: Path | None,
    plugins: Sequence[str] = (),
) -> Drawn:
    """Draw one campaign of a store; return the name of the figure's file.

    Raises InputError for a study without a clock, a cell that is not one, and a campaign that the folder does not hold
    or that failed.
    """
    where = last_store() if folder is None else folder
    file = files.choose_file(out, where, "timeline.png")
    figure, doubts = drawn(where, conditions, place, plugins, file)
    for line in doubts:
        note(line)
    campaign = [word for name, k in place._asdict().items() if k for word in (f"--{name}", str(k))]
    following = step("export", where, *conditions, *campaign, "--out", "campaign.csv")
    return Drawn(str(file), RESERVED if doubts else DONE, following, caption(figure))


def drawn(
    folder: Path,
    conditions: Sequence[str],
    place: Place,
    plugins: Sequence[str] = (),
    file: Path | None = None,
) -> tuple[Figure, tuple[str, ...]]:
    """Carry out one campaign again and draw it, to a file if one is named; return what is to be doubted beside it."""
    from simlab.engine import timelines

    again = carried_out(folder, conditions, place, plugins)
    line = timelines.timeline(again.config, again.collected)
    return files.write(lambda: timeline.draw(line, _title(again.cell, place)), file), again.doubts


def _title(cell: Mapping[str, Any], place: Place) -> str:
    """Name a campaign by its cell and place."""
    return ", ".join([*(f"{name}={word(value)}" for name, value in cell.items()), named(place)])
