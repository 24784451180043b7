"""Withdraw the promise of a conclusion whose check fails, and run its simulations in other processes.

The check (`Control`) counts how often studies of equal systems claim something; `apply_gate` returns the conclusion
without its claims if that is more than promised. `start_in_process` and `simulate_parts` run simulations.
"""

from __future__ import annotations

import math
import os
import signal
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from hashlib import blake2b
from itertools import zip_longest
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import TypeVar, cast

import numpy as np

from simlab.answers.conclude import Conclusion, Control, Promise
from simlab.answers.standings import Family, Interval, Metric, Pair, Rank, System, rank_limits
from simlab.messages import shorten
from simlab.supervision import is_supervised
from simlab.types import Array, Bools, InputError

NOT_ASKED = "not asked for"
WITHDRAWN = "the promise is withdrawn, so that there is no claim that a repetition could confirm"

Result = TypeVar("Result")

LONGEST = 200

THREADS = min(2, os.cpu_count() or 1)
"""Number of threads that simulate; more would wait for Python's lock."""


def apply_gate(conclusion: Conclusion) -> Conclusion:
    """Return a conclusion as it is, or withdrawn where its check contradicts its promise.

    Then nothing is claimed, no rank is told from another, nothing is foreseen of further answers, and `unpromised` of
    each pair is what would have been claimed.
    """
    if conclusion.control is None or not conclusion.control.contradicts(conclusion.promise):
        return conclusion
    why = _reason(conclusion.control, conclusion.promise)
    broken = "; ".join(reason for reason in (conclusion.promise.broken, why) if reason)
    order = sorted(conclusion.systems, key=lambda one: one.estimate * (1 if conclusion.lower_is_better else -1))
    groups = {"groups": [[system.system for system in order]]} if "groups" in conclusion.about else {}
    return conclusion.replace_fields(
        promise=conclusion.promise.replace_fields(holds=False, broken=broken),
        systems=[_clear_rank(system, len(conclusion.systems)) for system in conclusion.systems],
        pairs=_withdraw_claims(conclusion.pairs),
        metrics=[_clear_metric_claims(metric) for metric in conclusion.metrics],
        cycles=(),
        detectable=None,
        repetition=None,
        repetition_missing=WITHDRAWN,
        about={**conclusion.about, **groups},
        family=None if conclusion.family is None else _open_family(conclusion.family),
        warnings=(*rank_limits(Rank.PROMISE, [warn_of_withdrawal(broken)]), *conclusion.warnings),
    )


def warn_of_withdrawal(broken: str) -> str:
    """Write the warning of a conclusion whose promise is withdrawn, `broken` being why."""
    return f"the promise is withdrawn: {broken}"


def note_unrepeated(conclusion: Conclusion, why: str) -> Conclusion:
    """Note in a conclusion why neither check nor repetition stands beside it."""
    return conclusion.replace_fields(repetition_missing=why, control_missing=why)


def seed_from_rows(names: Sequence[str], *columns: Array) -> int:
    """Return a seed that follows from the names and the rows of a table, whatever the order of rows.

    Nobody can look for a seed at which the check passes: another seed needs another table.
    """
    # Adding 0.0 turns -0.0 into 0.0, whose bytes differ though the numbers are equal.
    rows = [np.asarray(column, float) + 0.0 for column in columns]
    order = np.lexsort(rows[::-1])
    digest = blake2b("\n".join(names).encode(errors="backslashreplace"), digest_size=8)
    for row in rows:
        digest.update(np.ascontiguousarray(row[order]).tobytes())
    return int.from_bytes(digest.digest(), "little")


def _reason(control: Control, promise: Promise) -> str:
    value, mcse = control.bounded_share(promise)
    share, level = f"{100 * value:.0f} ± {max(round(100 * mcse), 1)} %", f"{100 * promise.level:g} %"
    simulated = f"{control.studies:,} studies like this one, simulated with equal systems,"
    if promise.multiplicity == "best":
        return f"of {simulated} {share} exclude a system that is a best one (promised {level})"
    if promise.multiplicity == "none":
        return f"in {simulated} {share} of the pairs are claimed (promised {level})"
    return f"of {simulated} {share} claim something (promised {level})"


