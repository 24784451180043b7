"""Records of `simlab conclude`: systems, pairs, raters, metrics, and the promise about the claims.

`Conclusion` is the whole answer; `simlab.concluding` fills it in, and commands, pages and figures read it. A claim is a
pair of systems of which one is called better; the promise bounds the rate of wrong claims. Records of systems, pairs,
raters and metrics stand in `standings`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from simlab.answers.consensus import Consensus
from simlab.answers.records import Count, Num, Record
from simlab.answers.standings import (
    UNKNOWN,
    Family,
    Flag,
    Interval,
    ListOf,
    Metric,
    Pair,
    Rater,
    Said,
    System,
    Text,
    Values,
    Whole,
    sort_limits,
)

PromiseName: TypeAlias = Literal["fixed", "anytime"]
SIGN_BY_CHANCE = 0.5
"""A repetition of nothing finds the sign of one claim with this probability."""


class Promise(Record):
    """Promise about the claims: the error rate that they keep to.

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


class RepeatedShares(Record):
    """Shares with 90 % intervals over possible worlds, for four sorts of repetition of the study; NaN: not known.

    `same`: nothing; `new_documents`: other documents, the same raters; `new_raters`: other raters, the same documents;
    `new_study`: both.
    """

    same: Interval = UNKNOWN
    new_documents: Interval = UNKNOWN
    new_raters: Interval = UNKNOWN
    new_study: Interval = UNKNOWN


