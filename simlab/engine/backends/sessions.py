"""The connection with a Dask scheduler, remote or in this process, and the list of its usable workers."""

from __future__ import annotations

import asyncio
import itertools
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import Any

import dask
from distributed import Client, LocalCluster

from simlab.engine.backends.children import end_idle_children, run_in_dask_worker
from simlab.engine.backends.environment import describe_mismatch
from simlab.engine.backends.requirements import ON_SCHEDULER, Requirements
from simlab.engine.backends.scheduler_address import ANSWERS_SECONDS, Patience, SchedulerAddress, await_scheduler
from simlab.types import InputError

SILENT_SECONDS = 20.0
"""After so long without a sign of life the bundles of a worker are handed to others, and its answers are ignored."""
PAUSED_SECONDS = 5.0
"""Likewise where Dask has paused a worker, which holds too much memory, for so long."""
Say = Callable[[str], None]


class Gone(Exception):
    """The scheduler is gone."""


class Session:
    """A connection with a scheduler, and the workers that may be used.

    `requirements` are the packages and files that each worker must have in the same state as the driver (None: the
    workers run in this process). `code` is that state; children are reused only for an equal one.
    """

    def __init__(
        self, client: Client, stack: ExitStack, name: str, say: Say, requirements: Requirements | None
    ) -> None:
        self.client, self.name, self.requirements = client, name, requirements
        self._stack, self._say = stack, say
        self._run, self._numbers = uuid.uuid4().hex, itertools.count()
        self._signs: dict[str, tuple[object, float]] = {}
        self._checks: dict[str, Any] = {}
        self._left_out: set[str] = set()
        self._begun = False
        self._here = requirements.describe_here() if requirements else {}
        self.code = tuple(self._here.items())

    def workers(self) -> dict[str, int]:
        """Return the number of threads of each usable worker, by address; raise Gone."""
        there = {worker: threads for worker, threads in self._list_alive().items() if worker not in self._left_out}
        if self.requirements is None:
            return there
        for worker in self._checks.keys() - there.keys():
            self._checks.pop(worker).release()
        for worker in there.keys() - self._checks.keys():
            self._checks[worker] = self._submit(worker, eval, self.requirements.as_expression())
        if self._begun:
            for worker in there:
                if verdict := self._mismatch(worker):
                    self.leave_out(worker, verdict)
        return {worker: threads for worker, threads in there.items() if self._mismatch(worker) == ""}

    def leave_out(self, worker: str, why: str) -> None:
        """Exclude a worker from now on, and print the reason."""
        if worker not in self._left_out:
            self._left_out.add(worker)
            self._say(f"the worker {worker} is not used: it {why}")

    def submit(self, worker: str, start: bytes, request: bytes, seconds: float | None) -> Any:
        """Submit a call to this worker and no other; raise Gone."""
        return self._submit(worker, run_in_dask_worker, start, request, seconds)

    def _submit(self, worker: str, function: Callable[..., Any], *given: Any) -> Any:
        key = f"simlab-{self._run}-{next(self._numbers)}"
        try:
            return self.client.submit(function, *given, key=key, workers=[worker], pure=False)
        except Exception as error:
            raise Gone(str(error)) from None

    def result(self, future: Any) -> Any:
        """Return the result of a finished call, or its exception; raise Gone if the scheduler lost it."""
        if future.status in ("cancelled", "lost"):
            raise Gone(future.status)
        try:
            return future.result(timeout=ANSWERS_SECONDS)
        except Exception as error:
            return error

    def _mismatch(self, worker: str) -> str | None:
        """Describe how a worker differs from the driver, or return ''; None until the worker has answered."""
        future = self._checks[worker]
        if future.status == "pending":
            return None
        return describe_mismatch(self._here, self.result(future), self._here)

    def await_workers(self, waiting: Patience) -> None:
        """Wait until every worker has been checked; raise InputError if one differs from the driver.

        A silent worker is waited for only as long as no other has answered.
        """
        patience = Patience(ANSWERS_SECONDS, lambda _: None)
        while True:
            usable = self.workers()
            verdicts = {worker: self._mismatch(worker) for worker in self._checks}
            for worker, verdict in verdicts.items():
                if verdict:
                    more = sum(1 for other in verdicts.values() if other)
                    others = f" (and {more - 1} more)" if more > 1 else ""
                    raise InputError(f"engine.scheduler={self.name}: its worker {worker}{others} {verdict}")
            if usable and (None not in verdicts.values() or patience.over("")):
                self._begun = True
                return
            if waiting.over(f"workers of the scheduler {self.name}"):
                raise InputError(
                    f"engine.scheduler={self.name} has no worker that answers, for {waiting.seconds:g} s "
                    f"(engine.scheduler_seconds); start one by `dask worker {self.name}`"
                )
            time.sleep(0.1)

    def leave(self) -> None:
        """Close the connection."""
        with suppress(Exception):
            self._stack.close()

    def _list_alive(self) -> dict[str, int]:
        """Return the workers that the scheduler knows, without those that have been silent or paused for long."""
        if self.client.status != "running":
            raise Gone(self.name)
        try:
            said = self.client.sync(self.client.scheduler.identity, n_workers=-1, callback_timeout=ANSWERS_SECONDS)
        except Exception as error:
            raise Gone(str(error)) from None
        now = time.monotonic()
        self._signs = {worker: self._sign(worker, held, now) for worker, held in said["workers"].items()}
        return {
            worker: held["nthreads"]
            for worker, held in said["workers"].items()
            if held["status"] in ("running", "paused")
            and now - self._signs[worker][1] < (PAUSED_SECONDS if held["status"] == "paused" else SILENT_SECONDS)
        }

    def _sign(self, worker: str, held: dict[str, Any], now: float) -> tuple[object, float]:
        """Return the last sign of life of a worker, and when the driver first saw it: clocks of machines differ."""
        sign = "paused" if held["status"] == "paused" else held["last_seen"]
        before = self._signs.get(worker)
        return before if before is not None and before[0] == sign else (sign, now)


