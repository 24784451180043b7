"""Read ratings from a table: one row per marked error (MQM releases), or one row per rating.

Weights and columns follow the releases of google/wmt-mqm-human-evaluation: major 5, minor 1, minor
Fluency/Punctuation 0.1, major Non-translation 25, neutral and no-error 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from simlab.files import decimal
from simlab.messages import legible, nearest
from simlab.tables.lines import numbered_lines
from simlab.types import InputError

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "system": ("system",),
    "document": ("doc", "document"),
    "segment": ("globalSegId", "seg_id", "segment"),
    "position": ("docSegId", "doc_id"),
    "rater": ("rater",),
    "category": ("category",),
    "severity": ("severity",),
    "score": ("score",),
    "errors": ("errors",),
    "minor": ("minor",),
    "major": ("major",),
}
"""Names of the columns that are read.

`docSegId` and `doc_id` are the place of a segment in its document; `globalSegId` and `seg_id` are free to be a constant
or to start again in each document, so a segment is known by all of them together.
"""

SEVERITIES = ("major", "minor", "neutral", "no-error", "hotw-test")
MAX_SCORE = 1e6

_UNIT = ("system", "document", "segment", "rater")
_PLANTED = "hotw-test"
_COUNT = re.compile(r"\d{1,6}", re.ASCII)


class Unit(NamedTuple):
    """Name what was rated and by whom."""

    system: str
    document: str
    segment: str
    rater: str


class Rated(NamedTuple):
    """Hold a rating: its score and the number of errors marked, -1 where the table does not say."""

    score: float
    errors: int


class Row(NamedTuple):
    """Hold the fields that are read from one line, by the keys of COLUMNS."""

    where: str
    number: int
    field: dict[str, str]


def read_ratings(path: Path) -> dict[Unit, Rated]:
    """Read every rating of a table; the header decides which of the two layouts it has.

    Raises InputError naming file and line for what is not a table of ratings per rater.
    """
    where = legible(path)
    lines = numbered_lines(path)
    header = next(lines, None)
    if header is None:
        raise InputError(f"{where}: is empty")
    names = _header_names(header[1], f"{where}, line 1")
    columns = _chosen_columns(names, f"{where}, line 1")
    widths = range(len(names), header[1].count("\t") + 2)
    rows = _rows(lines, columns, widths, where)
    ratings = _from_errors(rows) if "severity" in columns else _from_ratings(rows)
    if not ratings:
        raise InputError(f"{where}: holds a header and no ratings")
    return ratings


def _header_names(header: str, where: str) -> list[str]:
    if "\r" in header:
        raise InputError(f"{where}: lines end in bare carriage returns; save the table with line feeds")
    names = [name.strip() for name in header.split("\t")]
    # Releases end the header with a "# Documentation" column that no row fills.
    while names and names[-1].startswith("#"):
        names.pop()
    twice = [name for known in COLUMNS.values() for name in known if names.count(name) > 1]
    if twice:
        raise InputError(f"{where}: column {twice[0]} appears twice")
    return names


def _chosen_columns(names: Sequence[str], where: str) -> dict[str, int]:
    columns = {key: names.index(name) for key in COLUMNS if (name := _first_known(COLUMNS[key], names))}
    if "segment" not in columns and "position" in columns:
        columns["segment"] = columns.pop("position")
    marks = {"category", "severity"}
    if "rater" not in columns and not marks & columns.keys() and "score" in " ".join(names).lower():
        raise InputError(
            f"{where}: holds scores without a rater column; give the table of ratings per rater, or, to compare "
            "scores, one with the three columns system, seg_id and a score"
        )
    wanted = (*_UNIT, "category", "severity") if marks & columns.keys() else (*_UNIT, "score")
    missing = [key for key in wanted if key not in columns]
    if missing:
        raise InputError(f"{where}: {_missing_message(missing, names)}")
    return columns


def _first_known(known: Iterable[str], names: Sequence[str]) -> str | None:
    return next((name for name in known if name in names), None)


def _missing_message(missing: Sequence[str], names: Sequence[str]) -> str:
    wanted = [" or ".join(COLUMNS[key]) for key in missing]
    there = ", ".join(legible(name, 40) for name in names[:12]) + (", ..." if len(names) > 12 else "")
    close = (nearest(name, names) for key in missing for name in COLUMNS[key])
    hints = list(dict.fromkeys(legible(name, 40) for name in close if name))
    hint = f"; did you mean {', '.join(hints)}?" if hints else ""
    tabs = "; columns must be separated by tabs" if len(names) == 1 else ""
    return f"no column {', no column '.join(wanted)}; found {there or 'an empty line'}{hint}{tabs}"


def _rows(lines: Iterable[tuple[int, str]], columns: Mapping[str, int], widths: range, where: str) -> Iterator[Row]:
    for number, line in lines:
        if not line:
            continue
        fields = line.split("\t")
        if len(fields) not in widths:
            raise InputError(f"{where}, line {number}: has {len(fields)} fields where the header has {widths[0]}")
        field = {key: fields[at].strip() for key, at in columns.items()}
        for key in _UNIT:
            if not field[key]:
                raise InputError(f"{where}, line {number}: the {key} is empty")
        yield Row(f"{where}, line {number}", number, field)


def _unit(row: Row) -> Unit:
    field = row.field
    position = f"{field['position']} " if "position" in field else ""
    return Unit(field["system"], field["document"], position + field["segment"], field["rater"])


def _from_errors(rows: Iterable[Row]) -> dict[Unit, Rated]:
    """Add up the errors that each rater marked in each output.

    A planted check is not a rating, so an output with no other row by a rater was not rated by that rater.
    Scores are kept in tenths until the end: sums of .1 would break exact ties.
    """
    tenths: dict[Unit, int] = {}
    errors: dict[Unit, int] = {}
    for row in rows:
        severity = _severity(row)
        if severity == _PLANTED:
            continue
        unit = _unit(row)
        tenths[unit] = tenths.get(unit, 0) + _tenths(severity, _word(row.field["category"]))
        errors[unit] = errors.get(unit, 0) + (severity in ("major", "minor"))
    return {unit: Rated(tenths[unit] / 10, errors[unit]) for unit in tenths}


def _severity(row: Row) -> str:
    severity, category = _word(row.field["severity"]), _word(row.field["category"])
    if severity not in SEVERITIES:
        given = legible(ascii(row.field["severity"]), 40)
        raise InputError(f"{row.where}: unknown severity {given}; known are {', '.join(SEVERITIES)}")
    if category == "no-error" and severity in ("major", "minor"):
        raise InputError(f"{row.where}: category No-error contradicts severity {row.field['severity']}")
    return _PLANTED if category == _PLANTED else severity


def _word(text: str) -> str:
    return text.lower().replace(" ", "-").replace("_", "-")


def _tenths(severity: str, category: str) -> int:
    if severity == "major":
        return 250 if category.startswith("non-translation") else 50
    if severity == "minor":
        return 1 if category == "fluency/punctuation" else 10
    return 0


def _from_ratings(rows: Iterable[Row]) -> dict[Unit, Rated]:
    """Take each row as one rating; lower scores are better, as in MQM."""
    first: dict[Unit, int] = {}
    ratings: dict[Unit, Rated] = {}
    for row in rows:
        unit = _unit(row)
        if unit in first:
            rated = legible(f"{unit.rater} rated {unit.system} on segment {unit.segment} of {unit.document}", 200)
            raise InputError(f"{row.where}: {rated} before, on line {first[unit]}; keep one of the two")
        first[unit] = row.number
        ratings[unit] = Rated(_score(row), _errors(row))
    return ratings


def _score(row: Row) -> float:
    text = row.field["score"]
    score = decimal(text)
    if score is None:
        raise InputError(f"{row.where}: score {legible(ascii(text), 40)} is not a number")
    if not 0 <= score <= MAX_SCORE:
        raise InputError(
            f"{row.where}: score {legible(text, 40)} is not within 0 and {MAX_SCORE:,.0f}; scores add up errors, "
            "lower is better, so negate scores that were negated"
        )
    return abs(score)


def _errors(row: Row) -> int:
    """Count the errors of a rating: the column `errors`, else minor and major added up, else -1 (not known)."""
    keys = ("errors",) if "errors" in row.field else tuple(key for key in ("minor", "major") if key in row.field)
    for key in keys:
        if not _COUNT.fullmatch(row.field[key]):
            given = legible(ascii(row.field[key]), 40)
            raise InputError(f"{row.where}: {key} {given} is not a count of errors (a whole number from 0)")
    return sum(int(row.field[key]) for key in keys) if keys else -1
