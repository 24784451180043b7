"""Find control items among ratings by the marks of campaigns: TGT, BAD, BAD_REF, REF, REPEAT, CHK, tutorial.

`find_marks` returns the column of `Marks`, and `control_results` who failed. Marks are those of Appraise and of WMT's
direct assessment. They count only in a column from which nothing else is read, and which marks real items, too, and has
hardly other cells: REF and BAD are also names of systems.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from simlab.files import read_decimal
from simlab.messages import clip
from simlab.tables.columns import LeftOutRatings, Rows
from simlab.tables.rating_table import ControlAnswers, Ratings

REAL = frozenset(("tgt", "target", "real", "regular", "system"))
DAMAGED = frozenset(("bad", "bad_ref", "badref", "bad_reference"))
CONTROL = DAMAGED | frozenset(
    ("ref", "reference", "repeat", "repeated", "rep", "dup", "chk", "check", "control", "calibration", "attention")
).union(("attention_check", "quality_check", "qc"))
_PRACTICE = re.compile(r"(tutorial|practice|training)\b.*")
_NEARLY_ALL = 0.98
MOST_KINDS = 20
"""Most different marks in a column of marks."""
RULE = (
    "a damaged copy was not scored as worse than the output itself, or, where the same rater did not score that, than "
    "the middle one of the rater's scores"
)


class Marks(NamedTuple):
    """The column of marks, at place `at`; `counts[mark]` are the rows of each control mark (empty: no row is left out).

    `remark` is a sentence for the page on a column that seems to mark control items while no row is left out.
    """

    at: int
    name: str
    counts: Mapping[str, int]
    remark: str = ""

    def count_left_out(self) -> LeftOutRatings:
        """Return the number of control items, with the reason for leaving them out."""
        kinds = ", ".join(f"{clip(mark, 30)} {n:,}" for mark, n in self.counts.items())
        return LeftOutRatings(sum(self.counts.values()), f"control items ({clip(self.name, 40)}: {kinds})")

    def keep(self, rows: Rows) -> Iterator[tuple[int, list[str]]]:
        """Go through the rows that are of no control item."""
        return ((line, row) for line, row in rows if not self.counts or not is_control(_cell(row, self.at)))


def _cell(row: Sequence[str], at: int) -> str:
    return row[at].strip() if at < len(row) else ""


def _mark(cell: str) -> str:
    return re.sub(r"[\s-]+", "_", cell.strip().casefold())


def is_control(cell: str) -> bool:
    """True if a cell is the mark of a control item.

    >>> is_control("BAD-REF"), is_control("Tutorial 3"), is_control("TGT"), is_control("A")
    (True, True, False, False)
    """
    return _mark(cell) in CONTROL or bool(_PRACTICE.fullmatch(_mark(cell).replace("_", " ")))


def _is_mark(cell: str) -> bool:
    return _mark(cell) in REAL or is_control(cell)


def find_marks(
    first: Sequence[Sequence[str]], rows: Callable[[], Rows], names: Sequence[str], used: Collection[int]
) -> Marks | None:
    """Return the column that marks control items; None where there is none.

    `first` are the cells of the first rows, `rows()` goes through all rows, `names` is the header. Columns at the
    places `used` hold names, scores or verdicts, and no marks.
    """
    for at, name in enumerate(names):
        cells = {_cell(row, at) for row in first}
        if not name or at in used or len(cells) > MOST_KINDS or not any(map(_is_mark, cells)):
            continue
        marks = _judge(Counter(_cell(row, at) for _, row in rows()), at, name)
        if marks is not None:
            return marks
    return None


def _judge(cells: Counter[str], at: int, name: str) -> Marks | None:
    """Judge a column by all of its cells."""
    n = cells.total() - cells[""]
    control = {cell: count for cell, count in cells.items() if is_control(cell)}
    real = sum(count for cell, count in cells.items() if _mark(cell) in REAL)
    if not control or len(cells) > MOST_KINDS:
        return None
    if real and real + sum(control.values()) >= _NEARLY_ALL * n:
        return Marks(at, name, control)
    if not real and not any(_mark(cell) in DAMAGED for cell in control):
        return None
    others = [cell for cell in cells if cell and cell not in control]
    kept = clip(f"{name}={others[0] if others else next(iter(control))}", 60)
    column = clip(f"{name} ({', '.join(control)})", 80)
    remark = f"{column} seems to mark control items, none is left out: --where {kept} would read some rows only"
    return Marks(at, name, {}, remark)


def control_results(ratings: Ratings, rows: Rows, marks: Marks, columns: Mapping[str, int]) -> ControlAnswers | None:
    """Return who met damaged copies, and whether they scored them worse than the outputs; None where there are none.

    `ratings` are those of real items, `rows` all rows of the table, and `columns[ours]` the places of columns.
    """
    if not {"rater", "score", "system"} <= columns.keys():
        return None
    scores = _scores_by_output(ratings)
    middle = {
        name: float(np.median(ratings.score[ratings.rater == k]))
        for k, name in enumerate(ratings.rater_names)
        if (ratings.rater == k).any()
    }
    places = {name: k for k, name in enumerate(ratings.rater_names)}
    met, failed = [], []
    for _, row in rows:
        value = read_decimal(_cell(row, columns["score"]))
        rater = _cell(row, columns["rater"])
        if _mark(_cell(row, marks.at)) not in DAMAGED or value is None or rater not in middle:
            continue
        output = tuple(_cell(row, columns[key]) for key in ("system", "document", "segment") if key in columns)
        # What stands behind # tells a copy from its output, which is looked up here.
        whole = scores.get((rater, *(part.partition("#")[0] for part in output)), middle[rater])
        met.append(places[rater])
        failed.append(value <= whole if ratings.lower_is_better else value >= whole)
    return ControlAnswers(np.array(met, np.int64), np.array(failed), RULE) if met else None


def _scores_by_output(ratings: Ratings) -> dict[tuple[str, ...], float]:
    """Return scores by rater, system, and document and segment where a table has both."""
    scores: dict[tuple[str, ...], float] = {}
    numbers = (flat.tolist() for flat in (ratings.rater, ratings.system, ratings.item, ratings.score))
    for rater, system, item, score in zip(*numbers, strict=True):
        who, what = ratings.rater_names[rater], ratings.system_names[system]
        document, segment = ratings.document_names[ratings.document[item]], ratings.item_names[item]
        scores[who, what, document, segment] = score
        scores.setdefault((who, what, segment if segment == document else document), score)
    return scores
