"""Hold worker processes that compute measures: one thread each, gone with whoever started them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from simlab.engine.limits import Limits
from simlab.engine.pools import start_pool
from simlab.engine.threads import ONE_THREAD
from simlab.engine.workers import guard


class Workers:
    """Hand work to processes; where they have died, say so by the future that is handed back."""

    def __init__(self, executor: Any) -> None:
        """Take processes that were started."""
        self._executor = executor

    def submit(self, work: Callable[..., Any], *given: Any) -> Future[Any]:
        """Hand out work."""
        try:
            future: Future[Any] = self._executor.submit(work, *given)
        except BrokenProcessPool as error:
            future = Future()
            future.set_exception(error)
        return future


@contextmanager
def started(jobs: int) -> Iterator[Workers]:
    """Start worker processes, and end them, at once where whoever asked for them does not come to the end."""
    executor = start_pool(jobs, initializer=guard, initargs=(os.getpid(), Limits(), ()), env=ONE_THREAD)
    done = False
    try:
        yield Workers(executor)
        done = True
    finally:
        executor.shutdown(wait=True, kill_workers=not done)
