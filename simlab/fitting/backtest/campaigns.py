"""Carry out the same studies in many worlds at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simlab.fitting.backtest.designs import LEVEL, Dealt
from simlab.fitting.backtest.flips import significant
from simlab.fitting.backtest.normalizing import totals
from simlab.fitting.backtest.sums import Sums, picked
from simlab.formulas import differences, sign
from simlab.types import Array, Floats


@dataclass(frozen=True, slots=True)
class Campaigns:
    """Hold what studies conclude: `claim` and `direction` are `[world, set, study, pair]` of +1, 0, -1.

    `truth[world, pair]` is the true direction, None where nobody knows it.
    """

    claim: Array
    direction: Array
    truth: Floats | None


def campaigns(held: Sums, dealt: Dealt, normalizations: Sequence[str]) -> dict[str, Campaigns]:
    """Carry out studies, concluding once for each normalisation of the same ratings."""
    found: dict[str, list[tuple[Floats, Floats]]] = {name: [] for name in normalizations}
    up = -1.0 if held.frame.lower_is_better else 1.0
    for study in range(len(dealt.document)):
        asked = picked(held, dealt, study)
        for name, own in found.items():
            claimed, difference = significant(totals(asked, name), dealt.patterns[study], LEVEL)
            direction = up * np.sign(difference)
            own.append((direction * claimed, direction))
    truth = None if held.truth is None else up * sign(differences(held.truth))
    return {name: Campaigns(*_by_set(own, dealt.per_set), truth) for name, own in found.items()}


def _by_set(own: Sequence[tuple[Floats, Floats]], per_set: int) -> tuple[Array, Array]:
    """Order by sets what was concluded study by study; single studies of other documents are one set."""
    claim, direction = (np.stack([one[k] for one in own], axis=1).astype(np.float32) for k in (0, 1))
    shape = len(claim), -1 if per_set > 1 else 1, per_set if per_set > 1 else len(own), claim.shape[-1]
    return claim.reshape(shape), direction.reshape(shape)
