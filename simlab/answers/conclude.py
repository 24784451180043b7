"""What `simlab conclude` answers: systems, pairs, raters, metrics, and what is promised of them.

These records are all that commands, pages and figures know; whoever concludes fills them in, whatever was collected.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    ValidationError,
    WrapValidator,
    model_serializer,
    model_validator,
)

from simlab.answers.records import LARGEST, Count, Num, Record, Upper
from simlab.types import FamilyName

PromiseName: TypeAlias = Literal["fixed", "anytime"]
MetricVerdict: TypeAlias = Literal["trust", "correct", "leave_out"]
Scope: TypeAlias = Literal["these_raters", "raters_at_large"]
FamilySays: TypeAlias = Literal["claimed", "step_down", "excludes", "open"]
WithinMargin: TypeAlias = Literal["better", "worse", "not_inferior", "not_superior", "equivalent", "open"]
PLAIN = Field(default=None, validation_alias="plain", serialization_alias="plain")
YOUDEN = "youden"
SIGN_BY_CHANCE = 0.5
"""A repetition of nothing finds the sign of one claim with this probability."""


def _python(held: Any) -> Any:
    """Return a number of NumPy as one of Python, alone or within mappings and lists; a record as JSON holds it."""
    if isinstance(held, Record):
        return held.plain()
    if isinstance(held, Mapping):
        return {key: _python(one) for key, one in held.items()}
    if isinstance(held, list | tuple):
        return [_python(one) for one in held]
    return held.item() if hasattr(held, "item") and not getattr(held, "shape", ()) else held


Listed = TypeVar("Listed")
ListOf = Annotated[Sequence[Listed], AfterValidator(tuple)]
"""Any number of values, as a tuple."""
Two = Annotated[tuple[str, str], BeforeValidator(lambda held: tuple(held) if isinstance(held, list) else held)]
Whole = Annotated[int, BeforeValidator(_python), Field(ge=0, le=LARGEST)]
Sign = Annotated[int, BeforeValidator(_python), Field(ge=-1, le=1)]
Flag = Annotated[bool, BeforeValidator(_python)]
Text = Annotated[str, BeforeValidator(lambda held: held or ""), PlainSerializer(lambda held: held or None)]
"""A text; null is none."""
Values = Annotated[Mapping[str, Any], BeforeValidator(_python)]
"""Values by name, of whatever type JSON has."""


class Rank(IntEnum):
    """Order what limits a conclusion by what it changes, the most first."""

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
    """Hold a sentence on what limits a conclusion, with its rank."""

    rank: Rank

    def __new__(cls, text: str, rank: Rank = Rank.OTHER) -> Limit:
        """Make a sentence that knows its rank."""
        made = super().__new__(cls, text)
        made.rank = rank
        return made


def ranked(rank: Rank, texts: Iterable[str]) -> list[Limit]:
    """Give sentences a rank."""
    return [Limit(text, rank) for text in texts]


def in_order(limits: Iterable[str]) -> tuple[str, ...]:
    """Order sentences by their ranks, in each as they came; those on raters become one.

    >>> in_order(["e", *ranked(Rank.RATERS, ["c", "d"]), Limit("b", Rank.CLAIMS), Limit("a", Rank.PROMISE)])
    ('a', 'b', 'c; d', 'e')
    """
    by: dict[Rank, list[str]] = {rank: [] for rank in Rank}
    for one in limits:
        by[rank_of(one)].append(one)
    if len(by[Rank.RATERS]) > 1:
        by[Rank.RATERS] = [Limit("; ".join(by[Rank.RATERS]), Rank.RATERS)]
    return tuple(one for rank in Rank for one in by[rank])


def rank_of(limit: str) -> Rank:
    """Return the rank of a sentence; that of one that has none is the last."""
    return limit.rank if isinstance(limit, Limit) else Rank.OTHER


# A sentence keeps its rank, which pydantic would take from it.
Said = Annotated[str, WrapValidator(lambda held, check: held if isinstance(held, str) else check(held))]


class Interval(Record):
    """Hold a number and the bounds of its interval."""

    value: Num
    low: Num
    high: Num

    def bounds(self) -> tuple[float, float, float]:
        """Return the number, and the bounds."""
        return self.value, self.low, self.high

    def is_finite(self) -> bool:
        """Tell whether the number and both bounds are known, and no infinities."""
        return all(map(math.isfinite, self.bounds()))


class Promise(Record):
    """Say what is promised of the claims.

    `level` is the probability of any wrong claim (or as `multiplicity` has it); `holds` is False where the promise is
    not one of this table, as at an interim look. `says` is the promise as a sentence, with what it takes as drawn and
    what as given; `broken` says why it does not hold ("": it does).
    """

    name: PromiseName
    level: Num
    multiplicity: str
    holds: Flag
    says: str
    broken: str = ""


class System(Record):
    """Hold what is concluded about a system: `n` answers, its estimate, the ranks it may have (1 = best).

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
    """Say how many more of a `unit` settle an open pair, over what its effect may be; inf: beyond `limit`.

    `answers` says what these cost in answers ("ratings of these two"), `per_unit` how many each.
    """

    unit: str
    median: Upper
    low: Upper
    high: Upper
    limit: Annotated[int | Num, BeforeValidator(_python)]
    per_unit: Num = 1.0
    answers: str = ""


