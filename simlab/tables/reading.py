"""Read any table of ratings, whichever layout it has: its content decides, not its name.

Call `read` with the file and the user's options, which returns `Ratings`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from simlab.files import read_decimal
from simlab.messages import clip
from simlab.tables import judged_outputs, logs, mqm, preferences, ratings, segment_scores
from simlab.tables.cells import CellTable, rename
from simlab.tables.columns import (
    NO_METRICS,
    Rows,
    chosen_rows,
    drop_chosen,
    find_columns,
    fold_name,
    phrase,
    require,
    skip_lines,
)
from simlab.tables.control_items import Marks, control_results, find_marks
from simlab.tables.lines import Dialect, rows
from simlab.tables.names import Spellings
from simlab.tables.numbers import is_missing, write_point
from simlab.tables.opening import TableFile, open_table
from simlab.tables.rating_table import NOTHING, ColumnOverrides, Ratings
from simlab.tables.ratings import Header
from simlab.types import InputError

BEFORE = ("system", "rater", "score"), ("doc", "document"), ("globalSegId", "seg_id", "segment", "docSegId", "doc_id")
"""Columns of plain tables that simlab has always read as sums of errors: all of the first, one of each other."""
_WORD = r"(?:'[^']*'|[^\s,;:()']+(?::[^\s,;:()']+)*)"


def read(
    path: Path, overrides: ColumnOverrides = NOTHING, *, as_before: bool = False, averaged: bool = False
) -> Ratings:
    """Read every rating of a table; `overrides` are its owner's options on reading it.

    Layouts: one row per rating; MQM releases, one row per marked error; averages of segments; campaign logs of
    Appraise; segment scores, or marked errors, of mt-metrics-eval. `as_before`: plain tables that simlab could always
    read hold sums of errors, whatever their scores look like, unless told otherwise. `averaged`: several answers that
    nobody in particular gave to one output, and several runs of a system, are averaged; else such tables are refused.

    Raises InputError naming file and line for what is not a table of ratings, and for options that do not fit the
    table.
    """
    file = open_table(path, overrides)
    where = file.where
    if logs.is_first(file.first):
        return logs.read(rows(file.lines, logs.DIALECT, where), _refuse_columns(overrides, where), where)
    if segment_scores.is_first_of_segments(file.first):
        return segment_scores.read_segments(path, file.lines, _refuse_columns(overrides, where, "people"), where)
    if segment_scores.is_header_of_averages(file.first) and not overrides.columns:
        below = ((number, text) for number, text in file.lines if number > file.first_line)
        return segment_scores.read_averages(file.first, below, _refuse_columns(overrides, where, "people"), where)
    return _read_headed(file, overrides, as_before=as_before, averaged=averaged)


def read_for_config(path: Path, overrides: ColumnOverrides, *, as_before: bool = False) -> Ratings:
    """Read the table of ratings that a config names; messages name keys of the config in place of options.

    Raises InputError as `read` does.
    """
    try:
        return read(path, overrides, as_before=as_before)
    except InputError as error:
        raise InputError(write_keys(str(error))) from error


def write_keys(message: str) -> str:
    r"""Write the options of a message as the keys of recorded systems that say the same.

    >>> write_keys("t.csv, line 3: read those to one of them, --where aspect=fluency --where turn=1")
    't.csv, line 3: read those to one of them, \'systems.where="aspect=fluency,turn=1"\''
    >>> write_keys("--where aspect=good will: no row of t.csv has it")
    'systems.where=aspect=good will: no row of t.csv has it'
    """
    # What cannot be said in a config is to be mended in the table.
    message = re.sub(r", or say --(alike merge or --alike keep|decimal ,)", "", message)
    message = re.sub(r"with their scores below: --wide [^;]*;", "write a row for each of their scores;", message)
    message = re.sub(r"^--(where|columns|people|better) ((?:(?!: | --).)*): ", r"systems.\1=\2: ", message)
    message = re.sub(rf"--where {_WORD}(?: --where {_WORD})*", _write_where, message)
    message = re.sub(rf"--columns ({_WORD})", r"""'systems.columns="\1"'""", message)
    return re.sub(r"--(people|better) ", r"systems.\1=", message)


def _write_where(match: re.Match[str]) -> str:
    words = re.findall(rf"--where ({_WORD})", match[0])
    return f"""'systems.where="{",".join(word.strip("'") for word in words)}"'"""


def list_segments(path: Path, overrides: ColumnOverrides = NOTHING) -> Iterator[tuple[str, str]]:
    """Yield document and segment of each row of a table with a header, with or without a score.

    Raises InputError for lines that do not fit the header, and for what has no such columns.
    """
    file = open_table(path, overrides)
    names = file.header
    chosen = find_columns(names, overrides.columns, file.header_at, file.rows.look_ahead())
    require(("segment" if "segment" in chosen else "document",), chosen, names, file.header_at)
    kept = {key: at for key, at in chosen.items() if key in ("system", "document", "position", "segment", "task")}
    header = Header(file.where, names, kept, range(len(names), len(names) + 1), False, file)
    for line in chosen_rows(file.rows, names, overrides.where, file.where):
        _, documents, segments, _ = ratings.names(ratings.cells([line], header), 1)
        yield documents[0], segments[0]


def has_error_sums(path: Path) -> bool:
    """True if a file is a plain table that simlab has always read as sums of errors."""
    file = open_table(path)
    return _has_sum_columns(file.header, file.dialect)


