"""Choose the analysis of a table for which there is no plan: who is taken as drawn, and which test goes with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from simlab.concluding.wanted import Wanted
from simlab.config import compose
from simlab.tables.held import Ratings

ENOUGH_RATERS = 6
"""Flips of fewer raters have no p-value of at most .05."""

FLIPS = 2000
"""Patterns of flips: at .05 the bound of the largest statistic is known to within a hundredth or two."""


class Layout(NamedTuple):
    """Hold how raters and documents of a table meet: how many raters rated each two systems at least, and at most.

    `crossed`: some document was rated by several raters.
    """

    named: bool
    fewest: int
    most: int
    crossed: bool


def layout_of(ratings: Ratings) -> Layout:
    """Count who rated both sides of pairs of systems that share documents; pairs that share none do not count."""
    shape = ratings.n_raters, ratings.n_documents, ratings.n_systems
    there = np.zeros(shape, np.float32)
    there[ratings.rater, ratings.document[ratings.item], ratings.system] = 1
    came = there.max(0)
    first, second = np.triu_indices(ratings.n_systems, 1)
    some = np.stack([of.T @ came > 0 for of in there])
    counts = (some | some.transpose(0, 2, 1)).sum(0)[first, second]
    counts = counts[(came.T @ came > 0)[first, second]]
    crossed = bool((there.max(2).sum(0) > 1).any())
    return Layout(
        ratings.rater_known, int(counts.min(initial=10**9)) if len(counts) else 0, int(counts.max(initial=0)), crossed
    )


def analysis(layout: Layout) -> dict[str, str]:
    """Choose the test: raters as drawn where each pair has enough of them, else as they are; all pairs by max-T."""
    chosen = {"decision.multiplicity": "max_t"}
    if not layout.named or layout.fewest < ENOUGH_RATERS:
        return chosen | {"analysis.test": "permutation", "analysis.test.permutations": str(FLIPS)}
    test = "crossed_flips" if layout.crossed else "rater_flips"
    return chosen | {"analysis.test": test}


def config_of(layout: Layout, wanted: Wanted) -> Mapping[str, Any]:
    """Compose the config of the analysis; what the user says of it takes the place of what is chosen.

    Raises InputError for keys that a study of ratings does not have.
    """
    said = {word.partition("=")[0]: word for word in wanted.overrides}
    chosen = analysis(layout)
    if "analysis.test" in said:
        test = said["analysis.test"].partition("=")[2]
        chosen = {"decision.multiplicity": "max_t" if test in BY_FLIPS else "holm"}
        if test == "permutation":
            chosen["analysis.test.permutations"] = str(FLIPS)
    if wanted.level is not None:
        chosen["decision.level"] = repr(wanted.level)
    chosen["seed"] = str(wanted.seed)
    words = [f"{key}={value}" for key, value in chosen.items() if key not in said]
    return compose([*words, *wanted.overrides])


BY_FLIPS = ("permutation", "rater_flips", "crossed_flips")
