"""Count the evidence on each pair of systems at each look from collected comparisons, and ask the decision rule.

A look is the end of a batch, when the rule is asked. Evidence is how often humans, and a metric, preferred the first
system, neither, or the second. `count_evidence` makes `Evidence` of one campaign, `join_evidence` stacks several,
`decide` returns the rule's `Verdicts` at each look; a row is a pair in a campaign.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np

from simlab.design.protocol import (
    Places,
    count_looks,
    follow,
    list_looks,
    look_up_preferences,
    make_places,
    truncate_evidence,
)
from simlab.studies.outcomes import are_codes
from simlab.studies.preferences.preparing import PreparedPreferences
from simlab.studies.read_only import seal
from simlab.types import Array, Bools, Collected, Evidence, Floats, ImpossibleValue, Ints, Summary, Trail, Verdicts


class RuleOutcome(NamedTuple):
    """Verdicts of a rule, `[row]`, at the look where collecting ended: +1, 0 or -1, and whether the rule ended it.

    `theta` is the probability that the first system wins more often; for `summarise` see `Verdicts`. Rows are judged
    together if the verdict on a pair depends on the other pairs of its campaign.
    """

    verdict: Array
    stop: Bools
    theta: Floats
    summarise: Callable[[Ints, Ints, Ints], Summary]

    @staticmethod
    def take_at(verdicts: Verdicts, end: Ints) -> RuleOutcome:
        """Take the verdicts at look `end[row]` of each row; of rows judged together, those at the last look of all."""
        rows = np.arange(len(end))
        end = np.full_like(end, verdicts.verdict.shape[1] - 1) if verdicts.joint else end
        verdict, theta = verdicts.verdict[rows, end], verdicts.theta[rows, end]
        return RuleOutcome(verdict, verdicts.stop[rows, end], theta, verdicts.summarise)

    def take_campaign(self, k: int, n: int) -> RuleOutcome:
        """Take the rows of the k-th of n campaigns."""
        size = len(self.verdict) // n
        rows = slice(k * size, (k + 1) * size)
        return RuleOutcome(self.verdict[rows], self.stop[rows], self.theta[rows], self.summarise)


def decide(prepared: PreparedPreferences, evidence: Evidence) -> Verdicts:
    """Ask the decision rule; raise ImpossibleValue where a verdict is none of +1, 0 and -1."""
    verdicts = prepared.decide(seal(evidence))
    if not are_codes(verdicts.verdict, -1, 1):
        raise ImpossibleValue("decision gives a verdict other than +1, 0 and -1")
    return verdicts


def decide_in_the_end(prepared: PreparedPreferences, evidence: Evidence, verdicts: Verdicts, end: Ints) -> RuleOutcome:
    """Take the verdicts at looks `end[row]`, where collecting ended; of rows judged together, ask the rule again."""
    return RuleOutcome.take_at(decide(prepared, truncate_evidence(evidence, end)) if verdicts.joint else verdicts, end)


def join_evidence(parts: Sequence[Evidence]) -> Evidence:
    """Put the evidence of several campaigns, each with the same looks, one below the other."""
    human, confusion, metric = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("human", "confusion", "metric")
    )
    return Evidence(
        parts[0].annotations, human, confusion, metric, len(parts), _joined_trails([p.trail for p in parts])
    )


def _joined_trails(trails: Sequence[Trail | None]) -> Trail | None:
    kept = [trail for trail in trails if trail is not None]
    if len(kept) < len(trails):
        return None
    joined_fields: dict[str, Any] = {}
    for name in (field.name for field in fields(Trail)):
        each = [getattr(trail, name) for trail in kept]
        joined_fields[name] = None if each[0] is None else np.concatenate(each)
    # Further outputs are those of one world, whoever is compared.
    return Trail(**joined_fields | {"rest_document": kept[0].rest_document})


def count_evidence(prepared: PreparedPreferences, collected: Collected) -> Evidence:
    """Count the comparisons that came, and the metric's outcomes, at every planned look; rows are pairs.

    After the last comparison of a pair its counts stay as they are.
    """
    n_systems, seen = collected.frame.n_systems, collected.seen
    n_pairs = n_systems * (n_systems - 1) // 2
    annotations = list_looks(
        prepared.budget.annotations_per_pair, prepared.budget.batch_size, len(collected.frame.document)
    )
    order = seen.order if seen.order is not None else _number_entries(seen.unit)
    human, item = np.full((2, n_pairs, annotations[-1]), -1)
    human[seen.unit, order], item[seen.unit, order] = seen.value, seen.item
    counts = count_looks(
        human, look_up_preferences(collected.metric, item), collected.metric, annotations, prepared.bins
    )
    trail = follow(human, item, collected.metric, _places(collected), prepared.bins)
    return replace(counts, trail=trail)


def _places(collected: Collected) -> Places:
    """Return the documents of outputs; where `known` is silent, humans can rate all, and further ones stand alone."""
    n_outputs = 0 if collected.metric is None else collected.metric.shape[1]
    known = collected.known
    return make_places(collected.frame.document, known.get("can_be_rated"), n_outputs, known.get("rest_document"))


def find_end_looks(evidence: Evidence, collected: Collected) -> Ints:
    """Return the look `[pair]` where collecting ended: `rounds` of `known`, else the first with all comparisons."""
    if "rounds" in collected.known:
        rounds: Ints = collected.known["rounds"]
        return rounds
    total = evidence.human.sum(-1)
    return np.asarray((total == total[:, -1:]).argmax(axis=1))


def _number_entries(unit: Ints) -> Ints:
    """Number the entries of each unit from 0, in the order in which they stand."""
    by_unit = np.argsort(unit, kind="stable")
    start = np.searchsorted(unit[by_unit], unit[by_unit])
    order = np.empty(len(unit), np.int64)
    order[by_unit] = np.arange(len(unit)) - start
    return order
