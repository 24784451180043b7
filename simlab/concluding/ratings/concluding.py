"""Conclude from a table of ratings: `conclude` reads it, chooses the analysis, and returns the `Conclusion`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from simlab.answers.conclude import Conclusion
from simlab.concluding.far_scores import is_undecided
from simlab.concluding.options import ConcludeOptions
from simlab.concluding.ratings.collecting import (
    ComparableRatings,
    collect,
    exclude_raters,
    make_comparable,
    sort_ratings,
)
from simlab.concluding.ratings.table_world import fit_world
from simlab.concluding.simulations import NOT_ASKED, note_unrepeated
from simlab.messages import clip, pluralise
from simlab.tables import table_summary
from simlab.tables.rating_table import Ratings
from simlab.tables.reading import read
from simlab.types import Collected, InputError

if TYPE_CHECKING:
    from simlab.concluding.ratings.findings import TableReading
    from simlab.fitting.repetitions import TableWorld

UNEVEN = 2 / 3
"""Raters are called uneven where one gave at most this share of what another gave."""


class TableStudy(NamedTuple):
    """A table as the study that it stands for: the ratings concluded from, the analysis, and the campaign.

    `table` describes the table on the page. `world()` waits for the world that is being fitted to the ratings (None:
    neither check nor repetition is wanted yet).
    """

    ratings: Ratings
    config: Mapping[str, Any]
    collected: Collected
    table: TableReading
    notes: tuple[str, ...]
    world: Callable[[], TableWorld] | None


def conclude(table: Path, wanted: ConcludeOptions, say: Callable[[str], None]) -> Conclusion:
    """Conclude from a table by the analysis that its layout allows, and compare it with a second table, if any.

    `say` is called with a line on each step that takes a while. Raises InputError for a table without ratings, or of
    one system, and for options that name raters, systems or keys that are not in it.
    """
    conclusion = _conclude_study(read_study(table, wanted), wanted, say)
    if wanted.second is None:
        return conclusion
    from simlab.concluding.ratings.second_table import add_second_table

    # Who is left out of one table need not be in the other.
    other = replace(wanted, exclude=(), again=False, column_overrides=replace(wanted.column_overrides, skip=()))
    second = read_study(wanted.second, other)
    if second.ratings.far is not None:
        raise second.ratings.far.refusal(clip(wanted.second))
    return add_second_table(conclusion, _conclude_study(second, other, say), wanted.second)


def read_study(table: Path, wanted: ConcludeOptions) -> TableStudy:
    """Read a table, leave out ratings that are excluded or cannot be used, and choose the analysis."""
    ratings = read(table, wanted.column_overrides, averaged=True)
    where = clip(table)
    kept, left_out = exclude_raters(ratings, wanted.exclude, where)
    if kept.n_systems < 2:
        raise InputError(f"{where}: holds ratings of one system; conclusions compare at least two")
    # As planned means as planned: a segment that is missing then costs its document.
    made = ComparableRatings(kept) if wanted.plan else make_comparable(kept)
    whole = sort_ratings(made.ratings)
    # What is read off the page counts who was left out, and does not count what could not be compared.
    shown = replace(
        ratings if wanted.exclude else whole,
        left_out=(*ratings.left_out, *made.left_out),
        remarks=(*ratings.remarks, *made.remarks, *_uneven_raters(kept)),
    )
    # Composing and concluding, and what they import, go on while the world is fitted.
    record = table_summary.record(shown)
    world = None if not wanted.gate or is_undecided(record, wanted) else fit_world(whole)
    from simlab.concluding.ratings.collecting import compose_config
    from simlab.concluding.ratings.findings import TableReading

    reading = TableReading(
        record,
        table_summary.line(shown),
        whole.rater_known,
        _lone_segments(whole),
        anew=ratings.averaged == "raters",
    )
    notes = (*ratings.notes, *left_out)
    config = wanted.plan.config if wanted.plan else compose_config(wanted)
    return TableStudy(whole, config, collect(whole, wanted.seed), reading, notes, world)


def _conclude_study(study: TableStudy, wanted: ConcludeOptions, say: Callable[[str], None]) -> Conclusion:
    from simlab.concluding.ratings.findings import conclude_ratings
    from simlab.concluding.ratings.repetitions import add_repetition

    conclusion = conclude_ratings(study.config, study.collected, wanted, study.table, study.notes)
    if study.world is None:
        return note_unrepeated(conclusion, NOT_ASKED)
    say("carrying the study out again, in a world fitted to it")
    return add_repetition(conclusion, study.ratings, study.config, study.collected, wanted, study.world)


def _uneven_raters(ratings: Ratings) -> tuple[str, ...]:
    """State between which numbers of ratings raters gave, where one gave far fewer than another."""
    n = np.bincount(ratings.rater, minlength=ratings.n_raters)
    least, most = int(n.argmin()), int(n.argmax())
    if not ratings.rater_known or n[least] > UNEVEN * n[most]:
        return ()
    ends = [f"{pluralise(int(n[k]), 'rating')} ({clip(ratings.rater_names[k], 40)})" for k in (least, most)]
    return (f"raters are uneven: from {ends[0]} to {ends[1]}",)


def _lone_segments(ratings: Ratings) -> bool:
    """True if a table does not say which segments belong to one document."""
    return ratings.layout == "averages"
