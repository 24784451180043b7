"""Measure what a conclusion foresees of a repetition against repetitions that are carried out, with all drawn anew.

Systems differ by amounts drawn anew for each table; the law is none of simlab's. A table counts if it claims something.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from gate_promises import write_table
from promise_rows import Row, stream
from slowness import SHORT

from simlab.analysis.raters.model_comparisons import compare_by_model
from simlab.answers.conclude import Conclusion
from simlab.concluding.concluding import conclude
from simlab.concluding.options import ConcludeOptions
from simlab.effort import use_effort
from simlab.tables.rating_table import ColumnOverrides
from tests.statistics.null_tables import NULLS, null_table

NAMES = ("crossed", "by output, half missing")
APART = 2.0
"""Standard deviation of systems, in errors of a difference: some pairs are claimed, others are not."""
OFF = 0.05
"""Foreseen chances may be off by so much on average."""
HIGHER = ColumnOverrides(better="higher")


def repetitions(n: int, nulls: tuple[str, ...] = NAMES, scale: str = "skewed") -> Iterator[Row]:
    """Compare the foreseen chances that all signs come again, and that a claim does, with new studies of the truth."""
    for null in nulls:
        error = _error(null, scale)
        sign, again = [], []
        for number in range(n):
            rng = stream(43, null, scale, number)
            n_systems = int(NULLS[null].meet(stream(0, null)).system.max()) + 1
            effect = APART * error * rng.standard_normal(n_systems)
            with tempfile.TemporaryDirectory() as folder:
                first, second = (
                    write_table(null_table(rng, NULLS[null], scale, effect), Path(folder) / f"{k}.csv") for k in "ab"
                )
                with use_effort(SHORT._replace(equal_studies=20)):
                    found = conclude(first, ConcludeOptions(column_overrides=HIGHER), lambda _: None)
                with use_effort(SHORT._replace(equal_studies=0)):
                    fresh = conclude(second, ConcludeOptions(column_overrides=HIGHER), lambda _: None)
            if found.repetition is None:
                continue
            same, claimed = come_again(found, fresh)
            sign.append(found.repetition.same_sign.new_study.value - same)
            again.append(found.repetition.claimed_again.new_study.value - claimed)
        setting = f"{null}, {scale}, new study"
        yield _off("foreseen chance off on average: all signs come again", setting, sign)
        yield _off("foreseen chance off on average: share of claims made again", setting, again)


def _error(null: str, scale: str) -> float:
    rng = stream(44, null, scale)
    tables = (compare_by_model(null_table(rng, NULLS[null], scale)) for _ in range(20))
    return float(np.median([np.sqrt(one.at_large_variance[0]) for one in tables]))


def come_again(first: Conclusion, second: Conclusion) -> tuple[float, float]:
    """Tell whether all claimed pairs have the same sign in a second study, and the share that is claimed again."""
    fresh = {(pair.first, pair.second): pair for pair in second.pairs}
    claims = [(pair, fresh[pair.first, pair.second]) for pair in first.pairs if pair.verdict]
    same = all(np.sign(new.difference) == old.verdict for old, new in claims)
    return float(same), float(np.mean([new.verdict == old.verdict for old, new in claims]))


def _off(name: str, setting: str, off: list[float]) -> Row:
    return Row(name, setting, OFF, abs(float(np.mean(off))), float(np.std(off, ddof=1) / len(off) ** 0.5), len(off))
