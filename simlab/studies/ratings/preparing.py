"""Bind the parts of a study of ratings, once per cell (one config of a sweep).

Call `prepare` with a config, which returns `PreparedRatings`: design, prices and bound parts.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from simlab.analysis.multiplicity import FlipFamily, Multiplicity
from simlab.analysis.raters.crossed import compare_by_crossed_flips, crossed_flips
from simlab.analysis.raters.flips import compare_by_flips, rater_flips
from simlab.analysis.raters.model_comparisons import (
    SimulatedStudies,
    mixed_model,
    model_differences,
    model_family,
    model_studies,
)
from simlab.analysis.raters.moderated import (
    Judge,
    moderated,
    moderated_differences,
    moderated_family,
    moderated_studies,
)
from simlab.analysis.significance import compare_by_permutation, permutation
from simlab.analysis.studentized_range import TFamily
from simlab.design.assignment import one_stream
from simlab.parts import bind, is_chosen, read_data_type
from simlab.studies.campaign_clock import Clock, bind_clock
from simlab.studies.money import MoneyLimits, Prices, has_account, has_clock, read_money_limits, read_prices
from simlab.types import RATE, Array, Arrived, Claims, Floats, Queue, ScoredRatings, Seen

FAMILIES: Mapping[Callable[..., Any], Callable[..., FlipFamily | TFamily]] = {
    permutation: compare_by_permutation,
    rater_flips: compare_by_flips,
    crossed_flips: compare_by_crossed_flips,
    mixed_model: model_family,
    moderated: moderated_family,
}
"""Tests that can test all pairs at once (max-T), each with the function that does so."""

DIFFERENCES: Mapping[Callable[..., Any], Callable[..., Floats]] = {
    mixed_model: model_differences,
    moderated: moderated_differences,
}
"""Tests of other differences than those of plain means, each with the function that estimates these."""

STUDIES: Mapping[Callable[..., Any], Callable[..., SimulatedStudies | Judge]] = {
    mixed_model: model_studies,
    moderated: moderated_studies,
}
"""Tests that judge many simulated studies of one design at once, each with the function that returns how."""


class Further(NamedTuple):
    """Raters beside those of a design: second ones on a share of the documents, one more if two differ by a margin.

    Studies that were declared before there were such keys have neither.
    """

    overlap: float
    boost_margin: float | None

    @property
    def uneven(self) -> bool:
        """True if outputs may have different numbers of ratings."""
        return self.overlap > 0 or self.boost_margin is not None


class RatingsDesign(NamedTuple):
    """Who rates what, as the keys of `design` say: how many documents, ratings of each item, and how they are dealt.

    `grouping` is the section of its part, `further` says who else is asked. `load_entropy` is the wanted entropy of
    the raters' loads (None: equal loads, whatever the two beside it are), met within `load_tolerance` in at most
    `load_tries`.
    """

    documents: int
    ratings_per_item: int
    studies_per_document_set: int
    grouping: Mapping[str, Any] = {}
    load_entropy: float | None = None
    load_tolerance: float = 0.0
    load_tries: int = 0
    min_documents: int = 1
    estimand: str = "all_raters"
    further: Further = Further(0.0, None)


class PreparedRatings(NamedTuple):
    """Study of ratings that a cell asks for: its design, the bound parts, and what it costs.

    `cuts`: the design is cut to what the money pays; on a clock the money ends the campaign instead.

    The test is handed the ratings if `reads_ratings`, else documents' totals. `family` is what max-T asks (None: a test
    has none), `differences` are those that are tested (None: of plain means), `studies` judges many studies of one
    design at once (None: they are judged one by one). `claim` is a decision rule that watches ratings come (None: the
    test's p-values decide).

    `assign` is a rule for who takes which task (None: tasks are dealt beforehand); `in_order`: it takes them first
    come, first served.
    """

    seed: int
    design: RatingsDesign
    group: Callable[..., Any]
    normalise: Callable[[Seen], Seen]
    test: Callable[[np.random.Generator, Any], Array]
    level: float
    prices: Prices
    reads_ratings: bool = False
    family: Callable[[np.random.Generator, ScoredRatings], FlipFamily | TFamily] | None = None
    differences: Callable[[ScoredRatings], Floats] | None = None
    studies: Callable[[ScoredRatings], SimulatedStudies | Judge] | None = None
    multiplicity: Multiplicity = "none"
    claim: Callable[[Arrived], Claims] | None = None
    limits: MoneyLimits = MoneyLimits()
    accounted: bool = False
    cuts: bool = False
    clock: Clock | None = None
    assign: Callable[[np.random.Generator, Queue], int] | None = None
    in_order: bool = True


def read_design(section: Mapping[str, Any]) -> RatingsDesign:
    """Read the keys of a design; studies that were declared before a key had the default that stands here."""
    return RatingsDesign(
        documents=int(section["documents"]),
        ratings_per_item=int(section["ratings_per_item"]),
        studies_per_document_set=int(section["studies_per_document_set"]),
        grouping=section["grouping"],
        load_entropy=section["load_entropy"],
        load_tolerance=section["load_tolerance"],
        load_tries=section["load_tries"],
        min_documents=int(section.get("min_documents", 1)),
        estimand=section.get("estimand", "all_raters"),
        further=read_further(section),
    )


def read_further(design: Mapping[str, Any]) -> Further:
    """Read from the keys of a design who else is asked."""
    return Further(design.get("overlap", 0.0), design.get("boost_margin"))


def read_assignment(design: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the section of the rule that says who takes which task; None where tasks are dealt beforehand."""
    section: Mapping[str, Any] = design.get("assignment", {})
    return section if "_target_" in section else None


def prepare(config: Mapping[str, Any]) -> PreparedRatings:
    """Bind grouping, normalisation and test."""
    plugins = config.get("plugins", ())
    test, assignment = bind(config["analysis"]["test"], plugins), read_assignment(config["design"])
    return PreparedRatings(
        seed=config["seed"],
        design=read_design(config["design"]),
        group=bind(config["design"]["grouping"], plugins),
        normalise=bind(config["analysis"]["normalization"], plugins),
        test=test,
        reads_ratings=read_data_type(test.func) is ScoredRatings,
        family=_bind_beside(FAMILIES, config["analysis"]["test"], plugins),
        differences=_bind_beside(DIFFERENCES, config["analysis"]["test"], plugins),
        studies=_bind_beside(STUDIES, config["analysis"]["test"], plugins),
        multiplicity=config["decision"].get("multiplicity", "none"),
        level=config["decision"]["level"],
        claim=bind(config["decision"], plugins) if "_target_" in config["decision"] else None,
        prices=read_prices(config["budget"], RATE),
        limits=read_money_limits(config["budget"]),
        accounted=has_account(config),
        cuts=has_account(config) and not has_clock(config),
        clock=bind_clock(config, RATE),
        assign=None if assignment is None else bind(assignment, plugins),
        in_order=assignment is None or is_chosen(assignment, one_stream, plugins),
    )


def _bind_beside(
    functions: Mapping[Callable[..., Any], Callable[..., Any]], section: Mapping[str, Any], plugins: Sequence[str]
) -> Callable[..., Any] | None:
    """Bind the function that stands beside the chosen test to the keys of the test."""
    keys = {key: value for key, value in section.items() if key != "_target_"}
    matches = (function for test, function in functions.items() if is_chosen(section, test, plugins))
    return next((functools.partial(function, **keys) for function in matches), None)


def same_layout(prepared: PreparedRatings) -> str:
    """Return as JSON all settings that decide who can be asked about which outputs: equal ones share a layout."""
    settings = [prepared.design.grouping, prepared.design.ratings_per_item]
    # Money may lower the ratings per item, and with fewer documents it lowers them less.
    cut = [*prepared.prices, *prepared.limits, prepared.design.min_documents] if prepared.cuts else []
    return json.dumps([*settings, *cut])
