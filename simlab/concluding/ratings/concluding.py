"""Conclude from a table of ratings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from simlab.concluding.conclusion import Conclusion
from simlab.concluding.ratings.again import with_again
from simlab.concluding.ratings.choosing import config_of, layout_of
from simlab.concluding.ratings.collecting import collected, in_whole, without
from simlab.concluding.ratings.findings import Table, concluded
from simlab.concluding.wanted import Wanted
from simlab.messages import legible
from simlab.tables import understood
from simlab.tables.reading import read
from simlab.types import InputError


def conclude(table: Path, wanted: Wanted, say: Callable[[str], None]) -> Conclusion:
    """Conclude from a table by the analysis that its layout allows, or as its plan says.

    Raises InputError for a table that holds no ratings, or ratings of one system, and for what is asked of raters,
    systems or keys that are not there.
    """
    ratings = read(table, wanted.told)
    where = legible(table)
    kept, left_out = without(ratings, wanted.exclude, where)
    if kept.n_systems < 2:
        raise InputError(f"{where}: holds ratings of one system; conclusions compare at least two")
    whole, incomplete = in_whole(kept)
    layout = layout_of(whole)
    config = config_of(layout, wanted)
    read_as = Table(understood.record(ratings), understood.line(ratings), layout.named)
    notes = (*ratings.notes, *left_out, *incomplete)
    campaign = collected(whole, wanted.seed)
    found = concluded(config, campaign, wanted, read_as, notes)
    if not wanted.again:
        return found
    say("carrying the study out again, in a world fitted to it")
    return with_again(found, whole, config, campaign, wanted)
