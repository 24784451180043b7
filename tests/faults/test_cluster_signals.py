"""Halt a command whose blocks Dask carries out: it is gone at once, in one line, and nothing computes on for it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import clusters
import pytest
from survivors import await_true, needs_proc
from test_cluster_kills import workers_of
from test_signals import LONG, Halt, halted

SECONDS = 8.0
"""Until then blocks are under way."""

pytestmark = needs_proc


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clusters.Cluster]:
    with clusters.cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


def ticks(pid: int) -> int:
    """Count what a process has taken of a processor."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def computing(cluster: clusters.Cluster) -> bool:
    """Tell whether what carries out blocks takes a processor; one may wait idly for the next command."""
    children = [child for kept in workers_of(cluster).values() for child in kept]
    with suppress(OSError):
        before = sum(map(ticks, children))
        time.sleep(0.5)
        return sum(map(ticks, children)) - before > 5
    return False


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
def test_a_halted_command_leaves_nothing_to_workers(
    tmp_path: Path, cluster: clusters.Cluster, number: signal.Signals
) -> None:
    where = ["engine.backend=dask", f"engine.scheduler={cluster.address}", "--out", str(tmp_path / "s")]
    assert halted([*LONG, *where], tmp_path, Halt(SECONDS, number, 1, group=True))
    await_true(lambda: not computing(cluster), 120, "somebody computes on")
    assert all(worker.running for worker in cluster.workers)
    verified = subprocess.run(
        [sys.executable, "-m", "simlab", "verify", str(tmp_path / "s")], capture_output=True, text=True, env=os.environ
    )
    assert "torn" not in verified.stdout


@pytest.mark.long
def test_a_halted_command_ends_what_it_started_itself(tmp_path: Path) -> None:
    assert halted(
        [*LONG, "engine.backend=dask", "--out", str(tmp_path / "s")],
        tmp_path,
        Halt(SECONDS, signal.SIGINT, 1, group=True),
    )
