"""Conclude comparisons as their plan has it: its own rule decides, by the very function that concluded simulations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from simlab.analysis import sign_test
from simlab.analysis.multiplicity import holm
from simlab.analysis.preferences.net_wins import Weighed, bounds, compatible, largest, spreads_of
from simlab.analysis.preferences.sequential import mixture_evidence
from simlab.analysis.preferences.votes import Votes, way_of
from simlab.concluding.conclusion import Promise, PromiseName
from simlab.concluding.preferences.claims import Claims
from simlab.concluding.preferences.held import Held
from simlab.design.protocol import looks
from simlab.messages import several
from simlab.parts import name_of
from simlab.studies.preferences.concluding import conclude
from simlab.studies.preferences.preparing import prepare
from simlab.types import Array, Collected, Floats, Frame, Seen, Streams

_ALWAYS = ("anytime", "betting")
_PROMISING = ("fixed", "group_sequential", *_ALWAYS)


@dataclass(frozen=True, slots=True)
class Planned:
    """Hold what the plan's own rule concluded: `claims`, and each system's `estimate[system]`."""

    claims: Claims
    estimate: Floats


def promise_of(config: Mapping[str, Any]) -> PromiseName:
    """Name the promise of a plan's rule."""
    return "anytime" if name_of(config["decision"]) in _ALWAYS else "fixed"


def collected_of(held: Held, config: Mapping[str, Any], seed: int) -> tuple[Collected, list[str]]:
    """Lay a table out as the plan would have collected it; say what of it the plan does not have.

    Outputs are numbered as they came for each pair. What comes after the planned comparisons of a pair is left out.
    """
    votes, budget = held.votes, config["budget"]
    most = int(budget["annotations_per_pair"])
    by_pair = np.argsort(votes.pair, kind="stable")
    start = np.searchsorted(votes.pair[by_pair], votes.pair[by_pair])
    order = np.empty(len(by_pair), np.int64)
    order[by_pair] = np.arange(len(by_pair)) - start
    kept = order < most
    none = np.full(int(kept.sum()), -1)
    seen = Seen(votes.pair[kept], order[kept], votes.rater[kept], 1 - votes.value[kept], none, order=order[kept])
    frame = Frame(
        document=np.arange(most),
        bucket=np.zeros(most, np.int64),
        rater=np.broadcast_to(np.zeros((), np.int64), (votes.n_systems, most, 1)),
        system_names=held.system_names,
        document_names=(),
        rater_names=held.rater_names,
        lower_is_better=False,
    )
    paid = {"ratings": len(none), "cost": len(none) * float(budget["price_per_rating"])}
    beyond = int((~kept).sum())
    said = [f"{several(beyond, 'comparison')} beyond the planned {most:,} of a pair are left out"] if beyond else []
    return Collected(frame, None, None, seen, None, {}, paid, Streams(seed, ("conclude",))), said


def short_of(held: Held, config: Mapping[str, Any]) -> str:
    """Say where a table is short of what its plan collects ("": nowhere), for rules that look once, at the end."""
    budget = config["budget"]
    if name_of(config["decision"]) != "fixed":
        return ""
    n = np.bincount(held.votes.pair, minlength=held.votes.n_pairs)
    wanted = int(budget["annotations_per_pair"])
    if budget["annotations"] is not None and n.sum() >= budget["annotations"]:
        return ""
    few = int((n < wanted).sum())
    if not few:
        return ""
    return (
        f"an interim look: {several(few, 'pair')} of {len(n):,} have fewer than the {wanted:,} comparisons that are "
        "planned, and the fixed promise is one of the plan's end; choose --promise anytime, or go on"
    )


