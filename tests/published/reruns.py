"""Run the cell of a claim again, at the size that its finding was stated with or at a small one."""

from __future__ import annotations

import math
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from scipy import stats

import simlab
from simlab.config import compose_sweep, load_sweep
from simlab.config.sweepfile import Claim

LEAST_WORLDS = 8
"""A few more than a first look takes: of two worlds the error is hardly known."""
CONFIDENCE = 0.9995
"""A rerun of a hundred claims may fail by chance once in ten times."""


class Found(NamedTuple):
    """Hold what a rerun gave: a value, its Monte-Carlo standard error, and from how many units."""

    value: float
    mcse: float
    clusters: int

    def error(self, claimed: float) -> float:
        """Return how far the truth may lie off, by the t interval of so many units.

        Where all units agree, as they do about what is rare, the error is that of a share as it is claimed.
        """
        if self.clusters < 2:
            return 0.0
        mcse = self.mcse or math.sqrt(max(claimed * (1 - claimed), 0.0) / self.clusters)
        return float(stats.t.ppf(CONFIDENCE, self.clusters - 1)) * mcse


def cells(claims: Iterable[Claim]) -> Iterator[list[Claim]]:
    """Put claims about the same cell together."""
    together: dict[str, list[Claim]] = {}
    for claim in claims:
        together.setdefault(repr(sorted(claim.at.items())), []).append(claim)
    yield from together.values()


def rerun(sweep: str, claims: Sequence[Claim], *, full: bool) -> list[Found]:
    """Run the cell that claims are about; return what it gives of the measure of each."""
    settings = dict(claims[0].at) | ({} if full else small(sweep))
    measures = list(dict.fromkeys(claim.measure for claim in claims))
    # What a run warns of (skewed judgements) may be what its finding is about.
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"):
        store = simlab.sweep(sweep, settings, out=Path(folder) / "cell", jobs=1, quick=not full)
        answer = simlab.query(store, measure=measures)
        return [_found(answer, claim.measure) for claim in claims]


def small(sweep: str) -> dict[str, Any]:
    """Say how many worlds a small rerun has: enough for an error of its own."""
    if load_sweep(sweep).calculation:
        return {}
    quick, full = compose_sweep(sweep, quick=True), compose_sweep(sweep)
    return {"worlds": min(full.worlds, max(quick.worlds, LEAST_WORLDS))}


def _found(answer: Any, measure: str) -> Found:
    mcse, clusters = (
        float(answer[name].values.item()) if name in answer else 0.0
        for name in (f"{measure}_mcse", f"{measure}_clusters")
    )
    return Found(float(answer[measure].values.item()), mcse, int(clusters))
