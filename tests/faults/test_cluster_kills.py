"""Kill workers, nannies, what carries out blocks and drivers at any moment: nothing is lost, doubled or changed."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import clusters
import fake_studies
import pytest
from survivors import MARK, needs_proc

from simlab.engine import ledger
from simlab.engine.backends.scheduler import SILENT_SECONDS
from simlab.engine.run import RunSummary
from simlab.processes import descendants
from simlab.rng import stream
from simlab.store import filling
from simlab.store.verifying import verify
from simlab.types import InputError

DOCUMENTS, WORLDS, STUDIES = (10, 20, 30), 4, 20
BLOCKS = 60
VICTIMS = ("worker", "nanny", "child", "driver")
DRIVER = (
    "import pathlib, sys, test_cluster_kills as t; "
    "t.fill(pathlib.Path(sys.argv[1]), sys.argv[2], scheduler=sys.argv[3])"
)

pytestmark = needs_proc


def fill(folder: Path, block: str = "slow", **engine: object) -> RunSummary:
    """Fill a folder, by the workers of a scheduler where one is given."""
    where = {"backend": "dask", **engine} if "scheduler" in engine else engine
    return filling.fill(
        fake_studies.sweep(DOCUMENTS, worlds=WORLDS, studies=STUDIES, limits=where),
        folder,
        fake_studies.MEASURES,
        2,
        labels=fake_studies.LABELS,
        block=getattr(fake_studies, block),
        check=fake_studies.check,
        quiet=True,
    )


def blocks(folder: Path) -> list[tuple[str, bytes, str]]:
    """List all that a ledger holds, whatever is there twice."""
    try:
        with ledger.reading(folder, patience=10) as book:
            rows = list(book.blocks())
    except InputError as error:
        # Killed before there was anything to keep.
        if "holds no sweep" in str(error):
            return []
        raise
    assert all(row.sound for row in rows)
    return [(f"{row.block.address.cell} {row.block.address}", row.block.payload, row.block.reason) for row in rows]


class Undisturbed:
    """Hold what a run of this machine's processes gives that nothing disturbs."""

    def __init__(self, folder: Path) -> None:
        fill(folder, "block")
        self.blocks, self.store = blocks(folder), fake_studies.digest(folder)
        assert len(self.blocks) == BLOCKS

    def refuse_other(self, folder: Path) -> None:
        """Fail where a folder holds anything else."""
        assert blocks(folder) == self.blocks, "a block was lost, doubled or changed"
        assert fake_studies.digest(folder) == self.store
        assert verify(folder, fake_studies.MEASURES).problems == ()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return Undisturbed(tmp_path_factory.mktemp("undisturbed"))


@contextmanager
def meanwhile(act: Callable[[threading.Event], None]) -> Iterator[None]:
    """Do something beside, which is told when it is enough; what it raises is raised here."""
    enough, wrong = threading.Event(), list[BaseException]()

    def run() -> None:
        try:
            act(enough)
        except BaseException as error:
            wrong.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        enough.set()
        thread.join()
    if wrong:
        raise wrong[0]


def await_blocks(folder: Path, n: int, enough: threading.Event) -> None:
    """Wait until a ledger has grown by so many blocks, without opening it."""
    file = folder / ledger.FILE
    while not enough.wait(0.02) and not (file.exists() and file.stat().st_size > 4096 * (10 + n)):
        pass


def workers_of(cluster: clusters.Cluster) -> dict[int, list[int]]:
    """List the processes that carry out blocks by the worker, below a nanny, that keeps them."""
    commands = {pid: command for one in cluster.workers for pid, command in descendants(one.pid).items()}
    carrying = {pid for pid, command in commands.items() if b"simlab.engine.backends.child" in command}
    found = {pid: sorted(carrying & descendants(pid).keys()) for pid in commands.keys() - carrying}
    return {pid: children for pid, children in found.items() if children}


