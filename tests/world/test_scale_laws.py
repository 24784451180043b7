"""Check how worlds on a scale are made, what changes nothing in them, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import yaml
from places import places
from small_studies import CONF, small_systems, study

from simlab import parts
from simlab.rng import stream
from simlab.studies.blocks import run_block
from simlab.studies.ratings.checking import check
from simlab.types import RATE, Anew, Floats, InputError, Outputs, World
from simlab.world.laws.fixed import FixedRatings
from simlab.world.laws.scales import Scale, ScaledRatings, ScaleEffects, convert_to_scores, truth

LAWS = ("gaussian", "ordinal", "binary")
PRESETS = (*LAWS, "esa", "summaries", "answers")


def outputs(name: str, **keys: Any) -> Outputs:
    drawn = parts.bind(small_systems(name) | keys)(stream(1, "systems"))
    assert isinstance(drawn, Outputs)
    return drawn


def raters(name: str, **keys: Any) -> dict[str, Any]:
    section: dict[str, Any] = yaml.safe_load((CONF / f"raters/{name}.yaml").read_text())
    return section | keys


def world(name: str, systems: dict[str, Any] | None = None, **keys: Any) -> World:
    drawn = parts.bind(raters(name, **keys))(stream(1, "raters"), outputs(name, **(systems or {})))
    assert isinstance(drawn, World)
    return drawn


def law_of(world: World) -> ScaledRatings:
    law = world.answers[RATE]
    assert isinstance(law, ScaledRatings)
    return law


def scores(world: World, seed: int = 3) -> Floats:
    law = law_of(world)
    where = np.indices(law.latent.shape).reshape(3, -1)
    return np.asarray(law.answer(law.draw(stream(seed)), *where).value.reshape(law.latent.shape))


def points(low: float = 0.0, high: float = 100.0, step: float = 1.0) -> Scale:
    return Scale("gaussian", low, high, step, np.inf, np.empty(0), np.empty(0))


@pytest.mark.parametrize(
    ("scale", "latent", "score"),
    [
        (points(), [-3.0, 0.4, 49.6, 120.0], [0, 0, 50, 100]),
        (points(1.0, 4.0, 1.5), [1.6, 1.8, 3.0, 9.0], [1, 2.5, 2.5, 4]),
        (points(0.0, 10.0, 4.0), [7.0, 9.0, 11.0], [8, 8, 10]),  # the ceiling need not be a step
        (points(-np.inf, np.inf, 0.0), [-3.25, 700.5], [-3.25, 700.5]),
        (points(-np.inf, 5.0, 2.0), [-3.2, 8.0], [-4, 5]),
        (replace(points(), law="ordinal", thresholds=np.array([0.0, 1.0]), values=np.array([1.0, 2, 5])),
         [-1, 0.5, 1.5], [1, 2, 5]),
    ],
)  # fmt: skip
def test_scores_keep_to_their_scale(scale: Scale, latent: list[float], score: list[float]) -> None:
    np.testing.assert_array_equal(convert_to_scores(scale, np.array(latent)), score)


@pytest.mark.parametrize("name", PRESETS)
def test_presets_have_raters_of_their_own(name: str) -> None:
    drawn = world(name, {"max_segments": 10})
    assert drawn.truth is not None
    assert not drawn.frame.lower_is_better
    given = scores(drawn)
    scale = law_of(drawn).scale
    if scale.law == "gaussian":
        assert given.min() >= scale.low
        assert given.max() <= scale.high
        np.testing.assert_array_equal(given, np.rint(given))
    else:
        assert set(np.unique(given)) <= set(scale.values)


def test_all_scores_may_be_shifted() -> None:
    free = {"floor": None, "ceiling": None, "step": 0.0}
    one, other = (world("gaussian", free | {"mean": mean}) for mean in (0.0, 25.0))
    np.testing.assert_allclose(scores(other) - scores(one), 25.0)
    assert one.truth is not None
    assert other.truth is not None
    np.testing.assert_allclose(other.truth - one.truth, 25.0)
    held = [blocks(systems=small_systems("gaussian") | free | {"mean": mean}) for mean in (0.0, 25.0)]
    for name in ("direction", "significant", "true_direction"):
        np.testing.assert_array_equal(held[0][name], held[1][name])
    np.testing.assert_allclose(held[0]["p_value"], held[1]["p_value"])


def blocks(**keys: Any) -> dict[str, Any]:
    return run_block(study() | {"raters": raters("gaussian")} | keys, places(0, 3)).arrays


def test_where_lower_is_better_everything_turns_but_the_scores() -> None:
    held = [blocks(systems=small_systems("gaussian") | {"better": better}) for better in ("higher", "lower")]
    np.testing.assert_array_equal(held[0]["estimate"], held[1]["estimate"])
    np.testing.assert_array_equal(held[0]["p_value"], held[1]["p_value"])
    for name in ("direction", "true_direction"):
        np.testing.assert_array_equal(held[0][name], -held[1][name])
        assert held[0][name].any()


def test_systems_have_no_order() -> None:
    effects = replace(known_effects(law_of(world("ordinal")).scale), system=np.array([0.5, -1.0, 0.2]))
    order = [2, 0, 1]
    np.testing.assert_allclose(truth(replace(effects, system=effects.system[order])), truth(effects)[order])


def known_effects(scale: Scale) -> ScaleEffects:
    spreads = {name: 0.4 for name in ScaleEffects.__dataclass_fields__ if name.endswith("_sd")}
    one = {"leniency": np.zeros(1), "sharpness": np.ones(1), "taste": np.zeros((3, 1)), "system": np.zeros(3)}
    return ScaleEffects(mean=0.1, scale=scale, **one, **spreads)


@pytest.mark.parametrize("name", LAWS)
def test_designs_meet_the_same_answers(name: str) -> None:
    """Who is asked changes no answer: a part of the ratings is the same part of all."""
    drawn, every = law_of(world(name)), scores(world(name))
    noise = drawn.draw(stream(3))
    unit, item, slot = np.array([3, 0, 1, 1]), np.array([7, 39, 0, 0]), np.array([2, 0, 1, 1])
    asked = drawn.answer(noise, unit, item, slot)
    np.testing.assert_array_equal(asked.value, every[unit, item, slot])
    assert asked.errors is None


@pytest.mark.parametrize("name", LAWS)
def test_fixed_ratings_stay_what_they_are(name: str) -> None:
    law = world(name, noise="potential").answers[RATE]
    assert isinstance(law, FixedRatings)
    assert (law.errors == -1).all()
    assert np.isfinite(law.value).all()


def anew(*, raters: bool, documents: bool, seed: int = 5) -> Anew:
    own = [stream(seed, name) if drawn else None for name, drawn in (("raters", raters), ("documents", documents))]
    return Anew(*own, stream(seed, "both"))


def test_pools_and_documents_cross() -> None:
    """A pool is the same people whatever they rate, documents the same whoever rates them."""
    free = {"floor": None, "ceiling": None, "step": 0.0, "n_segments": 14}
    first = world("gaussian", free, rater_document_sd=0.0, residual_sd=0.0, sharpness_sd=0.0)
    assert first.again is not None
    drawn = {(p, d): first.again(anew(raters=p, documents=d)) for p in (False, True) for d in (False, True)}
    latent = {which: law_of(again).latent for which, again in drawn.items()}
    np.testing.assert_allclose(latent[False, False], law_of(first).latent)
    pool, documents = (latent[which] - latent[False, False] for which in ((True, False), (False, True)))
    np.testing.assert_allclose(latent[True, True] - latent[False, False], pool + documents)
    for rater in range(first.frame.n_raters):
        for system in range(4):
            own = pool[system][first.frame.rater[system] == rater]
            np.testing.assert_allclose(own, own[0])  # what is each rater's own depends on no document
    assert np.unique(pool.round(6)).size >= 4 * first.frame.n_raters
    np.testing.assert_allclose(documents, documents[:, :, :1].repeat(3, axis=2))
    assert np.unique(documents.round(6)).size == 4 * 14
    assert all((again.truth == first.truth).all() for again in drawn.values())


REFUSED = [
    ("gaussian", {"floor": 100.0}, r"systems\.floor=100 is not below systems\.ceiling=100"),
    ("gaussian", {"step": 101.0}, r"systems\.step=101 is wider than the scale from 0 to 100"),
    ("gaussian", {"step": 1e-5}, r"systems\.step=1e-05 makes more than 1,000,000 steps"),
    ("ordinal", {"thresholds": [0.0, 0.0]}, r"systems\.thresholds=\[0.0, 0.0\] must rise"),
    ("ordinal", {"values": [1.0, 2.0]}, r"systems\.values has 2 numbers for 4 thresholds"),
    ("ordinal", {"values": [5.0, 4.0, 3.0, 2.0, 1.0]}, r"systems\.values=.* must rise"),
    ("binary", {"n_segments": 13}, r"systems\.n_segments=13 does not fit 14 documents"),
]


@pytest.mark.parametrize(("name", "keys", "line"), REFUSED)
def test_scales_that_are_none_are_refused(name: str, keys: dict[str, Any], line: str) -> None:
    with pytest.raises(InputError, match=line):
        outputs(name, **keys)


@pytest.mark.parametrize(
    ("systems", "pool", "line"),
    [
        ("mqm", "gaussian", "the errors of these systems are counted; choose systems=gaussian"),
        ("gaussian", "ordinal", r"raters\.law=ordinal speaks of spreads on another scale.*choose raters=gaussian"),
        ("binary", "esa", "choose raters=binary"),
        ("ordinal", "expert_pool", "these count errors.*choose raters=ordinal"),
        ("gaussian", "divergent", "these count errors.*choose raters=gaussian"),
    ],
)
def test_raters_of_another_law_are_refused(systems: str, pool: str, line: str) -> None:
    with pytest.raises(InputError, match=line):
        parts.bind(raters(pool))(stream(1), outputs(systems))


@pytest.mark.parametrize(
    ("normalization", "systems", "line"),
    [
        ("error", {}, "on a scale nobody counts errors"),
        ("mean", {"floor": None}, "lie on both sides of 0"),
        ("mean", {"floor": -5.0}, "lie on both sides of 0"),
        ("mean", {}, None),
        ("zscore", {"floor": None}, None),
    ],
)
@pytest.mark.parametrize("noise", ["fresh", "potential"])
def test_normalisations_need_what_they_multiply(
    normalization: str, systems: dict[str, Any], line: str | None, noise: str
) -> None:
    normalise = yaml.safe_load((CONF / f"analysis/normalization/{normalization}.yaml").read_text())
    config = study() | {"worlds": 1}
    config["analysis"] = config["analysis"] | {"normalization": normalise}
    config["design"] = config["design"] | {"min_documents": 5}
    drawn = world("gaussian", {"mean": 1.0} | systems, noise=noise)
    if line is None:
        check(config, drawn)
        return
    with pytest.raises(InputError, match=line if noise == "fresh" else "lack|both sides of 0"):
        check(config, drawn)
