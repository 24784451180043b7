"""Compute what Chaganty et al. 2018 print: gammas, caps, data efficiencies."""

from __future__ import annotations

import numpy as np

from simlab import parts
from simlab.config import compose
from simlab.rng import stream
from simlab.types import RATE, Frame, World
from simlab.world.judged_scores import judged_scores
from simlab.world.laws.fixed import FixedRatings
from simlab.world.laws.judgements import require_judgements
from simlab.world.output_metrics import perfect


def gamma_of(raters: str) -> float:
    """Return the normalised annotator variance of raters that ship with simlab."""
    config = compose([f"raters={raters}", "metric=none", "analysis.estimator=sample_mean"])
    contest = parts.bind(config["systems"])(stream(1))
    law = require_judgements(parts.bind(config["raters"])(stream(2), contest))
    return float(law.quality(None).gamma[0])


def ratio(annotators: float, outputs: float) -> float:
    """Return the ratio of two variances."""
    return annotators / outputs


def efficiency(correlation: float, gamma: float) -> float:
    """Return the data efficiency, equation 7."""
    return (1 + gamma) / (1 - correlation**2 + gamma)


def correlation_for(wanted: float, gamma: float) -> float:
    """Return the correlation that a data efficiency takes."""
    return float(np.sqrt((1 + gamma) * (1 - 1 / wanted)))


def cost_reduction(wanted: float) -> float:
    """Return the share of judgements, in per cent, that a data efficiency saves."""
    return 100 * (1 - 1 / wanted)


def noiseless(real: float, gamma: float) -> float:
    """Return the data efficiency of noiseless humans, of a metric that has another one with noisy humans."""
    return 1 / (1 - correlation_for(real, gamma) ** 2)


def perfect_metric(gamma: float, humans: int, form: str) -> float:
    """Return the data efficiency that a table of repeated judgements gives the mean of its humans."""
    outputs = 40_000
    rng = stream(1, "perfect", humans)
    score = rng.normal(size=(2, outputs, 1)) + np.sqrt(gamma) * rng.normal(size=(2, outputs, humans))
    none = np.zeros(outputs, np.int64)
    seats = np.broadcast_to(np.arange(humans), score.shape)
    frame = Frame(none, none[:1], seats, ("A", "B"), ("d",), tuple(f"r{k}" for k in range(humans)), False)
    table = World(frame, {RATE: FixedRatings(score, np.zeros(score.shape, np.int64))})
    world = perfect(rng, judged_scores(rng, table, judgement="one"), form=form)
    found = require_judgements(world).quality(world.metric).efficiency
    return float("nan") if found is None else float(found.mean())


def share(some: int, every: int) -> float:
    """Return a share in per cent."""
    return 100 * some / every
