"""Read tables of one averaged score per system and segment, as the WMT metrics tasks release them.

Lines hold system, score and segment, set apart by tabs or spaces; `None` where a segment was not rated. Scores are
negated penalties: higher is better. Source: google/wmt-mqm-human-evaluation, files `*.avg_seg_scores.tsv`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from simlab.types import Frame, InputError, Ratings, World
from simlab.world.table_lines import numbered_lines, shown

RATER = "average"
"""Stands for all raters of a segment, whose scores were averaged."""


def is_table(path: Path) -> bool:
    """Tell a table of averages from one of ratings by its header."""
    header = next(numbered_lines(path), (0, ""))[1].lower().split()
    return {"system", "seg_id"} <= set(header) and len(header) == 3 and "score" in " ".join(header)


def read_world(path: Path) -> World:
    """Return the scores as ratings by one rater, each segment a document of its own; higher is better.

    Systems and segments without any score are left out. Raises InputError naming file and line for what is no score.
    """
    scores = _read(path)
    rated = {unit: score for unit, score in scores.items() if score is not None}
    if not rated:
        raise InputError(f"{shown(path)}: holds no score")
    systems = sorted({system for system, _ in rated})
    segments = sorted({segment for _, segment in rated}, key=lambda name: (len(name), name))
    value = np.full((len(systems), len(segments), 1), np.nan)
    row, column = ({name: k for k, name in enumerate(names)} for names in (systems, segments))
    for (system, segment), score in rated.items():
        value[row[system], column[segment]] = score
    items = np.arange(len(segments))
    rater = np.where(np.isnan(value), -1, 0)
    frame = Frame(items, np.zeros_like(items), rater, tuple(systems), tuple(segments), (RATER,), lower_is_better=False)
    for array in (value, rater, items, frame.bucket):
        array.flags.writeable = False
    return World(frame, None, Ratings(value, np.full(value.shape, -1)), None)


def _read(path: Path) -> Mapping[tuple[str, str], float | None]:
    where, lines = shown(path), numbered_lines(path)
    names = next(lines)[1].lower().split()
    place = {"system": names.index("system"), "segment": names.index("seg_id")}
    score_at = ({0, 1, 2} - set(place.values())).pop()
    scores: dict[tuple[str, str], float | None] = {}
    for number, line in lines:
        fields = line.split()
        if not fields:
            continue
        if len(fields) != 3:
            raise InputError(f"{where}, line {number}: has {len(fields)} fields; a line is a system, score and segment")
        unit = fields[place["system"]], fields[place["segment"]]
        if unit in scores:
            raise InputError(f"{where}, line {number}: system {unit[0]} has segment {unit[1]} twice")
        scores[unit] = _score(fields[score_at], f"{where}, line {number}")
    return scores


def _score(text: str, where: str) -> float | None:
    if text == "None":
        return None
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not math.isfinite(score) or abs(score) > 1e6:
        raise InputError(f"{where}: the score {shown(text, 40)} is no number; unrated segments say None")
    return score
