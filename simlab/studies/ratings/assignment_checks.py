"""Hold against each other the keys that say who takes which task, and who else is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from simlab.design.assignment import dynamic
from simlab.design.grouping import pseudo_side_by_side
from simlab.parts import chosen, name_of
from simlab.studies.money import on_a_clock
from simlab.studies.ratings.preparing import Further, assignment_of, further_of
from simlab.types import Frame, InputError


def check_assignment(config: Mapping[str, Any], frame: Frame) -> None:
    """Raise InputError where a platform is asked for what it cannot know, or for raters that there are not."""
    section = assignment_of(config["design"])
    if section is not None:
        _check_rule(config, section)
    _check_further(config, further_of(config["design"]), frame)


def _check_rule(config: Mapping[str, Any], section: Mapping[str, Any]) -> None:
    design, plugins, name = config["design"], config.get("plugins", ()), name_of(section)
    if not on_a_clock(config):
        raise InputError(
            f"design.assignment={name}: only a clock knows who is free next; choose design.collection=crowd, experts "
            "or team, or design.assignment=as_dealt"
        )
    if design["load_entropy"] is not None:
        raise InputError(
            f"design.load_entropy={design['load_entropy']}: under design.assignment={name} loads are what comes of it; "
            "set design.load_entropy=null, or choose design.assignment=as_dealt"
        )
    if chosen(section, dynamic, plugins) and chosen(design["grouping"], pseudo_side_by_side, plugins):
        raise InputError(
            "design.assignment=dynamic chooses the system that is rated next, and under "
            "design.grouping=pseudo_side_by_side all are rated together; choose design.grouping=ungrouped or "
            "system_balanced"
        )


def _check_further(config: Mapping[str, Any], further: Further, frame: Frame) -> None:
    per_item, boost = config["design"]["ratings_per_item"], further.boost_margin
    if further.overlap > 0 and per_item > 1:
        raise InputError(
            f"design.overlap={further.overlap:g}: with design.ratings_per_item={per_item} every output has a second "
            "rating; set design.overlap=0 or design.ratings_per_item=1"
        )
    if further.overlap > 0 and not on_a_clock(config):
        raise InputError(
            f"design.overlap={further.overlap:g}: second raters are asked on a clock; choose "
            "design.collection=crowd, experts or team, or design.overlap=0"
        )
    if boost is not None and not on_a_clock(config):
        raise InputError(
            f"design.boost_margin={boost:g}: who is asked once raters have disagreed comes after them, on a clock; "
            "choose design.collection=crowd, experts or team, or design.boost_margin=null"
        )
    if boost is not None and per_item == 1 and further.overlap == 0:
        raise InputError(
            f"design.boost_margin={boost:g}: outputs with one rating show no disagreement; set design.overlap above 0 "
            "or design.ratings_per_item=2, or design.boost_margin=null"
        )
    needed = max(per_item, 2 if further.overlap > 0 else 1) + (boost is not None)
    # That buckets have raters enough for the ratings per item is checked beside this.
    if needed > per_item and (there := _fewest(frame)) < needed:
        key = "design.overlap" if boost is None else "design.boost_margin"
        value = further.overlap if boost is None else boost
        raise InputError(
            f"{key}={value:g} asks {needed} raters about an output, and a bucket has {there}; leave it out"
        )


def _fewest(frame: Frame) -> int:
    """Count the raters of the smallest bucket."""
    seats = np.any(frame.rater >= 0, axis=0)
    bucket = frame.bucket[frame.document]
    return min(int(np.any(seats[bucket == b], axis=0).sum()) for b in np.unique(bucket))
