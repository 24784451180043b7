"""Hold what is concluded from a table: systems, pairs, raters, metrics, and what is promised of them.

These records are all that commands, pages and figures know; whoever concludes fills them in, whatever was collected.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Literal, NamedTuple, TypeAlias

from simlab.types import FamilyName

PromiseName: TypeAlias = Literal["fixed", "anytime"]
MetricVerdict: TypeAlias = Literal["trust", "correct", "leave_out"]
Scope: TypeAlias = Literal["these_raters", "raters_at_large"]
FamilySays: TypeAlias = Literal["claimed", "step_down", "excludes", "open"]
WithinMargin: TypeAlias = Literal["better", "worse", "not_inferior", "not_superior", "equivalent", "open"]


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


class Interval(NamedTuple):
    """Hold a number and the bounds of its interval."""

    value: float
    low: float
    high: float


class Promise(NamedTuple):
    """Say what is promised of the claims.

    `level` is the probability of any wrong claim (or as `multiplicity` has it); `holds` is False where the promise is
    not one of this table, as at an interim look. `says` is the promise as a sentence, with what it takes as drawn and
    what as given; `broken` says why it does not hold ("": it does).
    """

    name: PromiseName
    level: float
    multiplicity: str
    holds: bool
    says: str
    broken: str = ""


class System(NamedTuple):
    """Hold what is concluded about a system: `n` answers, its estimate, the ranks it may have (1 = best).

    `plain` is the mean of its ratings where the estimate is weighted by who rated what, else the same; None: no mean.
    """

    system: str
    n: int
    estimate: float
    low: float
    high: float
    rank_low: int
    rank_high: int
    plain: float | None = None


class More(NamedTuple):
    """Say how many more of a `unit` settle an open pair, over what its effect may be; inf: beyond `limit`.

    `answers` says what these cost in answers ("ratings of these two"), `per_unit` how many each.
    """

    unit: str
    median: float
    low: float
    high: float
    limit: float
    per_unit: float = 1.0
    answers: str = ""


class Pair(NamedTuple):
    """Hold what is concluded about two systems.

    `difference` is first less second on the table's own scale, bounds are simultaneous with the claims; `direction` is
    +1 where the first came out better, whichever way the scale goes, `verdict` the same where it is claimed, else 0.
    NaN is not known (a pair that was never compared). `within` is the answer to `--margin`. The difference is what is
    tested; `plain` is that of plain means, which raters who met one system more may draw away (None: of no means).
    `unpromised` is what would have been claimed where the promise is withdrawn, else 0.
    `scope` says for whom the pair is claimed: these raters, or raters like them (None: not of ratings). `detectable`
    is the difference of this pair that such a table finds with 80 % probability (None: not known by pair).
    `family` is what the family says of it: `step_down` where stepping down finds what a single step does not,
    `excludes` where the better one excludes the other from those that may be the best (None: not of ratings).
    """

    first: str
    second: str
    difference: float
    low: float
    high: float
    p_value: float
    adjusted: float
    direction: int
    verdict: int
    within: WithinMargin | None = None
    more: More | None = None
    plain: float | None = None
    scope: Scope | None = None
    unpromised: int = 0
    detectable: float | None = None
    family: FamilySays | None = None


class Candidate(NamedTuple):
    """A system as a candidate for the best: whether it may be, its p-value, and how far behind the best it is at most.

    `within`: it is no more than the margin behind the best (None: no margin was named).
    """

    system: str
    may_be_best: bool
    p_value: float
    behind: float
    within: bool | None = None


class Family(NamedTuple):
    """The answer of a family of comparisons, beside what stands with systems and pairs.

    `says` is what is promised of it as a sentence; of an exploratory one, which a plan did not fix, nothing is.
    `candidates` are the systems, best first, for `best`; `tiers` the groups of a tied ranking, for `ranks`: each system
    of a group is claimed to be better than each one of the groups after it. `claims` are pairs, the better first, that
    an exploratory family would claim.
    """

    name: FamilyName
    says: str
    candidates: Sequence[Candidate] = ()
    tiers: Sequence[Sequence[str]] = ()
    claims: Sequence[tuple[str, str]] = ()


class Rater(NamedTuple):
    """Hold a rater's answers, and how far above the others the rater scores the same outputs, with an interval."""

    rater: str
    n: int
    leniency: float
    low: float
    high: float


class Estimated(NamedTuple):
    """Hold a system's mean by one way of using the metric: `human`, `ppi`, `joint`, `own`, `partial`."""

    method: str
    system: str
    value: float
    low: float
    high: float


class Rated(NamedTuple):
    """Hold a system's rho + eta - 1 of a metric, or its correlation where labels are no yes and no."""

    system: str
    value: float
    low: float
    high: float


