"""Read scores of segments in the format of mt-metrics-eval, and averaged ones of the WMT metrics tasks.

`read_segments` reads the former, `read_averages` the latter; both return `Ratings` by one rater. A line of
mt-metrics-eval is a system and its result for a segment, `None` where there is none: a score (`.seg.score`, of humans
or of a metric; higher is better) or marked errors as JSON, each with its score (`.seg.rating`; lower is better). The
segments of a system come in the order of `.docs`, whose lines are domain and document. Source:
google-research/mt-metrics-eval, README.

Lines of averages (one per system and segment) hold system, score and segment, set apart by tabs or spaces; `None` where
a segment was not rated. Scores are negated penalties: higher is better. Source: google/wmt-mqm-human-evaluation, files
`*.avg_seg_scores.tsv`.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simlab.files import read_decimal
from simlab.messages import clip, pluralise
from simlab.tables import direction, numbers
from simlab.tables.lines import numbered_lines
from simlab.tables.names import RatingCollector, number_names
from simlab.tables.opening import difference
from simlab.tables.rating_table import ColumnOverrides, Ratings, reading_record
from simlab.tables.ratings import build_ratings
from simlab.types import InputError

RATER = "rater"
_MARKED = '{"errors":'
AVERAGE = "average"
"""Name of the one rater of averaged scores."""
UNRATED = "None"


def is_first_of_segments(line: str) -> bool:
    """True if a first line has a system and a score or marked errors, no header."""
    fields = line.split("\t")
    if len(fields) != 2 or not fields[0].strip():
        return False
    return fields[1] == UNRATED or fields[1].startswith(_MARKED) or read_decimal(fields[1]) is not None


def read_segments(path: Path, lines: Iterable[tuple[int, str]], overrides: ColumnOverrides, where: str) -> Ratings:
    """Return segment scores as ratings by one rater without a name; segments are numbered in the test set, from 1.

    Raises InputError naming file and line for a line that is no score, and for a test set with other segments.
    """
    collector, score, errors, rows = RatingCollector(), array("d"), array("q"), 0
    documents = read_documents(path, where)
    met: dict[str, int] = {}
    for number, line in lines:
        if not line:
            continue
        system, text = _fields(line, f"{where}, line {number}")
        place = met[system] = met.get(system, 0) + 1
        if place > len(documents):
            raise _mismatch(where, system, f"more than {pluralise(len(documents), 'line')}", len(documents))
        rows += 1
        if text != UNRATED:
            worth, count = _worth(text, f"{where}, line {number}")
            if errors and (count < 0) != (errors[0] < 0):
                raise InputError(f"{where}, line {number}: a file holds scores or marked errors, not both")
            score.append(worth)
            errors.append(count)
            collector.add([number], [system], [documents[place - 1]], [str(place)], [RATER])
    for system, n in met.items():
        if n != len(documents):
            raise _mismatch(where, system, pluralise(n, "line"), len(documents))
    if not score:
        raise InputError(f"{where}: holds no score; give a file in which some segment has one")
    if errors[0] >= 0:
        source = direction.settle(overrides, "lower", "it lists marked errors, and lower is better", where).source
        return build_averages(
            collector, score, overrides, where, errors, rows=rows, better_from=source, layout="segment_scores"
        )
    source = direction.settle(overrides, "higher", "scores of this format are higher for what is better", where).source
    scale = overrides.scale or direction.guess_scale(np.array(score))
    return build_averages(
        collector, score, overrides, where, rows=rows, better_from=source, layout="segment_scores", scale=scale
    )


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


def read_documents(path: Path, where: str) -> list[str]:
    """Return the document of every segment, from the `.docs` file beside the scores."""
    beside = path.with_name(f"{path.name.partition('.')[0]}.docs")
    if not beside.exists():
        raise InputError(
            f"{where}: begins with a system and a score, no header, as segment scores of mt-metrics-eval do, and these "
            f"need {clip(beside.name, 80)} beside them; give a table a header such as system,document,rater,score"
        )
    documents = []
    for number, line in numbered_lines(beside):
        fields = line.split("\t")
        if len(fields) < 2 or not fields[1].strip():
            raise InputError(f"{clip(beside)}, line {number}: has no document; a line is a domain, a tab, a document")
        documents.append(fields[1].strip())
    return documents


def _mismatch(where: str, system: str, n: str, wanted: int) -> InputError:
    name = clip(system, 60)
    counts = f"{name} has {n}, and .docs beside it has {pluralise(wanted, 'line')}"
    return InputError(f"{where}: {counts}; give one line a segment, of one test set")


def is_header_of_averages(line: str) -> bool:
    """True if a header is that of a table of averages, not of ratings."""
    header = line.lower().split()
    return {"system", "seg_id"} <= set(header) and len(header) == 3 and "score" in " ".join(header)


def read_averages(header: str, lines: Iterable[tuple[int, str]], overrides: ColumnOverrides, where: str) -> Ratings:
    """Return the scores as ratings by one rater, each segment a document of its own; higher is better.

    Systems and segments without any score are left out. Raises InputError naming file and line for what is no score.
    """
    source = direction.settle(overrides, "higher", "averages are negated penalties, and higher is better", where).source
    collector, score, first, rows = RatingCollector(), array("d"), dict[tuple[str, str], tuple[int, str]](), 0
    for number, system, text, segment in _cells(header, lines, where):
        rows += 1
        before, other = first.setdefault((system, segment), (number, text))
        if before != number:
            what = clip(f"system {system} has segment {segment}", 200)
            apart = difference(["score"], [other], [text])
            raise InputError(f"{where}, line {number}: {what} before, on line {before}; {apart}; keep one of the two")
        if text != UNRATED:
            score.append(_score(text, f"{where}, line {number}"))
            collector.add([number], [system], [segment], [segment], [AVERAGE])
    if not score:
        raise InputError(f"{where}: holds no score; give a file in which some segment has one")
    return build_averages(collector, score, overrides, where, rows=rows, better_from=source, layout="averages")


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
    if read_decimal(text) is None:
        given = clip(ascii(text), 40)
        raise InputError(f"{where}: score {given} is not a number; unrated segments say {UNRATED}")
    return numbers.score(text, where)


def build_averages(
    collector: RatingCollector,
    score: array[float],
    overrides: ColumnOverrides,
    where: str,
    errors: array[int] | None = None,
    *,
    rows: int,
    **rest: object,
) -> Ratings:
    """Return collected scores as `Ratings` by one rater, without times; higher is better, or lower of `errors`."""
    indexed, n = number_names(collector, where, alike=overrides.alike), len(score)
    values = np.array(score)
    better: direction.Better = "higher" if errors is None else "lower"
    direction.check(values, overrides, better, lambda k: f"{where}, line {collector.line[k]}")
    return build_ratings(
        indexed,
        values,
        np.full(n, -1) if errors is None else np.array(errors, np.int64),
        np.full(n, np.nan),
        lower_is_better=errors is not None,
        rater_known=False,
        how=reading_record(overrides, {}),
        rows=rows,
        gaps=rows - n,
        **{"scale": overrides.scale, **rest},
    )
