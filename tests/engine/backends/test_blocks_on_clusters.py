"""Blocks that go wrong on Dask: each costs itself only, and no worker; schedulers and workers come and go."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import clusters
import fake_studies
import pytest
from test_clusters import fill, held

from simlab.engine.addresses import Finished
from simlab.engine.ledger import Ledger
from simlab.store.verifying import verify
from simlab.types import InputError

ENDS_WITHIN_SECONDS = 300.0
QUICK = ("hanging", "leaving")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clusters.Cluster]:
    with clusters.cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.mark.slow
@pytest.mark.parametrize("where", ["here", "there"])
@pytest.mark.parametrize(
    "poison", [one if one in QUICK else pytest.param(one, marks=pytest.mark.long) for one in fake_studies.POISONS]
)
def test_a_poisoned_block_costs_itself_only(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], cluster: clusters.Cluster, poison: str, where: str
) -> None:
    began = time.monotonic()
    engine = {"retries": 1, "backend": "dask", "scheduler": cluster.address if where == "there" else None}
    summary = fill(tmp_path / "bad", poison, **engine, **fake_studies.OWN_LIMITS.get(poison, {}))
    assert time.monotonic() - began < ENDS_WITHIN_SECONDS
    assert capfd.readouterr() == ("", "")
    assert [(one.address, one.reason) for one in summary.failures] == [
        ("documents=20, world 1, studies 4 to 7", fake_studies.POISONS[poison])
    ]
    fill(tmp_path / "sound")
    damaged, sound = held(tmp_path / "bad"), held(tmp_path / "sound")
    assert damaged.keys() == sound.keys()
    assert [name for name in sound if sound[name] != damaged[name]] == [
        name for name in damaged if not damaged[name][0]
    ]
    assert all(worker.running for worker in cluster.workers)
    # The same command goes on, on another backend.
    assert fill(tmp_path / "bad").blocks == 1
    assert fake_studies.digest(tmp_path / "bad") == fake_studies.digest(tmp_path / "sound")
    assert verify(tmp_path / "bad", fake_studies.MEASURES).problems == ()


def once_recorded(monkeypatch: pytest.MonkeyPatch, call: Callable[[], object]) -> list[threading.Thread]:
    """Call, in a thread, once the first blocks are in the ledger; return that thread."""
    record, threads = Ledger.record, list[threading.Thread]()

    def recording(book: Ledger, finished: Sequence[Finished]) -> None:
        record(book, finished)
        if not threads:
            threads.append(threading.Thread(target=call))
            threads[0].start()

    monkeypatch.setattr(Ledger, "record", recording)
    return threads


def filled_soundly(folder: Path, tmp_path: Path) -> bool:
    fill(tmp_path / "sound")
    return held(folder) == held(tmp_path / "sound") and (
        fake_studies.digest(folder) == fake_studies.digest(tmp_path / "sound")
    )


@pytest.mark.slow
def test_workers_that_come_late_are_waited_for(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with clusters.cluster(tmp_path / "cluster", workers=0) as held:
        timer = threading.Timer(5.0, lambda: held.start_worker(wait=False))
        timer.start()
        fill(tmp_path / "s", quiet=False, backend="dask", scheduler=held.address)
        timer.join()
    assert "waiting for workers of the scheduler tcp://" in capfd.readouterr().err
    assert filled_soundly(tmp_path / "s", tmp_path)


@pytest.mark.slow
def test_a_killed_worker_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with clusters.cluster(tmp_path / "cluster") as held:
        ending = once_recorded(monkeypatch, held.workers[0].end)
        fill(tmp_path / "s", "very_slow", backend="dask", scheduler=held.address)
        ending[0].join()
    assert filled_soundly(tmp_path / "s", tmp_path)


@pytest.mark.slow
def test_a_scheduler_that_is_started_again_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with clusters.cluster(tmp_path / "cluster") as held:

        def again() -> None:
            held.end()
            held.start_scheduler()
            held.start_worker(wait=False)

        ending = once_recorded(monkeypatch, again)
        fill(tmp_path / "s", "very_slow", quiet=False, backend="dask", scheduler=held.address)
        ending[0].join()
    assert "the connection with the scheduler" in capfd.readouterr().err
    assert filled_soundly(tmp_path / "s", tmp_path)


@pytest.mark.slow
def test_a_scheduler_that_is_gone_ends_a_run_in_a_line_and_another_backend_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with clusters.cluster(tmp_path / "cluster") as held:
        ending = once_recorded(monkeypatch, held.end)
        with pytest.raises(InputError, match="what is finished is kept, and the same command goes on") as caught:
            fill(tmp_path / "s", "very_slow", backend="dask", scheduler=held.address, scheduler_seconds=3)
        ending[0].join()
    assert "nobody listens there, for 3 s" in str(caught.value)
    assert 0 < fill(tmp_path / "s").blocks < 12
    assert filled_soundly(tmp_path / "s", tmp_path)


@pytest.mark.slow
def test_workers_of_a_killed_client_stop(tmp_path: Path, cluster: clusters.Cluster) -> None:
    """Blocks that would go on for an hour."""
    for worker in cluster.workers:
        for child in worker.children():
            os.kill(child, signal.SIGKILL)
    driver = f"import test_clusters, pathlib; test_clusters.fill(pathlib.Path({str(tmp_path / 's')!r}), 'forever', "
    driver += f"backend='dask', scheduler={cluster.address!r}, block_seconds=None)"
    path = os.pathsep.join(map(str, (Path(__file__).parent, Path(__file__).parents[2])))
    with subprocess.Popen([sys.executable, "-c", driver], env=os.environ | {"PYTHONPATH": path}) as client:
        assert within(300, lambda: busy(cluster) == 2)
        # So that they are in the middle of it.
        time.sleep(1.0)
        client.send_signal(signal.SIGKILL)
    assert within(120, lambda: busy(cluster) == 0)
    assert all(worker.running for worker in cluster.workers)


def busy(cluster: clusters.Cluster) -> int:
    """Count the processes that workers have started to carry out blocks."""
    return sum(len(worker.children()) for worker in cluster.workers)


def within(seconds: float, holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.1)
    return False
