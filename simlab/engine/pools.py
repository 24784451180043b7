"""Start pools of worker processes, which need semaphores; Linux keeps these in /dev/shm."""

from __future__ import annotations

import sys
from typing import Any

from simlab.files import needed
from simlab.types import InputError

SEMAPHORES = "/dev/shm" if sys.platform == "linux" else "shared memory"  # noqa: S108 (nothing is written there)


class NoSemaphores(InputError):
    """Say that the system gives out no semaphores, so that there are no pools of processes."""


def start_pool(workers: int, **settings: Any) -> Any:
    """Start a pool of worker processes; raise NoSemaphores where the system has no place for what they wait by."""
    from joblib.externals.loky import ProcessPoolExecutor

    try:
        return ProcessPoolExecutor(max_workers=workers, **settings)
    except OSError as error:
        raise NoSemaphores(
            f"{SEMAPHORES}: {(error.strerror or str(error)).lower()}; processes wait for each other by semaphores, "
            f"which lie there: {needed(error)} (in a container, see its option --shm-size), or run with --jobs 1, "
            "which does without"
        ) from error
