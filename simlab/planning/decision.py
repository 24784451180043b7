"""Decide what a plan advises: a search proposes, and fresh worlds that no choice has seen agree or send it on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from simlab.planning.answer import Compared, by_preference, compare, renamed
from simlab.planning.figures import difference, first_target, reaches_nearly, within_limits
from simlab.planning.proof import shown
from simlab.planning.searching import Search, begin, go_on, simpler
from simlab.planning.stages import in_time, share_of
from simlab.planning.terms import Bench, Design, Found, Ground, Wanted

SEARCHING, SEARCHING_ON = 0.35, 0.25
"""Shares of the patience that is left which a search may take before fresh worlds decide, first and in later rounds."""
ROWS = 0.6
"""Share of what is left then that the rows beside the advice may take."""
ROUNDS = 20
"""So many times at most fresh worlds decide."""
FEW, TIED = 8, 64
"""Worlds of a design that is not looked at otherwise, and of two of which the simpler one is taken where they tie."""

Say = Callable[[str], None]


class Decision(NamedTuple):
    """Hold what a search came to, the bench of round `k` whose worlds decided, and what they say of the page's rows."""

    found: Found
    fresh: Bench
    compared: Compared
    k: int


def decide(
    designs: Sequence[Design], first: Bench, fresh_of: Callable[[int], Bench], ground: Ground, wanted: Wanted, say: Say
) -> Decision:
    """Search, and let fresh worlds decide: those that disagree send the search on, each time to new ones.

    `first` is the bench of the search, `fresh_of` returns the bench of a round, counted from 1, whose worlds are its
    own. `say` is told who leads, and what a round came to.
    """
    search = begin(designs, wanted)
    for k in range(1, ROUNDS + 1):
        found = go_on(search, share_of(first, SEARCHING if k == 1 else SEARCHING_ON), say)
        fresh = fresh_of(k)
        if found.advice is None:
            if found.probability < wanted.confidence:
                found = _undecided(found, search, found.best)
            break
        found = _simplest(found, search, first, wanted)
        verdict = shown(fresh, found.chosen, wanted, k)
        if verdict:
            break
        say(f"fresh worlds of round {k} {'do not show the targets' if verdict is False else 'end with patience'}")
        if verdict is None or k == ROUNDS:
            found = _undecided(found, search, found.chosen)
            break
        search.strike(found.chosen)
    compared = compare(found, first, share_of(fresh, ROWS), ground, wanted)
    return _unbeaten(Decision(found, fresh, compared, k), search, first, wanted, say)


def _simplest(found: Found, search: Search, first: Bench, wanted: Wanted) -> Found:
    """Let a simpler design of the same size take a choice's place where it finds as much, as far as worlds tell."""
    measure, own = first_target(wanted).measure, found.chosen
    for one in simpler(own):
        if not search.holds(one) or in_time(first, 2 * TIED) < 2 * TIED:
            continue
        looked = first.look({own: TIED, one: TIED})
        if measure not in looked[one] or not within_limits(looked[one], wanted):
            continue
        gap = difference(measure, looked[one][measure], looked[own][measure])
        if gap.value > -max(gap.mcse, wanted.margin / 4) and reaches_nearly(looked[one], wanted):
            return replace(found, advice=one, tried={**found.tried, **looked})
    return found


def _undecided(found: Found, search: Search, leading: Design) -> Found:
    """Return what a search came to where patience ended before its choice was shown to reach the targets."""
    return replace(found, advice=None, leading=leading, open=search.undecided(leading), why="patience is over")


def _unbeaten(proven: Decision, search: Search, first: Bench, wanted: Wanted, say: Say) -> Decision:
    """Name the design of a page that no other of its price outdoes; one to be bought is to reach its targets, too.

    Which designs stand on a page no fresh world has chosen. So those that were not named share one more round, in these
    worlds, and targets of one that is named instead are shown at its level.
    """
    found, fresh, compared, k = proven
    for one in by_preference(compared, wanted):
        if one == found.chosen:
            break
        say("another design of the page is to be named instead: fresh worlds are asked about it")
        if found.advice is None or shown(fresh, one, wanted, k + 1 + math.log2(len(compared.roles) - 1)):
            looked = first.look({one: max(in_time(first, FEW), FEW)})
            found = replace(found, tried={**found.tried, **looked})
            if found.advice is not None:
                found = replace(found, advice=one)
            elif found.leading is not None:
                found = replace(found, leading=one, open=search.undecided(one))
            else:
                found = replace(found, best=one)
            return Decision(found, fresh, renamed(compared, one, fresh), k)
    return proven
