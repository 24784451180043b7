"""Decide which outputs travel together to the same rater.

Each rule takes the `Frame` of a world and returns `Groups`: `unit[system, document]`, the outputs that go to one rater
as a whole (within a bucket, the documents that the same raters can rate), and `pile[unit]`, the heap from which units
are dealt evenly to the raters of the bucket.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simlab.types import Frame, Ints


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups of outputs: `unit[system, document]` and `pile[unit]`, both counted from 0 without gaps."""

    unit: Ints
    pile: Ints


def pseudo_side_by_side(frame: Frame) -> Groups:
    """Ask one rater about all systems' outputs of a document.

    Source: Riley et al. 2024, section 6.1.1.
    """
    unit = np.broadcast_to(np.arange(frame.n_documents), (frame.n_systems, frame.n_documents))
    return Groups(unit, frame.bucket)


def system_balanced(frame: Frame) -> Groups:
    """Ask every rater about equally many outputs of each system, not necessarily of the same documents.

    Source: Riley et al. 2024, section 6.1.1: the outputs of each system are dealt by themselves.
    """
    n_buckets = int(frame.bucket.max()) + 1
    unit = np.arange(frame.n_systems * frame.n_documents).reshape(frame.n_systems, frame.n_documents)
    pile = np.arange(frame.n_systems)[:, None] * n_buckets + frame.bucket
    return Groups(unit, pile.ravel())


def ungrouped(frame: Frame) -> Groups:
    """Ask anyone about any output: a rater may see more outputs of one system than of another.

    Source: Riley et al. 2024, section 6.1.1 (no grouping); what is dealt is one system's output of a document.
    """
    unit = np.arange(frame.n_systems * frame.n_documents).reshape(frame.n_systems, frame.n_documents)
    return Groups(unit, np.tile(frame.bucket, frame.n_systems))
