"""Draw comparisons of each pair of systems on each item: the outcomes by an oracle, by raters and by a metric.

`ComparisonLaw` is the law of a world of comparisons (`World.answers[COMPARE]`); its `draw` returns a `TestSet`. The
oracle compares without errors of raters. Outcomes are 0, 1, 2 = `>`, `=`, `<`, and -1 for a gap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from simlab.formulas import sign
from simlab.types import (
    COMPARE,
    Answers,
    Array,
    Bools,
    Contest,
    Davidson,
    Documents,
    Floats,
    Frame,
    Ints,
    Latent,
    MetricLaw,
    RaterPool,
    TestSet,
    World,
)
from simlab.world.laws.davidson import choose, deviates, places, shares

GAP = -1
"""Code of a missing outcome.
"""

INDEPENDENT = Documents()
"""Every output is a document of its own."""


@dataclass(frozen=True, slots=True)
class ComparisonLaw:
    """Law of raters' comparisons of the outputs of a contest.

    `rater[human outcome, oracle outcome]` is their confusion (columns sum to one); None: they are the oracle. Raters of
    a `pool` choose by where outputs lie (see `Davidson`), and the oracle is what one average rater more would say.
    """

    contest: Contest
    rater: Floats | None
    pool: RaterPool | None = None

    def draw(
        self, rng: np.random.Generator, needs: MetricLaw | None, raters: np.random.Generator | None = None
    ) -> TestSet:
        """Draw the outcomes of every pair on every output that humans or the metric (`needs`, None: none) can rate.

        The oracle, the raters and the metric have streams of their own: another metric changes no human rating. Of a
        recorded contest the ratings are given; outputs beyond them, and gaps, get an oracle outcome by the pair's
        recorded rates, as the ideal metric of Deriu et al. 2023 (appendix E) does. `raters` lets other people compare
        the same outputs.
        """
        contest, metric = self.contest, needs
        for_oracle, for_others, for_raters, for_metric = rng.spawn(4)
        n_outputs = metric.n_outputs if metric else 0
        if contest.davidson is not None:
            streams = (for_oracle, for_others, raters or for_raters, for_metric)
            return self._draw_by_strengths(contest.davidson, streams, metric)
        oracle, score = _oracle(for_oracle, contest, contest.n_items, contest.recorded)
        if n_outputs > contest.n_items:
            # Outputs beyond those that humans can rate have a stream of their own: more of them change no human rating.
            more, other = _oracle(for_others, contest, n_outputs - contest.n_items, None)
            oracle = np.concatenate([oracle, more], axis=1)
            score = None if score is None or other is None else np.concatenate([score, other], axis=1)
        human = oracle[:, : contest.n_items] if contest.recorded is None else contest.recorded
        if self.rater is not None:
            human = _apply_confusion(raters or for_raters, human, self.rater[None])
        if metric is None or metric.recorded is not None:
            return TestSet(human, None if metric is None else metric.recorded)
        score = None if score is None else score[:, :n_outputs]
        return TestSet(human, _metric(for_metric, metric, oracle[:, :n_outputs], score))

    def _draw_by_strengths(
        self, law: Davidson, streams: tuple[np.random.Generator, ...], metric: MetricLaw | None
    ) -> TestSet:
        """Draw the outcomes of outputs that have a place on a latent scale."""
        for_oracle, for_others, for_raters, for_metric = streams
        contest, more = self.contest, (metric.n_outputs if metric else 0) - self.contest.n_items
        place = places(for_oracle, law, contest.n_items, contest.documents)
        oracle = human = choose(for_oracle, place, law.ties)
        if self.pool is not None:
            human = choose(for_raters, place, law.ties, self.pool)
        elif self.rater is not None:
            human = _apply_confusion(for_raters, human, self.rater[None])
        if metric is None:
            return TestSet(human, None)
        if more > 0:
            others = choose(for_others, places(for_others, law, more, contest.documents), law.ties)
            oracle = np.concatenate([oracle, others], axis=1)
        return TestSet(human, _metric(for_metric, metric, oracle[:, : metric.n_outputs], None))

    def answer(self, noise: TestSet, unit: Ints, item: Ints, slot: Ints) -> Answers:
        """Look up how the outputs of a pair (`unit`) compare on an item; nobody marks errors."""
        return Answers(noise.human[unit, item], None)


def require_contest(world: World) -> Contest:
    """Return the contest whose outputs the raters of a world compare."""
    return require_comparisons(world).contest


def require_comparisons(world: World) -> ComparisonLaw:
    """Return the law by which the outputs of a world are compared."""
    law = world.answers[COMPARE]
    if not isinstance(law, ComparisonLaw):
        raise TypeError("a metric of pairs needs outputs that are compared by the law of Comparisons")
    return law


def contest_frame(contest: Contest) -> Frame:
    """Return the frame of a contest: its systems, items and documents, and one rater who stands for all."""
    n_systems, n_items = len(contest.system_names), contest.n_items
    document = contest.documents.document_indices(n_items)
    return Frame(
        document=document,
        bucket=np.zeros(int(document[-1]) + 1, np.int64),
        rater=np.broadcast_to(np.zeros((), np.int64), (n_systems, n_items, 1)),
        system_names=contest.system_names,
        document_names=(),
        rater_names=(),
        lower_is_better=False,
    )


def rest_documents(world: World, n_outputs: int) -> Ints:
    """Return the document of each of the metric's `n_outputs` outputs that humans cannot rate: `[output]`."""
    if world.metric is not None and world.metric.rest_document is not None:
        documents: Ints = world.metric.rest_document
        return documents
    return require_contest(world).documents.document_indices(max(n_outputs - world.frame.document.size, 0))


