"""Data of a campaign (the collecting of one study): ratings, comparisons or judgements, as an analyst may use them.

Kinds of studies make `Collected`, whose `seen` holds the answers; tests of ratings take `ScoredRatings`, estimators of
judgements `Judged`, stopping rules `JudgementSequence`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from simlab.rng import stream
from simlab.types.arrays import Array, Bools, Floats, Ints
from simlab.types.worlds import Frame, KnownCorrelation, KnownRates


@dataclass(frozen=True, slots=True)
class SlotAssignment:
    """Raters whom a design asks: `slot[system, document, k]` is the slot (see `Frame`) of the k-th of them, -1: none.

    All items (segments) of a document go to the same raters.
    """

    slot: Ints


@dataclass(frozen=True, slots=True)
class Seen:
    """Answers that came: flat arrays of equal length, one entry per rating, comparison or judgement.

    `unit[k]` is the system that was rated (of a comparison: the pair), `item[k]` the input, `rater[k]` who answered
    (-1: not known). `value[k]` is the score, the judgement, or the outcome (0, 1, 2 = `>`, `=`, `<`), `errors[k]` the
    number of errors marked (-1: none are counted). `order[k]` counts the answers about a unit as they came, from 0;
    `at[k]` is the hour from the start; None where that is not known.
    """

    unit: Ints
    item: Ints
    rater: Ints
    value: Array
    errors: Ints
    order: Ints | None = None
    at: Floats | None = None

    @property
    def system(self) -> Ints:
        """Return the system of each rating: `unit` by another name."""
        return self.unit


@dataclass(frozen=True, slots=True)
class ScoredRatings:
    """Scores that a test compares: flat arrays of equal length, one entry per rating that came.

    `document[k]` (of the documents of the study, from 0), `item[k]` (the segment), `rater[k]`, `system[k]`; `value[k]`
    is the rating, normalised and corrected by the metric, and `share[k]` what it counts in its segment's score: one by
    the number of ratings of that segment of the system. So `total[document, system]` adds up `share * value`; it is NaN
    where a segment of the document has no rating for the system, although others may have come.
    """

    document: Ints
    item: Ints
    rater: Ints
    system: Ints
    value: Floats
    share: Floats
    total: Floats

    @property
    def n_documents(self) -> int:
        """Count the documents of the study."""
        return len(self.total)

    @property
    def n_systems(self) -> int:
        """Count the systems."""
        return int(self.total.shape[1])


@dataclass(frozen=True, slots=True)
class Arrived:
    """Ratings in the order in which they came, as whoever watches a campaign sees them: one entry per rating.

    `item[k]` (the segment), `rater[k]`, `system[k]`, `value[k]`, normalised and corrected by the metric; `screen[k]`
    counts the screens, from 0, in the order in which they were done: a screen is one output with all its segments, as
    one rater rated it. `n_systems` are compared, and of two scores the lower may be the better one.
    """

    item: Ints
    rater: Ints
    system: Ints
    value: Floats
    screen: Ints
    n_systems: int
    lower_is_better: bool


class Streams(NamedTuple):
    """Address of a study's random numbers; each word gives a generator of its own, always the same."""

    seed: int
    path: tuple[str | int, ...]

    def __call__(self, word: str) -> np.random.Generator:
        """Return the generator for a purpose, such as a test."""
        return stream(self.seed, *self.path, word)


@dataclass(frozen=True, slots=True)
class Collected:
    """Data of one campaign as an analyst has it: nothing that only the simulated world knows.

    `frame` says which outputs could be rated; `documents[document]` marks those of the study, `asked` has the raters of
    the design (None where a kind of study has neither); `seen` are the answers that came. `metric` has the metric's
    answers about the outputs (None without one), `known` facts that the kind of study gives an analyst, by name. `paid`
    has counts (`ratings`, ...) and the `cost`, by name; `streams` are the random numbers of the analysis.
    """

    frame: Frame
    documents: Bools | None
    asked: SlotAssignment | None
    seen: Seen
    metric: Any
    known: Mapping[str, Any]
    paid: Mapping[str, float]
    streams: Streams


class Campaign(NamedTuple):
    """Collected data of a campaign, and `backstage`: data that its `Kind.appraise` needs and no analyst sees."""

    collected: Collected
    backstage: Any


@dataclass(frozen=True, slots=True)
class Parts:
    """Sums of the metric's scores of outputs that no human judged, document by document.

    A row is a system in a campaign: `n[k]` outputs belong to document `document[row, k]`, and their scores add up to
    `total[row, k]`.
    """

    document: Ints
    n: Ints
    total: Floats


@dataclass(frozen=True, slots=True)
class Judged:
    """Data on single judgements that an analyst may use; a row is a system in a campaign.

    `y[row, n]` human judgements, `g[row, n]` what the metric says of the same outputs (None: no metric), `binary` or
    scores. `rest` tells of outputs with the metric's word only: their number, and `mean[row]` and `variance[row]` of
    what it says (ddof 1); it is None, and g standardised over the test set, where the metric rated all of a finite one.
    `calibration[row]` counts TP, P, TN, N among outputs rated by both to learn how good the metric is (None: there are
    none): of P adequate outputs it calls TP adequate, of N others TN inadequate. Where rows share these outputs, the
    counts are the same in all, and `calibration_parts[row]` are those of each system's own.

    What may be known beforehand: `nominal` of the metric (None without one), the `slope[row]` of y on g,
    `annotator_variance[row]` of repeated judgements of an output. `test_set` counts its outputs where judged ones were
    drawn from it without replacement (None otherwise).

    Where outputs come in documents, `document[row, n]` says which one each judged output belongs to, and `parts` those
    of the rest; None: each output is a document of its own.
    """

    y: Floats
    g: Floats | None
    binary: bool
    rest: tuple[int, Floats, Floats] | None
    calibration: Floats | None
    nominal: KnownRates | KnownCorrelation | None
    slope: Floats
    annotator_variance: Floats
    test_set: int | None
    document: Ints | None = None
    parts: Parts | None = None
    calibration_parts: Floats | None = None


@dataclass(frozen=True, slots=True)
class JudgementSequence:
    """Judgements of a system in the order in which they came, as a rule that may end them looks at them.

    `y[n]` are the judgements, `g[n]` the metric's scores of the same outputs (None: no metric). `other[n]` is its mean
    score of others: of the whole test set (`fresh` is 0), or of `fresh` outputs at each step that nobody judges (None:
    not known). Its scores are clipped to the ends of `metric_scale`. `scale` are the ends of the scale of judgements,
    None where it has none.

    `interval(n, level)` is the estimator's interval after the first n judgements; `level` that of the study's
    intervals. `planned` are the judgements after which judging ends in any case.
    """

    y: Floats
    g: Floats | None
    other: Floats | None
    fresh: int
    metric_scale: tuple[float, float]
    scale: tuple[float, float] | None
    interval: Callable[[int, float], tuple[float, float]]
    level: float
    planned: int