def _withdraw_claims(pairs: Sequence[Pair]) -> list[Pair]:
    return [
        pair.replace_fields(
            verdict=0,
            unpromised=pair.verdict,
            more=None,
            detectable=None,
            within=None if pair.within is None else "open",
            family=None if pair.family is None else "open",
        )
        for pair in pairs
    ]


def _open_family(of: Family) -> Family:
    """Let every system be the best, and all be of one tier."""
    candidates = [
        candidate.replace_fields(may_be_best=True, behind=math.inf, within=None if candidate.within is None else False)
        for candidate in of.candidates
    ]
    return of.replace_fields(
        candidates=candidates, tiers=[[name for tier in of.tiers for name in tier]] if of.tiers else ()
    )


def _clear_rank(system: System, n_systems: int) -> System:
    return system.replace_fields(rank_low=1, rank_high=n_systems)


def _clear_metric_claims(metric: Metric) -> Metric:
    return metric.replace_fields(pairs=_withdraw_claims(metric.pairs))


def share_again(claimed: Bools) -> Interval:
    """Return the mean share of claims that come again, and its 90 % interval over worlds.

    `claimed[world, study, claim]` is True where a study repeats a claim. The noise of the few studies of each world is
    removed from the spread between worlds.
    """
    from simlab.fitting.predictions import prediction_interval, widen_by_chance

    by_study = claimed.mean(2)
    share, n = by_study.mean(1), by_study.shape[1]
    # Pooled over worlds: the variance of two or three studies in one says little.
    error = math.sqrt(float(by_study.var(1, ddof=1).mean()) / n)
    low, high = prediction_interval(share, np.full(len(share), error))
    value = float(share.mean())
    return Interval.build(value, *widen_by_chance(value, max(low, 0.0), min(high, 1.0), len(share)))


def try_to_simulate(simulate: Callable[[], Result]) -> tuple[Result | None, str]:
    """Return the result of a simulation and "", or None and why it failed.

    A world that is fitted to a stranger's table may fail in its arithmetic; what is concluded from the table itself
    does not rest on it.
    """
    try:
        return simulate(), ""
    except InputError as error:
        return None, str(error)
    except (ArithmeticError, LookupError, MemoryError, RuntimeError, ValueError) as error:
        return None, shorten(f"a study like this one could not be simulated ({type(error).__name__}: {error})", LONGEST)


def start_in_process(simulate: Callable[[], Result]) -> Callable[[], Result]:
    """Begin a simulation in a process of its own, if a second processor is free; return a function that waits for it.

    Elsewhere (notebooks have threads, and no supervisor; with JAX there are threads, too, whose locks a fork would
    inherit) it is carried out when its result is asked for, as it is where the process ends without one. What a
    simulation raises is raised to whoever asks.
    """
    if THREADS < 2 or not is_supervised() or "jax" in sys.modules:
        return simulate
    processes = get_context("fork")
    here, there = processes.Pipe(duplex=False)
    process = processes.Process(target=_send_result, args=(simulate, there), daemon=True)
    # Until the process has its own answer to this signal it would hand one on to the supervisor, as this process does.
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    process.start()
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    # With this end open here, too, the reader would never learn that the process died.
    there.close()

    def result() -> Result:
        try:
            outcome, error = here.recv()
        except EOFError:
            return simulate()
        finally:
            here.close()
            process.join()
        if error is not None:
            raise error
        return cast(Result, outcome)

    return result


def _send_result(simulate: Callable[[], object], waiting: Connection) -> None:
    # Where nobody asks for the result the process is terminated, and nothing else.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    answer: tuple[object, Exception | None]
    try:
        answer = simulate(), None
    except Exception as error:
        answer = None, error
    waiting.send(answer)


def simulate_parts(simulate: Callable[[range], Result], n: int, size: int) -> list[Result]:
    """Simulate studies 0 to `n` - 1 in parts of `size`, on two processors; return the results of the parts in order.

    `simulate` takes the range of a part.
    """
    parts = [range(start, min(start + size, n)) for start in range(0, n, size)]
    if is_supervised():
        later = start_in_process(lambda: [simulate(part) for part in parts[1::2]])
        first = [simulate(part) for part in parts[::2]]
        return [one for pair in zip_longest(first, later()) for one in pair][: len(parts)]
    contexts = [copy_context() for _ in parts]
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(lambda context, part: context.run(simulate, part), contexts, parts))
