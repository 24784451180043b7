"""Read what a plan is to reach; what a study reaches by saying nothing is no target by itself."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from simlab.answers.plan import Smallest, Target
from simlab.config import bound_options
from simlab.measures.by_difference import power_at, power_from
from simlab.measures.labels import LABELS, RANGES
from simlab.messages import or_nearest, shown
from simlab.parts import bind
from simlab.store.measures import Measures
from simlab.types import InputError

USUAL = (Target(measure="power", least=0.8), Target(measure="no_wrong_claim", least=0.95))
FINDING = ("power", "power_from", "power_at", "significant_share")
"""Measures that a study without a claim does not reach."""
BY_SILENCE = ("no_wrong_claim", "srp", "confirmed", "type_s", "family_wise_error", "false_positive")
"""Measures, by how their names begin, that are at their best where nothing is claimed."""
ALWAYS = ("significant_share", "no_wrong_claim", "money", "ended_as_planned", "ended_by_money", "ended_by_deadline")
ON_A_CLOCK = ("hours", "days", "ended_by_nobody")
CROSSED = ("srp_new_study", "confirmed_new_study", "srp_new_documents")
"""Measures that need other raters, or other documents, for the same systems."""
SAME_AGAIN = ("srp", "srp_given_any", "srp_disjoint", "srp_both_significant", "confirmed")
"""Measures of what the same raters say of the same documents again."""
RATERS_ANEW, DOCUMENTS_ANEW = ("_new_raters", "_new_study"), ("_new_documents", "_new_study")
WITHIN = 1.6
"""Pairs that truly differ by up to so many times the smallest difference, or as little, say what power there is."""


def read(target: str | None, floor: str | None) -> tuple[Target, ...]:
    """Read `M=X[,M=X]` of both; without a target, power .8 and no wrong claim in .95 of studies.

    `no_wrong_claim` stays wanted unless something else is said of it. Raises InputError for a measure that there is
    not, or that is no share, and for targets that are met by silence.

    >>> read("power=.7", None)
    (Target(measure='power', least=0.7, floor=False), Target(measure='no_wrong_claim', least=0.95, floor=False))
    """
    wanted = _typed("--target", target, floor=False) if target is not None else USUAL[:1]
    wanted += _typed("--floor", floor, floor=True) if floor is not None else ()
    named = [one.measure for one in wanted]
    for name in named:
        if named.count(name) > 1:
            raise InputError(f"{name} is a target twice; say once how large it is to be")
    if not any(name in FINDING for name in named):
        silent = next((name for name in named if name.startswith(BY_SILENCE)), named[0])
        raise InputError(
            f"--target {silent}: a study that claims nothing reaches it; add a floor on what is found, such as "
            "--floor power=.5"
        )
    return wanted if "no_wrong_claim" in named else (*wanted, USUAL[1])


def _typed(option: str, text: str, *, floor: bool) -> tuple[Target, ...]:
    return tuple(_target(option, part.strip(), floor=floor) for part in text.split(","))


def _target(option: str, text: str, *, floor: bool) -> Target:
    name, equals, written = (part.strip() for part in text.partition("="))
    if not name:
        raise InputError(f"{option} {shown(text)}: names no measure; write one with the share wanted, such as power=.8")
    known = [*(measure for measure, span in RANGES.items() if (span.least, span.greatest) == (0.0, 1.0)), "power_at"]
    if name not in bound_options("measure"):
        raise InputError(f"{option} {shown(text)}: {shown(name)} is no measure; {or_nearest(name, known)}")
    if name not in known:
        raise InputError(f"{option} {shown(text)}: {name} is no share, and targets are shares that are to be large")
    if LABELS.get(name, {}).get("less_is_better"):
        raise InputError(f"{option} {shown(text)}: less is better of {name}; write what is to be large, no_wrong_claim")
    try:
        least = float(written) if equals else float("nan")
    except ValueError:
        least = float("nan")
    if not 0 < least < 1:
        raise InputError(f"{option} {shown(text)}: say which share it is to be at least, such as {name}=.8")
    return Target(measure=name, least=least, floor=floor)


def measures(targets: tuple[Target, ...], smallest: Smallest, *, clock: bool) -> Measures:
    """Bind what is measured of every design: the targets, and what stands beside them.

    `power` is that of the differences that matter, `power_at` that of exactly the smallest of them.
    """
    options: Mapping[str, Any] = bound_options("measure")
    names = dict.fromkeys([*(one.measure for one in targets), *ALWAYS, *(ON_A_CLOCK if clock else ())])
    found = {name: bind(options[name]) for name in names}
    matters = partial(power_from, smallest=smallest.value)
    return found | {
        **{name: matters for name in ("power", "power_from") if name == "power" or name in found},
        "power_at": partial(power_at, smallest=smallest.value, within=WITHIN),
    }


class Replicates(NamedTuple):
    """Say how many pools of raters, draws of documents, and studies with the same of both, each world has."""

    pools: int = 1
    draws: int = 1
    studies: int = 1


def replicated(targets: tuple[Target, ...]) -> Replicates:
    """Return what each world needs for its targets to be measured."""
    names = [one.measure for one in targets]
    return Replicates(
        1 + any(name.endswith(RATERS_ANEW) for name in names),
        1 + any(name.endswith(DOCUMENTS_ANEW) for name in names),
        1 + any(name in SAME_AGAIN for name in names),
    )


def crossed(found: Measures) -> Measures:
    """Add what needs other raters and other documents for the same systems."""
    options: Mapping[str, Any] = bound_options("measure")
    return {**found, **{name: bind(options[name]) for name in CROSSED}}
