"""Check worlds on a scale against closed forms: means, variance components, and what presets say of themselves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import yaml
from scipy import integrate, stats
from small_studies import CONF

from simlab import parts
from simlab.rng import stream
from simlab.types import RATE, Floats, Outputs, World
from simlab.world.laws.fixed import FixedRatings
from simlab.world.laws.scales import (
    Scale,
    ScaledRatings,
    ScaleEffects,
    convert_to_scores,
    draw_flat_answers,
    draw_raters,
    mean_scores,
    truth,
)
from simlab.world.scales import YES_OR_NO

SPREADS = {
    "document_sd": 0.8,
    "segment_sd": 0.6,
    "system_document_sd": 0.7,
    "output_sd": 0.5,
    "rater_document_sd": 0.9,
    "residual_sd": 1.1,
    "system_sd": 0.7,
    "leniency_sd": 1.0,
    "sharpness_sd": 0.0,
    "rater_system_sd": 0.4,
}


def points(low: float, high: float, step: float, tail: float = np.inf) -> Scale:
    return Scale("gaussian", low, high, step, tail, np.empty(0), np.empty(0))


CATEGORIES = Scale("ordinal", -np.inf, np.inf, 0.0, np.inf, np.array([-1.0, 0.2, 1.5]), np.array([1.0, 2.0, 3.0, 5.0]))
FREE = points(-np.inf, np.inf, 0.0)
SCALES = {
    "free": FREE,
    "ceiling": points(-np.inf, 2.0, 0.0),
    "steps": points(-2.0, 2.5, 1.0),
    "tails": points(-2.0, 2.0, 0.5, 3.0),
    "ordinal": CATEGORIES,
    "binary": YES_OR_NO,
}


def effects(scale: Scale, system: list[float], **spreads: float) -> ScaleEffects:
    nobody = {"leniency": np.empty(0), "sharpness": np.empty(0), "taste": np.empty((len(system), 0))}
    return ScaleEffects(mean=0.3, system=np.array(system), scale=scale, **nobody, **SPREADS | spreads)


def simulated(law: ScaleEffects, n: int) -> Floats:
    """Let other raters rate other documents, each once, for every system: `[system, rating]`."""
    n_systems = len(law.system)
    system, one = np.repeat(np.arange(n_systems), n), np.tile(np.arange(n), n_systems)
    rng = stream(1, "flat")
    return draw_flat_answers(rng, draw_raters(rng, law, n), system, one, one, np.arange(n)).reshape(n_systems, n)


def off(law: ScaleEffects, score: Floats) -> Floats:
    """Return by how many standard errors the truth differs from what was simulated."""
    return np.asarray((score.mean(1) - truth(law)) / (score.std(1) / np.sqrt(score.shape[1])))


@pytest.mark.parametrize("name", SCALES)
@pytest.mark.parametrize("sharpness_sd", [0.0, 0.4])
def test_the_truth_is_the_mean_of_what_raters_at_large_say(name: str, sharpness_sd: float) -> None:
    law = effects(SCALES[name], [-1.5, 0.3, 2.0], sharpness_sd=sharpness_sd)
    score = simulated(law, 100_000)
    assert np.abs(off(law, score)).max() < 4
    if name != "free":  # what is drawn with raters counts where scores are cut
        assert np.abs(off(replace(law, leniency_sd=0.0), score)).max() > 6
    assert np.abs(off(replace(law, system=law.system + 0.1), score)).max() > 6


@pytest.mark.long
@pytest.mark.parametrize("name", SCALES)
def test_the_truth_is_the_mean_of_many_more(name: str) -> None:
    law = effects(SCALES[name], [-1.5, 0.3, 2.0], sharpness_sd=0.4)
    assert np.abs(off(law, simulated(law, 4_000_000))).max() < 4


@pytest.mark.parametrize("tail", [2.5, 3.0, 8.0, 200.0, np.inf])
@pytest.mark.parametrize("step", [0.0, 0.25])
def test_mean_scores_are_those_of_an_integral(tail: float, step: float) -> None:
    """The mean of a score is the integral of the chance to score above; scipy knows normal and Student laws."""
    scale, mean, sd = points(-1.0, 2.0, step, tail), np.array([-2.0, 0.1, 1.9]), 0.7
    law = stats.norm(0, sd) if np.isinf(tail) else stats.t(tail, 0, sd * np.sqrt((tail - 2) / tail))
    found = mean_scores(scale, mean, 0.0, sd)
    for one, value in zip(mean, found, strict=True):
        if step:
            cuts = np.arange(-1.0, 2.0, step) + step / 2
            wanted = -1.0 + step * law.sf(cuts - one).sum()
        else:
            wanted = -1.0 + integrate.quad(lambda x, one=one: law.sf(x - one), -1.0, 2.0, epsabs=1e-10)[0]
        assert value == pytest.approx(wanted, abs=1e-6)
    other = mean_scores(replace(scale, tail=np.inf if np.isfinite(tail) else 3.0), mean, 0.0, sd)
    if tail < 100 or np.isinf(tail):
        assert np.abs(other - found).max() > 1e-4


FACETS = {
    "document": ("document_sd",),
    "segment": ("document_sd", "segment_sd"),
    "system_document": ("document_sd", "system_document_sd"),
    "output": ("document_sd", "segment_sd", "system_document_sd", "output_sd"),
    "rater": ("leniency_sd",),
    "rater_system": ("leniency_sd", "rater_system_sd"),
    "rater_document": ("document_sd", "leniency_sd", "rater_document_sd"),
}
"""What two ratings share, and the spreads of the effects that they then have in common."""


def pairs(shared: str, n: int) -> tuple[Floats, Floats]:
    """Draw pairs of ratings of which each two share what is said, and nothing else, by two systems of equal mean."""
    k = np.arange(n)
    same_system = shared in ("system_document", "output", "rater_system")
    same_rater = shared.startswith("rater")
    item = np.arange(2 * n).reshape(2, n) if shared not in ("segment", "output") else np.stack([k, k])
    together = shared in ("document", "system_document", "rater_document")
    document = np.tile(k, 2) if together else np.arange(2 * n)
    system = np.stack([np.zeros(n, int), np.zeros(n, int) if same_system else np.ones(n, int)])
    rater = np.stack([k, k if same_rater else n + k])
    rng = stream(2, shared)
    people = draw_raters(rng, effects(FREE, [0.3, 0.3]), 2 * n)
    score = draw_flat_answers(rng, people, system.ravel(), item.ravel(), rater.ravel(), document)
    first, second = score.reshape(2, n)
    return first, second


@pytest.mark.parametrize("shared", FACETS)
def test_ratings_share_the_variance_of_what_they_have_in_common(shared: str) -> None:
    """The covariance of two ratings is the sum of the variances of the effects that they share."""
    first, second = pairs(shared, 40_000)
    product = (first - first.mean()) * (second - second.mean())
    mcse = product.std() / np.sqrt(len(product))
    wanted = sum(SPREADS[name] ** 2 for name in FACETS[shared])
    assert abs(product.mean() - wanted) < 4 * mcse
    assert abs(product.mean() - wanted - SPREADS["rater_system_sd"] ** 2) > 4 * mcse  # the smallest would be seen
    every = sum(sd**2 for name, sd in SPREADS.items() if name not in ("system_sd", "sharpness_sd"))
    assert first.var() == pytest.approx(every, abs=4 * (first**2).std() / np.sqrt(len(first)))


def drawn(name: str, seed: int = 1, systems: dict[str, Any] | None = None, **raters: Any) -> World:
    sections = [yaml.safe_load((CONF / f"{group}/{name}.yaml").read_text()) for group in ("systems", "raters")]
    outputs = parts.bind(sections[0] | (systems or {}))(stream(seed, "systems"))
    assert isinstance(outputs, Outputs)
    world = parts.bind(sections[1] | raters)(stream(seed, "raters"), outputs)
    assert isinstance(world, World)
    return world


@pytest.mark.parametrize("name", ["gaussian", "ordinal", "binary", "esa"])
def test_expected_scores_are_means_over_studies(name: str) -> None:
    law = drawn(name).answers[RATE]
    assert isinstance(law, ScaledRatings)
    law = ScaledRatings(law.latent[:2, :10], law.residual_sd, law.scale)
    where, n = np.indices(law.latent.shape).reshape(3, -1), 3000
    answers = np.stack([law.answer(law.draw(stream(k, "study")), *where).value for k in range(n)])
    error = answers.std(0) / np.sqrt(n)
    # Where nearly all answers are the same their spread says nothing of the error.
    varied = (answers == np.median(answers, axis=0)).mean(0) < 0.98
    assert varied.sum() > 30
    z = ((answers.mean(0) - law.expected_ratings().ravel()) / np.where(varied, error, np.inf))[varied]
    assert np.abs(z).max() < 4.5
    assert z.std() < 1.4
    blunt = convert_to_scores(law.scale, law.latent).ravel()
    assert np.abs(answers.mean(0) - blunt).max() > 6 * error.max()  # without the residual it is another number


@pytest.mark.parametrize("name", ["esa", "ordinal"])
def test_expected_scores_looked_up_in_a_table_are_those_worked_out(name: str) -> None:
    law = drawn(name).answers[RATE]
    assert isinstance(law, ScaledRatings)
    exact = np.concatenate([mean_scores(law.scale, row, 0.0, law.residual_sd) for row in law.latent[:2]])
    np.testing.assert_allclose(law.expected_ratings()[:2].reshape(exact.shape), exact, atol=1e-4)


@pytest.mark.parametrize(("name", "gamma"), [("summaries", 1.00), ("answers", 0.95)])
def test_presets_are_as_noisy_as_their_source_says(name: str, gamma: float) -> None:
    """Gamma of Chaganty et al. 2018: the variance between raters of an output over that between outputs of a system."""
    n, k = 20_000, 8
    sections = [yaml.safe_load((CONF / f"{group}/{name}.yaml").read_text()) for group in ("systems", "raters")]
    known = parts.bind(sections[0])(stream(1)).scale
    own = {key: value for key, value in sections[1].items() if key.endswith("_sd")}
    rng = stream(4, name)
    law = draw_raters(rng, replace(known, system=np.array([known.mean]), **own), n * k)
    item = np.repeat(np.arange(n), k)
    score = draw_flat_answers(rng, law, np.zeros(n * k, int), item, np.arange(n * k), np.arange(n)).reshape(n, k)
    within = score.var(1, ddof=1).mean()
    between = score.mean(1).var(ddof=1) - within / k
    assert within / between == pytest.approx(gamma, abs=0.06)


def test_the_preset_of_error_span_annotation_looks_like_its_campaign() -> None:
    """Of 2,718 scores the mean is 82.4 and the standard deviation 17.9; means of worlds differ by their systems."""
    laws = [drawn("esa", seed, noise="potential").answers[RATE] for seed in range(20)]
    scores = [law.value for law in laws if isinstance(law, FixedRatings)]
    assert len(scores) == 20
    for of, real, other in ((np.mean, 82.4, 75.0), (np.median, 87.0, 75.0), (np.std, 17.9, 24.0)):
        means = np.array([of(score) for score in scores])
        mcse = means.std(ddof=1) / np.sqrt(len(means))
        assert abs(means.mean() - real) < 4 * mcse + (2.5 if of is np.std else 0.0)
        assert abs(means.mean() - other) > 4 * mcse
