"""Records of `simlab detect`: the differences that settings detect, or the ratings that a difference takes.

Outputs are adequate or not. alpha is the share of a system's outputs that are adequate; rho and eta are the
probabilities that the metric calls adequate outputs adequate, and inadequate ones inadequate. epsilon is the measurable
difference between two systems' alphas, which a study of that truth finds half the time; `detectable` is the one that it
finds with probability `power`. `_joint` marks those for systems that share one estimate of rho and eta.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite, nan
from typing import Annotated, Literal

from pydantic import Field, model_validator

from simlab.answers.records import Count, Num, Record, Rows

Share = Annotated[float, Field(ge=0, le=1)]

SOLUTIONS: Mapping[str, tuple[str, ...]] = {
    "n_human": ("n_human",),
    "n_metric": ("n_metric",),
    "n_calibration": ("n_calibration",),
    "accuracy": ("rho", "eta"),
    "mix": ("price", "n_human", "n_metric", "n_calibration"),
}
"""Fields of `Detection` that are found for each value of `solved`, the one that is minimised first."""
COUNTS = ("n_systems", "n_human", "n_metric", "n_calibration")
"""Fields of `Detection` that count: systems, then ratings of each system."""
SETTINGS = (*COUNTS, "correlation", "threshold", "rho", "eta", "alpha")
"""Fields of `Detection` that describe the evaluation."""
LEVELS = ("level", "power", "multiplicity", "find", "posterior")
"""Fields of `Detection` that say when a difference counts as detected."""
DIFFERENCES = ("epsilon", "epsilon_joint", "detectable", "detectable_joint")
POWERS = ("power_published", "power_joint")
CHAINS = ("r_hat", "ess")


class Detection(Record):
    """A setting: its ratings per system, and the differences of the share of adequate outputs that it detects.

    Without `n_calibration` rho and eta are known; NaN where nothing is rated by the metric, or where no value reaches
    the `difference`. `solved` names the field that was minimised; `joint`: systems then share one calibration.
    `power_published` and `power_joint` are the probabilities of finding the `difference`, `flipped` marks a metric with
    rho + eta below 1, whose labels were turned round, `alpha_assumed` an alpha that nobody typed. Differences are
    shares, or points (`unit`). Where alpha was sampled (`posterior`) epsilon rests on `ess` effective draws. Fields
    that do not apply to any row are not set, and left out of the JSON.
    """

    n_systems: Count | None = None
    n_human: Count | None
    n_metric: Count | None
    n_calibration: Count | None
    correlation: Num = nan
    threshold: Num = nan
    rho: Num
    eta: Num
    alpha: Share
    alpha_assumed: bool = False
    level: Share
    power: Share
    multiplicity: Literal["max_t", "holm", "none"] | None = None
    find: Literal["pair", "best", "all"] | None = None
    solved: Literal["n_human", "n_metric", "n_calibration", "accuracy", "mix"] | None = None
    joint: bool = False
    price: Num = nan
    difference: Num = nan
    epsilon: Num
    epsilon_joint: Num
    detectable: Num
    detectable_joint: Num = nan
    flipped: bool = False
    power_published: Num = nan
    power_joint: Num = nan
    posterior: Literal["quadrature", "nuts"] | None = None
    r_hat: Num = nan
    ess: Num = nan
    unit: Literal["points"] | None = None

    @model_validator(mode="after")
    def _check_fields(self) -> Detection:
        if len({value is None for value in (self.n_systems, self.multiplicity, self.find)}) > 1:
            raise ValueError("must have n_systems, multiplicity and find together")
        if self.solved is None and "detectable_joint" not in self.model_fields_set:
            raise ValueError("must have detectable_joint, or solved")
        if self.solved is not None and not isfinite(self.difference):
            raise ValueError("must have the difference that solved is for")
        return self

    @property
    def sought(self) -> str:
        """Name the field that was looked for."""
        return SOLUTIONS[self.solved][0] if self.solved else "detectable"

    @property
    def is_reached(self) -> bool:
        """True if the field that was looked for has a value."""
        return self.known_value(self.sought) is not None and isfinite(self.epsilon)

    def known_value(self, name: str) -> float | str | None:
        """Return the value of a field; None for NaN, too."""
        value: float | str | None = getattr(self, name)
        return None if isinstance(value, float) and not isfinite(value) else value


class Detections(Rows[Detection]):
    """Detections of settings, all of which have the same fields and look for the same thing."""

    @model_validator(mode="after")
    def _check_rows(self) -> Detections:
        first = self.root[0]
        for row in self.root:
            for name in sorted(row.model_fields_set ^ first.model_fields_set):
                raise ValueError(f"must have {name} in all rows, or in none")
            for name in ("solved", "joint", "unit"):
                if getattr(row, name) != getattr(first, name):
                    raise ValueError(f"must have the same {name} in all rows")
        return self