def preference_direction(contest: Contest) -> Array | None:
    """Return who truly wins more often: `[pair]` +1, 0, -1; None where nobody knows."""
    if contest.p is None:
        return None
    return sign(contest.p[:, 0] - contest.p[:, 2])


def outcome_rates(recorded: Array) -> Floats:
    """Return the share of each outcome among those of `recorded[pair, item]`: `[pair, outcome]`; without any: draws."""
    counts = np.stack([(recorded == outcome).sum(1) for outcome in range(3)], axis=1).astype(float)
    counts[counts.sum(1) == 0, 1] = 1
    return np.asarray(counts / counts.sum(1, keepdims=True))


def compare(score: Floats, margin: float) -> Array:
    """Compare scores `[system, item]` by pair: `[pair, item]` 0, 1, 2 = `>`, `=`, `<`, -1 where one is missing (NaN).

    Differences up to the margin count as `=`. Source: Deriu et al. 2023, definition 5, with a tie margin.
    """
    first, second = np.triu_indices(len(score), 1)
    difference = score[first] - score[second]
    # Scores are averages of decimal fractions: a difference that equals the margin must not depend on rounding.
    slack = margin + 1e-9 * (1 + margin)
    outcome = np.where(difference > slack, 0, np.where(difference < -slack, 2, 1))
    return np.where(np.isnan(difference), GAP, outcome).astype(np.int8)


def compare_sizes(score: Floats, margin: float, bins: int) -> Array:
    """Compare as `compare` does, and tell sizes apart: `[pair, item]` 0 (largest `>`) to 2 * bins (largest `<`).

    Sizes are cut where the differences beyond the margin, of all pairs together, have their quantiles; -1 where a score
    is missing. No human rating is used.

    >>> compare_sizes(np.array([[4.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 3.0]]), 0.0, 2).tolist()
    [[0, 1, 2, 3]]
    """
    outcome = compare(score, margin)
    first, second = np.triu_indices(len(score), 1)
    size, decided = np.abs(score[first] - score[second]), (outcome == 0) | (outcome == 2)
    edges = np.quantile(size[decided], np.arange(1, bins) / bins) if decided.any() else np.zeros(0)
    place = 1 + np.searchsorted(edges, np.where(decided, size, 0.0))
    return np.where(outcome == GAP, GAP, bins + (outcome - 1) * place * decided).astype(np.int8)


