"""Read whatever tells of metrics: outputs that humans scored, pairs that humans compared, or corrupted sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from simlab.messages import legible, or_nearest
from simlab.tables import judged, preferences, trials
from simlab.tables.cells import Table, load_answers, renamed
from simlab.tables.held import NOTHING, Told
from simlab.tables.judged import Outputs
from simlab.tables.preferences import Preferences
from simlab.tables.trials import Trials
from simlab.types import InputError

Evidence: TypeAlias = Outputs | Preferences | tuple[Trials, ...]
FORMS = f"{judged.FORM}, {preferences.FORM}, or {trials.FORM}"


def read(path: Path, told: Told = NOTHING, metrics: Sequence[str] = (), references: int | None = None) -> Evidence:
    """Read a table, whichever of the three forms its header says; `metrics` names the metrics to be read (all).

    Raises InputError naming file, line and value for what is none of them, malformed, or asked for and not there.
    """
    _check_told(told.columns)
    table = load_answers(path, FORMS, told)
    if "pass_rate" in table.header:
        raise InputError(
            f"{table.where}: pass rates come from two rules with clashing margins and make no matrix; give the scores "
            "themselves: simlab mutt TRIALS --scores FILE.csv"
        )
    if trials.holds(table.header):
        return trials.of_table(renamed(table, {}, told.columns), metrics, references)
    if references is not None:
        raise InputError("--references belongs to scores of unit tests; leave it out for this table")
    return _of_humans(table, told, metrics)


def _of_humans(table: Table, told: Told, metrics: Sequence[str]) -> Outputs | Preferences:
    compared = renamed(table, preferences.USUAL, told.columns)
    if preferences.holds(compared.header):
        return preferences.of_table(compared, metrics, told)
    scored = judged.with_runs(table, told.columns)
    if judged.holds(scored.header):
        return judged.of_table(scored, metrics, told)
    there = legible(", ".join(table.header), 120)
    raise InputError(
        f"{table.where}: columns {there} are no table of {FORMS}; or name them with --columns ours=yours,..."
    )


def _check_told(columns: Mapping[str, str]) -> None:
    ours = {**judged.USUAL, **preferences.USUAL, "human": (), "pair": (), "source": (), "segment": ()}
    for name in columns:
        if name not in ours and not name.startswith("human_"):
            raise InputError(f"--columns {legible(name, 40)}: is no column that is read; {or_nearest(name, ours)}")


def understood(held: Evidence, *, lower_is_better: bool | None = None) -> str:
    """Say in one line what was read; `lower_is_better` as the user says of human scores, None: nothing."""
    if isinstance(held, Outputs):
        return judged.understood(held, lower_is_better=lower_is_better)
    return preferences.understood(held) if isinstance(held, Preferences) else trials.understood(held)


def record(held: Evidence, *, lower_is_better: bool = False) -> dict[str, Any]:
    """Say the same to a program; `lower_is_better` as the user says of human scores."""
    if isinstance(held, Outputs):
        return judged.record(held, lower_is_better=lower_is_better)
    return preferences.record(held) if isinstance(held, Preferences) else trials.record(held)
