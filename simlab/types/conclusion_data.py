"""Types of what campaigns conclude, and of how good conclusions are.

Estimators return `Estimates`, the means of systems. Decision rules take `Evidence`, counts at each look, and return
`Verdicts`; those of ratings return `Claims`. `Outcomes` are the arrays that the campaigns of a cell leave, an `Outcome`
declares one of them. A performance measure makes an `Estimate` of `Outcomes`: it is none of the `Estimates`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from simlab.types.arrays import Array, Bools, Floats, Ints

Outcomes: TypeAlias = Mapping[str, Array]
"""Outcome arrays of one cell (one config) by name, replicates first (see the outcome table in CONTRIBUTING.md)."""

FamilyName: TypeAlias = Literal["all", "against", "best", "ranks", "fdr"]
"""Which comparisons are claimed together."""

OK, DESIGN_FAILED, BLOCK_FAILED, UNRUN, IMPOSSIBLE = 0, 1, 2, 3, 4
"""Status of a campaign: carried out; its design could not be carried out; its block failed; not run; it gave, or was
given, a value that cannot be."""

NO_TWIN = -128
"""Fills `twin_direction` where a campaign has no twin, a repetition with other raters for every output."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Declaration of an outcome: dimensions after the axes of a sweep, type, value in gaps (`fill`), and meaning.

    On the dimension `of_world` an outcome has one row per world (`world` itself is a coordinate of replicates).
    What a campaign that was carried out may answer lies between `low` and `high` (None: any finite number), or is
    `fill` where a `gap` is an answer, too. Folders do not hold these three, and declarations that differ in them only
    are the same.
    """

    dims: tuple[str, ...]
    dtype: str
    fill: Any
    label: str
    low: float | None = field(default=None, compare=False)
    high: float | None = field(default=None, compare=False)
    gap: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Contrasts:
    """Conclusions about each pair's difference `[pair]`, where that does not follow from two means alone.

    `sd` is its standard error, `low` and `high` bound its interval, `p_value` is that of no difference.
    """

    difference: Floats
    sd: Floats
    low: Floats
    high: Floats
    p_value: Floats


@dataclass(frozen=True, slots=True)
class Youden:
    """Estimates of a metric's rho + eta - 1, `[row]`: its true positive rate plus its true negative rate, less 1."""

    value: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True)
class Estimates:
    """Estimates of the mean of each row, a system in a campaign: `value`, `sd` (standard error), `low`, `high` `[row]`.

    `influence[row, n]` is what each judgement contributes, so that systems judged on the same inputs can be compared
    pair by pair: `sd**2 = var(influence) / n + own**2`, `own[row]` being the part of the error that no judgement
    causes. Both are None where an estimator cannot tell. Where outputs come in documents `by_document[row, document]`
    stands in place of influence, what each document contributes: `sd**2 = sum(by_document**2) + own**2`.

    `freedom[row]` are the degrees of freedom of a t test (None: a z test), and `skewed[row]` says where judgements are
    too skewed for the interval to cover what it says (None: nowhere). `contrasts` are there where an estimator itself
    says how far pairs are apart, `youden` where it learns, or is told, how good the metric is.
    """

    value: Floats
    sd: Floats
    low: Floats
    high: Floats
    influence: Floats | None = None
    own: Floats | None = None
    by_document: Floats | None = None
    freedom: Floats | None = None
    skewed: Bools | None = None
    contrasts: Contrasts | None = None
    youden: Youden | None = None


@dataclass(frozen=True, slots=True)
class Trail:
    """Answers about each pair, one output after the other: rules that bet on the next one need it.

    `human[row, k]` is what raters said of the k-th output asked about (0, 1, 2 = `>`, `=`, `<`; -1: nothing came),
    `metric[row, k]` how far the metric prefers the first (+1 to -1; 0: not at all, or nothing said); None without a
    metric. `document[row, k]` is its document
    (-1: nothing came), and `document_size[row, k]` how many outputs of that document can be asked about.

    The test set of a row has `n_outputs[row]` outputs in `n_documents[row]` documents that can be asked about, at most
    `largest_document[row]` in one; `metric_total[row]` sums up the metric's preferences over them (NaN: it
    has not seen all of them). `rest[row, j]` are its preferences about further outputs, which no human is asked
    about, and `rest_document[j]` the document of each.
    """

    human: Array
    metric: Floats | None
    document: Ints
    document_size: Ints
    n_outputs: Ints
    n_documents: Ints
    largest_document: Ints
    metric_total: Floats
    rest: Floats | None
    rest_document: Ints


