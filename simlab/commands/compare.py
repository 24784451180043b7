"""Answer which designs are best, of one store along an axis or of several stores cell by cell."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from simlab.commands.stores import opened, with_measures
from simlab.comparing import several_stores
from simlab.comparing.contrasts import compare
from simlab.comparing.several_stores import DESIGN
from simlab.drawing import view
from simlab.drawing.text import comparison, tables
from simlab.drawing.text.tables import Form
from simlab.store.opening import axes_of, open_results
from simlab.types import InputError


def answer(
    folder: Path | None, conditions: Sequence[str], by: str, measure: str | None, baseline: str | None, form: Form
) -> str:
    """Write the paired differences between the designs along an axis."""
    with opened(folder, conditions, [measure] if measure else []) as dataset:
        axis, name = view.axis(dataset, by), view.chosen(dataset, measure)
        against = None if baseline is None else view.value_on(dataset, axis, baseline)
        rows = compare(dataset, by=axis, measure=name, baseline=against)
        if form != "table":
            return tables.write(comparison.records(rows, axis, name), form)
        return comparison.table(rows, axis, name, view.cluster(dataset, name))


def of_stores(
    folders: Sequence[Path], conditions: Sequence[str], measure: str | None, baseline: str | None, form: Form
) -> str:
    """Write the differences between the cells of several stores, paired where they met the same worlds.

    Raises InputError for folders of the same name, and for stores without a measure in common.
    """
    with ExitStack() as stack:
        stores = {}
        for folder in folders:
            dataset = stack.enter_context(open_results(folder))
            own = [c for c in conditions if c.partition("=")[0] in axes_of(dataset)]
            stores[folder.name] = with_measures(view.narrowed(dataset, own), [measure] if measure else [])
        if len(stores) < len(folders):
            raise InputError("two of these folders have the same name; rename one")
        common = several_stores.common_measures(stores)
        if not common:
            raise InputError("these stores have no measure in common; name one with --measure")
        name = view.nearest(measure, common, "the measure") if measure else common[0]
        joined, same_worlds = several_stores.join(stores, name)
    if baseline is not None:
        view.nearest(baseline, joined[DESIGN].values.tolist(), "the design")
    rows = compare(joined, by=DESIGN, measure=name, baseline=baseline)
    if form != "table":
        return tables.write(comparison.records(rows, DESIGN, name), form)
    text = comparison.table(rows, DESIGN, name, "world")
    return text if same_worlds else f"{text}\n{comparison.UNPAIRED}"
