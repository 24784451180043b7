"""Read any table about metrics: outputs scored by humans, pairs compared by humans, or scores of corrupted sentences.

Call `read`, which returns `JudgedOutputs`, `Preferences` or `ScoredTrials`. The last are the unit tests of a metric, as
`simlab mutt TRIALS --scores FILE.csv` writes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from simlab.messages import clip, suggest
from simlab.tables import judged_outputs, preferences
from simlab.tables.cells import CellTable, check_wanted, load_answers, number, read_name, rename
from simlab.tables.judged_outputs import JudgedOutputs
from simlab.tables.names import Numbers
from simlab.tables.preferences import Preferences
from simlab.tables.rating_table import NOTHING, ColumnOverrides
from simlab.types import Array, Floats, InputError, Ints

FORM_OF_TRIALS = "the scores that `simlab mutt TRIALS --scores FILE.csv` writes"
FORMS = f"{judged_outputs.FORM}, {preferences.FORM}, or {FORM_OF_TRIALS}"


@dataclass(frozen=True, slots=True)
class ScoredTrials:
    """Unit tests of one metric: its scores `original[trial]` and `corrupted[trial]`, NaN where one is missing.

    `corruption[trial]` numbers the kinds of corruption, `preserving[trial]` is True for corruptions that keep the
    meaning.
    """

    name: str
    lower_is_better: bool
    corruption: Ints
    preserving: Array
    original: Floats
    corrupted: Floats


Evidence: TypeAlias = JudgedOutputs | Preferences | tuple[ScoredTrials, ...]


def read(
    path: Path, overrides: ColumnOverrides = NOTHING, metrics: Sequence[str] = (), references: int | None = None
) -> Evidence:
    """Read a table, whichever of the three forms its header has; `metrics` are those to be read (empty: all).

    `references`: of scores of corrupted sentences, those with this number of references (None: all have the same).
    Raises InputError naming file, line and value for tables of no form, malformed ones, and missing metrics.
    """
    _check_told(overrides.columns)
    table = load_answers(path, FORMS, overrides)
    if "pass_rate" in table.header:
        raise InputError(
            f"{table.where}: pass rates come from two rules with clashing margins and make no matrix; give the scores "
            "themselves: simlab mutt TRIALS --scores FILE.csv"
        )
    if holds_trials(table.header):
        return trials_of_table(rename(table, {}, overrides.columns), metrics, references)
    if references is not None:
        raise InputError("--references belongs to scores of unit tests; leave it out for this table")
    return _read_humans(table, overrides, metrics)


def _read_humans(table: CellTable, overrides: ColumnOverrides, metrics: Sequence[str]) -> JudgedOutputs | Preferences:
    compared = rename(table, preferences.USUAL, overrides.columns)
    if preferences.holds(compared.header):
        return preferences.read_table(compared, metrics, overrides)
    scored = judged_outputs.name_columns(table, overrides.columns)
    if judged_outputs.holds(scored.header):
        return judged_outputs.read_table(scored, metrics, overrides)
    there = clip(", ".join(table.header), 120)
    raise InputError(
        f"{table.where}: columns {there} are no table of {FORMS}; or name them with --columns ours=yours,..."
    )


def _check_told(columns: Mapping[str, str]) -> None:
    ours = {**judged_outputs.USUAL, **preferences.USUAL, "human": (), "pair": (), "source": (), "segment": ()}
    for name in columns:
        if name not in ours and not name.startswith("human_"):
            raise InputError(f"--columns {clip(name, 40)}: is no column that is read; {suggest(name, ours)}")


def describe(evidence: Evidence, *, lower_is_better: bool | None = None) -> str:
    """Return a line on the table; `lower_is_better` is the user's word on human scores (None: none given)."""
    if isinstance(evidence, JudgedOutputs):
        return judged_outputs.describe(evidence, lower_is_better=lower_is_better)
    return preferences.describe(evidence) if isinstance(evidence, Preferences) else describe_trials(evidence)


