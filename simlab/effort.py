"""Effort in one record: lengths of chains, sizes of simulations after the fact, seconds of timing for a forecast.

Numbers depend on all but the seconds, so only who wants less than an answer (a test of what surrounds it) changes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple


class ChainEffort(NamedTuple):
    """Numbers of chains side by side, and of each one's draws that are thrown away and kept.

    Chains that do not agree are run on by as many again, for so many rounds at most.
    """

    chains: int
    warmup: int
    kept: int
    rounds: int = 1


class ManyChains(NamedTuple):
    """Numbers of chains that are warmed up, of sweeps, and of chains that go on from where each of them stands.

    Then `kept` draws of each are kept in a round, of which the second half counts; starts that are not forgotten end
    after so many rounds.
    """

    starts: int
    warmup: int
    per_start: int
    kept: int
    rounds: int


class Effort(NamedTuple):
    """Effort: the chains of each law, the tables and studies that are simulated, and the seconds of a forecast.

    `scales` and `rough_scales` are the chains of laws of scales, where one is fitted and where several are compared,
    `outputs` those where a few draws of a table's own outputs are wanted, `nuts` those of a law of one's own,
    `consensus` those of raters' errors, whose rounds double;
    `mqm_tables` are tables around the law of error counts, first as the priors have them, then ever nearer around the
    answer. Of a fitted law `draws` are kept and `checked_tables` are held against the real one. A conclusion is checked
    on `equal_studies` of systems that are equal. A dry run times cells for `timing_seconds` and quotes for
    `quoting_seconds`.
    """

    scales: ChainEffort = ChainEffort(4, 150, 200, 12)
    rough_scales: ChainEffort = ChainEffort(2, 60, 60)
    outputs: ManyChains = ManyChains(4, 100, 8, 4, 30)
    preferences: ChainEffort = ChainEffort(4, 200, 150, 16)
    nuts: ChainEffort = ChainEffort(4, 500, 500)
    consensus: ChainEffort = ChainEffort(4, 300, 500, 4)
    mqm_tables: tuple[int, ...] = (100, 80, 150, 280)
    draws: int = 100
    checked_tables: int = 300
    equal_studies: int = 1_000
    timing_seconds: float = 2.0
    quoting_seconds: float = 3.0


USUAL = Effort()

_EFFORT = ContextVar("effort", default=USUAL)


def current_effort() -> Effort:
    """Return how much work is done now."""
    return _EFFORT.get()


@contextmanager
def use_effort(effort: Effort) -> Iterator[None]:
    """Do so much work within, in this process."""
    before = _EFFORT.set(effort)
    try:
        yield
    finally:
        _EFFORT.reset(before)
