"""Conclude from one campaign (a simulated study) of a store, as an analyst would who sees its ratings only.

`conclude_campaign` is what `simlab conclude DIR` does; `separate_folder` tells such a line from one that names tables.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from simlab.answers.conclude import Conclusion
from simlab.commands.notes import note, program
from simlab.concluding.concluding import refuse_misplaced
from simlab.concluding.options import ConcludeOptions
from simlab.messages import clip, show
from simlab.types import InputError, Place

if TYPE_CHECKING:
    from simlab.commands.export import RepeatedCampaign

MOST_ROUNDS = 8
"""Rounds of comparisons whose numbers of undecided pairs are printed."""


def separate_folder(
    words: Sequence[str], place: Mapping[str, int | None], plan: Path | None
) -> tuple[Path | None, list[str]]:
    """Return the folder of a store that the words begin with, and conditions on its axes; None where tables are meant.

    `place` holds the options `world`, `pool`, `draw` and `study` (None: not given). With a plan, a folder that is no
    store holds filled sheets. Raises InputError for what goes with a folder only, and for a plan beside one: its
    campaigns have their own.
    """
    from simlab.engine import ledger_file

    folder = Path(words[0]) if words and Path(words[0]).is_dir() else None
    if folder is not None and plan is not None and not (folder / ledger_file.FILE).exists():
        folder = None
    given = [f"--{name} {value}" for name, value in place.items() if value is not None]
    if folder is None and given:
        raise InputError(f"{given[0]}: names a campaign of a store, and no folder is named; write conclude DIR")
    if folder is not None and plan is not None:
        raise InputError(f"--plan {clip(plan)}: a campaign of {clip(folder)} has its own plan; leave it out")
    return folder, list(words[1:]) if folder else []


def conclude_campaign(
    folder: Path,
    conditions: Sequence[str],
    place: Mapping[str, int | None],
    wanted: ConcludeOptions,
    plugins: Sequence[str] = (),
) -> tuple[Conclusion, str, Sequence[str]]:
    """Carry out a campaign again up to its collected ratings, and conclude from these as its study does.

    `place` are the indices of the campaign (None: 0) in the cell that `conditions` name; `wanted` are the options of
    the conclusion. Returns the conclusion, the command that comes next, and lines on how it differs from the campaign
    that the folder keeps. Raises InputError for a campaign that the folder does not hold, and for what a table alone
    can be asked.
    """
    from simlab.commands.export import repeat_campaign
    from simlab.concluding.campaigns import digest
    from simlab.concluding.plan_compliance import conclude_collected
    from simlab.concluding.plans import LoadedPlan
    from simlab.studies.kinds import identify_kind

    if wanted.level is not None:
        raise InputError(f"--level {wanted.level:g}: the study of {clip(folder)} has its own; leave it out")
    for option, given in _list_table_options(wanted):
        if given:
            raise InputError(f"{option}: is for tables; export a campaign of {clip(folder)} first")
    at = Place(*((place.get(name) or 0) for name in Place._fields))
    again = repeat_campaign(folder, conditions, at, plugins)
    question = identify_kind(again.config).question
    refuse_misplaced(wanted, question)
    plan = LoadedPlan(folder, question, again.config, digest(again.config), None, folder)
    conclusion = conclude_collected(again.collected, replace(wanted, again=False), plan, note)
    conclusion = conclusion.replace_fields(
        line=f"{_locate(again)}: {conclusion.line}", lines=(*conclusion.lines, *_rounds(conclusion))
    )
    return conclusion, _export(folder, conditions, at), again.doubts


def _list_table_options(wanted: ConcludeOptions) -> list[tuple[str, bool]]:
    """Return each option that describes a table, or changes what is read of it, and whether it is given."""
    overrides = wanted.column_overrides
    return [
        ("--exclude", bool(wanted.exclude)),
        ("--consensus", wanted.consensus),
        ("--metric", bool(wanted.metrics)),
        ("--adequate-from", wanted.adequate_from is not None),
        ("--threshold", wanted.threshold is not None),
        ("--columns", bool(overrides.columns)),
        ("--better", overrides.better is not None),
        ("--scale", overrides.scale is not None),
        ("--people", overrides.people is not None),
        ("--where", bool(overrides.where)),
        ("--alike", overrides.alike != "refuse"),
        ("--wide", bool(overrides.wide)),
        ("--decimal", overrides.decimal is not None),
    ]


def _locate(again: RepeatedCampaign) -> str:
    from simlab.commands.export import name_campaign

    cell = [f"{name}={show(value)}" for name, value in again.cell.items()]
    return ", ".join([*cell, name_campaign(again.place)])


def _rounds(conclusion: Conclusion) -> list[str]:
    """Format the number of undecided pairs after the first round of comparisons, the last, and some between."""
    collected, undecided = conclusion.about.get("rounds", []), conclusion.about.get("undecided", [])
    rounds = [f"{n:,}: {left}" for n, left in zip(collected, undecided, strict=True)]
    kept = sorted({round(k * (len(rounds) - 1) / (MOST_ROUNDS - 1)) for k in range(MOST_ROUNDS)}) if rounds else []
    return [f"Undecided pairs after so many comparisons: {', '.join(rounds[k] for k in kept)}."] if kept else []


def _export(folder: Path, conditions: Sequence[str], at: Place) -> str:
    words = ["export", str(folder), *conditions]
    words += [word for name, value in at._asdict().items() if value for word in (f"--{name}", str(value))]
    return f"{program()} {shlex.join([*words, '--out', 'campaign.csv'])}"
