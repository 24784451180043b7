"""Tables whose judgements are drawn again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from places import places

from simlab.config import compose
from simlab.rng import stream
from simlab.studies.blocks import run_block
from simlab.types import RATE, Frame, InputError, World
from simlab.world.judged_scores import add_recorded_metric, judged_scores
from simlab.world.laws.fixed import FixedRatings
from simlab.world.laws.judgements import Needs, require_judgements
from simlab.world.output_metrics import perfect


def table(score: np.ndarray, *, lower_is_better: bool = False) -> World:
    n_systems, n_items, seats = score.shape
    document = np.arange(n_items)
    rater = np.where(np.isnan(score), -1, np.arange(seats))
    names = tuple("ABC"[:n_systems])
    items = tuple(str(k) for k in range(n_items))
    frame = Frame(document, document, rater, names, items, tuple("xyz"[:seats]), lower_is_better, items)
    return World(frame, {RATE: FixedRatings(score, np.zeros(score.shape, np.int64))})


def some_scores(seats: int = 3, noise: float = 1.0) -> np.ndarray:
    rng = stream(1, "scores", seats)
    return rng.normal(size=(2, 200, 1)) + noise * rng.normal(size=(2, 200, seats))


def needs(world: World, human: int = 5000) -> Needs:
    law = require_judgements(world)
    whole = law.outputs(stream(1), law.contest.n_items, world.metric, shared=True)
    return Needs(human, 0, 0, 1, True, True, whole, world.metric)


def test_judgements_are_drawn_from_those_of_their_output() -> None:
    score = some_scores()
    score[0, 3, 1] = score[1, 7, 0] = np.nan
    world = judged_scores(stream(1), table(score), judgement="one")
    law = require_judgements(world)
    found = law.draw(stream(2), needs(world))
    for system in range(2):
        assert set(found.y[system]) <= set(score[system][np.isfinite(score[system])])
    assert not np.isnan(found.y).any()
    np.testing.assert_allclose(found.y.mean(1), np.nanmean(score, 2).mean(1), atol=5 * 1.5 / np.sqrt(5000))
    assert law.quality(None).gamma == pytest.approx(law.annotator_variance() / law.score.var(1))


def test_noiseless_humans_say_the_mean() -> None:
    world = judged_scores(stream(1), table(some_scores()), judgement="mean")
    law = require_judgements(world)
    assert set(law.draw(stream(2), needs(world)).y[0]) <= set(law.score[0])
    assert (law.quality(None).gamma == 0).all()


def test_scores_of_which_lower_are_better_are_turned() -> None:
    score = some_scores()
    as_they_are, turned = (
        require_judgements(judged_scores(stream(1), table(score, lower_is_better=lower), judgement="one")).score
        for lower in (False, True)
    )
    np.testing.assert_array_equal(turned, -as_they_are)


def test_without_repeats_nobody_knows_the_noise() -> None:
    world = judged_scores(stream(1), table(some_scores(1)), judgement="one")
    said = require_judgements(world).score + stream(3).normal(size=(2, 200))
    found = require_judgements(world := add_recorded_metric(world, said)).quality(world.metric)
    assert np.isnan(found.gamma).all()
    assert np.isnan(found.correlation).all()
    rho = [np.corrcoef(said[k], require_judgements(world).score[k])[0, 1] for k in range(2)]
    np.testing.assert_allclose(found.efficiency, 1 / (1 - np.square(rho)))


@pytest.mark.parametrize("humans", [2, 3])
def test_the_mean_of_all_humans_is_worth_more_than_any_metric(humans: int) -> None:
    """It holds the judgement that it corrects, and exceeds the cap by K / (K - 1)."""
    rng, gamma = stream(4), 1.0
    score = rng.normal(size=(2, 40_000, 1)) + np.sqrt(gamma) * rng.normal(size=(2, 40_000, humans))
    world = judged_scores(stream(1), table(score), judgement="one")
    every, others = (perfect(rng, world, form=form) for form in ("all", "leave_one_out"))
    cap = (1 + gamma) / gamma
    found = require_judgements(every).quality(every.metric).efficiency
    np.testing.assert_allclose(found, cap * humans / (humans - 1), rtol=0.03)
    # The mean of the others is a metric of correlation (1 + gamma / (K - 1))^-1/2.
    expected = (1 + gamma) / (1 - 1 / (1 + gamma / (humans - 1)) + gamma)
    np.testing.assert_allclose(require_judgements(others).quality(others.metric).efficiency, expected, rtol=0.03)


def test_outputs_without_a_word_of_the_metric_are_left_out() -> None:
    world = judged_scores(stream(1), table(some_scores()), judgement="one")
    said = require_judgements(world).score.copy()
    said[1, :50] = np.nan
    left = add_recorded_metric(world, said)
    assert require_judgements(left).contest.n_items == len(left.frame.item_names) == 150
    said[1] = np.nan
    with pytest.raises(InputError, match=r"of B none at all\); leave some out: systems.names=\[A\]"):
        add_recorded_metric(world, said)


@pytest.mark.parametrize(
    ("form", "seats", "words"),
    [(None, 3, "give one"), ("leave_one_out", 1, "1 to 1 judgements")],
)
def test_forms_of_the_perfect_metric_need_what_they_speak_of(form: Any, seats: int, words: str) -> None:
    world = judged_scores(stream(1), table(some_scores(seats)), judgement="one")
    with pytest.raises(InputError, match=words):
        perfect(stream(1), world, form=form)


RECORDED = (
    *("question=judge", "systems=recorded", "metric=perfect", "analysis.estimator=control_variates"),
    *("design.replacement=true", "budget.metric_ratings=null", "budget.human_ratings=300", "studies=40"),
)


def test_a_study_of_the_built_in_table_covers_its_means_and_saves_what_the_formula_says() -> None:
    config = compose([*RECORDED, "metric.form=all", "analysis.estimator.interval=normal"])
    found = run_block(config, places(0, 40)).arrays
    inside = (found["low"] <= found["true_value"]) & (found["true_value"] <= found["high"])
    assert 0.85 < inside.mean() < 0.97  # scores of errors are skewed
    wide = (found["baseline_width"] ** 2).mean(0) / ((found["high"] - found["low"]) ** 2).mean(0)
    np.testing.assert_allclose(wide, found["true_efficiency"][0], rtol=0.25)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (("decision=betting_width", "analysis.estimator=sample_mean"), "on a scale with ends"),
        (("decision=ppi_width", "decision.low=-10.0", "decision.high=0.0"), "judgements lie from -"),
    ],
)
def test_the_scale_of_a_table_is_told(keys: tuple[str, ...], words: str) -> None:
    from simlab.studies.checks import check

    plain = [word for word in RECORDED if not any(word.startswith(key.partition("=")[0] + "=") for key in keys)]
    with pytest.raises(InputError, match=words):
        check(compose([*plain, "metric.form=all", *keys]))
