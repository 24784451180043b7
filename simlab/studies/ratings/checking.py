"""Check the keys of a study of ratings against each other and against its world.

Call `check` with a config and its first world; it returns the world's `Shape`, or raises InputError. `find_limits`
returns the largest sizes that a recorded table allows, by key.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from simlab.analysis.normalization import error, mean, refuse_separate_raters, zscore
from simlab.analysis.raters.crossed import crossed_flips
from simlab.analysis.raters.flips import rater_flips
from simlab.analysis.raters.t_tests import by_rater
from simlab.analysis.significance import permutation
from simlab.design.assignment import dynamic
from simlab.design.balance import DealTable
from simlab.design.documents import spread_over_buckets
from simlab.design.grouping import pseudo_side_by_side
from simlab.formulas import least_entropy
from simlab.messages import pluralise
from simlab.parts import is_chosen, name_of
from simlab.studies.campaign_clock import check_deadline
from simlab.studies.kind import Shape
from simlab.studies.money import has_clock
from simlab.studies.ratings.appraising import THESE_RATERS
from simlab.studies.ratings.budget_cuts import (
    count_documents_paid,
    count_fewest_documents,
    count_ratings,
    refuse_unpaid,
)
from simlab.studies.ratings.collecting import lay
from simlab.studies.ratings.preparing import PreparedRatings, RatingsDesign, prepare, read_assignment, read_design
from simlab.types import RATE, Frame, InputError, Law, Place, World
from simlab.world.laws.fixed import FixedRatings, fixed_ratings
from simlab.world.laws.scales import ScaledRatings, score_range
from simlab.world.recorded import holds_averages


def check(config: Mapping[str, Any], world: World) -> Shape:
    """Return the shape of the world; raise InputError where the keys of a cell contradict each other or the world."""
    if holds_averages(world):
        raise InputError(
            "systems.path: this table holds averaged scores without raters, and a study of ratings is re-rated from "
            "ratings per rater; give the table that has them, or compare scores: decision=human_only"
        )
    if world.truth is None and config["worlds"] > 1:
        raise InputError(f"worlds={config['worlds']}: a recorded table is one world; set worlds=1 and raise studies")
    design = read_design(config["design"])
    _check_estimand(config, design, world)
    _check_ratings_per_item(design, world.frame)
    _check_assignment(config, design, world.frame)
    prepared = prepare(config)
    table = lay(prepared, world, Place(0))
    _check_documents(design, world.frame, table, recorded=world.truth is None)
    refuse_unpaid(prepared, world, table)
    design = design._replace(documents=count_documents_paid(prepared, world, table)[0])
    _check_load_entropy(design, world.frame, table)
    _check_normalization(config["analysis"]["normalization"], world, config.get("plugins", ()))
    if "_target_" not in config["decision"]:
        _check_test(config, prepared, design._replace(ratings_per_item=table.slots.shape[2]), world.frame)
    _check_clock(prepared, world, table)
    frame = world.frame
    return Shape(frame.n_systems, frame.n_documents, len(frame.document), frame.n_raters, frame.system_names)


def _check_estimand(config: Mapping[str, Any], design: RatingsDesign, world: World) -> None:
    """Refuse a truth of these raters where nobody knows it, and where a world has several pools of them."""
    if design.estimand != THESE_RATERS:
        return
    if world.of_pool is None:
        raise InputError(
            "design.estimand=these_raters: nobody knows what is true of the raters of this world alone; leave it at "
            "all_raters"
        )
    if config["pools"] > 1:
        raise InputError(
            f"design.estimand=these_raters: with pools={config['pools']} a world has several truths; set pools=1"
        )


def _check_clock(prepared: PreparedRatings, world: World, table: DealTable) -> None:
    """Refuse newcomers of whom nobody knows what they say, and a deadline that leaves no time for a campaign."""
    if prepared.clock is None:
        return
    if prepared.clock.replaces == "newcomers" and world.again is None:
        raise InputError(
            "design.collection.replacement=newcomers: of this world nobody can be drawn anew (a recorded table has its "
            "own raters, once); set it to colleagues or none"
        )
    n = count_fewest_documents(prepared)
    check_deadline(
        prepared.clock,
        world,
        answers=count_ratings(world.frame, table, n, longest=False),
        of=f"rated {pluralise(n, 'document')} (design.min_documents)",
        seats=world.frame.n_raters,
    )


def find_limits(config: Mapping[str, Any], world: World) -> dict[str, int]:
    """Return how many documents can be asked about, and how often each output can be rated, of a recorded table."""
    if holds_averages(world):
        return {}
    ratings = _most_ratings(world.frame)
    prepared = prepare(config)
    design = prepared.design._replace(ratings_per_item=min(prepared.design.ratings_per_item, ratings))
    table = lay(prepared._replace(design=design), world, Place(0))
    return {"design.documents": int(table.rateable.sum()), "design.ratings_per_item": ratings}


def _most_ratings(frame: Frame) -> int:
    seats = np.any(frame.rater >= 0, axis=0)
    bucket = frame.bucket[frame.document]
    return min(int(np.any(seats[bucket == b], axis=0).sum()) for b in np.unique(bucket))


def _check_ratings_per_item(design: RatingsDesign, frame: Frame) -> None:
    most = _most_ratings(frame)
    if design.ratings_per_item > most:
        raise InputError(
            f"design.ratings_per_item={design.ratings_per_item} exceeds the {most} raters of a bucket; "
            f"lower it to at most {most}"
        )


def _check_documents(design: RatingsDesign, frame: Frame, table: DealTable, *, recorded: bool) -> None:
    planned, rateable = design.documents, int(table.rateable.sum())
    if planned > frame.n_documents:
        more = "" if recorded else " or raise systems.n_documents"
        raise InputError(
            f"design.documents={planned} exceeds the {frame.n_documents} documents of this world; "
            f"lower design.documents{more}"
        )
    if rateable == 0:
        raise InputError(
            "systems.path: in this table no document was rated throughout by one rater, as every grouping needs; "
            "such ratings cannot be dealt again"
        )
    if planned > rateable:
        rule = name_of(design.grouping)
        raise InputError(
            f"design.documents={planned}: under design.grouping={rule} only {rateable} of {frame.n_documents} "
            "documents can be asked about, for the others nobody rated all outputs that go together; lower "
            "design.documents or choose design.grouping=ungrouped"
        )
    if planned < design.min_documents:
        raise InputError(
            f"design.documents={planned} is fewer than {design.min_documents}: with so few documents hardly "
            "anything can be significant and SRP is 1 by emptiness; raise design.documents, or set "
            f"design.min_documents={planned} if you mean it"
        )


def _check_load_entropy(design: RatingsDesign, frame: Frame, table: DealTable) -> None:
    target = design.load_entropy
    if target is None:
        return
    sizes = np.bincount(frame.bucket[table.rateable], minlength=len(table.n_choices))
    quota = spread_over_buckets(sizes, design.documents, np.arange(len(sizes)))
    choices = [raters[:n] for raters, n in zip(table.raters, table.n_choices, strict=True)]
    least = least_entropy(choices, quota, frame.n_raters)
    if target < least - design.load_tolerance:
        raise InputError(
            f"design.load_entropy={target} is below {least:.3f}, the least that the buckets of this world allow; "
            "raise it, or set design.load_entropy=null for a balanced load"
        )


def _check_test(config: Mapping[str, Any], prepared: PreparedRatings, design: RatingsDesign, frame: Frame) -> None:
    """Refuse tests that could find nothing, and families that a test cannot judge together."""
    test, level = config["analysis"]["test"], prepared.level
    least = _least_p_value(test, frame, design.documents, config.get("plugins", ()))
    several = design.ratings_per_item + design.further.uneven
    if several > 1 and any(is_chosen(test, part, config.get("plugins", ())) for part in (by_rater, rater_flips)):
        raise InputError(
            f"design.{_name_repeat_key(design)}: analysis.test={name_of(test)} takes what raters "
            "contribute for independent, and raters who rate the same outputs share what these are like; choose "
            "analysis.test=two_way or crossed_flips"
        )
    if _flips_raters(test, config.get("plugins", ())) and least > level:
        raise InputError(
            f"analysis.test={name_of(test)}: flips of {frame.n_raters} raters give no p-value below {least:.3g}, so "
            f"nothing could be significant at decision.level={level:g}; ask at least "
            f"{math.ceil(1 - math.log2(level))} raters, raise decision.level or flips, "
            "or choose analysis.test=by_rater"
        )
    if least > level:
        raise InputError(
            f"analysis.test={name_of(test)} gives no p-value below {least:.2g}, so nothing could be significant at "
            f"decision.level={level:g}; raise the number of permutations or documents, or decision.level"
        )
    if prepared.multiplicity == "max_t" and prepared.family is None:
        raise InputError(
            "decision.multiplicity=max_t needs a test of all pairs at once, and "
            f"analysis.test={name_of(test)} has none; choose decision.multiplicity=holm, or analysis.test="
            "mixed_model, moderated, rater_flips, crossed_flips or permutation"
        )
    if prepared.multiplicity == "holm":
        _check_within_reach(name_of(test), least, frame.n_systems * (frame.n_systems - 1) // 2, level)


def _name_repeat_key(design: RatingsDesign) -> str:
    """Name the key by which outputs have several ratings."""
    if design.ratings_per_item > 1:
        return f"ratings_per_item={design.ratings_per_item}"
    return f"overlap={design.further.overlap:g}"


def _check_within_reach(test: str, least: float, n_pairs: int, level: float) -> None:
    # Holm's first step compares the least p-value with level / pairs.
    if least * n_pairs > level:
        raise InputError(
            f"decision.multiplicity=holm: analysis.test={test} gives no p-value below {least:.2g}, or "
            f"{least * n_pairs:.2g} for one of {n_pairs} pairs, so nothing could be significant at "
            f"decision.level={level:g}; choose decision.multiplicity=max_t"
        )


def _least_p_value(test: Mapping[str, Any], frame: Frame, documents: int, plugins: Sequence[str]) -> float:
    """Return the least p-value that flips can give; 0 where a test has no such bound."""
    if _flips_raters(test, plugins):
        # A pattern and its mirror image give the same statistic, so of 2^R patterns no p-value is below 2^(1 - R).
        return max(float(2.0 ** (1 - frame.n_raters)), 1 / (1 + int(test["flips"])))
    if is_chosen(test, permutation, plugins):
        # With the observed pattern counted in no p-value is below 1 / (1 + B).
        drawn = 1 / (1 + int(test["permutations"])) if test["p_value"] == "add_one" else 0.0
        return max(float(2.0 ** (1 - documents)), drawn)
    return 0.0


def _flips_raters(test: Mapping[str, Any], plugins: Sequence[str]) -> bool:
    return any(is_chosen(test, part, plugins) for part in (rater_flips, crossed_flips))


def _check_normalization(normalization: Mapping[str, Any], world: World, plugins: Sequence[str]) -> None:
    """Refuse what means nothing: factors where no errors are counted or 0 is no bound, levels of separate raters."""
    by_errors = is_chosen(normalization, error, plugins)
    law = world.answers[RATE]
    if by_errors and isinstance(law, ScaledRatings):
        raise InputError(
            "analysis.normalization=error needs the number of errors of each rating, and on a scale nobody counts "
            "errors; choose analysis.normalization=zscore, mean or none"
        )
    if by_errors and _lacks_error_counts(world):
        raise InputError(
            "analysis.normalization=error needs the number of errors of each rating, which these ratings lack; "
            "add a column `errors` or choose another normalization"
        )
    if by_errors or is_chosen(normalization, mean, plugins):
        low, high = _range(law)
        if low < 0 < high:
            raise InputError(
                f"analysis.normalization={name_of(normalization)} multiplies the scores of each rater by a factor, and "
                "these lie on both sides of 0, where no factor makes means agree; choose analysis.normalization=zscore"
            )
    if by_errors or is_chosen(normalization, mean, plugins) or is_chosen(normalization, zscore, plugins):
        frame = world.frame
        counts = np.zeros((int(frame.rater.max(initial=0)) + 1, frame.n_systems), np.int64)
        system, item, seat = np.nonzero(frame.rater >= 0)
        np.add.at(counts, (frame.rater[system, item, seat], system), 1)
        refuse_separate_raters(name_of(normalization), counts, frame.system_names)


def _range(law: Law) -> tuple[float, float]:
    """Return between which scores ratings lie; of laws that bound nothing below 0."""
    if isinstance(law, FixedRatings):
        return float(np.nanmin(law.value)), float(np.nanmax(law.value))
    return score_range(law.scale) if isinstance(law, ScaledRatings) else (0.0, np.inf)


def _lacks_error_counts(world: World) -> bool:
    ratings = fixed_ratings(world)
    return ratings is not None and int(ratings.errors.min()) < 0


def _check_assignment(config: Mapping[str, Any], design: RatingsDesign, frame: Frame) -> None:
    """Raise InputError where a platform is asked for what it cannot know, or for raters that there are not."""
    section = read_assignment(config["design"])
    if section is not None:
        _check_rule(config, design, section)
    _check_further(config, design, frame)


def _check_rule(config: Mapping[str, Any], design: RatingsDesign, section: Mapping[str, Any]) -> None:
    plugins, name = config.get("plugins", ()), name_of(section)
    if not has_clock(config):
        raise InputError(
            f"design.assignment={name}: only a clock knows who is free next; choose design.collection=crowd, experts "
            "or team, or design.assignment=as_dealt"
        )
    if design.load_entropy is not None:
        raise InputError(
            f"design.load_entropy={design.load_entropy}: under design.assignment={name} loads are what comes of it; "
            "set design.load_entropy=null, or choose design.assignment=as_dealt"
        )
    if is_chosen(section, dynamic, plugins) and is_chosen(design.grouping, pseudo_side_by_side, plugins):
        raise InputError(
            "design.assignment=dynamic chooses the system that is rated next, and under "
            "design.grouping=pseudo_side_by_side all are rated together; choose design.grouping=ungrouped or "
            "system_balanced"
        )


def _check_further(config: Mapping[str, Any], design: RatingsDesign, frame: Frame) -> None:
    per_item, further, boost = design.ratings_per_item, design.further, design.further.boost_margin
    if further.overlap > 0 and per_item > 1:
        raise InputError(
            f"design.overlap={further.overlap:g}: with design.ratings_per_item={per_item} every output has a second "
            "rating; set design.overlap=0 or design.ratings_per_item=1"
        )
    if further.overlap > 0 and not has_clock(config):
        raise InputError(
            f"design.overlap={further.overlap:g}: second raters are asked on a clock; choose "
            "design.collection=crowd, experts or team, or design.overlap=0"
        )
    if boost is not None and not has_clock(config):
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
    if needed > per_item and (there := _count_fewest_raters(frame)) < needed:
        key = "design.overlap" if boost is None else "design.boost_margin"
        value = further.overlap if boost is None else boost
        raise InputError(
            f"{key}={value:g} asks {needed} raters about an output, and a bucket has {there}; leave it out"
        )


def _count_fewest_raters(frame: Frame) -> int:
    """Count the raters of the smallest bucket."""
    seats = np.any(frame.rater >= 0, axis=0)
    bucket = frame.bucket[frame.document]
    return min(int(np.any(seats[bucket == b], axis=0).sum()) for b in np.unique(bucket))
