"""Simulate what stands beside a conclusion, so that one that cannot be simulated leaves the conclusion alone."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from itertools import zip_longest
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import TypeVar, cast

import numpy as np

from simlab.answers.conclude import Interval
from simlab.messages import shortened
from simlab.supervision import is_supervised
from simlab.types import Bools, InputError

Result = TypeVar("Result")

LONGEST = 200

THREADS = min(2, os.cpu_count() or 1)
"""Threads that simulate: one computes in arrays while the other has Python to itself, which more would wait for."""


def share_again(claimed: Bools) -> Interval:
    """Return the mean share of claims that come again, and its 90 % interval over worlds.

    `claimed[world, study, claim]` says what does. What a few studies in each world err is taken out of how far worlds
    differ.
    """
    from simlab.fitting.predictions import prediction_interval, widen_by_chance

    by_study = claimed.mean(2)
    share, n = by_study.mean(1), by_study.shape[1]
    error = math.sqrt(float(by_study.var(1, ddof=1).mean()) / n)
    low, high = prediction_interval(share, np.full(len(share), error))
    value = float(share.mean())
    return Interval.of(value, *widen_by_chance(value, max(low, 0.0), min(high, 1.0), len(share)))


def try_to_simulate(simulate: Callable[[], Result]) -> tuple[Result | None, str]:
    """Return the result of a simulation and "", or None and why there is none.

    A world that is fitted to a stranger's table may fail in its arithmetic; what is concluded from the table itself
    does not rest on it.
    """
    try:
        return simulate(), ""
    except InputError as error:
        return None, str(error)
    except (ArithmeticError, LookupError, MemoryError, RuntimeError, ValueError) as error:
        return None, shortened(
            f"a study like this one could not be simulated ({type(error).__name__}: {error})", LONGEST
        )


def start_in_process(simulate: Callable[[], Result]) -> Callable[[], Result]:
    """Begin a simulation in a process of its own, where a command has another processor; what is returned waits for it.

    Elsewhere (notebooks have threads, and no supervisor; with JAX there are threads, too, whose locks a fork would
    inherit) it is carried out when its result is asked for, as it is where the process ends without one. What a
    simulation raises is raised to whoever asks.
    """
    if THREADS < 2 or not is_supervised() or "jax" in sys.modules:
        return simulate
    processes = get_context("fork")
    here, there = processes.Pipe(duplex=False)
    process = processes.Process(target=_send_result, args=(simulate, there), daemon=True)
    process.start()
    there.close()

    def result() -> Result:
        try:
            found, error = here.recv()
        except EOFError:
            return simulate()
        finally:
            here.close()
            process.join()
        if error is not None:
            raise error
        return cast(Result, found)

    return result


def _send_result(simulate: Callable[[], object], waiting: Connection) -> None:
    answer: tuple[object, Exception | None]
    try:
        answer = simulate(), None
    except Exception as error:
        answer = None, error
    waiting.send(answer)


def in_parts(simulate: Callable[[range], Result], n: int, size: int) -> list[Result]:
    """Simulate studies 0 to n in parts of a size, on two processors; return the results of parts in their order."""
    parts = [range(start, min(start + size, n)) for start in range(0, n, size)]
    if is_supervised():
        later = start_in_process(lambda: [simulate(part) for part in parts[1::2]])
        first = [simulate(part) for part in parts[::2]]
        return [one for pair in zip_longest(first, later()) for one in pair][: len(parts)]
    contexts = [copy_context() for _ in parts]
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(lambda context, part: context.run(simulate, part), contexts, parts))
