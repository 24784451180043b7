"""Name what a table holds: outputs that humans scored, pairs that humans compared, or unit tests of a metric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from simlab.types import Array, Floats, Ints

OUTCOMES = (">", "=", "<")
MOST_SYSTEMS = 200
MOST_CELLS = 50_000_000
"""Outputs are compared pair by pair; more comparisons than this are no pilot."""


@dataclass(frozen=True, slots=True)
class Outputs:
    """Hold outputs that humans scored: `system[output]`, `item[output]` (numbered in the order of the table).

    `human[output, repeat]` are ratings, NaN = a gap; `metrics[name][output]` are scores, NaN where there is none.
    """

    system: Ints
    item: Ints
    system_names: tuple[str, ...]
    n_items: int
    human: Floats
    metrics: Mapping[str, Floats]


@dataclass(frozen=True, slots=True)
class Preferences:
    """Hold pairs of outputs that humans compared.

    `pair[comparison]` and `item[comparison]` are numbers, `human[comparison, outcome]` the shares of its ratings that
    say `>`, `=`, `<`; `metrics[name][comparison]` is 0, 1, 2 = `>`, `=`, `<`, -1 where the metric says nothing.
    `ratings[pair, outcome]` counts human ratings. `pair_names[pair]` are the two systems; pairs are (i, j), i < j.
    """

    pair: Ints
    item: Ints
    human: Floats
    ratings: Floats
    pair_names: tuple[tuple[str, str], ...]
    system_names: tuple[str, ...]
    n_items: int
    metrics: Mapping[str, Array]


@dataclass(frozen=True, slots=True)
class Trials:
    """Hold raw score pairs of one metric's unit tests: `original[trial]`, `corrupted[trial]`, NaN where one is missing.

    `corruption[trial]` numbers the kinds of corruption, `preserving[trial]` says which leave the meaning as it is.
    """

    name: str
    lower_is_better: bool
    corruption: Ints
    preserving: Array
    original: Floats
    corrupted: Floats


Data: TypeAlias = Outputs | Preferences | tuple[Trials, ...]
