"""Hold predictions from a table of preferences against its other items, in the records of all backtests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan
from typing import Any

from simlab.fitting.backtest.carrying_out import NOTHING_CLAIMED
from simlab.fitting.backtest.records import Record
from simlab.fitting.preferences.backtest import PreferenceRecord, PreferenceSize, one_split
from simlab.fitting.preferences.pilot import Pilot
from simlab.types import Bools

LAW = "preference"


def split_records(whole: Pilot, in_pilot: Bools, number: int, seed: int, size: PreferenceSize) -> list[Record]:
    """Fit to one part of the items, predict studies on the others, and compare."""
    return list(_recorded(one_split(whole, in_pilot, number, seed, size)))


def _recorded(found: Iterator[PreferenceRecord]) -> Iterator[Record]:
    """Pairs of outputs are compared side by side: items are what a study counts, each compared once."""
    for one in found:
        law = LAW if one.method == "fit" else ""
        unknown = NOTHING_CLAIMED if isnan(one.observed) else ""
        place: Sequence[Any] = one.split, one.target, one.method, law, "pairs", "none", one.items, 1, "other documents"
        judged = one.observed, one.observed_mcse, one.judged_low, one.judged_high
        yield Record(*(*place, one.measure, one.predicted, one.low, one.high, *judged, unknown))
