"""Children carry out calls: what ends one, or stops it, costs its own call, and those that serve are kept."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_clusters import fill, held

from simlab.engine.backends.children import (
    ChildDied,
    call_in_child,
    end_idle_children,
    fresh_start_token,
    pickle_call,
    run_in_child,
)
from simlab.processes import descendants


@pytest.fixture(autouse=True)
def none_before_and_after() -> Iterator[None]:
    end_idle_children()
    yield
    end_idle_children()


class Unpicklable(Exception):
    """Hold what cannot be sent."""

    def __init__(self) -> None:
        super().__init__("with a lock")
        self.lock = threading.Lock()


def raised(error: type[Exception]) -> None:
    raise error


def test_a_call_gives_what_it_gives_here_and_its_child_is_kept() -> None:
    start, local = fresh_start_token(), 3
    assert call_in_child(start, lambda n: n * local, 14) == 42
    first = call_in_child(start, os.getpid)
    assert first != os.getpid()
    assert call_in_child(start, os.getpid) == first
    assert call_in_child(start, os.getcwd) == os.getcwd()


def test_a_child_that_was_started_for_something_else_does_not_serve() -> None:
    first = call_in_child(fresh_start_token(), os.getpid)
    assert call_in_child(fresh_start_token(), os.getpid) != first
    assert first not in descendants(os.getpid())


def test_an_error_comes_back_also_one_that_cannot_be_sent() -> None:
    start = fresh_start_token()
    with pytest.raises(ZeroDivisionError):
        call_in_child(start, raised, ZeroDivisionError)
    with pytest.raises(RuntimeError, match="Unpicklable: with a lock"):
        call_in_child(start, raised, Unpicklable)


def test_the_end_of_a_child_is_known_by_its_exit_code() -> None:
    start = fresh_start_token()
    with pytest.raises(ChildDied) as caught:
        call_in_child(start, os._exit, 5)
    assert caught.value.code == 5
    assert call_in_child(start, abs, -1) == 1


def test_a_call_that_takes_too_long_ends_with_its_child() -> None:
    start, began = fresh_start_token(), time.monotonic()
    child = call_in_child(start, os.getpid)
    with pytest.raises(TimeoutError):
        call_in_child(start, time.sleep, 60, seconds=0.3)
    assert time.monotonic() - began < 30
    assert child not in descendants(os.getpid())


def test_a_call_that_nobody_wants_any_more_ends_with_its_child() -> None:
    start, enough = fresh_start_token(), threading.Event()
    child = call_in_child(start, os.getpid)
    threading.Timer(0.2, enough.set).start()
    assert run_in_child(start, pickle_call(time.sleep, 60), lambda: not enough.is_set()) == -signal.SIGKILL
    assert child not in descendants(os.getpid())


def test_a_child_that_left_while_it_was_idle_is_started_again() -> None:
    start = fresh_start_token()
    os.kill(call_in_child(start, os.getpid), signal.SIGKILL)
    time.sleep(0.5)
    assert call_in_child(start, abs, -1) == 1


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_process_that_is_stopped_costs_its_block_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    monkeypatch.setattr("simlab.engine.backends.local.GRACE_SECONDS", 1.0)
    summary = fill(tmp_path / "bad", "stopping", jobs, retries=0, block_seconds=5.0)
    assert [(one.address, one.reason) for one in summary.failures] == [
        ("documents=20, world 1, studies 4 to 7", "worker died (2 times, took longer than engine.block_seconds=5)")
    ]
    fill(tmp_path / "sound")
    damaged, sound = held(tmp_path / "bad"), held(tmp_path / "sound")
    assert {name for name in sound if sound[name] != damaged[name]} == {
        name for name in damaged if not damaged[name][0]
    }


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_child_that_is_killed_from_outside_costs_nothing(tmp_path: Path, jobs: int) -> None:
    over = threading.Event()
    killed: list[int] = []

    def strike() -> None:
        while not over.wait(0.3) and len(killed) < 2:
            for pid, command in descendants(os.getpid()).items():
                if b"backends.child" in command:
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)
                    break

    thread = threading.Thread(target=strike)
    thread.start()
    try:
        summary = fill(tmp_path / "s", "slow", jobs)
    finally:
        over.set()
        thread.join()
    fill(tmp_path / "sound")
    assert killed
    assert summary.failures == ()
    assert held(tmp_path / "s") == held(tmp_path / "sound")
