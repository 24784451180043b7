"""What systems are worth to the raters of one pool: held against averages over very many documents."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from fitted_scale_files import held, write
from small_studies import CONF, small_systems, study

from simlab import parts
from simlab.rng import stream
from simlab.studies.blocks import run_block
from simlab.studies.ratings.checking import check
from simlab.types import RATE, Anew, Floats, InputError, Place, World

DOCUMENTS = 3000
ON_SCALES = ("gaussian", "ordinal", "binary", "esa", "summaries", "answers")
ALIKE = {"leniency_sd": 0.0, "rater_system_sd": 0.0}


def section(group: str, name: str, **keys: Any) -> dict[str, Any]:
    held: dict[str, Any] = yaml.safe_load((CONF / f"{group}/{name}.yaml").read_text())
    return held | keys


def everybody(systems: str, raters: str, documents: int = DOCUMENTS, **keys: Any) -> World:
    """Draw a preset world of four systems in which each of four raters rates everything."""
    single = small_systems(systems).get("max_segments") == 1
    size = {"n_documents": documents, "n_segments": documents if single else 2 * documents}
    outputs = parts.bind(small_systems(systems) | size)(stream(1, "systems"))
    seats = {"pool_size": 4, "raters_per_bucket": 4, "buckets_per_rater": 2, "documents_per_bucket": None}
    drawn = parts.bind(section("raters", raters) | seats | keys)(stream(1, "raters"), outputs)
    assert isinstance(drawn, World)
    return drawn


def fitted(path: Path | None, seed: int = 1, documents: int = DOCUMENTS, **keys: Any) -> World:
    """Draw a fitted world in which raters sit as `keys` say."""
    drawn = parts.bind(
        section("systems", "fitted", path=None if path is None else str(path), n_documents=documents) | keys
    )(stream(seed, "systems"))
    assert isinstance(drawn, World)
    return drawn


def off(world: World, truth: Floats) -> Floats:
    """Return by how many standard errors a truth misses what this pool is expected to say on average: `[system]`."""
    law: Any = world.answers[RATE]
    of_item = law.expected_ratings().mean(2)
    document = world.frame.document
    size = np.bincount(document)
    of_document = np.stack([np.bincount(document, weights=row) for row in of_item])
    mean = of_document.sum(1) / size.sum()
    error = np.sqrt(((of_document - mean[:, None] * size) ** 2).sum(1)) / size.sum()
    return np.asarray((truth - mean) / error)


def own_truth(world: World) -> Floats:
    assert world.of_pool is not None
    return world.of_pool()


def assert_own(world: World) -> None:
    """The truth of a pool is what it says on average; that of raters at large is not."""
    assert world.truth is not None
    assert np.abs(off(world, own_truth(world))).max() < 4
    assert np.abs(off(world, world.truth)).max() > 6


@pytest.mark.parametrize("name", ON_SCALES)
def test_on_a_scale_it_is_what_this_pool_says_on_average(name: str) -> None:
    # Where raters hardly differ, no average tells a pool from raters at large.
    taste = {"rater_system_sd": 0.4} if name in ("summaries", "answers") else {}
    world = everybody(name, name, sharpness_sd=0.3, **taste)
    assert_own(world)
    assert world.again is not None
    others = world.again(Anew(stream(2, "raters"), None, stream(2, "both")))
    assert_own(others)
    assert np.abs(off(others, own_truth(world))).max() > 6
    elsewhere = world.again(Anew(None, stream(2, "documents"), stream(2, "both")))
    np.testing.assert_array_equal(own_truth(elsewhere), own_truth(world))


@pytest.mark.parametrize("raters", ["expert_pool", "english_chinese"])
@pytest.mark.parametrize("agree", [True, False])
def test_of_counted_errors_it_is_what_this_pool_marks(raters: str, agree: bool) -> None:
    tastes = {"rater_system_sd": 0.3, "agree_overall": agree}
    world = everybody("mqm", raters, **tastes)
    assert_own(world)
    assert world.again is not None
    assert_own(world.again(Anew(stream(2, "raters"), None, stream(2, "both"))))


@pytest.mark.parametrize("name", ON_SCALES)
def test_raters_who_are_alike_say_what_raters_at_large_say(name: str) -> None:
    world = everybody(name, name, documents=20, sharpness_sd=0.0, **ALIKE)
    assert world.truth is not None
    np.testing.assert_allclose(own_truth(world), world.truth, rtol=1e-9)
    differing = everybody(name, name, documents=20, sharpness_sd=0.3)
    assert np.abs(own_truth(differing) - differing.truth).max() > 1e-3 * np.ptp(world.truth)


def test_raters_who_count_alike_say_what_raters_at_large_say() -> None:
    world = everybody("mqm", "expert_pool", documents=20, severity_sd=0.0, **ALIKE)
    assert world.truth is not None
    np.testing.assert_allclose(own_truth(world), world.truth, rtol=1e-9)
    for key in ("leniency_sd", "severity_sd", "rater_system_sd"):
        keys = ALIKE | {"severity_sd": 0.0, "agree_overall": False, key: 0.4}
        assert np.abs(own_truth(everybody("mqm", "expert_pool", documents=20, **keys)) / world.truth - 1).max() > 0.01


@pytest.mark.parametrize("law", ["gaussian", "ordinal", "binary"])
@pytest.mark.parametrize("pool", ["pilot", "new"])
def test_of_a_world_fitted_on_a_scale(tmp_path: Path, law: str, pool: str) -> None:
    path = write(tmp_path / "w.yaml", held(law))
    for seed in (1, 2):
        assert_own(fitted(path, seed, raters_per_bucket=2, rater_pool=pool))


@pytest.mark.parametrize("pool", [{"rater_pool": "pilot"}, {"rater_pool": "new"}, {"rater_pool": "new", "n_raters": 4}])
def test_of_a_world_fitted_to_counted_errors(pool: dict[str, Any]) -> None:
    seats = {"raters_per_bucket": pool.get("n_raters", 10), "names": ["refA", "ONLINE-A", "ONLINE-Y"]}
    world = fitted(None, assumed_rater_system_sd=0.3, **seats, **pool)
    assert_own(world)
    none = fitted(None, documents=20, assumed_rater_system_sd=0.0, **seats, **pool)
    np.testing.assert_allclose(own_truth(none), none.truth, rtol=1e-9)


def small(estimand: str = "these_raters", documents: int = 14, **keys: Any) -> dict[str, Any]:
    """Declare a small study on a scale, all of whose keys are there."""
    config = study(min_documents=5, estimand=estimand, documents=documents)
    return config | {"systems": small_systems("gaussian"), "raters": section("raters", "gaussian"), "pools": 1} | keys


def drawn_for(config: dict[str, Any]) -> World:
    outputs = parts.bind(config["systems"])(stream(1, "systems"))
    world = parts.bind(config["raters"])(stream(1, "raters"), outputs) if config["raters"] else outputs
    assert isinstance(world, World)
    return world


def test_claims_are_held_against_it() -> None:
    of_pool, at_large = (
        run_block(small(estimand), [Place(0), Place(1)]).arrays for estimand in ("these_raters", "all_raters")
    )
    assert (of_pool["true_value"] != at_large["true_value"]).all()
    for name in ("significant", "direction"):
        np.testing.assert_array_equal(of_pool[name], at_large[name])


def in_two_pools() -> dict[str, Any]:
    return small(pools=2)


def recorded() -> dict[str, Any]:
    return small(documents=20, worlds=1, systems=section("systems", "recorded"), raters={})


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (in_two_pools, "design.estimand=these_raters: with pools=2 a world has several truths; set pools=1"),
        (recorded, "design.estimand=these_raters: nobody knows what is true of the raters of this world alone"),
    ],
)
def test_who_has_no_truth_of_its_own_is_refused(config: Callable[[], dict[str, Any]], said: str) -> None:
    asked = config()
    with pytest.raises(InputError, match=said) as refused:
        check(asked, drawn_for(asked))
    assert "\n" not in str(refused.value)
    asked["design"]["estimand"] = "all_raters"
    check(asked, drawn_for(asked))
