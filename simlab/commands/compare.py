"""Answer which designs are best, of one store along an axis or of several stores cell by cell."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from simlab.commands.stores import Comparison, compared, compared_stores, several, viewed
from simlab.comparing import labelled
from simlab.drawing import view
from simlab.drawing.text import comparison, tables
from simlab.drawing.text.tables import Form


def answer(
    folder: Path | None, conditions: Sequence[str], by: str, measure: str | None, baseline: str | None, form: Form
) -> str:
    """Write the paired differences between the designs along an axis.

    Raises InputError for a store, an axis, a value or a measure that is not there.
    """
    with viewed(folder, conditions) as dataset:
        return _written(compared(dataset, by, measure, baseline), form)


def of_stores(
    folders: Sequence[Path], conditions: Sequence[str], measure: str | None, baseline: str | None, form: Form
) -> str:
    """Write the differences between the cells of several stores, paired where they met the same worlds.

    Raises InputError for folders of the same name, and for stores without a measure in common.
    """
    with ExitStack() as stack:
        return _written(compared_stores(several(stack, folders), conditions, measure, baseline), form)


def _written(said: Comparison, form: Form) -> str:
    if form != "table":
        return tables.write(labelled.records(said.rows, said.by, said.measure), form)
    cluster = view.cluster_word(said.cluster)
    text = comparison.table(said.rows, said.by, said.measure, cluster, shared=said.same_systems)
    return text if said.paired else f"{text}\n{comparison.UNPAIRED}"
