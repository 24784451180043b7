"""Conclude from a table of preferences: a partial order under a promise, strengths, and what would settle the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from simlab.analysis.preferences.partial_order import partial_order
from simlab.concluding.conclusion import Conclusion, Pair
from simlab.concluding.preferences import limits, settling, standing
from simlab.concluding.preferences.claims import Claims, claims
from simlab.concluding.preferences.held import Held, named_pairs, of_table, without_raters
from simlab.concluding.wanted import LEVEL, Wanted
from simlab.tables import preferences
from simlab.types import Bools

UNIT = "share of wins against the average of the others, ties half"


def conclude(table: Path, wanted: Wanted, say: Callable[[str], None]) -> Conclusion:
    """Conclude from a table; raise InputError for what cannot be read, or is asked wrongly."""
    held = without_raters(of_table(preferences.read(table, wanted.told)), wanted)
    return of_held(held, wanted, say)


def of_held(held: Held, wanted: Wanted, say: Callable[[str], None]) -> Conclusion:
    """Conclude from votes; `say` is told what takes a while."""
    level = wanted.level or LEVEL
    family = _family(held, wanted)
    found = claims(held, wanted.promise or "fixed", family, level, wanted.seed, "")
    stands = standing.standing(held, found, level, wanted.seed)
    order = partial_order(found.verdict, held.system_names)
    return Conclusion(
        question="compare",
        read=held.read,
        line=held.line,
        unit=UNIT,
        lower_is_better=False,
        promise=found.promise,
        systems=standing.systems(held, found, stands, level),
        pairs=pairs(held, found, wanted.margin),
        cycles=order.cycles,
        detectable=settling.detectable_difference(found),
        lines=tuple(standing.lines(held, stands)),
        about=standing.about(held, stands, level) | {"difference": "share of wins less share of losses"},
        notes=(*held.notes, *found.notes, *_notes(wanted)),
        warnings=(*limits.limits(held, found), *standing.warnings(held, stands)),
    )


def pairs(held: Held, found: Claims, margin: float | None) -> list[Pair]:
    """Return what is concluded of each pair of the family."""
    named = named_pairs(held.system_names)
    return [_pair(*named[k], k, found, margin) for k in np.flatnonzero(found.family).tolist()]


def _pair(first: str, second: str, k: int, found: Claims, margin: float | None) -> Pair:
    of = found.tested
    low, high, verdict = float(of.low[k]), float(of.high[k]), int(found.verdict[k])
    return Pair(
        first=first,
        second=second,
        difference=float(of.difference[k]),
        low=low,
        high=high,
        p_value=float(of.p_value[k]),
        adjusted=float(of.adjusted[k]),
        direction=int(found.direction[k]),
        verdict=verdict,
        within=None if margin is None else settling.within(low, high, verdict, margin),
        more=settling.more(found, k),
    )


def _family(held: Held, wanted: Wanted) -> Bools:
    """Mark the pairs that the promise is about: all, or those with the baseline."""
    first, second = np.triu_indices(held.votes.n_systems, 1)
    if wanted.against is None:
        return np.ones(len(first), bool)
    baseline = held.number_of(wanted.against, "--against")
    return np.asarray((first == baseline) | (second == baseline))


def _notes(wanted: Wanted) -> Iterator[str]:
    if (wanted.promise or "fixed") == "fixed":
        yield (
            "no plan is given: the table is taken as complete; if votes still come, or it ended because of what they "
            "said, only --promise anytime holds"
        )
