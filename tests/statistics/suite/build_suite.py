"""Write the rows of the suite and their digests: a covering array, what is planted, and what the oracle finds.

    uv run python tests/statistics/suite/build_suite.py

The suite is data: run this only to begin a new one.
"""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[3])]

from simlab.types import Ints  # noqa: E402
from tests.statistics.suite import suite_tables  # noqa: E402
from tests.statistics.suite.suite_oracle import plant  # noqa: E402
from tests.statistics.suite.suite_rows import (  # noqa: E402
    DIGESTS,
    FACTORS,
    ROWS,
    Row,
    every_combination,
    levels_of,
    pairs_allowed,
    write_rows,
)

N_ROWS, N_SCREEN, CANDIDATES = 138, 30, 20_000
"""Rows besides limits, those of a first look, and combinations among which each row is chosen."""

MOST_SCREENED = 1_600
"""Ratings of a table of the first look at most."""

DIGESTED = range(0, 150, 15)
"""Rows of which a table is in the digests."""

Level = int | float | str
FIRST: Sequence[tuple[Level, ...]] = (
    # The world of README, and crowds whose raters' loads fall as 1/k.
    (15, 7, 60, "side_by_side", "crossed", "even", "normal", "equal", "power_35", 0.1, "points"),
    (4, 8, 60, "side_by_side", "crossed", "one_over_k", "normal", "equal", "power_50", 0.1, "points"),
    (9, 12, 100, "side_by_side", "crossed", "one_over_k", "normal", "equal", "power_50", 0.1, "points"),
    (20, 30, 60, "side_by_side", "crossed", "one_over_k", "normal", "equal", "power_50", 0.5, "points"),
    (36, 60, 100, "side_by_side", "crossed", "one_over_k", "normal", "equal", "power_50", 0.5, "points"),
    (4, 60, 100, "ungrouped", "crossed", "one_over_k", "normal", "unequal", "power_50", 0.5, "points"),
    (9, 30, 60, "ungrouped", "crossed", "one_over_k", "t3", "unequal", "power_50", 0.5, "points"),
    (20, 12, 60, "ungrouped", "crossed", "one_over_k", "normal", "unequal", "power_50", 0.1, "points"),
    (36, 8, 20, "ungrouped", "crossed", "one_over_k", "normal", "equal", "power_50", 0.1, "points"),
)
LIMITS: Sequence[tuple[Level, ...]] = (
    # A bloc of 20 % of people, of whom fewer than three are among the raters, or tastes of one system and few raters.
    (4, 4, 60, "side_by_side", "crossed", "even", "bloc", "equal", "null", 0.5, "points"),
    (9, 4, 60, "ungrouped", "crossed", "even", "bloc", "equal", "partial", 0.9, "points"),
    (15, 7, 60, "side_by_side", "crossed", "even", "bloc", "equal", "null", 0.5, "points"),
    (9, 7, 200, "side_by_side", "crossed", "even", "bloc", "equal", "null", 0.9, "one_to_five"),
    (4, 12, 60, "side_by_side", "crossed", "even", "bloc", "equal", "null", 0.9, "points"),
    (9, 12, 60, "side_by_side", "crossed", "one_70", "bloc", "unequal", "null", 0.5, "points"),
    (4, 4, 100, "side_by_side", "crossed", "even", "divisive", "equal", "null", 0.9, "points"),
    (9, 5, 60, "side_by_side", "crossed", "even", "divisive", "equal", "null", 0.9, "points"),
    (4, 4, 100, "side_by_side", "crossed", "even", "skewed", "equal", "null", 0.9, "points"),
    (9, 5, 60, "side_by_side", "crossed", "even", "skewed", "equal", "null", 0.9, "points"),
    (9, 5, 60, "two_ratings", "crossed", "even", "skewed", "unequal", "null", 0.9, "mqm"),
    (4, 5, 20, "ungrouped", "nested", "even", "skewed", "equal", "null", 0.9, "points"),
)


