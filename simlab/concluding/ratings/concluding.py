"""Conclude from a table of ratings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from simlab.concluding.conclusion import Conclusion
from simlab.concluding.far_scores import is_undecided
from simlab.concluding.ratings.again import with_again
from simlab.concluding.ratings.choosing import config_of
from simlab.concluding.ratings.collecting import Kept, collected, in_whole, without
from simlab.concluding.ratings.findings import Table, concluded
from simlab.concluding.ratings.second import with_second
from simlab.concluding.wanted import Wanted
from simlab.messages import legible
from simlab.tables import understood
from simlab.tables.held import Ratings
from simlab.tables.reading import read
from simlab.types import Collected, InputError


class Study(NamedTuple):
    """Hold a table as the study that it stands for: the ratings concluded from, the analysis, what was collected."""

    ratings: Ratings
    config: Mapping[str, Any]
    collected: Collected
    table: Table
    notes: tuple[str, ...]


def conclude(table: Path, wanted: Wanted, say: Callable[[str], None]) -> Conclusion:
    """Conclude from a table by the analysis that its layout allows, and hold a second one against it.

    Raises InputError for a table that holds no ratings, or ratings of one system, and for what is asked of raters,
    systems or keys that are not there.
    """
    found = _of(study_of(table, wanted), wanted, say)
    if wanted.second is None:
        return found
    # Who is left out of one table need not be in the other.
    other = replace(wanted, exclude=(), again=False, told=replace(wanted.told, skip=()))
    second = study_of(wanted.second, other)
    if second.ratings.far is not None:
        raise second.ratings.far.refusal(legible(wanted.second))
    return with_second(found, _of(second, other, say), wanted.second)


def study_of(table: Path, wanted: Wanted) -> Study:
    """Read a table, leave out what is asked to be or cannot be used, and choose the analysis."""
    ratings = read(table, wanted.told, averaged=True)
    where = legible(table)
    kept, left_out = without(ratings, wanted.exclude, where)
    if kept.n_systems < 2:
        raise InputError(f"{where}: holds ratings of one system; conclusions compare at least two")
    # As planned means as planned: a segment that is missing then costs its document.
    whole, incomplete = Kept(kept, ()) if wanted.plan else in_whole(kept)
    config = wanted.plan.config if wanted.plan else config_of(wanted)
    said = Table(
        understood.record(ratings),
        understood.line(ratings),
        whole.rater_known,
        _lone_segments(whole),
        anew=whole.averaged == "raters",
    )
    notes = (*ratings.notes, *left_out, *incomplete)
    return Study(whole, config, collected(whole, wanted.seed), said, notes)


def _of(study: Study, wanted: Wanted, say: Callable[[str], None]) -> Conclusion:
    found = concluded(study.config, study.collected, wanted, study.table, study.notes)
    if not wanted.again or is_undecided(found.read, wanted):
        return found
    say("carrying the study out again, in a world fitted to it")
    return with_again(found, study.ratings, study.config, study.collected, wanted)


def _lone_segments(ratings: Ratings) -> bool:
    """Tell whether a table does not say which segments belong to one document."""
    return ratings.layout == "averages"
