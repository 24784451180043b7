"""Hold the fast samplers of laws against the NumPyro models that define them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simlab.effort import USUAL, ChainEffort, use_effort
from simlab.fitting.scales import GAUSSIAN
from simlab.fitting.scales.chain import priors_for_points
from simlab.fitting.scales.fitting import effective_draws, split_rhat
from simlab.tables.rating_table import ColumnOverrides, Ratings
from simlab.types import Floats
from simlab.world import recorded

SINGLE = ("mean", *(f"{name}_sd" for name in ("system", "document", "system_document", "leniency", "rater_system")))
SITES = (*SINGLE, "rater_document_sd", "residual_sd", "system_effect", "leniency", "rater_system")
MOST, NEVER = 3.0, 5.0


def table(folder: Path, seed: int) -> Ratings:
    """Write and read a table of four systems, twelve documents and three raters who rate everything."""
    rng = np.random.default_rng(seed)
    shape = 4, 12, 3
    score = 50 + 6 * rng.standard_normal((4, 1, 1)) + 5 * rng.standard_normal((1, 12, 1))
    score = score + 4 * rng.standard_normal((4, 12, 1)) + 3 * rng.standard_normal((1, 1, 3))
    score = score + 2 * rng.standard_normal((4, 1, 3)) + 5 * rng.standard_normal(shape)
    rows = [f"S{s},d{d:02},r{r},{score[s, d, r]:.4f}" for s, d, r in np.ndindex(*shape)]
    (folder / "t.csv").write_text("\n".join(["system,document,rater,score", *rows]) + "\n")
    return recorded.table(folder / "t.csv", ColumnOverrides())


def by_sampler(ratings: Ratings) -> dict[str, Floats]:
    """Return the draws of simlab's own sampler, `[draw, chain, ...]`."""
    with use_effort(USUAL._replace(scales=ChainEffort(8, 300, 600, 1))):
        posterior = GAUSSIAN.fit(ratings, seed=2, draws=10).posterior
    assert posterior is not None
    return {name: np.swapaxes(posterior.draws[name], 0, 1) for name in SITES}


def by_nuts(ratings: Ratings, seed: int = 0) -> dict[str, Floats]:
    import jax

    from simlab.analysis.chains import make_chains
    from simlab.fitting.models import points

    given = ratings.system, ratings.document[ratings.item], ratings.rater, ratings.score
    mcmc = make_chains(lambda: points(priors_for_points(ratings.score), *given), chains=4, warmup=500, draws=1000)
    mcmc.run(jax.random.PRNGKey(seed))
    held = mcmc.get_samples(group_by_chain=True)
    return {name: np.swapaxes(np.asarray(held[name], float), 0, 1) for name in SITES}


def distances(first: dict[str, Floats], second: dict[str, Floats]) -> Floats:
    """Return how far means and mean squares are apart, in combined Monte-Carlo errors."""
    return np.array([_apart(one, other) for name in SITES for one, other in _columns(first[name], second[name])])


def _columns(first: Floats, second: Floats) -> Any:
    flat = [one.reshape(*one.shape[:2], -1) for one in (first, second)]
    for k in range(flat[0].shape[2]):
        one, other = (each[..., k] for each in flat)
        centre = other.mean()
        yield one, other
        yield (one - centre) ** 2, (other - centre) ** 2


def _apart(first: Floats, second: Floats) -> float:
    errors = [one.std() / np.sqrt(effective_draws(one)) for one in (first, second)]
    return float(abs(first.mean() - second.mean()) / np.hypot(*errors))


def shifted(ratings: Ratings) -> Ratings:
    """Make one rater of one system stricter, by as much as the residual scatters."""
    return replace(ratings, score=ratings.score - 5.0 * ((ratings.rater == 0) & (ratings.system == 0)))


@pytest.mark.slow
def test_another_table_is_found_to_have_another_posterior(tmp_path: Path) -> None:
    ratings = table(tmp_path, 1)
    own, other = by_sampler(ratings), by_sampler(shifted(ratings))
    halves = [{name: value[:, part] for name, value in own.items()} for part in (slice(0, 4), slice(4, 8))]
    apart = distances(*halves)
    assert (apart > MOST).mean() <= 0.05
    assert apart.max() < NEVER
    assert distances(own, other).max() > NEVER


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_the_sampler_of_points_draws_what_the_model_says(tmp_path: Path, seed: int) -> None:
    ratings = table(tmp_path, seed)
    own, nuts = by_sampler(ratings), by_nuts(ratings)
    assert max(split_rhat(one) for name in SINGLE for one in (own[name], nuts[name])) < 1.02
    apart = distances(own, nuts)
    assert (apart > MOST).mean() <= 0.01
    assert apart.max() < NEVER
