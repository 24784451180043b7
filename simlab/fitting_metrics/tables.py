"""Read what a metric said: of outputs that humans scored, of pairs that humans compared, or of corrupted sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from simlab.fitting_metrics.cells import (
    FORMS,
    Numbers,
    Table,
    check_systems,
    human_columns,
    load,
    metric_columns,
    named,
    no_metric,
    number,
)  # fmt: skip
from simlab.fitting_metrics.data import Data, Outputs, Trials
from simlab.fitting_metrics.preferences import preferences
from simlab.messages import legible
from simlab.types import Floats, InputError


def read(path: Path, metrics: Sequence[str] = (), references: int | None = None) -> Data:
    """Read a table, whichever of the three forms its header says; `metrics` names the metrics to be fitted (all).

    Raises InputError naming file, line and value for what is none of them, malformed, or asked for and not there.
    """
    table = load(path)
    names = set(table.header)
    if "pass_rate" in names:
        raise InputError(
            f"{table.where}: pass rates come from two rules with clashing margins and make no matrix; give the scores "
            "themselves: simlab mutt TRIALS --scores FILE.csv"
        )
    if {"original", "corrupted", "kind", "metric"} <= names:
        return _trials(table, metrics, references)
    if references is not None:
        raise InputError("--references belongs to scores of unit tests; leave it out for this table")
    if "item" in names and "human" in names and ({"system_a", "system_b"} <= names or "pair" in names):
        return preferences(table, metrics)
    if {"system", "item"} <= names and human_columns(table):
        return _outputs(table, metrics)
    raise InputError(f"{table.where}: columns {legible(', '.join(table.header), 120)} are no table of {FORMS}")


class _Collected:
    """Collect the ratings and scores of outputs, whose rows may be several."""

    def __init__(self, metrics: Sequence[str]) -> None:
        self.ratings: list[list[float]] = []
        self.scores: dict[str, list[float]] = {name: [] for name in metrics}
        self.lines: list[int] = []

    def add(self, line: int) -> None:
        """Make room for an output that a line names first."""
        self.ratings.append([])
        self.lines.append(line)
        for column in self.scores.values():
            column.append(math.nan)

    def score(self, output: int, name: str, value: float, where: str) -> None:
        """Keep the score of an output; raise InputError where it had another."""
        known = self.scores[name][output]
        if not (math.isnan(value) or math.isnan(known) or value == known):
            raise InputError(
                f"{where}: {name}={value:g}, and {known:g} in line {self.lines[output]} for the same output; repeats "
                "are humans', a metric has one score of it"
            )
        self.scores[name][output] = known if math.isnan(value) else value


def _outputs(table: Table, chosen: Sequence[str]) -> Outputs:
    """Read outputs; rows of the same system and item, and several human columns, are repeats."""
    columns, human = metric_columns(table, chosen), human_columns(table)
    systems, items, outputs, collected = Numbers(), Numbers(), Numbers(), _Collected(list(columns))
    for line, cells in table.rows:
        system, item = (named(table, cells, line, column) for column in ("system", "item"))
        output = outputs[systems[system], items[item]]
        if output == len(collected.ratings):
            collected.add(line)
        given = [number(cells[k], table.at(line), table.header[k]) for k in human]
        collected.ratings[output] += [value for value in given if not math.isnan(value)]
        for name, k in columns.items():
            collected.score(output, name, number(cells[k], table.at(line), name), table.at(line))
    check_systems(len(systems), table)
    at = np.array(list(outputs), np.int64)
    scores = {name: np.array(column) for name, column in collected.scores.items()}
    return Outputs(at[:, 0], at[:, 1], tuple(systems), len(items), _padded(collected.ratings), scores)


def _padded(ratings: Sequence[Sequence[float]]) -> Floats:
    padded = np.full((len(ratings), max(1, max(map(len, ratings)))), np.nan)
    for row, values in zip(padded, ratings, strict=True):
        row[: len(values)] = values
    return padded


def _trials(table: Table, chosen: Sequence[str], references: int | None) -> tuple[Trials, ...]:
    if "references" in table.header:
        table = _with_references(table, references)
    names: dict[str, list[tuple[int, list[str]]]] = {}
    for line, cells in table.rows:
        names.setdefault(named(table, cells, line, "metric"), []).append((line, cells))
    for name in chosen:
        if name not in names:
            raise no_metric(name, table, names)
    return tuple(_trials_of(table, name, names[name]) for name in chosen or names)


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
