"""Return records as text: an aligned table, CSV or JSON, with every measure beside its Monte-Carlo error."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from simlab.measures.labels import FEW_CLUSTERS
from simlab.messages import shorten, show, suggest, word

if TYPE_CHECKING:
    from simlab.answers.records import Record as AnswerRecord
    from simlab.answers.records import Rows

Record = Mapping[str, Any]
Form: TypeAlias = Literal["table", "csv", "json"]

WIDTH = 100
ROUNDING = 1e-9
"""Size below which an error is that of rounding a zero, and none."""
BOLD, PLAIN = "\x1b[1m", "\x1b[0m"


def write(records: Sequence[Record], form: str) -> str:
    """Write records for a program to read, in one of FORMS; raise InputError for another form."""
    if form not in FORMS:
        # Imported here since the command line takes Form from this module, and help must not wait for numpy.
        from simlab.types import InputError

        raise InputError(f"--format {show(form)}: records are not written in this form; {suggest(form, FORMS)}")
    return FORMS[form](records)


def write_tables(record: AnswerRecord | Rows[Any], form: str) -> str:
    """Write a record as JSON; in another form its tables, the first column naming each of several."""
    if form == "json":
        return json.dumps(record.serialise(), indent=1)
    rows = [{"table": name, **row} if name else row for name, row in record.each_row()]
    keys = dict.fromkeys(key for row in rows for key in row)
    return write([{key: row.get(key) for key in keys} for row in rows], form)


def write_json(records: Sequence[Record]) -> str:
    """Return a JSON list of records; what is not a number is null, as JSON has no NaN."""
    return json.dumps(replace_nan(records), indent=1)


def write_csv(records: Sequence[Record]) -> str:
    """Return comma-separated values with a header; what is not a number is empty, as is null on an axis."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(records[0]) if records else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _flatten_value(value) for key, value in record.items()} for record in replace_nan(records))
    return text.getvalue().rstrip("\n")


