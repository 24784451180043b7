"""Measure what becomes of a conclusion whose table grew from a pilot, or lacks ratings that were skipped.

Each function yields a row for each promise; tables are drawn as people have them (see `made_ratings`), of equal
systems, and concluded from as `simlab conclude` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from made_ratings import Plan, made
from promise_rows import Row, Side, stream
from table_promises import conclusion, row

from simlab.answers.conclude import Conclusion
from simlab.concluding.ratings.collecting import keep_ratings
from simlab.tables.rating_table import Ratings
from simlab.types import Ints

PILOT = Plan(documents=28, segments=1)
"""Four systems, seven raters, 28 documents: what a pilot might be."""

LARGEST = 3
"""Times the size of the pilot that a study may have, however many more ratings are asked for."""

SKIPPED = 0.2


def pilots(n: int) -> Iterator[Row]:
    """Count claims of studies whose size a pilot chose: of the study alone, and of both together."""
    alone, together, looked = [], [], []
    for number in range(n):
        rng = stream(41, number)
        pilot = made(rng, PILOT)
        first = conclusion(pilot)
        more = made(rng, PILOT._replace(raters=PILOT.raters * (size := _times(first)), documents=28 * size))
        both = _some(conclusion(_joined(pilot, more)))
        alone.append(_some(conclusion(more)))
        together.append(both)
        looked.append(max(both, _some(first)))
    name = "some claim, systems equal"
    yield row(name, "a study as large as its pilot asks for, without the pilot", 0.05, alone)
    yield row(name, "a study as large as its pilot asks for, and the pilot", 0.05, together)
    yield row(
        "some claim, of the pilot or of both, systems equal", "two looks, uncorrected", 0.05, looked, "control above"
    )


def skipped(n: int) -> Iterator[Row]:
    """Count claims where a fifth of ratings is skipped: of the worst outputs of all systems, or of one."""
    for setting, systems in (("of all systems alike", 4), ("of one system", 1)):
        found = []
        for number in range(n):
            table = made(stream(42, number), Plan(documents=40))
            worst = (table.score < np.quantile(table.score, SKIPPED)) & (table.system < systems)
            found.append(_some(conclusion(keep_ratings(table, ~worst))))
        told: tuple[str, Side] = ("some claim, systems equal", "at most")
        if systems < 4:
            told = ("some claim, one system spared its worst", "control above")
        yield row(told[0], f"the worst fifth of outputs not rated, {setting}", 0.05, found, told[1])


def _times(found: Conclusion) -> int:
    """Return how many times the pilot a study shall be that settles the first open pair with 80 %."""
    upper = next((pair.more.high for pair in found.pairs if pair.more is not None), 0.0)
    return int(np.clip(np.ceil(upper / PILOT.raters), 1, LARGEST))


def _some(found: Conclusion) -> float:
    return float(any(pair.verdict for pair in found.pairs))


def _joined(first: Ratings, second: Ratings) -> Ratings:
    """Put two tables together: other documents, other raters."""

    def after(one: Ints, other: Ints, n: int) -> Ints:
        return np.concatenate([one, other + n])

    return replace(
        first,
        system=np.concatenate([first.system, second.system]),
        item=after(first.item, second.item, len(first.document)),
        rater=after(first.rater, second.rater, first.n_raters),
        document=after(first.document, second.document, first.n_documents),
        score=np.concatenate([first.score, second.score]),
        errors=np.concatenate([first.errors, second.errors]),
        seconds=np.concatenate([first.seconds, second.seconds]),
        document_names=first.document_names + tuple(f"new {name}" for name in second.document_names),
        item_names=first.item_names + tuple(f"new {name}" for name in second.item_names),
        rater_names=first.rater_names + tuple(f"new {name}" for name in second.rater_names),
        rows=first.rows + second.rows,
    )
