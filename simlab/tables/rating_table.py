"""Records of a table of ratings: the `Ratings`, answers to control items, and the user's options on reading it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from simlab.tables.columns import LeftOutRatings, Where
from simlab.tables.numbers import FarScores
from simlab.tables.times import Times
from simlab.types import Bools, Floats, Ints

Alike: TypeAlias = Literal["refuse", "merge", "keep"]


@dataclass(frozen=True, slots=True)
class ColumnOverrides:
    """Options of a user on how to read a table.

    `columns[ours]` is the table's own name of a column, `better` which scores are better, `scale` the least and the
    largest score that can be given, `people` a file that says which logins are one person; None: as the table has it.
    `where` are columns with a value: only rows that have it are read, and none of the lines in `skip`. `alike` says
    whether names that look alike are refused, one name, or several; `wide` are the columns of systems of a table that
    has one for each; `decimal` is the mark before decimals, None: as the table shows.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    better: Literal["higher", "lower"] | None = None
    scale: tuple[float, float] | None = None
    people: Path | None = None
    where: Where = ()
    skip: tuple[int, ...] = ()
    alike: Alike = "refuse"
    wide: tuple[str, ...] = ()
    decimal: Literal[",", "."] | None = None


def reading_record(overrides: ColumnOverrides, columns: Mapping[str, str]) -> dict[str, Any]:
    """Return the options on reading a table as a JSON record; `columns[ours]` is the table's own name of a column."""
    return {
        "columns": dict(columns),
        "alike": overrides.alike,
        "wide": list(overrides.wide),
        "decimal": overrides.decimal,
        "people": None if overrides.people is None else str(overrides.people),
    }


NOTHING = ColumnOverrides()
"""No options."""


class ControlAnswers(NamedTuple):
    """Answers to control items, whose right answer is known: the `rater`, and whether they `failed`, one entry each.

    `rule` is a sentence on the meaning of failing.
    """

    rater: Ints
    failed: Bools
    rule: str


@dataclass(frozen=True, slots=True)
class Ratings:
    """Ratings, flat: one entry per rating, in the order of the table.

    `system[k]`, `item[k]` (a segment, or a whole document where the table has no segments) and `rater[k]` are indices;
    `document[item]` says which items belong together. `score[k]` is as the table has it; `errors[k]` counts the errors
    marked, -1 where the table does not say; `seconds[k]` is how long it took, NaN where the table does not say.
    `criteria[name][k]` are further scores of the same rating, NaN = a gap. `scale` are the least and the largest score
    that can be given, as declared (`--scale`) or as the layout implies; None: not known. `rater_known` is False where
    the table names no raters; all ratings are then by one, called "rater" (averaged: "average"). `layout` names the
    dialect. `better_from` is the source of the direction: the user (`told`), the table itself, or nobody (`assumed`).
    `rows` counts what was read, `gaps` rows without a score. `notes` are sentences on what was left out or taken for
    granted. `times` says how long people worked on all that the whole table holds, whatever part of it is looked at;
    None: it does not say. `where` are the values of columns by which its rows were chosen, `left_out` counts what does
    not count. `remarks` are sentences for the page on how cells were read, `unused` names the columns that say nothing
    here. `answers` counts what was averaged to these ratings, which are `averaged` over runs of a system, over raters
    who are not known, or over the segments of a document; 0: nothing was. `far` are scores far outside of the others,
    where no scale is told. `how` says how the table was read, as a record.
    """

    system: Ints
    item: Ints
    rater: Ints
    score: Floats
    errors: Ints
    seconds: Floats
    document: Ints
    system_names: tuple[str, ...]
    document_names: tuple[str, ...]
    item_names: tuple[str, ...]
    rater_names: tuple[str, ...]
    lower_is_better: bool
    scale: tuple[float, float] | None
    layout: Literal["mqm", "ratings", "averages", "log", "segment_scores"]
    rater_known: bool = True
    criteria: Mapping[str, Floats] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    better_from: Literal["told", "table", "assumed"] = "table"
    rows: int = 0
    gaps: int = 0
    controls: ControlAnswers | None = None
    times: Times | None = None
    remarks: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    answers: int = 0
    averaged: Literal["", "runs", "raters", "segments"] = ""
    where: Where = ()
    left_out: tuple[LeftOutRatings, ...] = ()
    far: FarScores | None = None
    how: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n_systems(self) -> int:
        """Count the systems."""
        return len(self.system_names)

    @property
    def n_documents(self) -> int:
        """Count the documents."""
        return len(self.document_names)

    @property
    def n_raters(self) -> int:
        """Count the raters."""
        return len(self.rater_names)


def flip_signs(ratings: Ratings) -> Ratings:
    """Turn negated penalties round, so that scores add up errors and fewer are better; others stay as they are.

    Released averages and segment scores of MQM are such: none is above 0, and 0 is what has no error.
    """
    if ratings.lower_is_better or ratings.scale is not None or ratings.score.max() != 0 or not ratings.score.any():
        return ratings
    note = "scores are penalties with a minus: the world adds up errors, and lower is better"
    return replace(ratings, score=np.abs(ratings.score), lower_is_better=True, notes=(*ratings.notes, note))


def keep_documents(ratings: Ratings, keep: Bools) -> Ratings:
    """Keep the ratings of some documents, `keep[document]`; systems and raters keep their indices, controls stay.

    Documents and items are numbered anew, in the same order.
    """
    items = keep[ratings.document]
    rated = items[ratings.item]
    flat = ("system", "rater", "score", "errors", "seconds")
    return replace(
        ratings,
        **{name: getattr(ratings, name)[rated] for name in flat},
        item=(np.cumsum(items) - 1)[ratings.item[rated]],
        document=(np.cumsum(keep) - 1)[ratings.document[items]],
        document_names=_keep_names(ratings.document_names, keep),
        item_names=_keep_names(ratings.item_names, items),
        criteria={name: values[rated] for name, values in ratings.criteria.items()},
    )


def _keep_names(names: tuple[str, ...], keep: Bools) -> tuple[str, ...]:
    return tuple(name for name, kept in zip(names, keep.tolist(), strict=True) if kept)
