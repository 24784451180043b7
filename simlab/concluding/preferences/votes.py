"""Take votes from a table of comparisons, and measure the advantage of the place in a row.

`take_votes` returns the `NamedVotes` of a table, `take_campaign_votes` those of a campaign. Raters may favour the
output that is shown first, whatever it is: `first_place` returns its share of wins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.special import stdtrit

from simlab.analysis.preferences.net_wins import bounds, list_spreads
from simlab.analysis.preferences.places import Orders, are_places_balanced, join_orders, known_orders, list_followers
from simlab.analysis.preferences.strengths import effective_clusters
from simlab.analysis.preferences.votes import FEWEST, Votes, clusters, way_of_all
from simlab.answers.standings import Interval, Limit, Rank, rank_limits
from simlab.concluding.options import ConcludeOptions
from simlab.messages import clip, pluralise, suggest
from simlab.tables import preferences
from simlab.tables.preferences import Preferences
from simlab.types import Bools, Collected, Floats, InputError, Ints

MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class NamedVotes:
    """Votes with the names behind their numbers.

    `raw_votes` are the answers as they came, `votes` those that are concluded from: answers in both orders are one vote
    (`both_orders` counts these outputs, `flipped` those left out since the answer went with the order). `design` are
    the same votes without leaving any out: who voted on which item, whatever the answers. `rater_names` is empty where
    raters are not named, `items` is True where items are; `unit` is the unit of sampling, documents where the table
    names them. `ordered` is False where votes are only counted. `by_place`: winners are written as places. `line` and
    `read` describe the table, to people and to programs.
    """

    votes: Votes
    system_names: tuple[str, ...]
    rater_names: tuple[str, ...]
    items: bool
    ordered: bool
    line: str
    read: Mapping[str, Any]
    raw_votes: Votes
    design: Votes
    notes: tuple[str, ...] = ()
    unit: Literal["item", "document"] = "item"
    by_place: bool = False
    both_orders: int = 0
    flipped: int = 0

    @property
    def n_raters(self) -> int:
        """Count the raters that voted."""
        return len(np.unique(self.raw_votes.rater[self.raw_votes.rater >= 0]))

    def number_of(self, system: str, option: str) -> int:
        """Return the number of a system; raise InputError for one that is not there."""
        if system not in self.system_names:
            advice = suggest(system, self.system_names, "it has", 300)
            raise InputError(f"{option} {clip(system, 60)}: no such system; {advice}")
        return self.system_names.index(system)


def take_votes(table: Preferences, where: str) -> NamedVotes:
    """Take the votes of humans from a table that is called `where`; raise InputError if there is none."""
    if not len(table.outcome):
        raise InputError(f"{where}: no comparison says who won; fill in winner, or counts in a_wins, ties and b_wins")
    answers = list_answers(table)
    joined = join_orders(answers)
    votes, answers, design = (_use_documents_as_items(part, table) for part in (joined.votes, answers, joined.design))
    return NamedVotes(
        votes=votes if table.by_place else _clear_lone_orders(votes),
        raw_votes=answers,
        design=design,
        unit="document" if table.document_known else "item",
        by_place=table.by_place,
        both_orders=joined.n_repeated,
        flipped=joined.flipped,
        system_names=table.system_names,
        rater_names=table.rater_names,
        items=table.item_known,
        ordered=not table.counted,
        line=preferences.describe(table),
        read=preferences.record(table),
        notes=table.notes,
    )


def list_answers(table: Preferences) -> Votes:
    """Return the answers of humans as they came; their items are those of the table, not documents."""
    turned = table.first > table.second
    value = np.where(turned, table.outcome - 1, 1 - table.outcome)
    place = None if table.counted else np.where(turned, -1, 1)
    pair = number_pairs(table.first, table.second, table.n_systems)
    return Votes(pair, value, table.rater, table.item, table.n_systems, place)


def _use_documents_as_items(votes: Votes, table: Preferences) -> Votes:
    """Let whole documents be the items, where a table names them."""
    if not table.document_known:
        return votes
    # The item -1, not known, takes the appended last place, and stays -1.
    return replace(votes, item=np.append(table.document, -1)[votes.item], documents=True)


def _clear_lone_orders(votes: Votes) -> Votes:
    """Forget the place of pairs in one order alone, where winners are written by name: that order may mean nothing."""
    if votes.place is None:
        return votes
    return replace(votes, place=np.where(known_orders(votes).one_way[votes.pair], 0, votes.place))


def take_campaign_votes(collected: Collected) -> NamedVotes:
    """Take the votes of a campaign, pairs in the order of its frame."""
    seen, frame = collected.seen, collected.frame
    by_order = np.arange(len(seen.unit)) if seen.order is None else np.argsort(seen.order, kind="stable")
    unit, item, rater, value = (column[by_order] for column in (seen.unit, seen.item, seen.rater, seen.value))
    n, pairs = len(unit), len(np.unique(unit))
    line = f"{pluralise(n, 'comparison')} of {pluralise(frame.n_systems, 'system')} ({pluralise(pairs, 'pair')})"
    votes = Votes(unit.astype(np.int64), 1 - value.astype(np.int64), rater, item, frame.n_systems)
    read = {"rows": n, "used": n, "systems": frame.n_systems, "pairs": pairs, "items": len(np.unique(item))}
    return NamedVotes(votes, frame.system_names, frame.rater_names, True, True, line, read, votes, votes)


def number_pairs(first: Ints, second: Ints, n_systems: int) -> Ints:
    """Number pairs in the order (0, 1), (0, 2), ..., (1, 2), ..., whichever of the two comes first.

    >>> number_pairs(np.array([0, 2]), np.array([1, 1]), 3).tolist()
    [0, 2]
    """
    low, high = np.minimum(first, second), np.maximum(first, second)
    # Rows of the upper triangle before `low` hold (n - 1) + (n - 2) + ... pairs.
    return np.asarray(low * (2 * n_systems - low - 1) // 2 + high - low - 1)


def exclude_raters(table: Preferences, wanted: ConcludeOptions) -> Preferences:
    """Leave out the answers of the raters that are to be excluded; raise InputError for one that is not there."""
    if not wanted.exclude:
        return table
    for rater in wanted.exclude:
        if rater not in table.rater_names:
            advice = suggest(rater, table.rater_names or ["none"], "it has", 200)
            raise InputError(f"--exclude {clip(rater, 40)}: no such rater; {advice}")
    gone = [table.rater_names.index(rater) for rater in wanted.exclude]
    kept: Bools = ~np.isin(table.rater, gone)
    if not kept.any():
        raise InputError(f"--exclude {clip(', '.join(wanted.exclude), 80)}: nothing is left; exclude fewer raters")
    note = f"left out: {pluralise(int((~kept).sum()), 'comparison')} of {clip(', '.join(wanted.exclude), 80)}"
    left = {name: getattr(table, name)[kept] for name in ("first", "second", "item", "rater", "outcome", "line")}
    return replace(table, **left, notes=(*table.notes, note))


def named_pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the names of the two systems of each pair, in the order of `number_pairs`."""
    first, second = np.triu_indices(len(names), 1)
    return [(names[i], names[j]) for i, j in zip(first.tolist(), second.tolist(), strict=True)]


