"""Run a test of all pairs on the suite, in pieces that may be interrupted, and print what was found.

    uv run python tests/statistics/suite/run.py --test mixed_model --tables 400 --rows screen --minutes 20

Each block of tables of a row is a line of the output file; blocks that are there are not run again.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[2])]

from simlab.types import Bools, Floats  # noqa: E402
from tests.statistics.suite.candidate_tests import TESTS, Found, Test  # noqa: E402
from tests.statistics.suite.suite_rows import Row, read_rows  # noqa: E402
from tests.statistics.suite.suite_tables import comparable, table, truth  # noqa: E402

BLOCK = 50
"""Tables of a block."""

ERRORS = 3
"""Monte-Carlo standard errors by which a level may be above .05, and a coverage below .95."""


class Block(NamedTuple):
    """What a test did in the tables of a row whose seeds are `first` and those after it.

    `wrong` counts tables with any claim of equal systems or of the wrong sign, `covered` those whose intervals all hold
    the true differences. `power` adds up shares of different pairs claimed, `power_square` their squares, `width` the
    median widths of intervals.
    """

    test: str
    row: int
    first: int
    tables: int
    wrong: int
    covered: int
    power: float
    power_square: float
    width: float
    seconds: float


class Judged(NamedTuple):
    """What a test did in n tables of a row; `power` is NaN where no pair that can be told apart differs."""

    n: int
    level: float
    coverage: float
    power: float
    power_mcse: float
    width: float
    seconds: float

    @property
    def level_mcse(self) -> float:
        """Monte-Carlo standard error of the level."""
        return float(np.sqrt(self.level * (1 - self.level) / self.n))

    @property
    def holds(self) -> bool:
        """True if level and coverage are those promised, up to Monte-Carlo error at what was promised."""
        slack = ERRORS * np.sqrt(0.05 * 0.95 / self.n)
        return bool(self.level <= 0.05 + slack and self.coverage >= 0.95 - slack)


def run_block(name: str, test: Test, row: Row, first: int, tables: int = BLOCK) -> Block:
    """Run a test on tables of a row."""
    begun = time.process_time()
    each = np.array(
        [score_table(test, row, seed, truth(row), comparable(row)) for seed in range(first, first + tables)]
    )
    wrong, covered, power, width = each.T
    counts = int(wrong.sum()), int(covered.sum())
    sums = float(power.sum()), float((power**2).sum()), float(width.sum())
    return Block(name, row.number, first, tables, *counts, *sums, round(time.process_time() - begun, 3))


def score_table(test: Test, row: Row, seed: int, true: Floats, here: Bools) -> tuple[bool, bool, float, float]:
    """Return whether a test claims wrongly in a table and covers all, the share it finds, and its median width."""
    return score_found(test(*table(row, seed)), true, here)


def score_found(found: Found, true: Floats, here: Bools) -> tuple[bool, bool, float, float]:
    """Return whether any claim is wrong and whether all is covered, the share found, and the median width."""
    right = np.sign(np.nan_to_num(found.difference)) == np.sign(true)
    wrong = bool((found.claimed & ~(right & (true != 0))).any())
    covered = bool(((found.lower <= true) & (true <= found.upper)).all())
    different = here & (true != 0)
    power = float((found.claimed & right)[different].mean()) if different.any() else float("nan")
    return wrong, covered, power, float(np.median((found.upper - found.lower)[here]))


def judge(blocks: Sequence[Block]) -> Judged:
    """Put blocks of one test and row together."""
    n = sum(block.tables for block in blocks)
    wrong, covered, power, square, width, seconds = (
        sum(getattr(block, name) for block in blocks) / n
        for name in ("wrong", "covered", "power", "power_square", "width", "seconds")
    )
    return Judged(n, wrong, covered, power, float(np.sqrt(max(square - power**2, 0.0) / n)), width, seconds)


def read_blocks(path: Path) -> list[Block]:
    """Read the blocks that were run."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    kinds = (str, int, int, int, int, int, float, float, float, float)
    return [Block(*(kind(line[name]) for kind, name in zip(kinds, Block._fields, strict=True))) for line in lines]


def append(path: Path, block: Block) -> None:
    """Add a block to a file."""
    new = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(Block._fields)
        writer.writerow(block)


def chosen_rows(words: str) -> list[Row]:
    """Return rows by `screen`, `limits`, `all` (but limits), or numbers such as 0,4,10-19."""
    rows = read_rows()
    if words in ("screen", "limits", "all"):
        return [row for row in rows if {"screen": row.screen, "limits": row.limits, "all": not row.limits}[words]]
    ends = [part.partition("-") for part in words.split(",")]
    return [rows[k] for low, _, high in ends for k in range(int(low), int(high or low) + 1)]


def report(rows: Sequence[Row], blocks: Sequence[Block], name: str) -> Iterator[str]:
    """Yield the lines of a table: level, coverage, power beside the oracle's, width beside the oracle's."""
    yield f"| row | {name}: n | level (mcse) | coverage | power (mcse) | oracle | share | width | oracle | ms |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    for row in rows:
        of = [block for block in blocks if (block.test, block.row) == (name, row.number)]
        if not of:
            continue
        found = judge(of)
        marks = ("" if found.holds else " **fails**") + (" (limit)" if row.limits else "")
        power = " | | "
        if row.target is not None or row.oracle > 0.1:
            power = f"{found.power:.3f} ({found.power_mcse:.3f}) | {row.oracle:.3f} | {found.power / row.oracle:.2f}"
        yield (
            f"| {row.number} {row.name} | {found.n} | {found.level:.3f} ({found.level_mcse:.3f}){marks} | "
            f"{found.coverage:.3f} | {power} | {found.width:.3g} | {row.oracle_width:.3g} | "
            f"{1000 * found.seconds:.0f} |"
        )


def main() -> None:
    """Run what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--test", required=True, choices=TESTS)
    parser.add_argument("--tables", type=int, default=400, help="tables a row")
    parser.add_argument("--rows", default="screen", help="screen, all, limits, or numbers: 0,4,10-19")
    parser.add_argument("--first", type=int, default=0, help="seed of the first table; another one for fresh tables")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="no block begins later")
    parser.add_argument("--out", type=Path, default=HERE.parents[2] / "outputs" / "suite.csv")
    asked = parser.parse_args()
    rows, begun = chosen_rows(asked.rows), time.monotonic()
    done = {(block.test, block.row, block.first) for block in read_blocks(asked.out)}
    for first in range(asked.first, asked.first + asked.tables, BLOCK):
        for row in rows:
            if (asked.test, row.number, first) in done or time.monotonic() - begun > 60 * asked.minutes:
                continue
            append(asked.out, run_block(asked.test, TESTS[asked.test], row, first))
    seeds = range(asked.first, asked.first + asked.tables)
    found = [block for block in read_blocks(asked.out) if block.first in seeds]
    print("\n".join(report(rows, found, asked.test)))


if __name__ == "__main__":
    main()
