"""Read how long raters took: timings in the `metadata` column of side-by-side releases."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from simlab.tables.lines import numbered_lines

COLUMN = "metadata"
KEYS = ("system", "doc", "docSegId", "doc_id", "globalSegId", "seg_id", "segment", "document", "rater")
MAX_SECONDS = 24 * 3600.0
FEWEST = 5
"""A rater with fewer timed segments gets no speed of their own."""


def speeds(path: Path | None) -> dict[str, dict[str, float | int]]:
    """Return each rater's speed: seconds per segment are taken to be lognormal, fitted by the moments of logarithms.

    A segment's time adds up what its actions took (`timing.*.timeMS`), over all rows that a rater has for an output.
    Rows whose metadata are not such JSON, and segments without a time, are left out. A table without timings gives {}.

    Raises InputError naming file and line for what is no table.
    """
    if path is None:
        return {}
    seconds: defaultdict[tuple[str, ...], float] = defaultdict(float)
    for unit, spent in _timings(path):
        seconds[unit] += spent
    by_rater: defaultdict[str, list[float]] = defaultdict(list)
    for unit, spent in seconds.items():
        if 0 < spent <= MAX_SECONDS:
            by_rater[unit[-1]].append(math.log(spent))
    return {rater: _lognormal(np.array(logs)) for rater, logs in sorted(by_rater.items()) if len(logs) >= FEWEST}


def _lognormal(logs: Any) -> dict[str, float | int]:
    return {
        "median_seconds": float(f"{math.exp(logs.mean()):.4g}"),
        "log_sd": float(f"{logs.std(ddof=1):.4g}"),
        "segments": len(logs),
    }


def _timings(path: Path) -> Iterator[tuple[tuple[str, ...], float]]:
    lines = numbered_lines(path)
    names = [name.strip() for name in next(lines, (0, ""))[1].split("\t")]
    if COLUMN not in names or "rater" not in names:
        return
    at, columns = names.index(COLUMN), [names.index(key) for key in KEYS if key in names]
    for _, line in lines:
        fields = line.split("\t")
        if len(fields) > max(at, *columns) and '"timing"' in fields[at]:
            yield tuple(fields[column].strip() for column in columns), _seconds(fields[at])


def _seconds(metadata: str) -> float:
    """Add up the times of the actions on a segment; 0 where the metadata cannot be read."""
    try:
        timing = json.loads(metadata)["timing"]
        spent = [float(action["timeMS"]) for action in timing.values()]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return 0.0
    return sum(time for time in spent if math.isfinite(time) and time > 0) / 1000


def mean_seconds(speed: Mapping[str, float]) -> float:
    """Return the mean seconds per segment of a lognormal speed."""
    return speed["median_seconds"] * math.exp(speed["log_sd"] ** 2 / 2)
