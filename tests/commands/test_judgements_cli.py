"""Studies of judgements, calculations and comparisons of stores from the command line, as a newcomer would use them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from simlab.analysis.adequacy.grid import measurable_grid
from simlab.config import compose_calculation, load_sweep
from simlab.store.calculations import calculate
from simlab.store.opening import open_results
from tests.commands.test_cli import said

SMALL = ["worlds=3", "studies=4", "systems.n_systems=3"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_a_study_is_chosen_by_its_estimator_metric_or_raters(capsys: pytest.CaptureFixture[str]) -> None:
    for chosen in ("analysis.estimator=ppi", "metric=rho_eta", "raters=judges", "systems=alpha_optimal"):
        assert "measurable_difference" in said(capsys, "run", chosen, *SMALL)
    assert "annotation_fraction" in said(capsys, "run", "systems=alpha_optimal", "decision=human_only", *SMALL)


def test_a_sweep_is_stored_with_its_truth(capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "sweep", "metric_assisted_ranking", "--quick", "worlds=2", "studies=4", "--out", "s")
    with open_results("s") as dataset:
        assert dataset["true_value"].dims == ("estimator", "per_system", "of_world", "system")
        assert ((dataset["low"] <= dataset["estimate"]) & (dataset["estimate"] <= dataset["high"])).all()
        cost = dataset["cost"].values
        assert (cost <= 6 * np.array([100, 400])[:, None] + 1e-6).all()  # a budget is never overdrawn
        assert (cost > 6 * np.array([98.5, 398.5])[:, None]).all()
        human, known = dataset["true_value"].values[0], dataset["true_value"].values[3]
        np.testing.assert_array_equal(human, known)  # estimators meet the same systems


@pytest.mark.slow
def test_stores_are_the_same_for_any_number_of_jobs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["sweep", "confidence_width", "--quick", "worlds=2", "studies=12", "engine.block=5"]
    for jobs in ("1", "2"):
        said(capsys, *words, "--jobs", jobs, "--out", jobs)
    first, second = (
        {file.relative_to(folder / jobs): file.read_bytes() for file in (folder / jobs / "results.zarr").rglob("*.*")}
        for jobs in ("1", "2")
    )
    assert first == second


def test_a_calculation_takes_other_settings(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["n_human=0,100", "n_calibration=null,100", "n_metric=1000", "--out", "s"]
    said(capsys, "sweep", "measurable_difference", *words)
    with open_results("s") as dataset:
        found = dataset["measurable_difference"].sel(n_metric=1000)
        assert float(found.sel(n_human=0, n_calibration=np.nan)) == pytest.approx(0.1091, abs=5e-5)
        assert float(found.sel(n_human=0, n_calibration=100)) > 0.15


@pytest.mark.slow
def test_slabs_of_the_published_grid_are_what_single_settings_are() -> None:
    asked = compose_calculation(load_sweep("published_grid"), ["n_human=0,500", "n_metric=500,1000000"])
    found = calculate(asked)["measurable_difference"]
    assert found.shape == (2, 2, 5, 5, 11, 8)
    one = {"n_human": [500], "n_metric": [500], "rho": [0.65], "eta": [0.95], "alpha": [0.3], "n_calibration": [100]}
    np.testing.assert_allclose(found[1, 0, 1, 4, 3, 2], measurable_grid(**one).item(), atol=1e-4)


@pytest.mark.slow
def test_stores_of_different_kinds_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "run", "analysis.estimator=sample_mean", "metric=none", *SMALL, "--out", "judged")
    said(capsys, "run", "systems=alpha_optimal", "decision=human_only", "metric=none", *SMALL, "--out", "compared")
    said(capsys, "run", "worlds=3", "studies=4", "--out", "rated")
    text = said(capsys, "compare", "judged", "compared", "--measure", "power")
    assert "paired over 3 worlds" in text
    assert "not paired" not in text  # the same systems, judged and compared
    # Other systems: differences are shown, none is called best, and the exit code says so.
    rows = json.loads(said(capsys, "compare", "judged", "rated", "--measure", "srp", "--format", "json", code=3))
    assert {row["standing"] for row in rows} == {"unranked"}
    assert [row["design"] for row in rows] == ["judged", "rated"]
    (contrast,) = [row for row in rows if row["difference"] is not None]
    errors = [row["srp_mcse"] for row in rows]
    assert contrast["difference_mcse"] == pytest.approx(np.hypot(*errors))  # other systems: independent
    text = said(capsys, "compare", "judged", "rated", "--measure", "srp", code=3)
    assert "not paired" in text
    assert "none is called best" in text


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
@pytest.mark.parametrize("command", [["run"], ["sweep", "measurable_difference"]])
def test_a_file_is_no_folder(
    command: list[str], dry: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "f").write_text("mine")
    assert "cannot be made a folder" in said(capsys, *command, "--out", "f", *dry, code=2)
    assert (folder / "f").read_text() == "mine"
