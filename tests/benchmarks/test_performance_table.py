"""Check that the page of performance has the rows that its command measures, and that the command measures them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.benchmarks import performance_table as table
from tests.benchmarks.performance.bench import Bench, Found, Pair, spread
from tests.benchmarks.performance.rows import ROWS, Limit, Row

BURN = "import time; until = time.process_time() + {}\nwhile time.process_time() < until: pass\n"
LEAVING = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", {burn!r}])
"""


def test_the_page_has_the_rows_of_the_command() -> None:
    page = table.DOCS.read_text("utf-8")
    assert list(table.lines_of(page)) == [row.name for row in ROWS]
    assert table.with_table(page, {}) == page
    for name, line in table.lines_of(page).items():
        (row,) = (one for one in ROWS if one.name == name)
        assert f"| {row.what} | {row.baseline} |" in line
        assert f"| {row.limit or '-'} |" in line


def test_a_row_is_measured_and_written_and_the_others_stay(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    shutil.copy(table.DOCS, page)
    held = table.lines_of(page.read_text("utf-8"))
    words = ["--only", "start", "--quick", "--repeats", "1", "--baseline", "0" * 40, "--page", str(page)]
    said = subprocess.run([sys.executable, table.__file__, *words], capture_output=True, text=True, check=True).stdout
    assert "this clone does not have the commit" in said
    found = table.lines_of(page.read_text("utf-8"))
    assert "CPU s | - | - | - |" in found["start"]
    assert {**found, "start": ""} == {**held, "start": ""}


def test_a_limit_is_held_against_the_median_of_repeats() -> None:
    found = Found([Pair(10.0, 4.0), Pair(10.0, 6.0), Pair(10.0, 20.0)], "CPU s", "")
    assert spread(found.ratio) == "0.6 (0.4 to 2)"
    assert Limit(0.6).reached(found)
    assert not Limit(0.59).reached(found)
    assert Limit(6, "now", least=True).reached(found)
    assert Limit(0.6).reached(Found([Pair(None, 4.0)], "CPU s", "")) is None
    row = Row("fit", "fit", "-", Limit(0.5), lambda bench: found)
    assert "| 0.6 (0.4 to 2) | at most 0.5 | not reached |" in table.line(
        row, row.measure(Bench(tmp := Path(), tmp, tmp))
    )


def test_what_a_process_leaves_behind_is_counted() -> None:
    """Measure in a process of its own: it adopts what others leave behind."""
    code = f"""
import sys
from pathlib import Path
from tests.benchmarks.performance import measuring
burn = [sys.executable, "-c", {BURN.format(0.3)!r}]
leaving = [sys.executable, "-c", {LEAVING.format(burn=BURN.format(0.5))!r}]
print(*(measuring.taken(command, Path(), Path()).cpu for command in (burn, leaving)))
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=table.HERE)
    alone, left = map(float, said.stdout.split())
    assert 0.3 <= alone < 0.6
    assert left >= 0.5
