"""Open the stores that a command names: narrowed to the cells that are wanted, with the measures that are wanted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from simlab.commands.notes import note
from simlab.drawing import view
from simlab.store.folder import last_store
from simlab.store.opening import measures_of, open_results
from simlab.store.query import add_measures

if TYPE_CHECKING:
    import xarray as xr


@contextmanager
def opened(folder: Path | None, conditions: Sequence[str], measures: Sequence[str] = ()) -> Iterator[xr.Dataset]:
    """Open a store, the last one if none is named, narrowed to the cells that meet conditions.

    Measures that it does not hold are computed from its outcomes. What its errors leave out is said on stderr.
    """
    with open_results(named(folder)) as dataset:
        yield with_measures(view.narrowed(dataset, conditions), measures)
        # Only once the answer is there: a mistake is answered by one line.
        if condition := view.condition(dataset):
            note(condition)


def named(folder: Path | None) -> Path:
    """Return the folder, or else that of the store that was run last, which is said on stderr."""
    if folder is not None:
        return folder
    last = last_store()
    note(f"store: {last}")
    return last


def with_measures(dataset: xr.Dataset, names: Sequence[str]) -> xr.Dataset:
    """Add the measures that a store does not hold but its outcomes can give; raise InputError for unknown ones."""
    if all(name in measures_of(dataset) for name in names):
        return dataset
    from simlab.store.measures import all_measures

    known = all_measures()
    for name in names:
        view.nearest(name, tuple(dict.fromkeys([*measures_of(dataset), *known])), "the measure")
    return add_measures(dataset, {name: known[name] for name in names if name in known})
