"""What `simlab backtest` answers: predictions from pilots beside what studies on the real ratings gave."""

from __future__ import annotations

from math import isfinite
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from simlab.answers.records import LARGEST, Count, Num, Record
from simlab.answers.tables import ReadTable

Target: TypeAlias = Literal["all", "held_out"]
"""The documents that studies ask about: all of the table, or those that the pilot did not see."""
Method: TypeAlias = Literal["fit", "own", "naive"]
"""What predicts: a world fitted to the pilot, one fitted to the target's own documents, or Gaussian noise."""
Measure: TypeAlias = Literal["srp", "confirmed", "significant_share", "power", "kendall"]

PREFERENCE = "preference"
"""The law of tables of comparisons."""
NOTHING_CLAIMED = "no study found anything significant"


class Prediction(Record):
    """Compare one prediction of a measure with what studies on the real ratings gave.

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
    """Sum up `n` predictions: mean absolute error, bias, and how many 90 % intervals held, with their mean width."""

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
    """Hold all predictions of a backtest (`records`), their errors (`summary`), and their `averages` over splits."""

    read: ReadTable
    law: str
    splits: Count
    summary: tuple[PredictionErrors, ...]
    averages: tuple[Prediction, ...]
    records: tuple[Prediction, ...]
