"""Stand in connection with a Dask scheduler, one that is there or one that is started here."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

from simlab.engine.backends.carrying import carry, end_all


class Session:
    def __init__(self, client: Any, stack: AsyncExitStack) -> None:
        self.client, self.stack = client, stack
        self._run, self._numbers = uuid.uuid4().hex, itertools.count()

    async def workers(self) -> dict[str, int]:
        identity = await self.client.scheduler.identity(n_workers=-1)
        return {address: worker["nthreads"] for address, worker in identity["workers"].items()}

    async def carry(self, worker: str, start: bytes, bundle: bytes) -> bytes | int:
        future = self.client.submit(
            carry,
            start,
            bundle,
            key=f"simlab-{self._run}-{next(self._numbers)}",
            workers=[worker],
            pure=False,
        )
        try:
            answer: bytes | int = await future
            return answer
        finally:
            future.release()


async def enter(engine: Mapping[str, Any], jobs: int) -> Session:
    from distributed import Client, Scheduler, Worker

    stack = AsyncExitStack()
    address = engine.get("scheduler")
    if address is None:
        alone = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
        scheduler = await stack.enter_async_context(Scheduler(protocol="inproc://", **alone))
        await stack.enter_async_context(Worker(scheduler.address, nthreads=jobs, memory_limit=0, **alone))
        stack.callback(end_all)
        address = scheduler.address
    client = await stack.enter_async_context(Client(address, asynchronous=True, set_as_default=False))
    return Session(client, stack)


async def leave(session: Session) -> None:
    await session.stack.aclose()
