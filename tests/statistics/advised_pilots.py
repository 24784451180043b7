"""Name designs from pilots whose truth is known, and hold them against what all candidates are truly worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from simlab.fitting.backtest.design_advice import AdviceCandidate, Worth, candidates, worth_by_candidate
from simlab.fitting.backtest.execution import run_designs
from simlab.types import World
from simlab.world.laws.scales import ScaleEffects
from tests.pilots import Pilot, Truth, law_of
from tests.statistics.predicted_pilots import Effects, Size, frame_of, worlds_of

GAIN, ALIKE = "power", Truth()
Worths = Mapping[AdviceCandidate, Worth]


class Judged(NamedTuple):
    """Hold what a pilot lets one expect of each candidate, and what each is truly worth."""

    expected: Worths
    true: Worths


def judged(
    pilots: Sequence[Pilot], effects: Sequence[Effects], size: Size, seed: int, truths: int, truth: Truth = ALIKE
) -> list[Judged]:
    """Predict all candidates from each pilot; carry them out in so many worlds drawn from its truth."""
    both = zip(pilots, effects, strict=True)
    return [_judged(law_of(one, truth), laws, size, seed + k, truths) for k, (one, laws) in enumerate(both)]


def _judged(law: ScaleEffects, laws: Effects, size: Size, seed: int, truths: int) -> Judged:
    frame = frame_of(size, size.n_documents)
    expected, true = worlds_of(laws, frame, seed, "expected"), worlds_of([law] * truths, frame, seed, "true")
    return Judged(_worths(expected, seed, size.sets, size.per_set), _worths(true, seed + 1, size.sets, size.per_set))


def _worths(worlds: list[World], seed: int, sets: int, per_set: int) -> Worths:
    of = candidates(worlds[0])
    designs = list(dict.fromkeys(one.design for one in of))
    return worth_by_candidate(run_designs(worlds, worlds[0], designs, seed, sets, per_set), of, GAIN)


def mean_and_mcse(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean over pilots, and its standard error."""
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))
