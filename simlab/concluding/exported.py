"""Export what a campaign collected: a table like anyone's, and a file beside it that says all there is to know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from simlab.concluding import campaigns, sheets, sidecar
from simlab.concluding.looks import record_of
from simlab.concluding.sheets import ENDINGS, As, Read
from simlab.files import check_writable, write_whole
from simlab.messages import legible
from simlab.studies.kinds import kind_of
from simlab.types import COMPARE, JUDGE, RATE, Collected, InputError, Place

_HOMES = {RATE: "ratings", COMPARE: "preferences", JUDGE: "judgements"}


def planned(config: Mapping[str, Any]) -> ModuleType:
    """Return what lays out, and reads back, the answers of a kind of study; raise InputError for one of one's own."""
    question = kind_of(config).question
    if question not in _HOMES:
        raise InputError(f"studies that ask to {question} are not exported; those that rate, compare or judge are")
    return import_module(f"simlab.concluding.{_HOMES[question]}.planned")


def check_names(out: Path, form: As) -> None:
    """Raise InputError for a file of another ending, and for one that could not be written."""
    if out.suffix.lower() != ENDINGS[form]:
        raise InputError(f"--out {legible(out)}: with --as {form} end the name with {ENDINGS[form]}")
    check_writable(out, "--out")
    check_writable(sidecar.beside(out), "--out")


def export(
    collected: Collected, config: Mapping[str, Any], cell: Mapping[str, Any], place: Place, out: Path, form: As
) -> list[Path]:
    """Write what was collected, and the file beside it; return both files.

    Raises InputError for what a table cannot hold, before anything is written.
    """
    layout = planned(config)
    sheet = layout.sheet(collected, config)
    told = campaigns.told(collected, layout.metric(collected))
    beside = sidecar.beside(out)
    texts = {
        out: sheets.text(sheet, form),
        beside: sidecar.text(config, sidecar.address(config, cell, place), told, out.name),
    }
    # Looks at the campaign that stood here before are none at another.
    if not beside.exists() or beside.read_bytes() != texts[beside].encode():
        record_of(beside).unlink(missing_ok=True)
    write_whole(texts)
    return list(texts)


def read(
    table: Path, config: Mapping[str, Any], told: campaigns.Told, columns: Mapping[str, str] | None = None
) -> Read:
    """Read an exported table, or events, as what was collected; `columns` are its own names of columns.

    Raises InputError for a table that does not belong to the campaign.
    """
    layout = planned(config)
    rows = sheets.read(table, layout.USUAL, columns or {}, layout.FORM)
    found: Read = layout.collected(told, rows, config)
    return found


def differing(first: Collected, second: Collected) -> list[str]:
    """Name the parts in which two collections differ, in a bit or in a type; what is not exported is left out."""
    names = (field.name for field in fields(Collected))
    return [name for name in names if not same(getattr(first, name), getattr(second, name))]


def same(first: Any, second: Any) -> bool:
    """Tell whether two values are the same bit for bit, and of one type."""
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        alike = first.dtype == second.dtype and first.shape == second.shape
        return alike and first.tobytes() == second.tobytes()
    if type(first) is not type(second):
        return False
    if isinstance(first, Mapping):
        kept = [{key: value for key, value in one.items() if key not in campaigns.UNTOLD} for one in (first, second)]
        return kept[0].keys() == kept[1].keys() and all(same(value, kept[1][key]) for key, value in kept[0].items())
    if isinstance(first, tuple | list):
        return len(first) == len(second) and all(map(same, first, second))
    if hasattr(first, "__dataclass_fields__"):
        return all(same(getattr(first, field.name), getattr(second, field.name)) for field in fields(first))
    return bool(first == second) or (isinstance(first, float) and first != first and second != second)
