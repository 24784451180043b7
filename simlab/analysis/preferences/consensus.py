"""Estimate how raters err, and the answer most of them would give (the consensus), from items that several answered.

An answer prefers one of two systems or, where there are three classes, is a tie; an item is a comparison of two
outputs. Make `ConsensusChains` of `RepeatedAnswers`, then call its `draw`, which returns `ConsensusDraws`.

Dawid and Skene 1979 (Applied Statistics 28, 20-28) with a hierarchical prior (Paun et al. 2018, TACL 6, 571-585): the
rows of a rater's confusion matrix lie around those of a common one. Items are easy or hard; what is said of hard ones
has a matrix of its own, the same for all raters, so that errors depend on each other. What an item *is* is what most
raters would say of it, easy or hard: in each common matrix the consensus is the most frequent answer of its row.

Which of two systems is called the first means nothing, so matrices are the same with the two turned round: they consist
of two rows, (right, [tie,] wrong) where one is better, and (tie, no tie). Raters are right of hard items no more often
than of easy ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.sparse import csr_matrix
from scipy.special import gammaln

from simlab.types import Bools, Floats, Ints

ALIKE, SD_ALIKE = math.log(10.0), 1.0
"""Mean and standard deviation of the logarithm of how many answers the common matrix is worth in a rater's row."""
RIGHT = 3.0
"""Weight of the consensus in the Dirichlet prior of a row of the common matrix; each other answer has 1."""
SELDOM = 2.0
"""Shares of hard items have the prior Beta(1, SELDOM)."""
STEP, STEPS = 0.35, 2
"""Size and number of the Metropolis steps of the common matrix in a sweep."""
TINY = 1e-300


@dataclass(frozen=True, slots=True)
class RepeatedAnswers:
    """Answers, flat: `label[answer]`, a class from 0, of `item[answer]` by `rater[answer]`; and `pair[item]`.

    Classes are (win, tie, loss), `n_classes` 3, or (win, loss) where there are no ties.
    """

    label: Ints
    item: Ints
    rater: Ints
    pair: Ints
    n_classes: int

    @property
    def n_raters(self) -> int:
        """Count the raters."""
        return int(self.rater.max()) + 1

    @property
    def n_pairs(self) -> int:
        """Count the pairs."""
        return int(self.pair.max()) + 1

    def counts(self) -> Ints:
        """Count the answers of each item: `[item, answer]`."""
        k = self.n_classes
        return np.bincount(self.item * k + self.label, minlength=k * len(self.pair)).reshape(-1, k)


class ConsensusDraws(NamedTuple):
    """Draws of consensus and errors, `[chain, draw, ...]`, and means over them.

    `shares[..., pair, class]` of items by their consensus; `hard[..., class]` the share of hard ones among them.
    `common[..., class, answer]` is what raters say of easy items, `guess[..., class, answer]` of hard ones;
    `agree[..., rater]` how often a rater says the consensus of an easy item, the classes as frequent as in the mean of
    all pairs. `confusion[rater, class, answer]` are means.
    """

    shares: Floats
    hard: Floats
    common: Floats
    guess: Floats
    agree: Floats
    confusion: Floats


_Rows: TypeAlias = list[Floats]
"""The row of a better system, and that of ties, if there are any; the consensus comes first in each."""


class _State(NamedTuple):
    """Parameters of each chain, `[chain, ...]`; `alike` is a logarithm."""

    shares: Floats
    hard: Floats
    common: _Rows
    guess: _Rows
    alike: Floats
    confusion: Floats


