"""Halt the command line at any moment, once or impatiently: it is gone at once, in one line, and loses nothing."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import fake_studies
import pytest
from survivors import assert_gone, await_true, needs_proc, relatives, started

from simlab.rng import stream

SMALL = ["systems.n_systems=3", "systems.n_documents=21", "systems.n_segments=21", "design.documents=7,14"]
SWEEP = ["-m", "simlab", "sweep", "item_grouping", *SMALL, "worlds=8", "studies=20", "engine.block=4", "--jobs", "2"]
LONG = [word if not word.startswith("worlds=") else "worlds=400" for word in SWEEP]
SAID = {
    signal.SIGINT: (130, "interrupted"),
    signal.SIGTERM: (143, "terminated"),
    signal.SIGHUP: (129, "hung up"),
}
KEPT = "blocks that were finished are kept, the same command continues"
PROGRESS = re.compile(r"\d+ of \d+ campaigns \(\d+%\), .*")
AT_ONCE_SECONDS = 60.0
"""Far above what a busy machine needs; what is halted would go on for longer."""


class Halt(NamedTuple):
    """Hold when signals are sent [s after the supervisor is there], which, how often, whether to all of its group."""

    moment: float
    number: signal.Signals
    times: int
    group: bool


def send(process: subprocess.Popen[str], halt: Halt) -> None:
    for _ in range(halt.times):
        try:
            (os.killpg if halt.group else os.kill)(process.pid, halt.number)
        except ProcessLookupError:
            return
        time.sleep(0.3 / halt.times if halt.times > 1 else 0)


def halted(words: Sequence[str], mark: Path, halt: Halt) -> bool:
    """Start a command and halt it; tell whether it was still at work, and then left as it should."""
    with started(words, mark) as process:
        # Before there is a supervisor there is no simlab yet, only Python on its way.
        await_true(lambda: process.poll() is not None or len(list(relatives(mark))) > 1, 300, "no supervisor")
        time.sleep(halt.moment)
        known = list(relatives(mark))
        if process.poll() is not None:
            return False
        began = time.monotonic()
        send(process, halt)
        process.wait(120)
        took = time.monotonic() - began
        out, errors = process.communicate()
    *progress, last = errors.splitlines()
    code, word = SAID[halt.number]
    assert (process.returncode, last, out) == (code, f"simlab: {word}; {KEPT}", ""), (halt, errors)
    assert all(PROGRESS.fullmatch(line) for line in progress), errors
    assert took < AT_ONCE_SECONDS, halt
    assert_gone(mark, [process.pid, *known])
    return True


def complete(folder: Path) -> dict[str, str]:
    """Carry out what is left of the sweep of a folder; return the digest of its store."""
    with started([*SWEEP, "--out", str(folder)], folder) as process:
        errors = process.communicate(timeout=600)[1]
    assert process.returncode == 0, errors
    # What names the versions of simlab is no result.
    return {name: held for name, held in fake_studies.digest(folder).items() if name != "zarr.json"}


HALTS = [
    Halt(0.0, signal.SIGINT, 1, False),
    Halt(0.8, signal.SIGTERM, 1, True),
    Halt(1.5, signal.SIGINT, 2, True),
    Halt(2.5, signal.SIGHUP, 1, True),
    Halt(3.0, signal.SIGINT, 5, False),
]


@pytest.mark.slow
@needs_proc
def test_a_command_is_gone_at_once_in_one_line(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        folders = [tmp_path / str(k) for k in range(len(HALTS))]
        calls = [pool.submit(halted, [*LONG, "--out", str(f)], f, h) for f, h in zip(folders, HALTS, strict=True)]
        assert [call.result() for call in calls] == [True] * len(HALTS)


@pytest.mark.long
@needs_proc
def test_commands_that_are_halted_at_random_lose_nothing(tmp_path: Path) -> None:
    undisturbed = complete(tmp_path / "undisturbed")
    rng = stream(1, "halts")
    met = 0
    for k in range(60):
        folder = tmp_path / str(k // 5)
        number, times = [(signal.SIGINT, 1), (signal.SIGINT, 2), (signal.SIGINT, 5), (signal.SIGTERM, 1),
                         (signal.SIGHUP, 1)][k % 5]  # fmt: skip
        halt = Halt(float(rng.uniform(0.0, 5.0)), number, times, bool(rng.random() < 0.5))
        met += halted([*SWEEP, "--out", str(folder)], folder, halt)
        if k % 5 == 4:
            assert complete(folder) == undisturbed
    # For whoever runs this with -s.
    print(f"{met} of 60 commands were at work when they were halted")
    assert met >= 45


@needs_proc
def test_a_command_whose_supervisor_is_killed_is_gone_with_its_workers(tmp_path: Path) -> None:
    with started([*LONG, "--out", str(tmp_path / "s")], tmp_path) as process:
        await_true((tmp_path / "s/ledger.sqlite").exists, 300, "no ledger")
        time.sleep(1)
        known = list(relatives(tmp_path))
        process.kill()
        began = time.monotonic()
        process.communicate()
        assert_gone(tmp_path, known)
        assert time.monotonic() - began < AT_ONCE_SECONDS


@needs_proc
def test_who_ignores_that_the_terminal_hangs_up_is_left_alone(tmp_path: Path) -> None:
    """`nohup simlab ...` goes on."""
    ignoring = "import signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN); "
    ignoring += f"open({str(tmp_path / 'ready')!r}, 'w'); from simlab.start import main; main()"
    with started(["-c", ignoring, "show", "item_grouping"], tmp_path) as process:
        await_true((tmp_path / "ready").exists, 300, "not started")
        os.killpg(process.pid, signal.SIGHUP)
        out, errors = process.communicate(timeout=300)
    assert (process.returncode, errors) == (0, "")
    assert "item_grouping" in out


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("os._exit(0)", "the command ended without an answer (exit 0) while trying"),
        ("os.kill(os.getpid(), 9)", "the command ended without an answer (killed by SIGKILL) while trying"),
    ],
)
def test_a_command_that_ends_without_an_answer_never_looks_done(tmp_path: Path, said: str, line: str) -> None:
    code = (
        "import os, sys; from simlab import cli, start, supervision\n"
        f"def answer(words): supervision.enter_phase('trying', ['p']); {said}\n"
        "cli.answer = answer; start.main()"
    )
    with started(["-c", code], tmp_path) as process:
        out, errors = process.communicate(timeout=300)
    whose = "; a part of the plug-in p may have ended it; what was finished is kept\n"
    assert (process.returncode, out, errors) == (4, "", f"simlab: {line}{whose}")


def test_a_supervised_command_reads_writes_and_ends_as_it_would_alone(tmp_path: Path) -> None:
    code = (
        "import sys; from simlab import cli, start\n"
        "cli.answer = lambda words: print(sys.stdin.read(), words, sys.stderr.write('note')) or 3; start.main()"
    )
    with started(["-c", code, "a", "b"], tmp_path) as process:
        assert process.stdin is None
        out, errors = process.communicate(timeout=300)
    assert (process.returncode, errors) == (3, "note")
    assert out.endswith("['a', 'b'] 4\n")
