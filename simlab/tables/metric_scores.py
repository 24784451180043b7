"""Read a metric's scores of outputs, from a column of a table or from segment scores of mt-metrics-eval.

`read` returns `MetricScores`, and `align` lays them beside the outputs of another table, by the names of systems,
documents and segments. A metric's table is read like one of ratings: the metric is a rater.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from simlab import files
from simlab.messages import clip, suggest
from simlab.tables import segment_scores
from simlab.tables.columns import find_columns
from simlab.tables.lines import find_dialect, numbered_lines, read_header
from simlab.tables.rating_table import ColumnOverrides, Ratings
from simlab.tables.reading import list_segments
from simlab.tables.reading import read as read_ratings
from simlab.types import Floats, InputError, Ints

ENDING = ".seg.score"
"""Files of segment scores are called TESTSET.NAME.seg.score, whether humans or a metric gave them."""
FAMILY = (ENDING, ".seg.rating")

Item = tuple[str, str]
"""A document and a segment of it, by their names."""


@dataclass(frozen=True, slots=True)
class MetricScores:
    """Scores of a metric: `score[system, item]`, higher is better, NaN where there is none.

    `items[item]` is the document and the segment of an item, by name, in the order of documents; `where` is the file.
    """

    name: str
    where: str
    system_names: tuple[str, ...]
    items: tuple[Item, ...]
    score: Floats


class AlignedScores(NamedTuple):
    """Scores beside the outputs of a table: `score[system, item]`, NaN where there is none.

    `rest[system, k]` are scores of further items, `rest_items[k]`, of which the table has no rating at all.
    """

    score: Floats
    rest: Floats
    rest_items: tuple[Item, ...]

    @property
    def rest_document(self) -> Ints:
        """Number the documents of further items, in their order."""
        names = list(dict.fromkeys(document for document, _ in self.rest_items))
        return np.array([names.index(document) for document, _ in self.rest_items], np.int64)


def find_file(path: Path, column: str | None) -> tuple[Path, str | None]:
    """Return the file, and the column in it, that hold a metric's scores.

    Segment scores have a file for each metric: beside TESTSET.ANY.seg.score the metric NAME is TESTSET.NAME.seg.score.
    """
    if column is None or not path.name.endswith(FAMILY):
        return path, column
    return path.with_name(f"{path.name.partition('.')[0]}.{column}{ENDING}"), None


def read(
    path: Path, column: str | None, *, better: Literal["higher", "lower"] | None, columns: Mapping[str, str]
) -> MetricScores:
    """Read a metric's scores; `column` names it (None: the score of a table that holds nothing else).

    `better` says which scores are better (None: higher, but of marked errors), `columns[ours]` the table's own name of
    a column. Raises InputError naming the file for what is no table of scores, and for two scores of one output.
    """
    file, column = find_file(path, column)
    where = clip(files.write_path(file))
    if column is not None:
        columns = {**columns, "score": _column(file, column, columns)}
    ratings = read_ratings(file, ColumnOverrides(columns=columns, better=better or _note_better(file)))
    score = _lay_scores(ratings, column or "score", where)
    name = column or (_name(file) if file.name.endswith(FAMILY) else file.name.partition(".")[0])
    return MetricScores(
        name, where, ratings.system_names, name_items(ratings), -score if ratings.lower_is_better else score
    )


def segments(path: Path, columns: Mapping[str, str]) -> tuple[Item, ...]:
    """List the segments of a table, each as document and segment, with or without ratings.

    Raises InputError for a file that is no table of outputs.
    """
    first = next(numbered_lines(path), (0, ""))[1]
    if segment_scores.is_first_of_segments(first):
        documents = segment_scores.read_documents(path, clip(path))
        return tuple((document, str(k + 1)) for k, document in enumerate(documents))
    return tuple(dict.fromkeys(list_segments(path, ColumnOverrides(columns=columns))))


def name_items(ratings: Ratings) -> tuple[Item, ...]:
    """Return the names of document and segment of each item."""
    documents = (ratings.document_names[document] for document in ratings.document)
    return tuple(zip(documents, ratings.item_names, strict=True))


def align(scores: MetricScores, system_names: Sequence[str], items: Sequence[Item]) -> AlignedScores:
    """Lay a metric's scores beside the outputs of a table, whose systems and items are named.

    Items go by document and segment; where the two tables have no such item in common, by segments alone, if each of
    these is there once and the same ones lie in one document. Raises InputError for systems that the metric does not
    score, and where no item is the same.
    """
    rows = _rows(scores, system_names)
    own = _places(scores, items)
    there = own >= 0
    score = np.full((len(system_names), len(items)), np.nan)
    score[:, there] = scores.score[rows][:, own[there]]
    further = np.setdiff1d(np.arange(len(scores.items)), own[there])
    rest = scores.score[rows][:, further]
    has_scores = np.isfinite(rest).any(0)
    return AlignedScores(score, rest[:, has_scores], tuple(scores.items[k] for k in further[has_scores]))


def _column(file: Path, column: str, overrides: Mapping[str, str]) -> str:
    """Return the name of a metric's column as the table has it; raise InputError where it has none."""
    where = clip(files.write_path(file))
    first = next(numbered_lines(file), (0, ""))[1]
    if segment_scores.is_first_of_segments(first):
        raise InputError(
            f"metric.column={clip(column, 40)}: {where} has no columns; segment scores are found by a file name "
            f"TESTSET.NAME{ENDING}"
        )
    names = [name for name in read_header(first, find_dialect(first), f"{where}, line 1") if name]
    if column not in names:
        advice = suggest(column, names, "it has", 200)
        raise InputError(f"metric.column={clip(column, 40)}: {where} has no such column; {advice}")
    others = {
        key: names[at] for key, at in find_columns(names, overrides, f"{where}, line 1").items() if key != "score"
    }
    if column in others.values() or "severity" in others:
        wrong = "lists marked errors" if "severity" in others else f"takes it for the {_key(others, column)}"
        raise InputError(f"metric.column={clip(column, 40)}: {where} {wrong}; name a column with scores of a metric")
    return column