class Repetition(Record):
    """Chance that all claims have the `same_sign` in a repetition, and the share of them `claimed_again`.

    A sign is less than a claim, which has the same sign and passes the same test. `studies` of each sort were simulated
    in the `world`; `unknown[name]` is the reason why the share of that name in `RepeatedShares` is not known.
    """

    same_sign: RepeatedShares
    claimed_again: RepeatedShares
    studies: Whole
    world: str
    unknown: Mapping[str, str] = {}

    @model_validator(mode="before")
    @classmethod
    def _read(cls, content: Any) -> Any:
        """Leave out what JSON says twice."""
        twice = ("srp", "srp_new_documents", "srp_new_study", "sign_by_chance")
        return (
            {key: value for key, value in content.items() if key not in twice} if isinstance(content, dict) else content
        )

    @model_serializer(mode="wrap")
    def _serialise_fields(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Name the shares that most ask for, and what chance alone gives."""
        fields = write(self)
        same = fields["same_sign"]
        return {
            "srp": same["same"],
            "srp_new_documents": same["new_documents"],
            "srp_new_study": same["new_study"],
            "same_sign": same,
            "sign_by_chance": SIGN_BY_CHANCE,
            **{name: fields[name] for name in ("claimed_again", "unknown", "studies", "world")},
        }


class Control(Record):
    """Check on equal systems: the share of simulated `studies` like this one that claim something, with its mcse.

    All systems are equal in the `world` of the check, so that every claim is wrong; `promised` is the level.
    `uncorrected` is the same under t tests of segments (of comparisons: sign tests), each by itself. `watched` is the
    same under sign tests of each pair at every one of many looks while votes come (None: not of this kind of study).
    `pair_claim` is the share of pairs that are claimed (None: the promise is not about each pair by itself). `at_large`
    is the share of studies by other raters that claim something, where systems are equal for raters at large alone,
    with a 90 % interval over worlds (None: raters are drawn in the check itself, or nobody is known to differ).
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

    def bounded_share(self, promise: Promise) -> tuple[float, float]:
        """Return the share of wrong claims that a promise bounds, and its Monte-Carlo standard error."""
        if promise.multiplicity == "none" and self.pair_claim is not None and self.pair_claim_mcse is not None:
            return self.pair_claim, self.pair_claim_mcse
        if promise.multiplicity == "best" and self.best_excluded is not None and self.best_excluded_mcse is not None:
            return self.best_excluded, self.best_excluded_mcse
        return self.some_claim, self.some_claim_mcse

    def contradicts(self, promise: Promise) -> bool:
        """True if wrong claims are more than promised, by more than three Monte-Carlo standard errors."""
        share, mcse = self.bounded_share(promise)
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
    """A number that a plan forecast beside the one that came out, in a `unit` ("share": of 1), or why it is `missing`.

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


class PlanCompliance(Record):
    """Compliance with a plan: which plan, and how the table deviates from it; `look` counts looks, this one included.

    A look is an analysis of the table, which grows while answers come. `targets` are the plan's forecasts beside the
    numbers that came out (empty: the plan has none).
    """

    name: str
    digest: str
    planned: Whole
    deviations: ListOf[str]
    look: Whole
    targets: ListOf[PlannedFigure] = ()


class AnalysisWords(Record):
    """Fields of `Conclusion.about` from which sentences on the analysis are made; all others are for programs."""

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
    """Number of a table's ratings that do not count, and why."""

    ratings: Count
    why: str


class ReadCounts(Record):
    """Fields of `Conclusion.read`, counts of the table, that pages print; all others are for programs."""

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


def _require_types(known: type[Record]) -> AfterValidator:
    """Return a validator: values by name of which those that are fields of `known` must have their types."""

    def check(values: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            known(**values)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            problem = str(first["msg"]).replace("Input should be", "must be")
            raise ValueError(f"holds {first['loc'][0]}, which {problem}") from None
        return values

    return AfterValidator(check)


class Conclusion(Record):
    """The whole answer of `simlab conclude` about a table.

    `question` is the kind of study (rate, compare or judge); `read` are counts of the table, `line` a sentence on them;
    `unit` is that of estimates. `pairs` are those that the promise is about (all, or those with a baseline).
    `detectable` is the smallest difference that such a table finds with 80 % probability, in `unit`; that of the middle
    pair where pairs rest on unequal numbers. `order` names, in groups, what nothing separates. `confounded` counts the
    pairs whose difference the design cannot tell from that of their raters. `repetition_missing` and `control_missing`
    say why there is no repetition, or no check on equal systems ("": there is one, or nothing is claimed that could be
    repeated). `about` holds words and numbers for the paragraph. `notes` are sentences on what was left out or taken
    for granted, `warnings` on what limits the conclusion, those first that change most; `limits` what no analysis of so
    few raters can know. `family` is the answer of the family of comparisons (None: not of ratings, or each pair stands
    by itself), `exploratory` that of another one than a plan has fixed, of which nothing is promised. `consensus` is
    what most raters would say of items (None: not asked for, or not to be told).
    """

    question: str
    read: Annotated[Values, _require_types(ReadCounts)]
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
    plan: PlanCompliance | None = None
    without: Mapping[str, Conclusion] = Field(default={})
    about: Annotated[Values, _require_types(AnalysisWords)] = Field(default={})
    notes: ListOf[str] = ()
    warnings: Annotated[Sequence[Said], AfterValidator(sort_limits)] = ()
    family: Family | None = None
    exploratory: Family | None = None
    consensus: Consensus | None = None
    line: str = Field(default="", exclude=True)
    lines: ListOf[str] = Field(default=(), exclude=True)

    @model_validator(mode="before")
    @classmethod
    def _read(cls, content: Any) -> Any:
        """Leave out the metric, which JSON has among the metrics too."""
        return (
            {key: value for key, value in content.items() if key != "metric"} if isinstance(content, dict) else content
        )

    @model_serializer(mode="wrap")
    def _serialise_fields(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Write the first metric beside all of them, and a consensus where there is one."""
        fields = write(self)
        if fields["consensus"] is None:
            del fields["consensus"]
        metrics = fields["metrics"]
        first = {"metric": metrics[0] if metrics else None, "metrics": metrics}
        return {
            key: content
            for name, value in fields.items()
            for key, content in ({name: value} if name != "metrics" else first).items()
        }

    def __repr__(self) -> str:
        """Name the question, whether the promise holds, and how many systems and pairs there are."""
        counted = f"systems=<{len(self.systems)} rows>, pairs=<{len(self.pairs)} rows>, holds={self.promise.holds}"
        return f"{type(self).__name__}(question={self.question!r}, unit={self.unit!r}, {counted})"

    @property
    def lower_is_better(self) -> bool:
        """True if the lower of two numbers is the better one."""
        return self.better == "lower"

    @property
    def withdrawn(self) -> bool:
        """True if the check on equal systems took the promise back."""
        return not self.promise.holds and self.control is not None and self.control.contradicts(self.promise)
