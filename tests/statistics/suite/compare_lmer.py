"""Hold the moderated test beside the mixed model of reviewers, lmer with Satterthwaite and Tukey, on the same tables.

    uv run python tests/statistics/suite/compare_lmer.py --tables 100 --minutes 10

`comparator_lmer.R` runs the model; without R or lmerTest nothing is run. It is a tool outside the tests.
"""

from __future__ import annotations

import argparse
import csv
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[2])]

from tests.statistics.suite.candidate_tests import TESTS, Found  # noqa: E402
from tests.statistics.suite.run import score_found  # noqa: E402
from tests.statistics.suite.suite_rows import Row, read_rows  # noqa: E402
from tests.statistics.suite.suite_tables import comparable, table, truth  # noqa: E402
from tests.statistics.suite.user_gets import write  # noqa: E402

N_ROWS, MOST_SYSTEMS, FEWEST_RATERS, MOST_RATINGS = 30, 20, 7, 1_000
"""The first rows with so many systems, raters and ratings, none with 70 % of the work at one rater, nor two pools."""

SUMMARY = HERE / "compared_lmer.csv"
LEVEL = 0.05


class Compared(NamedTuple):
    """What both tests did on a row, in the tables that lmer fitted; `failed` are those it did not."""

    row: int
    name: str
    tables: int
    failed: int
    oracle: float
    lmer_level: float
    moderated_level: float
    lmer_coverage: float
    moderated_coverage: float
    lmer_power: float
    moderated_power: float
    lmer_width: float
    moderated_width: float


def rows_compared() -> list[Row]:
    """Return the rows: chosen by design alone."""
    rows = [
        row
        for row in read_rows()
        if row.systems <= MOST_SYSTEMS and row.raters >= FEWEST_RATERS and row.n_ratings <= MOST_RATINGS
        if row.loads != "one_70" and row.meeting != "two_pools" and not row.limits
    ]
    return rows[:N_ROWS]


def read_lmer(path: Path) -> Mapping[tuple[int, int], Found | None]:
    """Return what lmer found in each table; None where it failed."""
    by_table = defaultdict(list)
    with path.open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            by_table[int(line["row"]), int(line["seed"])].append(line)
    found: dict[tuple[int, int], Found | None] = {}
    for at, lines in by_table.items():
        if any("NA" in (line["p"], line["reach"]) or "NaN" in (line["p"], line["reach"]) for line in lines):
            found[at] = None
            continue
        gap, reach, p = (np.array([float(line[name]) for line in lines]) for name in ("difference", "reach", "p"))
        found[at] = Found(gap, gap - reach, gap + reach, p <= LEVEL)
    return found


def compare(rows: Sequence[Row], lmer: Mapping[tuple[int, int], Found | None]) -> Iterator[Compared]:
    """Run the moderated test on the tables that lmer has seen and yield both."""
    for row in rows:
        seeds = [seed for number, seed in lmer if number == row.number]
        fitted = [seed for seed in seeds if lmer[row.number, seed] is not None]
        if not fitted:
            continue
        theirs = np.array(
            [score_found(found, truth(row), comparable(row)) for seed in fitted if (found := lmer[row.number, seed])]
        ).mean(0)
        ours = np.array(
            [score_found(TESTS["moderated"](*table(row, seed)), truth(row), comparable(row)) for seed in fitted]
        ).mean(0)
        both = [round(float(x), 4) for pair in zip(theirs, ours, strict=True) for x in pair]
        name = row.name.replace(",", ";")
        yield Compared(row.number, name, len(fitted), len(seeds) - len(fitted), row.oracle, *both)


def main() -> None:
    """Write tables, let R run what is missing, and write the summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=100, help="tables a row")
    parser.add_argument("--minutes", type=float, default=10.0, help="no table begins later")
    parser.add_argument("--folder", type=Path, default=HERE.parents[2] / "outputs" / "lmer")
    asked = parser.parse_args()
    if not shutil.which("Rscript"):
        print("skipped: Rscript is not installed")
        return
    asked.folder.mkdir(parents=True, exist_ok=True)
    rows = rows_compared()
    for row in rows:
        for seed in range(asked.tables):
            if not (path := asked.folder / f"{row.number}_{seed}.csv").exists():
                write(table(row, seed), path)
    pairs = asked.folder / "pairs.out"
    script = HERE / "comparator_lmer.R"
    subprocess.run(["Rscript", script, asked.folder, pairs, str(asked.minutes)], check=True)
    summarise(rows, pairs)


def summarise(rows: Sequence[Row], pairs: Path) -> None:
    """Write a line for each row."""
    with SUMMARY.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Compared._fields)
        writer.writerows(compare(rows, read_lmer(pairs)))


if __name__ == "__main__":
    main()
