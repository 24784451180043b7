"""Read segment scores in the format of mt-metrics-eval: `.seg.score`, with the `.docs` of its test set beside it.

A line is a system and its score of a segment, `None` where it has none; the segments of a system come in the order of
`.docs`, whose lines are domain and document. Scores are of humans or of a metric; higher is better.
Source: google-research/mt-metrics-eval, README.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from simlab.files import decimal
from simlab.messages import legible
from simlab.tables import direction, numbers
from simlab.tables.averages import UNRATED, of_averages
from simlab.tables.gathered import Gathered
from simlab.tables.held import Ratings, Told
from simlab.tables.lines import numbered_lines
from simlab.types import InputError

RATER = "rater"


def is_first(line: str) -> bool:
    """Tell a file of segment scores by its first line: a system and a score, no header."""
    fields = line.split("\t")
    return len(fields) == 2 and bool(fields[0].strip()) and (fields[1] == UNRATED or decimal(fields[1]) is not None)


def read(path: Path, lines: Iterable[tuple[int, str]], told: Told, where: str) -> Ratings:
    """Return the scores as ratings by one rater; segments are named by their place in the test set, from 1.

    Raises InputError naming file and line for what is no score, and for a test set with other segments.
    """
    held, score, rows = Gathered(), array("d"), 0
    documents = _documents(path, where)
    met: dict[str, int] = {}
    for number, line in lines:
        if not line:
            continue
        system, text = _fields(line, f"{where}, line {number}")
        place = met[system] = met.get(system, 0) + 1
        if place > len(documents):
            raise _other(where, system, f"more than {len(documents):,}", len(documents))
        rows += 1
        if text != UNRATED:
            score.append(numbers.score(text, f"{where}, line {number}"))
            held.add([number], [system], [documents[place - 1]], [str(place)], [RATER])
    for system, n in met.items():
        if n != len(documents):
            raise _other(where, system, f"{n:,}", len(documents))
    if not score:
        raise InputError(f"{where}: holds no score")
    source = direction.told(told, "higher", "scores of this format are higher for what is better", where).source
    scale = told.scale or direction.usual(np.array(score))
    return of_averages(held, score, told, where, rows=rows, better_from=source, layout="segment_scores", scale=scale)


def _fields(line: str, where: str) -> Sequence[str]:
    fields = [field.strip() for field in line.split("\t")]
    if len(fields) != 2 or not fields[0]:
        raise InputError(f"{where}: has {len(fields)} fields; a line is a system, a tab and a score")
    return fields


def _documents(path: Path, where: str) -> list[str]:
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
    return InputError(f"{where}: {said} has {n} lines, and .docs beside it has {wanted:,}; give those of one test set")
