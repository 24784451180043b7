"""Open stores and compute what commands on them share: narrowed cells, named measures, comparisons, remarks.

A store is the folder that a sweep filled, or its dataset; a cell is one value of each axis. `choose` finds the store,
`open_narrowed` yields its dataset with the cells that meet conditions, `compare_axis`, `rank_jointly` and
`compared_stores` return a `Comparison` of designs.
"""

from __future__ import annotations

import math
import os
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from simlab.commands.flags import Setting, Store
from simlab.commands.notes import note
from simlab.comparing import cell_datasets, contrasts, joint_designs, several_stores
from simlab.comparing.contrasts import Comparison
from simlab.comparing.several_stores import EqualLevels
from simlab.drawing import view
from simlab.engine.ledger import STORE
from simlab.files import reason
from simlab.messages import Reservation, clip, suggest
from simlab.store import opening
from simlab.store.folder import last_store
from simlab.store.query import add_companion, ensure_measures, find_companion, select
from simlab.store.reservations import skewness_warning, undivided_warning
from simlab.store.wholeness import remedy
from simlab.types import InputError

if TYPE_CHECKING:
    import xarray as xr


EQUAL = ("cost", "money", "hours", "days", "ratings_used")
"""Quantities that designs can be compared at equal amounts of."""

Condition: TypeAlias = str | tuple[str, Sequence[object]]
"""Condition on an axis, as typed (`"grouping=ungrouped,system_balanced"`), or as an axis and its values."""


def add_named_measures(dataset: xr.Dataset, names: Sequence[str] | None) -> tuple[xr.Dataset, list[str]]:
    """Return a store with the measures asked for (None: those it holds), and their names.

    Beside a measure that is best where a study finds nothing stands one of how much it finds. Raises InputError for a
    name that is neither a measure nor an outcome that has a mean.
    """
    dataset = ensure_measures(dataset, names or ())
    stored = opening.measures_of(dataset)
    requested = [view.match_name(name, stored, "the measure") for name in names or stored]
    dataset = add_companion(dataset, requested)
    companion = find_companion(dataset, requested)
    return dataset, [*requested, *([companion] if companion else [])]


def compare_axis(
    dataset: xr.Dataset, by: str, measure: str | None, baseline: str | None, at_equal: str | None = None
) -> Comparison:
    """Compare the designs along the axis `by` of a store; `at_equal` where they cost, or take, the same.

    `measure` None is that of the figure, `baseline` None the best design; `at_equal` is read by `read_levels`. Raises
    InputError for an axis, a measure or a baseline that the store does not hold, and for costs that designs do not have
    in common.
    """
    levels = read_levels(at_equal)
    dataset = ensure_measures(dataset, [name for name in (measure, levels and levels.name) if name])
    axis, name = view.axis(dataset, by), view.choose_measure(dataset, measure)
    _refuse_uninfluenced(dataset, name)
    comparison = several_stores.compare_designs(dataset, axis, name, baseline, levels)
    return comparison if levels is not None else cell_datasets.add_world_shares(dataset, comparison)


def read_levels(text: str | None, *, of_two: bool = False) -> EqualLevels | None:
    """Read the quantity to make equal, `cost` or `cost=600,1200`; raise InputError for anything else.

    `of_two`: without values, costs are those that any two designs have in common, not all.
    """
    if text is None:
        return None
    name, equals, values = text.partition("=")
    if name not in EQUAL:
        raise InputError(f"--at-equal {clip(name)} cannot be made equal; {suggest(name, EQUAL)}")
    try:
        costs = sorted({float(cost) for cost in values.split(",")}) if equals else []
    except ValueError:
        costs = [math.nan]
    if not all(map(math.isfinite, costs)):
        raise InputError(f"--at-equal {clip(text, 60)}: write {name}, or {name}=VALUE[,VALUE] with numbers")
    return EqualLevels(name, tuple(costs), of_two)


def _refuse_uninfluenced(dataset: xr.Dataset, name: str) -> None:
    if f"{name}_influence" not in dataset:
        raise InputError(f"differences of {name} need {name}_influence, which this dataset lacks; give the whole store")


