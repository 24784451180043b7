"""Check that the power predicted from pilots is near that of the truth that they were drawn from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from simlab.fitting.scales.fitting import build_model, choose_priors, scale_of, seen_scores
from simlab.fitting.scales.sampling import begin, go_on
from simlab.tables.rating_table import Ratings
from simlab.types import Floats
from tests.pilots import Truth
from tests.statistics.scale_calibration import Size, Truths, design, rated

TRUTH = Truth()
DOCUMENTS = (50, 100, 200)
MOST = 0.10
NOISE = ("system_document", "residual", "rater_system")


def power(quality: Floats, variance: Floats, documents: int) -> Floats:
    """Return the mean power over pairs, `[..., system]`: one rating per output, a rater each document, 5 %, paired."""
    first, second = np.triu_indices(quality.shape[-1], 1)
    gap = np.abs(quality[..., first] - quality[..., second]) / np.sqrt(2 * variance / documents)[..., None]
    return np.asarray((norm.cdf(gap - norm.ppf(0.975)) + norm.cdf(-gap - norm.ppf(0.975))).mean(-1))


def errors(n_systems: int, pilots: int, run: tuple[int, int], seed: int) -> tuple[Floats, Floats]:
    """Return mean absolute errors by number of documents, of the fit and of systems taken to be equal."""
    rng, held = np.random.default_rng(seed), design(Size(n_systems, 40))
    names = ("system", "document", "system_document", "leniency", "rater_system", "rater_document", "residual")
    sd = {name: np.full(pilots, getattr(TRUTH, name)) for name in names}
    sd |= {"segment": np.zeros(pilots), "output": np.zeros(pilots)}
    sizes = {"system": n_systems, "leniency": 3, "rater_system": 3 * n_systems}
    effect = {name: sd[name] * rng.standard_normal((n, pilots)) for name, n in sizes.items()}
    none = np.zeros((3, pilots))
    true = Truths(sd, effect, np.full(pilots, TRUTH.mean), none[:0], none, none[0], np.full(pilots, np.inf))
    score = np.clip(np.rint(rated(rng, held, true)), TRUTH.low, TRUTH.high)
    return _compared(rng, held, score, true, run)


def _compared(
    rng: np.random.Generator, held: Ratings, score: Floats, true: Truths, run: tuple[int, int]
) -> tuple[Floats, Floats]:
    table = replace(held, score=score[:, 0], scale=(TRUTH.low, TRUTH.high))
    known, scale = choose_priors("gaussian", table), scale_of("gaussian", table)
    model = build_model("gaussian", held, known, 0)
    draws = go_on(begin(rng, model, seen_scores(score, scale, known), run[0]), run[1])
    variance = sum(draws.sd[name] ** 2 for name in NOISE)
    known_variance = sum(true.sd[name] ** 2 for name in NOISE) + 1 / 12
    system = draws.effect["system"].swapaxes(1, 2)
    fitted, naive = [], []
    for n in DOCUMENTS:
        fact = power(true.effect["system"].T, known_variance, n)
        fitted.append(np.abs(power(system, variance, n).mean(0) - fact).mean())
        naive.append(np.abs(power(0 * system, variance, n).mean(0) - fact).mean())
    return np.array(fitted), np.array(naive)


def test_power_of_a_few_pilots_is_predicted() -> None:
    fitted, naive = errors(8, 6, (80, 80), 1)
    assert (fitted < MOST).all()
    assert (naive > MOST).all()


@pytest.mark.long
@pytest.mark.parametrize("n_systems", [8, 12])
def test_power_of_many_pilots_is_predicted(n_systems: int) -> None:
    fitted, naive = errors(n_systems, 100, (250, 400), 2)
    assert (fitted < MOST).all()
    assert (naive > MOST).all()
