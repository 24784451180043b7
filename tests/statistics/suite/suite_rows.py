"""Rows of the suite on which tests of all pairs of systems are judged: its factors, what they allow, and its data.

The suite is a covering array of strength 2: each pair of levels that may occur together does, in a row that is no
limit. It was fixed, with its digest, before any test was run on it; `build_suite.py` wrote it.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from simlab.types import Array, Bools, Ints

HERE = Path(__file__).parent
ROWS, DIGESTS = HERE / "rows.csv", HERE / "digests.txt"

FACTORS: Mapping[str, Sequence[Any]] = {
    "systems": (3, 4, 9, 15, 20, 36, 40),
    "raters": (4, 5, 7, 8, 12, 20, 30, 60),
    "documents": (10, 20, 60, 100, 200),
    "design": ("side_by_side", "ungrouped", "two_ratings"),
    "meeting": ("crossed", "nested", "two_pools"),
    "loads": ("even", "one_70", "one_over_k"),
    "tastes": ("normal", "t3", "skewed", "divisive"),
    "spread": ("equal", "unequal", "tied"),
    "effect": ("null", "partial", "one_pair", "tiny", "power_35", "power_50", "power_65"),
    "share": (0.1, 0.5, 0.9),
    "scale": ("points", "mqm", "one_to_five", "ceiling", "binary"),
}
"""Levels of each factor; `share` and `scale`, the last two, go with all others.

`raters` are those of each system where they are nested, of each pool where there are two. `share` is that of tastes in
the variance of a difference of plain means. A *tied* spread shrinks as the mean of a system grows. Of the effects,
`partial` has groups of equal systems at different means, `one_pair` two equal systems among different ones, `tiny`
differences of .1 standard errors, and `power_50` a spread of systems at which the oracle claims .50 of all pairs.
"""

MOST_RATINGS, MOST_NESTED, FEWEST_FOR_TASTES = 4_000, 120, 7
"""Ratings of a table and raters of a nested one at most; fewer raters may not have met a bloc of an odd taste."""


class Row(NamedTuple):
    """A row: its levels, whether it is a limit or among the thirty of a first look, and what the oracle says of it.

    `planted` is the unit of the pattern of means, on the latent scale; `oracle` the share of different pairs that
    knowing all variances would claim, `oracle_width` the median width of its intervals (NaN: there are none).
    """

    number: int
    systems: int
    raters: int
    documents: int
    design: str
    meeting: str
    loads: str
    tastes: str
    spread: str
    effect: str
    share: float
    scale: str
    limits: bool
    screen: bool
    planted: float
    oracle: float
    oracle_width: float

    @property
    def per_output(self) -> int:
        """Ratings of an output."""
        return 2 if self.design == "two_ratings" else 1

    @property
    def n_ratings(self) -> int:
        """Ratings of a table."""
        return self.systems * self.documents * self.per_output

    @property
    def target(self) -> float | None:
        """Share of pairs that the oracle is to claim."""
        return int(self.effect.removeprefix("power_")) / 100 if self.effect.startswith("power") else None

    @property
    def name(self) -> str:
        """All levels in one line."""
        levels = [getattr(self, factor) for factor in FACTORS]
        return "{} systems, {} raters, {} documents, {}, {}, {}, {}, {}, {}, {}, {}".format(*levels)


def allowed(of: Callable[[str], Array]) -> Bools:
    """Return which combinations may occur, given the levels of each factor in all of them."""
    systems, raters, documents, design = of("systems"), of("raters"), of("documents"), of("design")
    nested, pools = of("meeting") == "nested", of("meeting") == "two_pools"
    even, most, falling = (of("loads") == level for level in FACTORS["loads"])
    two = design == "two_ratings"
    fits = systems * documents * np.where(two, 2, 1) <= MOST_RATINGS
    # Everyone has a document, and with 70 % at one rater the others share the rest.
    dealt = (documents >= raters) & (~most | (0.3 * documents >= raters - 1))
    crowd = np.where(falling, raters >= 8, raters <= 30)
    # Each of two raters of a document has half of its ratings at most.
    dealt &= ~(most & two)
    nests = ~nested | ((design == "ungrouped") & even & (systems * raters <= MOST_NESTED))
    pooled = ~pools | (even & (systems >= 4))
    met = np.isin(of("tastes"), ("normal", "t3")) | (raters >= FEWEST_FOR_TASTES)
    tied = (of("spread") != "tied") | ~np.isin(of("effect"), ("null", "tiny"))
    return np.asarray(fits & dealt & crowd & nests & pooled & met & tied)


@lru_cache(maxsize=1)
def every_combination() -> Ints:
    """Return all combinations that may occur, `[combination, factor]`, as numbers of levels; the last two factors at 0.

    Whatever these two are, the others may be the same.
    """
    sizes = [len(levels) for levels in FACTORS.values()][:-2]
    index = np.indices(sizes, dtype=np.int16).reshape(len(sizes), -1)
    level = dict(zip(FACTORS, index, strict=False))
    here = allowed(lambda factor: np.asarray(FACTORS[factor])[level[factor]])
    return np.pad(index[:, here].T, ((0, 0), (0, 2)))


def pairs_allowed() -> dict[tuple[int, int], Bools]:
    """Return which pairs of levels may occur together, `[level, level]`, for each pair of factors."""
    found = every_combination()
    sizes = [len(levels) for levels in FACTORS.values()]
    free = len(sizes) - 2
    pairs = {}
    for a, b in combinations(range(len(sizes)), 2):
        there = np.zeros((sizes[a], sizes[b]), bool)
        if b < free:
            there[found[:, a], found[:, b]] = True
        elif a < free:
            there[np.unique(found[:, a])] = True
        else:
            there[:] = True
        pairs[a, b] = there
    return pairs


def levels_of(row: Row) -> Ints:
    """Return the numbers of a row's levels, `[factor]`."""
    return np.array([list(levels).index(getattr(row, factor)) for factor, levels in FACTORS.items()])


def read_rows(path: Path = ROWS) -> tuple[Row, ...]:
    """Read the rows of the suite."""
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(_row(line) for line in csv.DictReader(file))


def _row(line: Mapping[str, str]) -> Row:
    kind: Mapping[str, Callable[[str], Any]] = {
        **dict.fromkeys(("number", "systems", "raters", "documents"), int),
        **dict.fromkeys(("share", "planted", "oracle", "oracle_width"), float),
        **dict.fromkeys(("limits", "screen"), lambda text: text == "1"),
    }
    return Row(**{name: kind.get(name, str)(text) for name, text in line.items()})


def write_rows(rows: Sequence[Row], path: Path = ROWS) -> None:
    """Write the rows of the suite."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Row._fields)
        writer.writerows(
            [int(of) if isinstance(of, bool) else f"{of:.6g}" if isinstance(of, float) else of for of in row]
            for row in rows
        )