def rank_jointly(
    stores: Mapping[str, xr.Dataset],
    conditions: Sequence[Condition],
    by: Sequence[str],
    measure: str | None,
    baseline: str | None,
    at_equal: str | None,
) -> Comparison:
    """Rank the designs along several axes, and those of several stores, together; `at_equal` where they cost the same.

    A condition narrows the stores that have its axis. Raises InputError for what the stores do not hold or vary alike.
    """
    levels = read_levels(at_equal, of_two=True)
    wanted = [name for name in (measure, levels and levels.name) if name]
    chosen = _narrow_each(stores, conditions, wanted)
    known = {key: axis for dataset in chosen.values() for key, axis in _axis_names(dataset).items()}
    axes = [known.get(name) or view.match_name(name, list(dict.fromkeys(known.values())), "the axis") for name in by]
    if len({*axes}) < len(axes):
        raise InputError(f"--by {','.join(by)} names an axis twice; name each once")
    for dataset in chosen.values():
        _refuse_uninfluenced(dataset, name := _common_measure(chosen, measure))
    return joint_designs.compare_jointly(chosen, axes, name, baseline, levels)


def compared_stores(
    stores: Mapping[str, xr.Dataset], conditions: Sequence[Condition], measure: str | None, baseline: str | None
) -> Comparison:
    """Compare the cells of several stores with each other, paired where they met the same worlds.

    A condition narrows the stores that have its axis. Raises InputError where none has it, and where the stores have
    no measure in common.
    """
    chosen = _narrow_each(stores, conditions, [measure] if measure else [])
    name = _common_measure(chosen, measure)
    joined, by = several_stores.join(chosen, name), several_stores.DESIGN
    if baseline is not None:
        view.match_name(baseline, joined.dataset[by].values.tolist(), "the design")
    unlike = bool(joined.differing)
    rows = contrasts.compare(
        joined.dataset, by=by, measure=name, baseline=baseline, against=joined.against, unlike=unlike
    )
    return contrasts.describe(rows, by, joined.dataset[name], paired=joined.paired, differing=joined.differing)


def _narrow_each(
    stores: Mapping[str, xr.Dataset], conditions: Sequence[Condition], measures: Sequence[str]
) -> dict[str, xr.Dataset]:
    """Keep of each store the cells that meet the conditions on its axes, with measures."""
    _refuse_unknown(stores, conditions)
    chosen = {}
    for name, dataset in stores.items():
        own = [condition for condition in conditions if _name_axis(condition) in _list_known(dataset)]
        chosen[name] = ensure_measures(narrow(dataset, own), measures)
    return chosen


def _common_measure(stores: Mapping[str, xr.Dataset], measure: str | None) -> str:
    common = several_stores.common_measures(stores)
    if not common:
        raise InputError("these stores have no measure in common; name one with --measure")
    return view.match_name(measure, common, "the measure") if measure else common[0]


class Remarks(NamedTuple):
    """Remarks on a store beside an answer: notes, and what makes the answer one with a reservation."""

    notes: Sequence[str] = ()
    reservations: Sequence[str] = ()


def remarks(dataset: xr.Dataset) -> Remarks:
    """Return the remarks on a store: notes on what its errors leave out, reservations on what is in doubt."""
    notes = view.condition(dataset), skewness_warning(dataset)
    doubts = dataset.attrs.get("reservation"), undivided_warning(dataset)
    return Remarks([line for line in notes if line], [line for line in doubts if line])


def gather_notes(remarks: Remarks) -> Sequence[str]:
    """Return the notes of remarks; raise each reservation as a warning, which `notes.reservations` collects."""
    for line in remarks.reservations:
        warnings.warn(line, Reservation, stacklevel=3)
    return remarks.notes


def find_store(folder: Path | None) -> Path:
    """Return the folder, or else that of the store that was run last, with a note on stderr."""
    if folder is not None:
        return folder
    last = last_store()
    note(f"store: {last}")
    return last


@contextmanager
def open_narrowed(store: Path | xr.Dataset, conditions: Sequence[Condition]) -> Iterator[xr.Dataset]:
    """Open a folder, or take a dataset, and keep the cells that meet conditions.

    Raises InputError where there is no store, and for an axis or a value that it does not hold.
    """
    with ExitStack() as stack:
        if isinstance(store, Path):
            stack.enter_context(_explain_decoding(store))
            store = stack.enter_context(opening.open_results(store))
        if "sweep" not in store.attrs:
            raise InputError("this dataset has no attribute sweep; take one that simlab.open_results gave")
        yield narrow(store, conditions)


