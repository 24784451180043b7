"""Declare a sweep, and decide whether it continues the sweep that a folder already holds.

`declare` writes a sweep as plain data, `grow` joins that with the declaration of a folder, and `refuse_mixture`
compares the cells of both; `positions` finds the new cells on the grown grid. `where` is the folder, as errors name it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from hashlib import sha256
from typing import Any, TypeAlias

from simlab.config import locating
from simlab.config.precision_targets import write_until
from simlab.config.sweep import PLACES, Axis, Sweep, Written, canonical_text
from simlab.engine.conclusions import join_declarations
from simlab.messages import flatten, shorten, show
from simlab.types import QUESTION, InputError

Placed: TypeAlias = tuple[tuple[int, ...], Mapping[str, Any]]
"""A cell: its index on each axis, and its config."""

CROSSED = ("pools", "document_draws")
"""Sizes that a declaration names where there is more than one; see `Place`."""

_ABSENT = object()

Declaration = Mapping[str, Any]
"""JSON-ready: `base` (what all cells share and what determines numbers), `axes`, `worlds`, `studies`, and views."""


def declare(sweep: Sweep) -> dict[str, Any]:
    """Write down a sweep as plain data.

    The command and the engine's settings are left out: they do not change a number.
    """
    return {
        "name": sweep.name,
        "aim": sweep.aim,
        "axes": list(map(_serialise_axis, sweep.axes)),
        "base": determining_settings(sweep.base),
        "worlds": sweep.worlds,
        "studies": sweep.studies,
        **merge_crossings({"pools": sweep.pools, "document_draws": sweep.document_draws}),
        "measures": list(sweep.measures),
        "measure": sweep.base.get("measure", {}),
        "plugins": sweep.base.get("plugins", []),
        "figure": dict(sweep.figure),
        "precision": dict(sweep.precision),
        "finding": sweep.finding,
        "outcomes": sweep.base["engine"].get("outcomes", True),
        **({"reservation": sweep.reservation} if sweep.reservation else {}),
        **({"until": write_until(sweep.until)} if sweep.until else {}),
        **({"locate": locating.write(sweep.locate)} if sweep.locate else {}),
        **({"grid": sweep.n_cells * sweep.worlds * sweep.of_world} if sweep.locate else {}),
        **({"only": sweep.only} if sweep.only else {}),
        **({"around": sweep.around} if sweep.around else {}),
        **({"adapted": sweep.adapted} if sweep.adapted else {}),
    }


def _serialise_axis(axis: Axis) -> dict[str, Any]:
    sets = {"sets": [dict(one) for one in axis.sets], "along": dict(axis.along)} if axis.sets else {}
    return {"key": axis.key, "name": axis.name, "values": list(axis.values), **sets}


def merge_crossings(*declared: Mapping[str, Any]) -> dict[str, int]:
    """Return the largest numbers of pools and draws of documents, by key, of several declarations; 1 is left out."""
    largest = {key: max(one.get(key, 1) for one in declared) for key in CROSSED}
    return {key: number for key, number in largest.items() if number > 1}


def determining_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a config on which the numbers of its campaigns depend."""
    kept: dict[str, Any] = json.loads(canonical_text(config))
    return kept


def cell_key(config: Mapping[str, Any], written: Written | None = None) -> str:
    """Name a cell by the settings that determine its numbers; `written` is the cache of `canonical_text`."""
    return sha256(canonical_text(config, written, placed=False).encode()).hexdigest()


