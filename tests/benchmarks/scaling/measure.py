"""Measure what docs/large.md and model.py build on: uv run python tests/benchmarks/scaling/measure.py [--repeats N].

Runs take turns, so that what slows the machine down slows all of them; each is a process of its own (once.py). Written
is every run, so that whoever reads it sees the spread.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
COSTS = HERE / "costs.json"
BACKENDS = ("loky", "tcp")
RUNS: Sequence[tuple[int, str, float, int, float | None]] = (
    (1, "sleeping", 0.05, 150, None),
    (2, "sleeping", 0.05, 300, None),
    (8, "sleeping", 0.005, 4000, None),
    (8, "sleeping", 0.005, 2000, 0.005),
)
"""Workers, sort of block, its seconds, how many, seconds of a bundle (None: simlab's own)."""
CELLS = (100, 1000, 10000)


def once(*words: object, scheduler: str | None = None, bundle: float | None = None) -> dict[str, Any]:
    """Carry out one run in a process of its own."""
    place = {**os.environ, **({"SCALING_SCHEDULER": scheduler} if scheduler else {})}
    place |= {} if bundle is None else {"SCALING_BUNDLE": str(bundle)}
    asked = [sys.executable, str(HERE / "once.py"), *map(str, words)]
    said = subprocess.run(asked, env=place, check=True, capture_output=True, text=True).stdout
    found: dict[str, Any] = json.loads(said.splitlines()[-1])
    return found | {"load": os.getloadavg()[0]}


@contextmanager
def cluster(workers: int) -> Iterator[tuple[str, int]]:
    """Start a scheduler and workers of one thread, each a process; give the address and the scheduler's process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    root = HERE.parents[2]
    place = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(root / "tests")])}
    dask = [sys.executable, "-m", "dask"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": place}
    host, port = address.removeprefix("tcp://").split(":")
    started = [subprocess.Popen([*dask, "scheduler", "--host", host, "--port", port, "--no-dashboard"], **quiet)]  # type: ignore[call-overload]
    try:
        one = [*dask, "worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        started += [subprocess.Popen(one, **quiet) for _ in range(workers)]  # type: ignore[call-overload]
        yield address, started[0].pid
    finally:
        for process in started[::-1]:
            process.kill()
        for process in started:
            process.wait(30)


def cpu_of(pid: int) -> float:
    """Return the CPU seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(backend: str, workers: int, kind: str, seconds: float, count: int, bundle: float | None) -> dict[str, Any]:
    """Measure one run; of Dask over TCP with the scheduler's CPU while it ran."""
    if backend == "loky":
        return once("blocks", "loky", workers, kind, seconds, count, bundle=bundle)
    with cluster(workers) as (address, scheduler):
        while cpu_of(scheduler) < 0.5:
            time.sleep(0.2)
        time.sleep(8.0)
        began = cpu_of(scheduler)
        found = once("blocks", "dask", workers, kind, seconds, count, scheduler=address, bundle=bundle)
        return found | {"scheduler": cpu_of(scheduler) - began}


def machine() -> dict[str, Any]:
    """Say on what was measured."""
    about = {
        "cores": os.cpu_count(),
        "cpu": platform.processor() or platform.machine(),
        "python": platform.python_version(),
    }
    return about | {name: version(name) for name in ("simlab", "numpy", "zarr", "joblib", "distributed")}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--cells", type=int, nargs="*", default=list(CELLS))
    parser.add_argument("--out", type=Path, default=COSTS)
    asked = parser.parse_args()
    found: dict[str, Any] = {"machine": machine(), "runs": [], "cells": []}
    for repeat in range(asked.repeats):
        for what in RUNS:
            for backend in BACKENDS:
                found["runs"].append(run(backend, *what) | {"repeat": repeat})
                asked.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        for count in [n for n in asked.cells if n <= 1000 or repeat == asked.repeats - 1]:
            found["cells"].append(once("cells", count) | {"repeat": repeat})
            asked.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
