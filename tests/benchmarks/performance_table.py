"""Measure the rows of docs/performance.md, and write them into its table.

    uv run python tests/benchmarks/performance_table.py [--only NAME...] [--quick] [--baseline COMMIT] [--repeats N]

Trees take turns; a clone without the commit gives what there is now only. Rows that are not asked for stay as they are.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

HERE = Path(__file__).parents[2]
DOCS = HERE / "docs" / "performance.md"
sys.path[:0] = [str(HERE)]

from tests.benchmarks.performance.bench import Bench, Found, spread  # noqa: E402
from tests.benchmarks.performance.measuring import compiled, unpacked  # noqa: E402
from tests.benchmarks.performance.rows import ROWS, Row  # noqa: E402

BASELINE = "94f845f948ced8cdc6bd8ce271156fe6cc169519"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
HEAD = (
    "| row | what | against | before | now | ratio | limit | | memory: driver, worker (MB) | ran |",
    "|---|---|---|--:|--:|--:|---|---|--:|---|",
)
NOT_YET = "not measured"


def line(row: Row, found: Found | None, how: str = "") -> str:
    """Write a row; with its median over repeats, their range, and whether it keeps its limit."""
    limit = str(row.limit) if row.limit else "-"
    if found is None:
        return _joined(row.name, row.what, row.baseline, "-", NOT_YET, "-", limit, "-", "-", "-")
    before = spread([pair.before for pair in found.pairs if pair.before is not None])
    now = f"{spread([pair.now for pair in found.pairs])} {found.unit}"
    kept = row.limit.reached(found) if row.limit else None
    verdict = "-" if kept is None else "reached" if kept else "not reached"
    ran = "; ".join(part for part in (found.ran, found.note, how) if part)
    return _joined(
        row.name, row.what, row.baseline, before, now, spread(found.ratio), limit, verdict, found.memory or "-", ran
    )


def _joined(name: str, *cells: str) -> str:
    return f"| {' | '.join([f'`{name}`', *(cell.replace('|', chr(92) + '|') for cell in cells)])} |"


def name_of(text: str) -> str:
    """Return the name of the row that a line of a table holds."""
    return text.split("|")[1].strip().strip("`") if text.startswith("| `") else ""


def lines_of(page: str) -> dict[str, str]:
    """Return the lines of the table of a page by the names of their rows."""
    table = page.partition(BEGIN)[2].partition(END)[0].splitlines()
    return {name_of(text): text for text in table if name_of(text)}


def with_table(page: str, measured: Mapping[str, str]) -> str:
    """Put rows into the table of a page; those that nothing was measured of stay as they are."""
    held = {**lines_of(page), **measured}
    lines = [*HEAD, *(held.get(row.name) or line(row, None) for row in ROWS)]
    before, _, rest = page.partition(BEGIN)
    return "\n".join([f"{before}{BEGIN}", *lines, f"{END}{rest.partition(END)[2]}"])


def asked(words: Sequence[str] | None) -> argparse.Namespace:
    """Read what is asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="*", choices=[row.name for row in ROWS], help="measure these rows")
    parser.add_argument("--quick", action="store_true", help="measure less of each, on a slow machine")
    parser.add_argument("--baseline", default=BASELINE, metavar="COMMIT", help="what is measured beside this tree")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="measure each N times, in turn")
    parser.add_argument("--page", type=Path, default=DOCS, metavar="FILE", help="the page that holds the table")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> None:
    """Measure what is asked, one row after the other; each is written as soon as it is there."""
    given = asked(words)
    cores = len(os.sched_getaffinity(0))
    how = f"{'reduced, ' if given.quick else ''}{given.repeats} × on {cores} cores, Python {platform.python_version()}"
    with tempfile.TemporaryDirectory() as folder:
        before = unpacked(HERE, given.baseline, Path(folder) / "before")
        if before is None:
            print(f"this clone does not have the commit {given.baseline}: what there is now is measured alone")
        compiled(HERE)
        bench = Bench(HERE, before, Path(folder), given.quick, given.repeats, min(2, cores))
        failed = [
            row.name for row in ROWS if row.name in (given.only or [row.name]) and not _written(row, bench, given, how)
        ]
    if failed:
        sys.exit(f"not measured: {', '.join(failed)}")


def _written(row: Row, bench: Bench, given: argparse.Namespace, how: str) -> bool:
    """Measure a row and write it; tell whether it could be. One that fails costs no other."""
    try:
        text = line(row, row.measure(bench), how)
    except RuntimeError as error:
        print(f"{row.name}: {error}", flush=True)
        return False
    print(text, flush=True)
    given.page.write_text(with_table(given.page.read_text("utf-8"), {row.name: text}), "utf-8")
    return True


if __name__ == "__main__":
    main()
