"""Stand in connection with a Dask scheduler, one that is there or one that is started here, and know its workers."""

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

from simlab.engine.backends.about import difference
from simlab.engine.backends.children import carry_for_dask, end_all
from simlab.engine.backends.reaching import ANSWERS_SECONDS, Place, Waiting, reached
from simlab.engine.backends.same import ON_SCHEDULER, Needs
from simlab.types import InputError

SILENT_SECONDS = 20.0
"""After so long without a sign of life the bundles of a worker are handed to others, and its answers are ignored."""
PAUSED_SECONDS = 5.0
"""Likewise where Dask has paused a worker, which holds too much memory, for so long."""
Say = Callable[[str], None]


class Gone(Exception):
    """Report that a scheduler cannot be spoken with any more."""


class Session:
    """Hold the connection with a scheduler, and which of its workers may be used.

    `needs` is what workers must have, as here (None: they are started here, and have it).
    """

    def __init__(self, client: Client, stack: ExitStack, name: str, say: Say, needs: Needs | None) -> None:
        self.client, self.name, self.needs = client, name, needs
        self._stack, self._say = stack, say
        self._run, self._numbers = uuid.uuid4().hex, itertools.count()
        self._signs: dict[str, tuple[object, float]] = {}
        self._first: dict[str, Any] = {}
        self._left_out: set[str] = set()
        self._begun = False
        self._here = needs.here() if needs else {}
        self.code = tuple(self._here.items())
        """What children are started for: others are started once it has changed."""

    def workers(self) -> dict[str, int]:
        """Return the workers that can be used now, with the threads of each; raise Gone."""
        there = {worker: threads for worker, threads in self._alive().items() if worker not in self._left_out}
        if self.needs is None:
            return there
        for worker in self._first.keys() - there.keys():
            self._first.pop(worker).release()
        for worker in there.keys() - self._first.keys():
            self._first[worker] = self._submit(worker, eval, self.needs.asked())
        if self._begun:
            for worker in there:
                if verdict := self._verdict(worker):
                    self.leave_out(worker, verdict)
        return {worker: threads for worker, threads in there.items() if self._verdict(worker) == ""}

    def leave_out(self, worker: str, why: str) -> None:
        """Say why a worker is not used; it is left out from now on."""
        if worker not in self._left_out:
            self._left_out.add(worker)
            self._say(f"the worker {worker} is not used: it {why}")

    def submit(self, worker: str, start: bytes, asked: bytes, seconds: float | None) -> Any:
        """Have a worker, and no other, carry out a call; raise Gone."""
        return self._submit(worker, carry_for_dask, start, asked, seconds)

    def _submit(self, worker: str, function: Callable[..., Any], *given: Any) -> Any:
        key = f"simlab-{self._run}-{next(self._numbers)}"
        try:
            return self.client.submit(function, *given, key=key, workers=[worker], pure=False)
        except Exception as error:
            raise Gone(str(error)) from None

    def answer(self, future: Any) -> Any:
        """Return what a call gave, or the error that it ended with; raise Gone where the scheduler forgot it."""
        if future.status in ("cancelled", "lost"):
            raise Gone(future.status)
        try:
            return future.result(timeout=ANSWERS_SECONDS)
        except Exception as error:
            return error

    def _verdict(self, worker: str) -> str | None:
        """Return why a worker cannot be used, empty where it can; None as long as it has not answered."""
        future = self._first[worker]
        if future.status == "pending":
            return None
        return difference(self._here, self.answer(future), self._here)

    def first(self, waiting: Waiting) -> None:
        """Wait until all workers that are there have said what they have; raise InputError where one differs.

        One that does not answer is not waited for where another has.
        """
        patience = Waiting(ANSWERS_SECONDS, lambda _: None)
        while True:
            usable = self.workers()
            verdicts = {worker: self._verdict(worker) for worker in self._first}
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
        """Let go of the scheduler."""
        with suppress(Exception):
            self._stack.close()

    def _alive(self) -> dict[str, int]:
        """Return the workers that the scheduler knows, those left out that have been silent, or paused, for long."""
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
        """Return the last sign of life of a worker, and when it was first seen here: clocks of machines differ."""
        sign = "paused" if held["status"] == "paused" else held["last_seen"]
        before = self._signs.get(worker)
        return before if before is not None and before[0] == sign else (sign, now)


def begin_here(jobs: int, say: Say) -> Session:
    """Start a scheduler and a worker of so many threads in this process, which nobody else can reach."""
    stack = ExitStack()
    config = {"distributed.worker.profile.enabled": False, "distributed.scheduler.http.routes": []}
    stack.enter_context(dask.config.set(config | {"distributed.worker.http.routes": []}))
    stack.callback(end_all)
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


def begin_with(place: Place, waiting: Waiting, say: Say, needs: Needs) -> Session:
    """Connect with a scheduler, and wait for a worker; raise InputError where they are not there, or not the same."""
    # Of its own, since a notebook has a loop in this thread.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, reached(place, waiting)).result()
    stack = ExitStack()
    try:
        client = stack.enter_context(Client(str(place), set_as_default=False, timeout=ANSWERS_SECONDS))
        session = Session(client, stack, str(place), say, needs)
        if said := difference(needs.here(), client.run_on_scheduler(eval, Needs().asked()), ON_SCHEDULER):
            raise InputError(f"engine.scheduler={place}: this scheduler {said}")
        session.first(waiting)
        return session
    except BaseException as error:
        with suppress(Exception):
            stack.close()
        if isinstance(error, InputError) or not isinstance(error, Exception):
            raise
        raise InputError(f"engine.scheduler={place} cannot be worked with ({type(error).__name__}: {error})") from None