class Pair(Record):
    """Hold what is concluded about two systems.

    `difference` is first less second on the table's own scale, bounds are simultaneous with the claims; `direction` is
    +1 where the first came out better, whichever way the scale goes, `verdict` the same where it is claimed, else 0.
    NaN is not known (a pair that was never compared). `within` is the answer to `--margin`. The difference is what is
    tested; `plain_mean` is that of plain means, which raters who met one system more may draw away (None: of no means).
    `unpromised` is what would have been claimed where the promise is withdrawn, else 0.
    `scope` says for whom the pair is claimed: these raters, or raters like them (None: not of ratings). `detectable`
    is the difference of this pair that such a table finds with 80 % probability (None: not known by pair).
    `family` is what the family says of it: `step_down` where stepping down finds what a single step does not,
    `excludes` where the better one excludes the other from those that may be the best (None: not of ratings).
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
    """Hold a rater's answers, and how far above the others the rater scores the same outputs, with an interval."""

    rater: str
    n: Whole
    leniency: Num
    low: Num
    high: Num


class Estimated(Record):
    """Hold a system's mean by one way of using the metric: `human`, `ppi`, `joint`, `own`, `partial`."""

    method: str
    system: str
    value: Num
    low: Num
    high: Num


class Rated(Record):
    """Hold a system's rho + eta - 1 of a metric, or its correlation where labels are no yes and no."""

    system: str
    value: Num
    low: Num
    high: Num


