"""Keep linear algebra on one thread: the last bits of a matrix product depend on how many there are."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread() -> Iterator[None]:
    """Let the libraries that are loaded compute on one thread, and as before afterwards."""
    with _libraries(len(sys.modules)).limit(limits=1):
        yield


@lru_cache(maxsize=1)
def _libraries(modules: int) -> Any:
    """Find the libraries that have threads; they are looked for again, which takes milliseconds, after an import."""
    return ThreadpoolController()