def _oracle(
    rng: np.random.Generator, contest: Contest, n_items: int, recorded: Array | None
) -> tuple[Array, Floats | None]:
    """Draw the oracle's outcome of each pair on each item, and the outputs' standardised latent scores, if any."""
    if contest.latent is not None:
        score = latent_scores(rng, contest.latent, n_items, contest.documents)
        return compare(score, contest.latent.tie_margin), standardise_scores(score, contest.latent)
    if contest.p is not None:
        return _draw_by_rates(rng, contest.p, n_items, contest.difficulty, contest.documents), None
    if contest.recorded is None:
        raise ValueError("a contest needs probabilities, a latent quality or recorded outcomes")
    drawn = _draw_by_rates(rng, outcome_rates(contest.recorded), n_items, 0.0, contest.documents)
    if recorded is not None:
        drawn = np.where(recorded >= 0, recorded, drawn)
    return drawn, None


def latent_scores(rng: np.random.Generator, latent: Latent, n_items: int, documents: Documents = INDEPENDENT) -> Floats:
    """Draw the latent score of each output: `[system, item]`; see `Latent` and `Documents`."""
    factor = np.exp(latent.item_sd * deviates(rng, (n_items,), documents) - latent.item_sd**2 / 2)
    noise = deviates(rng, (len(latent.quality), n_items), documents)
    score = latent.quality[:, None] * factor + latent.output_sd * noise
    # Nothing is drawn where nothing is shared, so that worlds without it keep their numbers.
    return np.asarray(score + latent.shared_sd * deviates(rng, (n_items,), documents) if latent.shared_sd else score)


def standardise_scores(score: Floats, latent: Latent) -> Floats:
    """Subtract the mean of latent scores over all outputs of all systems, and divide by their standard deviation."""
    square = np.mean(latent.quality**2) * np.exp(latent.item_sd**2)  # the factor of an item has mean 1
    mean = latent.quality.mean()
    return np.asarray((score - mean) / np.sqrt(latent.output_sd**2 + latent.shared_sd**2 + square - mean**2))


def metric_scores(rng: np.random.Generator, correlation: Floats, score: Floats) -> Floats:
    """Draw a metric's scores that have `correlation[system]` with standardised latent ones, `score[system, item]`."""
    rho = correlation[:, None]
    # So much noise that the score keeps its standard deviation of 1.
    return np.asarray(rho * score + np.sqrt(1 - rho**2) * rng.standard_normal(score.shape))


def _draw_by_rates(rng: np.random.Generator, p: Floats, n_items: int, difficulty: float, documents: Documents) -> Array:
    """Draw outcomes with given rates; draws of different pairs on an item correlate by `difficulty`.

    What is drawn of two items of a document is alike: whether they are draws, and who wins.
    """
    own = deviates(rng, (len(p), n_items), documents)
    shared = deviates(rng, (n_items,), documents)
    # Both parts have variance 1 together, so that each pair draws as often as its own rate says.
    hard = np.sqrt(difficulty) * shared + np.sqrt(1 - difficulty) * own
    draw = hard < ndtri(p[:, 1])[:, None]
    decided = p[:, 0] + p[:, 2]
    # Where all are draws the share is never used.
    wins = np.divide(p[:, 0], decided, out=np.full(len(p), 0.5), where=decided > 0)
    won = shares(rng, (len(p), n_items), documents) < wins[:, None]
    return np.where(draw, 1, np.where(won, 0, 2)).astype(np.int8)


def _metric(rng: np.random.Generator, law: MetricLaw, oracle: Array, score: Floats | None) -> Array:
    if law.mu is not None:
        return _apply_confusion(rng, oracle, law.mu)
    if law.correlation is None or score is None:
        raise ValueError("a metric needs a mixture matrix, or a correlation with latent scores")
    return compare(metric_scores(rng, law.correlation, score), law.margin)


def _apply_confusion(rng: np.random.Generator, outcome: Array, confusion: Floats) -> Array:
    """Pass outcomes `[pair, item]` through `confusion[pair or 1, said, true]`; gaps stay gaps."""
    below = np.cumsum(confusion, axis=1)[:, :2]
    u = rng.random(outcome.shape)
    rows = np.arange(len(outcome))[:, None] % len(confusion)
    # Gaps are looked up like wins, and put back below.
    true: Bools | Array = np.maximum(outcome, 0)
    passed = (u >= below[rows, 0, true]).astype(np.int8) + (u >= below[rows, 1, true])
    return np.where(outcome < 0, GAP, passed).astype(np.int8)