def choose(store: Store | None, conditions: Sequence[Setting]) -> tuple[Path | xr.Dataset, list[Setting]]:
    """Return the store, else the one that was run last (which is noted), and the conditions, told apart."""
    if store is None or isinstance(store, str | os.PathLike):
        folder, wanted = split_words(store, conditions)
        return find_store(folder), wanted
    return store, list(conditions)


def open_several(stack: ExitStack, folders: Sequence[Any]) -> dict[str, xr.Dataset]:
    """Open stores by the names of their folders; raises InputError for two of one name, and for datasets."""
    if not all(isinstance(folder, str | os.PathLike) for folder in folders):
        raise InputError("several stores are compared by the names of their folders; give folders, not datasets")
    for folder in folders:
        stack.enter_context(_explain_decoding(Path(folder)))
    named = {Path(folder).name: stack.enter_context(opening.open_results(Path(folder))) for folder in folders}
    if len(named) < len(folders):
        raise InputError("two of these folders have the same name; rename one")
    return named


@contextmanager
def _explain_decoding(folder: Path) -> Iterator[None]:
    """Raise InputError for a chunk whose checksum holds and that the libraries that read it do not understand."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        frames = (frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(error.__traceback__))
        if not any(name.partition(".")[0] in ("zarr", "numcodecs") for name in frames):
            raise
        path = folder / STORE
        raise InputError(f"{clip(path)} is damaged ({reason(error)}); {remedy(path)}") from error


def split_words(
    store: str | os.PathLike[str] | None, conditions: Sequence[str | Mapping[str, object]]
) -> tuple[Path | None, list[str | Mapping[str, object]]]:
    """Take the folder of a store and conditions apart: a first word with `=` that is no folder is a condition."""
    if store is None or ("=" in os.fspath(store) and not Path(store).is_dir()):
        return None, [*([] if store is None else [os.fspath(store)]), *conditions]
    return Path(store), list(conditions)


def split_conditions(given: Sequence[str | Mapping[str, object]]) -> list[Condition]:
    """Return conditions one axis at a time: texts as they are, mappings as (axis, values)."""
    conditions: list[Condition] = []
    for condition in given:
        conditions += (
            [condition]
            if isinstance(condition, str)
            else [(axis, _make_list(value)) for axis, value in condition.items()]
        )
    return conditions


def _make_list(value: Any) -> list[object]:
    if hasattr(value, "tolist"):
        value = value.tolist()
    return list(value) if isinstance(value, list | tuple | range) else [value]


def narrow(dataset: xr.Dataset, conditions: Sequence[Condition]) -> xr.Dataset:
    """Keep the cells that meet conditions; raises InputError for an axis or a value that the store does not hold."""
    named: set[str] = set()
    for condition in conditions:
        name = _name_axis(condition)
        # What is no condition at all is refused below.
        if not isinstance(condition, str) or "=" in condition:
            if (axis := view.axis(dataset, name)) in named:
                raise InputError(f"{name} is given twice; write its values with commas, as {name}=1,2")
            named.add(axis)
        if isinstance(condition, str):
            dataset = view.filter_cells(dataset, [condition])
        else:
            name, values = condition
            dataset = select(dataset, {view.axis(dataset, name): values})
    return dataset


def _refuse_unknown(stores: Mapping[str, xr.Dataset], conditions: Sequence[Condition]) -> None:
    known = list(dict.fromkeys(name for dataset in stores.values() for name in _list_known(dataset)))
    for condition in conditions:
        if _name_axis(condition) not in known:
            raise InputError(f"no store has the axis {_name_axis(condition)}; {suggest(_name_axis(condition), known)}")


def _name_axis(condition: Condition) -> str:
    return condition.partition("=")[0] if isinstance(condition, str) else condition[0]


def _list_known(dataset: xr.Dataset) -> list[str]:
    """Name the axes of a store, and their keys."""
    return list(_axis_names(dataset))


def _axis_names(dataset: xr.Dataset) -> dict[str, str]:
    """Return the axes of a store by their names and by their keys."""
    axes = opening.name_axes(dataset)
    return {name: name for name in axes} | {str(dataset[name].attrs["key"]): name for name in axes}
