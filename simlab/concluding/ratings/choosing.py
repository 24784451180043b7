"""Choose the analysis of a table for which there is no plan: who is taken as drawn, and which test goes with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from simlab.concluding.wanted import Wanted
from simlab.config import compose
from simlab.messages import legible
from simlab.tables.held import Ratings
from simlab.types import Floats, InputError, Ints

ENOUGH_RATERS = 6
"""Flips of fewer raters have no p-value of at most .05."""

FLIPS = 2000
"""Patterns of flips: at .05 the bound of the largest statistic is known to within a hundredth or two."""


class Layout(NamedTuple):
    """Hold how raters and documents of a table meet: how many raters rated each two systems at least, and at most.

    `crossed`: some document was rated by several raters. `even`: all systems of an output's segment were rated by the
    same raters, so that their levels cancel in every difference.
    """

    named: bool
    fewest: int
    most: int
    crossed: bool
    even: bool = True


def layout_of(ratings: Ratings) -> Layout:
    """Count who rated both sides of pairs of systems that share documents; pairs that share none do not count."""
    n_systems, document = ratings.n_systems, ratings.document[ratings.item]
    came = _rated(document, ratings.system, ratings.n_documents, n_systems)
    counts = np.zeros((n_systems, n_systems), np.int64)
    of_document = np.zeros(ratings.n_documents, np.int64)
    for rater in range(ratings.n_raters):
        own = ratings.rater == rater
        there = _rated(document[own], ratings.system[own], ratings.n_documents, n_systems)
        met = there.T @ came > 0
        counts += met | met.T
        of_document += there.any(1)
    first, second = np.triu_indices(n_systems, 1)
    met = (came.T @ came > 0)[first, second]
    of_pairs = counts[first, second][met]
    fewest = int(of_pairs.min()) if len(of_pairs) else 0
    crossed = bool((of_document > 1).any())
    return Layout(ratings.rater_known, fewest, int(of_pairs.max(initial=0)), crossed, _is_even(ratings))


def _is_even(ratings: Ratings) -> bool:
    """Tell whether all systems that a segment was rated for were rated there by the same raters, equally often."""
    cell, n = np.unique(ratings.item * ratings.n_raters + ratings.rater, return_inverse=True)
    counts = np.bincount(n * ratings.n_systems + ratings.system, minlength=len(cell) * ratings.n_systems)
    by_cell = counts.reshape(-1, ratings.n_systems)
    item = cell // ratings.n_raters
    there = np.zeros((len(ratings.document), ratings.n_systems), np.int64)
    np.maximum.at(there, item, by_cell)
    expected = np.where(there[item] > 0, by_cell.max(1)[:, None], 0)
    return bool((by_cell == expected).all())


def _rated(document: Ints, system: Ints, n_documents: int, n_systems: int) -> Floats:
    """Mark what was rated of which document, `[document, system]`, as numbers."""
    there = np.zeros((n_documents, n_systems))
    there[document, system] = 1.0
    return there


def analysis(layout: Layout) -> dict[str, str]:
    """Choose the test: raters as drawn where each pair has enough of them, else as they are; all pairs by max-T.

    The design decides, and never a score: criteria of one table, and both runs of one, get the same promise. Where
    raters did not meet the same systems means are weighted, and the weighted difference is tested and printed.
    """
    chosen = {"decision.multiplicity": "max_t"}
    if not layout.named or layout.fewest < ENOUGH_RATERS:
        return chosen | {"analysis.test": "permutation", "analysis.test.permutations": str(FLIPS)}
    if not layout.even:
        return chosen | {"analysis.test": "weighted_flips"}
    test = "crossed_flips" if layout.crossed else "rater_flips"
    return chosen | {"analysis.test": test}


def config_of(layout: Layout, wanted: Wanted) -> Mapping[str, Any]:
    """Compose the config of the analysis; what the user says of it takes the place of what is chosen.

    Raises InputError for keys that a study of ratings does not have, and for keys of how it is collected.
    """
    said = {word.partition("=")[0]: word for word in wanted.overrides}
    _check_keys(said, wanted)
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


def _check_keys(said: Mapping[str, str], wanted: Wanted) -> None:
    for key in said:
        if key.partition(".")[0] not in ("analysis", "decision", "seed", "plugins"):
            raise InputError(
                f"{legible(key, 60)}: how ratings were collected is seen in the table; conclude takes keys of what is "
                "done with them, analysis.* and decision.*"
            )
    if wanted.level is not None and "decision.level" in said:
        raise InputError(f"--level {wanted.level:g} and {said['decision.level']}: say it once")


BY_FLIPS = ("permutation", "rater_flips", "crossed_flips", "weighted_flips")
