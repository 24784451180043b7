"""Say what a rule that ends judging may know before it sees a judgement."""

from __future__ import annotations

from typing import Any

import numpy as np

from simlab.types import Floats, KnownRates, World
from simlab.world.laws.judgements import Needs, Potential, judgements_of

_REACH = 3.0
"""What a metric that scores says beyond so many standard deviations is cut off: what it bets must not ruin."""


def stopping_facts(
    needs: Needs, potential: Potential, g: Floats | None, scale: tuple[float, float] | None
) -> dict[str, Any]:
    """Say what a rule may know of scale and metric before it sees a judgement; see `Followed`."""
    n_systems, planned = potential.y.shape
    facts: dict[str, Any] = {"planned": planned, "scale": scale, "other": None, "fresh": 0, "metric_scale": None}
    if g is None:
        return facts
    if needs.test_set is not None and needs.test_set.said is not None:
        # g is standardised over the test set.
        said = needs.test_set.said
        spread = said.std(1)
        ends = (np.stack([said.min(1), said.max(1)]) - said.mean(1)) / np.where(spread > 0, spread, 1.0)
        return facts | {"other": np.zeros((n_systems, planned)), "metric_scale": ends}
    fresh = 0 if potential.others is None else potential.others.shape[1] // planned
    if potential.others is None or not fresh:
        return facts
    law = needs.law_of_metric
    binary = law is not None and (isinstance(law.nominal, KnownRates) or law.threshold is not None)
    low, high = (0.0, 1.0) if binary else (-_REACH, _REACH)
    steps = np.clip(potential.others[:, : fresh * planned], low, high).reshape(n_systems, planned, fresh)
    bounds = np.repeat([[low], [high]], n_systems, axis=1)
    return facts | {"other": steps.mean(2), "fresh": fresh, "metric_scale": bounds}


def scale_of(world: World) -> tuple[float, float] | None:
    """Return the ends of the scale of judgements; None where it has none, or nobody says where they are."""
    law = judgements_of(world)
    return law.ends() if law.judges.scale == "binary" else None
