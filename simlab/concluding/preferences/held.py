"""Hold comparisons as a conclusion needs them: votes, names, and what is to be said of where they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from simlab.analysis.preferences.places import join_orders, orders_of
from simlab.analysis.preferences.votes import Votes
from simlab.concluding.wanted import Wanted
from simlab.messages import legible, or_nearest, several
from simlab.tables import preferences
from simlab.tables.preferences import Preferences
from simlab.types import Bools, Collected, InputError, Ints


@dataclass(frozen=True, slots=True)
class Held:
    """Hold votes with the names behind their numbers.

    `asked` are the answers as they came, `votes` those that are concluded from: what was asked in both orders is one
    (`both_orders` counts these outputs, `flipped` those left out since the answer went with the order). `design` are
    the same votes with those in, so that it knows who met what, whatever the answers. `rater_names` is empty where
    raters are not named, `items` tells whether items are; `unit` is what the table draws, documents where it names
    them. `ordered` is False where votes are only counted. `by_place`: winners are written as places. `line` and `read`
    say what was read, to people and to programs.
    """

    votes: Votes
    system_names: tuple[str, ...]
    rater_names: tuple[str, ...]
    items: bool
    ordered: bool
    line: str
    read: Mapping[str, Any]
    asked: Votes
    design: Votes
    notes: tuple[str, ...] = ()
    unit: Literal["item", "document"] = "item"
    by_place: bool = False
    both_orders: int = 0
    flipped: int = 0

    @property
    def n_raters(self) -> int:
        """Count the raters that voted."""
        return len(np.unique(self.asked.rater[self.asked.rater >= 0]))

    def number_of(self, system: str, option: str) -> int:
        """Return the number of a system; raise InputError for one that is not there."""
        if system not in self.system_names:
            advice = or_nearest(system, self.system_names, "it has", 300)
            raise InputError(f"{option} {legible(system, 60)}: no such system; {advice}")
        return self.system_names.index(system)


def of_table(table: Preferences, where: str) -> Held:
    """Take the votes of humans from a table that is called `where`; raise InputError if there is none."""
    if not len(table.outcome):
        raise InputError(f"{where}: no comparison says who won; fill in winner, or counts in a_wins, ties and b_wins")
    turned = table.first > table.second
    value = np.where(turned, table.outcome - 1, 1 - table.outcome)
    pair, place = (
        pair_of(table.first, table.second, table.n_systems),
        None if table.counted else np.where(turned, -1, 1),
    )
    asked = Votes(pair, value, table.rater, table.item, table.n_systems, place)
    joined = join_orders(asked)
    votes, asked, design = (_of_documents(one, table) for one in (joined.votes, asked, joined.design))
    return Held(
        votes=votes if table.by_place else _by_name(votes),
        asked=asked,
        design=design,
        unit="document" if table.document_known else "item",
        by_place=table.by_place,
        both_orders=joined.asked,
        flipped=joined.flipped,
        system_names=table.system_names,
        rater_names=table.rater_names,
        items=table.item_known,
        ordered=not table.counted,
        line=preferences.understood(table),
        read=preferences.record(table),
        notes=table.notes,
    )


def _of_documents(votes: Votes, table: Preferences) -> Votes:
    """Let whole documents be the items, where a table names them."""
    if not table.document_known:
        return votes
    return replace(votes, item=np.append(table.document, -1)[votes.item], documents=True)


def _by_name(votes: Votes) -> Votes:
    """Forget the place of pairs in one order alone, where winners are written by name: that order may mean nothing."""
    if votes.place is None:
        return votes
    return replace(votes, place=np.where(orders_of(votes).one_way[votes.pair], 0, votes.place))


def of_collected(collected: Collected) -> Held:
    """Take the votes of a campaign, pairs in the order of its frame."""
    seen, frame = collected.seen, collected.frame
    by_order = np.arange(len(seen.unit)) if seen.order is None else np.argsort(seen.order, kind="stable")
    unit, item, rater, value = (column[by_order] for column in (seen.unit, seen.item, seen.rater, seen.value))
    n, pairs = len(unit), len(np.unique(unit))
    line = f"{several(n, 'comparison')} of {several(frame.n_systems, 'system')} ({several(pairs, 'pair')})"
    votes = Votes(unit.astype(np.int64), 1 - value.astype(np.int64), rater, item, frame.n_systems)
    read = {"rows": n, "used": n, "systems": frame.n_systems, "pairs": pairs, "items": len(np.unique(item))}
    return Held(votes, frame.system_names, frame.rater_names, True, True, line, read, votes, votes)


def pair_of(first: Ints, second: Ints, n_systems: int) -> Ints:
    """Number pairs in the order (0, 1), (0, 2), ..., (1, 2), ..., whichever of the two comes first.

    >>> pair_of(np.array([0, 2]), np.array([1, 1]), 3).tolist()
    [0, 2]
    """
    low, high = np.minimum(first, second), np.maximum(first, second)
    return np.asarray(low * (2 * n_systems - low - 1) // 2 + high - low - 1)


def without_raters(table: Preferences, wanted: Wanted) -> Preferences:
    """Leave out the answers of the raters that are to be excluded; raise InputError for one that is not there."""
    if not wanted.exclude:
        return table
    for rater in wanted.exclude:
        if rater not in table.rater_names:
            advice = or_nearest(rater, table.rater_names or ["none"], "it has", 200)
            raise InputError(f"--exclude {legible(rater, 40)}: no such rater; {advice}")
    gone = [table.rater_names.index(rater) for rater in wanted.exclude]
    kept: Bools = ~np.isin(table.rater, gone)
    if not kept.any():
        raise InputError(f"--exclude {legible(', '.join(wanted.exclude), 80)}: nothing is left; exclude fewer raters")
    said = f"left out: {several(int((~kept).sum()), 'comparison')} of {legible(', '.join(wanted.exclude), 80)}"
    left = {name: getattr(table, name)[kept] for name in ("first", "second", "item", "rater", "outcome", "line")}
    return replace(table, **left, notes=(*table.notes, said))


def named_pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """Name the two systems of each pair, in the usual order."""
    first, second = np.triu_indices(len(names), 1)
    return [(names[i], names[j]) for i, j in zip(first.tolist(), second.tolist(), strict=True)]
