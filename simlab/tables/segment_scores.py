"""Read segments in the format of mt-metrics-eval, with the `.docs` of its test set beside them.

A line is a system and what it gets for a segment, `None` where it gets nothing: a score (`.seg.score`, of humans or of
a metric; higher is better) or marked errors as JSON, each with its score (`.seg.rating`; lower is better). The segments
of a system come in the order of `.docs`, whose lines are domain and document.
Source: google-research/mt-metrics-eval, README.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simlab.files import decimal
from simlab.messages import legible, several
from simlab.tables import direction, numbers
from simlab.tables.averages import UNRATED, of_averages
from simlab.tables.gathered import Gathered
from simlab.tables.held import Ratings, Told
from simlab.tables.lines import numbered_lines
from simlab.types import InputError

RATER = "rater"
_MARKED = '{"errors":'


def is_first(line: str) -> bool:
    """Tell such a file by its first line: a system and a score or marked errors, no header."""
    fields = line.split("\t")
    if len(fields) != 2 or not fields[0].strip():
        return False
    return fields[1] == UNRATED or fields[1].startswith(_MARKED) or decimal(fields[1]) is not None


def read(path: Path, lines: Iterable[tuple[int, str]], told: Told, where: str) -> Ratings:
    """Return ratings by one rater, who is not named; segments are named by their place in the test set, from 1.

    Raises InputError naming file and line for what is no score, and for a test set with other segments.
    """
    held, score, errors, rows = Gathered(), array("d"), array("q"), 0
    documents = documents_of(path, where)
    met: dict[str, int] = {}
    for number, line in lines:
        if not line:
            continue
        system, text = _fields(line, f"{where}, line {number}")
        place = met[system] = met.get(system, 0) + 1
        if place > len(documents):
            raise _other(where, system, f"more than {several(len(documents), 'line')}", len(documents))
        rows += 1
        if text != UNRATED:
            worth, count = _worth(text, f"{where}, line {number}")
            if errors and (count < 0) != (errors[0] < 0):
                raise InputError(f"{where}, line {number}: a file holds scores or marked errors, not both")
            score.append(worth)
            errors.append(count)
            held.add([number], [system], [documents[place - 1]], [str(place)], [RATER])
    for system, n in met.items():
        if n != len(documents):
            raise _other(where, system, several(n, "line"), len(documents))
    if not score:
        raise InputError(f"{where}: holds no score; give a file in which some segment has one")
    if errors[0] >= 0:
        source = direction.told(told, "lower", "it lists marked errors, and lower is better", where).source
        return of_averages(held, score, told, where, errors, rows=rows, better_from=source, layout="segment_scores")
    source = direction.told(told, "higher", "scores of this format are higher for what is better", where).source
    scale = told.scale or direction.usual(np.array(score))
    return of_averages(held, score, told, where, rows=rows, better_from=source, layout="segment_scores", scale=scale)


def _worth(text: str, where: str) -> tuple[float, int]:
    """Read a score, or add up those of marked errors and count what costs anything; -1: errors are not counted."""
    if not text.startswith("{"):
        return numbers.score(text, where), -1
    try:
        marked: Any = json.loads(text)["errors"]
        scores = [float(error["score"]) for error in marked]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise InputError(f"{where}: the errors are no list of errors with a score, as JSON") from error
    # Weights are tenths: what adds them up otherwise would break exact ties.
    return numbers.score(f"{sum(scores):.1f}", where), sum(score > 0 for score in scores)


def _fields(line: str, where: str) -> Sequence[str]:
    fields = [field.strip() for field in line.split("\t")]
    if len(fields) != 2 or not fields[0]:
        raise InputError(f"{where}: has {len(fields)} fields; a line is a system, a tab and a score or marked errors")
    return fields


def documents_of(path: Path, where: str) -> list[str]:
    """Read the document of every segment from the `.docs` that goes by the same name."""
    beside = path.with_name(f"{path.name.partition('.')[0]}.docs")
    if not beside.exists():
        raise InputError(
            f"{where}: begins with a system and a score, no header, as segment scores of mt-metrics-eval do, and these "
            f"need {legible(beside.name, 80)} beside them; give a table a header such as system,document,rater,score"
        )
    documents = []
    for number, line in numbered_lines(beside):
        fields = line.split("\t")
        if len(fields) < 2 or not fields[1].strip():
            raise InputError(
                f"{legible(beside)}, line {number}: has no document; a line is a domain, a tab, a document"
            )
        documents.append(fields[1].strip())
    return documents


def _other(where: str, system: str, n: str, wanted: int) -> InputError:
    said = legible(system, 60)
    held = f"{said} has {n}, and .docs beside it has {several(wanted, 'line')}"
    return InputError(f"{where}: {held}; give one line a segment, of one test set")
