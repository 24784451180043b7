"""Records of conclusions about systems, pairs, raters and metrics, and the types of their numbers.

They are the parts of `simlab.answers.conclude.Conclusion`. A pair is two systems; its verdict is a claim that one is
better, or 0. `Limit` is a sentence on what limits a conclusion, ranked by how much it changes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    WrapValidator,
    model_serializer,
    model_validator,
)

from simlab.answers.records import LARGEST, Num, Record, Upper
from simlab.types import FamilyName

MetricVerdict: TypeAlias = Literal["trust", "correct", "leave_out"]
Scope: TypeAlias = Literal["these_raters", "raters_at_large"]
FamilySays: TypeAlias = Literal["claimed", "step_down", "excludes", "open"]
WithinMargin: TypeAlias = Literal["better", "worse", "not_inferior", "not_superior", "equivalent", "open"]
PLAIN = Field(default=None, validation_alias="plain", serialization_alias="plain")
"""Default of `plain_mean`, which JSON calls `plain`."""
YOUDEN = "youden"
"""Name of rho + eta - 1, the quality of a metric whose labels are yes and no."""


def _convert_numpy(value: Any) -> Any:
    """Return a number of NumPy as one of Python, alone or within mappings and lists; a record as JSON holds it."""
    if isinstance(value, Record):
        return value.serialise()
    if isinstance(value, Mapping):
        return {key: _convert_numpy(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_convert_numpy(entry) for entry in value]
    return value.item() if hasattr(value, "item") and not getattr(value, "shape", ()) else value


Listed = TypeVar("Listed")
ListOf = Annotated[Sequence[Listed], AfterValidator(tuple)]
"""Any number of values, as a tuple."""
Two = Annotated[tuple[str, str], BeforeValidator(lambda held: tuple(held) if isinstance(held, list) else held)]
Whole = Annotated[int, BeforeValidator(_convert_numpy), Field(ge=0, le=LARGEST)]
Sign = Annotated[int, BeforeValidator(_convert_numpy), Field(ge=-1, le=1)]
Flag = Annotated[bool, BeforeValidator(_convert_numpy)]
Text = Annotated[str, BeforeValidator(lambda held: held or ""), PlainSerializer(lambda held: held or None)]
"""A text; null is none."""
Values = Annotated[Mapping[str, Any], BeforeValidator(_convert_numpy)]
"""Values by name, of whatever type JSON has."""


class Rank(IntEnum):
    """Order limits of a conclusion by how much they change, the most first."""

    PROMISE = 0
    """The promise does not hold, or may not, or the test that keeps it is blind."""
    CLAIMS = 1
    """Something is not, or cannot be, claimed."""
    NUMBERS = 2
    """Printed numbers say less than they seem to."""
    LEFT_OUT = 3
    """Something was left out, or is not foreseen."""
    RATERS = 4
    """Single raters are odd; said in one line."""
    OTHER = 5


class Limit(str):
    """A sentence on what limits a conclusion, with its rank."""

    rank: Rank

    def __new__(cls, text: str, rank: Rank = Rank.OTHER) -> Limit:
        """Make a sentence that knows its rank."""
        made = super().__new__(cls, text)
        made.rank = rank
        return made


def rank_limits(rank: Rank, texts: Iterable[str]) -> list[Limit]:
    """Return the sentences as `Limit`s of one rank."""
    return [Limit(text, rank) for text in texts]


def sort_limits(limits: Iterable[str]) -> tuple[str, ...]:
    """Order sentences by their ranks, in each as they came; those on raters become one.

    >>> sort_limits(["e", *rank_limits(Rank.RATERS, ["c", "d"]), Limit("b", Rank.CLAIMS), Limit("a", Rank.PROMISE)])
    ('a', 'b', 'c; d', 'e')
    """
    by: dict[Rank, list[str]] = {rank: [] for rank in Rank}
    for limit in limits:
        by[rank_of(limit)].append(limit)
    if len(by[Rank.RATERS]) > 1:
        by[Rank.RATERS] = [Limit("; ".join(by[Rank.RATERS]), Rank.RATERS)]
    return tuple(limit for rank in Rank for limit in by[rank])


def rank_of(limit: str) -> Rank:
    """Return the rank of a sentence; `Rank.OTHER` for one that is no `Limit`."""
    return limit.rank if isinstance(limit, Limit) else Rank.OTHER


# A sentence keeps its rank, which pydantic would take from it.
Said = Annotated[str, WrapValidator(lambda held, check: held if isinstance(held, str) else check(held))]
"""A sentence, which keeps its rank if it is a `Limit`."""


class Interval(Record):
    """A number and the bounds of its interval."""

    value: Num
    low: Num
    high: Num

    def bounds(self) -> tuple[float, float, float]:
        """Return the number, and the bounds."""
        return self.value, self.low, self.high

    def is_finite(self) -> bool:
        """True if the number and both bounds are known, and no infinities."""
        return all(map(math.isfinite, self.bounds()))


class System(Record):
    """Conclusion about a system: `n` answers, its estimate, the ranks it may have (1 = best).

    `plain_mean` is the mean of its ratings where the estimate is weighted by who rated what, else the same (None: no
    mean).
    """

    system: str
    n: Whole
    estimate: Num
    low: Num
    high: Num
    rank_low: Whole
    rank_high: Whole
    plain_mean: Num | None = PLAIN


class More(Record):
    """Number of further units (`unit`) that settle an open pair, over what its effect may be; inf: beyond `limit`.

    `answers` says what these cost in answers ("ratings of these two"), `per_unit` how many each.
    """

    unit: str
    median: Upper
    low: Upper
    high: Upper
    limit: Annotated[int | Num, BeforeValidator(_convert_numpy)]
    per_unit: Num = 1.0
    answers: str = ""


class Pair(Record):
    """Conclusion about two systems: their difference, its bounds and p-values, and the verdict.

    `difference` is first less second on the table's own scale, bounds are simultaneous with the claims; `direction` is
    +1 where the first came out better, whichever way the scale goes, `verdict` the same where it is claimed, else 0.
    NaN is not known (a pair that was never compared). `within` is the answer to `--margin`. The difference is what is
    tested; `plain_mean` is that of plain means, which raters who met one system more may draw away (None: of no means).
    `unpromised` is what would have been claimed where the promise is withdrawn, else 0. `scope` says for whom the pair
    is claimed: these raters, or raters like them (None: not of ratings). `detectable` is the difference of this pair
    that such a table finds with 80 % probability (None: not known by pair). `family` is the result of the family's test
    of the pair: `step_down` where stepping down finds what a single step does not, `excludes` where the better one
    excludes the other from those that may be the best (None: not of ratings).
    """

    first: str
    second: str
    difference: Num
    low: Num
    high: Num
    p_value: Num
    adjusted: Num
    direction: Sign
    verdict: Sign
    within: WithinMargin | None = None
    more: More | None = None
    plain_mean: Num | None = PLAIN
    scope: Scope | None = None
    unpromised: Sign = 0
    detectable: Num | None = None
    family: FamilySays | None = None


class Candidate(Record):
    """A system as a candidate for the best: whether it may be, its p-value, and how far behind the best it is at most.

    `within`: it is no more than the margin behind the best (None: no margin was named).
    """

    system: str
    may_be_best: Flag
    p_value: Num
    behind: Upper
    within: Flag | None = None


class Family(Record):
    """The answer of a family of comparisons, beside what stands with systems and pairs.

    `says` is what is promised of it as a sentence; of an exploratory one, which a plan did not fix, nothing is.
    `candidates` are the systems, best first, for `best`; `tiers` the groups of a tied ranking, for `ranks`: each system
    of a group is claimed to be better than each one of the groups after it. `claims` are pairs, the better first, that
    an exploratory family would claim.
    """

    name: FamilyName
    says: str
    candidates: ListOf[Candidate] = ()
    tiers: ListOf[ListOf[str]] = ()
    claims: ListOf[Two] = ()


class Rater(Record):
    """A rater's answers, and how far above the others the rater scores the same outputs, with an interval."""

    rater: str
    n: Whole
    leniency: Num
    low: Num
    high: Num


