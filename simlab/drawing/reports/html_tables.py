"""Return numbers and tables as HTML; what a program reads of a number stands in the attributes of its element."""

from __future__ import annotations

from math import isfinite

from simlab.drawing.reports.escaping import text
from simlab.drawing.reports.terms import Cell, ReportTable, Value
from simlab.drawing.reports.values import cells, find_number_columns, format_interval, format_value, titles

LONG = 40
"""Letters of a cell from which on it is folded into lines."""


def table(block: ReportTable) -> str:
    """Write a table; it scrolls in a box of its own where the page is narrower."""
    head = "".join(f'<th scope="col" dir="auto">{text(title)}</th>' for title in titles(block))
    numbers = find_number_columns(block)
    rows = "".join(
        f"<tr>{''.join(map(_cell, row, written, numbers))}</tr>"
        for row, written in zip(block.rows, cells(block), strict=True)
    )
    caption = f'<caption dir="auto">{text(block.caption)}</caption>' if block.caption else ""
    return (
        f'<div class="scrolled" tabindex="0" role="region" aria-label="{text(block.caption or "table")}">'
        f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def number(value: Value) -> str:
    """Write a number with its error, and what is known of it in its attributes."""
    return f"<span{attributes(value)}>{text(format_value(value))}</span>"


def attributes(value: Value) -> str:
    """Write what is known of a number as attributes: data-value, data-mcse and so on, and a title for who hovers.

    >>> attributes(Value(0.5, mcse=0.01, n=250))
    ' data-value="0.5" data-mcse="0.01" data-n="250" title="Monte-Carlo standard error .010; n = 250"'
    >>> attributes(Value(None, reason="needs pools=2"))
    ' title="needs pools=2"'
    >>> attributes(Value(0.5, n=3, standard_error=0.02))
    ' data-value="0.5" data-standard-error="0.02" data-n="3" title="standard error .020; n = 3"'
    """
    names = ("value", "mcse", "standard_error", "n", "clusters", "low", "high")
    known = ((name.replace("_", "-"), getattr(value, name)) for name in names)
    data = "".join(f' data-{name}="{number!r}"' for name, number in known if number is not None and isfinite(number))
    hint = _hint(value)
    return f'{data} title="{text(hint)}"' if hint else data


def _hint(value: Value) -> str:
    if value.value is None:
        return value.reason
    parts = [
        f"{'' if value.mcse is None else 'Monte-Carlo '}standard error {format_value(Value(value.error), 3)}"
        if value.error is not None and isfinite(value.error)
        else "",
        f"interval {interval}" if (interval := format_interval(value)) else "",
        f"n = {value.n:,}" if value.n is not None else "",
        f"{value.clusters:,} clusters" if value.clusters is not None else "",
        value.reason,
    ]
    return "; ".join(part for part in parts if part)


def _cell(given: Cell, written: str, numeric: bool) -> str:
    kind = ' class="number"' if numeric else ' class="long"' if len(written) > LONG else ""
    known = attributes(given) if isinstance(given, Value) else ""
    if isinstance(given, (int, float)):
        known = f' data-value="{given!r}"'
    return f'<td{kind} dir="auto"{known}>{text(written)}</td>'
