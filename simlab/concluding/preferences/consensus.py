"""Estimate the answer that most raters would give to each item (its consensus), and how raters err, easy item or hard.

Errors are learned from items that several raters answered. Call `group_answers` on a table of preferences, then
`learn_consensus`: it returns a `Consensus`, with the share of each class among a pair's items. Classes of answers are
win, tie (where there are any) and loss. The model is that of `simlab.analysis.preferences.consensus`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simlab.analysis.preferences.consensus import ConsensusChains, ConsensusDraws, RepeatedAnswers
from simlab.analysis.preferences.places import join_orders
from simlab.answers.consensus import Consensus, ConsensusPair, RaterErrors
from simlab.answers.standings import Interval
from simlab.concluding.preferences.votes import list_answers, named_pairs
from simlab.effort import ChainEffort, current_effort
from simlab.fitting.preferences.fitting import rhat
from simlab.messages import pluralise
from simlab.rng import stream
from simlab.tables.preferences import Preferences
from simlab.types import Floats, InputError, Ints

REPEATED = 3
"""Least number of answers to an item that show who errs: of two that differ, either may be wrong."""
FEWEST_ITEMS = 20
MOST = 100_000
AGREE, CLOSE = 1.05, 1.1
"""R-hat up to which chains stop, and up to which their draws are used after all rounds."""
BATCHES = 10


class RepeatedVotes(NamedTuple):
    """Repeated answers of a table, with pairs and raters numbered anew.

    `pairs[k]` and `raters[k]` are the table's numbers of pair k and rater k; -1: raters without a name.
    """

    answers: RepeatedAnswers
    pairs: Ints
    raters: Ints


def group_answers(table: Preferences, where: str) -> RepeatedVotes:
    """Return the answers of a table by item; raise InputError where they cannot show raters' errors.

    What a rater answered in both orders is one answer if it is the same, and none if not; of a rater who answered the
    same outputs again, the first answer counts. Raters that are not named are taken to err alike.
    """
    if not table.item_known or table.counted:
        raise InputError(
            f"--consensus: needs to know which answers are of the same outputs, and {where} names no items; add a "
            "column item, or leave --consensus out"
        )
    votes = join_orders(list_answers(table)).votes
    votes = votes.select_votes(votes.item >= 0)
    unit = votes.pair * len(table.item_names) + votes.item
    # Answers without a name may be by anybody: each gets a number of its own, and none is dropped as a repeat.
    by = np.where(votes.rater >= 0, votes.rater, table.n_raters + np.arange(len(unit)))
    _, first = np.unique(np.stack([unit, by]), axis=1, return_index=True)
    units, item, n = np.unique(unit[first], return_inverse=True, return_counts=True)
    value, rater = votes.value[first], votes.rater[first]
    repeated = int((n >= REPEATED).sum())
    if repeated < FEWEST_ITEMS or 2 * repeated < len(units):
        raise InputError(
            f"--consensus: {repeated:,} of {pluralise(len(units), 'item')} of a pair in {where} have answers of "
            f"{REPEATED} raters, and of two who differ either may err; it takes half of the "
            f"items, and {FEWEST_ITEMS}; ask more raters about the same outputs, or leave --consensus out"
        )
    if len(value) > MOST:
        raise InputError(f"--consensus: {len(value):,} answers are more than {MOST:,}; choose some with --where")
    if not value.any():
        raise InputError(f"--consensus: all answers of {where} are ties, which tell nothing of errors; leave it out")
    ties = bool((value == 0).any())
    pairs, pair = np.unique(units // len(table.item_names), return_inverse=True)
    raters, rater = np.unique(rater, return_inverse=True)
    # Classes count from 0: wins, ties, losses; without ties halving closes the gap between the other two.
    answers = 1 - value if ties else (1 - value) // 2
    return RepeatedVotes(RepeatedAnswers(answers, item, rater, pair, 3 if ties else 2), pairs, raters)


def learn_consensus(repeated: RepeatedVotes, table: Preferences, level: float, seed: int) -> Consensus | None:
    """Learn raters' errors and the consensus of items; None where chains have not converged.

    Intervals miss with probability `level`.
    """
    drawn, r_hat = draw_consensus(stream(seed, "consensus"), repeated.answers, current_effort().consensus)
    return _record(repeated, table, drawn, level, r_hat) if r_hat <= CLOSE else None


def draw_consensus(
    rng: np.random.Generator, answers: RepeatedAnswers, effort: ChainEffort
) -> tuple[ConsensusDraws, float]:
    """Draw until chains agree, or for all rounds of the effort; return the last round, and R-hat of its shares."""
    chains = ConsensusChains(rng, answers, effort.chains)
    chains.draw(effort.warmup)
    for repetition in range(effort.rounds):
        # What was drawn while chains were still on their way does not count.
        drawn = chains.draw(effort.kept * 2**repetition)
        r_hat = max(
            rhat(drawn.shares[..., pair, of].T) for pair in range(answers.n_pairs) for of in range(answers.n_classes)
        )
        if r_hat <= AGREE:
            break
    return drawn, r_hat


def _record(
    repeated: RepeatedVotes, table: Preferences, drawn: ConsensusDraws, level: float, r_hat: float
) -> Consensus:
    answers, counts = repeated.answers, repeated.answers.counts()
    named = named_pairs(table.system_names)
    weight = drawn.shares.mean(2)
    of_class = weight * drawn.hard
    hard = of_class.sum(-1)
    right_hard = (np.diagonal(drawn.guess, axis1=-2, axis2=-1) * of_class).sum(-1) / hard
    right = (np.diagonal(drawn.common, axis1=-2, axis2=-1) * weight).sum(-1)
    load = np.bincount(answers.rater)
    return Consensus(
        level=level,
        items=len(answers.pair),
        repeated=int((counts.sum(1) >= REPEATED).sum()),
        pairs=[
            _describe_pair(named[pair], drawn.shares[:, :, place], counts[answers.pair == place], level)
            for place, pair in enumerate(repeated.pairs.tolist())
        ],
        agree=_interval(right, level),
        agree_hard=_interval(right_hard, level),
        hard=_interval(hard, level),
        confusion=drawn.common.mean((0, 1)).tolist(),
        raters=[
            RaterErrors(
                rater=table.rater_names[rater],
                answers=int(load[place]),
                agree=_interval(drawn.agree[..., place], level),
                confusion=drawn.confusion[place].tolist(),
            )
            for place, rater in enumerate(repeated.raters.tolist())
            if rater >= 0
        ],
        r_hat=r_hat,
        draws=hard.size,
    )


def _describe_pair(named: tuple[str, str], shares: Floats, counts: Ints, level: float) -> ConsensusPair:
    """Describe a pair by draws `[chain, draw, class]` and the answers `[item, class]` of its items."""
    most = counts == counts.max(1, keepdims=True)
    # An item whose answers are split evenly counts in equal parts for each of them.
    majority = (most / most.sum(1, keepdims=True)).mean(0)
    each = [_interval(shares[..., of], level) for of in range(shares.shape[-1])]
    return ConsensusPair(
        first=named[0],
        second=named[1],
        items=len(counts),
        first_better=each[0],
        tie=each[1] if len(each) > 2 else None,
        second_better=each[-1],
        majority=(majority[0], majority[1] if len(each) > 2 else 0.0, majority[-1]),
        first_leads=float((shares[..., 0] > shares[..., -1]).mean()),
        mcse=_mcse(shares),
    )


def _interval(draws: Floats, level: float) -> Interval:
    low, high = np.quantile(draws, [level / 2, 1 - level / 2])
    return Interval(value=float(draws.mean()), low=float(low), high=float(high))


def _mcse(shares: Floats) -> float:
    """Return the largest Monte-Carlo standard error of means of `[chain, draw, class]`, by means of batches."""
    batches = np.array_split(shares, BATCHES, axis=1)
    # Draws of a chain go together; means of long batches hardly do, and their scatter tells the error.
    means = np.concatenate([batch.mean(1) for batch in batches])
    return float((means.std(0, ddof=1) / np.sqrt(len(means))).max())
