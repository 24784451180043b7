"""Give a world of recorded ratings the scores that a real metric gave its outputs.

`recorded`, an option of `metric`, takes a world and the file of a metric's scores, and returns the world with scores
`[system, item]`, or with a `MetricLaw` where outputs are compared; `source` finds the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Le

from simlab import files
from simlab.messages import clip, pluralise
from simlab.tables import columns as told_columns
from simlab.tables.metric_scores import FAMILY, AlignedScores, Item, MetricScores, align, find_file, read, segments
from simlab.types import COMPARE, JUDGE, Bools, Floats, InputError, MetricLaw, World
from simlab.types.bounds import Spread
from simlab.world.judged_scores import add_recorded_metric
from simlab.world.laws.comparisons import compare_sizes
from simlab.world.metrics import IDEAL

NONE, MADE_UP = "none", "ideal"
"""Stand in the place of a column: no metric, and the ideal one of Deriu et al. 2023."""
NO_COLUMNS = (NONE, MADE_UP)
Better = Literal["higher", "lower"]
Bins = Annotated[int, Ge(1), Le(3)]


def recorded(
    rng: np.random.Generator,
    world: World,
    *,
    path: str | None,
    column: str | None,
    margin: Spread,
    bins: Bins,
    better: Better | None,
    columns: str | None,
    sha256: str | None,
) -> World:
    """Add the scores that a metric gave to the outputs of a table of ratings, found by their names.

    `path` is a table whose `column` has the scores, or a file of segment scores of mt-metrics-eval, where `column`
    names the metric. Of two outputs the one with the higher score is preferred, up to a `margin`, within which they are
    as good (Deriu et al. 2023, definition 5), and of sizes that `bins` tells apart (see `compare_sizes`); outputs that
    no human rated have their metric's word alone. Where outputs
    are rated one by one the scores correct the ratings, and every output that humans rated needs one. `better` says
    which scores are better (None: higher); `columns` (`ours=theirs,...`) how the table calls the others.

    `column="none"` gives no metric, `column="ideal"` that of appendix E in place of a real one, on the outputs that the
    table lists: humans are its oracle, and where they said nothing it follows the rates of their pair.

    Raises InputError for worlds that are no recorded table, for what is no table of scores, whose digest is not
    `sha256`, or that shares no system or segment with that of the ratings.
    """
    items = _items(world)
    file, own = _source(path, column)
    of = told_columns.parse_columns(columns)
    state = files.check_regular(file, clip(file), remedy="give the table of the metric's scores")
    if column == NONE:
        return world
    if sha256 is not None:
        files.refuse_change(files.digest(file), sha256, clip(file))
    if bins > 1 and (column == MADE_UP or COMPARE not in world.answers):
        reason = "metric.column=ideal gives no scores" if column == MADE_UP else "outputs are rated one by one here"
        raise InputError(f"metric.bins={bins} is for scores that are compared, and {reason}; set it to 1")
    if column == MADE_UP:
        return _make_ideal(world, items, _segments(file, state, tuple(of.items())))
    names = world.frame.system_names
    scores = _scores(file, state, own, better, tuple(of.items()))
    beside = align(scores, names, items)
    if COMPARE in world.answers:
        return _compare_scores(world, beside, margin, bins)
    if margin > 0:
        raise InputError(f"metric.margin={margin:g} is for outputs that are compared; here they are rated: set it to 0")
    if JUDGE in world.answers:
        return add_recorded_metric(world, beside.score)
    return replace(world, metric=_scores_of_every_output(world, beside.score, scores))


def describe_recorded_metric(section: Mapping[str, Any], world: World) -> tuple[str, str, str]:
    """Describe a recorded metric in three texts: its file, its name, its number of segments and direction of scores.

    `section` has the keys of `recorded`; `world` has the metric.
    """
    segments = pluralise(len(world.frame.document), "segment")
    counted = f"{segments} scored, all that humans rated"
    if JUDGE in world.answers:
        counted = f"{segments} that humans judged and it scored, of all systems"
    if isinstance(world.metric, MetricLaw) and world.metric.recorded is not None:
        scored: Bools = np.logical_or.reduce(world.metric.recorded >= 0, axis=0)
        n_items = len(world.frame.document)
        both, others = int(scored[:n_items].sum()), int(scored[n_items:].sum())
        counted = f"{both:,} of {segments} compared that humans rated, and {others:,} that they did not"
    file, column = source(section["path"], section["column"])
    better = section["better"] or ("lower" if file.name.endswith(".seg.rating") else "higher")
    turned = "" if section["better"] or file.name.endswith(FAMILY) else " (metric.better=lower turns it)"
    return clip(files.write_path(file)), clip(column or "metric", 40), f"{counted}; {better} is better{turned}"


def _items(world: World) -> tuple[Item, ...]:
    """Name the items of a recorded world: document and segment."""
    frame = world.frame
    if not frame.item_names:
        raise InputError("metric=recorded scores the outputs of a table of ratings; choose systems=recorded")
    named = (frame.document_names[document] for document in frame.document)
    return tuple(zip(named, frame.item_names, strict=True))


def _source(path: str | None, column: str | None) -> tuple[Path, str | None]:
    if path is None or not path.strip():
        raise InputError(
            "metric=recorded needs a metric: metric.column=NAME of the table of ratings (the built-in one has none, "
            "systems.path=simlab:wmt23_ende has six), or metric.path=FILE with its scores"
        )
    return source(path, column)


def source(path: str, column: str | None) -> tuple[Path, str | None]:
    """Return the file that holds a metric's scores, and the column that has them (None: the only one)."""
    file = files.expand_path(path)
    return (file, None) if column in NO_COLUMNS else find_file(file, column)


