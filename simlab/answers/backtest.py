"""Records of `simlab backtest`: predictions from pilots, or designs named from them, beside real studies.

A table of real ratings is split at random: some documents are the pilot, to which a world is fitted; studies on the
real ratings then show what was predicted. A split is one such division, a design the grouping of outputs, the
normalization of scores, and the numbers of documents and of ratings of each output. The whole answer is a `Backtest`, a
`BacktestAdvice` or a `BacktestPapers`.
"""

from __future__ import annotations

from math import isfinite
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field

from simlab.answers.records import LARGEST, Count, Num, Record
from simlab.answers.tables import ReadTable

Target: TypeAlias = Literal["all", "held_out"]
"""The documents that studies ask about: all of the table, or those that the pilot did not see."""
Method: TypeAlias = Literal["fit", "own", "naive"]
"""What predicts: a world fitted to the pilot, one fitted to the target's own documents, or Gaussian noise."""
AdviceName: TypeAlias = Literal["grouping", "load", "normalization", "documents", "metric"]
"""What papers advise: side by side, even loads, z-scores, documents before ratings, a metric as control variate."""
AdviceSource: TypeAlias = Literal["recorded", "fitted"]
"""Where studies were carried out: on the ratings of the table, or in worlds fitted to it."""
TestName: TypeAlias = Literal["published", "default"]
"""The papers' permutation test, pair by pair; or the moderated test of all pairs at once."""
AdviceVerdict: TypeAlias = Literal["holds", "turned round", "not known here", "cannot be tried"]
Measure: TypeAlias = Literal["srp", "confirmed", "significant_share", "power", "kendall"]

NOTHING_CLAIMED = "no study found anything significant"
"""Reason (`Prediction.unknown`) why studies showed no value of a measure."""

RuleName: TypeAlias = Literal["advice", "all once", "half twice", "ungrouped", "best"]
"""The advice, the rules of thumb, and the best of all candidates, known afterwards only."""
DesignShape: TypeAlias = tuple[str, str, Count, Count]
"""Grouping, normalization, documents, ratings of each output."""
ADVICE: RuleName = "advice"
BEST: RuleName = "best"


class Prediction(Record):
    """One prediction of a measure beside the result of studies on the real ratings.

    `law` is what was fitted, empty where nothing was. `repetition` says which documents the studies that are compared
    ask about. `split` is -1 in averages over splits.

    `low` and `high` bound the measure itself, the noise of simulated studies taken out; `judged_low` and `judged_high`
    bound what so many real studies show of it, whose noise is `observed_mcse`. NaN is what is not known; `unknown` says
    why nothing was observed, else it is empty.
    """

    split: Annotated[int, Field(ge=-1, le=LARGEST)]
    target: Target
    method: Method
    law: str
    grouping: str
    normalization: str
    documents: Count
    ratings_per_item: Count
    repetition: str
    measure: Measure
    predicted: Num
    low: Num
    high: Num
    observed: Num
    observed_mcse: Num
    judged_low: Num
    judged_high: Num
    unknown: str

    @property
    def judged(self) -> bool:
        """True if there is something to compare the prediction with."""
        return isfinite(self.observed) and isfinite(self.predicted)

    @property
    def held(self) -> bool:
        """True if the interval holds what was observed."""
        return self.judged_low <= self.observed <= self.judged_high


class PredictionErrors(Record):
    """Errors of `n` predictions: mean absolute error `mae` and `bias` (predicted less observed).

    `coverage` is the share of observations inside `judged_low` to `judged_high` (90 %), `width` the mean of `high` less
    `low`, the interval of the measure itself.
    """

    measure: Measure
    target: Target
    ratings_per_item: Count
    method: Method
    n: Count
    mae: Num
    bias: Num
    coverage: Annotated[float, Field(ge=0, le=1)]
    width: Num


class Backtest(Record):
    """All predictions of a backtest (`records`), their errors (`summary`), and their `averages` over splits."""

    read: ReadTable
    law: str
    splits: Count
    summary: tuple[PredictionErrors, ...]
    averages: tuple[Prediction, ...]
    records: tuple[Prediction, ...]


class JudgedCandidate(Record):
    """Expectations of a design from a split's pilot, beside the results of studies on the other documents.

    `significant_share` is that of pairs found significant, `confirmed` the share of claims that a repeated study makes
    again (NaN: nothing was claimed). `rules` names the rules that chose the design, with blanks between them.
    """

    split: Count
    grouping: str
    normalization: str
    documents: Count
    ratings_per_item: Count
    repetition: str
    predicted_significant_share: Num
    predicted_confirmed: Num
    significant_share: Num
    confirmed: Num
    rules: str

    @property
    def shape(self) -> DesignShape:
        """The design without its split."""
        return self.grouping, self.normalization, self.documents, self.ratings_per_item


class RuleResult(Record):
    """Results of a rule: means over splits of what it named, `mcse` their standard errors, splits being the units.

    `named` counts the designs that it named, most frequent first. `kept` counts the splits in which enough of the
    claims of its design were confirmed. `shortfall` is how much less its significant share is than the best design's.
    """

    rule: RuleName
    splits: Count
    named: tuple[tuple[DesignShape, Count], ...]
    significant_share: Num
    significant_share_mcse: Num
    confirmed: Num
    kept: Count
    shortfall: Num
    shortfall_mcse: Num


def _begin_with_advice(rules: tuple[RuleResult, ...]) -> tuple[RuleResult, ...]:
    if not rules or rules[0].rule != ADVICE:
        raise ValueError(f"must begin with {ADVICE}, the designs that pilots named")
    return rules


class BacktestAdvice(Record):
    """Results of each rule, the advice first, and all candidates of all splits (`records`)."""

    read: ReadTable
    law: str
    pilot_documents: Count
    rules: Annotated[tuple[RuleResult, ...], AfterValidator(_begin_with_advice)]
    records: tuple[JudgedCandidate, ...]

    @property
    def advice(self) -> RuleResult:
        """Results of the designs that pilots named."""
        return self.rules[0]


class AdviceTest(Record):
    """Test of one advice of the papers beside what it warns of, both with `answers` ratings in a study.

    `advised` and `other` are the values of `measure` under either design, `effect` their difference, averaged over `n`
    parts of the documents, or fitted worlds, with its standard `error` and 95 % interval; `advised_found` and
    `other_found` are shares of pairs told apart. `hours` are those of a study, NaN where the table has no times,
    `money` is its price, NaN where none was given. What cannot be tried has no numbers, and a `reason`.
    """

    advice: AdviceName
    source: AdviceSource
    test: TestName
    measure: Measure
    advised: Num
    other: Num
    effect: Num
    error: Num
    low: Num
    high: Num
    n: Count
    advised_found: Num
    other_found: Num
    documents: Count
    other_documents: Count
    answers: Count
    hours: Num
    repetition: str
    verdict: AdviceVerdict
    reason: str
    money: Num


class BacktestPapers(Record):
    """Tests of the advice of papers on a table, advice by advice, under two tests (`records`)."""

    read: ReadTable
    law: str
    records: tuple[AdviceTest, ...]
