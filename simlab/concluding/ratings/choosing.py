"""Compose the analysis of a table for which there is no plan: the usual one, and what the user says of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simlab.concluding.wanted import Wanted
from simlab.config import compose
from simlab.messages import legible
from simlab.types import InputError

FLIPS = 2000
"""Patterns of flips: at .05 the bound of the largest statistic is known to within a hundredth or two."""

USUAL = {"decision.multiplicity": "max_t", "analysis.test": "moderated"}
"""The analysis of every table: its design alone decides what each pair is claimed for, and never a score."""

AT_ONCE = ("mixed_model", "moderated", "permutation", "rater_flips", "crossed_flips")
"""Tests that judge all pairs at once."""


def config_of(wanted: Wanted) -> Mapping[str, Any]:
    """Compose the config of the analysis; what the user says of it takes the place of what is chosen.

    Raises InputError for keys that a study of ratings does not have, and for keys of how it is collected.
    """
    said = {word.partition("=")[0]: word for word in wanted.overrides}
    _check_keys(said, wanted)
    chosen = dict(USUAL)
    if "analysis.test" in said:
        test = said["analysis.test"].partition("=")[2]
        chosen = {"decision.multiplicity": "max_t" if test in AT_ONCE else "holm"}
        if test == "permutation":
            chosen["analysis.test.permutations"] = str(FLIPS)
    if wanted.family == "fdr":
        chosen["decision.multiplicity"] = "bh"
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
