"""Summarise how a table of ratings was read: `line` returns a line for people, `record` a JSON record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from simlab.messages import clip, pluralise
from simlab.tables.columns import LeftOutRatings, Where, phrase, values_by_column
from simlab.tables.rating_table import Ratings


def line(ratings: Ratings) -> str:
    """Return a line on the table: numbers of ratings, systems, documents and raters, scale and direction."""
    raters = pluralise(ratings.n_raters, "rater") if ratings.rater_known else "raters not named"
    documents = pluralise(ratings.n_documents, "document")
    if len(ratings.item_names) != ratings.n_documents:
        documents += f" ({pluralise(len(ratings.item_names), 'segment')})"
    n = pluralise(len(ratings.score), "rating")
    if ratings.answers:
        n = f"{pluralise(ratings.answers, 'answer')}, averaged to {n},"
    what = f"{n} of {pluralise(ratings.n_systems, 'system')}, {documents}, {raters}"
    gaps = f", {pluralise(ratings.gaps, 'gap')}" if ratings.gaps else ""
    return f"{what}{gaps}; {_scale(ratings)}, {_state_better(ratings)}{describe_rows(ratings.where, ratings.left_out)}"


def list_remarks(read: Mapping[str, Any]) -> Iterator[str]:
    """Yield sentences on how cells were read, and on unused columns; `read` is the record of a table."""
    yield from read.get("remarks", ())
    if unused := read.get("unused"):
        yield f"not used: {clip(', '.join(unused), 200)}"


def describe_rows(where: Where, left_out: Sequence[LeftOutRatings] = ()) -> str:
    """Return the end of a line: which rows are read, and which are left out; empty where all count."""
    chosen = f"; rows with {phrase(where)}" if where else ""
    return chosen + "".join(f"; left out: {group.ratings:,} {group.why}" for group in left_out)


def record_where(where: Where, left_out: Sequence[LeftOutRatings] = ()) -> dict[str, Any]:
    """Return the part of a record on chosen and left-out rows; empty where all count."""
    record: dict[str, Any] = {"where": values_by_column(where)} if where else {}
    if left_out:
        why = "; ".join(group.why for group in left_out)
        record["left_out"] = {"ratings": sum(group.ratings for group in left_out), "why": why}
    return record


def record(ratings: Ratings) -> dict[str, Any]:
    """Return how a table of ratings was read, as a JSON record."""
    return {
        "rows": ratings.rows,
        "used": ratings.answers or len(ratings.score),
        "gaps": ratings.gaps,
        "systems": ratings.n_systems,
        "documents": ratings.n_documents,
        "raters": ratings.n_raters if ratings.rater_known else None,
        "better": "lower" if ratings.lower_is_better else "higher",
        "scale": None if ratings.scale is None else list(ratings.scale),
        "remarks": list(ratings.remarks),
        "unused": list(ratings.unused),
        "how": dict(ratings.how),
        **record_where(ratings.where, ratings.left_out),
        **({} if ratings.far is None else ratings.far.record()),
    }


def _scale(ratings: Ratings) -> str:
    if ratings.scale is not None:
        return f"{ratings.scale[0]:g} to {ratings.scale[1]:g}"
    return f"scores from {ratings.score.min():g} to {ratings.score.max():g}"


def _state_better(ratings: Ratings) -> str:
    better, other = ("lower", "higher") if ratings.lower_is_better else ("higher", "lower")
    return f"{better} is better" + (f" (--better {other} turns it)" if ratings.better_from == "assumed" else "")
