"""Offer the fit by moments as a law, like others."""

from __future__ import annotations

from typing import Any

import numpy as np

from simlab.fitting.laws import Fitted, Law
from simlab.fitting.mqm import pilot as pilots
from simlab.fitting.mqm.fast import fit as by_moments
from simlab.fitting.mqm.pilot import Pilot, marked_errors
from simlab.tables.held import Ratings
from simlab.world.laws.fitted import world_on


def as_pilot(r: Ratings) -> Pilot:
    """Take ratings as a pilot of the fit by moments."""
    items, item = np.unique(r.item, return_inverse=True)
    docs, document = np.unique(r.document[items], return_inverse=True)
    counts, counted = marked_errors(r.score, r.errors)
    minor, major = pilots._weights(r.score, counts, counted)
    seats = [tuple(np.unique(r.rater[document[item] == d]).tolist()) for d in range(len(docs))]
    names = r.system_names, r.rater_names
    return Pilot(r.system, item, r.rater, r.score, counts, document, tuple(seats), *names, counted, minor, major)


def _fit(ratings: Ratings, *, seed: int, draws: int) -> Fitted:
    f = by_moments(as_pilot(ratings), seed=seed, draws=draws)
    return Fitted("mqm", ratings, f.effects, {}, (), frozenset(), {})


def _none(*_: Any) -> Any:
    return None


LAW = Law("mqm", _none, _fit, _none, world_on, _none)
