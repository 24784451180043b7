"""Apply the rules that join several keys of a config, once the shape of its world is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from simlab.design.balance import Table
from simlab.design.documents import spread_over_buckets
from simlab.formulas import least_entropy
from simlab.parts import bind
from simlab.studies.judgements.campaigns import carry_out, sizes
from simlab.studies.ratings.campaigns import lay_design
from simlab.studies.worlds import draw_world
from simlab.types import Evidence, Frame, InputError, JudgementWorld, PreferenceWorld, World
from simlab.world.recorded import holds_averages


@dataclass(frozen=True, slots=True)
class Shape:
    """Say how large the worlds of a cell are; all its worlds have the same shape."""

    n_systems: int
    n_documents: int
    n_items: int
    n_raters: int
    system_names: tuple[str, ...]


def check(config: Mapping[str, Any]) -> Shape:
    """Raise InputError where the keys of a cell contradict each other or its world; else return the world's shape."""
    world = draw_world(config, 0)
    if isinstance(world, PreferenceWorld):
        return _check_preferences(config, world)
    if isinstance(world, JudgementWorld):
        return _check_judgements(config, world)
    if holds_averages(world):
        raise InputError(
            "systems.path: this table holds averaged scores without raters, and a study of ratings is re-rated from "
            "ratings per rater; give the table that has them, or compare scores: decision=human_only"
        )
    if world.truth is None and config["worlds"] > 1:
        raise InputError(f"worlds={config['worlds']}: a recorded table is one world; set worlds=1 and raise studies")
    _check_ratings_per_item(config["design"], world.frame)
    table = lay_design(config, 0)
    _check_documents(config["design"], world.frame, table, recorded=world.truth is None)
    _check_load_entropy(config["design"], world.frame, table)
    _check_error_counts(config["analysis"]["normalization"], world)
    frame = world.frame
    return Shape(frame.n_systems, frame.n_documents, len(frame.document), frame.n_raters, frame.system_names)


def _check_preferences(config: Mapping[str, Any], world: PreferenceWorld) -> Shape:
    """Hold the budget and the worlds of a study of preferences against the outputs that there are."""
    contest, budget = world.contest, config["budget"]
    if contest.p is None and config["worlds"] > 1:
        raise InputError(f"worlds={config['worlds']}: a recorded table is one world; set worlds=1 and raise studies")
    if "_target_" not in config["decision"]:
        raise InputError("decision=significance judges ratings; for preferences choose decision=bayes or another rule")
    wanted = budget["annotations_per_pair"]
    if contest.p is not None and wanted > contest.n_items:
        raise InputError(
            f"budget.annotations_per_pair={wanted} exceeds the {contest.n_items} outputs that humans can rate; "
            "lower it or raise systems.n_items"
        )
    if budget["batch_size"] > wanted:
        raise InputError(
            f"budget.batch_size={budget['batch_size']} exceeds budget.annotations_per_pair={wanted}; lower it"
        )
    _ask_once(config, world)
    n_systems = len(contest.system_names)
    return Shape(n_systems, contest.n_items, contest.n_items, 0, contest.system_names)


def _check_judgements(config: Mapping[str, Any], world: JudgementWorld) -> Shape:
    """Carry out one small campaign, so that the parts say what they cannot work with."""
    most = sizes(config, world)
    if "_target_" in config["decision"]:
        raise InputError("decision: studies of judgements are decided by a z test; choose decision=significance")
    small = {name: min(n, 100) for name, n in zip(_COUNTS, most[:3], strict=True)}
    if world.contest.fixed:
        small["metric_ratings"] = config["budget"]["metric_ratings"]
    carry_out({**config, "budget": {**config["budget"], **small, "cost": None}}, world, 0, 0, 1)
    names = world.contest.system_names
    return Shape(len(names), world.contest.n_items, world.contest.n_items, len(world.judges.leniency), names)


_COUNTS = ("human_ratings", "metric_ratings", "calibration_ratings")


def _ask_once(config: Mapping[str, Any], world: PreferenceWorld) -> None:
    """Let the decision rule say, before anything is run, whether it can work with such a metric and its own keys."""
    none = np.zeros((1, 1, 3), np.int64)
    metric = none + (world.metric is not None)
    if world.metric is not None and (
        not world.metric.mu[:, 1].any() if world.metric.mu is not None else world.metric.margin == 0
    ):
        metric[..., 1] = 0
    bind(config["decision"], config.get("plugins", ()))(Evidence(none[0, 0, :1], none, none[..., None] * none, metric))


def _check_ratings_per_item(design: Mapping[str, Any], frame: Frame) -> None:
    seats = np.any(frame.rater >= 0, axis=0)
    bucket = frame.bucket[frame.document]
    most = min(int(np.any(seats[bucket == b], axis=0).sum()) for b in np.unique(bucket))
    if design["ratings_per_item"] > most:
        raise InputError(
            f"design.ratings_per_item={design['ratings_per_item']} exceeds the {most} raters of a bucket; "
            f"lower it to at most {most}"
        )


def _check_documents(design: Mapping[str, Any], frame: Frame, table: Table, *, recorded: bool) -> None:
    asked, rateable = design["documents"], int(table.rateable.sum())
    if asked > frame.n_documents:
        more = "" if recorded else " or raise systems.n_documents"
        raise InputError(
            f"design.documents={asked} exceeds the {frame.n_documents} documents of this world; "
            f"lower design.documents{more}"
        )
    if rateable == 0:
        raise InputError(
            "systems.path: in this table no document was rated throughout by one rater, as every grouping needs; "
            "such ratings cannot be dealt again"
        )
    if asked > rateable:
        rule = design["grouping"]["_target_"].rpartition(".")[2]
        raise InputError(
            f"design.documents={asked}: under design.grouping={rule} only {rateable} of {frame.n_documents} documents "
            "can be asked about, for the others nobody rated all outputs that go together; lower design.documents "
            "or choose design.grouping=ungrouped"
        )
    if asked < design["min_documents"]:
        raise InputError(
            f"design.documents={asked} is fewer than {design['min_documents']}: with so few documents hardly anything "
            "can be significant and SRP is 1 by emptiness; raise design.documents, or set "
            f"design.min_documents={asked} if you mean it"
        )


def _check_load_entropy(design: Mapping[str, Any], frame: Frame, table: Table) -> None:
    target = design["load_entropy"]
    if target is None:
        return
    sizes = np.bincount(frame.bucket[table.rateable], minlength=len(table.n_choices))
    quota = spread_over_buckets(sizes, design["documents"], np.arange(len(sizes)))
    choices = [raters[:n] for raters, n in zip(table.raters, table.n_choices, strict=True)]
    least = least_entropy(choices, quota, frame.n_raters)
    if target < least - design["load_tolerance"]:
        raise InputError(
            f"design.load_entropy={target} is below {least:.3f}, the least that the buckets of this world allow; "
            "raise it, or set design.load_entropy=null for a balanced load"
        )


def _check_error_counts(normalization: Mapping[str, Any], world: World) -> None:
    if normalization["_target_"] == "simlab.analysis.normalization.error" and _lacks_error_counts(world):
        raise InputError(
            "analysis.normalization=error needs the number of errors of each rating, which this table lacks; "
            "add a column `errors` or choose another normalization"
        )


def _lacks_error_counts(world: World) -> bool:
    return world.ratings is not None and int(world.ratings.errors.min()) < 0