def first_place(votes: Votes, level: float) -> tuple[Interval, int] | None:
    """Return the share of decided comparisons that the first of the row wins, with bounds, and how many there are.

    None where no place is known, or nothing decided. Bounds are score bounds, raters and items clustered as in claims.
    """
    if votes.place is None or not (won_first := votes.value * votes.place).any():
        return None
    won = replace(votes, pair=np.zeros_like(votes.pair), value=won_first, n_systems=2, place=None).select_votes(
        won_first != 0
    )
    way = way_of_all(votes)
    # Uneven clusters count as fewer; below one degree of freedom t bounds would not exist.
    freedom = max(min(effective_clusters(cluster) for cluster in clusters(won, way)) - 1, 1.0)
    n, total = np.array([float(len(won.pair))]), np.array([float(won.value.sum())])
    low, high = bounds(total, n, list_spreads(won, way), float(stdtrit(freedom, 1 - level / 2)))
    share, least, most = ((1 + float(difference[0])) / 2 for difference in (total / n, low, high))
    return Interval(value=share, low=least, high=most), len(won.pair)


def lines(named: NamedVotes, level: float) -> Iterator[str]:
    """Yield sentences on the advantage of the first place, and on answers that contradict each other in both orders."""
    estimate = first_place(named.raw_votes, level)
    if estimate is not None:
        share, n = estimate
        where = "place" if named.by_place else "column"
        sentence = f"The first {where} wins {_interval(share)} of {pluralise(n, 'comparison')} that {_are(n)} no ties"
        if _is_never_turned(named.raw_votes):
            seen = "" if named.by_place else ": if raters saw that order, place and system are not told apart"
            sentence += f", always with the same system of a pair{seen}"
        yield f"{sentence}."
    if named.both_orders:
        left = named.both_orders - named.flipped
        yield (
            f"{pluralise(named.both_orders, 'output')} of a pair asked in both orders: {named.flipped:,} flipped with "
            f"the order and {'is' if named.flipped == 1 else 'are'} left out, {left:,} "
            f"{'counts' if left == 1 else 'count'} once."
        )
    uneven = known_orders(named.votes).uneven & ~known_orders(named.votes).one_way
    if not are_places_balanced(named.votes) and (n := int(uneven.sum())):
        yield f"Of {pluralise(n, 'pair')} one system stood first more often: the difference is the one at equal places."


