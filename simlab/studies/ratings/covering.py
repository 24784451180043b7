"""Say what one rating covers, how many outputs a design asks about, and how its money cuts that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from simlab.messages import several
from simlab.studies.money import binding
from simlab.studies.ratings.collecting import chosen_documents, lay
from simlab.studies.ratings.preparing import prepare
from simlab.types import Ints, Place, World

LOOKED_AT = 40
"""Draws of documents of the first world that are looked at, at most."""


def covers(config: Mapping[str, Any], world: World) -> list[str]:
    """Count the segments of the documents that studies of the first world ask about."""
    prepared = prepare(config)
    table = lay(prepared, world, Place(0))
    per_set = int(prepared.design["studies_per_document_set"])
    sets = min(-(-int(config["studies"]) // per_set), LOOKED_AT)
    chosen = [chosen_documents(prepared, world, table, Place(0, study=k * per_set)) for k in range(sets)]
    documents = np.array([int(one.sum()) for one in chosen])
    segments = np.array([int(one[world.frame.document].sum()) for one in chosen])
    systems, each, asked = world.frame.n_systems, int(table.slots.shape[2]), prepared.design["documents"]
    about = _span(segments) + ("" if np.ptp(segments) == 0 else f", {segments.mean():,.0f} on average,")
    lines = [
        f"a rating is of one segment by one rater: {_span(documents)} documents are {about} outputs of each of "
        f"{systems} systems, by {several(each, 'rater')}"
    ]
    money = binding(prepared.budget, systems)
    if money is not None and prepared.cuts and (documents.min() < asked or each < prepared.design["ratings_per_item"]):
        less = f", with {each} of {prepared.design['ratings_per_item']} ratings of each segment"
        less = less if each < prepared.design["ratings_per_item"] else ""
        lines.append(f"{money.said} pays {_span(documents)} of {asked} documents{less}")
    return lines


def _span(counts: Ints) -> str:
    low, high = int(counts.min()), int(counts.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
