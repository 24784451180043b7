"""Hold a table of comparisons against a plan that was made before anything was compared."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from simlab.analysis.preferences.places import orders_of
from simlab.analysis.preferences.votes import FEWEST
from simlab.concluding.expected import expected, systems_apart
from simlab.concluding.preferences.held import Held, named_pairs, of_table, pair_of
from simlab.concluding.sheets import Read
from simlab.concluding.wanted import Wanted
from simlab.messages import legible, several
from simlab.studies.money import bill, prices_of
from simlab.studies.preferences.concluding import conclude
from simlab.studies.preferences.preparing import prepare
from simlab.tables import preferences
from simlab.tables.preferences import Preferences
from simlab.tables.winners import Comparisons
from simlab.types import COMPARE, Array, Collected, Frame, InputError, Ints, Seen, Streams


def of_plan(table: Path, wanted: Wanted, config: Mapping[str, Any]) -> Read:
    """Take a table for what was collected by a plan alone; comparisons came in the order in which they stand.

    Raises InputError for the plan of other systems, for more comparisons than were planned, and where the plan's metric
    has no column.
    """
    where, with_metric = legible(table), bool(config.get("metric", {}).get("_target_"))
    held = preferences.read(table, wanted.told, list(wanted.metrics) if with_metric else None)
    if held.n_systems < 2 or not len(held.outcome):
        raise InputError(f"{where}: no comparison says who won; fill in winner")
    _refuse_orders(of_table(held, where), where)
    deviations = systems_apart(held.system_names, expected(config), where)
    pair = pair_of(held.first, held.second, held.n_systems)
    per_pair, budget = int(config["budget"]["annotations_per_pair"]), config["budget"]
    count = np.bincount(pair, minlength=held.n_systems * (held.n_systems - 1) // 2)
    if (most := int(count.max())) > per_pair:
        raise InputError(
            f"{where}: a pair has {several(most, 'comparison')} and the plan {per_pair} at most "
            "(budget.annotations_per_pair); take out what does not belong to this study, or name its own plan"
        )
    if budget["annotations"] is not None and len(pair) > budget["annotations"]:
        raise InputError(
            f"{where}: holds {several(len(pair), 'comparison')} and the plan {budget['annotations']:,} at most "
            "(budget.annotations); take out what does not belong to this study, or name its own plan"
        )
    came = _collected(held, pair, count, config, where, with_metric)
    planned = _planned(came, count, config)
    short = int((count < planned).sum())
    if short:
        deviations.append(f"{short} of {several(len(count), 'pair')} have fewer comparisons than planned")
    total = int(planned.sum())
    return Read(came, total if budget["annotations"] is None else min(total, budget["annotations"]), deviations)


def _refuse_orders(held: Held, where: str) -> None:
    """Raise InputError where a rule would take what a place is worth for what a system is: rules know no places."""
    both = "conclude without a plan's rule"
    if held.both_orders:
        raise InputError(
            f"{where}: asks about {several(held.both_orders, 'output')} of a pair in both orders, and the rule would "
            f"count each answer; {both}, or keep one order"
        )
    n = np.bincount(held.votes.pair, minlength=held.votes.n_pairs)
    hidden = np.flatnonzero(orders_of(held.votes).one_way & (n >= FEWEST))
    if len(hidden):
        named = " - ".join(named_pairs(held.system_names)[hidden[0]])
        raise InputError(
            f"{where}: of {legible(named, 80)} the same system always stands first, and its wins are not told from "
            f"those of the place; {both}, or, if raters saw either order, write winners by their names"
        )


def _collected(
    held: Preferences, pair: Ints, count: Ints, config: Mapping[str, Any], where: str, with_metric: bool
) -> Collected:
    turned = held.first > held.second
    by_pair = np.argsort(pair, kind="stable")
    order = np.concatenate([np.arange(n) for n in count])
    # Items that nobody names are one for each comparison of a pair.
    number, n_named = _items(held, by_pair, order)
    none = np.full(len(pair), -1)
    value = np.where(turned, 2 - held.outcome, held.outcome)[by_pair]
    seen = Seen(pair[by_pair], number, held.rater[by_pair], value, none, order=order)
    metric = _metric(held, n_named, where) if with_metric else None
    # As many outputs as the plan asks about, so that its looks are those of the table.
    n_items = max(n_named, int(config["budget"]["annotations_per_pair"]), int(number.max()) + 1)
    frame = Frame(
        document=np.arange(n_items),
        bucket=np.zeros(n_items, np.int64),
        rater=np.full((held.n_systems, n_items, 0), -1),
        system_names=held.system_names,
        document_names=(),
        rater_names=held.rater_names,
        lower_is_better=False,
    )
    paid = {"ratings": len(pair), "cost": bill(prices_of(config["budget"], COMPARE), answers=len(pair))}
    return Collected(frame, None, None, seen, metric, {}, paid, Streams(config["seed"], ("conclude",)))


def _items(held: Preferences, by_pair: Ints, order: Ints) -> tuple[Ints, int]:
    """Number items, those that humans compared first; return the numbers and how many of these there are."""
    item = held.item[by_pair]
    if not held.item_known or (item < 0).any():
        return order, 0
    return _human_first(held)[item], len(np.unique(item))


def _human_first(held: Preferences) -> Ints:
    human = np.zeros(len(held.item_names), bool)
    human[held.item] = True
    place = np.empty(len(human), np.int64)
    place[np.argsort(~human, kind="stable")] = np.arange(len(human))
    return place


def _metric(held: Preferences, n_named: int, where: str) -> Array:
    """Lay out what the one metric says of all outputs; raise InputError where it lacks some that humans compared."""
    if len(held.metrics) != 1 or not n_named:
        raise InputError(
            f"{where}: the plan's rule uses a metric, and the table has {several(len(held.metrics), 'metric')} beside "
            "named items; name one with --metric COLUMN"
        )
    of: Comparisons = next(iter(held.metrics.values()))
    pair, n_pairs = pair_of(of.first, of.second, held.n_systems), held.n_systems * (held.n_systems - 1) // 2
    said = np.full((n_pairs, len(held.item_names)), -1)
    said[pair, _human_first(held)[of.item]] = np.where(of.first > of.second, 2 - of.outcome, of.outcome)
    if (said < 0).any():
        raise InputError(
            f"{where}: the metric says nothing of {several(int((said < 0).sum()), 'output')} of a pair; the "
            "plan's rule needs what it says of every item and pair"
        )
    return said


def _planned(came: Collected, count: Ints, config: Mapping[str, Any]) -> Ints:
    """Count the comparisons planned of each pair: all, or as many as there are where the rule ended it."""
    outcome = conclude(prepare(config), [came])
    ended = outcome["decided"][0] & (outcome["used"][0] == count)
    return np.where(ended, count, int(config["budget"]["annotations_per_pair"]))
