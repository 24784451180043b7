"""Make ten tables of ratings of unlike designs, always the same: what lme4 makes of them is recorded beside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from simlab.types import Array


class RatingTable(NamedTuple):
    """Columns of a table, an entry a rating, and the random terms by which lme4 was fitted."""

    name: str
    system: Array
    rater: Array
    document: Array
    score: Array
    terms: tuple[str, ...] = ("rater", "rater x system", "document")


def rating_tables() -> Iterator[RatingTable]:  # noqa: C901
    """Yield side by side, ungrouped, nested, mixed, crossed and uneven tables; scores have two decimals."""
    # RandomState draws the same numbers in every version of NumPy.
    rng = np.random.RandomState(20261125)
    crossed = ("rater", "rater x system", "document", "document x system")
    for name, (n_systems, n_raters, n_documents) in {
        "side by side": (4, 7, 30),
        "ungrouped": (4, 7, 30),
        "nested": (3, 12, 24),
        "mixed": (2, 10, 40),
        "uneven loads": (3, 8, 40),
        "half missing": (4, 6, 30),
        "two pools, one anchor": (3, 10, 24),
        "large tastes": (5, 8, 24),
        "crossed": (3, 6, 15),
        "crossed by two": (4, 8, 20),
    }.items():
        system, document = (axis.ravel() for axis in np.meshgrid(range(n_systems), range(n_documents), indexing="ij"))
        rater = rng.randint(0, n_raters, n_documents)[document]
        if name in ("ungrouped", "large tastes", "half missing"):
            rater = rng.randint(0, n_raters, len(system))
        if name == "nested":
            rater = 4 * system + rng.randint(0, 4, len(system))
        if name == "mixed":
            own = 5 * system + rng.randint(0, 5, len(system))
            rater = np.where(rng.uniform(size=len(system)) < 0.3, rng.randint(0, 10, len(system)), own)
        if name == "uneven loads":
            rater = np.minimum(rng.geometric(0.4, n_documents) - 1, n_raters - 1)[document]
        if name == "two pools, one anchor":
            rater = np.where(system == 1, rng.randint(0, 10, len(system)), 5 * (system == 2) + rater % 5)
        if name.startswith("crossed"):
            times = n_raters if name == "crossed" else 2
            first = np.repeat(rng.randint(0, n_raters, len(system)), times)
            rater = (first + np.tile(np.arange(times), len(system))) % n_raters
            system, document = np.repeat(system, times), np.repeat(document, times)
        if name == "half missing":
            here = rng.uniform(size=len(system)) < 0.5
            system, document, rater = system[here], document[here], rater[here]
        taste = (2.0 if name == "large tastes" else 0.7) * rng.normal(size=(n_raters, n_systems))
        output = (0.8 if name.startswith("crossed") else 0.0) * rng.normal(size=(n_documents, n_systems))
        levels, difficulty = 1.5 * rng.normal(size=n_raters), 1.2 * rng.normal(size=n_documents)
        score = 60 + 0.5 * system + levels[rater] + difficulty[document] + taste[rater, system]
        score += output[document, system] + 1.1 * rng.normal(size=len(system))
        terms = RatingTable._field_defaults["terms"]
        if name == "nested":
            # Raters of one system each: what they think of it is their level.
            terms = ("rater", "document")
        elif name.startswith("crossed"):
            terms = crossed
        yield RatingTable(name, system, rater, document, np.round(score, 2), terms)
