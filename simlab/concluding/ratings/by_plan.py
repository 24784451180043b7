"""Hold a table of ratings against a plan that was made before anything was rated."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from simlab.concluding.expected import Expected, expected, systems_apart
from simlab.concluding.ratings.collecting import collected, in_order
from simlab.concluding.sheets import Read
from simlab.concluding.wanted import Wanted
from simlab.formulas import normalized_entropy
from simlab.messages import legible, several
from simlab.tables.held import Ratings
from simlab.tables.reading import read
from simlab.tables.times import CUT
from simlab.types import InputError, Ints

EVEN = 0.8
"""Normalised entropy from which loads count as equal: of few documents of different lengths no deal is."""


def of_plan(table: Path, wanted: Wanted, config: Mapping[str, Any]) -> Read:
    """Take a table for what was collected by a plan alone; say where it leaves the plan.

    Raises InputError for a table of one system, for the plan of other systems, and for more ratings than were planned.
    """
    ratings = in_order(read(table, wanted.told))
    where, per_output = legible(table), int(config["design"]["ratings_per_item"])
    if ratings.n_systems < 2:
        raise InputError(f"{where}: holds ratings of one system; conclusions compare at least two")
    if config.get("metric", {}).get("_target_"):
        raise InputError(
            f"{where}: the plan corrects ratings by a metric, whose scores of all segments only an exported campaign "
            "tells; plan with metric=none"
        )
    plan = expected(config)
    deviations = systems_apart(ratings.system_names, plan, where)
    counts = _counts(ratings)
    if (most := int(counts.max())) > per_output:
        raise InputError(
            f"{where}: an output has {most} ratings and the plan asks for {per_output} (design.ratings_per_item); take "
            "out what does not belong to this study, or name its own plan"
        )
    planned = _planned(ratings, plan, config, per_output)
    missing = counts.size * per_output - len(ratings.score)
    if missing:
        deviations.append(f"{missing:,} of {counts.size * per_output:,} ratings of these documents are missing")
    if ratings.far is not None:
        raise ratings.far.refusal(where)
    deviations += _of_documents(ratings, int(config["design"]["documents"]))
    deviations += _of_raters(ratings, plan, config)
    hours = math.nan if ratings.times is None else ratings.times.hours(CUT)
    return Read(collected(ratings, config["seed"]), planned, deviations, hours=hours)


def _counts(ratings: Ratings) -> Ints:
    """Count the ratings of each output, `[item and system]`."""
    output = ratings.item * ratings.n_systems + ratings.system
    return np.bincount(output, minlength=len(ratings.document) * ratings.n_systems)


def _planned(ratings: Ratings, plan: Expected, config: Mapping[str, Any], per_output: int) -> int:
    """Count the ratings that were planned; documents that never came have as many segments as those that did."""
    segments = len(ratings.document) / ratings.n_documents * int(config["design"]["documents"])
    return round(segments * per_output * (plan.n_systems or ratings.n_systems))


def _of_documents(ratings: Ratings, planned: int) -> Iterator[str]:
    if ratings.n_documents != planned:
        yield f"{several(ratings.n_documents, 'document')}, planned are {planned}"


def _of_raters(ratings: Ratings, plan: Expected, config: Mapping[str, Any]) -> Iterator[str]:
    if not ratings.rater_known:
        yield "raters are not named, so that nobody can tell who rated"
        return
    others = [name for name in ratings.rater_names if plan.rater_names and name not in plan.rater_names]
    if others:
        yield f"other raters than planned: {legible(', '.join(others), 80)}"
    elif plan.n_raters and ratings.n_raters > plan.n_raters:
        yield f"{several(ratings.n_raters, 'rater')}, planned are at most {plan.n_raters}"
    yield from _of_loads(ratings, config["design"])


def _of_loads(ratings: Ratings, design: Mapping[str, Any]) -> Iterator[str]:
    reached, wanted = normalized_entropy(np.bincount(ratings.rater, minlength=ratings.n_raters)), design["load_entropy"]
    if wanted is None and reached < EVEN:
        yield f"loads are uneven (normalised entropy {reached:.2f}), planned are equal ones"
    if wanted is not None and abs(reached - wanted) > design["load_tolerance"]:
        yield f"loads have a normalised entropy of {reached:.2f}, planned is {wanted:g}"
