"""Read the ratings of filled sheets, of any form, and refuse sheets whose columns no longer belong together.

`read_filled` returns one `FilledRating` for each rating of a table, or of an export of Label Studio or Appraise.
`unblinding` looks the codes up, and calls the three checks (`refuse_...`).
"""

from __future__ import annotations

import itertools
import json
import math
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from simlab import files
from simlab.concluding.assigning.blinding import TEXTS, Meant, text_mark
from simlab.concluding.assigning.cells import strip_guard
from simlab.files import read_decimal
from simlab.messages import clip, pluralise
from simlab.tables.cells import load, rename
from simlab.tables.columns import Names, aliases
from simlab.tables.lines import Dialect, find_dialect, numbered_lines, rows
from simlab.tables.lines import cells as cut
from simlab.tables.numbers import is_missing, write_point
from simlab.types import InputError

MOST_BYTES = 1 << 28
KINDS = ("number", "rating", "choices")
"""Values of the controls by which ratings are given."""

FORM = "a filled assignment (slot, rating)"
BESIDE = ("position", "rater", "task", "document", "segment", "number", "control", "system", "source", "output")
"""Columns of a sheet that are also in the key, and must agree with it."""
USUAL: Mapping[str, Names | Sequence[str]] = {**aliases("slot", "rating"), **dict.fromkeys(BESIDE, ())}
ENDINGS = (".csv", ".tsv", ".json")
LISTS = ("projects.csv", "accounts.csv", "manifest.json", "batches.json")
"""Files beside the tasks that hold no ratings."""
APPRAISE = 7
"""Least number of cells in a row of Appraise: account, targetID, itemID, type, two languages, score."""

CHANCE = 1e-9
"""Share of sheets below which an order of ratings counts as sorted, not as chance."""
REMEDY = "put the rows together again, or take this column out"


