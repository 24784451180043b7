"""Answer what the measures of a store are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from simlab.commands import launch
from simlab.commands.exit_codes import DONE, RESERVED
from simlab.commands.next_steps import ended, of_store
from simlab.commands.stores import measured, named, viewed
from simlab.drawing import view
from simlab.drawing.text import cells, tables
from simlab.drawing.text.tables import Form
from simlab.store.measures import FAILED
from simlab.store.opening import axes_of
from simlab.store.query import records


class Queried(NamedTuple):
    """Hold the measures that were asked for, and the exit code for what became of the campaigns of their cells."""

    text: str
    code: int


def answer(folder: Path | None, conditions: Sequence[str], measures: Sequence[str] | None, form: Form) -> Queried:
    """Write the measures of the cells that meet the conditions.

    Raises InputError for a store, an axis, a value or a measure that is not there.
    """
    folder = named(folder)
    with viewed(folder, conditions) as held:
        dataset, names = measured(held, measures)
        if form == "table":
            text = cells.table(view.rows(dataset, names), axes_of(dataset), names)
            text = ended(text, *of_store(held, folder, conditions))
        else:
            text = tables.write(records(dataset, names), form)
        failed = any(FAILED in dataset[name].attrs for name in names)
        return Queried(text, launch.soundness(held) or (RESERVED if failed else DONE))
