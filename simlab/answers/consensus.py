"""Records of a consensus: answers that most raters like these would give, with errors learned from repeated ones.

`Consensus` is the field of that name of a conclusion (`simlab conclude --consensus`). An item is a pair of outputs that
raters compare. An `Interval` is a number with its bounds.
"""

from __future__ import annotations

from simlab.answers.records import Num, Record
from simlab.answers.standings import Interval, ListOf, Whole


class ConsensusPair(Record):
    """Shares of a pair's items by their consensus; `tie` is None where nobody calls a tie.

    `majority` are the shares by the most frequent answer of each item, errors and all (first, tie, second; what leads
    together counts in part). `first_leads` is the probability that more items have the first system as the better one.
    `mcse` is the largest Monte-Carlo standard error of the three shares.
    """

    first: str
    second: str
    items: Whole
    first_better: Interval
    tie: Interval | None
    second_better: Interval
    majority: ListOf[Num]
    first_leads: Num
    mcse: Num


class RaterErrors(Record):
    """Errors of a rater: how often they say the consensus of an easy item, and `confusion[consensus][answer]`.

    Rows and columns: the first system of a pair is better, a tie (if there are any), the second is.
    """

    rater: str
    answers: Whole
    agree: Interval
    confusion: ListOf[ListOf[Num]]


class Consensus(Record):
    """Consensus of items and errors of raters; intervals miss with probability `level`.

    `items` were answered, `repeated` of them three times or more. `agree` is how often a rater at large says the
    consensus of an easy item, `agree_hard` of a hard one, `hard` the share of hard items. `confusion` is that of raters
    at large (easy items), in the form of `RaterErrors`. `r_hat` is that of the shares, over `draws`.
    """

    level: Num
    items: Whole
    repeated: Whole
    pairs: ListOf[ConsensusPair]
    agree: Interval
    agree_hard: Interval
    hard: Interval
    confusion: ListOf[ListOf[Num]]
    raters: ListOf[RaterErrors]
    r_hat: Num
    draws: Whole
