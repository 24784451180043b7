"""Group outputs by system: the worst rule one can think of, to see what it costs."""

from __future__ import annotations

import numpy as np

from simlab.design.grouping import Groups
from simlab.types import Frame


def by_system(frame: Frame) -> Groups:
    """Ask one rater about all outputs of a system in a bucket."""
    n_buckets = int(frame.bucket.max()) + 1
    unit = np.arange(frame.n_systems)[:, None] * n_buckets + frame.bucket
    return Groups(unit, np.tile(np.arange(n_buckets), frame.n_systems))
