"""Conclude as planned: by the analysis of the plan, and with all that leaves the plan said."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from simlab.answers.conclude import Conclusion, Promise, Rank, ranked
from simlab.concluding import exported
from simlab.concluding.assigning import missing, unblinding
from simlab.concluding.assigning.unblinding import Sheets
from simlab.concluding.goals import figures
from simlab.concluding.looks import Looked, look
from simlab.concluding.plans import Plan, followed
from simlab.concluding.sheets import Read, refuse_events
from simlab.concluding.wanted import Wanted
from simlab.messages import legible, or_nearest, several
from simlab.tables.held import NOTHING
from simlab.types import COMPARE, JUDGE, RATE, Collected, InputError

LOST = 0.05
"""Up to such a share of answers may be lost; a table that lacks more was looked at before its plan's end."""

Say = Callable[[str], None]


def conclude(table: Path, wanted: Wanted, plan: Plan, say: Say) -> Conclusion:
    """Conclude from a table by its plan; record the look.

    Raises InputError for a table that contradicts its plan.
    """
    if plan.question not in (RATE, COMPARE, JUDGE):
        raise InputError(f"{legible(table)}: nothing is concluded from studies that ask to {plan.question}")
    if wanted.second is not None:
        raise InputError(f"{legible(wanted.second)}: a plan is that of one table; leave the second out, or --plan")
    _refuse_ignored(wanted, plan)
    read = reading(table, wanted, plan)
    if not wanted.look and is_unfinished(read, plan):
        n, planned = len(read.collected.seen.value), read.planned
        listed = "" if plan.sheets is None or read.unlisted else f" ({missing.NAME} beside the key lists the rest)"
        raise InputError(
            f"{legible(table)}: holds {n:,} of {planned:,} planned answers{listed}, and the plan promises something of "
            "one look at its end; wait for the rest, see with --check what is there, or look now, which withdraws the "
            "promise: --look"
        )
    found = of_collected(without_raters(read.collected, wanted, table), wanted, plan, say)
    # A conclusion that is refused shows nothing, and is no look.
    looked = look(plan.file, plan.digest, read.collected)
    if plan.sheets is not None and not wanted.exclude:
        found = found.changed(line=_line(found.line, read, plan.sheets))
    return judged(found, read, plan, looked)


def _line(line: str, read: Read, sheets: Sheets) -> str:
    """Say of how many planned ratings a line on those that came speaks."""
    n, file = len(read.collected.seen.value), sheets.key.with_name(missing.NAME)
    said = f"{n:,} of {read.planned:,} planned ratings: {line.partition(' of ')[2]}"
    listed = f" ({missing.NAME})" if missing.is_own(file) else ""
    return said if n == read.planned else f"{said}; {read.planned - n:,} missing{listed}"


def _refuse_ignored(wanted: Wanted, plan: Plan) -> None:
    """Raise InputError for options that a plan of this kind leaves without meaning."""
    told, exported_one = wanted.told, plan.told is not None
    ignored = [
        ("--metric", bool(wanted.metrics) and (exported_one or plan.question == RATE)),
        ("--threshold", wanted.threshold is not None),
        ("--adequate-from", wanted.adequate_from is not None and (exported_one or plan.question != JUDGE)),
        ("--margin", wanted.margin is not None and plan.question == JUDGE),
        (
            "--better, --scale, --people, --where, --alike, --wide and --decimal",
            exported_one and replace(told, columns={}) != NOTHING,
        ),
    ]
    for option, given in ignored:
        if given:
            raise InputError(f"{option}: means nothing beside the plan {legible(plan.path)}; leave it out")


