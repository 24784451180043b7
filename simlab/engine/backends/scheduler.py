"""Connect with a Dask scheduler, and check that its workers have the code and files that blocks require.

Call `connect` with an address (`parse_address`), a time limit and `Requirements`, which returns a `Session`: it lists
usable workers, submits calls to them and returns results. `start_local_cluster` does so within this process.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import logging
import os
import re
import ssl
import time
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import dask
from distributed import Client, LocalCluster

from simlab import files
from simlab.engine.backends import environment
from simlab.engine.backends.children import end_idle_children, run_in_dask_worker
from simlab.engine.backends.environment import describe_mismatch
from simlab.engine.workers import Config
from simlab.messages import duration, show
from simlab.types import InputError

_ADDRESS = re.compile(r"(tcp|tls)://(\[[0-9a-fA-F:.]+\]|[^\s:/\[\]@]+):(\d{1,5})/?")
ANSWERS_SECONDS = 10.0
"""Seconds in which a scheduler shall answer; one that is busy with a large graph needs some."""
SAID_AFTER_SECONDS = 3.0
AGAIN_SECONDS = 0.5
REMEDY = "give the address that the scheduler says when it starts, or leave engine.scheduler out"

SILENT_SECONDS = 20.0
"""Seconds without a heartbeat after which a worker's bundles are handed to others, and its answers are ignored."""
PAUSED_SECONDS = 5.0
"""Seconds after which the same is done with a worker that Dask has paused since it holds too much memory."""
Say = Callable[[str], None]

ON_SCHEDULER = ("Python", "simlab", "distributed", "the code of simlab")
"""Names of `environment.describe` that a scheduler must share; it unpickles calls but computes nothing."""

SPEAKERS = ("distributed", "tornado", "asyncio", "bokeh")


