"""Measure what each test costs, and list the dear ones, which the default suite leaves out.

    COSTS=costs.tsv uv run pytest -m "not long" -p tests.tools.dear_tests
    uv run python tests/tools/dear_tests.py costs.tsv

The first writes the CPU seconds of each test, with those of processes that it started. The second lists tests of so
many seconds in `tests/dear_tests.txt`; of a test with several cases, and of a file, the cheapest stays in the default
suite, unless it is dear itself.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

LIST = Path(__file__).parents[1] / "dear_tests.txt"
DEAR = 0.6
"""CPU seconds from which on a test is left to the slow suite."""
KEPT = 2.0
"""CPU seconds up to which the cheapest of several stays: a file, or a test of many cases, is not left out whole."""


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Append what a test took: several processes of pytest write to one file, a line at a time."""
    before = count_cpu_seconds()
    yield
    with open(os.environ["COSTS"], "a", encoding="utf-8") as file:
        file.write(f"{count_cpu_seconds() - before:.2f}\t{item.nodeid}\n")


def count_cpu_seconds() -> float:
    """Add up the CPU seconds of this process and of all that it started, those that wait for more work included."""
    import psutil

    here = psutil.Process()
    seconds: float = sum(here.cpu_times()[:4])
    for child in here.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            seconds += sum(child.cpu_times()[:4])
    return seconds


def choose_dear(costs: Mapping[str, float]) -> list[str]:
    """Choose what the default suite leaves out, by the seconds of each test."""
    dear = {test for test, seconds in costs.items() if seconds >= DEAR}
    for end in ("[", "::"):
        together: dict[str, list[str]] = defaultdict(list)
        for test in costs:
            together[test.partition(end)[0]].append(test)
        for tests in together.values():
            cheapest = min(tests, key=costs.__getitem__)
            if len(tests) > 1 and dear.issuperset(tests) and costs[cheapest] < KEPT:
                dear.remove(cheapest)
    return sorted(dear)


def read_costs(lines: Iterable[str]) -> dict[str, float]:
    """Read the costs of tests; where one was measured several times, the least."""
    costs: dict[str, float] = {}
    for line in lines:
        seconds, _, test = line.rstrip("\n").partition("\t")
        costs[test] = min(costs.get(test, float("inf")), float(seconds))
    return costs


if __name__ == "__main__":
    measured = read_costs(Path(sys.argv[1]).read_text(encoding="utf-8").splitlines())
    chosen = choose_dear(measured)
    LIST.write_text("".join(f"{test}\n" for test in chosen), encoding="utf-8")
    left = sum(measured.values()) - sum(measured[test] for test in chosen)
    print(f"{len(chosen)} of {len(measured)} tests are dear; the others take {left:.0f} CPU seconds")
