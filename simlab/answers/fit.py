"""Records of `simlab fit`: the law of a pilot, its checks, what makes scores differ, what is not identified.

`Fit` is the whole answer; the others are its parts. A law is a statistical model of the answers of raters (a
distribution given effects of systems, raters, documents); with its fitted parameters it is the world in which studies
are simulated.
"""

from __future__ import annotations

from math import isfinite
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from simlab.answers.records import Count, Num, Record, Upper
from simlab.answers.tables import ReadTable

PREFERENCE = "preference"
"""The law of tables of comparisons."""


class LawScore(Record):
    """Predictive score of a law: mean log score of a rating [nats], how far it is behind the best, the error of that.

    `se` is the standard error, over documents, of `behind`; NaN for the best itself.
    """

    law: str
    log_score: Num
    behind: Num
    se: Num


class CheckedTrait(Record):
    """A trait of the pilot, `real`, beside the median of tables `simulated` from the law.

    `inside`: it lies in the interval from `low` to `high` of these tables.
    """

    name: str
    real: Num
    simulated: Num
    low: Num
    high: Num
    inside: bool


class FailedCheck(Record):
    """A trait of the pilot that lies outside what simulated tables allow."""

    name: str
    real: Num
    low: Num
    high: Num


class PredictionError(Record):
    """Direction in which a world's predictions err: conclusions of the pilot, and of tables of the world.

    `below` is the share of these tables that conclude less than the pilot (half of those that conclude as much).
    """

    measure: Literal["power", "SRP", "confirmed"]
    real: Num
    simulated: Num
    below: Num


class Checks(Record):
    """All checks of a fit, how many passed, those that failed, and which way predictions err."""

    passed: Count
    failed: tuple[FailedCheck, ...]
    all: tuple[CheckedTrait, ...]
    erring: tuple[PredictionError, ...] = ()


class Component(Record):
    """Standard deviation of a component that makes scores differ, in points, with its interval.

    `sd` is NaN where the pilot says nothing of it; `assumed` is what the priors then put in its place.
    """

    name: str
    sd: Num
    low: Num
    high: Num
    assumed: Num = float("nan")

    @model_validator(mode="after")
    def _check_interval(self) -> Component:
        if isfinite(self.sd) and not (isfinite(self.low) and isfinite(self.high)):
            raise ValueError("has a value, but no interval")
        return self


class Dependability(Record):
    """A generalizability coefficient of a study, with a 95 % interval: E rho^2 (relative) or Phi (absolute).

    The study has so many `documents` and `each` ratings of an output, by raters `drawn` anew or `fixed`.
    """

    name: Literal["e_rho2", "phi"]
    raters: Literal["drawn", "fixed"]
    documents: Count
    each: Count
    value: Num
    low: Num
    high: Num


class ErrorByRatings(Record):
    """Standard error of a difference of two systems [points] with `each` ratings of each output.

    `documents` are those that the same number of ratings pays for, `best` the share of draws in which it is least.
    """

    each: Count
    documents: Num
    error: Num
    low: Num
    high: Num
    best: Num


class HoursByCut(Record):
    """Hours of a table, gaps between answers cut at `cut` seconds."""

    cut: Num
    hours: Num


class SpeedEstimate(Record):
    """Estimate of a speed with its 95 % interval."""

    estimate: Num
    low: Num = float("nan")
    high: Num = float("nan")


class HoursAgain(Record):
    """Hours that the same work would take other people, with a 90 % interval."""

    low: Num
    median: Num
    high: Num


class RaterSpeed(Record):
    """Speed of a rater's answers [s], the standard deviation of its logarithm, and the number of answers."""

    median_seconds: Num
    log_sd: Num
    segments: Count


class PilotSpeeds(Record, extra="allow"):
    """Speeds of the raters: the rule by which gaps are cut at `cut` seconds, the hours of the table, and estimates."""

    rule: str
    cut: Num
    hours: tuple[HoursByCut, ...]
    people: Count
    seconds_per_answer: SpeedEstimate
    rater_sd: SpeedEstimate
    hours_again: HoursAgain
    raters: dict[str, RaterSpeed]

    @model_validator(mode="after")
    def _check_hours(self) -> PilotSpeeds:
        if self.cut not in {hours.cut for hours in self.hours}:
            raise ValueError(f"hours: has none cut at {self.cut:g} s")
        return self


class Fit(Record):
    """Fit to a pilot: its law, checks, components and speeds.

    `refused[law]` says why a law was not tried, `asked` is True where the user named the law. `each` and `price` say
    what more ratings of an output are worth: `price` (low, median, high) is how many ratings a document must cost for a
    second rating each to pay (null: at no price). `unmixed` says that chains disagree; `written` is the file of the
    world.
    """

    read: ReadTable
    law: str
    asked: bool = False
    compared: tuple[LawScore, ...] = ()
    refused: dict[str, str] = Field(default_factory=dict)
    checks: Checks
    components: Annotated[tuple[Component, ...], Field(min_length=1)]
    coefficients: tuple[Dependability, ...] = ()
    each: tuple[ErrorByRatings, ...] = ()
    price: tuple[Upper, Upper, Upper] | None = None
    not_identified: tuple[str, ...]
    speeds: PilotSpeeds | None = None
    diagnosis: dict[str, Any]
    unmixed: tuple[str, ...] = ()
    written: str | None = None

    @property
    def compares(self) -> bool:
        """True if the table compares outputs, and holds no ratings."""
        return self.law == PREFERENCE

    @property
    def failed(self) -> tuple[CheckedTrait, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks.all if not check.inside)

    @property
    def interval(self) -> int:
        """Level of the components' intervals [%]."""
        return 90 if self.compares else 95
