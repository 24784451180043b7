"""Read tables of one averaged score per system and segment, as the WMT metrics tasks release them.

Lines hold system, score and segment, set apart by tabs or spaces; `None` where a segment was not rated. Scores are
negated penalties: higher is better. Source: google/wmt-mqm-human-evaluation, files `*.avg_seg_scores.tsv`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable

import numpy as np

from simlab.files import decimal
from simlab.messages import legible
from simlab.tables import direction, numbers
from simlab.tables.gathered import Gathered, indexed
from simlab.tables.held import Ratings, Told, how_read
from simlab.tables.opening import difference
from simlab.tables.ratings import of_indexed
from simlab.types import InputError

RATER = "average"
"""Stands for all raters of a segment, whose scores were averaged."""

UNRATED = "None"


def is_header(line: str) -> bool:
    """Tell the header of a table of averages from that of ratings."""
    header = line.lower().split()
    return {"system", "seg_id"} <= set(header) and len(header) == 3 and "score" in " ".join(header)


def read(header: str, lines: Iterable[tuple[int, str]], told: Told, where: str) -> Ratings:
    """Return the scores as ratings by one rater, each segment a document of its own; higher is better.

    Systems and segments without any score are left out. Raises InputError naming file and line for what is no score.
    """
    source = direction.told(told, "higher", "averages are negated penalties, and higher is better", where).source
    held, score, first, rows = Gathered(), array("d"), dict[tuple[str, str], tuple[int, str]](), 0
    for number, system, text, segment in _cells(header, lines, where):
        rows += 1
        before, other = first.setdefault((system, segment), (number, text))
        if before != number:
            what = legible(f"system {system} has segment {segment}", 200)
            apart = difference(["score"], [other], [text])
            raise InputError(f"{where}, line {number}: {what} before, on line {before}; {apart}; keep one of the two")
        if text != UNRATED:
            score.append(_score(text, f"{where}, line {number}"))
            held.add([number], [system], [segment], [segment], [RATER])
    if not score:
        raise InputError(f"{where}: holds no score; give a file in which some segment has one")
    return of_averages(held, score, told, where, rows=rows, better_from=source, layout="averages")


def _cells(header: str, lines: Iterable[tuple[int, str]], where: str) -> Iterable[tuple[int, str, str, str]]:
    names = header.lower().split()
    system_at, segment_at = names.index("system"), names.index("seg_id")
    for number, line in lines:
        fields = line.split()
        if fields and len(fields) != 3:
            raise InputError(
                f"{where}, line {number}: has {len(fields)} fields; a line is a system, score and segment; mend it"
            )
        if fields:
            yield number, fields[system_at], fields[3 - system_at - segment_at], fields[segment_at]


def _score(text: str, where: str) -> float:
    if decimal(text) is None:
        given = legible(ascii(text), 40)
        raise InputError(f"{where}: score {given} is not a number; unrated segments say {UNRATED}")
    return numbers.score(text, where)


def of_averages(
    held: Gathered,
    score: array[float],
    told: Told,
    where: str,
    errors: array[int] | None = None,
    *,
    rows: int,
    **rest: object,
) -> Ratings:
    """Put ratings together that nobody in particular gave: one rater, no times; higher is better, save of `errors`."""
    found, n = indexed(held, where, alike=told.alike), len(score)
    values = np.array(score)
    better: direction.Better = "higher" if errors is None else "lower"
    direction.check(values, told, better, lambda k: f"{where}, line {held.line[k]}")
    return of_indexed(
        found,
        values,
        np.full(n, -1) if errors is None else np.array(errors, np.int64),
        np.full(n, np.nan),
        lower_is_better=errors is not None,
        rater_known=False,
        how=how_read(told, {}),
        rows=rows,
        gaps=rows - n,
        **{"scale": told.scale, **rest},
    )
