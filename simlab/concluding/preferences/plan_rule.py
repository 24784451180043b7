"""Conclude from comparisons by the decision rule of a plan, and compare a table with its plan.

`match_plan` reads the table and returns a `Read`; `conclude_by_plan` takes its answers and returns the conclusion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import nan
from pathlib import Path
from typing import Any

import numpy as np

from simlab.analysis.preferences.partial_order import partial_order
from simlab.analysis.preferences.places import known_orders
from simlab.analysis.preferences.votes import FEWEST
from simlab.answers.conclude import Conclusion, Promise
from simlab.answers.standings import Limit, Pair, Rank, System
from simlab.concluding.goals import describe_other_systems, read_expected
from simlab.concluding.options import ConcludeOptions
from simlab.concluding.possible_ranks import bound_ranks
from simlab.concluding.preferences.concluding import UNIT, conclude_votes
from simlab.concluding.preferences.votes import NamedVotes, named_pairs, number_pairs, take_campaign_votes, take_votes
from simlab.concluding.sheets import Read
from simlab.concluding.simulations import note_unrepeated
from simlab.messages import clip, pluralise, suggest
from simlab.parts import name_of
from simlab.studies.money import bill, read_prices
from simlab.studies.preferences.concluding import conclude
from simlab.studies.preferences.preparing import prepare, read_bins
from simlab.tables import preferences
from simlab.tables.preferences import Preferences
from simlab.tables.winners import WinnerComparisons
from simlab.types import COMPARE, Array, Collected, Frame, InputError, Ints, Seen, Streams

ANYTIME = ("anytime", "betting")
OF_PRIOR = ("bayes", "human_only")


def conclude_by_plan(
    config: Mapping[str, Any], collected: Collected, wanted: ConcludeOptions, say: Callable[[str], None]
) -> Conclusion:
    """Conclude by the decision rule of a plan, `config`: verdicts, directions and estimates are those of the study.

    A rule bounds no difference: intervals, strengths, further comparisons and detectable differences are those of the
    test for tables without a plan, as far as they go with the rule's verdicts. Raises InputError for a promise that is
    not the plan's.
    """
    promise = state_promise(config["decision"], collected.frame.n_systems)
    if wanted.promise not in (None, promise.name):
        raise InputError(f"--promise {wanted.promise}: the plan's rule promises {promise.name}; leave it out")
    outcome = {name: values[0] for name, values in conclude(prepare(config), [collected]).items()}
    names = collected.frame.system_names
    systems, pairs = _systems(outcome, collected), _pairs(outcome, names, wanted.against)
    order = partial_order(outcome["verdict"], names)
    conclusion = Conclusion(
        question="compare",
        read={},
        line="no comparison came",
        unit=UNIT,
        better="higher",
        promise=promise,
        systems=systems,
        pairs=pairs,
        cycles=order.cycles,
        about=_describe_analysis(config, outcome),
        warnings=()
        if len(collected.seen.value)
        else (Limit("no comparison came: nothing can be claimed", Rank.CLAIMS),),
    )
    conclusion = note_unrepeated(
        conclusion, "studies that the rule of a plan ends are not carried out again after the fact"
    )
    return _add_strengths(conclusion, config, collected, wanted, say) if len(collected.seen.value) else conclusion


def _systems(outcome: Mapping[str, Array], collected: Collected) -> list[System]:
    names, seen = collected.frame.system_names, collected.seen
    first, second = np.triu_indices(len(names), 1)
    # A comparison is an answer about either of its systems.
    n = np.bincount(np.concatenate([first[seen.unit], second[seen.unit]]), minlength=len(names))
    low, high = bound_ranks(outcome["verdict"], len(names))
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
        raise InputError(f"--against {clip(against, 60)}: no such system; {suggest(against, names, 'it has', 300)}")
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


def _add_strengths(
    conclusion: Conclusion,
    config: Mapping[str, Any],
    collected: Collected,
    wanted: ConcludeOptions,
    say: Callable[[str], None],
) -> Conclusion:
    """Add intervals, strengths and what would settle open pairs, by the test for tables without a plan."""
    options = replace(wanted, plan=None, promise=conclusion.promise.name, level=config["decision"]["level"], exclude=())
    # The gate tests the promise of another analysis than the plan's, and would withdraw the wrong one.
    options = replace(options, again=False, gate=False)
    try:
        beside = conclude_votes(take_campaign_votes(collected), options, say)
    except InputError as error:
        # What the plan's rule says stands, whatever else cannot be told.
        return conclusion.replace_fields(
            line=take_campaign_votes(collected).line, notes=(f"strengths are not known: {error}",)
        )
    by_pair = {(pair.first, pair.second): pair for pair in beside.pairs}
    pairs = [_bound_pair(pair, by_pair.get((pair.first, pair.second))) for pair in conclusion.pairs]
    return conclusion.replace_fields(
        read=beside.read,
        line=beside.line,
        pairs=pairs,
        detectable=beside.detectable,
        about=dict(beside.about) | dict(conclusion.about),
        notes=tuple(note for note in beside.notes if not note.startswith("no plan")),
        warnings=(*conclusion.warnings, *beside.warnings),
        limits=beside.limits,
    )


def _bound_pair(pair: Pair, other: Pair | None) -> Pair:
    """Take bounds from the test beside the rule, as far as they go with its verdict; what settles a pair that is open.

    A claimed difference is not 0, one that is open may be.
    """
    if other is None:
        return pair
    low, high = other.low, other.high
    if pair.verdict:
        low, high = (max(low, 0.0), high) if pair.verdict > 0 else (low, min(high, 0.0))
    else:
        low, high = min(low, 0.0), max(high, 0.0)
    return pair.replace_fields(low=low, high=high, within=other.within, more=None if pair.verdict else other.more)


def _describe_analysis(config: Mapping[str, Any], outcome: Mapping[str, Array]) -> dict[str, Any]:
    looks = outcome["collected"] >= 0
    return {
        "rule": name_of(config["decision"]),
        "rounds": outcome["collected"][looks].tolist(),
        "undecided": outcome["undecided"][looks].tolist(),
        "ranks_by": "pairs",
        "difference": "share of wins less share of losses, as the rule estimates them",
    }


def state_promise(decision: Mapping[str, Any], n_systems: int) -> Promise:
    """Return the promise of a plan's decision rule, with its sentence."""
    rule, level = name_of(decision), float(decision["level"])
    multiplicity = str(decision.get("multiplicity", "none"))
    name: Any = "anytime" if rule in ANYTIME or decision.get("holds") == "at_any_look" else "fixed"
    pairs = pluralise(n_systems * (n_systems - 1) // 2, "pair")
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


def match_plan(table: Path, wanted: ConcludeOptions, config: Mapping[str, Any]) -> Read:
    """Read a table that was collected by the plan `config`; comparisons came in the order of the rows.

    Raises InputError for the plan of other systems, for more comparisons than were planned, and where the plan's metric
    has no column.
    """
    where, with_metric = clip(table), bool(config.get("metric", {}).get("_target_"))
    comparisons = preferences.read(table, wanted.column_overrides, list(wanted.metrics) if with_metric else None)
    if comparisons.n_systems < 2 or not len(comparisons.outcome):
        raise InputError(f"{where}: no comparison says who won; fill in winner")
    _refuse_orders(take_votes(comparisons, where), where)
    deviations = describe_other_systems(comparisons.system_names, read_expected(config), where)
    pair = number_pairs(comparisons.first, comparisons.second, comparisons.n_systems)
    per_pair, budget = int(config["budget"]["annotations_per_pair"]), config["budget"]
    count = np.bincount(pair, minlength=comparisons.n_systems * (comparisons.n_systems - 1) // 2)
    if (most := int(count.max())) > per_pair:
        raise InputError(
            f"{where}: a pair has {pluralise(most, 'comparison')} and the plan {per_pair} at most "
            "(budget.annotations_per_pair); take out what does not belong to this study, or name its own plan"
        )
    if budget["annotations"] is not None and len(pair) > budget["annotations"]:
        raise InputError(
            f"{where}: holds {pluralise(len(pair), 'comparison')} and the plan {budget['annotations']:,} at most "
            "(budget.annotations); take out what does not belong to this study, or name its own plan"
        )
    came = _collect(comparisons, pair, count, config, where, with_metric)
    planned = _count_planned(came, count, config)
    short = int((count < planned).sum())
    if short:
        deviations.append(f"{short} of {pluralise(len(count), 'pair')} have fewer comparisons than planned")
    total = int(planned.sum())
    return Read(came, total if budget["annotations"] is None else min(total, budget["annotations"]), deviations)


def _refuse_orders(named_votes: NamedVotes, where: str) -> None:
    """Raise InputError where a rule would take what a place is worth for what a system is: rules know no places."""
    both = "conclude without a plan's rule"
    if named_votes.both_orders:
        raise InputError(
            f"{where}: asks about {pluralise(named_votes.both_orders, 'output')} of a pair in both orders, and the "
            f"rule would count each answer; {both}, or keep one order"
        )
    n = np.bincount(named_votes.votes.pair, minlength=named_votes.votes.n_pairs)
    hidden = np.flatnonzero(known_orders(named_votes.votes).one_way & (n >= FEWEST))
    if len(hidden):
        named = " - ".join(named_pairs(named_votes.system_names)[hidden[0]])
        raise InputError(
            f"{where}: of {clip(named, 80)} the same system always stands first, and its wins are not told from "
            f"those of the place; {both}, or, if raters saw either order, write winners by their names"
        )


def _collect(
    preferences: Preferences, pair: Ints, count: Ints, config: Mapping[str, Any], where: str, with_metric: bool
) -> Collected:
    turned = preferences.first > preferences.second
    by_pair = np.argsort(pair, kind="stable")
    order = np.concatenate([np.arange(n) for n in count])
    # Items that nobody names are one for each comparison of a pair.
    number, n_named = _items(preferences, by_pair, order)
    none = np.full(len(pair), -1)
    value = np.where(turned, 2 - preferences.outcome, preferences.outcome)[by_pair]
    seen = Seen(pair[by_pair], number, preferences.rater[by_pair], value, none, order=order)
    metric = _metric(preferences, n_named, config, where) if with_metric else None
    # As many outputs as the plan asks about, so that its looks are those of the table.
    n_items = max(n_named, int(config["budget"]["annotations_per_pair"]), int(number.max()) + 1)
    frame = Frame(
        document=np.arange(n_items),
        bucket=np.zeros(n_items, np.int64),
        rater=np.full((preferences.n_systems, n_items, 0), -1),
        system_names=preferences.system_names,
        document_names=(),
        rater_names=preferences.rater_names,
        lower_is_better=False,
    )
    paid = {"ratings": len(pair), "cost": bill(read_prices(config["budget"], COMPARE), answers=len(pair))}
    return Collected(frame, None, None, seen, metric, {}, paid, Streams(config["seed"], ("conclude",)))


def _items(preferences: Preferences, by_pair: Ints, order: Ints) -> tuple[Ints, int]:
    """Number items, those that humans compared first; return the numbers and how many of these there are."""
    item = preferences.item[by_pair]
    if not preferences.item_known or (item < 0).any():
        return order, 0
    return _number_human_items_first(preferences)[item], len(np.unique(item))


def _number_human_items_first(preferences: Preferences) -> Ints:
    human = np.zeros(len(preferences.item_names), bool)
    human[preferences.item] = True
    place = np.empty(len(human), np.int64)
    place[np.argsort(~human, kind="stable")] = np.arange(len(human))
    return place


def _metric(preferences: Preferences, n_named: int, config: Mapping[str, Any], where: str) -> Array:
    """Lay out what the one metric says of all outputs; raise InputError where it lacks some that humans compared.

    Of a plan that tells sizes of differences apart, too: a table of comparisons has none.
    """
    if len(preferences.metrics) != 1 or not n_named:
        raise InputError(
            f"{where}: the plan's rule uses a metric, and the table has "
            f"{pluralise(len(preferences.metrics), 'metric')} beside named items; name one with --metric COLUMN"
        )
    if (bins := read_bins(config)) > 1:
        raise InputError(
            f"{where}: the plan's rule tells {bins} sizes of the metric's differences apart (metric.bins), and a table "
            "of comparisons says who was preferred, not by how much; plan with metric.bins=1"
        )
    of: WinnerComparisons = next(iter(preferences.metrics.values()))
    pair, n_pairs = (
        number_pairs(of.first, of.second, preferences.n_systems),
        preferences.n_systems * (preferences.n_systems - 1) // 2,
    )
    outcomes = np.full((n_pairs, len(preferences.item_names)), -1)
    outcomes[pair, _number_human_items_first(preferences)[of.item]] = np.where(
        of.first > of.second, 2 - of.outcome, of.outcome
    )
    if (outcomes < 0).any():
        raise InputError(
            f"{where}: the metric says nothing of {pluralise(int((outcomes < 0).sum()), 'output')} of a pair; the "
            "plan's rule needs what it says of every item and pair"
        )
    return outcomes


def _count_planned(came: Collected, count: Ints, config: Mapping[str, Any]) -> Ints:
    """Count the comparisons planned of each pair: all, or as many as there are where the rule ended it."""
    outcome = conclude(prepare(config), [came])
    # A pair that the rule decided with the last of its comparisons was ended by it, and lacks none.
    ended = outcome["decided"][0] & (outcome["used"][0] == count)
    return np.where(ended, count, int(config["budget"]["annotations_per_pair"]))
