"""Find the one cell of a folder's ledger that conditions AXIS=VALUE describe.

The ledger is the file in a sweep's folder that records its cells (one value of each axis) and their campaigns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simlab.engine.ledger import Ledger, LedgerEntry
from simlab.messages import clip, show, suggest
from simlab.types import InputError


def one_cell(book: Ledger, conditions: Sequence[str]) -> tuple[LedgerEntry, dict[str, Any]]:
    """Return the entry of the cell that meets conditions, in the ledger `book`, and the cell's values by axis.

    Raises InputError where none or several do, for an axis or a value that the folder does not have, and where the
    record of a cell is damaged.
    """
    if damaged := book.list_damaged():
        raise InputError(
            f"{book.folder}: damaged in its ledger: {damaged[0]}; `simlab verify DIR` says what can be mended"
        )
    axes = (book.declaration() or {}).get("axes", [])
    wanted = [_condition(text, axes) for text in conditions]
    placed = [(entry, _values(entry, axes)) for entry in book.entries()]
    if not placed:
        raise InputError(f"{book.folder} has no cells; it holds a calculation, or nothing was ever asked of it")
    for name, text in wanted:
        shown_values = [show(values[name]) for _, values in placed]
        if not any(_means_value(text, values[name]) for _, values in placed):
            raise InputError(
                f"{name}={clip(text, 40)} is not in the store; {suggest(text, dict.fromkeys(shown_values))}"
            )
    matches = [(e, values) for e, values in placed if all(_means_value(text, values[name]) for name, text in wanted)]
    if len(matches) == 1:
        return matches[0]
    if not matches:
        raise InputError(f"{book.folder} has no cell with {' '.join(conditions)}; `simlab query` lists its cells")
    open_axes = [a["name"] for a in axes if len({show(values[a["name"]]) for _, values in matches}) > 1]
    first = " ".join(f"{name}={show(matches[0][1][name])}" for name in open_axes)
    raise InputError(
        f"{book.folder} has {len(matches)} cells like that, and a campaign belongs to one; add for example {first}"
    )


def _condition(text: str, axes: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    names = {key: axis["name"] for axis in axes for key in (axis["key"], axis["name"])}
    if not equals or not axes:
        what = "is no condition; write AXIS=VALUE" if axes else "is too much: the folder holds one cell and no axis"
        raise InputError(f"{clip(text, 60)} {what}")
    if name not in names:
        raise InputError(f"the store has no axis {clip(name, 60)}; {suggest(name, [a['name'] for a in axes])}")
    return names[name], value


def _values(entry: LedgerEntry, axes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {axis["name"]: axis["values"][k] for axis, k in zip(axes, entry.position, strict=True)}


def _means_value(text: str, value: Any) -> bool:
    """True if a text means a value; 20 and 20.0 are the same number."""
    if text in (show(value), str(value)):
        return True
    try:
        return not isinstance(value, bool) and float(text) == float(value)
    except (TypeError, ValueError):
        return False