def planned(config: Mapping[str, Any], collected: Collected, held: Held, short: str) -> Planned:
    """Conclude by the plan's rule; `short` says where the table is short of its plan."""
    outcome = conclude(prepare(config), [collected])
    verdict, direction = outcome["verdict"][0], outcome["direction"][0]
    way = way_of(held.votes)
    found = _weighed(config, held.votes, verdict, direction, outcome["theta"][0])
    claims = Claims(
        tested=found,
        verdict=verdict,
        direction=direction,
        family=np.ones(len(verdict), bool),
        votes=held.votes,
        way=way,
        promise=_promise(config, len(verdict), short),
    )
    return Planned(claims, np.asarray(outcome["estimate"][0]))


def _weighed(config: Mapping[str, Any], votes: Votes, verdict: Array, direction: Array, theta: Floats) -> Weighed:
    """Return p-values and bounds beside the verdicts: what the rule itself has, and bounds at the rule's level."""
    decision, counts = config["decision"], votes.counts()
    n, total = counts.sum(1).astype(float), (counts[:, 0] - counts[:, 2]).astype(float)
    family = decision.get("multiplicity", "none") != "none"
    m = max(int((n > 0).sum()), 1) if family else 1
    critical = float(ndtri(1 - decision["level"] / 2 / m))
    spreads = spreads_of(votes, way_of(votes))
    with np.errstate(invalid="ignore", divide="ignore"):
        difference = total / n
        sd = np.sqrt(np.maximum(largest(spreads, difference), 0)) / n
    low, high = compatible(*bounds(total, n, spreads, critical), direction, verdict != 0)
    p_value = _p_value(config, counts, theta)
    for values in (low, high, p_value):
        values[n == 0] = np.nan
    adjusted = p_value.copy()
    if family and np.isfinite(p_value[n > 0]).all():
        adjusted[n > 0] = holm(p_value[n > 0])
    return Weighed(n, difference, sd, low, high, p_value, adjusted, verdict != 0, critical, critical)


def _p_value(config: Mapping[str, Any], counts: Array, theta: Floats) -> Floats:
    """Return the p-value that a rule decides by; NaN where it knows none."""
    decision, name = config["decision"], name_of(config["decision"])
    if name == "fixed" and decision["unit"] == "output":
        return {"exact": sign_test.exact, "asymptotic": sign_test.asymptotic}[decision["form"]](counts)
    if name == "anytime" and not decision["use_metric"]:
        return np.exp(-np.maximum(mixture_evidence(counts, decision["concentration"]), 0.0))
    return np.asarray(2 * np.minimum(theta, 1 - theta))


def _promise(config: Mapping[str, Any], n_pairs: int, short: str) -> Promise:
    """Say what the plan's rule promises, and why it does not where it promises nothing."""
    decision, name = config["decision"], name_of(config["decision"])
    level, multiplicity = float(decision["level"]), str(decision.get("multiplicity", "none"))
    of = f"all {n_pairs:,} pairs at once" if multiplicity != "none" else "each pair by itself"
    when = "however often one looks" if name in _ALWAYS else "at the plan's end" if name == "fixed" else "at its looks"
    says = (
        f"with {100 * (1 - level):g} % probability no claim below is wrong: {of}, {when}; as planned "
        f"(decision={name}, multiplicity={multiplicity}), votes taken as independent"
    )
    broken = short
    if name not in _PROMISING:
        broken = f"decision={name}, the plan's rule, promises no error rate; choose --promise fixed or anytime"
    return Promise(promise_of(config), level, multiplicity, not broken, says, broken)


def as_complete(config: Mapping[str, Any], held: Held) -> dict[str, Any]:
    """Take the comparisons that there are for planned, where no plan says how many were."""
    n = int(np.bincount(held.votes.pair).max())
    return {**config, "budget": {**config["budget"], "annotations_per_pair": n, "annotations": None}}


def n_planned(config: Mapping[str, Any], n_pairs: int) -> int:
    """Count the comparisons that a plan has."""
    budget = config["budget"]
    most = int(looks(budget["annotations_per_pair"], budget["batch_size"], budget["annotations_per_pair"])[-1])
    return min(n_pairs * most, budget["annotations"] or n_pairs * most)
