"""Fitted worlds of other numbers of raters, of one draw of the parameters, and of spreads that are assumed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from fitted_scale_files import held, write
from small_studies import CONF

from simlab import parts
from simlab.rng import stream
from simlab.types import RATE, Anew, Floats, InputError, World
from simlab.world.laws.error_counts import ErrorCounts
from simlab.world.laws.scales import ScaledRatings

MANY = 1000
"""Raters whose spread is told to about 2 %."""


def fitted(path: Path | None, seed: int = 1, **keys: Any) -> World:
    section = yaml.safe_load((CONF / "systems/fitted.yaml").read_text())
    section |= {"path": None if path is None else str(path), "n_documents": 12}
    drawn = parts.bind(section | keys)(stream(seed, "systems"))
    assert isinstance(drawn, World)
    return drawn


@pytest.fixture
def scale(tmp_path: Path) -> Path:
    return write(tmp_path / "w.yaml", held())


def of_raters_alone(tmp_path: Path, **draws: Any) -> Path:
    """Write a world in which raters differ, and nothing that documents bring."""
    content = held()
    still = ("document_sd", "segment_sd", "system_document_sd", "output_sd", "rater_document_sd", "sharpness_sd")
    content["draws"] |= {name: [0.0] * 3 for name in still} | draws
    return write(tmp_path / "still.yaml", content)


def own(world: World) -> Floats:
    """Return what each rater of a scale thinks of each system, where all sit together: `[system, rater]`."""
    law = world.answers[RATE]
    assert isinstance(law, ScaledRatings)
    return law.latent[:, 0, :]


@pytest.mark.parametrize("n", [1, 2, 4, 9])
@pytest.mark.parametrize("path", ["scale", "counted"])
def test_there_are_so_many_raters_who_sit_evenly(scale: Path, n: int, path: str) -> None:
    world = fitted(scale if path == "scale" else None, rater_pool="new", n_raters=n)
    frame = world.frame
    assert frame.n_raters == n
    by_rater = np.bincount(frame.rater[0].ravel(), minlength=n)
    assert by_rater.min() > 0
    seats = {tuple(row) for row in frame.rater[0].tolist()}
    assert {len(set(row)) for row in seats} == {min(n, 3)}
    buckets = np.array([np.bincount(frame.bucket[frame.document], minlength=1).size])
    assert buckets[0] >= min(n, 12)
    assert world.again is not None
    others = world.again(Anew(stream(2, "raters"), None, stream(2, "both")))
    assert others.frame.n_raters == n
    assert others.of_pool is not None
    assert world.of_pool is not None
    assert (others.of_pool() != world.of_pool()).any()


@pytest.mark.parametrize("together", [1, 2, 5])
def test_so_many_sit_together(scale: Path, together: int) -> None:
    frame = fitted(scale, rater_pool="new", n_raters=5, raters_per_bucket=together).frame
    assert frame.rater.shape[2] == together
    with pytest.raises(InputError, match=r"raters_per_bucket=6 exceeds the 5 raters that there are"):
        fitted(scale, rater_pool="new", n_raters=5, raters_per_bucket=6)


@pytest.mark.parametrize("built_in", [True, False])
def test_as_many_as_the_pilots_are_nothing_new(scale: Path, built_in: bool) -> None:
    path, pilot = (None, 10) if built_in else (scale, 2)
    for pool in ("pilot", "new"):
        usual, said = (fitted(path, rater_pool=pool, n_raters=n) for n in (None, pilot))
        first, second = (world.answers[RATE].expected_ratings() for world in (usual, said))  # type: ignore[attr-defined]
        np.testing.assert_array_equal(first, second)
        np.testing.assert_array_equal(usual.frame.rater, said.frame.rater)
    with pytest.raises(InputError, match=rf"^systems.n_raters=7: the pilot has {pilot} raters; set systems.rater_pool"):
        fitted(path, n_raters=7)


def test_all_worlds_take_one_draw_where_it_is_named(scale: Path) -> None:
    content = held()
    for k in range(3):
        worlds = [fitted(scale, seed, draw=k) for seed in range(6)]
        for world in worlds:
            assert world.truth is not None
            np.testing.assert_array_equal(world.truth, worlds[0].truth)
        assert abs(np.corrcoef(worlds[0].truth, content["draws"]["system"][k])[0, 1]) > 0.9
        # What a world draws is its own: only the parameters are shared.
        assert own(worlds[0]).shape == own(worlds[1]).shape
        assert (own(worlds[0]) != own(worlds[1])).all()
    assert len({tuple(fitted(scale, seed).truth) for seed in range(20)}) == 3  # type: ignore[arg-type]
    assert len({tuple(fitted(scale, draw=k).truth) for k in range(3)}) == 3  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^systems.draw=3: the fitted world has the draws 0 to 2$"):
        fitted(scale, draw=3)


def test_a_world_is_the_same_whether_its_draw_is_named_or_fell_to_it(scale: Path) -> None:
    for seed in range(6):
        free = fitted(scale, seed)
        same = [k for k in range(3) if np.array_equal(fitted(scale, seed, draw=k).truth, free.truth)]
        assert len(same) == 1
        np.testing.assert_array_equal(own(fitted(scale, seed, draw=same[0])), own(free))


def near(found: float, wanted: float, n: int) -> bool:
    """Tell whether a standard deviation of n normal numbers is within 4 standard errors of what is wanted."""
    return abs(found / wanted - 1) < 4 / np.sqrt(2 * n)


def test_raters_drawn_on_a_scale_differ_by_what_is_assumed(tmp_path: Path) -> None:
    path = of_raters_alone(tmp_path)
    keys = {"rater_pool": "new", "n_raters": MANY, "raters_per_bucket": MANY, "n_documents": 1}
    pilot = float(held()["draws"]["leniency_sd"][0])
    for lenient, taste in ((9.0, 0.5), (0.5, 9.0)):
        world = fitted(path, assumed_leniency_sd=lenient, assumed_rater_system_sd=taste, **keys)
        by_rater = own(world)
        between = by_rater[0] - by_rater[1]
        assert near(float(between.std()), taste * np.sqrt(2), MANY)
        assert near(float(by_rater[0].std()), float(np.hypot(lenient, taste)), MANY)
        assert not near(float(by_rater[0].std()), float(np.hypot(pilot, pilot)), MANY)
    assert near(float(own(fitted(path, **keys))[0].std()), float(np.hypot(pilot, pilot)), MANY)


def test_a_pilots_own_raters_are_stretched(tmp_path: Path) -> None:
    sharp = {"sharpness": [[1.0, 1.0] for _ in range(3)]}
    path, unit = of_raters_alone(tmp_path, **sharp), 4.0
    keys = {"raters_per_bucket": 2, "draw": 0}
    usual = own(fitted(path, **keys))
    system = np.array(held()["draws"]["system"][0])[:, None]
    leniency, taste = (np.array(held()["draws"][name][0]) for name in ("leniency", "taste"))
    np.testing.assert_allclose(usual, system + leniency + taste)
    stretched = own(fitted(path, assumed_leniency_sd=2 * unit, assumed_rater_system_sd=3 * unit, **keys))
    np.testing.assert_allclose(stretched, system + 2 * leniency + 3 * taste)
    nobody = own(fitted(path, assumed_leniency_sd=0.0, assumed_rater_system_sd=0.0, **keys))
    np.testing.assert_allclose(nobody, np.broadcast_to(system, (3, 2)))


def test_the_noise_and_what_documents_bring_are_as_assumed(tmp_path: Path) -> None:
    path = of_raters_alone(tmp_path, tail=[None] * 3)
    world = fitted(path, assumed_residual_sd=7.0, assumed_system_document_sd=0.0)
    law = world.answers[RATE]
    assert isinstance(law, ScaledRatings)
    assert law.residual_sd == 7.0
    n = 2000
    keys = {"n_documents": n, "raters_per_bucket": 1, "draw": 0, "names": ["A", "B"]}
    for spread in (0.0, 6.0):
        wide = fitted(path, assumed_system_document_sd=spread, assumed_rater_system_sd=0.0, **keys)
        first = np.unique(wide.frame.document, return_index=True)[1]
        only = wide.frame.rater[0, :, 0] == 0  # one rater: what raters favour is no part of it
        by_document = np.subtract(*wide.answers[RATE].latent[:, only, 0][:, : len(first)])  # type: ignore[attr-defined]
        assert (by_document.std() > 1) == (spread > 0)


def marked(world: World) -> Floats:
    """Return how many minor errors each rater is expected to mark in the first segment: `[rater]`."""
    law = world.answers[RATE]
    assert isinstance(law, ErrorCounts)
    return law.mean[:2].sum(0)[0, 0]


def test_of_counted_errors_drawn_raters_differ_by_what_is_assumed() -> None:
    still = {"assumed_rater_system_sd": 0.0, "assumed_system_document_sd": 0.0}
    keys = {"rater_pool": "new", "n_raters": MANY, "raters_per_bucket": MANY, "n_documents": 1, "draw": 0}
    alike, usual, wide = (
        np.log(marked(fitted(None, **keys, **still, **more)))
        for more in ({"assumed_leniency_sd": 0.0}, {}, {"assumed_leniency_sd": 1.5})
    )
    # The rest (taste for documents, sharpness) is what raters have who are equally lenient.
    assert near(float(np.sqrt(wide.var() - alike.var())), 1.5, MANY // 4)
    assert usual.std() < 0.8 * wide.std()


def test_of_counted_errors_the_pilots_raters_are_stretched() -> None:
    keys = {"raters_per_bucket": 10, "n_documents": 1, "draw": 0}
    usual, wide, alike = (
        np.log(marked(fitted(None, **keys, **more)))
        for more in ({}, {"assumed_leniency_sd": 3.0}, {"assumed_leniency_sd": 0.0})
    )
    own, stretched = usual - alike, wide - alike
    assert np.corrcoef(own, stretched)[0, 1] == pytest.approx(1)
    assert stretched.std() > 2 * own.std()
    with pytest.raises(InputError, match=r"^systems.assumed_residual_sd=1.5: where errors are counted it is the share"):
        fitted(None, assumed_residual_sd=1.5)


@pytest.mark.parametrize("name", ["rater_system_sd", "leniency_sd", "residual_sd", "system_document_sd"])
@pytest.mark.parametrize("value", [-1.0, 1e7])
def test_spreads_are_spreads(scale: Path, name: str, value: float) -> None:
    section = yaml.safe_load((CONF / "systems/fitted.yaml").read_text()) | {"path": str(scale)}
    refused: Callable[[], Any] = lambda: parts.model(section["_target_"], ()).validate_python(  # noqa: E731
        {key: one for key, one in section.items() if key != "_target_"} | {f"assumed_{name}": value}
    )
    with pytest.raises(ValueError, match=f"assumed_{name}"):
        refused()