def replace_nan(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Return records with None for what is not a number."""
    return [{key: _keep_finite(value) for key, value in record.items()} for record in records]


FORMS: Mapping[str, Callable[[Sequence[Record]], str]] = {"csv": write_csv, "json": write_json}
"""Forms beside tables, with the functions that write them; the command line takes its choices from `Form`."""


def decimals(errors: Sequence[float]) -> int:
    """Choose the decimals that show one digit of the smallest error: two at least, three at most.

    >>> decimals([0.012]), decimals([0.012, 0.0031]), decimals([float("nan")])
    (2, 3, 2)
    """
    known = [error for error in errors if math.isfinite(error) and error > ROUNDING]
    return min(max(math.ceil(-math.log10(min(known))), 2), 3) if known else 2


def number(value: float, digits: int, *, sign: bool = False) -> str:
    """Write a number of fixed decimals without its leading zero; a missing one as a dash.

    >>> number(0.943, 2), number(-0.02, 2), number(12.5, 2), number(float("nan"), 2)
    ('.94', '-.02', '12.50', '-')
    """
    if not math.isfinite(value):
        return "-"
    text = f"{round(value, digits) + 0.0:{'+' if sign else ''}.{digits}f}"
    return text.replace("0.", ".", 1) if abs(float(text)) < 1 else text


def format_with_error(value: float, mcse: float, digits: int, *, sign: bool = False) -> str:
    """Write a measure with its Monte-Carlo standard error; `?` where no error can be given.

    >>> format_with_error(0.943, 0.0121, 2), format_with_error(0.943, float("nan"), 2)
    ('.94 ± .01', '.94 ± ?')
    """
    if not math.isfinite(value):
        return "-"
    return f"{number(value, digits, sign=sign)} ± {number(mcse, digits) if math.isfinite(mcse) else '?'}"


def keep_known_error(mcse: float, interval: tuple[float, float], clusters: int) -> float:
    """Return an error that may be written: NaN for one of 0 that says only that a few clusters agree.

    That is one beside which no interval can be given, or from fewer than five clusters an interval that has a width.

    >>> keep_known_error(0.0, (float("nan"), float("nan")), 60), keep_known_error(0.0, (0.1, 0.9), 2)
    (nan, nan)
    >>> keep_known_error(0.0, (300.0, 300.0), 2)
    0.0
    """
    width = interval[1] - interval[0]
    if mcse > ROUNDING or abs(width) <= ROUNDING:
        return mcse
    return mcse if math.isfinite(width) and clusters >= FEW_CLUSTERS else float("nan")


def explain_missing_error(cluster: str) -> str:
    """State what `?` means in place of an error, `cluster` being the word for what values are replicated over.

    >>> explain_missing_error("world"), explain_missing_error("replicate")
    ('?: too few worlds to tell an error', '?: too few campaigns to tell an error')
    """
    return f"?: too few {'campaign' if cluster == 'replicate' else cluster}s to tell an error"


def format_bound(value: float, mcse: float, interval: tuple[float, float], digits: int) -> str:
    """Write a bound in place of a value at the end of its interval whose error rounds to nothing; else nothing.

    Bounds are rounded outwards.

    >>> format_bound(0.0, 0.0, (0.0, 0.0582), 2), format_bound(1.0, 0.0, (0.9418, 1.0), 2)
    ('≤ .06', '≥ .94')
    >>> format_bound(0.5, 0.1, (0.3, 0.7), 2)
    ''
    """
    unit, (low, high) = 10.0**-digits, interval
    if not mcse < unit / 2 or not high - low > unit:
        return ""
    if value - low < unit / 2:
        return f"≤ {number(math.ceil(high / unit - 1e-9) * unit, digits)}"
    return f"≥ {number(math.floor(low / unit + 1e-9) * unit, digits)}" if high - value < unit / 2 else ""


def crossing(axis: str, header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return an aligned table whose columns after the first `left` are values of `axis`, whose name stands above them.

    Columns that the width does not hold stand below.
    """
    edge = sum(max(len(row[k]) for row in (header, *rows)) + 2 for k in range(left))
    return f"{heading(' ' * edge + axis)}\n{fold_columns(header, rows, left=left)}"


def align_columns(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1, last_left: bool = False
) -> str:
    """Align columns, the first `left` of them (and the last, if asked) on their left edge, others on their right."""
    widths = [max(len(cell) for cell in column) for column in zip(header, *rows, strict=True)]
    edges = ["<" if k < left or (last_left and k == len(header) - 1) else ">" for k in range(len(header))]
    layout = list(zip(edges, widths, strict=True))
    lines = ["  ".join(f"{cell:{e}{w}}" for cell, (e, w) in zip(row, layout, strict=True)) for row in (header, *rows)]
    return "\n".join(line.rstrip() for line in (heading(lines[0]), *lines[1:]))


def fold_columns(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1, last_left: bool = False
) -> str:
    """Align columns as `align_columns` does; those that the width does not hold stand below, after `left` again.

    So a table in the terminal leaves no column out: it is read in parts, each of which names its rows (cut at 60
    letters).
    """
    rows = [[*(shorten(cell) for cell in row[:left]), *row[left:]] for row in rows]
    columns = list(zip(header, *rows, strict=True))
    widths = [max(map(len, column)) + 2 for column in columns]
    room, parts = width() + 2 - sum(widths[:left]), [list[int]()]
    for k in range(left, len(columns)):
        if parts[-1] and sum(widths[other] for other in [*parts[-1], k]) > room:
            parts.append([])
        parts[-1].append(k)
    tables = [[[row[k] for k in (*range(left), *part)] for row in (header, *rows)] for part in parts]
    return "\n\n".join(
        align_columns(first, [row for row in rest if any(row)], left=left, last_left=last_left and part is parts[-1])
        for part, (first, *rest) in zip(parts, tables, strict=True)
    )


def list_under_title(title: str, rows: Sequence[Sequence[str]]) -> str:
    """Return rows (a name and its text) under a title, long texts broken to the width."""
    indent = 4 + max((len(name) for name, _ in rows), default=0)
    lines = [
        textwrap.fill(
            text, max(width(), indent + 30), initial_indent=f"  {name:<{indent - 2}}", subsequent_indent=" " * indent
        )
        for name, text in rows
    ]
    return "\n".join([heading(title), *lines])


def width() -> int:
    """Return the columns of the terminal; a fixed number where the output is piped."""
    return shutil.get_terminal_size((WIDTH, 24)).columns


def count_nouns(counts: Sequence[int], noun: str) -> str:
    """Return a count with its noun; of counts that differ the least and the most.

    >>> count_nouns([1], "world"), count_nouns([250, 200, 250], "campaign")
    ('1 world', '200 to 250 campaigns')
    """
    span = str(counts[0]) if len(set(counts)) == 1 else f"{min(counts)} to {max(counts)}"
    return f"{span} {noun}" if span == "1" else f"{span} {noun}s"


def line(word: str, text: str) -> str:
    """Write a line of the head of a page: its word, then the text, folded to the width."""
    return textwrap.fill(f"{word:<9}{text}", WIDTH, subsequent_indent=" " * 9, break_on_hyphens=False)


def heading(line: str) -> str:
    """Return a line in bold type where a person reads it."""
    plain = "NO_COLOR" in os.environ or not sys.stdout.isatty()
    return line if plain else f"{BOLD}{line}{PLAIN}"


def _flatten_value(value: Any) -> Any:
    """Write what is said measure by measure as one text, and true and false as they are typed."""
    if isinstance(value, bool):
        return word(value)
    return "; ".join(f"{name}: {text}" for name, text in value.items()) if isinstance(value, Mapping) else value


def _keep_finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
