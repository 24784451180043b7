"""Worlds that know how fast people work: what a file says, and which draw of it a world takes."""

from __future__ import annotations

import pickle
from importlib.resources import files as packaged
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import yaml

from simlab.cli import answer
from simlab.rng import stream
from simlab.types import Anew, InputError, RatedWorld
from simlab.world.files.fitted_world import BUILT_IN, read_fitted
from simlab.world.fitted import fitted

TIMING: dict[str, Any] = {
    "rule": "ends",
    "cut": 300.0,
    "hours": [{"cut": 30.0, "hours": 2.0}, {"cut": 300.0, "hours": 5.0}],
    "people": 8,
    "logins": 33,
    "answers": 3281,
    "answers_per_screen": 2.5,
    "seconds_per_answer": {"low": 50.0, "estimate": 60.0, "high": 80.0},
    "median_seconds": {"low": 45.0, "estimate": 55.0, "high": 68.0},
    "rater_sd": {"low": 0.1, "estimate": 0.3, "high": 0.5},
    "login_sd": {"low": 0.2, "estimate": 0.25, "high": 0.35},
    "screen_sd": {"estimate": 0.6},
    "log_mean": 4.0,
    "log_mean_se": 0.12,
    "draws": {"log_mean": [3.9, 4.0, 4.1], "rater_sd": [0.1, 0.3, 0.5], "login_sd": [0.2, 0.2, 0.3]},
}


def content() -> dict[str, Any]:
    text = packaged("simlab.world").joinpath("data", BUILT_IN).read_text(encoding="utf-8")
    held: dict[str, Any] = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return held


def written(folder: Path, timing: dict[str, Any] | None) -> Path:
    path = folder / "world.yaml"
    path.write_text(
        yaml.dump({**content(), **({"timing": timing} if timing else {})}, Dumper=yaml.CSafeDumper), encoding="utf-8"
    )
    return path


def world(path: Path | None, k: int) -> RatedWorld:
    return fitted(
        stream(1, "world", k),
        path=None if path is None else str(path),
        sha256=None,
        names=None,
        n_documents=6,
        raters_per_bucket=None,
        rater_pool="new",
        n_raters=None,
        noise="fresh",
        draw=None,
        assumed_rater_system_sd=None,
        assumed_leniency_sd=None,
        assumed_residual_sd=None,
        assumed_system_document_sd=None,
    )


def test_each_world_takes_a_draw_and_keeps_it_with_other_raters(tmp_path: Path) -> None:
    path = written(tmp_path, TIMING)
    means = np.exp(np.array([3.9, 4.0, 4.1]) + np.array([0.05, 0.13, 0.34]) / 2)
    met = set()
    for k in range(12):
        one = world(path, k)
        assert one.speeds is not None
        place = int(np.argmin(np.abs(means - one.speeds.seconds_per_answer)))
        wanted = (means[place], (0.1, 0.3, 0.5)[place], (0.2, 0.2, 0.3)[place], 0.6, 300)
        assert one.speeds == pytest.approx(wanted)
        met.add(place)
        assert one.again is not None
        others = one.again(Anew(stream(1, "raters"), None, stream(1, "both")))
        assert others.speeds == one.speeds
        assert others.again is not None
        assert others.again(Anew(None, stream(1, "documents"), stream(1, "both"))).speeds == one.speeds
    assert met == {0, 1, 2}
    pickle.dumps(world(path, 0).speeds)


def test_a_file_without_times_makes_worlds_that_know_no_speeds_and_the_same_bits(tmp_path: Path) -> None:
    timed, untimed = world(written(tmp_path, TIMING), 3), world(None, 3)
    assert untimed.speeds is None
    np.testing.assert_array_equal(timed.frame.rater, untimed.frame.rater)
    assert timed.truth is not None
    assert untimed.truth is not None
    np.testing.assert_array_equal(timed.truth, untimed.truth)
    assert read_fitted(None, None).timing == ()


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("cut", -1.0, "timing.cut"),
        ("rule", "guess", "timing.rule"),
        ("draws", {"log_mean": [4.0], "rater_sd": [0.1, 0.2], "login_sd": [0.1]}, "as many of log_mean"),
        ("draws", {"log_mean": [400.0], "rater_sd": [0.1], "login_sd": [0.1]}, "timing.draws.log_mean"),
        ("draws", {"log_mean": [4.0], "rater_sd": [-0.1], "login_sd": [0.1]}, "timing.draws.rater_sd"),
        ("wage", 5.0, "timing.wage"),
    ],
)
def test_what_cannot_be_a_speed_is_refused(tmp_path: Path, key: str, value: object, said: str) -> None:
    with pytest.raises(InputError) as caught:
        read_fitted(str(written(tmp_path, {**TIMING, key: value})), None)
    assert said in str(caught.value)


def test_a_clock_that_wants_the_speeds_of_a_world_without_any_is_refused_before_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["design.collection=fitted", "worlds=1", "studies=1", "--out", "o"]
    assert answer(["run", *words]) == 2
    said = capsys.readouterr().err
    assert "says nothing of how fast people work" in said
    assert said.count("\n") == 1
    assert not (tmp_path / "o").exists()
    known = [
        "design.collection.seconds_per_answer=20",
        "design.collection.rater_sd=.5",
        "design.collection.screen_sd=.5",
    ]
    assert answer(["run", *words[:-2], *known, "--dry-run"]) == 0


def test_campaigns_take_the_hours_that_the_speeds_of_their_worlds_make(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice as slow in the file, and nothing else: twice the hours."""
    hours = []
    for name, slower in (("a", 0.0), ("b", float(np.log(2)))):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        draws = {"log_mean": [4.0 + slower], "rater_sd": [0.3], "login_sd": [0.2]}
        path = written(tmp_path / name, {**TIMING, "draws": draws})
        words = [f"systems.path={path}", "systems.n_documents=12", "design.documents=12", "worlds=2", "studies=1"]
        assert (
            answer(
                [
                    "run",
                    "systems=fitted",
                    "design.collection=fitted",
                    "design.collection.drop_out=0",
                    *words,
                    "--out",
                    "o",
                    "--jobs",
                    "1",
                ]
            )
            == 0
        )
        hours.append(np.asarray(xr.open_zarr(tmp_path / name / "o" / "results.zarr")["work_hours"]))
    assert hours[1] == pytest.approx(2 * hours[0])
