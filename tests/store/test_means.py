"""What is asked of outcomes as of measures: the mean, its error by clusters, and which outcomes have one."""

from __future__ import annotations

from pathlib import Path

import fake_studies
import numpy as np
import pytest

import simlab
from simlab.store import filling, opening
from simlab.store import query as stored
from simlab.store.measures import has_mean, mean, means
from simlab.store.query import ensure_measures
from simlab.studies.kinds import outcomes as declared
from simlab.types import UNRUN, Array, InputError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store")
    parts = {"check": fake_studies.check, "block": fake_studies.block, "quiet": True}
    filling.fill(fake_studies.sweep(worlds=5), folder, fake_studies.MEASURES, 1, **parts)
    return folder


def outcomes(seed: int = 3, worlds: int = 6, studies: int = 9) -> dict[str, Array]:
    """Return campaigns whose worlds differ more than the campaigns within; some failed, some values are missing."""
    rng = np.random.default_rng(seed)
    world = np.repeat(np.arange(worlds), studies)
    estimate = 3 * rng.normal(size=worlds)[world, None] + rng.normal(size=(len(world), 4))
    estimate[5, 1] = np.nan
    study = np.tile(np.arange(studies), worlds)
    status = (rng.random(len(world)) < 0.2).astype(np.int8)
    return {"world": world, "study": study, "document_set": study * 0, "status": status, "estimate": estimate}


def jackknife(values: Array, world: Array) -> tuple[float, float]:
    """Return a mean over all known entries, and its error by leaving out one world at a time."""
    k = len(np.unique(world))
    without = np.array([np.nanmean(values[world != w]) for w in np.unique(world)])
    pseudo = k * np.nanmean(values) - (k - 1) * without
    return float(np.nanmean(values)), float(np.sqrt(np.sum((pseudo - pseudo.mean()) ** 2) / (k * (k - 1))))


def test_a_mean_and_its_error_are_those_of_worlds_left_out() -> None:
    held = outcomes()
    ok = held["status"] == 0
    estimate = mean(held, name="estimate", per_world=False)
    value, mcse = jackknife(held["estimate"][ok], held["world"][ok])
    assert estimate.value == pytest.approx(value, rel=1e-12)
    assert estimate.mcse == pytest.approx(mcse, rel=1e-9)
    assert estimate.cluster == "world"
    assert estimate.n == ok.sum()


def test_campaigns_of_one_world_are_not_taken_for_independent() -> None:
    held = outcomes()
    ok = held["status"] == 0
    per_campaign = np.nanmean(held["estimate"][ok], axis=1)
    independent = per_campaign.std(ddof=1) / np.sqrt(len(per_campaign))
    assert mean(held, name="estimate", per_world=False).mcse > 2 * independent
    shuffled = {**held, "estimate": np.random.default_rng(0).permutation(held["estimate"])}
    assert mean(shuffled, name="estimate", per_world=False).mcse < 2 * independent


def test_failed_campaigns_and_missing_values_do_not_count() -> None:
    held = outcomes()
    ok = held["status"] == 0
    spoilt = held["estimate"].copy()
    spoilt[~ok] = 1e9
    assert (
        mean({**held, "estimate": spoilt}, name="estimate", per_world=False).value
        == mean(held, name="estimate", per_world=False).value
    )
    first = np.flatnonzero(ok)[0]
    gone = held["estimate"].copy()
    gone[first] = np.nan
    assert mean({**held, "estimate": gone}, name="estimate", per_world=False).n == ok.sum() - 1
    nothing = mean({**held, "estimate": gone * np.nan}, name="estimate", per_world=False)
    assert np.isnan(nothing.value)
    assert nothing.n == 0
    assert mean(held, name="cost", per_world=False).n == 0


def test_what_is_true_of_a_world_is_averaged_over_its_campaigns() -> None:
    held = outcomes(worlds=3, studies=4) | {"true_value": np.array([[1.0, 3.0], [4.0, 6.0], [10.0, 20.0]])}
    weights = np.bincount(held["world"], held["status"] == 0)
    estimate = mean(held, name="true_value", per_world=True)
    assert estimate.value == pytest.approx(np.average([2.0, 5.0, 15.0], weights=weights))


def test_codes_and_indices_have_no_mean() -> None:
    having = {name for name, outcome in declared().items() if has_mean(name, outcome)}
    assert {"cost", "ratings_used", "human_cost", "load_entropy_reached", "estimate", "p_value", "used"} <= having
    assert not {"status", "document_set", "direction", "verdict", "twin_direction", "p_mean", "undecided"} & having
    assert means({name: declared()[name] for name in ("cost", "direction")}).keys() == {"cost"}


def test_a_stored_outcome_is_asked_for_like_a_measure(folder: Path) -> None:
    with simlab.open_results(folder) as dataset:
        answer = ensure_measures(dataset, ["cost", "estimate"])
        assert opening.measures_of(answer) == ("mean", "share", "cost", "estimate")
        for k in range(2):
            ran = dataset["status"].values[k] != UNRUN
            ok = dataset["status"].values[k] == 0
            value, mcse = jackknife(dataset["estimate"].values[k][ok], dataset["world"].values[ok])
            assert answer["estimate"].values[k] == pytest.approx(value, rel=1e-12)
            assert answer["estimate_mcse"].values[k] == pytest.approx(mcse, rel=1e-9)
            assert answer["estimate_n"].values[k] == ok.sum() < ran.sum()
        assert answer["cost"].values.tolist() == [3.0, 3.0]
        assert answer["cost"].attrs["units"] == answer["cost_mcse"].attrs["units"] == "currency"
        assert answer["cost"].attrs["less_is_better"]
        # The store itself is as it was.
        assert dataset["cost"].dims == ("documents", "replicate")


def test_of_a_measure_and_an_outcome_of_one_name_the_measure_is_meant(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "all_measures", lambda: {"cost": fake_studies.share})
    with simlab.open_results(folder) as dataset:
        answer = ensure_measures(dataset, ["cost"])
        assert answer["cost"].values.tolist() == dataset["share"].values.tolist() != [3.0, 3.0]


def test_what_is_neither_measure_nor_mean_is_refused(folder: Path) -> None:
    with simlab.open_results(folder) as dataset:
        with pytest.raises(InputError, match=r"the store does not have the measure costs; did you mean cost\?"):
            ensure_measures(dataset, ["costs"])
        with pytest.raises(InputError, match="does not have the measure direction"):
            ensure_measures(dataset, ["direction"])