def read_annotations(path: Path) -> Iterator[FilledRating]:
    """Go through the ratings of an export of Label Studio, in JSON; tasks without one are left out.

    Raises InputError, naming file and entry, for what is no export, and for a task that several people rated.
    """
    where = clip(path)
    try:
        tasks = json.loads(files.text(files.content(path, where, most=MOST_BYTES, remedy="give the export"), where))
    except (ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        line = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise InputError(f"{where}{line}: is no JSON; export the project again") from error
    if not isinstance(tasks, list) or not all(isinstance(one, dict) for one in tasks):
        raise InputError(f"{where}: is no list of tasks; export the project as JSON")
    for number, task in enumerate(tasks, 1):
        yield from _read_task(task, f"{where}, task {number}", number)


def _read_task(task: Mapping[str, Any], where: str, number: int) -> Iterator[FilledRating]:
    data = task.get("data") if isinstance(task.get("data"), dict) else task
    slot = str(data.get("slot", "")) if isinstance(data, dict) else ""
    # Who annotated is known to the tool by a number of its own.
    beside = {name: _text(data[name]) for name in BESIDE if isinstance(data, dict) and name in data and name != "rater"}
    if "data" not in task:
        rating = _text(task.get("rating"))
        yield FilledRating(slot, "", rating, where, number, beside)
        return
    done = [
        annotation
        for annotation in task.get("annotations") or []
        if isinstance(annotation, dict) and not annotation.get("was_cancelled")
    ]
    ratings = [rating for annotation in done for rating in _ratings(annotation.get("result"))]
    if len(ratings) > 1:
        raise InputError(f"{where}: has {pluralise(len(ratings), 'rating')} of {clip(slot, 40)}; keep one")
    for rating in ratings:
        yield FilledRating(slot, "", rating, where, number, beside)


def _ratings(result: Any) -> Iterator[str]:
    for entry in result if isinstance(result, Sequence) and not isinstance(result, str) else ():
        if isinstance(entry, dict) and entry.get("from_name") == "rating" and isinstance(entry.get("value"), dict):
            value = next((entry["value"][kind] for kind in KINDS if kind in entry["value"]), None)
            yield _text(value)


def _text(value: Any) -> str:
    """Write a value as a cell has it; of a list of one choice that choice."""
    if isinstance(value, list) and len(value) == 1:
        # Label Studio exports a single choice as a list of one.
        return _text(value[0])
    if isinstance(value, dict):
        return _text(next((value[kind] for kind in KINDS if kind in value), None))
    return "" if value is None else repr(value) if isinstance(value, float) else str(value).strip()


class FilledRating(NamedTuple):
    """A rating as it was filled in: the code `slot`, the rater named on the row ("": nobody), and the text `rating`.

    `where` names the place in messages, `line` is the number of the line or entry; `beside` are the other cells, by the
    key's names of columns.
    """

    slot: str
    rater: str
    rating: str
    where: str
    line: int
    beside: Mapping[str, str] = MappingProxyType({})


def read_filled(path: Path, columns: Mapping[str, str]) -> list[FilledRating]:
    """Read a filled assignment, a file or a folder of files, and return its ratings in order.

    `columns[ours]` is the table's own name of a column. Raises InputError, naming file and line, for a file of another
    form.
    """
    if not path.is_dir():
        return list(_read_filled_file(path, columns))
    named = (file for file in path.iterdir() if file.suffix.lower() in ENDINGS and file.name not in LISTS)
    files = sorted(file for file in named if file.is_file())
    if not files:
        raise InputError(f"{clip(path)}: holds no filled sheets ({', '.join(ENDINGS)}); name the folder that does")
    return [rating for file in files for rating in _read_filled_file(file, columns)]


def _read_filled_file(path: Path, columns: Mapping[str, str]) -> Iterator[FilledRating]:
    ratings = read_annotations(path) if path.suffix.lower() == ".json" else _read_csv(path, columns)
    yield from (rating for rating in ratings if not is_missing(rating.rating))


def _read_csv(path: Path, columns: Mapping[str, str]) -> Iterator[FilledRating]:
    first = next(numbered_lines(path), (0, ""))[1]
    dialect = find_dialect(first)
    if not columns and _is_appraise(cut(first, dialect)):
        yield from _read_appraise(path, dialect)
        return
    table = rename(load(path, FORM), USUAL, columns)
    for name in ("slot", "rating"):
        if name not in table.header:
            there = clip(", ".join(table.header), 120)
            raise InputError(f"{table.where}: has no column {name}; it has {there}; give {FORM}")
    slot, rating = table.column("slot"), table.column("rating")
    others = [(name, table.column(name)) for name in BESIDE if name in table.header]
    for line, cells in table.rows:
        beside = {name: strip_guard(cells[at]) for name, at in others}
        score = write_point(cells[rating], table.commas)
        yield FilledRating(cells[slot], beside.pop("rater", ""), score, table.locate(line), line, beside)


def _is_appraise(first: Sequence[str]) -> bool:
    """True if the first line shows an export of Appraise, which has no header."""
    return len(first) >= APPRAISE and first[3] in ("TGT", "CHK", "BAD", "REF") and first[2].isdecimal()


def _read_appraise(path: Path, dialect: Dialect) -> Iterator[FilledRating]:
    where = clip(path)
    for line, cells in rows(numbered_lines(path), dialect, where):
        at = f"{where}, line {line}"
        if len(cells) < APPRAISE:
            raise InputError(f"{at}: has {len(cells)} cells, and a row of Appraise at least {APPRAISE}; export again")
        beside = {"document": cells[APPRAISE]} if len(cells) > APPRAISE else {}
        # Appraise has no column for a code: it was given as targetID, without its segment, which is itemID.
        yield FilledRating(f"{cells[1]}-{cells[2]}", cells[0], cells[6], at, line, beside)


def refuse_other_cells(rating: FilledRating, meant: Meant) -> None:
    """Raise InputError where a cell beside a code is not that of the key; an empty cell says nothing."""
    for name, cell in rating.beside.items():
        own = meant.cells.get(name, cell)
        if not cell or _matches_cell(name, cell, own):
            continue
        if name in TEXTS:
            raise InputError(f"{rating.where}: {name} is not the text of {rating.slot} (key.csv); {REMEDY}")
        raise InputError(
            f"{rating.where}: {name}={clip(cell, 40)}, and {rating.slot} has {clip(own, 40) or 'none'} "
            f"(key.csv); {REMEDY}"
        )


def _matches_cell(name: str, cell: str, own: str) -> bool:
    """True for cells that say the same: spreadsheets write 3 as 3.0, and accents and blanks in their own way."""
    if name in TEXTS:
        return text_mark(cell) == own
    given, other = (" ".join(unicodedata.normalize("NFC", text).split()) for text in (cell, own))
    number = read_decimal(given)
    return given == other or (number is not None and number == read_decimal(other))


def refuse_other_raters(came: Sequence[tuple[FilledRating, str, str]], people: Sequence[str]) -> None:
    """Raise InputError where a rater of the study is named on single rows that were dealt to another one.

    `came` are ratings, each with the rater whom it was dealt to and the rater who is named; `people` are the study's
    raters. A rater may take over all rows of one other, beside the own ones; a column that was moved or filled down
    names raters otherwise. A rater from outside of the study may take over any rows.
    """
    named, seats = dict[str, set[str]](), dict[str, set[str]]()
    for _, planned, rater in came:
        named.setdefault(planned, set()).add(rater)
        seats.setdefault(rater, set()).add(planned)
    for rating, planned, rater in came:
        if rater == planned or rater not in people:
            continue
        if named[planned] != {rater} or named.get(rater, {rater}) != {rater} or len(seats[rater] - {rater}) > 1:
            raise InputError(
                f"{rating.where}: rater={clip(rater, 40)}, and {rating.slot} was given to {clip(planned, 40)} "
                f"(key.csv); {REMEDY}; who took over for {clip(planned, 40)} is named on all those rows, and "
                "for nobody else"
            )


def refuse_sorted_ratings(came: Sequence[tuple[FilledRating, Meant, float]], where: str) -> None:
    """Raise InputError if the ratings of every rater are sorted, all up or all down, beside rows as they were dealt.

    `came` are ratings with the meaning of the code and the value. Random orders look sorted in `CHANCE` of all sheets.
    """
    own: dict[str, list[tuple[int, float]]] = {}
    for _, meant, value in came:
        own.setdefault(meant.rater, []).append((meant.position, value))
    # Rows that were moved as a whole are harmless, since their codes moved with them.
    if not all(first[0] < then[0] for rows in own.values() for first, then in itertools.pairwise(rows)):
        return
    values = [[value for _, value in rows] for rows in own.values()]
    steps = [then - first for rows in values for first, then in itertools.pairwise(rows)]
    # Short or tied lists are sorted by chance, so that only an order that chance hardly gives is refused.
    if (min(steps, default=0.0) >= 0 or max(steps, default=0.0) <= 0) and sum(map(_log_chance, values)) < math.log(
        CHANCE
    ):
        raise InputError(
            f"{where}: the ratings of every rater are sorted, and the other columns are not; put the column rating "
            "back as it was filled in"
        )


def _log_chance(values: Sequence[float]) -> float:
    """Return the logarithm of the chance that values in random order are sorted."""
    # Of n! equally likely orders, those that only swap equal values look alike: prod(ties!) / n! are sorted.
    ties = sum(math.lgamma(n + 1) for n in Counter(values).values())
    return ties - math.lgamma(len(values) + 1)