def reading(table: Path, wanted: Wanted, plan: Plan) -> Read:
    """Take a table for what was collected by its plan; raise InputError where it contradicts it."""
    if plan.told is not None and plan.sheets is not None:
        return unblinding.read(table, plan.sheets, plan.config, plan.told, wanted.told.columns)
    if plan.told is not None:
        return exported.read(table, plan.config, plan.told, wanted.told.columns)
    refuse_events(table)
    if plan.question == RATE:
        from simlab.concluding.ratings.by_plan import of_plan
    elif plan.question == COMPARE:
        from simlab.concluding.preferences.by_plan import of_plan
    else:
        from simlab.concluding.judgements.by_plan import of_plan
    return of_plan(table, wanted, plan.config)


def of_collected(collected: Collected, wanted: Wanted, plan: Plan, say: Say) -> Conclusion:
    """Conclude from what was collected by a plan, table or campaign."""
    if plan.question == RATE:
        from simlab.concluding.ratings.planned import concluded

        wanted = wanted if plan.goals is None else replace(wanted, unit=plan.goals.unit_of(collected.seen.value))
    elif plan.question == COMPARE:
        from simlab.concluding.preferences.ruled import concluded
    else:
        from simlab.concluding.judgements.estimated import concluded
    return concluded(plan.config, collected, wanted, say)


def without_raters(collected: Collected, wanted: Wanted, table: Path) -> Collected:
    """Leave out what raters said who are to be excluded; raise InputError for one that is not there."""
    if not wanted.exclude:
        return collected
    names, seen = collected.frame.rater_names, collected.seen
    for name in wanted.exclude:
        if name not in names:
            hint = or_nearest(name, names, "it has", 300) if names else "raters are not named there"
            raise InputError(f"--exclude {legible(name, 60)}: {legible(table)} has no such rater; {hint}")
    out = [names.index(name) for name in wanted.exclude]
    keep = [k for k, rater in enumerate(seen.rater.tolist()) if rater not in out]
    if not keep:
        raise InputError(f"--exclude {', '.join(wanted.exclude)}: nobody else rated; leave somebody in")
    fields = ("unit", "item", "rater", "value", "errors", "order", "at")
    kept = {name: getattr(seen, name)[keep] for name in fields if getattr(seen, name) is not None}
    return replace(collected, seen=replace(seen, **kept))


def judged(found: Conclusion, read: Read, plan: Plan, looked: Looked) -> Conclusion:
    """Say whether the plan's promise holds at this look."""
    unkept = [line for line in (looked.warning, read.unlisted) if line]
    warnings = (*found.warnings, *ranked(Rank.PROMISE, unkept))
    broken = _broken(found.promise, read, looked, plan)
    promise = found.promise.changed(holds=False, broken=broken) if broken else found.promise
    # A table without sheets does not say what was paid.
    paid = math.nan if plan.told is None else float(read.collected.paid["cost"])
    # A campaign on a clock knows what was worked; a table says it where it has times.
    hours = read.hours if plan.told is None else float(read.collected.paid.get("hours", math.nan))
    targets = () if plan.goals is None else figures(plan.goals, found, paid, hours)
    said = followed(plan, read.planned, read.deviations, looked, targets)
    return found.changed(promise=promise, plan=said, warnings=warnings)


def _broken(promise: Promise, read: Read, looked: Looked, plan: Plan) -> str:
    """Say why a promise that was made of the plan's end does not hold ("": it does)."""
    if promise.broken or promise.name == "anytime":
        return promise.broken
    if looked.earlier:
        return (
            "the plan promises something of one look, at its end, and this table was looked at before: "
            f"{several(len(looked.earlier), 'earlier look')}"
        )
    if is_unfinished(read, plan):
        n, planned = len(read.collected.seen.value), read.planned
        return f"this is an interim look, at {n:,} of {planned:,} planned answers"
    return ""


def is_unfinished(read: Read, plan: Plan) -> bool:
    """True for a table short of the end of which its plan promises something."""
    n, planned = len(read.collected.seen.value), read.planned
    if plan.question == COMPARE:
        from simlab.concluding.preferences.ruled import promise_of

        anytime = promise_of(plan.config["decision"], read.collected.frame.n_systems).name == "anytime"
        return n < planned and not anytime
    return n < (1 - LOST) * planned