class ConsensusChains:
    """Sample chains on a table, side by side: Gibbs sampling, with Metropolis steps of the common matrix.

    Items are drawn given the raters' matrices, these given the common matrix, and that with the raters' rows integrated
    out (Dirichlet-multinomial). A row in which the consensus is not the most frequent answer is not taken.
    """

    def __init__(self, rng: np.random.Generator, answers: RepeatedAnswers, chains: int) -> None:
        """Start `chains` chains, at places of their own."""
        self._rng, self._answers, self._chains = rng, answers, chains
        k, n_items, n_raters = answers.n_classes, len(answers.pair), answers.n_raters
        at = (answers.item, answers.rater * k + answers.label)
        self._by_rater = csr_matrix((np.ones(len(answers.label)), at), (n_items, n_raters * k))
        self._of_raters = self._by_rater.T.tocsr()
        self._counts = answers.counts().astype(float)
        self._of_pair = csr_matrix((np.ones(n_items), (answers.pair, np.arange(n_items))), (answers.n_pairs, n_items))
        # In the row of ties "no tie" stands for two answers, and has the prior weight of both.
        self._others = [np.ones(k - 1), np.array([2.0])][: k - 1]
        start = [np.concatenate([[0.7], 0.3 * of / of.sum()]) for of in self._others]
        common = [_draw_rows(rng, np.tile(60 * of, (chains, 1))) for of in start]
        self._state = _State(
            shares=np.full((chains, answers.n_pairs, k), 1 / k),
            hard=np.repeat(rng.uniform(0.05, 0.5, (chains, 1)), k, 1),
            common=common,
            guess=[np.tile(np.concatenate([[0.5], 0.5 * of / of.sum()]), (chains, 1)) for of in self._others],
            alike=rng.normal(ALIKE, 0.3, chains),
            confusion=np.repeat(_expand(common)[:, None], n_raters, 1),
        )

    def draw(self, n: int) -> ConsensusDraws:
        """Run the chains for n more sweeps, and return their draws."""
        drawn: list[tuple[Floats, ...]] = []
        total = np.zeros(self._state.confusion.shape[1:])
        for _ in range(n):
            at = self._state = self._sweep(self._state)
            right = np.diagonal(at.confusion, axis1=-2, axis2=-1)
            agree = (right * at.shares.mean(1)[:, None]).sum(-1)
            drawn.append((at.shares, at.hard, _expand(at.common), _expand(at.guess), agree))
            total += at.confusion.mean(0)
        shares, hard, common, guess, agree = (np.stack(each, axis=1) for each in zip(*drawn, strict=True))
        return ConsensusDraws(shares, hard, common, guess, agree, total / n)

    def _sweep(self, at: _State) -> _State:
        """Draw kinds of items (easy or hard, and the consensus), then all parameters, once."""
        rng, k, chains = self._rng, self._answers.n_classes, self._chains
        n_raters = self._answers.n_raters
        of_easy = self._by_rater @ np.log(at.confusion).transpose(1, 3, 0, 2).reshape(n_raters * k, -1)
        of_hard = self._counts @ np.log(_expand(at.guess)).transpose(0, 2, 1)
        shares = np.log(at.shares)[:, self._answers.pair]
        easy = shares + np.log1p(-at.hard)[:, None] + _split_chains(of_easy, chains)
        kind = _draw_kinds(rng, np.concatenate([easy, shares + np.log(at.hard)[:, None] + of_hard], axis=2))
        is_easy, is_hard = kind[..., :k], kind[..., k:]
        counts = _fold((self._of_raters @ _side_by_side(is_easy)).reshape(n_raters, k, chains, k).transpose(2, 0, 3, 1))
        common, alike = self._step(at, counts)
        worth = np.exp(alike)[:, None, None]
        of_guess = _fold(is_hard.transpose(0, 2, 1) @ self._counts)
        in_pair = _split_chains(self._of_pair @ _side_by_side(is_easy + is_hard), chains)
        return _State(
            shares=_draw_rows(rng, 1 + in_pair),
            hard=_draw_shares(rng, is_hard.sum(1), is_easy.sum(1)),
            common=common,
            guess=[self._draw_guess(*each) for each in zip(at.guess, common, of_guess, self._others, strict=True)],
            alike=alike,
            confusion=_expand([_draw_rows(rng, worth * of[:, None] + n) for of, n in zip(common, counts, strict=True)]),
        )

    def _draw_guess(self, guess: Floats, common: Floats, counts: Floats, others: Floats) -> Floats:
        """Draw a row of the matrix of answers to hard items; the old row stays where the new one is not allowed."""
        new = _draw_rows(self._rng, np.concatenate([[1.0], others]) + counts)
        return np.where((_mark_most_frequent(new, others) & (new[:, 0] <= common[:, 0]))[:, None], new, guess)

    def _step(self, at: _State, counts: _Rows) -> tuple[_Rows, Floats]:
        """Move the common matrix, row by row, then how much raters are alike."""
        rng, alike = self._rng, at.alike
        moved = alike + rng.normal(0, 0.5, len(alike))
        gain = ((alike - ALIKE) ** 2 - (moved - ALIKE) ** 2) / (2 * SD_ALIKE**2)
        rows = []
        for row, guess, n, others in zip(at.common, at.guess, counts, self._others, strict=True):
            was = _log_density(row, alike, n, others)
            for _ in range(STEPS):
                size = STEP * rng.choice([0.3, 1.0], (len(row), 1))
                new = row * np.exp(size * rng.normal(size=row.shape))
                new /= new.sum(-1, keepdims=True)
                now = _log_density(new, alike, n, others)
                can_be = _mark_most_frequent(new, others) & (new[:, 0] >= guess[:, 0])
                taken = can_be & (np.log(rng.random(len(row))) < now - was)
                row, was = np.where(taken[:, None], new, row), np.where(taken, now, was)
            gain += _log_density(row, moved, n, others) - was
            rows.append(row)
        return rows, np.where(np.log(rng.random(len(alike))) < gain, moved, alike)


