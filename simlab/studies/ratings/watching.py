"""Claim differences by a rule that watches ratings come: in which order they did, and what it says of each pair."""

from __future__ import annotations

import numpy as np

from simlab.studies.possible import probabilities
from simlab.studies.ratings.preparing import Prepared
from simlab.studies.sealing import sealed
from simlab.types import Array, Arrived, Collected, Floats, Ints, Seen


def claimed(
    prepared: Prepared, collected: Collected, scores: Seen, direction: Array, rng: np.random.Generator
) -> dict[str, Array]:
    """Return what a rule claims of each pair; a claim has the direction that it had when it was made."""
    if prepared.claim is None:
        raise ValueError("a decision without a part watches nothing")
    claims = prepared.claim(sealed(arrived(collected, scores, rng)))
    return {
        "direction": np.where(claims.verdict != 0, claims.verdict, direction).astype(np.int8),
        "significant": claims.verdict != 0,
        "p_value": probabilities(claims.p_value, "decision"),
    }


def arrived(collected: Collected, scores: Seen, rng: np.random.Generator) -> Arrived:
    """Lay ratings in the order in which they came, screen by screen.

    On a clock a screen is done with its last rating. Without one documents come in random order, and the screens of a
    document one after the other, in random order as well.
    """
    screen = _screens(collected, scores)
    n = int(screen.max(initial=-1)) + 1
    if scores.at is None:
        document = np.empty(n, np.int64)
        document[screen] = collected.frame.document[scores.item]
        order = np.lexsort((rng.random(n), rng.random(collected.frame.n_documents)[document]))
    else:
        done: Floats = np.full(n, -np.inf)
        np.maximum.at(done, screen, scores.at)
        order = np.argsort(done, kind="stable")
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n)
    came = np.argsort(rank[screen], kind="stable")
    return Arrived(
        item=scores.item[came],
        rater=scores.rater[came],
        system=scores.unit[came],
        value=np.asarray(scores.value, float)[came],
        screen=rank[screen][came],
        n_systems=collected.frame.n_systems,
        lower_is_better=collected.frame.lower_is_better,
    )


def _screens(collected: Collected, scores: Seen) -> Ints:
    """Number the screens of ratings, from 0: a screen is one output as one rater rated it."""
    frame = collected.frame
    output = frame.document[scores.item] * frame.n_systems + scores.unit
    return np.asarray(np.unique(output * frame.n_raters + scores.rater, return_inverse=True)[1])
