"""Quote the money, hours of work and days that a campaign will take, from some that are simulated.

Some campaigns are carried out, each in a world of its own and with people of its own, since how quick people are
differs more from pool to pool than anything else does. They run in a process that can be ended, for a few seconds.
Call `quotes` with cells (values on the axes, config), which returns a `Quote` for some of them; `purchase` reads the
ratings and their price off one finished campaign.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from simlab.config.sweep import Sweep
from simlab.effort import current_effort
from simlab.engine.addresses import Finished, unpack
from simlab.engine.backends.children import call_in_child, fresh_start_token
from simlab.engine.preparing import CheckedCell
from simlab.engine.workers import BlockFunction, one_thread
from simlab.studies.money import has_account
from simlab.types import OK, Array, Floats, Place

FIRST_SECONDS = 60.0
"""Seconds after which a first campaign, which imports and compiles, is cut off, and nothing is quoted."""
LONGEST_SECONDS = 15.0
"""Seconds that the further campaigns may take, also on a busy machine."""
SIZES = (5, 10, 20, 50, 100, 200)
"""Numbers of campaigns that are carried out of a cell: one is chosen by the processor's seconds for a campaign. So
few are possible that a quote hardly depends on the load of the machine."""
MOST_CELLS = 4
"""Cells of a sweep that are quoted at most: the first, the last, and some between them."""
LEVELS = (5.0, 50.0, 95.0)
"""Percentiles of campaigns that are the lower end, the middle and the upper end of a quote."""
FEW = 20
"""Campaigns below which the ends of a quote are the least and the most: percentiles would be unknown."""
TAKEN = ("cost", "work_hours", "campaign_days")
PACE = "pace"
GOLDEN = 0.618033988749895


class QuantileSpan(NamedTuple):
    """Percentiles 5, 50 and 95 over campaigns; of few campaigns `low` and `high` are the least and the most."""

    low: float
    middle: float
    high: float


@dataclass(frozen=True, slots=True)
class Quote:
    """Quote for a campaign of a cell, judged by `campaigns` that were carried out; `failed` others were not.

    `at` are the values of the cell on the axes; `hours` and `days` are None without a clock. `ended[code]` is the share
    of campaigns by the code of their end (`simlab.types.collection`), empty where a study does not tell. `currency` is
    the name of the money, if it has one. `why` says why nothing is quoted, or why some campaigns failed.
    """

    at: Mapping[str, Any]
    campaigns: int
    failed: int
    money: QuantileSpan
    hours: QuantileSpan | None
    days: QuantileSpan | None
    ended: Mapping[int, float]
    currency: str | None
    why: str = ""


class CampaignCosts(NamedTuple):
    """Costs of campaigns, `arrays[name][campaign]`, and the reason of the first that failed."""

    arrays: Mapping[str, Array]
    why: str = ""


def is_quotable(config: Mapping[str, Any]) -> bool:
    """True if the costs of a campaign are worth a quote: it has a clock, a budget, or a named currency."""
    return has_account(config) or bool(config.get("budget", {}).get("currency"))


def place_cells(sweep: Sweep, cells: Sequence[CheckedCell]) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Return the values of cells on the axes, and their configs."""
    names = [axis.name for axis in sweep.axes]
    return [(dict(zip(names, cell.values, strict=True)), cell.config) for cell in cells]