def kill(pid: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
        return True
    return False


def kill_one(cluster: clusters.Cluster, victim: str, pick: Callable[[int], int]) -> bool:
    """Kill a worker, whose nanny starts another; a nanny with its worker, for which another comes; or a child."""
    if victim == "nanny":
        running = [one for one in cluster.workers if one.running]
        running[pick(len(running))].end()
        cluster.start_worker(nanny=True, wait=False)
        return True
    there = workers_of(cluster)
    if not there:
        return False
    worker = sorted(there)[pick(len(there))]
    return kill(worker if victim == "worker" else there[worker][0])


def kill_at_random(kills: int, seed: int, root: Path, undisturbed: Undisturbed) -> Counter[str]:
    """Fill folder after folder by one cluster and kill somebody every moment; count the killed."""
    rng, died = stream(seed, "moments of death"), Counter[str]()
    at_random = lambda n: int(rng.integers(n))  # noqa: E731 (a name for what is handed on)
    with clusters.cluster(root / "cluster", nanny=True) as cluster:
        for k in range(kills):
            folder = root / str(k)
            if k % len(VICTIMS) == VICTIMS.index("driver"):
                before = kill_driver(folder, cluster, float(rng.uniform(0.0, 1.0)))
                died["driver"] += 1
                fill(folder, scheduler=cluster.address)
                assert set(before) <= set(blocks(folder)), "a finished block was lost or changed"
            else:
                victim, delay = VICTIMS[k % len(VICTIMS)], float(rng.uniform(0.0, 0.8))

                def strike(
                    enough: threading.Event, folder: Path = folder, victim: str = victim, delay: float = delay
                ) -> None:
                    await_blocks(folder, 0, enough)
                    enough.wait(delay)
                    died[victim] += kill_one(cluster, victim, at_random)

                with meanwhile(strike):
                    fill(folder, scheduler=cluster.address)
            undisturbed.refuse_other(folder)
    return died


@contextmanager
def driving(folder: Path, cluster: clusters.Cluster) -> Iterator[subprocess.Popen[bytes]]:
    """Fill a folder by a driver of its own."""
    places = (Path(__file__).parent, Path(__file__).parents[1])
    around = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, places)), MARK: str(folder)}
    words = (sys.executable, "-c", DRIVER, str(folder), "slow", cluster.address)
    with subprocess.Popen(words, env=around, start_new_session=True) as driver:
        try:
            yield driver
        finally:
            driver.kill()


def kill_driver(folder: Path, cluster: clusters.Cluster, delay: float) -> list[tuple[str, bytes, str]]:
    """Kill a driver some time after its ledger is there; return what that holds."""
    with driving(folder, cluster) as driver:
        while not (folder / ledger.FILE).exists() and driver.poll() is None:
            time.sleep(0.01)
        time.sleep(delay)
    return blocks(folder)


@pytest.mark.slow
def test_four_random_kills_lose_nothing(tmp_path: Path, undisturbed: Undisturbed) -> None:
    died = kill_at_random(4, 1, tmp_path, undisturbed)
    # One that comes too late finds nobody.
    assert died["nanny"] == died["driver"] == 1
    assert died.total() >= 3


@pytest.mark.long
def test_fifty_random_kills_lose_nothing(tmp_path: Path, undisturbed: Undisturbed) -> None:
    died = kill_at_random(50, 2, tmp_path, undisturbed)
    # For whoever runs this with -s.
    print(f"killed: {dict(died)}")
    assert all(died[victim] >= 8 for victim in VICTIMS), died


@pytest.mark.slow
@pytest.mark.parametrize("nanny", [False, pytest.param(True, marks=pytest.mark.long)])
def test_two_killed_workers_lose_nothing(tmp_path: Path, undisturbed: Undisturbed, nanny: bool) -> None:
    """One after the other, with what keeps them; a third comes in between."""
    with clusters.cluster(tmp_path / "cluster", nanny=nanny) as cluster:

        def strike(enough: threading.Event) -> None:
            for k in range(2):
                await_blocks(tmp_path / "s", 4 * k, enough)
                cluster.workers[k].end()
                cluster.start_worker(nanny=nanny)

        with meanwhile(strike):
            fill(tmp_path / "s", scheduler=cluster.address)
    undisturbed.refuse_other(tmp_path / "s")


