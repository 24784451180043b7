"""A metric of segments follows what raters agree on, and corrects ratings without bias."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from places import places

from simlab.analysis.means.metric_gain import correct_by_metric
from simlab.config import compose
from simlab.rng import stream
from simlab.studies.blocks import run_block
from simlab.studies.worlds import draw_world
from simlab.types import Seen
from simlab.world.segment_metrics import agreed_quality, segment_metric

SIZE = ["systems.n_systems=3", "systems.n_documents=90", "systems.n_segments=900", "design.documents=30"]


def world(*words: str) -> Any:
    return draw_world(compose([*SIZE, *words]), 0)


@pytest.mark.parametrize("rho", [0.6, -0.3])
def test_the_metric_correlates_as_stated_with_what_raters_agree_on(rho: float) -> None:
    drawn = world()
    judged = segment_metric(stream(1), drawn, correlation=rho, correlation_sd=0.0)
    quality = agreed_quality(drawn)
    found = [np.corrcoef(q, g)[0, 1] for q, g in zip(quality, judged.metric, strict=True)]
    # Errors are counted: the higher score is the better one.
    assert np.max(np.abs(np.asarray(found) + rho)) < 4.5 * (1 - rho**2) / np.sqrt(900)
    again = segment_metric(stream(1), drawn, correlation=rho, correlation_sd=0.3)
    assert np.ptp([np.corrcoef(q, g)[0, 1] for q, g in zip(quality, again.metric, strict=True)]) > 0.1
    fixed = segment_metric(stream(1), world("raters.noise=potential"), correlation=rho, correlation_sd=0.0)
    assert np.isfinite(fixed.metric).all()


def test_a_mean_is_that_of_control_variates_by_definition() -> None:
    rng = stream(2)
    system, item = np.repeat([0, 1], 50), np.concatenate([rng.permutation(200)[:50] for _ in range(2)])
    metric = rng.standard_normal((2, 200)) + np.array([[3.0], [0.0]])
    value = 2 * metric[system, item] + rng.standard_normal(100)
    seen = Seen(system, item, np.zeros(100, int), value, np.zeros(100, int))
    fixed = correct_by_metric(seen, metric)
    said = metric[system, item]
    dummies = np.stack([said, system == 0, system == 1], axis=1).astype(float)
    slope = np.linalg.lstsq(dummies, value, rcond=None)[0][0]  # one slope, a constant for each system
    for k in range(2):
        rows = system == k
        wanted = value[rows].mean() - slope * (said[rows].mean() - metric[k].mean())
        assert fixed.value[rows].mean() == pytest.approx(wanted)
    constant = correct_by_metric(seen, np.ones((2, 200)))
    np.testing.assert_array_equal(constant.value, value)


@pytest.mark.long
def test_a_metric_narrows_the_error_and_leaves_the_mean() -> None:
    keys = [*SIZE, "raters.noise_share=0.1", "design.studies_per_document_set=1", "worlds=1", "studies=150"]
    errors, means = [], []
    for words in (["metric=none"], ["metric=segment_metric", "metric.correlation=1"]):
        estimate = run_block(compose([*keys, *words]), places(0, 150)).arrays["estimate"]
        errors.append(estimate.var(0).mean())
        means.append(estimate.mean(0))
    assert errors[1] < 0.7 * errors[0]
    assert np.max(np.abs(means[1] - means[0])) < 4.5 * np.sqrt(errors[0] / 150)
    useless = run_block(compose([*keys, "metric=segment_metric", "metric.correlation=0"]), places(0, 150))
    assert useless.arrays["estimate"].var(0).mean() > 0.85 * errors[0]


def test_ratings_stay_what_they_are_with_another_metric() -> None:
    drawn = world()
    judged = segment_metric(stream(1), drawn, correlation=0.5, correlation_sd=0.0)
    assert replace(judged, metric=None, again=drawn.again) == drawn
