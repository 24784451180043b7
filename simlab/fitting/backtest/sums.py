"""Add up the fixed ratings of worlds once, so that a study picks sums of documents instead of ratings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simlab.fitting.backtest.designs import Dealt
from simlab.types import Floats, Frame, Ints, World
from simlab.world.laws.fixed import fixed_ratings


@dataclass(frozen=True, slots=True)
class Sums:
    """Hold sums over the segments of a document: `value[world, system, document, slot]`, of squares, of errors.

    `segments[document]` counts them; a rater who did not rate the whole document has NaN. Systems in truth are worth
    `truth[world, system]`, None where nobody knows. All worlds have one frame.
    """

    frame: Frame
    value: Floats
    square: Floats
    errors: Floats
    segments: Ints
    truth: Floats | None


@dataclass(frozen=True, slots=True)
class Picked:
    """Hold what a study asks of every world: `value[world, system, k, rating]`, squares and errors alike.

    `rater[system, k, rating]` answered about the k-th document, which has `segments[k]`; `n_raters` are in the pool.
    """

    value: Floats
    square: Floats
    errors: Floats
    rater: Ints
    segments: Ints
    n_raters: int


def sums(worlds: Sequence[World]) -> Sums:
    """Add up worlds of one frame, their ratings being fixed."""
    frame = worlds[0].frame
    ratings = [fixed_ratings(world) for world in worlds]
    if any(one is None for one in ratings):
        raise ValueError("only fixed ratings can be added up once for all studies")
    order = np.argsort(frame.document, kind="stable")
    start = np.searchsorted(frame.document[order], np.arange(frame.n_documents))

    def added(values: Sequence[Floats]) -> Floats:
        return np.stack([np.add.reduceat(value[:, order], start, axis=1) for value in values])

    values = [one.value for one in ratings if one is not None]
    known = [world.truth for world in worlds if world.truth is not None]
    return Sums(
        frame,
        added(values),
        added([value**2 for value in values]),
        added([one.errors.astype(float) for one in ratings if one is not None]),
        np.bincount(frame.document, minlength=frame.n_documents),
        np.stack(known) if len(known) == len(worlds) else None,
    )


def picked(held: Sums, dealt: Dealt, study: int) -> Picked:
    """Pick what a study asks."""
    slot, document = dealt.slot[study], dealt.document[study]
    at = slice(None), np.arange(len(slot))[:, None, None], document[None, :, None], slot
    return Picked(
        held.value[at],
        held.square[at],
        held.errors[at],
        dealt.rater[study],
        held.segments[document],
        held.frame.n_raters,
    )