@pytest.mark.slow
def test_two_drivers_share_a_scheduler(tmp_path: Path, undisturbed: Undisturbed) -> None:
    with clusters.cluster(tmp_path / "cluster") as cluster, driving(tmp_path / "other", cluster) as other:
        fill(tmp_path / "s", scheduler=cluster.address)
        assert other.wait(600) == 0
    undisturbed.refuse_other(tmp_path / "s")
    undisturbed.refuse_other(tmp_path / "other")


@pytest.mark.slow
def test_another_scheduler_continues_the_folder_of_one_that_was_killed(
    tmp_path: Path, undisturbed: Undisturbed
) -> None:
    with clusters.cluster(tmp_path / "cluster") as cluster:

        def strike(enough: threading.Event) -> None:
            await_blocks(tmp_path / "s", 2, enough)
            assert cluster.scheduler is not None
            cluster.scheduler.end()

        with meanwhile(strike), pytest.raises(InputError, match="the same command goes on") as caught:
            fill(tmp_path / "s", scheduler=cluster.address, scheduler_seconds=3)
        assert "\n" not in str(caught.value)
    before = blocks(tmp_path / "s")
    assert 0 < len(before) < BLOCKS
    with clusters.cluster(tmp_path / "another") as cluster:
        fill(tmp_path / "s", scheduler=cluster.address)
    assert set(before) <= set(blocks(tmp_path / "s")), "a finished block was lost or changed"
    undisturbed.refuse_other(tmp_path / "s")


@pytest.mark.slow
def test_a_worker_that_stands_still_is_given_up_and_its_late_answer_changes_nothing(
    tmp_path: Path, undisturbed: Undisturbed
) -> None:
    with clusters.cluster(tmp_path / "cluster") as cluster:
        still = cluster.workers[0]

        def strike(enough: threading.Event) -> None:
            await_blocks(tmp_path / "s", 0, enough)
            os.kill(still.pid, signal.SIGSTOP)

        began = time.monotonic()
        with meanwhile(strike):
            fill(tmp_path / "s", scheduler=cluster.address)
        assert time.monotonic() - began < SILENT_SECONDS + 300
        undisturbed.refuse_other(tmp_path / "s")
        os.kill(still.pid, signal.SIGCONT)
        # It can be used again.
        fill(tmp_path / "again", scheduler=cluster.address)
    undisturbed.refuse_other(tmp_path / "s")
    undisturbed.refuse_other(tmp_path / "again")


@pytest.mark.slow
def test_a_worker_without_room_on_its_disk_loses_nothing(tmp_path: Path, undisturbed: Undisturbed) -> None:
    """Its processes may write no file longer than nothing, as on a disk that is full."""
    with clusters.cluster(tmp_path / "cluster", workers=1) as cluster:
        started = cluster.start_worker()
        # Its logs have their file already; the limit is of what is written from now on.
        script = f"import resource; resource.prlimit({started.pid}, resource.RLIMIT_FSIZE, (0, 0))"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"the system does not limit others: {done.stderr[-100:]}")
        fill(tmp_path / "s", scheduler=cluster.address)
        assert started.running
    undisturbed.refuse_other(tmp_path / "s")


def test_the_comparison_notices_a_block_that_was_changed_or_is_there_twice(
    tmp_path: Path, undisturbed: Undisturbed
) -> None:
    """The negative control of this file."""
    fill(tmp_path / "s", "block")
    undisturbed.refuse_other(tmp_path / "s")
    fake_studies.tear(tmp_path / "s")
    with pytest.raises(AssertionError):
        undisturbed.refuse_other(tmp_path / "s")
    fill(tmp_path / "twice", "block")
    with closing(sqlite3.connect(tmp_path / "twice" / ledger.FILE)) as database:
        columns = "cell, world, first, 1, status, reason, failures, checksum, payload, pool, draw"
        database.execute(f"INSERT INTO blocks SELECT {columns} FROM blocks LIMIT 1")
        database.commit()
    with pytest.raises(AssertionError):
        undisturbed.refuse_other(tmp_path / "twice")
