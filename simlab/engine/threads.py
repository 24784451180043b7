"""Keep linear algebra on one thread: the last bits of a matrix product depend on how many there are."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController

ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMBA_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
    ),
    "1",
)
"""What tells a new process so, in its environment."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Let the libraries that are loaded compute on one thread, and as before afterwards."""
    with _libraries(len(sys.modules)).limit(limits=1):
        yield


@lru_cache(maxsize=1)
def _libraries(modules: int) -> Any:
    """Find the libraries that have threads; they are looked for again, which takes milliseconds, after an import."""
    return ThreadpoolController()