class Estimated(Record):
    """A system's mean by one way of using the metric (`method`), with its interval.

    `human` uses no metric, `ppi` is PPI++, `joint`, `own` and `partial` are posterior means.
    """

    method: str
    system: str
    value: Num
    low: Num
    high: Num


class MetricQuality(Record):
    """Quality of a metric on a system: rho + eta - 1, or the correlation where labels are no yes and no."""

    system: str
    value: Num
    low: Num
    high: Num


class MetricError(Record):
    """Error of a metric's own difference of two systems: the metric's less the humans'.

    All are first less second on the humans' scale, over outputs that both scored; bounds hold for all pairs at once.
    """

    first: str
    second: str
    human: Num
    metric: Num
    value: Num
    low: Num
    high: Num


class Metric(Record):
    """Conclusion about a metric: a verdict with its reason, and what it rests on.

    `quality_of` names what `quality` holds: `youden` or `correlation`; `spread` is how far systems differ in it.
    `labels` counts further human labels that would settle the verdict. `width` is the corrected interval's width over
    that of humans alone, `pairs` what is concluded with the metric corrected. `bias_pairs` are the errors of its own
    differences, `bias_worst` the one whose bounds reach farthest, `bias` each system's error about the mean of all (the
    baseline, where all are compared with one) with bounds for all systems at once; `bias_factor` brought its scores to
    the humans' scale (None: they are on it). `favour` is how far each system lies above the line of the metric's means
    on the humans', against the median of the others, in the metric's points, `favour_slope` that line's slope.
    `worth_labels` are further human labels that would narrow differences as much as the metric does (None: it was not
    mixed in); `labels_at_random` is False where the table shows that labels were not dealt at random within systems,
    None where it cannot.
    """

    name: str
    verdict: MetricVerdict
    reason: str
    labels: More | None
    quality_of: str
    quality: ListOf[MetricQuality]
    spread: Interval
    width: Num
    estimates: ListOf[Estimated]
    pairs: ListOf[Pair]
    bias: ListOf[MetricQuality] = ()
    bias_pairs: ListOf[MetricError] = ()
    bias_worst: MetricError | None = None
    bias_factor: Num | None = None
    favour: ListOf[MetricQuality] = ()
    favour_slope: Interval | None = None
    worth_labels: Interval | None = None
    labels_at_random: Flag | None = None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, content: Any) -> Any:
        """Find what `quality` holds: JSON has it by its name."""
        if not isinstance(content, dict) or "quality_of" in content:
            return content
        others = [name for name in content if name not in cls.model_fields and name != YOUDEN]
        name = others[0] if others else YOUDEN
        kept = {key: value for key, value in content.items() if key not in (name, YOUDEN)}
        return {**kept, "quality_of": name, "quality": content.get(name, ())}

    @model_serializer(mode="wrap")
    def _serialise_fields(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Put `quality` where its name says; `youden` is always there."""
        fields = write(self)
        name, quality = fields.pop("quality_of"), fields.pop("quality")
        first = {key: fields.pop(key) for key in ("name", "verdict", "reason", "labels")}
        return {**first, YOUDEN: [], name: quality, **fields}


UNKNOWN = Interval(value=math.nan, low=math.nan, high=math.nan)
