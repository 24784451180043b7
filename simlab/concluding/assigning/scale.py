"""Say on which scale a study is rated, as far as its world says so."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from simlab.types import RATE, World
from simlab.world.laws.fixed import FixedRatings
from simlab.world.laws.scales import ScaledRatings, score_range

WHOLE = 1e-9
"""So far a rating may be from a multiple of the step, for being no binary number."""


class Scale(NamedTuple):
    """Hold the least and the largest rating (infinite: no end), and which there are between them.

    Ratings are multiples of `step` counted from `low`, or from 0 where there is no least one (step 0: any number), or
    one of the `values` (empty: those of the steps).
    """

    low: float
    high: float
    step: float
    values: tuple[float, ...] = ()

    def holds(self, value: float) -> bool:
        """Tell whether a rating is one of the scale."""
        if self.values:
            return any(abs(value - one) <= WHOLE for one in self.values)
        if not self.low <= value <= self.high:
            return False
        steps = (value - (self.low if math.isfinite(self.low) else 0.0)) / self.step if self.step else 0.0
        return abs(steps - round(steps)) <= WHOLE * max(1.0, abs(steps))

    def plain(self) -> dict[str, Any]:
        """Write it as JSON has it: None is no end."""
        low, high = (end if math.isfinite(end) else None for end in self[:2])
        return {"low": low, "high": high, "step": self.step, "values": list(self.values)}

    def said(self) -> str:
        """Say it in words."""
        if self.values:
            return " ".join(f"{value:g}" for value in self.values)
        by = f" in steps of {self.step:g}" if self.step else ""
        if math.isfinite(self.high):
            return f"{self.low:g} to {self.high:g}{by}"
        return f"{self.low:g} or more{by}" if math.isfinite(self.low) else f"any number{by}"


def restored(held: Any) -> Scale:
    """Read what `plain` wrote; anything else is a scale that holds any number."""
    if not isinstance(held, Mapping) or not {"low", "high", "step", "values"} <= held.keys():
        return Scale(-math.inf, math.inf, 0.0)
    low, high = (end if isinstance(end := held[name], int | float) else None for name in ("low", "high"))
    values = held["values"] if isinstance(held["values"], list) else []
    return Scale(
        -math.inf if low is None else float(low),
        math.inf if high is None else float(high),
        float(held["step"] or 0.0),
        tuple(float(value) for value in values),
    )


def scale_of(world: World) -> Scale:
    """Return the scale of a world's ratings; of a world that has none, any number."""
    law = world.answers[RATE]
    if isinstance(law, ScaledRatings):
        scale = law.scale
        values = () if scale.law == "gaussian" else tuple(float(value) for value in scale.values)
        return Scale(*score_range(scale), scale.step if scale.law == "gaussian" else 0.0, values)
    if isinstance(law, FixedRatings) and not world.frame.lower_is_better:
        return Scale(-math.inf, math.inf, 0.0)
    return Scale(0.0 if world.frame.lower_is_better else -math.inf, math.inf, 0.0)
