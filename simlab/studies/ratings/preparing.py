"""Bind the parts of a study of ratings, once a cell."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from simlab.analysis.multiplicity import Family, Multiplicity
from simlab.analysis.raters.crossed import crossed, crossed_flips
from simlab.analysis.raters.flips import flipped, rater_flips
from simlab.analysis.significance import permutation, permuted
from simlab.parts import bind, chosen, data_of
from simlab.studies.clocked import Clock, clock_of
from simlab.studies.money import Prices, accounted, on_a_clock, prices_of
from simlab.types import RATE, Array, Arrived, Claims, Rated, Seen

FAMILIES: Mapping[Callable[..., Any], Callable[..., Family]] = {
    permutation: permuted,
    rater_flips: flipped,
    crossed_flips: crossed,
}
"""Tests by flips, each with the function that says what its flips do to all pairs at once."""


class Prepared(NamedTuple):
    """Hold what a cell asks: its design, the bound parts, and what it costs.

    `cuts`: the design is cut to what the money pays; on a clock the money ends the campaign instead.

    The test is handed the ratings if `reads_ratings`, else documents' totals. `family` is what max-T asks; only tests
    by flips have it. `claim` is a decision rule that watches ratings come (None: the test's p-values decide).
    """

    seed: int
    design: Mapping[str, Any]
    group: Callable[..., Any]
    normalise: Callable[[Seen], Seen]
    test: Callable[[np.random.Generator, Any], Array]
    level: float
    prices: Prices
    reads_ratings: bool = False
    family: Callable[[np.random.Generator, Rated], Family] | None = None
    multiplicity: Multiplicity = "none"
    claim: Callable[[Arrived], Claims] | None = None
    budget: Mapping[str, Any] = {}
    accounted: bool = False
    cuts: bool = False
    clock: Clock | None = None


def prepare(config: Mapping[str, Any]) -> Prepared:
    """Bind grouping, normalisation and test."""
    plugins = config.get("plugins", ())
    test = bind(config["analysis"]["test"], plugins)
    return Prepared(
        seed=config["seed"],
        design=config["design"],
        group=bind(config["design"]["grouping"], plugins),
        normalise=bind(config["analysis"]["normalization"], plugins),
        test=test,
        reads_ratings=data_of(test.func) is Rated,
        family=_family(config["analysis"]["test"], plugins),
        multiplicity=config["decision"].get("multiplicity", "none"),
        level=config["decision"]["level"],
        claim=bind(config["decision"], plugins) if "_target_" in config["decision"] else None,
        prices=prices_of(config["budget"], RATE),
        budget=config["budget"],
        accounted=accounted(config),
        cuts=accounted(config) and not on_a_clock(config),
        clock=clock_of(config, RATE),
    )


def _family(section: Mapping[str, Any], plugins: Sequence[str]) -> Callable[..., Family] | None:
    keys = {key: value for key, value in section.items() if key != "_target_"}
    found = (family for test, family in FAMILIES.items() if chosen(section, test, plugins))
    return next((functools.partial(family, **keys) for family in found), None)


def same_layout(prepared: Prepared) -> str:
    """Write down what decides who can be asked about what."""
    asked = [prepared.design["grouping"], prepared.design["ratings_per_item"]]
    # Money may lower the ratings per item, and with fewer documents it lowers them less.
    cut = [*prepared.prices, dict(prepared.budget), prepared.design.get("min_documents")] if prepared.cuts else []
    return json.dumps([*asked, *cut])
