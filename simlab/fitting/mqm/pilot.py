"""Turn a table of ratings into a pilot for the MQM law: the errors of each rating, and which ratings share what.

`pilot_from_ratings` takes a table, `pilot_from_world` a recorded world, `lay_out_design` a design without answers; each
returns an `MqmPilot`. `marked_errors` splits scores into minor, major and punctuation errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

from simlab.messages import clip
from simlab.tables.rating_table import NOTHING, ColumnOverrides, Ratings
from simlab.types import Bools, Floats, InputError, Ints, World
from simlab.world.laws.fixed import fixed_ratings
from simlab.world.recorded import table

MINOR, MAJOR, NON_TRANSLATION = 10, 50, 250
"""Points of an error in tenths; what is left over modulo ten is punctuation, worth one tenth each."""
MAX_RATINGS = 500_000
"""Most ratings of a pilot."""
# Where scores do not tell errors apart, an average score above zero is taken for so many errors of one kind: enough
# that their count adds little noise of its own.
ERRORS_IN_AVERAGE_SCORE = 20
MAX_RATER_PAIRS = 500
"""Most pairs of raters whose agreement is worked out."""


class PilotScore(NamedTuple):
    """A rating: its score and the number of errors marked, -1 where the table does not say."""

    score: float
    errors: int


@dataclass(frozen=True, slots=True)
class MqmPilot:
    """Ratings, flat: indices `system`, `item`, `rater` of each, its `score`, and `counts[kind, rating]`.

    Kinds of errors are minor, major, punctuation. `document[item]` says which segments belong together, `seats` which
    raters rated each document. `counted` is False where the scores do not tell errors apart; then all are of
    one kind, worth `minor_weight` points. Tables of one design share their `layout`.
    """

    system: Ints
    item: Ints
    rater: Ints
    score: Floats
    counts: Ints
    document: Ints
    seats: tuple[tuple[int, ...], ...]
    system_names: tuple[str, ...]
    rater_names: tuple[str, ...]
    counted: bool
    minor_weight: float
    major_weight: float
    layout: RatingLayout

    @property
    def n_systems(self) -> int:
        """Count the systems."""
        return len(self.system_names)

    @property
    def n_raters(self) -> int:
        """Count the raters."""
        return len(self.rater_names)

    @property
    def n_documents(self) -> int:
        """Count the documents."""
        return len(self.seats)


def read(path: Path | None, overrides: ColumnOverrides = NOTHING) -> MqmPilot:
    """Read a table of ratings; None is the one built into simlab.

    Raises InputError naming file and line for what is not a table of ratings per rater.
    """
    return pilot_from_ratings(table(path, overrides), "the built-in table" if path is None else clip(path))


def pilot_from_ratings(ratings: Ratings, where: str) -> MqmPilot:
    """Return a table as a pilot; raise InputError, beginning with `where`, for scores that are no sums of errors."""
    if len(ratings.score) > MAX_RATINGS:
        raise InputError(f"{where}: holds {len(ratings.score):,} ratings; a fit takes at most {MAX_RATINGS:,}")
    if not ratings.lower_is_better:
        raise InputError(f"{where}: higher scores are better, and a law of errors needs sums of errors")
    rated = [PilotScore(*pair) for pair in zip(ratings.score.tolist(), ratings.errors.tolist(), strict=True)]
    names = ratings.system_names, ratings.rater_names
    return _pilot(ratings.system, ratings.item, ratings.rater, rated, ratings.document, *names)


def lay_out_design(design: Ratings) -> MqmPilot:
    """Make a pilot of a design whose answers are still to be drawn: all scores and errors are 0."""
    n = len(design.score)
    names = tuple(design.system_names), tuple(design.rater_names)
    seats = tuple(() for _ in range(design.n_documents))
    counts = np.zeros((3, n), np.int64)
    place = design.system, design.item, design.rater
    layout = RatingLayout(*place, design.document, design.n_systems, design.n_raters)
    return MqmPilot(*place, np.zeros(n), counts, design.document, seats, *names, True, 1.0, 5.0, layout)


def pilot_from_world(world: World, documents: Bools | None = None) -> MqmPilot:
    """Take the ratings of a recorded world as a pilot; `documents[document]` keeps some of its documents.

    Systems and raters keep their indices, so that what is fitted can be laid on the world's frame.

    Raises InputError for a world without fixed ratings, or whose scores are all 0.
    """
    frame, ratings = world.frame, fixed_ratings(world)
    if ratings is None:
        raise InputError("a pilot needs ratings: use a table, or raters.noise=potential")
    kept = np.ones(frame.n_documents, bool) if documents is None else documents
    system, item, slot = np.nonzero((frame.rater >= 0) & kept[frame.document][:, None])
    items, item_index = np.unique(item, return_inverse=True)
    _, of_item = np.unique(frame.document[items], return_inverse=True)
    at = system, item, slot
    rated = [PilotScore(*pair) for pair in zip(ratings.value[at].tolist(), ratings.errors[at].tolist(), strict=True)]
    return _pilot(system, item_index, frame.rater[at], rated, of_item, frame.system_names, frame.rater_names)


def _pilot(
    system: Ints,
    item: Ints,
    rater: Ints,
    rated: Sequence[PilotScore],
    document: Ints,
    system_names: Sequence[str],
    rater_names: Sequence[str],
) -> MqmPilot:
    score = np.array([rating.score for rating in rated])
    if not score.any():
        raise InputError("the table has no score above 0; there is nothing to fit")
    counts, counted = marked_errors(score, np.array([rating.errors for rating in rated]))
    minor, major = _weights(score, counts, counted)
    names = tuple(system_names), tuple(rater_names)
    layout = RatingLayout(system, item, rater, document, len(system_names), len(rater_names))
    seats = [tuple(np.unique(rater[layout.where == d]).tolist()) for d in range(int(document.max()) + 1)]
    return MqmPilot(system, item, rater, score, counts, document, tuple(seats), *names, counted, minor, major, layout)


def replace_scores(pilot: MqmPilot, counts: Ints, score: Floats) -> MqmPilot:
    """Return the pilot with other answers: `counts[kind, rating]` errors and `score[rating]`."""
    return replace(pilot, counts=counts, score=score)


def marked_errors(score: Floats, errors: Ints) -> tuple[Ints, bool]:
    """Work out minor, major and punctuation errors from scores and numbers of errors (-1: not known).

    Scores are sums of 5 per major, 1 per minor and .1 per punctuation error, so tenths tell punctuation, and the
    score beyond one point per error tells majors. Where the number is not known, as many majors as fit are
    assumed. Where more than one rating in twenty does not fit, the second value is False and all errors are of
    one kind.

    >>> marked_errors(np.array([7.2, 0.0]), np.array([5, 0]))[0].T.tolist()
    [[2, 1, 2], [0, 0, 0]]
    """
    tenths = np.rint(10 * score).astype(np.int64)
    punctuation = np.where(errors >= 0, np.minimum(tenths % 10, np.maximum(errors, 0)), tenths % 10)
    whole = (tenths - punctuation) // 10
    # A major error is worth 5 points, 4 more than the one that it counts for among the errors.
    major = np.where(errors >= 0, np.rint((whole - (errors - punctuation)) / 4), whole // 5).astype(np.int64)
    others = np.where(errors >= 0, errors - punctuation, whole // 5 + whole % 5)
    major = np.clip(major, 0, others)
    counts = np.stack([others - major, major, punctuation])
    fits = np.abs(tenths - 10 * score) < 1e-6
    # A non-translation costs 25 points, which fives and ones cannot explain: so dear an error is no misfit.
    fits &= (errors < 0) | (np.abs(counts[0] + 5 * counts[1] - whole) < 2) | (whole > 20 * np.maximum(errors, 1))
    if fits.mean() < 0.95 or ((errors < 0).all() and (tenths % 10 > 0).mean() > 0.3):
        unit = score[score > 0].mean() / ERRORS_IN_AVERAGE_SCORE
        alone = np.rint(score / unit).astype(np.int64)
        return np.stack([alone, 0 * alone, 0 * alone]), False
    return counts, True


def _weights(score: Floats, counts: Ints, counted: bool) -> tuple[float, float]:
    """Give the points of a minor and a major error; rare errors worth 25 points raise the average of a major one."""
    if not counted:
        unit = float(score.sum() / counts[0].sum())
        return unit, unit
    rest = (score - counts[0] - 0.1 * counts[2]).sum()
    # Without a major error in the table the 5 points of MQM stand in.
    return 1.0, float(max(rest / counts[1].sum(), 1.0)) if counts[1].any() else 5.0


class SumStep(NamedTuple):
    """A step that adds sums up further: `into[finer]` is which of `n` sums those of a finer level go into."""

    into: Ints
    n: int

    def __call__(self, sums: Floats) -> Floats:
        """Add sums up."""
        return np.asarray(np.bincount(self.into, weights=sums, minlength=self.n), float)


class SharingSums(NamedTuple):
    """Sums over ratings that share as much beside a system and a rater: nothing, rater, system, both."""

    all: Floats
    rater: Floats
    system: Floats
    both: Floats


class ByTwo(NamedTuple):
    """Documents of which two raters rated every output: the number of the pair, both raters, the document."""

    pair: Ints
    first: Ints
    second: Ints
    document: Ints


@dataclass(frozen=True)
class RatingLayout:
    """Layout of ratings: who rated what; `document[item]` says which segments belong together."""

    system: Ints
    item: Ints
    rater: Ints
    document: Ints
    n_systems: int
    n_raters: int

    @cached_property
    def where(self) -> Ints:
        """Return the document of each rating."""
        return np.asarray(self.document[self.item])

    @cached_property
    def output(self) -> Ints:
        """Return the place of each rating's output in an array `[system, item]`."""
        return np.asarray(self.system * len(self.document) + self.item)

    @cached_property
    def crossed(self) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
        """Return how many ratings a system has of a rater on an item, `[system x rater, item]`, and the transpose."""
        cell = self.system * self.n_raters + self.rater
        shape = self.n_systems * self.n_raters, len(self.document)
        counts = sparse.csr_matrix((np.ones(len(cell)), (cell, self.item)), shape=shape)
        return counts, counts.T.tocsr()

    @cached_property
    def shape(self) -> tuple[int, int, int]:
        """Return how many raters, documents and systems there are."""
        return self.n_raters, int(self.document.max()) + 1, self.n_systems

    @cached_property
    def cell(self) -> Ints:
        """Return the place of each rating in an array `[rater, document, system]`."""
        return np.asarray(np.ravel_multi_index((self.rater, self.where, self.system), self.shape))

    @cached_property
    def by_two(self) -> ByTwo:
        """List documents of which two raters rated every output, pair by pair."""
        size = np.bincount(self.cell, minlength=int(np.prod(self.shape))).reshape(self.shape)
        full = (size == np.bincount(self.document)[:, None]).all(2)
        raters = np.argwhere(np.tril(full.astype(float) @ full.T, -1) > 0)[:MAX_RATER_PAIRS]
        pair, document = np.nonzero(full[raters[:, 0]] & full[raters[:, 1]])
        return ByTwo(pair, raters[pair, 0], raters[pair, 1], document)

    @cached_property
    def ones(self) -> tuple[SharingSums, SharingSums, SharingSums]:
        """Return `sums` of as many ratings as there are."""
        return self.sums(np.ones(len(self.item)))

    def sums(self, values: Floats) -> tuple[SharingSums, SharingSums, SharingSums]:
        """Add up values of ratings that share nothing else, a document, a segment; see `SharingSums`.

        Coarse sums are added up from finer ones, which are fewer than ratings.
        """
        rating, by_rater, by_system, alone, of_documents, of_all = self._steps
        both = rating(values)
        segment = SharingSums(alone(of_rater := by_rater(both)), of_rater, by_system(both), both)
        document = _sum_coarser(of_documents, both)
        return _sum_coarser(of_all, document.both), document, segment

    @cached_property
    def _steps(self) -> tuple[SumStep, SumStep, SumStep, SumStep, Sequence[SumStep], Sequence[SumStep]]:
        kept, rating = self._finest
        system, item, rater = self.system[kept], self.item[kept], self.rater[kept]
        first, by_rater = _number_groups(item, rater)
        _, by_system = _number_groups(item, system)
        alone = SumStep(item[first], len(self.document))
        inner, of_documents = self._coarse_steps(system, self.document[item], rater)
        _, of_all = self._coarse_steps(system[inner], np.zeros_like(inner), rater[inner])
        return rating, by_rater, by_system, alone, of_documents, of_all

    @cached_property
    def _finest(self) -> tuple[Ints, SumStep]:
        """Put ratings together that share segment, system and rater."""
        return _number_groups(self.item, self.system, self.rater)

    def _coarse_steps(self, system: Ints, shared: Ints, rater: Ints) -> tuple[Ints, Sequence[SumStep]]:
        inner, both = _number_groups(shared, system, rater)
        shared, system, rater = shared[inner], system[inner], rater[inner]
        first, by_rater = _number_groups(shared, rater)
        _, by_system = _number_groups(shared, system)
        return inner, (both, by_rater, by_system, SumStep(shared[first], int(shared.max()) + 1))


def _sum_coarser(steps: Sequence[SumStep], finer: Floats) -> SharingSums:
    both, by_rater, by_system, alone = steps
    sums = both(finer)
    of_rater = by_rater(sums)
    return SharingSums(alone(of_rater), of_rater, by_system(sums), sums)


def _number_groups(*columns: Ints) -> tuple[Ints, SumStep]:
    """Number what differs in some column; return where each first stands, and the step that adds up by it."""
    shape = [int(column.max()) + 1 for column in columns]
    code = np.ravel_multi_index([np.asarray(column, np.int64) for column in columns], shape)
    _, first, into = np.unique(code, return_index=True, return_inverse=True)
    return first, SumStep(into, len(first))
