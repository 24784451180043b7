"""Carry out long tests: those that this week draws, in so many minutes, or every file of them, resumed by a csv.

    uv run python tests/tools/long_tests.py --minutes 5
    uv run python tests/tools/long_tests.py --into long.csv --minutes 15

The first draws tests by the year and the week, and stops in time; only a test that fails is a failure. The second gives
each file so many minutes and leaves out the files that the csv holds.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import re
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
OUTCOME = re.compile(
    r"\b(PASSED|FAILED|ERROR|SKIPPED|XFAIL) +(tests/.*?) *$|(tests/\S.*?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL)\b"
)
HEADER = ("file", "passed", "failed", "cpu_seconds", "ended")


class Found(NamedTuple):
    """What a run of pytest gave: tests that passed, tests that failed, and whether it ended by itself."""

    passed: int
    failed: list[str]
    ended: bool
    exit_code: int


def run_pytest(words: Sequence[str], minutes: float) -> Found:
    """Run pytest on long tests; stop it, and all that it started, when its minutes are over."""
    command = [sys.executable, "-m", "pytest", "-m", "long", "-v", "--tb=short", *words]
    passed, failed, late = 0, [], threading.Event()
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True) as pytest:

        def stop() -> None:
            late.set()
            for number, seconds in ((signal.SIGINT, 20), (signal.SIGKILL, 20)):
                with suppress(ProcessLookupError, subprocess.TimeoutExpired):
                    os.killpg(pytest.pid, number)
                    pytest.wait(seconds)

        timer = threading.Timer(60 * minutes, stop)
        timer.start()
        assert pytest.stdout is not None
        for line in pytest.stdout:
            if found := OUTCOME.search(line):
                outcome, test = found[1] or found[4], found[2] or found[3]
                passed += outcome == "PASSED"
                if outcome in ("FAILED", "ERROR") and test not in failed and not late.is_set():
                    failed.append(test)
            else:
                print(line, end="", flush=True)
        timer.cancel()
        code = pytest.wait()
    with suppress(ProcessLookupError):
        os.killpg(pytest.pid, signal.SIGKILL)
    return Found(passed, failed, not late.is_set(), code)


def collected() -> list[str]:
    """Return the name of each long test."""
    words = [sys.executable, "-m", "pytest", "-m", "long", "-n", "0", "--collect-only", "-q"]
    text = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    return [line for line in text.splitlines() if line.startswith("tests/") and "::" in line]


def known_failing() -> list[str]:
    """Return what the names of tests begin with that are known to fail, and are left out of the draw."""
    lines = (HERE / "long_tests_that_fail.txt").read_text(encoding="utf-8").splitlines()
    return [line.partition("  #")[0].strip() for line in lines if line and not line.startswith("#")]


def draw(tests: Sequence[str], seed: str) -> list[str]:
    """Return the tests that are not known to fail in an order that the seed draws."""
    left_out = tuple(known_failing())
    drawn = [test for test in tests if not (left_out and test.startswith(left_out))]
    random.Random(seed).shuffle(drawn)
    return drawn


def run_of_this_week(minutes: float) -> int:
    """Run what this week draws for so many minutes; return 1 where a test fails."""
    year, week, _ = datetime.now(UTC).isocalendar()
    tests = draw(collected(), f"{year}-{week}")
    found = run_pytest(tests, minutes)
    print(f"long tests, week {week} of {year}: {found.passed} passed, {len(found.failed)} failed, of {len(tests)}")
    print("\n".join(found.failed))
    broken = found.ended and found.exit_code not in (0, 1, 5)
    return int(bool(found.failed) or broken)


def run_every_file(into: Path, minutes: float) -> None:
    """Run the long tests of each file that a csv does not hold yet, and add a row for each."""
    known = {row["file"] for row in csv.DictReader(into.open(encoding="utf-8"))} if into.exists() else set()
    files = list(dict.fromkeys(test.partition("::")[0] for test in collected()))
    with into.open("a", newline="", encoding="utf-8") as text:
        rows = csv.writer(text)
        if not known:
            rows.writerow(HEADER)
        for file in files:
            if file in known:
                continue
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            found = run_pytest(["-n", "1", file], minutes)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            rows.writerow(
                [file, found.passed, " ".join(found.failed), round(seconds), "yes" if found.ended else "timed out"]
            )
            text.flush()


def main() -> int:
    """Read the words that were typed, and run."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--minutes", type=float, default=10, help="of the draw, or of each file")
    reader.add_argument("--into", type=Path, help="run every file, and keep what is found in this csv")
    told = reader.parse_args()
    if told.into:
        run_every_file(told.into, told.minutes)
        return 0
    return run_of_this_week(told.minutes)


if __name__ == "__main__":
    sys.exit(main())
