"""Stand in connection with a Dask scheduler, one that is there or one that is started here, and know its workers."""

from __future__ import annotations

import asyncio
import itertools
import time
import uuid
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from typing import Any

import dask
from distributed import Client, Scheduler, Worker
from distributed.client import FutureCancelledError

from simlab.engine.backends.carrying import carry, end_all
from simlab.engine.backends.reaching import ANSWERS_SECONDS, Place, Waiting, reached
from simlab.engine.backends.same import ON_SCHEDULER, Needs, difference
from simlab.types import InputError

SILENT_SECONDS = 20.0
"""After so long without a sign of life the bundles of a worker are handed to others, and its answers are ignored."""
PAUSED_SECONDS = 5.0
"""Likewise where Dask has paused a worker, which holds too much memory, for so long."""
ON_LOOPBACK = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
Say = Callable[[str], None]


class Gone(Exception):
    """Report that a scheduler cannot be spoken with any more."""


class Session:
    """Hold the connection with a scheduler, and which of its workers may be used.

    `needs` is what workers must have, as here (None: they are started here, and have it).
    """

    def __init__(self, client: Any, stack: AsyncExitStack, name: str, say: Say, needs: Needs | None) -> None:
        self.client, self.name, self.needs = client, name, needs
        self._stack, self._say = stack, say
        self._here = needs.here() if needs else {}
        self._run, self._numbers = uuid.uuid4().hex, itertools.count()
        self._signs: dict[str, tuple[object, float]] = {}
        self._asking: dict[str, asyncio.Task[str]] = {}
        self._left_out: set[str] = set()
        self._begun = False

    async def workers(self) -> dict[str, int]:
        """Return the workers that can be used now, with the threads of each; raise Gone."""
        there = {worker: threads for worker, threads in (await self._alive()).items() if worker not in self._left_out}
        if self.needs is None:
            return there
        for worker in self._asking.keys() - there.keys():
            self._asking.pop(worker).cancel()
        for worker in there.keys() - self._asking.keys():
            self._asking[worker] = asyncio.ensure_future(self._differs(worker))
        for worker in there:
            if self._begun and (verdict := self._verdict(worker)):
                self.leave_out(worker, verdict)
        return {worker: threads for worker, threads in there.items() if self._verdict(worker) == ""}

    def leave_out(self, worker: str, why: str) -> None:
        """Say why a worker is not used; it is left out from now on."""
        if worker not in self._left_out:
            self._left_out.add(worker)
            self._say(f"the worker {worker} is not used: it {why}")

    def _verdict(self, worker: str) -> str | None:
        """Return in what a worker differs, empty where it does not; None as long as it has not answered."""
        asked = self._asking[worker]
        return asked.result() if asked.done() and not asked.cancelled() else None

    @property
    def started_for(self) -> tuple[tuple[str, str | None], ...]:
        """Name the code that processes are started for: others are started once it has changed."""
        return tuple(self._here.items())

    async def first(self, waiting: Waiting) -> None:
        """Wait until all workers that are there have said what they have; raise InputError where one differs.

        One that does not answer is not waited for where another has.
        """
        patience = Waiting(ANSWERS_SECONDS, lambda _: None)
        while True:
            usable = await self.workers()
            verdicts = {worker: self._verdict(worker) for worker in self._asking}
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
            await asyncio.sleep(0.1)

    async def carry(self, worker: str, start: bytes, bundle: bytes) -> bytes | int:
        """Have a worker, and no other, carry out a bundle; raise Gone where the scheduler is."""
        key = f"simlab-{self._run}-{next(self._numbers)}"
        future = self.client.submit(carry, start, bundle, key=key, workers=[worker], pure=False)
        try:
            answer: bytes | int = await future
            return answer
        except FutureCancelledError as error:
            raise Gone(str(error)) from None
        finally:
            future.release()

    async def leave(self) -> None:
        """Let go of the scheduler."""
        for asking in self._asking.values():
            asking.cancel()
        with suppress(Exception):
            await asyncio.wait_for(self._stack.aclose(), ANSWERS_SECONDS)

    async def _alive(self) -> dict[str, int]:
        """Return the workers that the scheduler knows, those left out that have been silent, or paused, for long."""
        if self.client.status != "running":
            raise Gone(self.name)
        try:
            said = await asyncio.wait_for(self.client.scheduler.identity(n_workers=-1), ANSWERS_SECONDS)
        except (OSError, TimeoutError) as error:
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

    async def _differs(self, worker: str) -> str:
        """Ask a worker what it has until it answers; return in what it differs."""
        needs = self.needs or Needs()
        while True:
            with suppress(OSError, TimeoutError):
                asked = self.client.run(eval, needs.asked(), workers=[worker], on_error="return")
                there = (await asyncio.wait_for(asked, ANSWERS_SECONDS)).get(worker)
                if not isinstance(there, OSError):
                    return difference(self._here, there, self._here)
            await asyncio.sleep(1.0)


async def begin_here(jobs: int, say: Say) -> Session:
    """Start a scheduler and a worker of so many threads in this process, which nobody else can reach."""
    stack = AsyncExitStack()
    config = {"distributed.worker.profile.enabled": False, "distributed.scheduler.http.routes": []}
    stack.enter_context(dask.config.set(config | {"distributed.worker.http.routes": []}))
    stack.callback(end_all)
    scheduler = await stack.enter_async_context(Scheduler(protocol="inproc://", **ON_LOOPBACK))
    worker = Worker(scheduler.address, nthreads=jobs, memory_limit=0, **ON_LOOPBACK)
    await stack.enter_async_context(worker)
    client = await stack.enter_async_context(Client(scheduler.address, asynchronous=True, set_as_default=False))
    return Session(client, stack, "of this command", say, None)


async def begin_with(place: Place, waiting: Waiting, say: Say, needs: Needs) -> Session:
    """Connect with a scheduler, and wait for a worker; raise InputError where they are not there, or not the same."""
    await reached(place, waiting)
    stack = AsyncExitStack()
    try:
        client = Client(str(place), asynchronous=True, set_as_default=False, timeout=ANSWERS_SECONDS)
        await asyncio.wait_for(stack.enter_async_context(client), 2 * ANSWERS_SECONDS)
        session = Session(client, stack, str(place), say, needs)
        asked = client.run_on_scheduler(eval, Needs().asked())
        there = await asyncio.wait_for(asked, ANSWERS_SECONDS)
        if said := difference(needs.here(), there, ON_SCHEDULER):
            raise InputError(f"engine.scheduler={place}: this scheduler {said}")
        await session.first(waiting)
        return session
    except BaseException as error:
        with suppress(Exception):
            await asyncio.wait_for(stack.aclose(), ANSWERS_SECONDS)
        if isinstance(error, InputError) or not isinstance(error, Exception):
            raise
        raise InputError(f"engine.scheduler={place} cannot be worked with ({type(error).__name__}: {error})") from None
