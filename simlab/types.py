"""Name the values that travel between the rooms of simlab: world, asked, seen, conclusion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]

Outcomes: TypeAlias = Mapping[str, Array]
"""Outcome arrays of one cell, replicates first (see the outcome table in CONTRIBUTING.md)."""


OK, DESIGN_FAILED = 0, 1
"""Status of a campaign: carried out; its design could not be carried out."""

NO_TWIN = -128
"""Fills `twin_direction` where no deal with other raters was found."""


class InputError(ValueError):
    """Report what a user can mend, in one line: where, which value, which rule, what to do."""


class DesignFailure(RuntimeError):
    """Report a replicate whose design could not be carried out; it is stored, not raised to the user."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Say what can be rated and by whom.

    An item is one segment of the input. `document[item]` and `bucket[document]` are indices from 0;
    `rater[system, item, slot]` is the index of the rater who sits in a slot of the item's bucket, -1 where
    that rater never rated the output (a gap) or the bucket has fewer raters than others. Slot j of a bucket
    is the same rater throughout the bucket.
    """

    document: Ints
    bucket: Ints
    rater: Ints
    system_names: tuple[str, ...]
    document_names: tuple[str, ...]
    rater_names: tuple[str, ...]
    lower_is_better: bool

    @property
    def n_systems(self) -> int:
        """Count the systems."""
        return len(self.rater)

    @property
    def n_documents(self) -> int:
        """Count the documents."""
        return len(self.bucket)

    @property
    def n_raters(self) -> int:
        """Count the raters of the pool, idle ones included."""
        return len(self.rater_names)


@dataclass(frozen=True, slots=True)
class Ratings:
    """Hold what raters answer: `value[system, item, slot]` (NaN = gap), `errors` the number of errors marked."""

    value: Floats
    errors: Ints


@dataclass(frozen=True, slots=True)
class Outputs:
    """Hold what a system model draws: the expected quality of every output for an average rater.

    `quality[system, item]`, `document[item]`, and `truth[system]`, the mean quality over all inputs that the
    documents were drawn from.
    """

    quality: Floats
    document: Ints
    truth: Floats
    lower_is_better: bool


@dataclass(frozen=True, slots=True)
class RatingLaw:
    """Say how a potential rating comes about, so that a study can draw its own (`noise=fresh`).

    `expected[kind, system, item, slot]` is the expected number of errors of a kind (minor, major) that the
    rater in the slot marks, `shared[kind, system, item]` the standard normal part of the count that all raters
    share, `own_share` the share of its variance that is each rating's own, `dispersion` the variance of the
    gamma multiplier of the count (0 = Poisson) and `weight[kind]` the points an error costs.
    """

    expected: Floats
    shared: Floats
    own_share: float
    dispersion: float
    weight: Floats


@dataclass(frozen=True, slots=True)
class World:
    """Hold one draw of all that is true, unasked answers included.

    Exactly one of `ratings` (fixed: recorded, or `noise=potential`) and `law` (each study draws its rating
    noise anew) is given. `truth[system]` is None where nobody knows it. `metric[system, item]` are the scores of an
    automatic metric, None without one.
    """

    frame: Frame
    truth: Floats | None
    ratings: Ratings | None
    law: RatingLaw | None
    metric: Floats | None = None


@dataclass(frozen=True, slots=True)
class Contest:
    """Say how the outputs of each two systems compare, as an oracle sees it.

    `p[pair, outcome]` are the probabilities of win, draw and loss (`>`, `=`, `<`; pairs ordered i < j, "win" means that
    the first system's output is preferred); None where nobody knows them. Exactly one of three says where outcomes
    come from: `recorded[pair, item]` (0, 1, 2 = `>`, `=`, `<`; -1 = never rated), a `latent` quality, or neither: then
    they are drawn from `p`, draws correlated between the pairs of an item by `difficulty` in [0, 1).
    `n_items` outputs per system can be rated by humans. `fixed`: all studies of a world share one test set.
    """

    system_names: tuple[str, ...]
    n_items: int
    p: Floats | None
    recorded: Array | None = None
    latent: Latent | None = None
    difficulty: float = 0.0
    fixed: bool = False


@dataclass(frozen=True, slots=True)
class Latent:
    """Say how quality comes about: an output scores `quality[system] * f[item] + shared_sd * d[item] + output_sd * z`.

    `f` is a lognormal factor with mean 1 and logarithm's standard deviation `item_sd` (easy items tell systems apart,
    hard ones do not), `d` standard normal (easy items are done well by every system); items are shared by all systems.
    Three readings: an output is preferred if its score is higher by more than `tie_margin`; it is adequate if its score
    is positive; and the score may itself be judged.
    """

    quality: Floats
    output_sd: float
    item_sd: float
    tie_margin: float
    shared_sd: float = 0.0


@dataclass(frozen=True, slots=True)
class MetricLaw:
    """Say what a metric says: by a mixture matrix, or by a score that is compared.

    `mu[pair, metric outcome, oracle outcome]` has columns that sum to one. Otherwise the metric scores outputs with
    `correlation[system]` to their latent score, and prefers by the sign of the difference beyond `margin` (in standard
    deviations of the metric's score). It rates the first `n_outputs` outputs, those that humans can rate first.
    """

    n_outputs: int
    mu: Floats | None = None
    correlation: Floats | None = None
    margin: float = 0.0


@dataclass(frozen=True, slots=True)
class PreferenceWorld:
    """Hold one draw of all that is true where outputs are compared pair by pair.

    `rater[human outcome, oracle outcome]` is the confusion of the raters (columns sum to one); None: they are the
    oracle. `metric` is None where there is none.
    """

    contest: Contest
    rater: Floats | None
    metric: MetricLaw | None


@dataclass(frozen=True, slots=True)
class TestSet:
    """Hold the potential answers about a test set: outcomes 0, 1, 2 = `>`, `=`, `<`, -1 = a gap.

    `human[pair, item]` for the outputs that humans can rate, `metric[pair, item]` for those that the metric rates
    (the same first), None without a metric.
    """

    __test__ = False

    human: Array
    metric: Array | None


@dataclass(frozen=True, slots=True)
class Judges:
    """Say how raters judge single outputs.

    A rater perceives the latent score plus `leniency[rater]` plus normal noise of standard deviation `noise`, new with
    every judgement. On the scale `binary` the answer is 1 (adequate) if that is positive, else 0; on `score` it is what
    is perceived; on `skewed_score` the score is first turned into one with exponential tails, of equal mean and spread.
    """

    scale: str
    leniency: Floats
    noise: float


@dataclass(frozen=True, slots=True)
class OutputMetric:
    """Say what a metric says of single outputs, system by system.

    Binary: it says adequate of adequate outputs with `rho[system]`, inadequate of others with `eta[system]`. Otherwise
    it scores them with `correlation[system]` to the human score of a system's outputs, in standard deviations; with a
    `threshold` it says adequate above it. `nominal` holds what an analyst takes for known, the same for all systems:
    (rho, eta), or (correlation,) of a score.
    """

    nominal: tuple[float, ...]
    rho: Floats | None = None
    eta: Floats | None = None
    correlation: Floats | None = None
    threshold: float | None = None


@dataclass(frozen=True, slots=True)
class JudgementWorld:
    """Hold one draw of all that is true where outputs are judged one by one and a metric joins in.

    Outputs come from a population, anew for every study, or (`contest.fixed`) from a test set of `contest.n_items`.
    """

    contest: Contest
    latent: Latent
    judges: Judges
    metric: OutputMetric | None


@dataclass(frozen=True, slots=True)
class Judged:
    """Hold all that an analyst may use of single judgements; a row is a system in a campaign.

    `y[row, n]` human judgements, `g[row, n]` what the metric says of the same outputs (None: no metric), `binary` or
    scores. `rest` tells of outputs with the metric's word only: their number, and `mean[row]` and `variance[row]` of
    what it says (ddof 1); it is None, and g standardised over the test set, where the metric rated all of a finite one.
    `calibration[row, 4]` counts TP of P, TN of N outputs rated by both for the metric's sake (None: there are none).

    What may be known beforehand: `nominal` (rho, eta) or (correlation,) of the metric, the `slope[row]` of y on g,
    `annotator_variance[row]` of repeated judgements of an output. `test_set` counts its outputs where judged ones were
    drawn from it without replacement (None otherwise).
    """

    y: Floats
    g: Floats | None
    binary: bool
    rest: tuple[int, Floats, Floats] | None
    calibration: Floats | None
    nominal: tuple[float, ...]
    slope: Floats
    annotator_variance: Floats
    test_set: int | None


@dataclass(frozen=True, slots=True)
class Estimates:
    """Hold what is concluded about each row's mean: `value`, `sd` (its standard error), `low` and `high` `[row]`.

    `influence[row, n]` is what each judgement contributes, so that systems judged on the same inputs can be compared
    pair by pair: `sd**2 = var(influence) / n + own**2`, `own[row]` from what no judgement says. Both are None where an
    estimator cannot tell.
    """

    value: Floats
    sd: Floats
    low: Floats
    high: Floats
    influence: Floats | None = None
    own: Floats | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """Hold what would be known of each pair at each look, had it been followed so far.

    `annotations[look]` human ratings per pair, 0 at look 0; `human[row, look, outcome]` their counts (`>`, `=`, `<`);
    `confusion[row, look, metric outcome, human outcome]` the counts of the outputs that both rated, and
    `metric[row, look, outcome]` those of outputs with the metric's rating only; both zero without a metric. A row is
    a pair in a campaign. Integers.
    """

    annotations: Ints
    human: Ints
    confusion: Ints
    metric: Ints


@dataclass(frozen=True, slots=True)
class Summary:
    """Hold what a posterior says of p: `mean`, `low`, `high` `[row, outcome]`, bounds of 95 % intervals."""

    mean: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Hold what a decision rule says at each look: `verdict[row, look]` +1, 0 or -1 if collecting ended there.

    `stop[row, look]` says whether the rule itself ends it; what is said after the first stop counts for nothing.
    `theta[row, look]` is the probability that the first system wins more often (NaN where a rule has none).
    `summarise(human, confusion, metric)` (counts `[row, ...]` of one look) estimates p from what the rule uses.
    """

    verdict: Array
    stop: Bools
    theta: Floats
    summarise: Callable[[Ints, Ints, Ints], Summary]


@dataclass(frozen=True, slots=True)
class Asked:
    """Say whom a design asks: `slot[system, document, k]`, -1 = not asked; all items of a document go together."""

    slot: Ints


@dataclass(frozen=True, slots=True)
class Seen:
    """Hold all that an analyst may use: flat arrays of equal length, one entry per rating."""

    system: Ints
    item: Ints
    rater: Ints
    value: Floats
    errors: Ints


@dataclass(frozen=True, slots=True)
class Estimate:
    """Hold a performance measure with what its error needs.

    `influence[cluster]` are jackknife influence values (cluster = world, document set or replicate), so
    `mcse = sqrt(sum(influence**2) / (K (K - 1)))`; `n` is the number of campaigns the value rests on.
    """

    value: float
    influence: Floats
    cluster: str
    n: int

    @property
    def mcse(self) -> float:
        """Give the Monte-Carlo standard error; NaN with fewer than two clusters."""
        k = len(self.influence)
        return float(np.sqrt(np.sum(self.influence**2) / (k * (k - 1)))) if k > 1 else float("nan")
