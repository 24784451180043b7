"""Parse the address of a Dask scheduler, and check that a scheduler answers there."""

from __future__ import annotations

import asyncio
import re
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from simlab.messages import duration, shown
from simlab.types import InputError

_ADDRESS = re.compile(r"(tcp|tls)://(\[[0-9a-fA-F:.]+\]|[^\s:/\[\]@]+):(\d{1,5})/?")
ANSWERS_SECONDS = 10.0
"""Who listens shall answer within that time; one that is busy with a large graph needs some seconds."""
SAID_AFTER_SECONDS = 3.0
AGAIN_SECONDS = 0.5
REMEDY = "give the address that the scheduler says when it starts, or leave engine.scheduler out"


class SchedulerAddress(NamedTuple):
    """Scheme, host and port of a scheduler."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.scheme}://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


class Patience:
    """A time limit for waiting; after a while, one line says what is waited for."""

    def __init__(self, seconds: float, say: Callable[[str], None]) -> None:
        self.seconds, self._say, self._said = seconds, say, False
        self._began = time.monotonic()

    @property
    def left(self) -> float:
        """Seconds left."""
        return self._began + self.seconds - time.monotonic()

    def over(self, whom: str) -> bool:
        """True if the time is over; says after a while what is waited for."""
        if not self._said and self.seconds - self.left > SAID_AFTER_SECONDS:
            self._said = True
            self._say(f"waiting for {whom}, for {duration(self.seconds)} at most (engine.scheduler_seconds)")
        return self.left <= 0


def parse_address(address: str) -> SchedulerAddress:
    """Parse an address; raise InputError if it is malformed, or if its certificates are missing."""
    match = _ADDRESS.fullmatch(address)
    if match is None or not 0 < int(match[3]) < 65536:
        raise InputError(
            f"engine.scheduler={shown(address)} is no address of a scheduler, such as tcp://10.0.0.1:8786; {REMEDY}"
        )
    place = SchedulerAddress(match[1], match[2].strip("[]"), int(match[3]))
    if place.scheme == "tls":
        from distributed.security import Security

        held = Security().get_tls_config_for_role("client")
        if not held.get("tls_ca_file") and not held.get("tls_client_cert"):
            raise InputError(
                f"engine.scheduler={place} speaks TLS, and Dask's configuration has no certificates for that; set "
                "distributed.comm.tls.ca-file, .client.cert and .client.key, as `dask config` takes them"
            )
    return place


async def await_scheduler(place: SchedulerAddress, waiting: Patience) -> dict[str, Any]:
    """Wait until a scheduler answers, and return its identity; raise InputError if none does."""
    while not await _listening(place, waiting):
        if waiting.over(f"a scheduler at {place}"):
            raise InputError(
                f"engine.scheduler={place}: nobody listens there, for {duration(waiting.seconds)} "
                f"(engine.scheduler_seconds); {REMEDY}"
            )
        await asyncio.sleep(AGAIN_SECONDS)
    said = await _identity(place)
    if said.get("type") != "Scheduler":
        its = f", of the scheduler {said['scheduler']}" if isinstance(said.get("scheduler"), str) else ""
        raise InputError(f"engine.scheduler={place} is the address of a {str(said.get('type')).lower()}{its}; {REMEDY}")
    return said


async def _listening(place: SchedulerAddress, waiting: Patience) -> bool:
    try:
        seconds = min(max(waiting.left, AGAIN_SECONDS), ANSWERS_SECONDS)
        _, writer = await asyncio.wait_for(asyncio.open_connection(place.host, place.port), seconds)
    except (OSError, TimeoutError):
        return False
    await _closed(writer)
    return True


async def _speaks_tls(place: SchedulerAddress) -> bool:
    """Greet by TLS: one that speaks it answers, or asks for a certificate; a scheduler without says something else."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        greeting = asyncio.open_connection(
            place.host, place.port, ssl=context, ssl_handshake_timeout=ANSWERS_SECONDS / 2
        )
        _, writer = await greeting
    except ssl.SSLError as error:
        return "ALERT" in (error.reason or "")
    except (OSError, TimeoutError):
        return False
    await _closed(writer)
    return True


async def _identity(place: SchedulerAddress) -> dict[str, Any]:
    from distributed.core import rpc
    from distributed.security import Security

    arguments = Security().get_connection_args("client")
    asked = rpc(str(place), timeout=ANSWERS_SECONDS / 2, connection_args=arguments)
    try:
        said: dict[str, Any] = await asyncio.wait_for(asked.identity(), ANSWERS_SECONDS)
        return said
    except Exception as error:
        # A scheduler without TLS takes such a greeting for a message of 64 PiB, and complains in its log.
        if place.scheme == "tcp" and await _speaks_tls(place):
            raise InputError(
                f"engine.scheduler={place}: what listens there speaks TLS; for a scheduler with certificates write "
                f"{place._replace(scheme='tls')}, else {REMEDY}"
            ) from None
        raise InputError(
            f"engine.scheduler={place}: what listens there does not answer as a scheduler of Dask does "
            f"({type(error).__name__}); {REMEDY}"
        ) from None
    finally:
        with suppress(Exception):
            await asked.close_rpc()


async def _closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError, TimeoutError):
        await asyncio.wait_for(writer.wait_closed(), 1.0)