def same_numbers(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """True if two configs determine the same numbers."""
    return canonical_text(first, placed=False) == canonical_text(second, placed=False)


def grow(stored: Declaration, declaration: Declaration, where: str) -> dict[str, Any]:
    """Return the declaration of a folder that held `stored` once it also holds the requested `declaration`.

    A folder only grows: stored values of an axis come first, new ones after; `worlds` and `studies` are the
    larger ones; measures, figure and texts are the requested ones. Raises InputError for another base or other axes.
    """
    _same_axes(stored["axes"], declaration["axes"], where)
    # What all cells share depends on the values asked: a key that is no longer shared contradicts nothing here.
    old, new = dict(flatten(stored["base"])), dict(flatten(declaration["base"]))
    both = old.keys() & new.keys()
    refuse_difference({key: old[key] for key in both}, {key: new[key] for key in both}, where)
    new_axes = {axis["key"]: axis for axis in declaration["axes"]}
    axes = [_extend_axis(axis, new_axes[axis["key"]], where) for axis in stored["axes"]]
    larger = {key: max(stored[key], declaration[key]) for key in ("worlds", "studies")}
    foreign = join_declarations(stored, declaration)
    larger |= merge_crossings(stored, declaration)
    return {**declaration, "axes": axes, "base": _intersect(declaration["base"], stored["base"]), **larger, **foreign}


def _extend_axis(stored: Mapping[str, Any], requested: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Add to an axis the values that are asked, with what they set; raise InputError where one sets something else."""
    values = _union(stored["values"], requested["values"])
    if ("sets" in stored) != ("sets" in requested):
        raise InputError(
            f"{where} holds another sweep: {stored['key']} sets other keys there than asked; give another --out"
        )
    if "sets" not in stored:
        return {**stored, "values": values}
    sets: dict[Any, Mapping[str, Any]] = {}
    both = [pair for axis in (stored, requested) for pair in zip(axis["values"], axis["sets"], strict=True)]
    for value, settings in both:
        if sets.setdefault(value, settings) != settings:
            raise InputError(
                f"{where} holds another sweep: {stored['name']}={show(value)} sets {_settings(sets[value])} there, "
                f"{_settings(settings)} asked; give another name, or another --out"
            )
    along = {key: name for key, name in stored["along"].items() if key in requested["along"]}
    return {**stored, "values": values, "sets": [dict(sets[value]) for value in values], "along": along}


def _settings(settings: Mapping[str, Any]) -> str:
    return shorten(", ".join(f"{key}={show(value)}" for key, value in settings.items()), 120)


def _axis_keys(axis: Mapping[str, Any]) -> set[str]:
    """Name the keys that an axis sets."""
    return {key for one in axis["sets"] for key in one} if "sets" in axis else {axis["key"]}


def position(grown: Declaration, declaration: Declaration, values: Sequence[Any]) -> tuple[int, ...]:
    """Return the indices, one an axis of the grown grid, of a cell of the requested sweep, given its axis values."""
    return positions(grown, declaration)(values)


def positions(grown: Declaration, declaration: Declaration) -> Callable[[Sequence[Any]], tuple[int, ...]]:
    """Return a function that does for any values what `position` does, the axes being matched once."""
    keys = [axis["key"] for axis in declaration["axes"]]
    axes = [(keys.index(axis["key"]), axis["values"], _number_values(axis["values"])) for axis in grown["axes"]]

    def find_position(values: Sequence[Any]) -> tuple[int, ...]:
        places = ((listed, numbers, values[k]) for k, listed, numbers in axes)
        return tuple(
            numbers[value] if isinstance(value, Hashable) else listed.index(value) for listed, numbers, value in places
        )

    return find_position


def _number_values(values: Sequence[Any]) -> dict[Any, int]:
    """Number values from 0; lists, which no dict holds, are left out, and of equal ones the first counts."""
    return {value: k for k, value in reversed(list(enumerate(values))) if isinstance(value, Hashable)}


def refuse_difference(stored: Mapping[str, Any], requested: Mapping[str, Any], where: str) -> None:
    """Raise InputError naming the first key in which two configs differ, but for where the same files lie."""
    old, new = dict(flatten(stored)), dict(flatten(requested))
    # None is a value that a key may have, and differs from a key that is not there.
    differing = sorted(key for key in old.keys() | new.keys() if old.get(key, _ABSENT) != new.get(key, _ABSENT))
    differing = [key for key in differing if not _same_file(key, old, new)]
    if not differing:
        return
    key = differing[0]
    more = f" (and {len(differing) - 1} more keys)" if len(differing) > 1 else ""
    raise InputError(
        f"{where} holds another sweep: {_describe_key(key, old)} there, {_describe_key(key, new)} asked{more}; "
        "give another --out"
    )


def _same_file(key: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    section, _, name = key.rpartition(".")
    known = old.get(f"{section}.sha256")
    return name in PLACES and known is not None and known == new.get(f"{section}.sha256")


def refuse_mixture(
    axes: Sequence[Mapping[str, Any]], stored: Sequence[Placed], others: Sequence[Placed], where: str
) -> None:
    """Raise InputError where cells asked for differ from stored ones in more than the values on the axes.

    A default that has changed since a folder was filled would otherwise enter its new cells only, and the folder would
    hold a mixture that no fresh one gives. Sections differ where the option on an axis differs: systems bring their own
    raters, and a question everything.
    """
    old, new = (_residuals(axes, cells) for cells in (stored, others))
    for before, first in old.items():
        for now, second in new.items():
            free = {key for axis, a, b in zip(axes, before, now, strict=True) if a != b for key in _axis_keys(axis)}
            if QUESTION not in free:
                free |= {"raters"} if "systems" in free else set()
                refuse_difference(_omit_groups(first, free), _omit_groups(second, free), where)


def _residuals(axes: Sequence[Mapping[str, Any]], cells: Sequence[Placed]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return the settings that determine numbers, without those on axes, for each combination of options."""
    residuals: dict[tuple[Any, ...], dict[str, Any]] = {}
    for position, config in cells:
        own = dict(flatten(determining_settings(config)))
        # The question is an option, although a config may name it as it names a value.
        patched = {key for axis in axes for key in _axis_keys(axis) if key in own and key != QUESTION}
        options = tuple(
            None if _axis_keys(axis) <= patched else axis["values"][k] for axis, k in zip(axes, position, strict=True)
        )
        digests = {f"{key.removesuffix('path')}sha256" for key in patched if key.endswith(".path")}
        residuals.setdefault(options, {key: own[key] for key in own.keys() - patched - digests})
    return residuals


def _omit_groups(config: Mapping[str, Any], groups: set[str]) -> dict[str, Any]:
    return {key: value for key, value in config.items() if not any(key.startswith(f"{group}.") for group in groups)}


def _same_axes(stored: Sequence[Mapping[str, Any]], requested: Sequence[Mapping[str, Any]], where: str) -> None:
    old, new = ([axis["key"] for axis in axes] for axes in (stored, requested))
    if sorted(old) != sorted(new):
        raise InputError(
            f"{where} holds another sweep: its axes are {', '.join(old) or 'none'}, "
            f"asked are {', '.join(new) or 'none'}; give another --out"
        )


def _intersect(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: _intersect(value, second[key]) if isinstance(value, Mapping) else value
        for key, value in first.items()
        if key in second
    }


def _union(stored: Sequence[Any], requested: Sequence[Any]) -> list[Any]:
    numbers = _number_values(stored)
    return [*stored, *(v for v in requested if (v not in numbers if isinstance(v, Hashable) else v not in stored))]


def _describe_key(key: str, config: Mapping[str, Any]) -> str:
    return f"{key}={show(config[key])}" if key in config else f"no {key}"
