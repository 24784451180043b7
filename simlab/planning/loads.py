"""Count what a design asks of people, by dealing some of its campaigns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from simlab.answers.plan import Loads
from simlab.engine import exporting
from simlab.studies.checks import covered
from simlab.types import Collected, InputError, Place

CAMPAIGNS = 3


def loads(config: Mapping[str, Any]) -> Loads | None:
    """Return what the campaigns of a composed study ask of raters; None where none of those dealt could be."""
    dealt = [one for study in range(CAMPAIGNS) if (one := _dealt(config, study)) is not None]
    if not dealt:
        return None
    each = [np.unique(one.seen.rater, return_counts=True)[1] for one in dealt]
    raters = max(len(counts) for counts in each)
    ratings = float(np.mean([counts.sum() for counts in each]))
    return Loads(
        covers=_covers(config),
        outputs=float(np.mean([_outputs(one) for one in dealt])),
        ratings=ratings,
        raters=int(raters),
        per_rater=ratings / raters,
        most=float(max(counts.max() for counts in each)),
        per_rater_documents=float(
            np.mean([_documents(one) / len(counts) for one, counts in zip(dealt, each, strict=True)])
        ),
    )


def _dealt(config: Mapping[str, Any], study: int) -> Collected | None:
    try:
        return exporting.collected(config, Place(study, 0, 0, 0))
    except InputError:
        return None


def _covers(config: Mapping[str, Any]) -> str:
    """Say what one rating is about, without how many there are."""
    lines = covered(config)
    return lines[0].partition(":")[0] if lines else ""


def _outputs(one: Collected) -> int:
    """Count the outputs, one system's of a segment, that were rated."""
    return len(np.unique(np.stack([one.seen.unit, one.seen.item]), axis=1).T)


def _documents(one: Collected) -> int:
    """Count the pairs of a rater and a document."""
    return len(np.unique(np.stack([one.seen.rater, one.frame.document[one.seen.item]]), axis=1).T)
