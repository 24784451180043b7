"""Say on which scale a study is rated, as far as its world says so."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from simlab.parts import chosen
from simlab.studies.worlds import draw_world
from simlab.types import RATE, InputError
from simlab.world.fitted import fitted
from simlab.world.laws.scales import ScaledRatings, score_range

WHOLE = 1e-9
"""So far a rating may be from a multiple of the step, for being no binary number."""


class Scale(NamedTuple):
    """Hold the least and the largest rating (infinite: no end), and which there are between them.

    Ratings are multiples of `step` counted from `low`, or from 0 where there is no least one (step 0: any number), or
    one of the `values` (empty: those of the steps). A `loose` scale is what a pilot showed of one: it may have steps
    and values that nobody gave there.
    """

    low: float
    high: float
    step: float
    values: tuple[float, ...] = ()
    loose: bool = False

    def holds(self, value: float) -> bool:
        """Tell whether a rating can be one of the scale."""
        if self.values:
            return self.loose or any(abs(value - one) <= WHOLE for one in self.values)
        if self.loose or not self.step:
            return self.low <= value <= self.high
        steps = (value - (self.low if math.isfinite(self.low) else 0.0)) / self.step
        return self.low <= value <= self.high and abs(steps - round(steps)) <= WHOLE * max(1.0, abs(steps))

    def is_new(self, value: float) -> bool:
        """Tell whether a rating lies beyond all values that a pilot showed."""
        return bool(self.loose and self.values) and not self.low <= value <= self.high

    def plain(self) -> dict[str, Any]:
        """Write it as JSON has it: None is no end."""
        low, high = (end if math.isfinite(end) else None for end in (self.low, self.high))
        return {"low": low, "high": high, "step": self.step, "values": list(self.values), "loose": self.loose}

    def said(self) -> str:
        """Say it in words."""
        if self.values and not self.loose:
            return " ".join(f"{value:g}" for value in self.values)
        by = f" in steps of {self.step:g}" if self.step and not self.loose else ""
        if math.isfinite(self.high):
            return f"{self.low:g} to {self.high:g}{by}"
        return f"{self.low:g} or more{by}" if math.isfinite(self.low) else f"any number{by}"


def restored(held: Any, where: str) -> Scale:
    """Read what `plain` wrote; raise InputError, beginning with `where`, for anything else."""
    try:
        low, high = held["low"], held["high"]
        return Scale(
            -math.inf if low is None else float(low),
            math.inf if high is None else float(high),
            float(held["step"]),
            tuple(float(value) for value in held["values"]),
            bool(held["loose"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{where}: does not say the scale of its ratings; assign the study again") from error


def scale_of(config: Mapping[str, Any]) -> Scale:
    """Return the scale of a study's ratings; of a world that has none, any number."""
    world = draw_world(_fresh(config), 0)
    law, loose = world.answers[RATE], chosen(config["systems"], fitted, config.get("plugins", ()))
    if not isinstance(law, ScaledRatings):
        # What counts errors has no end above; tables say nothing of theirs.
        errors = world.frame.lower_is_better and world.truth is not None
        return Scale(0.0 if errors else -math.inf, math.inf, 0.0)
    scale = law.scale
    values = () if scale.law == "gaussian" else tuple(float(value) for value in scale.values)
    return Scale(*score_range(scale), scale.step if scale.law == "gaussian" else 0.0, values, loose)


def _fresh(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Let every study have errors of its own: fixed ratings do not say which scale they are of."""
    own = {
        name: {**config[name], "noise": "fresh"}
        for name in ("systems", "raters")
        if config.get(name, {}).get("noise") == "potential"
    }
    return {**config, **own}
