"""Say what in a table of comparisons limits what can be concluded from it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from simlab.analysis.preferences.votes import FEWEST
from simlab.concluding.preferences.claims import Claims, thin
from simlab.concluding.preferences.held import Held, named_pairs
from simlab.messages import legible, several
from simlab.tables.verdicts import TIE

OFTEN = 10
"""Votes from which on a rater who says the same each time is worth a word."""

UNLIKELY = 0.001
"""Chance of the same answer so often, were it as frequent as among all, below which it is worth a word."""

LOAD = 0.2
"""Share of all votes above which one rater carries a table that takes raters as drawn."""


def limits(held: Held, found: Claims) -> Iterator[str]:
    """Go through the limits, one line each."""
    yield from _of_pairs(held, found)
    yield from _of_raters(held, found)
    n_items = len(np.unique(held.votes.item))
    if held.items and n_items < FEWEST:
        these = "it" if n_items == 1 else "these"
        yield f"{several(n_items, 'item')}: claims are about {these}, whatever else there is"


def _of_pairs(held: Held, found: Claims) -> Iterator[str]:
    never = np.flatnonzero(found.family & (np.bincount(held.votes.pair, minlength=held.votes.n_pairs) == 0))
    if len(never):
        named = named_pairs(held.system_names)
        which = ", ".join(" - ".join(named[k]) for k in never[:3]) + (", ..." if len(never) > 3 else "")
        yield f"{several(len(never), 'pair')} never compared ({legible(which, 120)}): nothing is claimed there"
    few = found.family & thin(found)
    few[never] = False
    if n := int(few.sum()):
        what = {"rater": "raters", "item": "items", "both": "raters", "vote": "comparisons that are no ties"}[found.way]
        yield f"{several(n, 'pair')} with too few {what} to be claimed, whatever these say"


def _of_raters(held: Held, found: Claims) -> Iterator[str]:
    voted = held.votes.rater[held.votes.rater >= 0]
    if not len(voted):
        return
    n = held.n_raters
    if n < FEWEST:
        who, say = ("one rater", "this one says") if n == 1 else (f"{n} raters", "these say")
        yield f"{who}: fewer than {FEWEST} cannot stand for others; claims are about what {say}"
    each = np.bincount(voted, minlength=len(held.rater_names))
    most = int(each.argmax())
    share = each[most] / len(held.votes.pair)
    if found.way in ("rater", "both") and share > LOAD:
        yield (
            f"{legible(held.rater_names[most], 40)} gave {share:.0%} of all votes: raters are taken as drawn, and "
            "with one who counts so much little can be claimed"
        )
    if (held.placed != TIE).any():
        yield from _alike(held)


def _alike(held: Held) -> Iterator[str]:
    """Name raters who always gave the same answer."""
    known = held.votes.rater >= 0
    by = np.zeros((len(held.rater_names), 3), np.int64)
    np.add.at(by, (held.votes.rater[known], held.placed[known]), 1)
    usual = by.sum(0) / by.sum()
    chance = usual[by.argmax(1)] ** by.sum(1)
    always = np.flatnonzero((by.sum(1) >= OFTEN) & (by.max(1) == by.sum(1)) & (chance < UNLIKELY))
    for rater in always[:3].tolist():
        said = int(by[rater].argmax())
        what = "a tie" if said == TIE else "the first of the row" if said == 0 else "the second of the row"
        yield f"{legible(held.rater_names[rater], 40)} always answered {what}, {by[rater].sum():,} times; see --exclude"
    if len(always) > 3:
        yield f"so did {several(len(always) - 3, 'other rater')}"