def quotes(block: BlockFunction, cells: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> tuple[Quote, ...]:
    """Quote some of the cells, each given by its values on the axes and its config; nothing where none is quotable."""
    wanted = spread([cell for cell in cells if is_quotable(cell[1])], MOST_CELLS)
    if not wanted:
        return ()
    start, patience = fresh_start_token(), current_effort().quoting_seconds / len(wanted)
    return tuple(quote(at, config, _run_campaigns(start, block, config, patience)) for at, config in wanted)


def spread(cells: Sequence[Any], most: int) -> list[Any]:
    """Choose at most `most` cells, evenly from the first to the last.

    >>> spread("abcdefgh", 4), spread("ab", 4)
    (['a', 'c', 'f', 'h'], ['a', 'b'])
    """
    chosen = (
        np.unique(np.linspace(0, len(cells) - 1, min(len(cells), most)).round().astype(int)).tolist() if cells else []
    )
    return [cells[k] for k in chosen]


def quote(at: Mapping[str, Any], config: Mapping[str, Any], taken: CampaignCosts) -> Quote:
    """Sum up the costs of a cell's campaigns, those that failed left out; `at` are its values on the axes."""
    arrays = taken.arrays
    ok = arrays["status"] == OK if "status" in arrays else np.empty(0, bool)
    ended = arrays["ended_by"][ok] if "ended_by" in arrays else np.empty(0, int)
    spans = {name: _span(arrays[name][ok]) if name in arrays else None for name in TAKEN}
    return Quote(
        at=at,
        campaigns=int(ok.sum()),
        failed=int((~ok).sum()),
        money=spans["cost"] or QuantileSpan(*(float("nan"),) * 3),
        hours=spans["work_hours"],
        days=spans["campaign_days"],
        ended={int(code): float(np.mean(ended == code)) for code in np.unique(ended)},
        currency=config.get("budget", {}).get("currency"),
        why=taken.why,
    )


def _span(values: Floats) -> QuantileSpan | None:
    if not values.size or not np.isfinite(values).all():
        return None
    levels = LEVELS if values.size >= FEW else (0.0, 50.0, 100.0)
    # So that of further campaigns as many lie outside on average, whatever the number of these.
    return QuantileSpan(*np.percentile(values, levels, method="weibull").tolist())


def _run_campaigns(start: bytes, block: BlockFunction, config: Mapping[str, Any], patience: float) -> CampaignCosts:
    """Carry out as many campaigns as patience allows; say why, where not even the first came to its end in time."""
    parts: list[CampaignCosts] = []

    def carry_out(first: int, stop: int, longest: float) -> None:
        parts.append(call_in_child(start, campaigns, block, config, first, stop, seconds=longest))

    why = ""
    try:
        # How long a campaign takes is seen of those after the first.
        carry_out(0, 1, FIRST_SECONDS)
        carry_out(1, SIZES[0], LONGEST_SECONDS)
        most = limit_campaigns(float(parts[-1].arrays[PACE].mean()), patience)
        if most > SIZES[0]:
            carry_out(SIZES[0], most, LONGEST_SECONDS)
    except TimeoutError:
        why = f"no campaign came to its end within {FIRST_SECONDS:g} s" if not parts else ""
    except Exception as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())
    names = [name for name in (parts[0].arrays if parts else ()) if all(name in part.arrays for part in parts)]
    arrays = {name: np.concatenate([part.arrays[name] for part in parts]) for name in names}
    return CampaignCosts(arrays, next((part.why for part in parts if part.why), why))


def limit_campaigns(seconds: float, patience: float) -> int:
    """Return how many campaigns, each of `seconds`, `patience` seconds allow: one of `SIZES`.

    >>> limit_campaigns(0.01, 3.0), limit_campaigns(0.1, 3.0), limit_campaigns(9.0, 3.0)
    (200, 20, 5)
    """
    return max(size for size in SIZES if size == SIZES[0] or (size - SIZES[0]) * seconds <= patience)


def campaigns(block: BlockFunction, config: Mapping[str, Any], first: int, stop: int) -> CampaignCosts:
    """Carry out a campaign in each of the worlds first, ..., stop - 1; return their costs and the codes of their ends.

    `PACE` has the seconds of the processor that a campaign took.
    """
    began = time.process_time()
    with one_thread(), np.errstate(all="ignore"):
        done = block(config, [Place(world, 0, 0, 0) for world in range(first, stop)])
    pace = np.full(stop - first, (time.process_time() - began) / (stop - first))
    costs = {name: done.arrays[name] for name in ("status", "ended_by", *TAKEN) if name in done.arrays}
    return CampaignCosts(costs | {PACE: pace}, next((reason for _, reason in done.failures), ""))


@dataclass(frozen=True, slots=True)
class Purchase:
    """Purchase of one campaign, all systems together: ratings and their price; `outcomes` names its arrays."""

    ratings: int
    cost: float
    systems: int
    outcomes: frozenset[str]


def purchase(finished: Finished) -> Purchase | None:
    """Return the purchase of a block's first campaign; None where it failed, or has no such outcomes."""
    if finished.failed or finished.failures:
        return None
    arrays = unpack(finished.payload)
    if not {"ratings_used", "cost", "estimate"} <= arrays.keys() or not np.isfinite(arrays["cost"][0]):
        return None
    systems = arrays["estimate"].shape[1]
    return Purchase(int(arrays["ratings_used"][0]), float(arrays["cost"][0]), systems, frozenset(arrays))


def order_extremes_first(cells: Sequence[tuple[Any, ...]]) -> list[int]:
    """Return the indices of cells (tuples of values on the axes), those first that likely buy least and most.

    First come cells whose numbers are all least or all greatest, then those whose every number is one or the other,
    then the rest. Cells of one rank are spread evenly.

    >>> order_extremes_first([(n, how) for n in (1, 2, 3) for how in "ab"])
    [0, 5, 4, 1, 2, 3]
    """
    numbers = [
        (k, min(values), max(values))
        for k, values in enumerate(zip(*cells, strict=True))
        if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    ]

    def rank(cell: tuple[Any, ...]) -> int:
        least = all(cell[k] == low for k, low, _ in numbers)
        most = all(cell[k] == high for k, _, high in numbers)
        return 0 if least or most else 1 if all(cell[k] in ends for k, *ends in numbers) else 2

    # Multiples of the golden section, without their whole part, lie evenly, wherever one stops.
    return sorted(range(len(cells)), key=lambda k: (rank(cells[k]), k * GOLDEN % 1.0))
