"""Conclude from a table of preferences: a partial order under a promise, strengths, and what would settle the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from simlab.analysis.preferences.partial_order import partial_order
from simlab.answers.conclude import Conclusion, Pair
from simlab.concluding.consistency import kept_repetition
from simlab.concluding.gate import NOT_ASKED, seed_from_rows, unrepeated, with_gate
from simlab.concluding.preferences import limits, positions, settling, standing
from simlab.concluding.preferences.again import MOST, control, repetition
from simlab.concluding.preferences.claims import Claims, claims
from simlab.concluding.preferences.held import Held, named_pairs, of_table, without_raters
from simlab.concluding.preferences.metrics import agreement
from simlab.concluding.simulations import try_to_simulate
from simlab.concluding.standing import within
from simlab.concluding.unmet import unmet_people
from simlab.concluding.wanted import LEVEL, Wanted
from simlab.effort import current_effort
from simlab.fitting.preferences.moments import world_of
from simlab.messages import legible
from simlab.tables import preferences
from simlab.types import COMPARE, Bools, InputError

UNIT = "share of wins"


def conclude(table: Path, wanted: Wanted, say: Callable[[str], None]) -> Conclusion:
    """Conclude from a table; raise InputError for what cannot be read, or is asked wrongly."""
    _check(table, wanted)
    read = preferences.read(table, wanted.told, list(wanted.metrics) or None)
    left = without_raters(read, wanted)
    preferences.refuse_two_sorts(left, legible(table))
    held = of_table(left, legible(table))
    held = replace(
        held,
        line=preferences.understood(read),
        read=preferences.record(read),
        notes=(*read.notes, *agreement(read), *held.notes[len(read.notes) :]),
    )
    return _by_rule(table, held, wanted, say) if wanted.overrides else of_held(held, wanted, say)


def _check(table: Path, wanted: Wanted) -> None:
    """Raise InputError for what cannot be asked of comparisons."""
    if wanted.second is not None:
        raise InputError(f"{legible(wanted.second)}: comparisons are concluded from one table; put the rows together")
    for option, value in (("--adequate-from", wanted.adequate_from), ("--threshold", wanted.threshold)):
        if value is not None:
            raise InputError(f"{option} is of scores, and {legible(table)} holds comparisons; leave it out")
    if wanted.margin is not None and wanted.margin >= 1:
        raise InputError(f"--margin {wanted.margin:g}: differences are shares of wins less losses; stay below 1")


def _by_rule(table: Path, held: Held, wanted: Wanted, say: Callable[[str], None]) -> Conclusion:
    """Conclude by a rule that is named, the comparisons that there are being taken for the planned ones."""
    from simlab.concluding.preferences.by_plan import of_plan
    from simlab.concluding.preferences.ruled import concluded
    from simlab.config import compose

    if wanted.exclude:
        raise InputError(f"{wanted.overrides[0]}: goes with all raters of a table; leave --exclude out")
    said = {word.partition("=")[0] for word in wanted.overrides}
    if wanted.level is not None and "decision.level" in said:
        raise InputError(f"--level {wanted.level:g}: decision.level is given, too; leave one of them out")
    usual = {"decision": "fixed", "seed": str(wanted.seed)}
    words = [f"{key}={value}" for key, value in usual.items() if key not in said]
    # An option comes before its keys.
    level = () if wanted.level is None else (f"decision.level={wanted.level!r}",)
    config = compose((f"question={COMPARE}", *words, *wanted.overrides, *level))
    most = int(np.bincount(held.votes.pair).max())
    config = {**config, "budget": {**config["budget"], "annotations_per_pair": most, "annotations": None}}
    return concluded(config, of_plan(table, wanted, config).collected, wanted, say)


def of_held(
    held: Held, wanted: Wanted, say: Callable[[str], None], *, broken: str = "", noted: bool = True
) -> Conclusion:
    """Conclude from votes; `say` is told what takes a while. `broken` says why a fixed promise does not hold."""
    level = wanted.level or LEVEL
    found = claims(held, wanted.promise or "fixed", _family(held, wanted), level, wanted.seed, broken)
    concluded = of_claims(held, found, wanted, say)
    return concluded.changed(notes=(*concluded.notes, *_notes(wanted))) if noted else concluded


def of_claims(held: Held, found: Claims, wanted: Wanted, say: Callable[[str], None]) -> Conclusion:
    """Put together what follows from claims, and what strengths say beside them."""
    level = found.promise.level
    stands = standing.standing(held, found, level, wanted.seed)
    order = partial_order(found.verdict, held.system_names)
    concluded = Conclusion(
        question=COMPARE,
        read=held.read,
        line=held.line,
        unit=UNIT,
        better="higher",
        promise=found.promise,
        systems=standing.systems(held, found, stands, level),
        pairs=pairs(held, found, wanted.margin),
        cycles=order.cycles,
        detectable=settling.detectable_difference(found),
        lines=(*positions.lines(held, level), *standing.lines(held, stands)),
        about=standing.about(held, stands, level) | _named(found, stands) | positions.record(held, level),
        limits=unmet_people(held.n_raters) if found.raters_drawn and held.rater_names else None,
        notes=(*held.notes, *found.notes),
        warnings=(
            *positions.warnings(held, found.family),
            *limits.limits(held, found),
            *standing.warnings(held, stands),
        ),
    )
    return _again(concluded, held, found, stands, wanted, say)


def _named(found: Claims, stands: standing.Standing) -> dict[str, Any]:
    """Name what differences are, and the methods that the conclusion rests on."""
    test = "anytime" if found.promise.name == "anytime" else "fixed" if found.way == "vote" else "flips"
    methods = [test, found.promise.multiplicity, *(["davidson"] if stands.fitted is not None else [])]
    return {"difference": "share of wins less share of losses", "methods": methods}


def _again(
    concluded: Conclusion,
    held: Held,
    found: Claims,
    stands: standing.Standing,
    wanted: Wanted,
    say: Callable[[str], None],
) -> Conclusion:
    """Hold a conclusion against studies with equal systems, then add how a repetition would come out."""
    n, fitted, scale = len(held.votes.pair), stands.fitted, stands.scale
    if not wanted.gate or not current_effort().equal_studies:
        return unrepeated(concluded, NOT_ASKED)
    if fitted is None or scale is None or not len(found.votes.pair):
        return unrepeated(
            concluded, "no strengths can be told from these comparisons, so that no world follows from them"
        )
    if n > MOST:
        return unrepeated(concluded, f"{n:,} comparisons are more than {MOST:,}")
    say(f"carrying {current_effort().equal_studies:,} studies like this one out again ...")
    world, why = try_to_simulate(lambda: world_of(held.votes, fitted))
    if world is None:
        return unrepeated(concluded, why)
    votes = held.votes
    place = np.zeros(n) if votes.place is None else votes.place
    check_seed = seed_from_rows(held.system_names, votes.pair, votes.value, votes.rater, votes.item, place)
    checked, unchecked = try_to_simulate(lambda: control(found, world, check_seed, ordered=held.ordered))
    concluded = with_gate(concluded.changed(control=checked, control_missing=unchecked))
    if concluded.withdrawn:
        return concluded
    if not wanted.again:
        return concluded.changed(repetition_missing=NOT_ASKED)
    repeated, unknown = try_to_simulate(
        lambda: repetition(votes, found, fitted, scale.covariance[-2], world, wanted.seed, ordered=held.ordered)
    )
    kept, refused = kept_repetition(repeated)
    return concluded.changed(repetition=kept, repetition_missing=refused or unknown)


def pairs(held: Held, found: Claims, margin: float | None) -> list[Pair]:
    """Return what is concluded of each pair of the family."""
    named, nothing = named_pairs(held.system_names), positions.without_answers(held, found.votes)
    differences = positions.raw_differences(held)
    return [
        _unknown(*named[k], float(differences[k]), margin) if nothing[k] else _pair(*named[k], k, held, found, margin)
        for k in np.flatnonzero(found.family).tolist()
    ]


def _unknown(first: str, second: str, difference: float, margin: float | None) -> Pair:
    """Return a pair of which no answer is the same in both orders: any difference may be."""
    direction = int(np.sign(difference))
    return Pair(
        first=first,
        second=second,
        difference=difference,
        low=-1.0,
        high=1.0,
        p_value=1.0,
        adjusted=1.0,
        direction=direction,
        verdict=0,
        within=None if margin is None else "open",
    )


def _pair(first: str, second: str, k: int, held: Held, found: Claims, margin: float | None) -> Pair:
    of = found.tested
    low, high, verdict = float(of.low[k]), float(of.high[k]), int(found.verdict[k])
    return Pair(
        first=first,
        second=second,
        difference=float(of.difference[k]),
        low=low,
        high=high,
        p_value=float(of.p_value[k]),
        adjusted=float(of.adjusted[k]),
        direction=int(found.direction[k]),
        verdict=verdict,
        within=None if margin is None else within(low, high, margin),
        more=settling.more(held, found, k),
    )


def _family(held: Held, wanted: Wanted) -> Bools:
    """Mark the pairs that the promise is about: all, or those with the baseline."""
    first, second = np.triu_indices(held.votes.n_systems, 1)
    if wanted.against is None:
        return np.ones(len(first), bool)
    baseline = held.number_of(wanted.against, "--against")
    return np.asarray((first == baseline) | (second == baseline))


def _notes(wanted: Wanted) -> Iterator[str]:
    if (wanted.promise or "fixed") == "fixed":
        yield (
            "no plan is given: the table is taken as complete; if votes still come, or it ended because of what they "
            "said, only --promise anytime holds"
        )