@dataclass(frozen=True, slots=True)
class Evidence:
    """Counts about each pair at each look, had it been followed so far.

    `annotations[look]` human ratings per pair, 0 at look 0; `human[row, look, outcome]` their counts (`>`, `=`, `<`);
    `confusion[row, look, metric outcome, human outcome]` the counts of the outputs that both rated, and
    `metric[row, look, outcome]` those of outputs with the metric's rating only; both zero without a metric. A metric
    has three outcomes, or 2 K + 1 where it tells K sizes of its differences apart, largest `>` first. A row is
    a pair in a campaign; rows of a campaign stand together, and there are `campaigns` of them. Integers. `trail` holds
    the same output by output (None: nobody kept it).
    """

    annotations: Ints
    human: Ints
    confusion: Ints
    metric: Ints
    campaigns: int = 1
    trail: Trail | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """Posterior of p, a pair's probabilities of `>`, `=`, `<`: `mean` and 95 % interval, `[row, outcome]`.

    Of one that was sampled by chains also `r_hat` (the largest of p) and `ess` (of theta) `[row]`.
    """

    mean: Floats
    low: Floats
    high: Floats
    r_hat: Floats | None = None
    ess: Floats | None = None


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Verdicts of a decision rule at each look: `verdict[row, look]` +1, 0 or -1 if collecting ended there.

    `stop[row, look]` says whether the rule itself ends it; what is said after the first stop counts for nothing.
    `theta[row, look]` is the probability that the first system wins more often (NaN where a rule has none).
    `summarise(human, confusion, metric)` (counts `[row, ...]` of one look) estimates p from what the rule uses.
    `joint`: what is said of a pair depends on the other pairs of its campaign, all followed to the same look; it is
    then asked again of what was collected, and the last look counts.
    """

    verdict: Array
    stop: Bools
    theta: Floats
    summarise: Callable[[Ints, Ints, Ints], Summary]
    joint: bool = False


@dataclass(frozen=True, slots=True)
class Stops:
    """End of a system's judging by a rule: after `n` judgements, as the interval is `narrow` enough or all are made.

    `low` and `high` bound its mean there. Two systems are called different where their intervals from `claim_low` to
    `claim_high` do not overlap, at the level of the rule's claims; None: a test of means decides, its p-value
    multiplied by `looks` (1: as if there had been one look only).
    """

    n: int
    narrow: bool
    low: float
    high: float
    claim_low: float | None = None
    claim_high: float | None = None
    looks: int = 1


@dataclass(frozen=True, slots=True)
class Claims:
    """Claims of a decision rule of ratings, `[pair]`: `verdict` +1 (the first is better), -1, or 0 for none.

    `p_value` is that of a claim, or the smallest of the rule's tests of the pair (1: it never compared the two).
    """

    verdict: Array
    p_value: Floats


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimate of a performance measure, with the influence values that give its error.

    `influence[cluster]` are jackknife influence values (cluster = world, document set or replicate), so
    `mcse = sqrt(sum(influence**2) / (K (K - 1)))`; `n` is the number of campaigns the value rests on, `telling` that of
    the clusters in which something could be counted (None: in all of them).
    """

    value: float
    influence: Floats
    cluster: str
    n: int
    telling: int | None = None

    @property
    def mcse(self) -> float:
        """Give the Monte-Carlo standard error; NaN with fewer than two clusters."""
        k = len(self.influence)
        # A plug-in's numbers may be too large to be squared: the error is infinite then, which is no error.
        with np.errstate(over="ignore"):
            return float(np.sqrt(np.sum(self.influence**2) / (k * (k - 1)))) if k > 1 else float("nan")
