"""Draw who judges single outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simlab.types import JUDGE, Contest, InputError, Latent
from simlab.world.judges import judges
from simlab.world.laws.judgements import Judgements, require_judgements
from simlab.world.recorded import recorded

KEYS: dict[str, Any] = {
    "scale": "binary",
    "n_raters": 5,
    "leniency_sd": 0.0,
    "leniency": 0.0,
    "noise": 0.0,
    "gamma": None,
}


def contest(quality: list[float], item_sd: float = 0.0) -> Contest:
    names = tuple(f"s{k}" for k in range(len(quality)))
    return Contest(names, 50, None, latent=Latent(np.array(quality), 2.0, item_sd, 0.1, 1.5))


def law_of(systems: Contest, seed: int = 1, **keys: Any) -> Judgements:
    return require_judgements(judges(np.random.default_rng(seed), systems, **(KEYS | keys)))


def test_a_world_of_judges_answers_one_question_about_every_output() -> None:
    world = judges(np.random.default_rng(1), contest([0.0, 1.0]), **KEYS)
    assert set(world.answers) == {JUDGE}
    assert world.frame.system_names == ("s0", "s1")
    assert len(world.frame.document) == 50
    assert world.metric is None


def test_leniencies_are_drawn_around_their_mean() -> None:
    alike = law_of(contest([0.0]), leniency=0.3).judges.leniency
    np.testing.assert_array_equal(alike, [0.3] * 5)
    n = 4000
    drawn = law_of(contest([0.0]), leniency=0.3, leniency_sd=0.5, n_raters=n).judges.leniency
    assert abs(drawn.mean() - 0.3) < 5 * 0.5 / np.sqrt(n)
    assert abs(drawn.std() - 0.5) < 5 * 0.5 / np.sqrt(2 * n)
    assert abs(drawn.mean()) > 5 * 0.5 / np.sqrt(n)  # control
    shifted = law_of(contest([0.0]), leniency=1.3, leniency_sd=1.0, n_raters=n).judges.leniency
    np.testing.assert_allclose((drawn - 0.3) / 0.5, shifted - 1.3, atol=1e-12)  # the same draws, scaled and shifted


def test_gamma_is_the_variance_of_noise_over_that_of_outputs() -> None:
    # Outputs of all systems have the variance 2 ** 2 + 1.5 ** 2 = 6.25.
    assert law_of(contest([0.0, 4.0]), gamma=0.64, noise=9.0).judges.noise == pytest.approx(np.sqrt(0.64 * 6.25))
    assert law_of(contest([0.0]), gamma=0.0, noise=9.0).judges.noise == 0
    assert law_of(contest([0.0]), noise=9.0).judges.noise == 9.0
    # With items of unequal weight the variance is the systems' mean: quality ** 2 * (exp(item_sd ** 2) - 1) comes in.
    uneven = law_of(contest([0.0, 4.0], item_sd=0.5), gamma=1.0).judges.noise
    assert uneven == pytest.approx(np.sqrt(6.25 + 16 * np.expm1(0.25) / 2))


def test_judges_without_leniency_and_noise_are_the_oracle() -> None:
    score = np.random.default_rng(2).normal(size=(2, 400))
    law = law_of(contest([0.0, 0.0]))
    said = law.judge(np.random.default_rng(3), score, shared=True)
    np.testing.assert_array_equal(said, score > 0)
    noisy = law_of(contest([0.0, 0.0]), noise=1.0).judge(np.random.default_rng(3), score, shared=True)
    assert (noisy != (score > 0)).any()
    scored = law_of(contest([0.0, 0.0]), scale="score", leniency=0.25).judge(
        np.random.default_rng(3), score, shared=True
    )
    np.testing.assert_array_equal(scored, score + 0.25)


@pytest.mark.parametrize("scale", ["score", "skewed_score"])
def test_scores_need_systems_with_a_mean_score(scale: str) -> None:
    with pytest.raises(InputError, match=f"raters.scale={scale}: an alpha of 0 or 1 has no finite mean"):
        law_of(contest([0.0, np.inf]), scale=scale)
    assert law_of(contest([0.0, np.inf])).judges.scale == "binary"
    assert law_of(contest([0.0, 1.0]), scale=scale).judges.scale == scale


def test_skewed_scores_need_items_of_equal_weight() -> None:
    with pytest.raises(InputError, match=r"raters\.scale=skewed_score needs systems\.item_sd=0"):
        law_of(contest([0.0], item_sd=0.5), scale="skewed_score")
    law_of(contest([0.0], item_sd=0.5), scale="score")


def test_systems_without_a_latent_quality_cannot_be_judged() -> None:
    given = Contest(("a", "b"), 10, np.array([[0.4, 0.2, 0.4]]))
    with pytest.raises(InputError, match="by their latent quality, which these systems lack"):
        law_of(given)
    table: Any = recorded(
        np.random.default_rng(1), path=None, names=None, sha256=None, better=None, columns=None, people=None, where=None
    )
    with pytest.raises(InputError, match="by their latent quality, which these systems lack"):
        law_of(table)
