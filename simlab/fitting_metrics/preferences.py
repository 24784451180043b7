"""Read tables of preferences: what humans and metrics say of the outputs of two systems for an item."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from simlab.fitting_metrics.cells import MISSING, Numbers, Table, check_systems, metric_columns, named
from simlab.fitting_metrics.data import OUTCOMES, Preferences
from simlab.messages import legible
from simlab.types import Floats, InputError


def preferences(table: Table, wanted: Sequence[str]) -> Preferences:
    """Read pairs of outputs; a comparison of the later system with the earlier one is turned round.

    Raises InputError for what is no preference, and for a metric that contradicts itself.
    """
    columns = metric_columns(table, wanted)
    two = _pair_reader(table)
    systems, items = Numbers(), Numbers()
    comparisons: dict[tuple[int, int, int], _Comparison] = {}
    for line, cells in table.rows:
        first, second = two(cells, line)
        i, j = systems[first], systems[second]
        turned = i > j
        key = (min(i, j), max(i, j), items[named(table, cells, line, "item")])
        comparison = comparisons.setdefault(key, _Comparison(line, np.zeros(3), dict.fromkeys(columns, -1)))
        human = _outcome(cells[table.column("human")], table.at(line), "human", turned=turned)
        if human >= 0:
            comparison.human[human] += 1
        for name, k in columns.items():
            said, known = _outcome(cells[k], table.at(line), name, turned=turned), comparison.said[name]
            if said >= 0 and known >= 0 and said != known:
                raise InputError(
                    f"{table.at(line)}: {name} says {OUTCOMES[said]} of what it said {OUTCOMES[known]} of in line "
                    f"{comparison.line}; repeats are humans', a metric compares two outputs once"
                )
            comparison.said[name] = max(said, known)
    check_systems(len(systems), table)
    return _compared(comparisons, systems, items)


@dataclass(frozen=True, slots=True)
class _Comparison:
    line: int
    human: Floats
    said: dict[str, int]


def _compared(
    comparisons: Mapping[tuple[int, int, int], _Comparison], systems: Mapping[str, int], items: Mapping[str, int]
) -> Preferences:
    names = tuple(systems)
    pairs = {key: index for index, key in enumerate(sorted({key[:2] for key in comparisons}))}
    pair = np.array([pairs[key[:2]] for key in comparisons])
    count = np.array([comparison.human for comparison in comparisons.values()])
    ratings = np.zeros((len(pairs), 3))
    np.add.at(ratings, pair, count)
    total = count.sum(1, keepdims=True)
    metrics = next(iter(comparisons.values())).said
    return Preferences(
        pair,
        np.array([key[2] for key in comparisons]),
        np.divide(count, total, out=np.zeros_like(count), where=total > 0),
        ratings,
        tuple((names[i], names[j]) for i, j in pairs),
        names,
        len(items),
        {name: np.array([comparison.said[name] for comparison in comparisons.values()]) for name in metrics},
    )


def _pair_reader(table: Table) -> Callable[[Sequence[str], int], tuple[str, str]]:
    """Return what reads the two systems of a row: from two columns, or from a name such as `A|B`."""

    def from_columns(cells: Sequence[str], line: int) -> tuple[str, str]:
        first, second = (named(table, cells, line, column) for column in ("system_a", "system_b"))
        if first == second:
            raise InputError(
                f"{table.at(line)}: system_a and system_b are both {legible(first, 40)}; compare two systems"
            )
        return first, second

    def from_name(cells: Sequence[str], line: int) -> tuple[str, str]:
        name = named(table, cells, line, "pair")
        parts = [part.strip() for part in name.split("|")]
        if len(parts) != 2 or not all(parts) or parts[0] == parts[1]:
            raise InputError(
                f"{table.at(line)}: pair={legible(name, 40)!r} must name two systems, as in A|B; or give "
                "columns system_a and system_b"
            )
        return parts[0], parts[1]

    return from_columns if "system_a" in table.header else from_name


def _outcome(text: str, where: str, column: str, *, turned: bool) -> int:
    if text.lower() in MISSING:
        return -1
    if text not in OUTCOMES:
        raise InputError(
            f"{where}: {column}={legible(text, 40)!r} must be >, = or < (or empty); name the metrics' columns with "
            "--metrics"
        )
    outcome = OUTCOMES.index(text)
    return 2 - outcome if turned else outcome
