"""Cut a design of ratings to what its money pays: documents first, then ratings per item.

Call `count_ratings_per_item` for the ratings of each item in a world, then `choose_paid_documents`, which returns the
documents of a study. The rule, without a clock: documents are cut in the order in which they are drawn, down to
`design.min_documents`: a campaign has as many as the money pays, so that studies whose documents are longer have fewer.
Where not even that is enough for the longest documents of a world, `design.ratings_per_item` is lowered until it is,
and what is left buys documents again, but no more ratings than one rating more of the fewest documents would be: more
money never buys less.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from simlab.design.balance import DealTable
from simlab.design.documents import spread_over_buckets
from simlab.messages import pluralise
from simlab.studies.money import bill, count_payable, find_limit
from simlab.studies.ratings.preparing import PreparedRatings
from simlab.types import Bools, Frame, InputError, Ints, World


def allowance(prepared: PreparedRatings, world: World) -> float:
    """Count the ratings that the money pays once raters are taken on and the metric has scored; inf: without end."""
    frame = world.frame
    money = find_limit(prepared.limits, frame.n_systems)
    if money is None:
        return math.inf
    return count_payable(prepared.prices, money.amount - _price_extras(prepared, world))


def _price_extras(prepared: PreparedRatings, world: World) -> float:
    """Price what is paid beside ratings."""
    return bill(prepared.prices, answers=0, raters=world.frame.n_raters, metric_calls=metric_calls(world))


def metric_calls(world: World) -> int:
    """Count the outputs that a metric scores: every segment of every system."""
    return world.frame.n_systems * len(world.frame.document) if isinstance(world.metric, np.ndarray) else 0


def least_money(prepared: PreparedRatings, world: World, table: DealTable) -> float:
    """Return the money that pays any draw of `design.min_documents` with one rating of each segment."""
    answers = count_ratings(world.frame, table, count_fewest_documents(prepared), longest=True)
    return bill(prepared.prices, answers=answers, raters=world.frame.n_raters, metric_calls=metric_calls(world))


def count_fewest_documents(prepared: PreparedRatings) -> int:
    """Return the number of documents to which a design may be cut."""
    return min(prepared.design.min_documents, prepared.design.documents)


def count_ratings_per_item(prepared: PreparedRatings, world: World, table: DealTable) -> int:
    """Return the ratings per item that the money pays for the fewest documents, whichever are drawn; at least 1."""
    wanted, paid = prepared.design.ratings_per_item, allowance(prepared, world)
    if not prepared.cuts or paid == math.inf:
        return wanted
    once = count_ratings(world.frame, table, count_fewest_documents(prepared), longest=True)
    return max(1, min(wanted, int(paid // once)))


def choose_paid_documents(
    prepared: PreparedRatings, world: World, table: DealTable, drawn: Callable[[int], Bools]
) -> Bools:
    """Return a mask of the documents that a study has, as many as the money pays; `drawn(n)` masks n, nested.

    Where the money does not pay the fewest of this draw, they are returned all the same; the campaign then fails.
    """
    wanted, paid = prepared.design.documents, allowance(prepared, world)
    each = int(table.slots.shape[2])
    size = np.bincount(world.frame.document, minlength=world.frame.n_documents) * world.frame.n_systems

    def ratings(n: int) -> int:
        return int(size[drawn(n)].sum()) * each

    low = count_fewest_documents(prepared)
    if each < prepared.design.ratings_per_item:
        paid = min(paid, ratings(low) // each * (each + 1))
    if ratings(wanted) <= paid:
        return drawn(wanted)
    # The answer lies from low on and below wanted.
    while wanted - low > 1:
        middle = (low + wanted) // 2
        low, wanted = (middle, wanted) if ratings(middle) <= paid else (low, middle)
    return drawn(low)


def count_ratings(frame: Frame, table: DealTable, documents: int, *, longest: bool) -> int:
    """Count the ratings of `documents` documents, the `longest` or the shortest, with one rating of each output.

    Documents are drawn as evenly from buckets as these allow, so that it is the longest of each bucket that count.
    """
    size = np.bincount(frame.document, minlength=frame.n_documents)
    rateable, bucket = table.rateable, frame.bucket
    n_buckets = int(bucket.max()) + 1
    counts = np.bincount(bucket[rateable], minlength=n_buckets)
    # Which buckets give one document more is chance: over all rotations the least is what each gives for sure.
    quotas = [spread_over_buckets(counts, documents, np.roll(np.arange(n_buckets), k)) for k in range(n_buckets)]
    quota = np.min(quotas, axis=0)
    sign = -1 if longest else 1
    ordered = [sign * np.sort(sign * size[rateable & (bucket == b)]) for b in range(n_buckets)]
    sure = sum(int(sizes[:n].sum()) for sizes, n in zip(ordered, quota, strict=True))
    last = np.array([sizes[n] for sizes, n in zip(ordered, quota, strict=True) if n < len(sizes)], np.int64)
    return (sure + _sum_first(last, documents - int(quota.sum()), sign)) * frame.n_systems


def _sum_first(sizes: Ints, n: int, sign: int) -> int:
    return int((sign * np.sort(sign * sizes))[:n].sum())


def count_documents_paid(prepared: PreparedRatings, world: World, table: DealTable) -> tuple[int, int]:
    """Return the fewest and the most documents that money pays in a world: if they are the longest, or the shortest."""
    wanted, paid = prepared.design.documents, allowance(prepared, world)
    each, least = table.slots.shape[2], count_fewest_documents(prepared)
    if not prepared.cuts or paid == math.inf:
        return wanted, wanted
    counts = []
    for longest in (True, False):
        most = paid
        if each < prepared.design.ratings_per_item:
            most = min(most, count_ratings(world.frame, table, least, longest=longest) * (each + 1))
        paying = (
            n for n in range(wanted, least, -1) if count_ratings(world.frame, table, n, longest=longest) * each <= most
        )
        counts.append(next(paying, least))
    return counts[0], counts[1]


def refuse_unpaid(prepared: PreparedRatings, world: World, table: DealTable) -> None:
    """Raise InputError for money that does not pay every campaign, however it is cut; the message has the least."""
    money = find_limit(prepared.limits, world.frame.n_systems)
    if money is None or money.amount >= (least := least_money(prepared, world, table)) * (1 - 1e-12):
        return
    n = count_fewest_documents(prepared)
    remedy = "lower design.min_documents" if n > 1 else "lower the prices"
    raise InputError(
        f"{money.setting} does not pay {pluralise(n, 'document')} (design.min_documents) with one rating of each "
        f"segment of {world.frame.n_systems} systems; the least that would is "
        f"{money.format_least(least)}; raise it, or {remedy}"
    )