def start_local_cluster(jobs: int, say: Say) -> Session:
    """Start a scheduler and a worker with `jobs` threads in this process; nobody else can reach them."""
    stack = ExitStack()
    config = {"distributed.worker.profile.enabled": False, "distributed.scheduler.http.routes": []}
    stack.enter_context(dask.config.set(config | {"distributed.worker.http.routes": []}))
    stack.callback(end_idle_children)
    here = LocalCluster(
        n_workers=1,
        threads_per_worker=jobs,
        processes=False,
        protocol="inproc://",
        memory_limit=0,
        dashboard_address="127.0.0.1:0",
    )
    stack.enter_context(here)
    client = stack.enter_context(Client(here, set_as_default=False))
    return Session(client, stack, "of this command", say, None)


def connect(address: SchedulerAddress, waiting: Patience, say: Say, requirements: Requirements) -> Session:
    """Connect with a scheduler and wait for a worker; raise InputError if there is none, or its code differs."""
    # In a thread of its own: in a notebook, this thread already runs an event loop.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, await_scheduler(address, waiting)).result()
    stack = ExitStack()
    try:
        client = stack.enter_context(Client(str(address), set_as_default=False, timeout=ANSWERS_SECONDS))
        session = Session(client, stack, str(address), say, requirements)
        if said := describe_mismatch(
            requirements.describe_here(), client.run_on_scheduler(eval, Requirements().as_expression()), ON_SCHEDULER
        ):
            raise InputError(f"engine.scheduler={address}: this scheduler {said}")
        session.await_workers(waiting)
        return session
    except BaseException as error:
        with suppress(Exception):
            stack.close()
        if isinstance(error, InputError) or not isinstance(error, Exception):
            raise
        raise InputError(
            f"engine.scheduler={address} cannot be worked with ({type(error).__name__}: {error})"
        ) from None
