"""Measure the check of conclusions: how often it withdraws a promise, and what is claimed of equal systems beside it.

Tables are strangers' ones, read and concluded by `simlab conclude`'s own function, each with a world of its own. Chains
are short. Where the test errs, as many studies with equal systems are simulated as a conclusion does: fewer notice an
exceeded level less often. Where it holds, fewer are enough.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from promise_rows import Row, stream
from slowness import SHORT
from table_promises import row

from simlab.concluding.concluding import conclude
from simlab.concluding.options import ConcludeOptions
from simlab.effort import use_effort
from simlab.types import ScoredRatings
from tests.statistics.null_tables import NULLS, null_table

BY_DOCUMENT = ("analysis.test=permutation",)
"""Flips of documents know nothing of how lenient the raters of each system are."""
STUDIES, ALL_STUDIES = 300, 1_000
PASSED = 20
"""Tables that must pass before anything is said of those that do."""
FIRES, NOTICES = 0.03, 0.9


class Gated(NamedTuple):
    """Which null is concluded on which scale, with which words of a config."""

    null: str
    scale: str
    words: tuple[str, ...] = ()


HOLD: Mapping[str, Gated] = {
    "nested, 10 raters, skewed": Gated("nested, 10 raters", "skewed"),
    "mixed .2, penalties": Gated("mixed .2", "penalties"),
    "crossed, skewed": Gated("crossed", "skewed"),
    "by output, half missing, penalties": Gated("by output, half missing", "penalties"),
}
ERR: Mapping[str, Gated] = {
    "flips of documents, nested, 10 raters, skewed": Gated("nested, 10 raters", "skewed", BY_DOCUMENT),
    "flips of documents, nested, 24 raters, 4 systems, penalties": Gated(
        "nested, 24 raters, 4 systems", "penalties", BY_DOCUMENT
    ),
}


def gates(n: int, names: tuple[str, ...] = (*HOLD, *ERR), studies: int | None = None) -> Iterator[Row]:
    """Count tables of equal systems that are withdrawn, that keep a claim, and claims of those that are not withdrawn.

    Where a test errs far more often than promised, what it claims without the check is the control.
    """
    for name in names:
        asked = {**HOLD, **ERR}[name]
        equal = studies or (ALL_STUDIES if name in ERR else STUDIES)
        withdrawn, kept, claimed = _concluded(asked, name, n, equal)
        where = f"{name}, {equal:,} equal studies"
        fires = [float(one) for one in withdrawn]
        if name in ERR:
            yield row("promise withdrawn, the test errs", where, NOTICES, fires, "at least")
        else:
            yield row("promise withdrawn, the test holds", where, FIRES, fires)
        yield row("some claim is kept, systems equal", where, 0.05, [float(one) for one in kept])
        passed = [float(one) for one, fired in zip(kept, withdrawn, strict=True) if not fired]
        if name in HOLD and len(passed) >= PASSED:
            yield row("some claim where the check passes, systems equal", where, 0.05, passed)
        if name in ERR:
            before = [float(one) for one in claimed]
            yield row("some claim without the check, systems equal", where, 0.05, before, "control above")


def _concluded(asked: Gated, name: str, n: int, studies: int) -> tuple[list[bool], list[bool], list[bool]]:
    withdrawn, kept, claimed = [], [], []
    wanted = ConcludeOptions(overrides=asked.words, again=False)
    with tempfile.TemporaryDirectory() as folder, use_effort(SHORT._replace(equal_studies=studies)):
        for number in range(n):
            table = null_table(stream(41, name, number), NULLS[asked.null], asked.scale)
            found = conclude(write_table(table, Path(folder) / "table.csv"), wanted, lambda _: None)
            if found.control is None:
                raise ValueError(f"{name}, table {number} was not checked: {found.control_missing}")
            withdrawn.append(bool(found.withdrawn))
            kept.append(any(pair.verdict for pair in found.pairs))
            claimed.append(any(pair.verdict or pair.unpromised for pair in found.pairs))
    return withdrawn, kept, claimed


def write_table(table: ScoredRatings, path: Path) -> Path:
    with path.open("w", newline="", encoding="utf-8") as text:
        rows = csv.writer(text)
        rows.writerow(["system", "document", "segment", "rater", "score"])
        columns = (table.system, table.document, table.item, table.rater, np.round(table.value, 6).tolist())
        rows.writerows((f"s{s}", f"d{d}", f"i{i}", f"r{r}", score) for s, d, i, r, score in zip(*columns, strict=True))
    return path