@lru_cache(maxsize=16)
def _scores(
    file: Path, state: files.FileState, column: str | None, better: Better | None, columns: tuple[tuple[str, str], ...]
) -> MetricScores:
    """Read a file once per process and state: blocks of a study ask for the same scores again and again."""
    return read(file, column, better=better, columns=dict(columns))


@lru_cache(maxsize=4)
def _segments(file: Path, state: files.FileState, columns: tuple[tuple[str, str], ...]) -> tuple[Item, ...]:
    return segments(file, dict(columns))


def _compare_scores(world: World, beside: AlignedScores, margin: float, bins: int) -> World:
    """Compare scores pair by pair: outputs that humans rated first, then the rest."""
    outcomes = compare_sizes(np.concatenate([beside.score, beside.rest], axis=1), margin, bins)
    outcomes.flags.writeable = False
    law = MetricLaw(outcomes.shape[1], recorded=outcomes, rest_document=beside.rest_document, bins=bins)
    return replace(world, metric=law)


def _make_ideal(world: World, items: tuple[Item, ...], listed: tuple[Item, ...]) -> World:
    if COMPARE not in world.answers:
        raise InputError("metric.column=ideal prefers one output of two; choose question=compare, or another column")
    n_systems = world.frame.n_systems
    n_outputs = max(len(listed), len(items))
    mu = np.repeat(np.array(IDEAL)[None], n_systems * (n_systems - 1) // 2, axis=0)
    return replace(world, metric=MetricLaw(n_outputs, mu=mu))


def _scores_of_every_output(world: World, score: Floats, scores: MetricScores) -> Floats:
    """Return scores of all outputs that can be rated; raise InputError where one has none."""
    lacking = np.argwhere(~np.isfinite(score))
    if len(lacking):
        system, item = lacking[0]
        frame = world.frame
        output = f"{frame.system_names[system]} on {' '.join(_items(world)[item])}"
        raise InputError(
            f"metric {clip(scores.name, 40)}: {scores.where} has no score of {clip(output, 200)} and of "
            f"{len(lacking) - 1:,} more outputs that humans rated; where outputs are rated one by one it needs them all"
        )
    score.flags.writeable = False
    return score