def cover(rng: np.random.Generator, first: Sequence[Ints], n: int) -> list[Ints]:
    """Return n combinations: until all pairs of levels occur those with most new pairs, then most new triples."""
    every = every_combination()
    sizes = [len(levels) for levels in FACTORS.values()]
    wanted: dict[tuple[int, ...], Any] = {pair: there.copy() for pair, there in pairs_allowed().items()}
    triples = {of: np.ones([sizes[k] for k in of], bool) for of in combinations(range(len(sizes)), 3)}

    def mark(levels: Ints) -> None:
        for of, left in [*wanted.items(), *triples.items()]:
            left[tuple(levels[list(of)])] = False

    chosen = list(first)
    for levels in chosen:
        mark(levels)
    while len(chosen) < n:
        pair = max(wanted, key=lambda of: wanted[of].sum())
        among = every
        if wanted[pair].any():
            # A pair that few combinations have is not among candidates by chance.
            where = np.argwhere(wanted[pair])[rng.integers(wanted[pair].sum())]
            fixed = [(k, level) for k, level in zip(pair, where, strict=True) if k < len(sizes) - 2]
            among = every[np.all([every[:, k] == level for k, level in fixed] or [np.full(len(every), True)], axis=0)]
        found = among[rng.integers(len(among), size=CANDIDATES)].copy()
        found[:, -2:] = rng.integers(0, sizes[-2:], (CANDIDATES, 2))
        if wanted[pair].any():
            found[:, pair] = where
        left = wanted if wanted[pair].any() else triples
        new = np.sum([of[tuple(found[:, list(at)].T)] for at, of in left.items()], axis=0)
        chosen.append(found[int(new.argmax())].astype(int))
        mark(chosen[-1])
    if any(left.any() for left in wanted.values()):
        raise ValueError(f"{n} rows do not cover all pairs of levels")
    return chosen


def covers(rows: Sequence[Row]) -> bool:
    """True if all pairs of levels that may occur together do in rows that are no limits."""
    levels = np.array([levels_of(row) for row in rows if not row.limits])
    for (a, b), allowed in pairs_allowed().items():
        there = np.zeros_like(allowed)
        there[levels[:, a], levels[:, b]] = True
        if (there != allowed).any():
            return False
    return True


def screened(rows: Sequence[Row]) -> set[int]:
    """Return the numbers of the rows of a first look: small tables, as many pairs of levels as possible, half power."""
    pairs = list(combinations(range(len(FACTORS)), 2))
    levels = {row.number: levels_of(row) for row in rows if not row.limits and row.n_ratings <= MOST_SCREENED}
    chosen, seen = [0], set()
    for _ in range(N_SCREEN):
        seen |= {(a, b, levels[chosen[-1]][a], levels[chosen[-1]][b]) for a, b in pairs}
        power = len(chosen) % 2 == 0
        among = [k for k in levels if k not in chosen and (rows[k].target is not None) == power]
        new = [sum((a, b, levels[k][a], levels[k][b]) not in seen for a, b in pairs) for k in among]
        if len(chosen) < N_SCREEN:
            chosen.append(among[int(np.argmax(new))])
    return set(chosen)


def digests() -> str:
    """Return the digests of the rows and of some of their tables, whose scores are rounded."""
    from tests.statistics.suite.suite_rows import read_rows

    rows, tables = read_rows(), hashlib.sha256()
    for number in DIGESTED:
        drawn = suite_tables.table(rows[number], 0)
        for column in drawn[:3]:
            tables.update(column.astype("<i8").tobytes())
        tables.update(np.round(drawn.score * 1e6).astype("<i8").tobytes())
    return f"rows {hashlib.sha256(ROWS.read_bytes()).hexdigest()}\ntables {tables.hexdigest()}\n"


def main() -> None:
    """Write the suite."""
    names = list(FACTORS)
    first = [np.array([list(FACTORS[f]).index(of) for f, of in zip(names, one, strict=True)]) for one in FIRST]
    covered = cover(np.random.default_rng(suite_tables.SEED), first, N_ROWS)
    combined: list[tuple[Any, ...]] = [
        *(tuple(FACTORS[f][k] for f, k in zip(names, one, strict=True)) for one in covered),
        *LIMITS,
    ]
    blank = (0.0, float("nan"), float("nan"))
    rows = [Row._make((k, *one, k >= N_ROWS, False, *blank)) for k, one in enumerate(combined)]
    screen = screened(rows)
    done = []
    for row in rows:
        begun = time.perf_counter()
        made, known = plant(row._replace(screen=row.number in screen))
        done.append(made._replace(oracle=known.power, oracle_width=known.width))
        took = time.perf_counter() - begun
        print(f"{row.number} {made.name}: {known.power:.3f}, {took:.1f} s", flush=True)
    if not covers(done):
        raise ValueError("rows whose scale became points leave pairs of levels out")
    write_rows(done)
    DIGESTS.write_text(digests(), encoding="utf-8")


if __name__ == "__main__":
    main()
