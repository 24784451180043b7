"""Say how large the worlds of a plan are, and how far systems lie apart in them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from simlab.answers.plan import SIZE
from simlab.concluding.goals import POINTS, YES
from simlab.studies.worlds import draw_world
from simlab.types import RATE, InputError, World
from simlab.world.files.fitted_world import read_world
from simlab.world.laws.scales import ScaledRatings

WORLDS = 40
"""Worlds whose truths say how far systems lie apart."""
MOST_DOCUMENTS = 2000
WITHOUT_MONEY = 200
"""So many documents at most where nobody says what there is to spend."""
DOCUMENTS, SEGMENTS = "systems.n_documents", "systems.n_segments"


def unit_of(world: World) -> str:
    """Return the unit of the systems' truths: points, or the share of yes where that is all that raters say."""
    law = world.answers[RATE]
    return YES if isinstance(law, ScaledRatings) and law.scale.law == "binary" else POINTS


def largest(config: Mapping[str, Any], n_systems: int, segments: float) -> int:
    """Return the most documents that the money pays, one rating of each segment of each system."""
    budget = config["budget"]
    money, price = budget["total"], budget["price_per_rating"] * (1 + budget["platform_fee"])
    if money is None or price <= 0:
        return WITHOUT_MONEY
    # Documents differ in length, so some campaigns pay for a few more than the mean.
    return int(
        min(max(1.1 * money / (price * n_systems * segments), config["design"]["min_documents"]), MOST_DOCUMENTS)
    )


def sizes(config: Mapping[str, Any], documents: int) -> dict[str, Any]:
    """Return the settings by which a world has so many documents, and designs may ask for all of them."""
    systems = config["systems"]
    found: dict[str, Any] = {DOCUMENTS: documents} if "n_documents" in systems else {}
    if "n_segments" in systems and found:
        found[SEGMENTS] = math.ceil(documents * systems["n_segments"] / systems["n_documents"])
    return found | {SIZE: min(documents, config["design"]["documents"])}


def system_sd(config: Mapping[str, Any]) -> float:
    """Return the standard deviation of the systems' truths: the root of its mean square over worlds.

    Of a fitted world these are draws of the posterior, so that what the pilot's noise added to its means is left out.
    """
    truths = [draw_world(config, world).truth for world in range(WORLDS)]
    return float(np.sqrt(np.mean([np.var(truth, ddof=1) for truth in truths if truth is not None])))


def draws(config: Mapping[str, Any]) -> int:
    """Count the posterior draws of a fitted world; 0 of others."""
    systems = config["systems"]
    if not str(systems.get("_target_", "")).startswith("simlab.world.fitted."):
        return 0
    return len(read_world(systems["path"], None).effects)


def check_people(n_systems: int, n_raters: int) -> None:
    """Raise InputError for numbers of systems and raters that no study has."""
    if n_systems < 2:
        raise InputError(f"--systems {n_systems}: a study compares at least two systems")
    if n_raters < 1:
        raise InputError(f"--raters {n_raters}: a study has at least one rater")
