"""Carry out `simlab compare`: which designs are best, along axes of a store or between stores; or what changed.

A store is the folder that a sweep filled; the designs are the values of the axes in `by`. `ask` returns
`ComparedDesigns`, `ask_changed` the differences of two stores cell by cell; `write` makes text, JSON or CSV of either,
and `label` the dataset of notebooks.
"""

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
from simlab.commands.typed_commands import Given, Launched
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
    """A comparison, the attributes of its store's axes, and the folder and conditions for the next command.

    `conditional` is 1 where the sweep has a single world (else 0). Of several stores there are no `axes`, and
    `conditional` is None.
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
    """Compute the paired differences between the designs along one axis or several, `at_equal` at the same cost.

    `by` names the axes, `baseline` a design; `at_equal` is a quantity, such as cost, with values if any
    (`cost=600,1200`); a `measure` of None is that of the figure, or the first. Without `by`, those between the cells of
    several stores, which may stand among the conditions. Raises InputError for a store, an axis, a value or a measure
    that is not there, for folders of the same name, and for stores without a measure in common.
    """
    folders, wanted = _folders(store, conditions)
    axes = [axis.strip() for axis in by.split(",")] if isinstance(by, str) else list(by or ())
    if len(folders) > 1 and bool(axes) != (at_equal is not None):
        raise InputError(
            "several stores are compared cell by cell, or their designs --by AXIS[,AXIS] --at-equal cost; "
            "give both of these, or neither"
        )
    if not axes and len(folders) < 2:
        raise InputError("name the axis with --by, or several stores without it; `simlab compare --help` shows how")
    typed = [condition for condition in wanted if isinstance(condition, str)]
    with ExitStack() as stack:
        if len(folders) > 1 and axes:
            opened = stores.open_several(stack, folders)
            comparison = stores.rank_jointly(opened, stores.split_conditions(wanted), axes, measure, baseline, at_equal)
            return ComparedDesigns(comparison, {}, None, folders[0], typed, stores.Remarks())
        if not axes:
            opened = stores.open_several(stack, folders)
            comparison = stores.compared_stores(opened, stores.split_conditions(wanted), measure, baseline)
            return ComparedDesigns(comparison, {}, None, folders[0], typed, stores.Remarks())
        where, _ = stores.choose(folders[0] if folders else None, ())
        dataset = stack.enter_context(stores.open_narrowed(where, stores.split_conditions(wanted)))
        if len(axes) > 1:
            comparison = stores.rank_jointly({"": dataset}, [], axes, measure, baseline, at_equal)
        else:
            comparison = stores.compare_axis(dataset, axes[0], measure, baseline, at_equal)
        attributes = {axis: dict(dataset[axis].attrs) for axis in name_axes(dataset)}
        conditional = int(dataset.attrs.get("conditional", 0))
        return ComparedDesigns(comparison, attributes, conditional, where, typed, stores.remarks(dataset))


def ask_changed(
    store: Store | Sequence[Store] | None, conditions: Sequence[Setting], measure: str | None
) -> ChangedStores:
    """Compare two stores: settings that differ, and values that moved.

    Raises InputError unless two folders are named, where a store, an axis, a value or a measure is not there, and where
    they have no cell in common.
    """
    folders, wanted = _folders(store, conditions)
    if len(folders) != 2 or not all(isinstance(folder, str | os.PathLike) for folder in folders):
        raise InputError("--changed holds two stores against each other; name OLD and NEW, the folders of two")
    old, new = (Path(folder) for folder in folders if isinstance(folder, str | os.PathLike))
    typed = stores.split_conditions(wanted)
    with stores.open_narrowed(old, typed) as before, stores.open_narrowed(new, typed) as after:
        return changes.compare_stores(before, after, (os.fspath(old), os.fspath(new)), measure)


def _folders(store: Store | Sequence[Store] | None, conditions: Sequence[Setting]) -> tuple[list[Store], list[Setting]]:
    """Split the arguments into stores and conditions, in whatever order they are named."""
    if isinstance(store, list | tuple):
        return list(store), list(conditions)
    first: list[Any] = [] if store is None else [store]
    named = [argument for argument in first if not _is_condition(argument)]
    named += [argument for argument in conditions if isinstance(argument, str) and not _is_condition(argument)]
    wanted = [argument for argument in first if _is_condition(argument)]
    return named, [
        *wanted,
        *(argument for argument in conditions if not isinstance(argument, str) or _is_condition(argument)),
    ]


def _is_condition(argument: Any) -> bool:
    return isinstance(argument, str) and "=" in argument and not Path(argument).is_dir()


def label(compared: ComparedDesigns) -> xr.Dataset:
    """Return a comparison as a dataset over its axes; attributes name what was compared and what is held fixed."""
    comparison = compared.comparison
    answer = contrasts.tabulate_comparison(comparison.rows, comparison.by, comparison.measure)
    unit = {"units": comparison.unit} if comparison.unit else {}
    fixed = {HELD_FIXED: comparison.held_fixed} if comparison.held_fixed else {}
    answer[comparison.measure].attrs.update({"long_name": comparison.label, **unit, **fixed})
    for name in (*(f"{comparison.measure}{end}" for end in ("_mcse", "_low", "_high")), *contrasts.DIFFERENCES):
        answer[name].attrs.update(unit)
    about = {
        "by": comparison.by,
        "measure": comparison.measure,
        "cluster": comparison.cluster,
        "paired": comparison.paired,
    }
    about |= {"differing": ", ".join(comparison.differing)}
    if comparison.equal is not None:
        about |= {"at_equal": comparison.equal.level, "along": comparison.equal.along}
    for axis in answer.coords:
        answer[axis].attrs.update(compared.axes.get(str(axis), {}))
    for part in dict.fromkeys(part for design in comparison.designs.values() for part in design):
        parts = [comparison.designs[design].get(part) for design in answer[comparison.by].values.tolist()]
        # A store that does not have the axis has no value on it.
        values = contrasts.column(["" if value is None else value for value in parts] if _has_text(parts) else parts)
        answer = answer.assign_coords({part: (comparison.by, values, compared.axes.get(part, {}))})
    if compared.conditional is None:
        return answer.assign_attrs(about)
    return answer.assign_attrs(about | {"conditional": compared.conditional})


def _has_text(values: Sequence[object]) -> bool:
    return any(isinstance(value, str) for value in values)


def write(compared: ComparedDesigns | ChangedStores, form: Form, given: Given) -> Launched:
    """Format a comparison as table, csv or json, with notes on its store; exit code 3 if no best design can be named.

    `given` are the command's options by name.
    """
    if isinstance(compared, ChangedStores):
        return _write_changed(compared, form)
    notes, comparison = stores.gather_notes(compared.remarks), compared.comparison
    listed = contrasts.records(comparison.rows, comparison.by, comparison.measure)
    fixed = {HELD_FIXED: comparison.held_fixed} if comparison.held_fixed else {}
    parts = [comparison.designs.get(row.design, {}) for row in comparison.rows]
    listed = [
        {**record, **part, **cells, **fixed}
        for record, part, cells in zip(listed, parts, _cells(comparison), strict=True)
    ]
    if form != "table":
        return Launched(
            tables.write(contrasts.flatten_marks(listed) if form == "csv" else listed, form), notes, _code(comparison)
        )
    words = ["plot", os.fspath(compared.folder), *compared.conditions, "--measure", comparison.measure]
    return Launched(add_next_step(page(comparing.report(comparison)), *words), notes, _code(comparison))


def _write_changed(changed: ChangedStores, form: Form) -> Launched:
    """Write what changed; a value that moved leaves a reservation."""
    code = RESERVED if changed.moved else DONE
    if form == "csv":
        rows = [{**value.serialise(), **value.at} for value in changed.values]
        return Launched(tables.write([{k: row[k] for k in row if k != "at"} for row in rows], form), code=code)
    if form == "json":
        return Launched(tables.write_tables(changed, form), code=code)
    return Launched(add_next_step(page(changed_report.report(changed)), "verify", changed.new), code=code)


def _cells(comparison: Comparison) -> list[dict[str, object]]:
    """Return for each row the cells between which it lies and the weight of the second; nothing without equal costs.

    A row that is unreached lies between none.
    """
    equal = comparison.equal
    if equal is None:
        return [{} for _ in comparison.rows]
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


def _code(comparison: Comparison) -> int:
    """Return the exit code: a reservation where no best design can be named, and where campaigns failed."""
    if any(row.failed for row in comparison.rows):
        return RESERVED
    return DONE if all(map(_clean, group_by_cell(comparison.rows))) else RESERVED


def _clean(rows: Sequence[Row]) -> bool:
    """True if a design of a cell is called the best, or none could be for want of clusters."""
    standings = {row.standing for row in rows}
    return "best" in standings or not standings & {"marked", "unranked"}
