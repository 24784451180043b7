"""Take a promise back where studies like the one concluded claim too much though their systems are equal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from simlab.answers.conclude import Conclusion, Control, Family, Metric, Pair, Promise, Rank, System, ranked
from simlab.types import Array

NOT_ASKED = "not asked for"
WITHDRAWN = "the promise is withdrawn, so that there is no claim that a repetition could confirm"


def with_gate(found: Conclusion) -> Conclusion:
    """Return a conclusion as it is, or withdrawn where its check contradicts its promise.

    Then nothing is claimed, no rank is told from another, nothing is foreseen of further answers, and `unpromised` of
    each pair is what would have been claimed.
    """
    if found.control is None or not found.control.contradicts(found.promise):
        return found
    why = _reason(found.control, found.promise)
    broken = "; ".join(one for one in (found.promise.broken, why) if one)
    order = sorted(found.systems, key=lambda one: one.estimate * (1 if found.lower_is_better else -1))
    groups = {"groups": [[one.system for one in order]]} if "groups" in found.about else {}
    return found.changed(
        promise=found.promise.changed(holds=False, broken=broken),
        systems=[_unranked(one, len(found.systems)) for one in found.systems],
        pairs=_withdrawn(found.pairs),
        metrics=[_without_claims(one) for one in found.metrics],
        cycles=(),
        detectable=None,
        repetition=None,
        repetition_missing=WITHDRAWN,
        about={**found.about, **groups},
        family=None if found.family is None else _open_family(found.family),
        warnings=(*ranked(Rank.PROMISE, [f"the promise is withdrawn: {broken}"]), *found.warnings),
    )


def unrepeated(found: Conclusion, why: str) -> Conclusion:
    """Say of a conclusion why neither check nor repetition stands beside it."""
    return found.changed(repetition_missing=why, control_missing=why)


def seed_from_rows(names: Sequence[str], *columns: Array) -> int:
    """Return a seed that follows the names and the rows of a table, in whatever order these stand.

    Nobody can look for a seed at which the check passes: another one needs another table.
    """
    rows = [np.asarray(column, float) + 0.0 for column in columns]
    order = np.lexsort(rows[::-1])
    digest = blake2b("\n".join(names).encode(errors="backslashreplace"), digest_size=8)
    for row in rows:
        digest.update(np.ascontiguousarray(row[order]).tobytes())
    return int.from_bytes(digest.digest(), "little")


def _reason(control: Control, promise: Promise) -> str:
    value, mcse = control.gated(promise)
    share, level = f"{100 * value:.0f} ± {max(round(100 * mcse), 1)} %", f"{100 * promise.level:g} %"
    simulated = f"{control.studies:,} studies like this one, simulated with equal systems,"
    if promise.multiplicity == "best":
        return f"of {simulated} {share} exclude a system that is a best one (promised {level})"
    if promise.multiplicity == "none":
        return f"in {simulated} {share} of the pairs are claimed (promised {level})"
    return f"of {simulated} {share} claim something (promised {level})"


def _withdrawn(pairs: Sequence[Pair]) -> list[Pair]:
    return [
        one.changed(
            verdict=0,
            unpromised=one.verdict,
            more=None,
            detectable=None,
            within=None if one.within is None else "open",
            family=None if one.family is None else "open",
        )
        for one in pairs
    ]


def _open_family(of: Family) -> Family:
    """Let every system be the best, and all be of one tier."""
    candidates = [
        one.changed(may_be_best=True, behind=math.inf, within=None if one.within is None else False)
        for one in of.candidates
    ]
    return of.changed(candidates=candidates, tiers=[[name for tier in of.tiers for name in tier]] if of.tiers else ())


def _unranked(one: System, n_systems: int) -> System:
    return one.changed(rank_low=1, rank_high=n_systems)


def _without_claims(one: Metric) -> Metric:
    return one.changed(pairs=_withdrawn(one.pairs))