class SchedulerAddress(NamedTuple):
    """Scheme, host and port of a scheduler."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.scheme}://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


class WaitLimit:
    """A limit of `seconds` for waiting; after some, `say` gets one line on the scheduler or worker waited for."""

    def __init__(self, seconds: float, say: Callable[[str], None]) -> None:
        self.seconds, self._say, self._said = seconds, say, False
        self._began = time.monotonic()

    @property
    def left(self) -> float:
        """Seconds left."""
        return self._began + self.seconds - time.monotonic()

    def is_over(self, whom: str) -> bool:
        """True if the time is over; after some seconds `say` gets a line on `whom`, which is waited for."""
        if not self._said and self.seconds - self.left > SAID_AFTER_SECONDS:
            self._said = True
            self._say(f"waiting for {whom}, for {duration(self.seconds)} at most (engine.scheduler_seconds)")
        return self.left <= 0


def parse_address(address: str) -> SchedulerAddress:
    """Parse an address; raise InputError if it is malformed, or if its certificates are missing."""
    match = _ADDRESS.fullmatch(address)
    if match is None or not 0 < int(match[3]) < 65536:
        raise InputError(
            f"engine.scheduler={show(address)} is no address of a scheduler, such as tcp://10.0.0.1:8786; {REMEDY}"
        )
    place = SchedulerAddress(match[1], match[2].strip("[]"), int(match[3]))
    if place.scheme == "tls":
        from distributed.security import Security

        settings = Security().get_tls_config_for_role("client")
        if not settings.get("tls_ca_file") and not settings.get("tls_client_cert"):
            raise InputError(
                f"engine.scheduler={place} speaks TLS, and Dask's configuration has no certificates for that; set "
                "distributed.comm.tls.ca-file, .client.cert and .client.key, as `dask config` takes them"
            )
    return place


async def await_scheduler(place: SchedulerAddress, waiting: WaitLimit) -> dict[str, Any]:
    """Wait until a scheduler answers, and return its identity; raise InputError if none does."""
    while not await _is_listening(place, waiting):
        if waiting.is_over(f"a scheduler at {place}"):
            raise InputError(
                f"engine.scheduler={place}: nobody listens there, for {duration(waiting.seconds)} "
                f"(engine.scheduler_seconds); {REMEDY}"
            )
        await asyncio.sleep(AGAIN_SECONDS)
    identity = await _identity(place)
    if identity.get("type") != "Scheduler":
        its = f", of the scheduler {identity['scheduler']}" if isinstance(identity.get("scheduler"), str) else ""
        raise InputError(
            f"engine.scheduler={place} is the address of a {str(identity.get('type')).lower()}{its}; {REMEDY}"
        )
    return identity


async def _is_listening(place: SchedulerAddress, waiting: WaitLimit) -> bool:
    try:
        seconds = min(max(waiting.left, AGAIN_SECONDS), ANSWERS_SECONDS)
        _, writer = await asyncio.wait_for(asyncio.open_connection(place.host, place.port), seconds)
    except (OSError, TimeoutError):
        return False
    await _close(writer)
    return True


async def _uses_tls(place: SchedulerAddress) -> bool:
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
    await _close(writer)
    return True


async def _identity(place: SchedulerAddress) -> dict[str, Any]:
    from distributed.core import rpc
    from distributed.security import Security

    arguments = Security().get_connection_args("client")
    connection = rpc(str(place), timeout=ANSWERS_SECONDS / 2, connection_args=arguments)
    try:
        identity: dict[str, Any] = await asyncio.wait_for(connection.identity(), ANSWERS_SECONDS)
        return identity
    except Exception as error:
        # A scheduler without TLS takes such a greeting for a message of 64 PiB, and complains in its log.
        if place.scheme == "tcp" and await _uses_tls(place):
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
            await connection.close_rpc()


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError, TimeoutError):
        await asyncio.wait_for(writer.wait_closed(), 1.0)


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
            self._checks[worker] = self._submit(worker, eval, self.requirements.write_expression())
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
        # Dask hands back what it has under a key: the run's own name keeps it from answers of an earlier run.
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

    def await_workers(self, waiting: WaitLimit) -> None:
        """Wait until every worker has been checked; raise InputError if one differs from the driver.

        A silent worker is waited for only as long as no other has answered.
        """
        patience = WaitLimit(ANSWERS_SECONDS, lambda _: None)
        while True:
            usable = self.workers()
            verdicts = {worker: self._mismatch(worker) for worker in self._checks}
            for worker, verdict in verdicts.items():
                if verdict:
                    more = sum(1 for other in verdicts.values() if other)
                    others = f" (and {more - 1} more)" if more > 1 else ""
                    raise InputError(f"engine.scheduler={self.name}: its worker {worker}{others} {verdict}")
            if usable and (None not in verdicts.values() or patience.is_over("")):
                self._begun = True
                return
            if waiting.is_over(f"workers of the scheduler {self.name}"):
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
            identity = self.client.sync(self.client.scheduler.identity, n_workers=-1, callback_timeout=ANSWERS_SECONDS)
        except Exception as error:
            raise Gone(str(error)) from None
        now = time.monotonic()
        self._signs = {worker: self._sign(worker, state, now) for worker, state in identity["workers"].items()}
        return {
            worker: state["nthreads"]
            for worker, state in identity["workers"].items()
            if state["status"] in ("running", "paused")
            and now - self._signs[worker][1] < (PAUSED_SECONDS if state["status"] == "paused" else SILENT_SECONDS)
        }

    def _sign(self, worker: str, state: dict[str, Any], now: float) -> tuple[object, float]:
        """Return the last sign of life of a worker, and when the driver first saw it: clocks of machines differ."""
        sign = "paused" if state["status"] == "paused" else state["last_seen"]
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


def connect(address: SchedulerAddress, waiting: WaitLimit, say: Say, requirements: Requirements) -> Session:
    """Connect with a scheduler and wait for a worker; raise InputError if none comes, or its code differs."""
    # In a thread of its own: in a notebook, this thread already runs an event loop.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, await_scheduler(address, waiting)).result()
    stack = ExitStack()
    try:
        client = stack.enter_context(Client(str(address), set_as_default=False, timeout=ANSWERS_SECONDS))
        session = Session(client, stack, str(address), say, requirements)
        if mismatch := describe_mismatch(
            requirements.describe_here(), client.run_on_scheduler(eval, Requirements().write_expression()), ON_SCHEDULER
        ):
            raise InputError(f"engine.scheduler={address}: this scheduler {mismatch}")
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


@dataclass(frozen=True)
class Requirements:
    """The plug-in packages and files that blocks need beside simlab."""

    plugins: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()

    def __or__(self, other: Requirements) -> Requirements:
        return Requirements(self.plugins | other.plugins, self.files | other.files)

    @property
    def arguments(self) -> tuple[list[str], list[str]]:
        """Packages and files, as `environment.describe` takes them."""
        return ["simlab", *sorted(self.plugins)], sorted(self.files)

    def describe_here(self) -> Mapping[str, str | None]:
        """Describe this environment."""
        return environment.describe(*self.arguments)

    def write_expression(self) -> str:
        """Return a Python expression that describes the environment in which it is evaluated."""
        module, call = inspect.getsource(environment), f"names['describe'](*{self.arguments!r})"
        return f"(lambda names: exec({module!r}, names) or {call})({{'__name__': 'environment'}})"


def find_requirements(configs: Iterable[Config]) -> Requirements:
    """Collect the requirements of cells; a config shared by many is read once."""
    configs = {id(config): config for config in configs}.values()
    plugins = {package for config in configs for package in config.get("plugins", ())}
    sections = (section for config in configs for section in config.values() if isinstance(section, Mapping))
    paths = {path for section in sections if isinstance(path := section.get("path"), str) and not _is_built_in(path)}
    return Requirements(frozenset(plugins), frozenset(os.path.abspath(files.expand_path(path)) for path in paths))


def _is_built_in(path: str) -> bool:
    return path.startswith(files.BUILT_IN)


@contextmanager
def silence_dask() -> Iterator[None]:
    """Silence the loggers of Dask, once it is imported, and its warnings; afterwards all is as before."""
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in SPEAKERS]
    loggers = [logging.getLogger(name) for name in dict.fromkeys((*SPEAKERS, *names))]
    before = [(logger.handlers, logger.propagate) for logger in loggers]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=rf"({'|'.join((*SPEAKERS, 'dask'))})\b")
        for logger in loggers:
            # Those that come later have these above them.
            logger.handlers, logger.propagate = [logging.NullHandler()], False
        try:
            yield
        finally:
            for logger, (handlers, propagate) in zip(loggers, before, strict=True):
                logger.handlers, logger.propagate = handlers, propagate
