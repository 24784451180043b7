"""Check that the file of a world fitted on a scale is read, and refused where it cannot be."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fitted_scale_files import held, write

from simlab.rng import stream
from simlab.types import RATE, Anew, InputError, World
from simlab.world.files.fitted_scales import FittedScales
from simlab.world.files.fitted_world import read_fitted, read_world
from simlab.world.fitted import fitted
from simlab.world.laws.scales import ScaledRatings

LAWS = ("gaussian", "ordinal", "binary")
KEYS: dict[str, Any] = {
    "sha256": None,
    "names": None,
    "n_documents": 30,
    "raters_per_bucket": None,
    "rater_pool": "pilot",
    "n_raters": None,
    "noise": "fresh",
    "draw": None,
    "assumed_rater_system_sd": None,
    "assumed_leniency_sd": None,
    "assumed_residual_sd": None,
    "assumed_system_document_sd": None,
}


def world(path: Path, seed: int = 1, **keys: Any) -> World:
    drawn = fitted(stream(seed, "systems"), **KEYS | {"path": str(path)} | keys)
    assert isinstance(drawn, World)
    return drawn


def latent(world: World) -> Any:
    law = world.answers[RATE]
    assert isinstance(law, ScaledRatings)
    return law.latent


@pytest.mark.parametrize("law", LAWS)
def test_a_file_holds_what_was_written(tmp_path: Path, law: str) -> None:
    content = held(law)
    read = read_world(str(write(tmp_path / "w.yaml", content)), None)
    assert isinstance(read, FittedScales)
    assert read.system_names == ("A", "B", "C")
    assert not read.lower_is_better
    assert [one.scale.law for one in read.effects] == [law] * 3
    assert [one.scale.tail for one in read.effects] == [np.inf, 5.0, np.inf]
    for k, one in enumerate(read.effects):
        np.testing.assert_array_equal(one.taste, content["draws"]["taste"][k])
        np.testing.assert_array_equal(one.sharpness, content["draws"]["sharpness"][k])
        assert one.rater_document_sd == content["draws"]["rater_document_sd"][k]
    with pytest.raises(InputError, match="is a world of another law"):
        read_fitted(str(tmp_path / "w.yaml"), None)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("noise", ["fresh", "potential"])
def test_worlds_are_drawn_from_it(tmp_path: Path, law: str, noise: str) -> None:
    path = write(tmp_path / "w.yaml", held(law))
    first, again, other = (world(path, seed, noise=noise) for seed in (1, 1, 2))
    assert first.frame.rater_names == ("r1", "r2")
    assert set(np.bincount(first.frame.document)) <= {1, 2, 3}
    expected = [one.answers[RATE].expected_ratings() for one in (first, again, other)]  # type: ignore[attr-defined]
    np.testing.assert_array_equal(expected[0], expected[1])
    assert expected[0].shape != expected[2].shape or (expected[0] != expected[2]).any()
    assert first.truth is not None
    assert np.isfinite(first.truth).all()


def test_raters_of_the_pilot_keep_what_is_theirs(tmp_path: Path) -> None:
    content = held()
    still = ("document_sd", "segment_sd", "system_document_sd", "output_sd", "rater_document_sd")
    content["draws"] |= {name: [0.0] * 3 for name in still}
    path = write(tmp_path / "w.yaml", content)
    drawn = world(path, raters_per_bucket=2)
    draws = content["draws"]
    said = latent(drawn)[:, 0, :]
    explained = [
        mean + sharp * (np.array(system)[:, None] - mean) + leniency + np.array(taste)
        for mean, sharp, system, leniency, taste in (
            (draws["mean"][k], *(np.array(draws[name][k]) for name in ("sharpness", "system", "leniency", "taste")))
            for k in range(3)
        )
    ]
    assert any(np.allclose(said, one) for one in explained)
    named = world(path, raters_per_bucket=2, names=["C", "A"])
    np.testing.assert_allclose(latent(named)[:, 0, :], said[[2, 0]])
    new = world(path, raters_per_bucket=2, rater_pool="new")
    assert not any(np.allclose(latent(new)[:, 0, :], one) for one in explained)
    np.testing.assert_array_equal(new.truth, drawn.truth)  # the truth is that of raters at large


def test_other_raters_and_documents_can_be_drawn(tmp_path: Path) -> None:
    drawn = world(write(tmp_path / "w.yaml", held()), raters_per_bucket=2)
    assert drawn.again is not None
    documents = drawn.again(Anew(None, stream(2, "documents"), stream(2, "both")))
    raters = drawn.again(Anew(stream(3, "raters"), None, stream(3, "both")))
    assert raters.frame is drawn.frame
    for other in (documents, raters):
        assert latent(other).shape != latent(drawn).shape or (latent(other) != latent(drawn)).all()
        np.testing.assert_array_equal(other.truth, drawn.truth)


def put(where: str, value: Any) -> Callable[[dict[str, Any]], None]:
    *outer, last = where.split(".")

    def change(content: dict[str, Any]) -> None:
        for key in outer:
            content = content[key]
        content[last] = value

    return change


@pytest.mark.parametrize(
    ("law", "change", "line"),
    [
        ("gaussian", put("draws.leniency", [[1.0]] * 3), r"draws\.leniency must have 3 entries of 2, as the other"),
        ("gaussian", put("draws.document_sd", [1.0]), r"draws\.document_sd must have 3 entries, as the other draws"),
        ("gaussian", put("draws.document_sd", [1.0, -1.0, 0.0]), r"draws\.document_sd\.1: .*than or equal to 0"),
        ("gaussian", put("draws.mean", [float("nan")] * 3), r"draws\.mean\.0: .*finite"),
        ("gaussian", put("draws.sharpness", [[0.0, 1.0]] * 3), r"draws\.sharpness\.0\.0: .*greater than 0"),
        ("gaussian", put("draws.taste", [[[1.0], [1.0], [1.0]]] * 3), "taste must have a number for each of the 2"),
        ("gaussian", put("draws.tail", [2.0, None, None]), r"draws\.tail\.0.*greater than 2"),
        ("gaussian", put("scale.high", 0), r"scale\.low=0 is not below scale\.high=0"),
        ("gaussian", put("scale.step", -1), r"scale\.step.*greater than or equal to 0"),
        ("gaussian", put("law", "poisson"), r"law: .*'gaussian', 'ordinal' or 'binary'"),
        ("gaussian", put("seats", [[2]]), "seats name a rater beyond the 2 raters"),
        ("gaussian", put("systems", ["A", "A", "B"]), "named twice"),
        ("gaussian", put("extra", 1), r"extra: extra inputs are not permitted"),
        ("gaussian", put("checks", {"passed": 1, "failed": [{"name": "zeros"}]}), r"checks\.failed\.0\.real"),
        ("gaussian", put("format", "simlab fitted world 4"), "of schema 4, made by a newer simlab"),
        ("ordinal", put("draws.thresholds", [[0.0, -1.0, 2.0]] * 3), r"must rise from number to number"),
        ("ordinal", put("draws.thresholds", []), r"draws\.thresholds is missing; the law ordinal has some"),
        ("ordinal", put("scale.values", [1, 2]), r"draws\.thresholds must have 3 entries of 1"),
        ("ordinal", put("scale.values", [1, 3, 2, 5]), r"must rise from number to number"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_one_line(
    tmp_path: Path, law: str, change: Callable[[dict[str, Any]], None], line: str
) -> None:
    content = held(law)
    change(content)
    content = copy.deepcopy(content)
    content["draws"] = {name: [copy.deepcopy(row) for row in column] for name, column in content["draws"].items()}
    path = write(tmp_path / "w.yaml", content)
    with pytest.raises(InputError, match=line) as refused:
        read_world(str(path), None)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ({"names": ["A"]}, "name at least two systems"),
        ({"names": ["A", "D"]}, "the fitted world has no system D"),
        ({"raters_per_bucket": 3}, "exceeds the 2 raters of the pilot"),
        ({"sha256": "0" * 64}, "sha256|digest|changed"),
    ],
)
def test_keys_that_do_not_fit_a_file_are_refused(tmp_path: Path, keys: dict[str, Any], line: str) -> None:
    with pytest.raises(InputError, match=line):
        world(write(tmp_path / "w.yaml", held()), **keys)
