"""Answer what the measures of a store are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from simlab.commands import launch, stores
from simlab.commands.exit_codes import DONE, RESERVED
from simlab.commands.flags import Form, Setting, Store
from simlab.commands.next_steps import of_store, step
from simlab.commands.typed import Given, Launched
from simlab.config.explaining import explain_measures
from simlab.drawing import view
from simlab.drawing.text import cells, tables
from simlab.store.measures import FAILED
from simlab.store.opening import axes_of
from simlab.store.query import records, with_views

if TYPE_CHECKING:
    import xarray as xr


class QueriedStore(NamedTuple):
    """Hold the measures that were asked for, as cells (`records`) and over the axes (`dataset`).

    `clusters` are the words for what each is replicated over, `following` is the next command, of a folder, and `code`
    says what became of the campaigns of the cells.
    """

    names: Sequence[str]
    axes: Sequence[str]
    records: Sequence[dict[str, Any]]
    clusters: dict[str, str]
    dataset: xr.Dataset
    remarks: stores.Remarks
    following: str
    code: int


def ask(store: Store | None, conditions: Sequence[Setting], measures: Sequence[str] | None) -> QueriedStore:
    """Take the measures of the cells that meet the conditions.

    Raises InputError for a store, an axis, a value or a measure that is not there.
    """
    where, wanted = stores.choose(store, conditions)
    with stores.opened(where, stores.apart(wanted)) as held:
        dataset, names = stores.measured(held, measures)
        found = with_views(dataset, names)
        for said in explain_measures(names):
            source = {"references": said.source} if said.source else {}
            found[said.measure].attrs |= {"comment": said.sentence, **source}
        typed = [one for one in wanted if isinstance(one, str)]
        failed = any(FAILED in dataset[name].attrs for name in names)
        return QueriedStore(
            names,
            axes_of(dataset),
            records(dataset, names),
            {f"{name}_cluster": view.cluster(dataset, name) for name in names},
            found,
            stores.remarks(held),
            step(*of_store(held, where, typed)) if isinstance(where, Path) else "",
            launch.soundness(held) or (RESERVED if failed else DONE),
        )


def write(found: QueriedStore, form: Form, given: Given) -> Launched:
    """Write the measures of cells; what is to be said of their store stands below."""
    notes = stores.said(found.remarks)
    if form != "table":
        return Launched(tables.write(found.records, form), notes, found.code)
    text = cells.table([row | found.clusters for row in found.records], found.axes, found.names)
    return Launched(f"{text.rstrip()}\n\n{found.following}", notes, found.code)
