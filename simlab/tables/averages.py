"""Read tables of one averaged score per system and segment, as the WMT metrics tasks release them.

Lines hold system, score and segment, set apart by tabs or spaces; `None` where a segment was not rated. Scores are
negated penalties: higher is better. Source: google/wmt-mqm-human-evaluation, files `*.avg_seg_scores.tsv`.
"""

from __future__ import annotations

from pathlib import Path

from simlab.files import decimal
from simlab.messages import legible
from simlab.tables.lines import numbered_lines
from simlab.tables.mqm import MAX_SCORE, Rated, Unit
from simlab.types import InputError

RATER = "average"
"""Stands for all raters of a segment, whose scores were averaged."""

_UNRATED = "None"


def is_table(path: Path) -> bool:
    """Tell a table of averages from one of ratings by its header.

    Raises InputError for what cannot be read.
    """
    header = next(numbered_lines(path), (0, ""))[1].lower().split()
    return {"system", "seg_id"} <= set(header) and len(header) == 3 and "score" in " ".join(header)


def read_averages(path: Path) -> dict[Unit, Rated]:
    """Return the scores as ratings by one rater, each segment a document of its own; higher is better.

    Systems and segments without any score are left out. Raises InputError naming file and line for what is no score.
    """
    where, lines = legible(path), numbered_lines(path)
    names = next(lines)[1].lower().split()
    system_at, segment_at = names.index("system"), names.index("seg_id")
    score_at = 3 - system_at - segment_at
    first: dict[Unit, int] = {}
    scores: dict[Unit, Rated] = {}
    for number, line in lines:
        fields = line.split()
        if not fields:
            continue
        if len(fields) != 3:
            raise InputError(f"{where}, line {number}: has {len(fields)} fields; a line is a system, score and segment")
        unit = Unit(fields[system_at], fields[segment_at], fields[segment_at], RATER)
        if unit in first:
            what = legible(f"system {unit.system} has segment {unit.segment}", 200)
            raise InputError(f"{where}, line {number}: {what} before, on line {first[unit]}; keep one of the two")
        first[unit] = number
        if fields[score_at] != _UNRATED:
            scores[unit] = Rated(_score(fields[score_at], f"{where}, line {number}"), -1)
    if not scores:
        raise InputError(f"{where}: holds no score")
    return scores


def _score(text: str, where: str) -> float:
    score = decimal(text)
    if score is None:
        raise InputError(f"{where}: score {legible(ascii(text), 40)} is not a number; unrated segments say {_UNRATED}")
    if abs(score) > MAX_SCORE:
        raise InputError(f"{where}: score {legible(text, 40)} is not within -{MAX_SCORE:,.0f} and {MAX_SCORE:,.0f}")
    return score + 0.0  # -0.0 would be another zero