class MetricError(NamedTuple):
    """Hold the error of a metric's own difference of two systems: what it says less what humans say.

    All are first less second on the humans' scale, over outputs that both scored; bounds hold for all pairs at once.
    """

    first: str
    second: str
    human: float
    metric: float
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Metric:
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
    quality: Sequence[Rated]
    spread: Interval
    width: float
    estimates: Sequence[Estimated]
    pairs: Sequence[Pair]
    bias: Sequence[Rated] = ()
    bias_pairs: Sequence[MetricError] = ()
    bias_worst: MetricError | None = None
    bias_factor: float | None = None
    favour: Sequence[Rated] = ()
    favour_slope: Interval | None = None
    worth_labels: Interval | None = None
    labels_at_random: bool | None = None


UNKNOWN = Interval(float("nan"), float("nan"), float("nan"))


class RepeatedShares(NamedTuple):
    """Hold shares with 90 % intervals over what worlds may be, by what is new in a repetition; NaN is not known.

    `same`: nothing; `new_documents`: other documents, the same raters; `new_raters`: other raters, the same documents;
    `new_study`: both.
    """

    same: Interval = UNKNOWN
    new_documents: Interval = UNKNOWN
    new_raters: Interval = UNKNOWN
    new_study: Interval = UNKNOWN


SIGN_BY_CHANCE = 0.5
"""A repetition of nothing finds the sign of one claim with this probability."""


class Repetition(NamedTuple):
    """Hold the chance that all claims have the `same_sign` in a repetition, and the share of them `claimed_again`.

    A sign is less than a claim, which has the same sign and passes the same test. `studies` of each sort were simulated
    in the `world`; `unknown` says of what is not known why, by its name in `RepeatedShares`.
    """

    same_sign: RepeatedShares
    claimed_again: RepeatedShares
    studies: int
    world: str
    unknown: Mapping[str, str] = {}


class Control(NamedTuple):
    """Hold how many of so many studies like this one claim something though systems are equal, with its mcse.

    `uncorrected` is the same under t tests of segments (of comparisons: sign tests), each by itself. `watched` is the
    same under sign tests of each pair at every one of many looks while votes come (None: not of this kind of study).
    `pair_claim` is the share of pairs that are claimed (None: the promise is not about each pair by itself).
    `at_large` is the share of studies by other raters that claim something for theirs, systems equal for raters at
    large, with a 90 % interval over worlds (None: raters are drawn in the check itself, or nobody is known to differ).
    `best_excluded` is the share of studies in which a system that is a best one, as all are, is excluded from those
    that may be the best: of the system that is excluded most often (None: that is not asked).
    """

    studies: int
    some_claim: float
    some_claim_mcse: float
    promised: float
    uncorrected: float
    uncorrected_mcse: float
    world: str
    watched: float | None = None
    watched_mcse: float | None = None
    pair_claim: float | None = None
    pair_claim_mcse: float | None = None
    at_large: Interval | None = None
    at_large_mcse: float | None = None
    best_excluded: float | None = None
    best_excluded_mcse: float | None = None

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


class UnmetPeople(NamedTuple):
    """Largest share of people of whom `raters` may have met none, and the chance of meeting none of one in five.

    A group of a share q is missed by R raters drawn at random with probability (1 - q)^R. Whatever it prefers, a test
    of these raters claims what the others say, so that no test holds its level for groups with q R below about 3.
    """

    raters: int
    unmet_share: float
    one_in_five_unmet: float


class PlannedFigure(NamedTuple):
    """Hold a figure of a plan beside what is found of it, both in a `unit` ("share": of 1), and why it is `missing`.

    `measure` is that of a target, the `significant_share` of pairs that are claimed, the `smallest_difference` that
    matters (beside the one that such a table finds with 80 % probability), or what a study takes. Errors are
    Monte-Carlo standard errors; NaN is what is not known, or not simulated.
    """

    measure: str
    unit: str
    planned: float
    found: float
    planned_mcse: float = math.nan
    found_mcse: float = math.nan
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Followed:
    """Hold which plan was followed, and where the table leaves it; `look` counts looks, this one included.

    `targets` are what was planned beside what is found (empty: the plan does not say what it was to find).
    """

    name: str
    digest: str
    planned: int
    deviations: Sequence[str]
    look: int
    targets: Sequence[PlannedFigure] = ()


@dataclass(frozen=True, slots=True)
class Conclusion:
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
    read: Mapping[str, Any]
    line: str
    unit: str
    lower_is_better: bool
    promise: Promise
    systems: Sequence[System]
    pairs: Sequence[Pair]
    raters: Sequence[Rater] = ()
    metrics: Sequence[Metric] = ()
    cycles: Sequence[Sequence[str]] = ()
    detectable: float | None = None
    repetition: Repetition | None = None
    repetition_missing: str = ""
    control: Control | None = None
    control_missing: str = ""
    plan: Followed | None = None
    without: Mapping[str, Conclusion] = field(default_factory=dict)
    confounded: int = 0
    lines: Sequence[str] = ()
    about: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()
    limits: UnmetPeople | None = None
    family: Family | None = None
    exploratory: Family | None = None

    def __post_init__(self) -> None:
        """Put warnings in order, wherever they were added."""
        object.__setattr__(self, "warnings", in_order(self.warnings))

    @property
    def withdrawn(self) -> bool:
        """Tell whether the check on equal systems took the promise back."""
        return not self.promise.holds and self.control is not None and self.control.contradicts(self.promise)
