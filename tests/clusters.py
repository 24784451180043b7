"""Start Dask schedulers and workers as processes on loopback, at ports that are free, and end them again."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from simlab.processes import descendants

STARTS_WITHIN_SECONDS = 300.0
MODULE = (sys.executable, "-m")
"""Carries out a module; its name and words follow."""
_SCHEDULER_AT = re.compile(r"Scheduler at:\s+(\S+)")
WORKER_AT = re.compile(r"Start worker at:\s+(\S+)")
_REGISTERED = re.compile(r"Starting established connection")


@dataclass
class Started:
    """Hold a process that was started, and what it says."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    def said(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def children(self) -> list[int]:
        """List the processes that descend from it: of a nanny its worker, of a worker those that carry out blocks."""
        return list(descendants(self.pid))

    def kill(self, number: signal.Signals = signal.SIGKILL, *, family: bool = False) -> None:
        """Send it a signal, and to its descendants, too, if asked."""
        for pid in (self.pid, *(self.children() if family else ())):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def end(self) -> None:
        """Kill it and all its descendants, and wait for its end."""
        self.kill(signal.SIGSTOP)
        self.kill(family=True)
        self.process.wait()


@dataclass
class Cluster:
    """Hold a scheduler and its workers."""

    folder: Path
    env: Mapping[str, str] = field(default_factory=lambda: {"PYTHONPATH": str(Path(__file__).parent)})
    """What processes find in their environment beside what is in this one's."""
    address: str = ""
    scheduler: Started | None = None
    workers: list[Started] = field(default_factory=list)

    def start_scheduler(
        self, *words: str, port: int = 0, host: str = "tcp://127.0.0.1", python: Sequence[str] = MODULE
    ) -> Started:
        """Start a scheduler, at the port of the last one if there was one, and wait until it listens."""
        if self.address and not port:
            port = int(self.address.rpartition(":")[2])
        more = ("--host", host, "--port", str(port), "--no-dashboard", "--dashboard-address", "127.0.0.1:0")
        self.scheduler = self._started([*python, "distributed.cli.dask_scheduler", *more, *words], "scheduler")
        self.address = awaited(self.scheduler, _SCHEDULER_AT)
        return self.scheduler

    def start_worker(
        self,
        *words: str,
        nanny: bool = False,
        threads: int = 1,
        env: Mapping[str, str] | None = None,
        python: Sequence[str] = MODULE,
        wait: bool = True,
    ) -> Started:
        """Start a worker, and wait until its scheduler knows it; `env` is added to what this process has."""
        name = f"worker-{len(self.workers)}"
        more = ("--nthreads", str(threads), "--name", name, "--no-dashboard", "--dashboard-address", "127.0.0.1:0")
        room = ("--local-directory", str(self.folder / name), "--nanny" if nanny else "--no-nanny")
        command = [*python, "distributed.cli.dask_worker", self.address, "--host", "127.0.0.1", *more, *room]
        worker = self._started([*command, *words], name, env)
        self.workers.append(worker)
        if wait:
            awaited(worker, _REGISTERED)
        return worker

    def end(self) -> None:
        for one in (*self.workers, *([self.scheduler] if self.scheduler else [])):
            one.end()

    def _started(self, command: Sequence[str], name: str, env: Mapping[str, str] | None = None) -> Started:
        log = self.folder / f"{name}-{time.monotonic_ns()}.log"
        around = {**os.environ, "PYTHONUNBUFFERED": "1", **self.env, **(env or {})}
        with log.open("wb") as file:
            process = subprocess.Popen(
                command, env=around, stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd=self.folder
            )
        return Started(process, log)


def awaited(started: Started, wanted: re.Pattern[str]) -> str:
    """Wait until a process says something; return its first group, or all of it."""
    deadline = time.monotonic() + STARTS_WITHIN_SECONDS
    while time.monotonic() < deadline and started.running:
        if found := wanted.search(started.said()):
            return found.group(found.re.groups and 1)
        time.sleep(0.05)
    raise RuntimeError(f"not said in time: {wanted.pattern}\n{started.said()}")


@contextmanager
def cluster(
    folder: Path,
    workers: int = 2,
    *,
    nanny: bool = False,
    env: Mapping[str, str] | None = None,
    python: Sequence[str] = MODULE,
) -> Iterator[Cluster]:
    """Hold a scheduler and so many workers of one thread; they find the stand-ins for studies that tests use."""
    folder.mkdir(parents=True, exist_ok=True)
    held = Cluster(folder)
    held.env = {**held.env, **(env or {})}
    with ExitStack() as stack:
        stack.callback(held.end)
        held.start_scheduler(python=python)
        started = [held.start_worker(nanny=nanny, wait=False) for _ in range(workers)]
        for worker in started:
            awaited(worker, _REGISTERED)
        yield held
