"""How large a report is, how long it takes to make, and how soon who opens it sees its first chart.

`SIMLAB_REPORTED` names a store of item_grouping in full; else its quick one is carried out, of as many cells.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import simlab
from simlab.engine import ledger
from simlab.engine import run as engine
from simlab.measures.labels import LABELS
from simlab.store.measures import bound_measures_of
from simlab.store.writing import materialise
from tests.benchmarks.apart import ROOT
from tests.benchmarks.sized import inline, sized, stand_in

MOST_BYTES, MOST_OF_A_THOUSAND = 1_500_000, 5_000_000
MADE, OPENED, DRAWN = 5.0, 1.0, 2.0
"""Seconds that making a report after imports, opening it, and its first chart may take."""
ROUNDS = 7
CHROMIUM = Path(os.environ.get("SIMLAB_CHROMIUM", "/usr/bin/chromium"))
DRIVER = Path(os.environ.get("SIMLAB_CHROMEDRIVER", "/usr/bin/chromedriver"))
TIMES = """const [page] = performance.getEntriesByType('navigation');
const [first] = performance.getEntriesByName('simlab-drawn-0');
return page.loadEventEnd && first ? [page.domContentLoadedEventEnd / 1000, first.startTime / 1000] : null"""

for needed in ("altair", "vl_convert"):
    pytest.importorskip(needed, reason="the extra simlab[report] is not installed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store of item_grouping."""
    if given := os.environ.get("SIMLAB_REPORTED"):
        return Path(given)
    out = tmp_path_factory.mktemp("reported") / "item_grouping"
    simlab.sweep("item_grouping", out=out, jobs=2, quick=True)
    return out


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return a browser that has opened a page before."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    from selenium.webdriver.chrome.service import Service

    for program in (CHROMIUM, DRIVER):
        if not program.exists():
            pytest.skip(f"there is no {program}")
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    alone = ["--no-sandbox"] if os.geteuid() == 0 else []
    profile = tmp_path_factory.mktemp("profile")
    for word in ("--headless", "--disable-gpu", "--no-first-run", *alone, f"--user-data-dir={profile}"):
        options.add_argument(word)
    driver = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
    yield driver
    driver.quit()


def reported(folder: Path, file: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.benchmarks.reported", str(folder), str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    took: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return took


def opened(driver: Any, file: Path) -> tuple[float, float]:
    """Return the seconds until a page is read, and until its first chart is drawn."""
    driver.get(file.as_uri())
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if times := driver.execute_script(TIMES):
            return float(times[0]), float(times[1])
        time.sleep(0.01)
    raise AssertionError("no chart was drawn")


def median(benchmark: Any, call: Callable[[], float]) -> float:
    """Return the median of what calls say they took, after one that warms up."""
    call()
    taken: list[float] = []
    benchmark.pedantic(lambda: taken.append(call()), rounds=ROUNDS)
    benchmark.extra_info["seconds"] = sorted(taken)
    return sorted(taken)[ROUNDS // 2]


@pytest.mark.benchmark(group="report")
def test_a_report_is_small_and_soon_made(folder: Path, benchmark: Any, tmp_path: Path) -> None:
    sizes: list[float] = []

    def make() -> float:
        took = reported(folder, tmp_path / "report.html")
        sizes.append(took["bytes"])
        return took["seconds"]

    assert median(benchmark, make) < MADE
    benchmark.extra_info["bytes"] = sizes[0]
    assert sizes[0] < MOST_BYTES
    assert set(sizes) == {sizes[0]}


@pytest.mark.benchmark(group="report")
@pytest.mark.parametrize(("what", "most"), [(0, OPENED), (1, DRAWN)], ids=["opened", "first chart"])
def test_a_report_is_soon_seen(
    folder: Path, chromium: Any, benchmark: Any, tmp_path: Path, what: int, most: float
) -> None:
    file = tmp_path / "report.html"
    reported(folder, file)
    assert median(benchmark, lambda: opened(chromium, file)[what]) < most


@pytest.mark.benchmark(group="report")
def test_a_store_of_a_thousand_cells_fits_into_a_page(
    chromium: Any, benchmark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "dispatch", inline)
    sweep, folder, file = sized(1000), tmp_path / "many", tmp_path / "report.html"
    engine.run(sweep, folder, 1, block=stand_in, quiet=True)
    with ledger.open_to_write(folder) as book:
        materialise(book, bound_measures_of(sweep.base), LABELS, jobs=1)
    took = benchmark.pedantic(reported, args=(folder, file), rounds=1)
    benchmark.extra_info |= took
    benchmark.extra_info["first_chart"] = opened(chromium, file)[1]
    assert took["bytes"] < MOST_OF_A_THOUSAND
    assert benchmark.extra_info["first_chart"] < DRAWN