def _key(columns: Mapping[str, str], name: str) -> str:
    return next(key for key, theirs in columns.items() if theirs == name)


def _note_better(file: Path) -> Literal["higher"] | None:
    """Note that higher scores are assumed to be better; marked errors are worse by themselves."""
    return None if file.name.endswith(".seg.rating") else "higher"


def _name(file: Path) -> str:
    """Name a metric after its file of segment scores."""
    return file.name.partition(".")[2].removesuffix(ENDING).removesuffix(".seg.rating")


def _lay_scores(ratings: Ratings, column: str, where: str) -> Floats:
    """Lay scores out as `[system, item]`; raise InputError where an output has two that differ."""
    score = np.full((ratings.n_systems, len(ratings.item_names)), np.nan)
    score[ratings.system, ratings.item] = ratings.score
    other = np.flatnonzero(score[ratings.system, ratings.item] != ratings.score)
    if len(other):
        k = int(other[0])
        system, (document, segment) = ratings.system_names[ratings.system[k]], name_items(ratings)[ratings.item[k]]
        both = f"{ratings.score[k]:g} and {score[ratings.system[k], ratings.item[k]]:g}"
        output = clip(f"system {system}, document {document}, segment {segment}", 200)
        raise InputError(f"{where}: {column} is {both} for {output}; a metric has one score of an output")
    return score


def _rows(scores: MetricScores, system_names: Sequence[str]) -> Ints:
    """Find the systems of a table among those that the metric scores."""
    lacking = [name for name in system_names if name not in scores.system_names]
    if lacking:
        left = [name for name in system_names if name in scores.system_names]
        remedy = f"systems.names=[{','.join(left)}]" if len(left) > 1 else "it scores hardly any of them"
        raise InputError(
            f"metric {clip(scores.name, 40)}: {scores.where} has no scores of {clip(', '.join(lacking), 200)}; "
            f"leave {'it' if len(lacking) == 1 else 'them'} out: {clip(remedy, 2000)}"
        )
    return np.array([scores.system_names.index(name) for name in system_names], np.int64)


def _places(scores: MetricScores, items: Sequence[Item]) -> Ints:
    """Find the place of each item of a table among those that the metric scores; -1 where it has none."""
    place = {item: k for k, item in enumerate(scores.items)}
    own = np.array([place.get(item, -1) for item in items], np.int64)
    if (own >= 0).any():
        return own
    segments, wanted = [segment for _, segment in scores.items], [segment for _, segment in items]
    if len(set(segments)) == len(segments) and len(set(wanted)) == len(wanted):
        by_segment = {segment: k for k, segment in enumerate(segments)}
        own = np.array([by_segment.get(segment, -1) for segment in wanted], np.int64)
    if not (own >= 0).any() or not _same_documents(scores.items, own, items):
        theirs, ours = (clip(" ".join(of[0]), 80) for of in (scores.items, items))
        raise InputError(
            f"metric {clip(scores.name, 40)}: {scores.where} scores no segment of the table of ratings (it has "
            f"{theirs!r}, and that has {ours!r}, document and segment); write both alike"
        )
    return own


def _same_documents(theirs: Sequence[Item], own: Ints, ours: Sequence[Item]) -> bool:
    """True if segments that go by one name lie in the same documents, or a table has no documents of its own.

    Two test sets that number their segments have those numbers in common, and not one output.
    """
    both = {(theirs[k][0], document) for k, (document, _) in zip(own.tolist(), ours, strict=True) if k >= 0}
    # Each document has one mate where there are as many pairs as documents on either side.
    mates = [len({pair[side] for pair in both}) for side in range(2)]
    has_own = [len({document for document, _ in items}) < len(items) for items in (theirs, ours)]
    return not all(has_own) or mates == [len(both)] * 2
