"""Measure whether promises hold where people come late, lapse, drop out and are excluded, and a deadline ends it all.

Systems are equal, each world is a study, and most campaigns end before their time; what rules say of what came is to
be wrong no more often than they promise.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from promise_rows import Row, Side, numbers

from simlab.config import compose
from simlab.studies.blocks import run_block
from simlab.types import DEADLINE, OK, Array, Place

LEVEL = 0.05
PEOPLE: dict[str, Any] = {
    "crew_size": 5,
    "arrival_hours": 1.0,
    "seconds_per_answer": 120.0,
    "drop_out": 0.3,
    "lapse_rate": 0.05,
    "lapse_per_hour": 0.1,
    "control_share": 0.1,
    "control_pass": 0.9,
    "control_failures": 1,
}
COMPARED = (
    *("question=compare", "metric=none", "systems.system_sd=0", "systems.n_items=80", "budget.annotations_per_pair=80"),
    "design.collection=crowd",
)
JUDGED = (
    *("question=judge", "metric=none", "systems.spacing=0", "systems.n_systems=2", "budget.human_ratings=80"),
    *("analysis.estimator=sample_mean", "design.collection=crowd", "budget.deadline=4h"),
)
PAIR = ("systems.n_systems=2", "budget.deadline=4h")
PAIRS: Mapping[str, tuple[str, ...]] = {
    "fixed, exact": ("decision=fixed", "decision.form=exact"),
    "group_sequential": ("decision=group_sequential",),
    "anytime": ("decision=anytime",),
    "betting": ("decision=betting", "decision.use_metric=false"),
}
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "anytime, holm": ("decision=anytime", "decision.multiplicity=holm", "design.wait=pair"),
    "anytime, closed": ("decision=anytime", "decision.multiplicity=closed"),
    "group_sequential, holm": ("decision=group_sequential", "decision.multiplicity=holm"),
}
WIDTHS: Mapping[str, tuple[str, ...]] = {
    rule: (f"decision={rule}", "decision.width=.5", "decision.batch_size=10")
    for rule in ("fixed_width", "betting_width")
}


def errors_on_a_clock(worlds: int) -> Iterator[Row]:
    """Count wrong claims about pairs of equal systems, compared or judged; looking often without a correction fails."""
    for name, words in PAIRS.items():
        arrays = carried((*COMPARED, *PAIR, *words), worlds)
        yield _share(f"error on a clock, {name}", arrays["significant"][:, 0], ended(arrays))
    often = ("systems.n_systems=2", "budget.deadline=26h", "decision=human_only", "budget.batch_size=4")
    peeking = carried((*COMPARED, *often), worlds)
    yield _share("error on a clock, human_only", peeking["significant"][:, 0], ended(peeking), "control above")
    for name, words in {"significance": ("decision=significance",), **WIDTHS}.items():
        arrays = carried((*JUDGED, *words), worlds)
        yield _share(f"error on a clock, judgements, {name}", arrays["significant"][:, 0], ended(arrays))


def families_on_a_clock(worlds: int) -> Iterator[Row]:
    """Count campaigns with any wrong claim among the three pairs of three equal systems."""
    for name, words in FAMILIES.items():
        arrays = carried((*COMPARED, "systems.n_systems=3", "budget.deadline=4h", *words), worlds)
        yield _share(f"any error on a clock, {name}", arrays["significant"].any(1), ended(arrays))


def coverage_on_a_clock(worlds: int) -> Iterator[Row]:
    """Measure how often the interval of a system holds its mean where a rule, or the deadline, ended its judging."""
    for name, words in WIDTHS.items():
        arrays = carried((*JUDGED, *words), worlds)
        truth = arrays["true_value"][arrays["kept"]][:, 0]
        held = (arrays["low"][:, 0] <= truth) & (truth <= arrays["high"][:, 0])
        yield _share(f"coverage on a clock, {name}", held, ended(arrays), "at least", 1 - LEVEL)


def carried(words: tuple[str, ...], worlds: int) -> dict[str, Array]:
    """Carry out one campaign in each of so many worlds; keep those of which enough came to be analysed."""
    config: Any = copy.deepcopy(dict(compose(words)))
    config["design"]["collection"] |= PEOPLE
    arrays = run_block(config, [Place(world) for world in numbers(worlds)]).arrays
    kept = np.flatnonzero(arrays["status"] == OK)
    found = {name: array if name.startswith("true_") else array[kept] for name, array in arrays.items()}
    return {**found, "kept": kept}


def ended(arrays: Mapping[str, Array]) -> str:
    """Say how many campaigns the deadline ended."""
    return f"{np.mean(arrays['ended_by'] == DEADLINE):.0%} ended by the deadline"


def _share(name: str, hits: Array, setting: str, side: Side = "at most", bound: float = LEVEL) -> Row:
    value, n = float(np.mean(hits)), len(hits)
    return Row(name, setting, bound, value, float(np.sqrt(max(value * (1 - value), 1 / n) / n)), n, side)
