"""Conclude from comparisons by the decision rule of a plan, as its campaigns do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import nan
from typing import Any

import numpy as np

from simlab.analysis.preferences.partial_order import partial_order
from simlab.answers.conclude import Conclusion, Limit, Pair, Promise, Rank, System
from simlab.concluding.gate import unrepeated
from simlab.concluding.preferences.concluding import UNIT, of_held
from simlab.concluding.preferences.held import named_pairs, of_collected
from simlab.concluding.standing import ranks_of
from simlab.concluding.wanted import Wanted
from simlab.messages import legible, or_nearest, several
from simlab.parts import name_of
from simlab.studies.preferences.concluding import conclude
from simlab.studies.preferences.preparing import prepare
from simlab.types import Array, Collected, InputError

ANYTIME = ("anytime", "betting")
OF_PRIOR = ("bayes", "human_only")


def concluded(
    config: Mapping[str, Any], collected: Collected, wanted: Wanted, say: Callable[[str], None]
) -> Conclusion:
    """Conclude by the plan's rule: verdicts, directions and estimates are those of the kind of study.

    A rule bounds no difference: intervals, strengths, what would settle a pair and what is large enough to be found
    are those of the test for tables without a plan, as far as they go with the rule's verdicts. Raises InputError for a
    promise that is not the plan's.
    """
    promise = promise_of(config["decision"], collected.frame.n_systems)
    if wanted.promise not in (None, promise.name):
        raise InputError(f"--promise {wanted.promise}: the plan's rule promises {promise.name}; leave it out")
    outcome = {name: values[0] for name, values in conclude(prepare(config), [collected]).items()}
    names = collected.frame.system_names
    systems, pairs = _systems(outcome, collected), _pairs(outcome, names, wanted.against)
    order = partial_order(outcome["verdict"], names)
    found = Conclusion(
        question="compare",
        read={},
        line="no comparison came",
        unit=UNIT,
        better="higher",
        promise=promise,
        systems=systems,
        pairs=pairs,
        cycles=order.cycles,
        about=_about(config, outcome),
        warnings=()
        if len(collected.seen.value)
        else (Limit("no comparison came: nothing can be claimed", Rank.CLAIMS),),
    )
    found = unrepeated(found, "studies that the rule of a plan ends are not carried out again after the fact")
    return _with_strengths(found, config, collected, wanted, say) if len(collected.seen.value) else found


def _systems(outcome: Mapping[str, Array], collected: Collected) -> list[System]:
    names, seen = collected.frame.system_names, collected.seen
    first, second = np.triu_indices(len(names), 1)
    n = np.bincount(np.concatenate([first[seen.unit], second[seen.unit]]), minlength=len(names))
    low, high = ranks_of(outcome["verdict"], len(names))
    return [
        System(
            system=name,
            n=int(n[k]),
            estimate=float(outcome["estimate"][k]),
            low=nan,
            high=nan,
            rank_low=int(low[k]),
            rank_high=int(high[k]),
        )
        for k, name in enumerate(names)
    ]


def _pairs(outcome: Mapping[str, Array], names: Sequence[str], against: str | None) -> list[Pair]:
    if against is not None and against not in names:
        raise InputError(
            f"--against {legible(against, 60)}: no such system; {or_nearest(against, names, 'it has', 300)}"
        )
    difference = outcome["p_mean"][:, 0] - outcome["p_mean"][:, 2]
    return [
        Pair(
            first=pair[0],
            second=pair[1],
            difference=float(difference[k]),
            low=nan,
            high=nan,
            p_value=nan,
            adjusted=nan,
            direction=int(outcome["direction"][k]),
            verdict=int(outcome["verdict"][k]),
        )
        for k, pair in enumerate(named_pairs(names))
        if against is None or against in pair
    ]


def _with_strengths(
    found: Conclusion, config: Mapping[str, Any], collected: Collected, wanted: Wanted, say: Callable[[str], None]
) -> Conclusion:
    """Add what the same comparisons say beside the plan's rule."""
    asked = replace(wanted, plan=None, promise=found.promise.name, level=config["decision"]["level"], exclude=())
    asked = replace(asked, again=False, gate=False)
    try:
        beside = of_held(of_collected(collected), asked, say)
    except InputError as error:
        # What the plan's rule says stands, whatever else cannot be told.
        return found.changed(line=of_collected(collected).line, notes=(f"strengths are not known: {error}",))
    by_pair = {(one.first, one.second): one for one in beside.pairs}
    pairs = [_bounded(one, by_pair.get((one.first, one.second))) for one in found.pairs]
    return found.changed(
        read=beside.read,
        line=beside.line,
        pairs=pairs,
        detectable=beside.detectable,
        about=dict(beside.about) | dict(found.about),
        notes=tuple(one for one in beside.notes if not one.startswith("no plan")),
        warnings=(*found.warnings, *beside.warnings),
        limits=beside.limits,
    )


def _bounded(one: Pair, other: Pair | None) -> Pair:
    """Take bounds from the test beside the rule, as far as they go with its verdict; what settles a pair that is open.

    A claimed difference is not 0, one that is open may be.
    """
    if other is None:
        return one
    low, high = other.low, other.high
    if one.verdict:
        low, high = (max(low, 0.0), high) if one.verdict > 0 else (low, min(high, 0.0))
    else:
        low, high = min(low, 0.0), max(high, 0.0)
    return one.changed(low=low, high=high, within=other.within, more=None if one.verdict else other.more)


def _about(config: Mapping[str, Any], outcome: Mapping[str, Array]) -> dict[str, Any]:
    looks = outcome["collected"] >= 0
    return {
        "rule": name_of(config["decision"]),
        "rounds": outcome["collected"][looks].tolist(),
        "undecided": outcome["undecided"][looks].tolist(),
        "ranks_by": "pairs",
        "difference": "share of wins less share of losses, as the rule estimates them",
    }


def promise_of(decision: Mapping[str, Any], n_systems: int) -> Promise:
    """State what the rule of a plan promises."""
    rule, level = name_of(decision), float(decision["level"])
    multiplicity = str(decision.get("multiplicity", "none"))
    name: Any = "anytime" if rule in ANYTIME or decision.get("holds") == "at_any_look" else "fixed"
    pairs = several(n_systems * (n_systems - 1) // 2, "pair")
    sure = f"{100 * (1 - level):g} %"
    when = (
        "at any look"
        if name == "anytime"
        else "at the plan's looks"
        if rule == "group_sequential"
        else "at the plan's end"
    )
    if rule == "naive":
        broken = "decision=naive tests at every look as if it were the only one, which bounds no error"
        return Promise(name=name, level=level, multiplicity=multiplicity, holds=False, says="nothing", broken=broken)
    if rule in OF_PRIOR or decision.get("holds") == "given_prior":
        says = f"each claim has a probability of {sure} at least, given the rule's prior; nothing is promised of errors"
        return Promise(name=name, level=level, multiplicity=multiplicity, holds=True, says=f"{says} (decision={rule})")
    if multiplicity == "none":
        says = (
            f"a pair of equal systems is claimed to differ with at most {100 * level:g} % probability, each by itself"
        )
    elif multiplicity == "e_bh":
        says = f"of the claims below at most {100 * level:g} % are wrong on average, among {pairs}"
    else:
        says = f"with {sure} probability no claim below is wrong: {pairs} at once"
    return Promise(
        name=name, level=level, multiplicity=multiplicity, holds=True, says=f"{says}, {when} (decision={rule})"
    )
