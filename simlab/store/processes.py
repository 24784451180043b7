"""Hold worker processes that compute measures: one thread each, gone with whoever started them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from simlab.engine.limits import Limits
from simlab.engine.threads import ONE_THREAD
from simlab.engine.workers import guard


@contextmanager
def started(jobs: int) -> Iterator[Any]:
    """Start worker processes, and end them."""
    from joblib.externals.loky import ProcessPoolExecutor

    executor = ProcessPoolExecutor(
        max_workers=jobs, initializer=guard, initargs=(os.getpid(), Limits(), ()), env=ONE_THREAD
    )
    try:
        yield executor
    finally:
        executor.shutdown(wait=True, kill_workers=True)
