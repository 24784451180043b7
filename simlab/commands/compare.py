"""Answer which designs are best, of one store along an axis or of several stores cell by cell."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from simlab.answers.compare import ChangedStores
from simlab.commands import stores
from simlab.commands.exit_codes import DONE, RESERVED
from simlab.commands.flags import Form, Setting, Store
from simlab.commands.next_steps import add_next_step
from simlab.commands.typed import Given, Launched
from simlab.comparing import changes, contrasts
from simlab.comparing.contrasts import Comparison, Row, group_by_cell
from simlab.drawing.reports.answers import compare as changed_report
from simlab.drawing.reports.sweeping import comparing
from simlab.drawing.reports.text import page
from simlab.drawing.text import tables
from simlab.store.opening import name_axes
from simlab.store.reservations import HELD_FIXED
from simlab.types import InputError

if TYPE_CHECKING:
    import xarray as xr


class ComparedDesigns(NamedTuple):
    """Hold a comparison, what is said of the axes of its store, and what was asked: the next command repeats that.

    Of several stores there are no `axes`, and nothing is `conditional`.
    """

    comparison: Comparison
    axes: Mapping[str, Mapping[str, Any]]
    conditional: int | None
    folder: Any
    conditions: Sequence[str]
    remarks: stores.Remarks


def ask(
    store: Store | Sequence[Store] | None,
    conditions: Sequence[Setting],
    by: Sequence[str] | str | None,
    measure: str | None,
    baseline: str | None,
    at_equal: str | None,
) -> ComparedDesigns:
    """Take the paired differences between the designs along an axis, or several, `at_equal` where these cost the same.

    Without `by`, those between the cells of several stores, which may stand among the conditions. Raises InputError for
    a store, an axis, a value or a measure that is not there, for folders of the same name, and for stores without a
    measure in common.
    """
    folders, wanted = _folders(store, conditions)
    axes = [one.strip() for one in by.split(",")] if isinstance(by, str) else list(by or ())
    if len(folders) > 1 and bool(axes) != (at_equal is not None):
        raise InputError(
            "several stores are compared cell by cell, or their designs --by AXIS[,AXIS] --at-equal cost; "
            "give both of these, or neither"
        )
    if not axes and len(folders) < 2:
        raise InputError("name the axis with --by, or several stores without it; `simlab compare --help` shows how")
    typed = [one for one in wanted if isinstance(one, str)]
    with ExitStack() as stack:
        if len(folders) > 1 and axes:
            opened = stores.open_several(stack, folders)
            said = stores.rank_jointly(opened, stores.split_conditions(wanted), axes, measure, baseline, at_equal)
            return ComparedDesigns(said, {}, None, folders[0], typed, stores.Remarks())
        if not axes:
            opened = stores.open_several(stack, folders)
            said = stores.compared_stores(opened, stores.split_conditions(wanted), measure, baseline)
            return ComparedDesigns(said, {}, None, folders[0], typed, stores.Remarks())
        where, _ = stores.choose(folders[0] if folders else None, ())
        dataset = stack.enter_context(stores.open_narrowed(where, stores.split_conditions(wanted)))
        if len(axes) > 1:
            said = stores.rank_jointly({"": dataset}, [], axes, measure, baseline, at_equal)
        else:
            said = stores.compare_axis(dataset, axes[0], measure, baseline, at_equal)
        attributes = {axis: dict(dataset[axis].attrs) for axis in name_axes(dataset)}
        conditional = int(dataset.attrs.get("conditional", 0))
        return ComparedDesigns(said, attributes, conditional, where, typed, stores.remarks(dataset))


def ask_changed(
    store: Store | Sequence[Store] | None, conditions: Sequence[Setting], measure: str | None
) -> ChangedStores:
    """Compare two stores: settings that differ, and values that moved.

    Raises InputError unless two folders are named, where a store, an axis, a value or a measure is not there, and where
    they have no cell in common.
    """
    folders, wanted = _folders(store, conditions)
    if len(folders) != 2 or not all(isinstance(one, str | os.PathLike) for one in folders):
        raise InputError("--changed holds two stores against each other; name OLD and NEW, the folders of two")
    old, new = (Path(one) for one in folders if isinstance(one, str | os.PathLike))
    typed = stores.split_conditions(wanted)
    with stores.open_narrowed(old, typed) as before, stores.open_narrowed(new, typed) as after:
        return changes.compare_stores(before, after, (os.fspath(old), os.fspath(new)), measure)


def _folders(store: Store | Sequence[Store] | None, conditions: Sequence[Setting]) -> tuple[list[Store], list[Setting]]:
    """Split the arguments into stores and conditions, in whatever order they are named."""
    if isinstance(store, list | tuple):
        return list(store), list(conditions)
    first: list[Any] = [] if store is None else [store]
    named = [one for one in first if not _is_condition(one)]
    named += [one for one in conditions if isinstance(one, str) and not _is_condition(one)]
    wanted = [one for one in first if _is_condition(one)]
    return named, [*wanted, *(one for one in conditions if not isinstance(one, str) or _is_condition(one))]


def _is_condition(one: Any) -> bool:
    return isinstance(one, str) and "=" in one and not Path(one).is_dir()


def label(found: ComparedDesigns) -> xr.Dataset:
    """Label a comparison, and say in its attributes what was compared and what is held fixed."""
    said = found.comparison
    answer = contrasts.tabulate_comparison(said.rows, said.by, said.measure)
    unit = {"units": said.unit} if said.unit else {}
    fixed = {HELD_FIXED: said.held_fixed} if said.held_fixed else {}
    answer[said.measure].attrs.update({"long_name": said.label, **unit, **fixed})
    for name in (*(f"{said.measure}{end}" for end in ("_mcse", "_low", "_high")), *contrasts.DIFFERENCES):
        answer[name].attrs.update(unit)
    about = {"by": said.by, "measure": said.measure, "cluster": said.cluster, "paired": said.paired}
    about |= {"differing": ", ".join(said.differing)}
    if said.equal is not None:
        about |= {"at_equal": said.equal.level, "along": said.equal.along}
    for axis in answer.coords:
        answer[axis].attrs.update(found.axes.get(str(axis), {}))
    for part in dict.fromkeys(part for design in said.designs.values() for part in design):
        parts = [said.designs[design].get(part) for design in answer[said.by].values.tolist()]
        # A store that does not have the axis has no value on it.
        values = contrasts.column(["" if one is None else one for one in parts] if _has_text(parts) else parts)
        answer = answer.assign_coords({part: (said.by, values, found.axes.get(part, {}))})
    if found.conditional is None:
        return answer.assign_attrs(about)
    return answer.assign_attrs(about | {"conditional": found.conditional})


def _has_text(values: Sequence[object]) -> bool:
    return any(isinstance(value, str) for value in values)


def write(found: ComparedDesigns | ChangedStores, form: Form, given: Given) -> Launched:
    """Write a comparison; what is to be said of its store stands below."""
    if isinstance(found, ChangedStores):
        return _write_changed(found, form)
    notes, said = stores.gather_notes(found.remarks), found.comparison
    listed = contrasts.records(said.rows, said.by, said.measure)
    fixed = {HELD_FIXED: said.held_fixed} if said.held_fixed else {}
    parts = [said.designs.get(row.design, {}) for row in said.rows]
    listed = [
        {**record, **part, **cells, **fixed} for record, part, cells in zip(listed, parts, _cells(said), strict=True)
    ]
    if form != "table":
        return Launched(
            tables.write(contrasts.flatten_marks(listed) if form == "csv" else listed, form), notes, _code(said)
        )
    words = ["plot", os.fspath(found.folder), *found.conditions, "--measure", said.measure]
    return Launched(add_next_step(page(comparing.report(said)), *words), notes, _code(said))


def _write_changed(found: ChangedStores, form: Form) -> Launched:
    """Write what changed; a value that moved leaves a reservation."""
    code = RESERVED if found.moved else DONE
    if form == "csv":
        rows = [{**one.plain(), **one.at} for one in found.values]
        return Launched(tables.write([{k: row[k] for k in row if k != "at"} for row in rows], form), code=code)
    if form == "json":
        return Launched(tables.write_tables(found, form), code=code)
    return Launched(add_next_step(page(changed_report.report(found)), "verify", found.new), code=code)


def _cells(said: Comparison) -> list[dict[str, object]]:
    """Return for each row the cells between which it lies and the weight of the second; nothing without equal costs.

    A row that is unreached lies between none.
    """
    equal = said.equal
    if equal is None:
        return [{} for _ in said.rows]
    values = equal.values
    return [
        {
            "at_equal": equal.level,
            "between": [values[k] for k in pair] if reached else None,
            "weight": weight if reached else None,
        }
        for pair, weight, reached in zip(
            equal.between.reshape(-1, 2).tolist(), equal.weight.ravel().tolist(), equal.reached.ravel(), strict=True
        )
    ]


def _code(said: Comparison) -> int:
    """Return the exit code: a reservation where no best design can be named, and where campaigns failed."""
    if any(row.failed for row in said.rows):
        return RESERVED
    return DONE if all(map(_clean, group_by_cell(said.rows))) else RESERVED


def _clean(rows: Sequence[Row]) -> bool:
    """True if a design of a cell is called the best, or none could be for want of clusters."""
    standings = {row.standing for row in rows}
    return "best" in standings or not standings & {"marked", "unranked"}