def _read_headed(file: TableFile, overrides: ColumnOverrides, *, as_before: bool, averaged: bool) -> Ratings:
    names = list(file.header)
    wide = len(names)
    # Releases end the header with a "# Documentation" column that no row fills.
    while names and names[-1].startswith("#"):
        names.pop()
    chosen = find_columns(names, overrides.columns, file.header_at, file.rows.look_ahead())
    spellings = Spellings() if overrides.alike == "merge" else None
    widths = range(len(names), wide + 1)
    header = Header(file.where, names, chosen, widths, _has_sum_columns(names, file.dialect), file, spellings)
    content = chosen_rows(skip_lines(file.rows, overrides.skip), names, overrides.where, file.where)
    content = header.merge_names(content)
    if "severity" in chosen or ("category" in chosen and "score" not in chosen):
        return _note_where(mqm.read(content, header, overrides), overrides)
    if "score" not in chosen:
        _refuse_others(CellTable(file.where, tuple(names), content, file.path))
        _refuse_wide(file, chosen)
    chosen_by = {column.casefold() for column, _ in overrides.where}

    def again() -> Iterator[tuple[int, list[str]]]:
        return chosen_rows(header.again(overrides), names, overrides.where, file.where)

    used = {*chosen.values(), *(at for at, name in enumerate(names) if name.casefold() in chosen_by)}
    marks = find_marks(file.rows.look_ahead(), again, names, used)
    content = content if marks is None else marks.keep(content)
    found_ratings = _note_where(
        ratings.read(content, header, overrides, as_before=as_before, averaged=averaged), overrides
    )
    return found_ratings if marks is None else _note_controls(found_ratings, again(), marks, chosen)


def _note_controls(ratings: Ratings, rows: Rows, marks: Marks, columns: Mapping[str, int]) -> Ratings:
    """State which ratings were left out as control items, and what these show of raters."""
    if not marks.counts:
        return replace(ratings, remarks=(*ratings.remarks, marks.remark))
    return replace(
        ratings,
        left_out=(*ratings.left_out, marks.count_left_out()),
        unused=tuple(name for name in ratings.unused if name != marks.name),
        controls=control_results(ratings, rows, marks, columns),
    )


def _note_where(found_ratings: Ratings, overrides: ColumnOverrides) -> Ratings:
    """Return by which columns the rows were chosen: these are used."""
    return replace(found_ratings, where=overrides.where, unused=drop_chosen(found_ratings.unused, overrides.where))


def _refuse_others(table: CellTable) -> None:
    """Raise InputError for a table that says of outputs something else than scores, and say who reads it."""
    if preferences.holds(rename(table, preferences.USUAL, {}).header):
        raise InputError(
            f"{table.where}: holds comparisons of two systems, and this reads ratings (system, document, rater, score);"
            " simlab conclude, fit, backtest and fit-metric read comparisons, and conclude says how raters differ"
        )
    if judged_outputs.holds(rename(table, judged_outputs.USUAL, {}).header):
        human = next(name for name in table.header if name.startswith("human"))
        raise InputError(
            f"{table.where}: holds metrics beside humans, which is for simlab fit-metric; "
            f"--columns score={clip(human, 40)} reads what humans say"
        )


def _refuse_wide(file: TableFile, chosen: Mapping[str, int]) -> None:
    """Raise InputError for a table that seems to have a column of scores for each system, and say how to read it."""
    if "system" in chosen:
        return
    rows = [row for row in file.rows.look_ahead() if len(row) == len(file.header)]
    names = [
        name
        for at, name in enumerate(file.header)
        if name and at not in chosen.values() and fold_name(name) not in NO_METRICS and _holds_scores(rows, at)
    ]
    if len(names) > 1 and chosen:
        shown = clip(",".join(names), 200)
        raise InputError(
            f"{file.header_at}: has no column of systems and none of scores; if {clip(', '.join(names), 200)} are "
            f"systems, with their scores below: --wide {shown}; else name the columns: --columns system=NAME,score=NAME"
        )


def _holds_scores(rows: Sequence[Sequence[str]], at: int) -> bool:
    cells = [row[at].strip() for row in rows]
    filled = [cell for cell in cells if not is_missing(cell)]
    return bool(filled) and all(read_decimal(write_point(cell, True)) is not None for cell in filled)


def _has_sum_columns(names: Sequence[str], dialect: Dialect | None) -> bool:
    needed, documents, segments = BEFORE
    known = set(names)
    return (
        dialect == Dialect("\t", False)
        and known >= set(needed)
        and bool(known & set(documents) and known & set(segments))
    )


def _refuse_columns(overrides: ColumnOverrides, where: str, *also: str) -> ColumnOverrides:
    """Raise InputError for what is told of a table that cannot have it."""
    if overrides.columns:
        ours, theirs = next(iter(overrides.columns.items()))
        raise InputError(f"--columns {clip(f'{ours}={theirs}', 60)}: {where} has no header that names columns")
    for option, given in (
        ("--alike merge", overrides.alike == "merge"),
        ("--wide", overrides.wide),
        ("--decimal", overrides.decimal),
    ):
        if given:
            raise InputError(f"{option}: {where} has no header that names columns; leave it out")
    if overrides.where:
        raise InputError(f"--where {phrase(overrides.where)}: {where} has no header that names columns")
    if "people" in also and overrides.people is not None:
        raise InputError(f"--people {clip(overrides.people)}: {where} does not say who rated")
    return overrides
