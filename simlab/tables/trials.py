"""Read the scores of a metric's unit tests, as `simlab mutt TRIALS --scores FILE.csv` writes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simlab.messages import legible
from simlab.tables.cells import Table, check_wanted, named, number
from simlab.tables.names import Numbers
from simlab.types import Array, Floats, InputError, Ints

FORM = "the scores that `simlab mutt TRIALS --scores FILE.csv` writes"


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


def holds(header: Sequence[str]) -> bool:
    """Say whether columns are those of unit tests."""
    return {"original", "corrupted", "kind", "metric"} <= set(header)


def of_table(table: Table, chosen: Sequence[str], references: int | None) -> tuple[Trials, ...]:
    """Read the trials of each metric, with one number of references.

    Raises InputError for what is malformed, or asked for and not there.
    """
    table = Table(table.where, table.header, list(table.rows))
    if "references" in table.header:
        table = _with_references(table, references)
    names: dict[str, list[tuple[int, list[str]]]] = {}
    for line, cells in table.rows:
        names.setdefault(named(table, cells, line, "metric"), []).append((line, cells))
    check_wanted(chosen, names, table.where)
    return tuple(_trials_of(table, name, names[name]) for name in chosen or names)


def understood(held: Sequence[Trials]) -> str:
    """Say in one line what was read."""
    n = sum(len(trials.original) for trials in held)
    kinds = max(len(np.unique(trials.corruption)) for trials in held)
    return f"{n:,} trials of {kinds} kinds of corruption; metrics {', '.join(trials.name for trials in held)}"


def record(held: Sequence[Trials]) -> dict[str, Any]:
    """Say the same to a program."""
    n = sum(len(trials.original) for trials in held)
    whole = sum(int((np.isfinite(trials.original) & np.isfinite(trials.corrupted)).sum()) for trials in held)
    nothing = dict.fromkeys(("systems", "documents", "raters", "better", "scale"))
    return {"rows": n, "used": whole, "gaps": n - whole, **nothing, "metrics": [trials.name for trials in held]}


def _with_references(table: Table, wanted: int | None) -> Table:
    """Keep the trials with one number of references; raise InputError where there are several and none is chosen."""
    at = table.column("references")
    there = list(dict.fromkeys(cells[at] for _, cells in table.rows))
    if wanted is None and len(there) > 1:
        raise InputError(
            f"{table.where}: trials have {legible(', '.join(there), 60)} references, and a metric is another with "
            f"each; choose --references {there[0]}"
        )
    if wanted is not None and str(wanted) not in there:
        raise InputError(
            f"--references {wanted}: {table.where} has trials with {legible(', '.join(there), 60)}; choose one"
        )
    chosen = there[0] if wanted is None else str(wanted)
    return Table(table.where, table.header, [row for row in table.rows if row[1][at] == chosen])


def _trials_of(table: Table, name: str, rows: Sequence[tuple[int, list[str]]]) -> Trials:
    kinds = Numbers()
    corruption, preserving, scores, lower = [], [], [], set()
    for line, cells in rows:
        kind = cells[table.column("kind")]
        if kind not in ("altering", "disrupting", "preserving"):
            raise InputError(f"{table.at(line)}: kind={legible(kind, 40)!r} must be altering, disrupting or preserving")
        preserving.append(kind == "preserving")
        corruption.append(kinds[cells[table.column("corruption")] if "corruption" in table.header else kind])
        scores.append([number(cells[table.column(c)], table.at(line), c) for c in ("original", "corrupted")])
        lower.add(cells[table.column("lower_is_better")].lower() if "lower_is_better" in table.header else "false")
    if len(lower) > 1 or not lower <= {"true", "false"}:
        raise InputError(
            f"{table.where}: lower_is_better of {legible(name, 40)} is {legible(', '.join(sorted(lower)), 60)}; it "
            "must be True or False, the same in all its rows"
        )
    both = np.array(scores)
    return Trials(name, lower == {"true"}, np.array(corruption), np.array(preserving), both[:, 0], both[:, 1])
