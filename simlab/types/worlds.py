"""Types of worlds: the true systems, raters' answers about every output, and the metric's.

A `World` joins a `Frame`, who can rate which output, with the `Law` of the answers to each question. Models of systems
return `Outputs` for ratings, and a `Contest` (with `Latent` quality, `Documents`) for comparisons and judgements. A
metric follows `MetricLaw` where pairs are compared, `OutputMetric` where single outputs are judged; an analyst takes
`KnownRates` or `KnownCorrelation` of it for known. The oracle compares outputs without the errors of raters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from simlab.types.arrays import Array, Floats, Ints
from simlab.types.davidson import Davidson
from simlab.types.questions import COMPARE, JUDGE, RATE
from simlab.types.speeds import Speeds


class Place(NamedTuple):
    """Address of a study: its world, the pool of raters and the draw of documents in it, the study itself.

    The properties are addresses of random numbers, as `simlab.rng.stream` takes them.
    """

    world: int
    pool: int = 0
    draw: int = 0
    study: int = 0

    @property
    def of_world(self) -> tuple[str | int, ...]:
        """Write the address of all that the studies here share; pool 0 and draw 0 leave no word in it."""
        return (*self.of_pool, *self.of_documents[2:])

    @property
    def of_pool(self) -> tuple[str | int, ...]:
        """Return the address of draws that belong to a pool of raters, whichever documents they rate."""
        return ("world", self.world, *(("pool", self.pool) if self.pool else ()))

    @property
    def of_documents(self) -> tuple[str | int, ...]:
        """Return the address of draws that belong to a draw of documents, whoever rates them."""
        return ("world", self.world, *(("draw", self.draw) if self.draw else ()))

    @property
    def of_inputs(self) -> tuple[str | int, ...]:
        """Write the address of the inputs of a study that draws its own, whoever rates their outputs."""
        return (*self.of_documents, "study", self.study)

    @property
    def of_study(self) -> tuple[str | int, ...]:
        """Write the address of the study."""
        return (*self.of_world, "study", self.study)


@dataclass(frozen=True, slots=True)
class Frame:
    """Outputs that can be rated, and the raters who can rate them.

    An item is one segment of the input, a bucket the documents that the same few raters can rate. `document[item]` and
    `bucket[document]` are indices from 0;
    `rater[system, item, slot]` is the index of the rater who sits in a slot of the item's bucket, -1 where
    that rater never rated the output (a gap) or the bucket has fewer raters than others. Slot j of a bucket
    is the same rater throughout the bucket. `item_names` are there where items come from a table.
    """

    document: Ints
    bucket: Ints
    rater: Ints
    system_names: tuple[str, ...]
    document_names: tuple[str, ...]
    rater_names: tuple[str, ...]
    lower_is_better: bool
    item_names: tuple[str, ...] = ()

    @property
    def n_systems(self) -> int:
        """Count the systems."""
        return len(self.system_names)

    @property
    def n_documents(self) -> int:
        """Count the documents."""
        return len(self.bucket)

    @property
    def n_raters(self) -> int:
        """Count the raters of the pool, idle ones included."""
        return len(self.rater_names)


class Answers(NamedTuple):
    """Answers of raters: `value[k]`, and `errors[k]`, the number of errors marked (None where nobody marks errors)."""

    value: Array
    errors: Ints | None


class Anew(NamedTuple):
    """Generators for redrawing parts of a world: its raters, documents, or both (None: those are kept).

    `both` is for effects of a rater and a document together; it is redrawn with either. A draw from `raters` depends on
    no document, and the other way round, so that pools and documents cross.
    """

    raters: np.random.Generator | None
    documents: np.random.Generator | None
    both: np.random.Generator


class Law(Protocol):
    """Law (distribution) of the answers to a question, from which studies draw.

    All noise is drawn at once, for every possible answer, so that designs are compared on the same answers.
    """

    def draw(self, rng: np.random.Generator, needs: Any) -> Any:
        """Draw all potential noise of a study; `needs` are requirements of its kind, such as numbers of outputs."""

    def answer(self, noise: Any, unit: Ints, item: Ints, slot: Ints) -> Answers:
        """Return the answers about `item[k]` of `unit[k]` (a system or pair) by the rater in `slot[k]`.

        `noise` comes from `draw`; nothing is drawn here.
        """


class RatingLaw(Law, Protocol):
    """Law of ratings, with their expected values."""

    def expected_ratings(self) -> Floats:
        """Return the rating that each rater gives, or is expected to give: `[system, item, slot]`, NaN in gaps."""


@dataclass(frozen=True, slots=True)
class World:
    """A world: one draw of all that is true, unasked answers included.

    `answers[question]` is the law of the answers to a question; `truth[system]` is None where nobody knows it, or where
    it follows from the law. `metric` is what an automatic metric says: scores `[system, item]`, a `MetricLaw`, an
    `OutputMetric`; None without one. `again` draws other raters (new people in the same seats), other documents (from
    the same law), or both, for the same systems; None where that cannot be, as with a recorded table. `speeds` says how
    fast people work who could be asked, None where nobody knows. `of_pool` works out what the systems are worth to the
    raters of this pool alone, over all documents: `[system]`; None where that is not known.
    """

    frame: Frame
    answers: Mapping[str, Law]
    truth: Floats | None = None
    metric: Any = None
    again: Callable[[Anew], World] | None = None
    speeds: Speeds | None = None
    of_pool: Callable[[], Floats] | None = None

    def replace_answers(self, question: str, law: Law) -> World:
        """Return the world with another law of the answers to a question."""
        return replace(self, answers={**self.answers, question: law})


RatedWorld: TypeAlias = Annotated[World, RATE]
"""World whose raters are asked for ratings; a part's return type names the question."""
ComparedWorld: TypeAlias = Annotated[World, COMPARE]
"""World whose raters compare two outputs."""
JudgedWorld: TypeAlias = Annotated[World, JUDGE]
"""What a part returns (or takes) names the question that its world answers."""


