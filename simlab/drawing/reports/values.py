"""Return the numbers of a report as all its forms show them: `.83 ± .01`, a bound where nothing varies, a dash."""

from __future__ import annotations

import math
from collections.abc import Sequence

from simlab.drawing.reports.terms import Cell, ReportTable, Value
from simlab.drawing.text.tables import decimals, format_bound, format_with_error, keep_known_error, number

TINY = 5e-6
"""Numbers below it are written as powers of ten: as decimals they would look like 0."""
SMALL = 10.0
"""Numbers below it are written with decimals, as shares are; larger ones with separated thousands."""


def format_value(value: Value, digits: int | None = None) -> str:
    """Write a number with its standard error, or its bound; a dash where it is not known.

    >>> format_value(Value(0.834, mcse=0.0121)), format_value(Value(1234.5))
    ('.83 ± .01', '1,234.5')
    >>> format_value(Value(None, reason="needs pools=2"))
    '-'
    >>> format_value(Value(0.62, low=0.5, high=0.71, unit="points"))
    '.62 points (.50 to .71)'
    >>> format_value(Value(4.7267, low=2.6446, high=6.2833))
    '4.73 (2.64 to 6.28)'
    """
    if value.value is None or not math.isfinite(value.value):
        return "-"
    digits = value.digits if digits is None else digits
    interval = format_interval(value, digits) if value.error is None else ""
    text = _format_with_error(value, value.value, _width_places(value) if interval and digits is None else digits)
    unit = f" {value.unit}" if value.unit not in ("", "1") else ""
    return f"{text}{unit} ({interval})" if interval else f"{text}{unit}"


def format_interval(value: Value, digits: int | None = None) -> str:
    """Write the interval of a number; nothing where it has none.

    >>> format_interval(Value(0.62, mcse=0.03, low=0.5561, high=0.71)), format_interval(Value(0.62))
    ('.56 to .71', '')
    """
    if value.low is None or value.high is None:
        return ""
    digits = _width_places(value) if digits is None else digits
    return f"{_number(value.low, digits)} to {_number(value.high, digits)}"


def _width_places(value: Value) -> int:
    """Choose the decimals of a number and of its interval by its error, or else by how wide the interval is."""
    if value.error is not None or value.low is None or value.high is None:
        return decimals([_fill_with_nan(value.error)])
    return decimals([value.high - value.low])


def cell(given: Cell, digits: int | None = None) -> str:
    """Write a cell of a table.

    >>> cell(None), cell("a"), cell(12), cell(0.5)
    ('', 'a', '12', '.5')
    """
    if isinstance(given, Value):
        return format_value(given, digits)
    if isinstance(given, float):
        return _format_plain(given)
    return "" if given is None else f"{given:,}" if isinstance(given, int) else given


def cells(table: ReportTable) -> list[list[str]]:
    """Return the cells of a table as text; numbers of a column have as many decimals as its smallest error bears."""
    digits = [places([row[k] for row in table.rows]) for k in range(len(table.columns))]
    return [[cell(given, each) for given, each in zip(row, digits, strict=True)] for row in table.rows]


def titles(table: ReportTable) -> list[str]:
    """Return the titles of a table's columns; those that are values of an axis as `axis=value`."""
    if not table.across:
        return list(table.columns)
    of = find_number_columns(table)
    return [f"{table.across}={name}" if number else name for name, number in zip(table.columns, of, strict=True)]


def find_number_columns(table: ReportTable) -> list[bool]:
    """Return for each column whether it holds numbers only."""
    return [
        any(row[k] is not None for row in table.rows)
        and all(isinstance(row[k], (int, float, Value)) or row[k] is None for row in table.rows)
        for k in range(len(table.columns))
    ]


def places(column: Sequence[Cell]) -> int | None:
    """Return as many decimals as the smallest error of a column asks for; None without one, or with set digits."""
    errors = [
        cell.error for cell in column if isinstance(cell, Value) and cell.error is not None and cell.digits is None
    ]
    return decimals(errors) if errors else None


def _format_with_error(value: Value, number_: float, digits: int | None) -> str:
    if value.error is None:
        sign = "+" if value.signed and number_ > 0 else ""
        return sign + (_number(number_, digits) if digits is not None else _format_plain(number_))
    digits = decimals([value.error]) if digits is None else digits
    interval = (_fill_with_nan(value.low), _fill_with_nan(value.high))
    error = keep_known_error(value.error, interval, value.clusters if value.clusters is not None else 1_000)
    if abs(number_) >= SMALL:
        sign = "+" if value.signed else ""
        return f"{number_:{sign},.{digits}f} ± {_number(error, digits) if math.isfinite(error) else '?'}"
    bound = "" if value.signed else format_bound(number_, value.error, interval, digits)
    return bound or format_with_error(number_, error, digits, sign=value.signed)


def _number(value: float, digits: int | None) -> str:
    digits = 2 if digits is None else digits
    return f"{value:,.{digits}f}" if abs(value) >= SMALL else number(value, digits)


def _format_plain(value: float) -> str:
    """Write a number of no known error with four digits that tell something.

    >>> _format_plain(0.12345), _format_plain(1234.5), _format_plain(2000000.0)
    ('.1235', '1,234.5', '2,000,000')
    >>> _format_plain(0.0), _format_plain(-0.5), _format_plain(2.3e-9)
    ('0', '-.5', '2e-09')
    """
    if not math.isfinite(value):
        return "-"
    if abs(value) < TINY:
        return "0" if value == 0 else f"{value:.0e}"
    digits = max(4 - math.ceil(math.log10(abs(value)) + 1e-12), 0) if abs(value) < 1000 else 1
    text = f"{value:,.{min(digits, 6)}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return text.replace("0.", ".", 1) if abs(value) < 1 else text


def _fill_with_nan(value: float | None) -> float:
    return math.nan if value is None else value
