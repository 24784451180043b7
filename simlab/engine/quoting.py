"""Quote what a campaign will take: money, hours of work and days, each between which values, and what may end it.

Some campaigns are carried out, each in a world of its own and with people of its own, since how quick people are
differs more from pool to pool than anything else does. They run in a process that can be ended, for a few seconds.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from simlab.config.sweep import Sweep
from simlab.engine.limits import Limits
from simlab.engine.pool import ONE_THREAD
from simlab.engine.preparing import Checked
from simlab.engine.threads import one_thread
from simlab.engine.workers import BlockFunction, guard
from simlab.studies.money import accounted
from simlab.types import OK, Array, Floats, Place

PATIENCE_SECONDS = 3.0
"""The campaigns of all quotes together take about so long, once a process is at its pace."""
LONGEST_SECONDS = 8.0
"""Then a first campaign that has not come to its end is cut off, and nothing is quoted."""
SIZES = (5, 10, 20, 50, 100, 200)
"""Of a cell so many campaigns are carried out: one of few numbers, by what one takes the processor, so that a quote
hardly depends on what else a machine does."""
MOST_CELLS = 4
"""Of a sweep so many cells are quoted: the first, the last, and some between them."""
LEVELS = (5.0, 50.0, 95.0)
"""Which shares of the campaigns, in percent, stay below the ends and the middle of a quote."""
TAKEN = ("cost", "work_hours", "campaign_days")
PACE = "pace"


class Span(NamedTuple):
    """Hold what 5, 50 and 95 % of the campaigns stay below."""

    low: float
    middle: float
    high: float


@dataclass(frozen=True, slots=True)
class Quote:
    """Hold what a campaign of a cell takes, judged by `campaigns` that were carried out; `failed` others were not.

    `at` are the values of the cell on the axes; `hours` and `days` are None without a clock. `ended[code]` is the share
    of campaigns by what ended them (`simlab.types.collection`), empty where a study does not tell. `currency` is the
    name of the money, if it has one.
    """

    at: Mapping[str, Any]
    campaigns: int
    failed: int
    money: Span
    hours: Span | None
    days: Span | None
    ended: Mapping[int, float]
    currency: str | None


def quotable(config: Mapping[str, Any]) -> bool:
    """Tell whether somebody wants to know what a campaign takes: it has a clock, a budget, or a named currency."""
    return accounted(config) or bool(config.get("budget", {}).get("currency"))


def placed(sweep: Sweep, cells: Sequence[Checked]) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Return the values of cells on the axes, and their configs."""
    names = [axis.name for axis in sweep.axes]
    return [(dict(zip(names, cell.values, strict=True)), cell.config) for cell in cells]


def quotes(block: BlockFunction, cells: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> tuple[Quote, ...]:
    """Quote some of the cells, each given by its values on the axes and its config; nothing where none is quotable."""
    wanted = spread([cell for cell in cells if quotable(cell[1])], MOST_CELLS)
    if not wanted:
        return ()
    from joblib.externals.loky import ProcessPoolExecutor

    executor = ProcessPoolExecutor(
        max_workers=1, initializer=guard, initargs=(os.getpid(), Limits(), None), env=ONE_THREAD
    )
    found = []
    try:
        for at, config in wanted:
            taken = _carried_out(executor, block, config, PATIENCE_SECONDS / len(wanted))
            found += [quote(at, config, taken)] if taken else []
    finally:
        with suppress(Exception):
            executor.shutdown(wait=True, kill_workers=True)
    return tuple(found)


def spread(cells: Sequence[Any], most: int) -> list[Any]:
    """Choose at most so many cells, from the first to the last.

    >>> spread("abcdefgh", 4), spread("ab", 4)
    (['a', 'c', 'f', 'h'], ['a', 'b'])
    """
    chosen = (
        np.unique(np.linspace(0, len(cells) - 1, min(len(cells), most)).round().astype(int)).tolist() if cells else []
    )
    return [cells[k] for k in chosen]


def quote(at: Mapping[str, Any], config: Mapping[str, Any], taken: Mapping[str, Array]) -> Quote:
    """Sum up what campaigns took, those that failed left out."""
    ok = taken["status"] == OK
    ended = taken["ended_by"][ok] if "ended_by" in taken else np.empty(0, int)
    spans = {name: _span(taken[name][ok]) if name in taken else None for name in TAKEN}
    return Quote(
        at=at,
        campaigns=int(ok.sum()),
        failed=int((~ok).sum()),
        money=spans["cost"] or Span(*(float("nan"),) * 3),
        hours=spans["work_hours"],
        days=spans["campaign_days"],
        ended={int(code): float(np.mean(ended == code)) for code in np.unique(ended)},
        currency=config.get("budget", {}).get("currency"),
    )


def _span(values: Floats) -> Span | None:
    return Span(*np.percentile(values, LEVELS).tolist()) if values.size and np.isfinite(values).all() else None


def _carried_out(
    executor: Any, block: BlockFunction, config: Mapping[str, Any], patience: float
) -> dict[str, Array] | None:
    """Carry out as many campaigns as patience allows; None where not even the first came to its end in time."""
    parts = []
    with suppress(Exception):
        # The first campaign imports and compiles; how long one takes is seen of those that follow.
        parts.append(executor.submit(campaigns, block, config, 0, 1).result(timeout=LONGEST_SECONDS))
        parts.append(executor.submit(campaigns, block, config, 1, SIZES[0]).result(timeout=LONGEST_SECONDS))
        most = affordable(float(parts[-1][PACE].mean()), patience)
        if most > SIZES[0]:
            more = executor.submit(campaigns, block, config, SIZES[0], most)
            parts.append(more.result(timeout=LONGEST_SECONDS))
    held = [name for name in (parts[0] if parts else ()) if all(name in part for part in parts)]
    return {name: np.concatenate([part[name] for part in parts]) for name in held} or None


def affordable(seconds: float, patience: float) -> int:
    """Return how many campaigns of so many seconds patience allows, one of a few sizes.

    >>> affordable(0.01, 3.0), affordable(0.1, 3.0), affordable(9.0, 3.0)
    (200, 20, 5)
    """
    return max(size for size in SIZES if size == SIZES[0] or (size - SIZES[0]) * seconds <= patience)


def campaigns(block: BlockFunction, config: Mapping[str, Any], first: int, stop: int) -> dict[str, Array]:
    """Carry out a campaign in each of the worlds from the first on; return what they took, and what ended them.

    `PACE` has the seconds of the processor that a campaign took.
    """
    began = time.process_time()
    with one_thread(), np.errstate(all="ignore"):
        done = block(config, [Place(world, 0, 0, 0) for world in range(first, stop)])
    pace = np.full(stop - first, (time.process_time() - began) / (stop - first))
    return {name: done.arrays[name] for name in ("status", "ended_by", *TAKEN) if name in done.arrays} | {PACE: pace}
