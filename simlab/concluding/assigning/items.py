"""Read the items (`read_items`) and the raters (`read_people`) of a study that is to be carried out.

The first returns `Items`: documents or their segments, each with its source and the output of every system. The second
returns a `RaterCapacity` for each rater.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from simlab.files import read_decimal
from simlab.messages import clip, pluralise
from simlab.tables.cells import CellTable, check_systems, load, read_name, rename
from simlab.tables.columns import NAMES, Names, aliases, list_rater_names
from simlab.tables.names import Numbers, refuse_alike
from simlab.tables.numbers import is_missing
from simlab.types import InputError

FORM_OF_RATERS = "raters (rater, hours, cap)"

FORM = "items (document, segment, source, system, output)"
# The rare names of a segment, such as `prompt`, are columns of texts here.
USUAL = {
    **aliases("document", "source", "system", "output", "control"),
    "segment": Names(NAMES["segment"].usual),
}
MOST_LONGEST = 3
"""Most missing outputs that a message names."""


class RaterCapacity(NamedTuple):
    """A rater, with the hours that they have and the most ratings that they can give (`cap`; inf: no limit)."""

    name: str
    hours: float = math.inf
    cap: float = math.inf


def read_people(path: Path) -> tuple[RaterCapacity, ...]:
    """Read a table of raters, a row each; raise InputError, naming file and line, for any other file."""
    table = rename(load(path, FORM_OF_RATERS), {"rater": list_rater_names(), **aliases("hours", "cap")}, {})
    if "rater" not in table.header:
        there = clip(", ".join(table.header), 120)
        raise InputError(f"{table.where}: has no column rater; it has {there}; give a table of {FORM_OF_RATERS}")
    people: dict[str, RaterCapacity] = {}
    for line, cells in table.rows:
        name, where = read_name(table, cells, line, "rater"), table.locate(line)
        if name in people:
            raise InputError(f"{where}: the rater {clip(name, 40)} is there a second time; name each once")
        limits = {
            limit: _limit(cells[table.column(limit)], limit, where)
            for limit in ("hours", "cap")
            if limit in table.header
        }
        people[name] = RaterCapacity(name, **limits)
    refuse_alike(people, "raters", table.where, table.path)
    return tuple(people.values())


def _limit(text: str, column: str, where: str) -> float:
    if is_missing(text):
        # An empty cell is no limit: a 0 would take the rater out of the study.
        return math.inf
    value = read_decimal(text)
    if value is None or value < 0:
        raise InputError(f"{where}: {column}={clip(ascii(text), 40)} is no number from 0; mend it, or leave it empty")
    return value


def numbered_people(n: int) -> tuple[RaterCapacity, ...]:
    """Return n raters named r1, r2, ..., for a study without a table of raters."""
    return tuple(RaterCapacity(f"r{k + 1}") for k in range(n))


class Passing(NamedTuple):
    """Range of ratings, both ends included, that passes a control item."""

    low: float
    high: float

    def format(self) -> str:
        """Write it as it is typed: `0..20`, or one number."""
        return f"{self.low:g}" if self.low == self.high else f"{self.low:g}..{self.high:g}"


def parse_passing(text: str, where: str) -> Passing:
    """Read the range that passes, a number or `A..B`; raise InputError, beginning with `where`, for other texts.

    >>> parse_passing("0..20", "items.csv, line 2")
    Passing(low=0.0, high=20.0)
    """
    low, sign, high = text.partition("..")
    least, most = read_decimal(low.strip()), read_decimal((high if sign else low).strip())
    if least is None or most is None or least > most:
        raise InputError(f"{where}: control={clip(ascii(text), 40)} is no expected rating; write 80, or 60..100")
    return Passing(least, most)


class ControlItem(NamedTuple):
    """A control item, one output with all its segments; a rating of segment k within `passes[k]` passes."""

    document: str
    segments: tuple[str, ...]
    sources: tuple[str, ...]
    outputs: tuple[str, ...]
    passes: tuple[Passing, ...]


@dataclass(frozen=True, slots=True)
class Items:
    """Outputs that can be rated: `segments[document]` are names in order, "" where the document is the unit.

    `source[item]` and `output[system][item]` are texts; items are all segments, document by document. `where` names the
    file in messages.
    """

    where: str
    systems: tuple[str, ...]
    documents: tuple[str, ...]
    segments: tuple[tuple[str, ...], ...]
    source: tuple[str, ...]
    output: tuple[tuple[str, ...], ...]
    controls: tuple[ControlItem, ...]


class _Row(NamedTuple):
    line: int
    system: str
    document: str
    segment: str
    source: str
    output: str
    control: str


def read_items(path: Path) -> Items:
    """Read a table of items; rows with a `control` are control items, whatever their system.

    Raises InputError, naming file and line, for a table without the columns, an output that is there twice, and outputs
    that are missing.
    """
    table = rename(load(path, FORM), USUAL, {})
    for name in ("document", "system"):
        if name not in table.header:
            there = clip(", ".join(table.header), 120)
            raise InputError(f"{table.where}: has no column {name}; it has {there}; give a table of {FORM}")
    rows = [_row(table, line, cells) for line, cells in table.rows]
    items = _lay_out_items(table, [row for row in rows if not row.control])
    return _add_controls(items, table, [row for row in rows if row.control])


def _row(table: CellTable, line: int, cells: Sequence[str]) -> _Row:
    fields = {name: cells[table.column(name)] if name in table.header else "" for name in _Row._fields[1:]}
    for name in ("document", "system"):
        # A control item need not be the output of any system.
        if not fields[name] and not (name == "system" and fields["control"]):
            raise InputError(f"{table.locate(line)}: {name} is empty; every row needs one")
    return _Row(line, **fields)


def _lay_out_items(table: CellTable, rows: Sequence[_Row]) -> Items:
    systems, documents = Numbers(), Numbers()
    segments: dict[str, Numbers] = {}
    outputs: dict[tuple[str, str, str], _Row] = {}
    for row in rows:
        # A look-up in Numbers numbers a name that is new, so that names stand in the order of the table.
        systems[row.system], documents[row.document]
        segments.setdefault(row.document, Numbers())[row.segment]
        at = (row.system, row.document, row.segment)
        if at in outputs:
            raise InputError(
                f"{table.locate(row.line)}: the output of {_name_output(*at)} is there a second time "
                f"(line {outputs[at].line}); keep one"
            )
        outputs[at] = row
    _check_names(table, systems, documents)
    places = [(document, segment) for document in documents for segment in segments[document]]
    _refuse_missing(table, list(systems), places, outputs)
    return Items(
        table.where,
        tuple(systems),
        tuple(documents),
        tuple(tuple(segments[document]) for document in documents),
        tuple(_source(table, [outputs[system, *place] for system in systems]) for place in places),
        tuple(tuple(outputs[system, *place].output for place in places) for system in systems),
        (),
    )


def _check_names(table: CellTable, systems: Numbers, documents: Numbers) -> None:
    check_systems(len(systems), table)
    if len(systems) < 2:
        raise InputError(
            f"{table.where}: has outputs of {pluralise(len(systems), 'system')}; a study compares at least two"
        )
    refuse_alike(systems, "systems", table.where, table.path)
    refuse_alike(documents, "documents", table.where, table.path)


def _name_output(system: str, document: str, segment: str) -> str:
    of = f"{clip(document, 40)}, segment {clip(segment, 40)}" if segment else clip(document, 40)
    return f"{clip(system, 40)} for {of}"


def _refuse_missing(
    table: CellTable,
    systems: Sequence[str],
    places: Sequence[tuple[str, str]],
    outputs: Mapping[tuple[str, str, str], _Row],
) -> None:
    lacking = [
        _name_output(system, *place) for place in places for system in systems if (system, *place) not in outputs
    ]
    if not lacking:
        return
    more = f" and {len(lacking) - MOST_LONGEST:,} more" if len(lacking) > MOST_LONGEST else ""
    verb = "is" if len(lacking) == 1 else "are"
    raise InputError(
        f"{table.where}: {pluralise(len(lacking), 'output')} {verb} missing: "
        f"{'; '.join(lacking[:MOST_LONGEST])}{more}; add them, or take these documents out"
    )


def _source(table: CellTable, rows: Sequence[_Row]) -> str:
    """Return the source of a segment, which all rows of it that have one give alike."""
    sourced_rows = [row for row in rows if row.source]
    for row in sourced_rows[1:]:
        if row.source != sourced_rows[0].source:
            raise InputError(
                f"{table.locate(row.line)}: the source of {clip(row.document, 40)} differs from that of line "
                f"{sourced_rows[0].line}; give one source for a segment"
            )
    return sourced_rows[0].source if sourced_rows else ""


def _add_controls(items: Items, table: CellTable, rows: Sequence[_Row]) -> Items:
    screens: dict[tuple[str, str], list[_Row]] = {}
    for row in rows:
        screens.setdefault((row.system, row.document), []).append(row)
    controls = tuple(
        ControlItem(
            screen[0].document,
            tuple(row.segment for row in screen),
            tuple(row.source for row in screen),
            tuple(row.output for row in screen),
            tuple(parse_passing(row.control, table.locate(row.line)) for row in screen),
        )
        for screen in screens.values()
    )
    return Items(items.where, items.systems, items.documents, items.segments, items.source, items.output, controls)
