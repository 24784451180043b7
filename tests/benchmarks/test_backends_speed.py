"""Two workers of Dask against two processes, on this machine, blocks of 5 and of 500 ms.

Each run is a process; counted is what it and all that it uses take: CPU of its own processes, of the scheduler, the
workers and their children. Both pay what they start once (importing Dask takes the driver a second and a half), so runs
must take long enough for that to be little: half a minute.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import clusters
import pytest
import spinning

BLOCKS = {5: 8000, 500: 80}
ROUNDS = 3
MOST = 1.1


class Took(NamedTuple):
    """Hold the seconds of a run: on the clock, and of processors."""

    wall: float
    cpu: float


def cpu_of(cluster: clusters.Cluster) -> float:
    """Sum up what the processes of a cluster have taken so far, those that have ended included."""
    servers = [cluster.scheduler, *cluster.workers]
    processes = [pid for server in servers if server for pid in (server.pid, *server.children())]
    fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15] for pid in processes]
    return sum(int(ticks) for four in fields for ticks in four) / os.sysconf("SC_CLK_TCK")


def run(folder: Path, milliseconds: int, *address: str) -> Took:
    began = time.monotonic()
    words = (str(folder), str(milliseconds), str(BLOCKS[milliseconds]), *address)
    process = subprocess.Popen([sys.executable, spinning.__file__, *words], stdout=subprocess.DEVNULL)
    _, process.returncode, used = os.wait4(process.pid, 0)
    assert process.returncode == 0
    return Took(time.monotonic() - began, used.ru_utime + used.ru_stime)


@pytest.mark.benchmark(group="backends")
@pytest.mark.parametrize("milliseconds", BLOCKS)
def test_two_workers_of_dask_take_what_two_processes_take(milliseconds: int, tmp_path: Path, benchmark: Any) -> None:
    ratios: list[Took] = []
    with clusters.cluster(tmp_path / "cluster") as cluster:
        for number in range(ROUNDS):
            here = run(tmp_path / f"here {number}", milliseconds)
            before = cpu_of(cluster)
            dask = run(tmp_path / f"dask {number}", milliseconds, cluster.address)
            there = cpu_of(cluster) - before
            ratios.append(Took(dask.wall / here.wall, (dask.cpu + there) / here.cpu))
    benchmark(lambda: None)
    benchmark.extra_info |= {"ratios": [ratio._asdict() for ratio in ratios]}
    assert median(ratio.cpu for ratio in ratios) < MOST, ratios
    assert median(ratio.wall for ratio in ratios) < MOST, ratios
