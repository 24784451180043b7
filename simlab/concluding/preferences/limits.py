"""Say what in a table of comparisons limits what can be concluded from it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from simlab.analysis.preferences.votes import FEWEST
from simlab.answers.conclude import Limit, Rank, ranked
from simlab.concluding.preferences.claims import Claims, thin
from simlab.concluding.preferences.held import Held, named_pairs
from simlab.messages import legible, several

OFTEN = 10
"""Votes from which on a rater who says the same each time is worth a word."""

UNLIKELY = 0.001
"""Chance of the same answer so often, were it as frequent as among all, below which it is worth a word."""

LOAD = 0.2
"""Share of all votes above which one rater carries a table that takes raters as drawn."""


def limits(held: Held, found: Claims) -> Iterator[Limit]:
    """Go through the limits, one line each."""
    yield from ranked(Rank.CLAIMS, _of_pairs(held, found))
    yield from _of_raters(held, found)
    n_items = len(np.unique(held.asked.item))
    if held.items and n_items < FEWEST and found.way != "item":
        these = "it" if n_items == 1 else "these"
        said = f"{several(n_items, held.unit)}: claims are about {these}, whatever else there is"
        yield Limit(said, Rank.CLAIMS)


def _of_pairs(held: Held, found: Claims) -> Iterator[str]:
    asked, left = (np.bincount(one.pair, minlength=one.n_pairs) for one in (held.asked, held.votes))
    never = np.flatnonzero(found.family & (asked == 0))
    if len(never):
        named = named_pairs(held.system_names)
        which = ", ".join(" - ".join(named[k]) for k in never[:3]) + (", ..." if len(never) > 3 else "")
        yield f"{several(len(never), 'pair')} never compared ({legible(which, 120)}): nothing is claimed there"
    few = found.family & thin(found) & (left > 0)
    if n := int(few.sum()):
        what = {
            "rater": "raters",
            "item": f"{held.unit}s",
            "both": "raters",
            "vote": "comparisons that are no ties",
        }[found.way]
        yield f"{several(n, 'pair')} with too few {what} to be claimed, whatever these say"


def _of_raters(held: Held, found: Claims) -> Iterator[Limit]:
    voted = held.asked.rater[held.asked.rater >= 0]
    if not len(voted):
        return
    n = held.n_raters
    if n < FEWEST:
        who, say = ("one rater", "this one says") if n == 1 else (f"{n} raters", "these say")
        said = f"{who}: fewer than {FEWEST} cannot stand for others; claims are about what {say}"
        yield Limit(said, Rank.CLAIMS)
    each = np.bincount(voted, minlength=len(held.rater_names))
    most = int(each.argmax())
    share = each[most] / len(held.asked.pair)
    if found.way in ("rater", "both") and share > LOAD:
        yield Limit(
            f"{legible(held.rater_names[most], 40)} gave {share:.0%} of all votes: raters are taken as drawn, and "
            "with one who counts so much little can be claimed",
            Rank.CLAIMS,
        )
    if held.asked.value.any():
        yield from ranked(Rank.RATERS, _always_ties(held))


def _always_ties(held: Held) -> Iterator[str]:
    """Name raters who always said that two outputs are a tie; who always names one place is named elsewhere."""
    known = held.asked.rater >= 0
    n, ties = (
        np.bincount(held.asked.rater[one], minlength=len(held.rater_names))
        for one in (known, known & (held.asked.value == 0))
    )
    chance = (ties.sum() / n.sum()) ** n
    always = np.flatnonzero((n >= OFTEN) & (ties == n) & (chance < UNLIKELY))
    for rater in always[:3].tolist():
        yield f"{legible(held.rater_names[rater], 40)} always answered a tie, {n[rater]:,} times; see --exclude"
    if len(always) > 3:
        yield f"so did {several(len(always) - 3, 'other rater')}"