def record(evidence: Evidence, *, lower_is_better: bool = False) -> dict[str, Any]:
    """Return the JSON record of the table; `lower_is_better` is the user's word on human scores."""
    if isinstance(evidence, JudgedOutputs):
        return judged_outputs.record(evidence, lower_is_better=lower_is_better)
    return preferences.record(evidence) if isinstance(evidence, Preferences) else record_of_trials(evidence)


def holds_trials(header: Sequence[str]) -> bool:
    """True if columns are those of unit tests."""
    return {"original", "corrupted", "kind", "metric"} <= set(header)


def trials_of_table(table: CellTable, chosen: Sequence[str], references: int | None) -> tuple[ScoredTrials, ...]:
    """Return the trials of each metric of `chosen` (empty: all), with one number of references.

    Raises InputError for malformed rows, and for missing metrics.
    """
    table = CellTable(table.where, table.header, list(table.rows))
    if "references" in table.header:
        table = _keep_references(table, references)
    names: dict[str, list[tuple[int, list[str]]]] = {}
    for line, cells in table.rows:
        names.setdefault(read_name(table, cells, line, "metric"), []).append((line, cells))
    check_wanted(chosen, names, table.where)
    return tuple(_read_trials(table, name, names[name]) for name in chosen or names)


def describe_trials(trials: Sequence[ScoredTrials]) -> str:
    """Return a line on the trials: their number, kinds of corruption and metrics."""
    n = sum(len(trials.original) for trials in trials)
    kinds = max(len(np.unique(trials.corruption)) for trials in trials)
    return f"{n:,} trials of {kinds} kinds of corruption; metrics {', '.join(trials.name for trials in trials)}"


def record_of_trials(trials: Sequence[ScoredTrials]) -> dict[str, Any]:
    """Return the JSON record of the trials."""
    n = sum(len(trials.original) for trials in trials)
    whole = sum(int((np.isfinite(trials.original) & np.isfinite(trials.corrupted)).sum()) for trials in trials)
    nothing = dict.fromkeys(("systems", "documents", "raters", "better", "scale"))
    return {"rows": n, "used": whole, "gaps": n - whole, **nothing, "metrics": [trials.name for trials in trials]}


def _keep_references(table: CellTable, wanted: int | None) -> CellTable:
    """Keep the trials with one number of references; raise InputError where there are several and none is chosen."""
    at = table.column("references")
    there = list(dict.fromkeys(cells[at] for _, cells in table.rows))
    if wanted is None and len(there) > 1:
        raise InputError(
            f"{table.where}: trials have {clip(', '.join(there), 60)} references, and a metric is another with "
            f"each; choose --references {there[0]}"
        )
    if wanted is not None and str(wanted) not in there:
        raise InputError(
            f"--references {wanted}: {table.where} has trials with {clip(', '.join(there), 60)}; choose one"
        )
    chosen = there[0] if wanted is None else str(wanted)
    return CellTable(table.where, table.header, [row for row in table.rows if row[1][at] == chosen])


def _read_trials(table: CellTable, name: str, rows: Sequence[tuple[int, list[str]]]) -> ScoredTrials:
    kinds = Numbers()
    corruption, preserving, scores, lower = [], [], [], set()
    for line, cells in rows:
        kind = cells[table.column("kind")]
        if kind not in ("altering", "disrupting", "preserving"):
            raise InputError(
                f"{table.locate(line)}: kind={clip(kind, 40)!r} must be altering, disrupting or preserving"
            )
        preserving.append(kind == "preserving")
        corruption.append(kinds[cells[table.column("corruption")] if "corruption" in table.header else kind])
        scores.append([number(cells[table.column(c)], table.locate(line), c) for c in ("original", "corrupted")])
        lower.add(cells[table.column("lower_is_better")].lower() if "lower_is_better" in table.header else "false")
    if len(lower) > 1 or not lower <= {"true", "false"}:
        raise InputError(
            f"{table.where}: lower_is_better of {clip(name, 40)} is {clip(', '.join(sorted(lower)), 60)}; it "
            "must be True or False, the same in all its rows"
        )
    both = np.array(scores)
    return ScoredTrials(name, lower == {"true"}, np.array(corruption), np.array(preserving), both[:, 0], both[:, 1])