@dataclass(frozen=True, slots=True)
class Outputs:
    """Outputs of a system model: the expected quality of each for an average rater.

    `quality[system, item]`, `document[item]`, and `truth[system]`, the mean quality over all inputs that the
    documents were drawn from. `again` draws the quality of the same systems on other documents; None where that cannot
    be. `scale` says how quality, latent then, becomes a score (`ScaleEffects` without raters); None: quality is the
    expected score itself.
    """

    quality: Floats
    document: Ints
    truth: Floats
    lower_is_better: bool
    again: Callable[[np.random.Generator], Outputs] | None = None
    scale: Any = None


@dataclass(frozen=True, slots=True)
class Documents:
    """Grouping of a system's outputs into documents: each `size` items in a row are parts of one document.

    `agreement` is the correlation of whatever is drawn of two items of a document (0: parts know nothing of each
    other); what an item is like on its own stays what it is without documents. The last document may be cut short.
    """

    size: int = 1
    agreement: float = 0.0

    def document_indices(self, n_items: int) -> Ints:
        """Return which document each of n items belongs to."""
        return np.arange(n_items) // self.size


@dataclass(frozen=True, slots=True)
class Contest:
    """Comparisons of the outputs of each two systems, as an oracle sees them.

    `p[pair, outcome]` are the probabilities of win, draw and loss (`>`, `=`, `<`; pairs ordered i < j, "win" means that
    the first system's output is preferred); None where nobody knows them. Exactly one of four says where outcomes
    come from: `recorded[pair, item]` (0, 1, 2 = `>`, `=`, `<`; -1 = never rated), a `latent` quality, strengths by the
    law of `davidson`, or none of these: then they are drawn from `p`, draws correlated between the pairs of an item by
    `difficulty` in [0, 1).
    `n_items` outputs per system can be rated by humans. `fixed`: all studies of a world share one test set.
    `documents` says which outputs come together.
    """

    system_names: tuple[str, ...]
    n_items: int
    p: Floats | None
    recorded: Array | None = None
    latent: Latent | None = None
    difficulty: float = 0.0
    fixed: bool = False
    documents: Documents = Documents()
    davidson: Davidson | None = None


@dataclass(frozen=True, slots=True)
class Latent:
    """Latent quality: an output scores `quality[system] * f[item] + shared_sd * d[item] + output_sd * z`.

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
    """Law of a metric's answers about pairs: by a mixture matrix, by a score that is compared, or as it is recorded.

    `mu[pair, metric outcome, oracle outcome]` has columns that sum to one. Otherwise the metric scores outputs with
    `correlation[system]` to their latent score, and prefers by the sign of the difference beyond `margin` (in standard
    deviations of the metric's score). It rates the first `n_outputs` outputs, those that humans can rate first.
    `recorded[pair, output]` is what a real one said of them (0, 1, 2 = `>`, `=`, `<`; -1: nothing), and
    `rest_document[k]` the document of the k-th output that humans cannot rate. With `bins` sizes of a difference it is
    0 (the largest `>`) to 2 * bins (the largest `<`), draws in the middle.
    """

    n_outputs: int
    mu: Floats | None = None
    correlation: Floats | None = None
    margin: float = 0.0
    recorded: Array | None = None
    rest_document: Ints | None = None
    bins: int = 1

    @property
    def draws(self) -> bool:
        """True if the metric can call two outputs as good."""
        if self.recorded is not None:
            return bool((self.recorded == self.bins).any())
        return bool(self.mu[:, 1].any()) if self.mu is not None else self.margin != 0


@dataclass(frozen=True, slots=True)
class TestSet:
    """Potential answers about a test set: outcomes 0, 1, 2 = `>`, `=`, `<`, -1 = a gap.

    `human[pair, item]` for the outputs that humans can rate, `metric[pair, item]` for those that the metric rates
    (the same first), None without a metric; its outcomes are more where it tells sizes apart (see `MetricLaw`).
    """

    __test__ = False

    human: Array
    metric: Array | None


class KnownRates(NamedTuple):
    """True positive and true negative rate of a binary metric that an analyst takes for known."""

    rho: float
    eta: float


class KnownCorrelation(NamedTuple):
    """Correlation of a metric's scores with the human score that an analyst takes for known."""

    correlation: float


@dataclass(frozen=True, slots=True)
class OutputMetric:
    """Law of a metric's answers about single outputs, system by system.

    Binary: it says adequate of adequate outputs with `rho[system]`, inadequate of others with `eta[system]`. Otherwise
    it scores them with `correlation[system]` to the human score of a system's outputs, in standard deviations; with a
    `threshold` it says adequate above it. `nominal` is what an analyst takes for known, the same for all systems (None:
    nothing). What it said of the outputs of a table is `recorded[system, item]`, or `[system, item, slot]` where it
    says something else beside each judgement.
    """

    nominal: KnownRates | KnownCorrelation | None
    rho: Floats | None = None
    eta: Floats | None = None
    correlation: Floats | None = None
    threshold: float | None = None
    recorded: Floats | None = None
