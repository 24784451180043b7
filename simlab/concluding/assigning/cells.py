"""Write cells of CSV so that no spreadsheet takes a text for a formula, and file names after raters' names.

`table` returns the text of a table, `name_files` a file name for each rater.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

_LONGEST = 40

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_GUARDED = re.compile(r"'+[=+\-@\t\r]")


def name_files(names: Sequence[str]) -> dict[str, str]:
    """Return a file name for each rater that every disk takes: a number, and the plain letters of the name.

    >>> name_files(["Zoë A.", "../x"])
    {'Zoë A.': '1-Zoë_A', '../x': '2-x'}
    """
    width = len(str(len(names)))
    return {name: f"{k:0{width}d}-{_strip_name(name)}".rstrip("-") for k, name in enumerate(names, 1)}


def _strip_name(name: str) -> str:
    return re.sub(r"\W+", "_", name).strip("_")[:_LONGEST]


def guard_formula(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would take for a formula, or that looks like one guarded.

    >>> guard_formula("=1+1"), guard_formula("'-x"), guard_formula("it's")
    ("'=1+1", "''-x", "it's")
    """
    return f"'{text}" if _FORMULA.match(text) else text


def strip_guard(text: str) -> str:
    """Return a text without the apostrophe that `guard_formula` put before it.

    >>> strip_guard("'=1+1"), strip_guard("''-x"), strip_guard("-3"), strip_guard("it's")
    ('=1+1', "'-x", '-3', "it's")
    """
    return text[1:] if _GUARDED.match(text) else text


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV under a header of `columns`; texts are guarded, None is an empty cell."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return buffer.getvalue()


def _cell(value: object) -> str:
    return guard_formula(value) if isinstance(value, str) else "" if value is None else str(value)
