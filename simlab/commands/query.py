"""Answer what the measures of a store are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from simlab.commands import launch
from simlab.commands.stores import measured, opened, viewed
from simlab.drawing import view
from simlab.drawing.text import cells, tables
from simlab.drawing.text.tables import Form
from simlab.store.folder import last_store
from simlab.store.opening import axes_of
from simlab.store.query import records


def answer(folder: Path | None, conditions: Sequence[str], measures: Sequence[str] | None, form: Form) -> str:
    """Write the measures of the cells that meet the conditions.

    Raises InputError for a store, an axis, a value or a measure that is not there.
    """
    with viewed(folder, conditions) as held:
        dataset, names = measured(held, measures)
        if form != "table":
            return tables.write(records(dataset, names), form)
        return cells.table(view.rows(dataset, names), axes_of(dataset), names)


def soundness(folder: Path | None, conditions: Sequence[str]) -> int:
    """Return the exit code for what became of the campaigns of the cells that meet the conditions."""
    with opened(folder or last_store(), conditions) as dataset:
        return launch.soundness(dataset)
