"""Write a conclusion as a record for programs: the names are settled (JSON of `simlab conclude`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from simlab.concluding.conclusion import (
    SIGN_BY_CHANCE,
    Conclusion,
    Control,
    Family,
    Followed,
    Metric,
    More,
    Pair,
    Promise,
    RepeatedShares,
)


def record(found: Conclusion) -> dict[str, Any]:
    """Return all of a conclusion; what is not known is None, `beyond` stands where more than a limit is needed."""
    return {
        "question": found.question,
        "read": dict(found.read),
        "unit": found.unit,
        "better": "lower" if found.lower_is_better else "higher",
        "promise": _promise(found.promise),
        "systems": [one._asdict() for one in found.systems],
        "pairs": [_pair(one) for one in found.pairs],
        "raters": [one._asdict() for one in found.raters],
        "repetition": _repetition(found),
        "repetition_missing": found.repetition_missing or None,
        "control": _control(found.control),
        "control_missing": found.control_missing or None,
        "limits": None if found.limits is None else found.limits._asdict(),
        "metric": _metric(found.metrics[0]) if found.metrics else None,
        "metrics": [_metric(one) for one in found.metrics],
        "detectable": found.detectable,
        "confounded": found.confounded,
        "cycles": [list(one) for one in found.cycles],
        "plan": None if found.plan is None else _plan(found.plan),
        "without": {names: record(one) for names, one in found.without.items()},
        "about": dict(found.about),
        "notes": list(found.notes),
        "warnings": list(found.warnings),
        "family": _family(found.family),
        "exploratory": _family(found.exploratory),
    }


def _family(held: Family | None) -> dict[str, Any] | None:
    if held is None:
        return None
    return {
        "name": held.name,
        "says": held.says,
        "candidates": _records(held.candidates),
        "tiers": [list(one) for one in held.tiers],
        "claims": [list(one) for one in held.claims],
    }


def _plan(plan: Followed) -> dict[str, Any]:
    return {**asdict(plan), "targets": _records(plan.targets)}


def _promise(promise: Promise) -> dict[str, Any]:
    return promise._asdict()


def _pair(pair: Pair) -> dict[str, Any]:
    return {**pair._asdict(), "more": None if pair.more is None else _more(pair.more)}


def _more(more: More) -> dict[str, Any]:
    return more._asdict()


def _control(held: Control | None) -> dict[str, Any] | None:
    if held is None:
        return None
    return {**held._asdict(), "at_large": None if held.at_large is None else held.at_large._asdict()}


def _repetition(found: Conclusion) -> dict[str, Any] | None:
    again = found.repetition
    if again is None:
        return None
    return {
        "srp": again.same_sign.same._asdict(),
        "srp_new_documents": again.same_sign.new_documents._asdict(),
        "srp_new_study": again.same_sign.new_study._asdict(),
        "same_sign": _shares(again.same_sign),
        "sign_by_chance": SIGN_BY_CHANCE,
        "claimed_again": _shares(again.claimed_again),
        "unknown": dict(again.unknown),
        "studies": again.studies,
        "world": again.world,
    }


def _shares(shares: RepeatedShares) -> dict[str, Any]:
    return {name: one._asdict() for name, one in shares._asdict().items()}


def _metric(metric: Metric) -> dict[str, Any]:
    return {
        "name": metric.name,
        "verdict": metric.verdict,
        "reason": metric.reason,
        "labels": None if metric.labels is None else _more(metric.labels),
        "youden": [],
        metric.quality_of: _records(metric.quality),
        "spread": metric.spread._asdict(),
        "width": metric.width,
        "estimates": _records(metric.estimates),
        "pairs": [_pair(one) for one in metric.pairs],
        "bias": _records(metric.bias),
        "bias_pairs": _records(metric.bias_pairs),
        "bias_worst": None if metric.bias_worst is None else metric.bias_worst._asdict(),
        "bias_factor": metric.bias_factor,
        "favour": _records(metric.favour),
        "favour_slope": None if metric.favour_slope is None else metric.favour_slope._asdict(),
        "worth_labels": None if metric.worth_labels is None else metric.worth_labels._asdict(),
        "labels_at_random": metric.labels_at_random,
    }


def _records(rows: Sequence[Any]) -> list[dict[str, Any]]:
    return [row._asdict() for row in rows]
