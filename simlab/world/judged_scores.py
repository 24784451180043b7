"""Make a world of judgements from a table of ratings, whose judgements are drawn again; add a metric to it.

`judged_scores`, an option of `raters`, takes a world of recorded ratings and returns one of judgements.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from simlab.types import (
    JUDGE,
    Bools,
    Contest,
    Floats,
    Frame,
    InputError,
    JudgedWorld,
    Latent,
    OutputMetric,
    RatedWorld,
    World,
)
from simlab.world.laws.fixed import fixed_ratings
from simlab.world.laws.judgements import Judges, require_judgements
from simlab.world.laws.recorded_judgements import RecordedJudgements


def judged_scores(rng: np.random.Generator, ratings: RatedWorld, *, judgement: Literal["one", "mean"]) -> JudgedWorld:
    """Judge outputs as the raters of a table did, drawn again: one of the judgements of an output, or their mean.

    The test set is what raters judged of all systems; the truth is its mean. Scores of which lower are better are
    negated. Source: Chaganty et al. 2018, section 5 (`mean`: their noiseless humans).

    Raises InputError for systems that no table of ratings holds, or that share no judged output.
    """
    fixed = fixed_ratings(ratings) if isinstance(ratings, World) else None
    if fixed is None:
        raise InputError("raters=judged_scores needs systems=recorded; with systems=alpha_optimal choose raters=judges")
    value = -fixed.value if ratings.frame.lower_is_better else fixed.value
    everywhere = np.asarray(np.isfinite(value).any(2).all(0))
    if everywhere.sum() < 2:
        raise InputError("systems=recorded: no two outputs were judged of all systems; name some with systems.names")
    given = _move_gaps_back(value[:, everywhere])
    frame = _select_items(ratings.frame, everywhere)
    score = np.nanmean(given, axis=2)
    labels = judgement == "one" and bool(np.isin(given[np.isfinite(given)], (0.0, 1.0)).all())
    contest = Contest(frame.system_names, score.shape[1], None, fixed=True)
    # Moments, for whoever asks the law of drawn outputs for them.
    moments = Latent(score.mean(1), max(float(score.std(1).mean()), 1e-9), 0.0, 0.0)
    judges = Judges("binary" if labels else "score", np.zeros(1), 0.0)
    law = RecordedJudgements(contest, moments, judges, given, judgement)
    return World(frame, {JUDGE: law})


def add_perfect_metric(world: World, form: Literal["all", "leave_one_out"]) -> World:
    """Add the metric whose score of an output is the mean of the human judgements of it, or of the others.

    Raises InputError for `leave_one_out` where outputs have one judgement, or not the same number of them.
    """
    law = require_judgements(world)
    if not isinstance(law, RecordedJudgements):
        raise ValueError("a world of judgements that are drawn knows a perfect metric")
    scores = law.score if form == "all" else _mean_of_others(law)
    return replace(world, metric=OutputMetric(None, recorded=_make_read_only(scores)))


def add_recorded_metric(world: World, score: Floats) -> World:
    """Add a metric's scores of the outputs of a table, `[system, item]`; items without scores of all are left out.

    Raises InputError where fewer than two items are left, naming the systems without any score.
    """
    law = require_judgements(world)
    if not isinstance(law, RecordedJudgements):
        raise ValueError("scores of a table are of outputs of a table")
    kept = np.asarray(np.isfinite(score).all(0))
    if kept.sum() < 2:
        names, known = world.frame.system_names, [bool(np.isfinite(row).any()) for row in score]
        lacking = ", ".join(name for name, some in zip(names, known, strict=True) if not some)
        usable = ",".join(name for name, some in zip(names, known, strict=True) if some)
        raise InputError(
            f"metric=recorded: no two judged outputs have scores of all systems (of {lacking or 'no system'} none at "
            f"all); leave some out: systems.names=[{usable}]"
        )
    given = _make_read_only(law.given[:, kept])
    mean = np.nanmean(given, axis=2).mean(1)
    contest = replace(law.contest, n_items=int(kept.sum()))
    law = replace(law, given=given, contest=contest, latent=replace(law.latent, quality=mean))
    metric = OutputMetric(None, recorded=_make_read_only(score[:, kept]))
    return World(_select_items(world.frame, kept), {JUDGE: law}, metric=metric)


def _mean_of_others(law: RecordedJudgements) -> Floats:
    counts = law.counts
    if law.judgement == "mean" or counts.min() < 2 or counts.min() != counts.max():
        raise InputError(
            "metric.form=leave_one_out needs the other humans of each judgement, and these outputs have "
            f"{counts.min()} to {counts.max()} judgements (raters.judgement={law.judgement}); it needs as many of "
            "each, two at least, and raters.judgement=one"
        )
    n = int(counts.min())
    given = law.given[:, :, :n]
    return np.asarray((given.sum(2, keepdims=True) - given) / (n - 1))


def _move_gaps_back(value: Floats) -> Floats:
    """Move gaps behind the judgements of each output."""
    order = np.argsort(np.isnan(value), axis=2, kind="stable")
    moved = np.take_along_axis(value, order, axis=2)
    return _make_read_only(moved[:, :, : int(np.isfinite(moved).sum(2).max())])


def _select_items(frame: Frame, kept: Bools) -> Frame:
    known, document = np.unique(frame.document[kept], return_inverse=True)
    return replace(
        frame,
        document=document,
        bucket=np.zeros(len(known), np.int64),
        rater=frame.rater[:, kept],
        document_names=tuple(frame.document_names[k] for k in known) if frame.document_names else (),
        item_names=tuple(frame.item_names[k] for k in np.flatnonzero(kept)) if frame.item_names else (),
        lower_is_better=False,
    )


def _make_read_only(array: Floats) -> Floats:
    array.flags.writeable = False
    return array