def _log_density(row: Floats, alike: Floats, counts: Floats, others: Floats) -> Floats:
    """Return the log density of a common row `[chain, answer]`, raters' rows integrated out.

    `alike[chain]` is the logarithm of the answers that the row is worth, `counts[chain, rater, answer]` are raters',
    `others` the answers that each but the consensus stands for.
    """
    worth = np.exp(alike)[:, None]
    alpha = (worth * row)[:, None]
    density = (gammaln(alpha + counts) - gammaln(alpha)).sum((1, 2))
    density += (gammaln(worth) - gammaln(worth + counts.sum(-1))).sum(1)
    # The density is that of logarithms, in which steps are symmetric: exponents are alpha, not alpha - 1.
    return np.asarray(density + (np.concatenate([[RIGHT], others]) * np.log(row)).sum(-1))


def _fold(counts: Floats) -> _Rows:
    """Add up counts `[..., class, answer]` that are the same with the systems turned round."""
    better = counts[..., 0, :] + counts[..., -1, ::-1]
    if counts.shape[-1] == 2:
        return [better]
    return [better, np.stack([counts[..., 1, 1], counts[..., 1, 0] + counts[..., 1, 2]], axis=-1)]


def _expand(rows: _Rows) -> Floats:
    """Return matrices `[..., class, answer]` of their rows."""
    # With the systems turned round either other answer to a tie is as likely.
    better, ties = rows[0], [np.stack([of[..., 1] / 2, of[..., 0], of[..., 1] / 2], axis=-1) for of in rows[1:]]
    return np.stack([better, *ties, better[..., ::-1]], axis=-2)


def _mark_most_frequent(row: Floats, others: Floats) -> Bools:
    """Mark where the consensus is the most frequent answer; `others[answer]` count how many answers one stands for."""
    return np.asarray((row[..., :1] >= row[..., 1:] / others).all(-1))


def _draw_shares(rng: np.random.Generator, hard: Floats, easy: Floats) -> Floats:
    """Draw the share of hard items `[chain, class]`, one for both systems and one for ties."""
    hard, easy = (n + n[:, ::-1] for n in (hard, easy))
    # Ties are their own mirror image, so that the sum above has counted them twice.
    of_ties = np.arange(hard.shape[1]) * 2 == hard.shape[1] - 1
    drawn = rng.beta(1 + np.where(of_ties, hard / 2, hard), SELDOM + np.where(of_ties, easy / 2, easy))
    drawn[:, -1] = drawn[:, 0]
    return np.asarray(drawn.clip(1e-9, 1 - 1e-9))


def _side_by_side(values: Floats) -> Floats:
    """Turn `[chain, item, class]` into `[item, chain and class]`."""
    return values.transpose(1, 0, 2).reshape(values.shape[1], -1)


def _split_chains(values: Floats, chains: int) -> Floats:
    """Turn `[item, chain and class]` into `[chain, item, class]`."""
    return values.reshape(len(values), chains, -1).transpose(1, 0, 2)


def _draw_kinds(rng: np.random.Generator, logit: Floats) -> Floats:
    """Draw one kind of each item, 1 where it is that one: `[chain, item, kind]`."""
    weight = np.exp(logit - logit.max(2, keepdims=True)).cumsum(2)
    drawn = (weight < rng.random((*weight.shape[:2], 1)) * weight[..., -1:]).sum(2)
    return np.asarray(drawn[..., None] == np.arange(weight.shape[2]), float)


def _draw_rows(rng: np.random.Generator, alpha: Floats) -> Floats:
    """Draw from Dirichlet laws along the last axis; nothing is 0, which has no logarithm."""
    drawn = np.maximum(rng.standard_gamma(alpha), TINY)
    return np.asarray(np.maximum(drawn / drawn.sum(-1, keepdims=True), TINY))