class MetricError(Record):
    """Hold the error of a metric's own difference of two systems: what it says less what humans say.

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
    """Hold what a table says of a metric: a verdict with its reason, and what it rests on.

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
    quality: ListOf[Rated]
    spread: Interval
    width: Num
    estimates: ListOf[Estimated]
    pairs: ListOf[Pair]
    bias: ListOf[Rated] = ()
    bias_pairs: ListOf[MetricError] = ()
    bias_worst: MetricError | None = None
    bias_factor: Num | None = None
    favour: ListOf[Rated] = ()
    favour_slope: Interval | None = None
    worth_labels: Interval | None = None
    labels_at_random: Flag | None = None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, held: Any) -> Any:
        """Find what `quality` holds: JSON has it by its name."""
        if not isinstance(held, dict) or "quality_of" in held:
            return held
        others = [name for name in held if name not in cls.model_fields and name != YOUDEN]
        name = others[0] if others else YOUDEN
        kept = {key: one for key, one in held.items() if key not in (name, YOUDEN)}
        return {**kept, "quality_of": name, "quality": held.get(name, ())}

    @model_serializer(mode="wrap")
    def _written(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Put `quality` where its name says; `youden` is always there."""
        held = write(self)
        name, quality = held.pop("quality_of"), held.pop("quality")
        first = {key: held.pop(key) for key in ("name", "verdict", "reason", "labels")}
        return {**first, YOUDEN: [], name: quality, **held}


UNKNOWN = Interval(value=math.nan, low=math.nan, high=math.nan)


class RepeatedShares(Record):
    """Hold shares with 90 % intervals over what worlds may be, by what is new in a repetition; NaN is not known.

    `same`: nothing; `new_documents`: other documents, the same raters; `new_raters`: other raters, the same documents;
    `new_study`: both.
    """

    same: Interval = UNKNOWN
    new_documents: Interval = UNKNOWN
    new_raters: Interval = UNKNOWN
    new_study: Interval = UNKNOWN


class Repetition(Record):
    """Hold the chance that all claims have the `same_sign` in a repetition, and the share of them `claimed_again`.

    A sign is less than a claim, which has the same sign and passes the same test. `studies` of each sort were simulated
    in the `world`; `unknown` says of what is not known why, by its name in `RepeatedShares`.
    """

    same_sign: RepeatedShares
    claimed_again: RepeatedShares
    studies: Whole
    world: str
    unknown: Mapping[str, str] = {}

    @model_validator(mode="before")
    @classmethod
    def _read(cls, held: Any) -> Any:
        """Leave out what JSON says twice."""
        twice = ("srp", "srp_new_documents", "srp_new_study", "sign_by_chance")
        return {key: one for key, one in held.items() if key not in twice} if isinstance(held, dict) else held

    @model_serializer(mode="wrap")
    def _written(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Name the shares that most ask for, and what chance alone gives."""
        held = write(self)
        same = held["same_sign"]
        return {
            "srp": same["same"],
            "srp_new_documents": same["new_documents"],
            "srp_new_study": same["new_study"],
            "same_sign": same,
            "sign_by_chance": SIGN_BY_CHANCE,
            **{name: held[name] for name in ("claimed_again", "unknown", "studies", "world")},
        }


class Control(Record):
    """Hold how many of so many studies like this one claim something though systems are equal, with its mcse.

    `uncorrected` is the same under t tests of segments (of comparisons: sign tests), each by itself. `watched` is the
    same under sign tests of each pair at every one of many looks while votes come (None: not of this kind of study).
    `pair_claim` is the share of pairs that are claimed (None: the promise is not about each pair by itself).
    `at_large` is the share of studies by other raters that claim something for theirs, systems equal for raters at
    large, with a 90 % interval over worlds (None: raters are drawn in the check itself, or nobody is known to differ).
    `best_excluded` is the share of studies in which a system that is a best one, as all are, is excluded from those
    that may be the best: of the system that is excluded most often (None: that is not asked).
    """

    studies: Whole
    some_claim: Num
    some_claim_mcse: Num
    promised: Num
    uncorrected: Num
    uncorrected_mcse: Num
    world: str
    watched: Num | None = None
    watched_mcse: Num | None = None
    pair_claim: Num | None = None
    pair_claim_mcse: Num | None = None
    at_large: Interval | None = None
    at_large_mcse: Num | None = None
    best_excluded: Num | None = None
    best_excluded_mcse: Num | None = None

    def gated(self, promise: Promise) -> tuple[float, float]:
        """Return the share of wrong claims that a promise bounds, and its Monte-Carlo standard error."""
        if promise.multiplicity == "none" and self.pair_claim is not None and self.pair_claim_mcse is not None:
            return self.pair_claim, self.pair_claim_mcse
        if promise.multiplicity == "best" and self.best_excluded is not None and self.best_excluded_mcse is not None:
            return self.best_excluded, self.best_excluded_mcse
        return self.some_claim, self.some_claim_mcse

    def contradicts(self, promise: Promise) -> bool:
        """Tell whether wrong claims are more than promised, by more than three Monte-Carlo standard errors."""
        share, mcse = self.gated(promise)
        return share - 3 * mcse > promise.level


class UnmetPeople(Record):
    """Largest share of people of whom `raters` may have met none, and the chance of meeting none of one in five.

    A group of a share q is missed by R raters drawn at random with probability (1 - q)^R. Whatever it prefers, a test
    of these raters claims what the others say, so that no test holds its level for groups with q R below about 3.
    """

    raters: Whole
    unmet_share: Num
    one_in_five_unmet: Num


class PlannedFigure(Record):
    """Hold a figure of a plan beside what is found of it, both in a `unit` ("share": of 1), and why it is `missing`.

    `measure` is that of a target, the `significant_share` of pairs that are claimed, the `smallest_difference` that
    matters (beside the one that such a table finds with 80 % probability), or what a study takes. Errors are
    Monte-Carlo standard errors; NaN is what is not known, or not simulated.
    """

    measure: str
    unit: str
    planned: Num
    found: Num
    planned_mcse: Num = math.nan
    found_mcse: Num = math.nan
    missing: str = ""


class Followed(Record):
    """Hold which plan was followed, and where the table leaves it; `look` counts looks, this one included.

    `targets` are what was planned beside what is found (empty: the plan does not say what it was to find).
    """

    name: str
    digest: str
    planned: Whole
    deviations: ListOf[str]
    look: Whole
    targets: ListOf[PlannedFigure] = ()


class Words(Record):
    """Hold what sentences are made of; the rest of `about` is for programs."""

    model_config = ConfigDict(extra="ignore")

    estimate: str = ""
    difference: str = ""
    test: str = ""
    methods: ListOf[str] = ()
    groups: ListOf[ListOf[str]] = ()
    margin: Num | None = None
    raters: str = ""
    normalization: str = ""


class LeftOut(Record):
    """Hold how many ratings of a table do not count, and why."""

    ratings: Count
    why: str


class Counted(Record):
    """Hold what the line about a table counts; the rest of `read` is for programs."""

    model_config = ConfigDict(extra="ignore")

    used: Count = 0
    systems: Count | None = None
    documents: Count | None = None
    items: Count | None = None
    raters: Count | None = None
    gaps: Count | None = None
    scale: ListOf[Num] | None = None
    left_out: LeftOut | None = None
    where: Mapping[str, ListOf[str]] = {}


def _holding(known: type[Record]) -> AfterValidator:
    """Check that those of the values that a page knows have their types."""

    def check(values: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            known(**values)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            said = str(first["msg"]).replace("Input should be", "must be")
            raise ValueError(f"holds {first['loc'][0]}, which {said}") from None
        return values

    return AfterValidator(check)


class Conclusion(Record):
    """Hold all that is concluded from a table.

    `question` is the kind of study; `read` and `line` say what was read, to a program and to people; `unit` is what
    estimates are counted in. `family` are the pairs that the promise is about (all, or those with a baseline).
    `detectable` is the smallest difference that such a table finds with 80 % probability, in `unit`; that of the middle
    pair where pairs rest on unequal numbers. `order` names,
    in groups, what nothing separates. `confounded` counts the pairs whose difference the design cannot tell from that
    of their raters. `repetition_missing` and `control_missing` say why there is no repetition, or no
    check on equal systems ("": there is one, or nothing is claimed that could be repeated). `about` holds words and
    numbers for the paragraph. `notes` are sentences on what was left out or taken for granted, `warnings` on what
    limits the conclusion, those first that change most; `limits` what no analysis of so few raters can know.
    `family` is the answer of the family of comparisons (None: not of ratings, or each pair stands by itself),
    `exploratory` that of another one than a plan has fixed, of which nothing is promised.
    """

    question: str
    read: Annotated[Values, _holding(Counted)]
    unit: str
    better: Literal["higher", "lower"]
    promise: Promise
    systems: Annotated[ListOf[System], Field(min_length=1)]
    pairs: ListOf[Pair]
    raters: ListOf[Rater] = ()
    repetition: Repetition | None = None
    repetition_missing: Text = ""
    control: Control | None = None
    control_missing: Text = ""
    limits: UnmetPeople | None = None
    metrics: ListOf[Metric] = ()
    detectable: Num | None = None
    confounded: Whole = 0
    cycles: ListOf[ListOf[str]] = ()
    plan: Followed | None = None
    without: Mapping[str, Conclusion] = Field(default={})
    about: Annotated[Values, _holding(Words)] = Field(default={})
    notes: ListOf[str] = ()
    warnings: Annotated[Sequence[Said], AfterValidator(in_order)] = ()
    family: Family | None = None
    exploratory: Family | None = None
    line: str = Field(default="", exclude=True)
    lines: ListOf[str] = Field(default=(), exclude=True)

    @model_validator(mode="before")
    @classmethod
    def _read(cls, held: Any) -> Any:
        """Leave out the metric, which JSON has among the metrics too."""
        return {key: one for key, one in held.items() if key != "metric"} if isinstance(held, dict) else held

    @model_serializer(mode="wrap")
    def _written(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Write the first metric beside all of them."""
        held = write(self)
        metrics = held["metrics"]
        first = {"metric": metrics[0] if metrics else None, "metrics": metrics}
        return {
            key: one
            for name, value in held.items()
            for key, one in ({name: value} if name != "metrics" else first).items()
        }

    def __repr__(self) -> str:
        """Name the question, whether the promise holds, and how many systems and pairs there are."""
        counted = f"systems=<{len(self.systems)} rows>, pairs=<{len(self.pairs)} rows>, holds={self.promise.holds}"
        return f"{type(self).__name__}(question={self.question!r}, unit={self.unit!r}, {counted})"

    @property
    def lower_is_better(self) -> bool:
        """Tell whether the lower of two numbers is the better one."""
        return self.better == "lower"

    @property
    def withdrawn(self) -> bool:
        """Tell whether the check on equal systems took the promise back."""
        return not self.promise.holds and self.control is not None and self.control.contradicts(self.promise)