def warnings(named: NamedVotes, family: Bools) -> Iterator[Limit]:
    """Yield limits: raters whose answers follow the place, and pairs that cannot be claimed because of it."""
    # One rater, or raters who are not named, are all that the claims rest on.
    yield from rank_limits(Rank.RATERS if len(named.rater_names) > 1 else Rank.NUMBERS, _describe_followers(named))
    yield from rank_limits(Rank.CLAIMS, _describe_unclaimed(named, family))


def _describe_followers(named: NamedVotes) -> Iterator[str]:
    followers = list_followers(named.raw_votes)
    if not followers:
        return
    phrases = []
    for follower in followers[:MOST_NAMED]:
        who = clip(named.rater_names[follower.rater], 40) if follower.rater >= 0 else "raters who are not named"
        side = "first" if follower.first else "second"
        phrases.append(
            f"{who} answered the {side} of the row in {round(follower.share * follower.n):,} of "
            f"{pluralise(follower.n, 'comparison')} ({_share(follower.share)}; by chance {_share(follower.chance)})"
        )
    rest = f" and so did {pluralise(len(followers) - MOST_NAMED, 'other rater')}" if len(followers) > MOST_NAMED else ""
    see = "; see --exclude" if len(named.rater_names) > 1 else ""
    yield f"{', '.join(phrases)}{rest}: such answers follow the place, not the systems{see}"


def _describe_unclaimed(named: NamedVotes, family: Bools) -> Iterator[str]:
    if nothing := np.flatnonzero(family & lacks_answers(named, named.votes)).tolist():
        yield (
            f"{_pairs(named, nothing)}: no answer was the same in both orders, so that nothing is known of the systems"
        )
    n = np.bincount(named.votes.pair, minlength=named.votes.n_pairs)
    if hidden := np.flatnonzero(family & known_orders(named.votes).one_way & (n >= FEWEST)).tolist():
        yield (
            f"{_pairs(named, hidden)}: the same system always stood first, which is not told from the place: nothing "
            "is claimed; ask in both orders, or, if raters saw either order, write winners by their names"
        )


def record(named_votes: NamedVotes, level: float) -> dict[str, Any]:
    """Return the advantage of the first place and repeated outputs as a JSON record."""
    estimate = first_place(named_votes.raw_votes, level)
    if estimate is None:
        return {"position": None}
    share, n = estimate
    orders: Orders = known_orders(named_votes.votes)
    named = named_pairs(named_votes.system_names)
    return {
        "position": {
            "first_wins": share.serialise(),
            "decided": n,
            "by_place": named_votes.by_place,
            "both_orders": named_votes.both_orders,
            "flipped": named_votes.flipped,
            "one_order": [list(named[k]) for k in np.flatnonzero(orders.one_way).tolist()],
            "followers": [
                {
                    "rater": named_votes.rater_names[follower.rater] if follower.rater >= 0 else None,
                    "place": "first" if follower.first else "second",
                    "answers": follower.n,
                    "share": follower.share,
                    "chance": follower.chance,
                }
                for follower in list_followers(named_votes.raw_votes)
            ],
        }
    }


def raw_differences(named: NamedVotes) -> Floats:
    """Return wins less losses of all answers, `[pair]`, whatever the place."""
    n = np.bincount(named.raw_votes.pair, minlength=named.raw_votes.n_pairs)
    return np.asarray(
        np.bincount(named.raw_votes.pair, named.raw_votes.value, named.raw_votes.n_pairs) / np.maximum(n, 1)
    )


def lacks_answers(named: NamedVotes, votes: Votes) -> Bools:
    """Mark the pairs that were asked about, and of which no answer is among the votes that are used."""
    n_asked, left = (np.bincount(one.pair, minlength=one.n_pairs) for one in (named.raw_votes, votes))
    return np.asarray((n_asked > 0) & (left == 0))


def _is_never_turned(votes: Votes) -> bool:
    """True if each pair was asked about in one order alone."""
    there = np.bincount(votes.pair, minlength=votes.n_pairs) > 0
    return bool(known_orders(votes).one_way[there].all())


def _pairs(named_votes: NamedVotes, which: list[int]) -> str:
    named = named_pairs(named_votes.system_names)
    names = ", ".join(" - ".join(named[k]) for k in which[:MOST_NAMED]) + (", ..." if len(which) > MOST_NAMED else "")
    return f"{pluralise(len(which), 'pair')} ({clip(names, 120)})" if len(which) > 1 else clip(names, 80)


def _are(n: int) -> str:
    return "is" if n == 1 else "are"


def _share(value: float) -> str:
    return f"{value:.2f}".removeprefix("0")


def _interval(interval: Interval) -> str:
    return f"{_share(interval.value)} ({_share(interval.low)} to {_share(interval.high)})"
