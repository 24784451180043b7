"""`simlab detect`: tables, JSON, CSV, the inverse, and one line for what can be mended."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from simlab.analysis.adequacy.measurable_difference import (
    detectable_difference,
    joint_difference,
    measurable_difference,
)
from simlab.analysis.adequacy.plans import Plan
from simlab.answers.detect import DIFFERENCES
from tests.commands.test_cli import said

PLAN = ["rho=.7", "eta=.7", "alpha=.6"]
HALF = "power=.5"
"""The power with which a measurable difference is found."""


def records(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict]:
    found = json.loads(said(capsys, "detect", *words, "--format", "json"))
    assert all(not isinstance(value, list | dict) for record in found for value in record.values())
    return found


def test_a_table_over_all_combinations(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["n_human=100,1000", "n_metric=1000,10000", *PLAN]
    found = records(capsys, *words)
    at = [(100, 1000), (100, 10_000), (1000, 1000), (1000, 10_000)]
    assert [(row["n_human"], row["n_metric"]) for row in found] == at
    for row, (human, metric) in zip(found, at, strict=True):
        setting = (human, metric, 0.7, 0.7, 0.6)
        assert row["epsilon"] == pytest.approx(float(measurable_difference(Plan(*setting)).epsilon))
        assert row["epsilon_joint"] == pytest.approx(float(joint_difference(Plan(*setting)).epsilon))
        assert row["detectable"] == pytest.approx(float(detectable_difference(Plan(*setting))))
        assert row["n_calibration"] is None
    table = said(capsys, "detect", *words)
    assert "epsilon_joint" in table
    assert " .08485 " in table
    rows = list(csv.DictReader(io.StringIO(said(capsys, "detect", *words, "--format", "csv"))))
    assert [float(row["epsilon"]) for row in rows] == [row["epsilon"] for row in found]


def test_a_score_is_cut_at_its_best_threshold(capsys: pytest.CaptureFixture[str]) -> None:
    (row,) = records(capsys, "n_metric=1000", "correlation=.7", "alpha=.6")
    assert [round(row[name], 3) for name in ("threshold", "rho", "eta")] == [-0.103, 0.74, 0.757]
    accuracy, both = (
        records(capsys, "n_metric=1000", "alpha=.6", w, *v) for w, v in (("accuracy=.8", []), ("rho=.8", ["eta=.8"]))
    )
    assert accuracy == both


def test_the_power_for_a_difference(capsys: pytest.CaptureFixture[str]) -> None:
    (row,) = records(capsys, "n_metric=10000", *PLAN)
    (found,) = records(capsys, "n_metric=10000", *PLAN, "--difference", str(row["detectable"]))
    assert found["power_published"] == pytest.approx(0.8, abs=1e-3)
    (found,) = records(capsys, "n_metric=10000", *PLAN, "--difference", str(row["detectable_joint"]))
    assert found["power_joint"] == pytest.approx(0.8, abs=1e-3)
    assert "power_published" in said(capsys, "detect", "n_metric=10000", *PLAN, "--difference", ".02")


@pytest.mark.slow
@pytest.mark.parametrize("unknown", ["n_human", "n_metric", "n_calibration"])
def test_what_is_solved_for_reaches_the_difference(unknown: str, capsys: pytest.CaptureFixture[str]) -> None:
    plan = {"n_human": 100, "n_metric": 2000, "n_calibration": 1000}
    words = [f"{key}={value}" for key, value in plan.items() if key != unknown]
    words = [*words, HALF]
    (row,) = records(capsys, *words, *PLAN, "--solve", unknown, "--difference", ".09")
    assert row["epsilon"] == pytest.approx(0.09, abs=3e-4)
    assert row[unknown] > 0
    assert row["difference"] == 0.09
    (joint,) = records(capsys, *words, *PLAN, "--solve", unknown, "--difference", ".09", "--joint")
    assert joint[unknown] < row[unknown]
    assert unknown in said(capsys, "detect", *words, *PLAN, "--solve", unknown, "--difference", ".09")


@pytest.mark.parametrize("power", ["", "power=.9"])
@pytest.mark.parametrize("joint", [False, True])
def test_what_is_solved_for_finds_the_difference_as_often_as_wanted(
    power: str, joint: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = ["n_metric=2000", "n_calibration=400", "accuracy=.8", "alpha=.6", *filter(None, [power])]
    words = ["--difference", ".06" if joint else ".08"]
    (row,) = records(capsys, *plan, *words, "--solve", "n_human", *(["--joint"] if joint else []))
    name, wanted = "power_joint" if joint else "power_published", 0.9 if power else 0.8
    assert row["n_human"] > 0
    assert wanted <= row[name] < wanted + 0.002
    (fewer,) = records(capsys, *plan, f"n_human={row['n_human'] - 1}", *words)
    assert fewer[name] < wanted


@pytest.mark.slow
def test_the_power_of_a_mix_and_what_no_number_finds(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["alpha=.6", "accuracy=.9", "--solve", "mix", "--difference", ".05", "--prices", "human=.15,metric=.001"]
    (row,) = records(capsys, *words)
    assert 0.8 <= row["power_published"] < 0.805
    assert row["detectable"] == pytest.approx(0.05, abs=5e-4)
    far = ["accuracy=.7", "n_calibration=50", "--solve", "n_metric", "--difference", ".1"]
    assert "no difference is found with power 0.8" in said(capsys, "detect", *far, code=2)
    assert "is found with power 0.8 with these settings is" in said(capsys, "detect", "n_human=99", *far, code=2)
    assert "is measurable with these settings is" in said(capsys, "detect", *far, HALF, code=2)


@pytest.mark.slow
def test_the_cheapest_mix(capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "alpha=.6",
        "accuracy=.9",
        HALF,
        "--solve",
        "mix",
        "--difference",
        ".05",
        "--prices",
        "human=.15,metric=.001",
    ]
    (row,) = records(capsys, *words)
    assert row["price"] == pytest.approx(row["n_human"] * 0.15 + row["n_metric"] * 0.001)
    assert row["epsilon"] <= 0.0503
    (free,) = records(capsys, *words, "n_calibration=free")
    assert free["n_calibration"] is not None
    assert free["price"] > row["price"]
    assert "price" in said(capsys, "detect", *words)


@pytest.mark.slow
def test_one_setting_out_of_reach_does_not_hide_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["n_human=0,100", "n_calibration=1000", *PLAN, HALF, "--solve", "n_metric", "--difference", ".09"]
    none, some = records(capsys, *words)
    assert none["n_metric"] is None
    assert none["epsilon"] is None
    assert some["n_metric"] > 0
    assert "out of reach" in said(capsys, "detect", *words)


def test_a_metric_that_is_turned_round_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert "turned round" in said(capsys, "detect", "n_metric=100", "rho=.3", "eta=.4")
    (row,) = records(capsys, "n_metric=100", "rho=.3", "eta=.4")
    assert row["flipped"] is True


def test_any_two_of_several_systems(capsys: pytest.CaptureFixture[str]) -> None:
    two, eight = records(capsys, "n_systems=2,8", "n_human=1000", "alpha=.6")
    (alone,) = records(capsys, "n_human=1000", "alpha=.6")
    assert alone.items() <= two.items()
    assert [round(eight[name], 3) for name in ("epsilon", "epsilon_joint", "detectable")] == [0.066, 0.066, 0.086]
    pair, best, every = records(capsys, "n_systems=8", "find=pair,best,all", "n_human=1000", "--difference", ".1")
    assert pair["power_published"] > best["power_published"] > every["power_published"]
    assert "studentised" not in said(capsys, "detect", "n_human=9")
    assert "find=all: each system" in said(capsys, "detect", "n_systems=8", "find=all", "n_human=9")


@pytest.mark.slow
@pytest.mark.parametrize("find", ["pair", "all"])
def test_several_systems_have_an_inverse(find: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["n_systems=8", f"find={find}", "alpha=.6", "accuracy=.8", "--difference", ".05"]
    (row,) = records(capsys, *words, "n_metric=5000", "--solve", "n_human")
    assert 0.8 <= row["power_published"] < 0.802
    (mix,) = records(capsys, *words, "--solve", "mix", "--prices", "human=.15,metric=.001")
    assert 0.8 <= mix["power_published"] < 0.81
    (joint,) = records(capsys, *words, "n_metric=5000", "n_calibration=2000", "--solve", "n_human", "--joint")
    assert 0.8 <= joint["power_joint"] < 0.802


def test_differences_are_in_points_where_that_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    (share,) = records(capsys, "n_human=1000", "alpha=.6", "--difference", ".05")
    (points,) = records(capsys, "n_human=1000", "alpha=.6", "--difference", "5", "--points")
    assert points["unit"] == "points"
    for name, value in share.items():
        assert points[name] == (pytest.approx(100 * value) if name in (*DIFFERENCES, "difference") else value)
    (solved,) = records(capsys, "alpha=.6", "--solve", "n_human", "--difference", "5", "--points")
    (same,) = records(capsys, "alpha=.6", "--solve", "n_human", "--difference", ".05")
    assert (solved["n_human"], solved["difference"]) == (same["n_human"], 5)
    table = said(capsys, "detect", "n_human=1000", "alpha=.6", "--points")
    assert "in points (hundredths) of adequacy" in table
    assert "4.288 points" in table


def test_a_grid_of_drawn_counts_has_errors_and_is_calculated_again_alike(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ["counts=expected,drawn", "draws=10", "n_human=10,100", "n_metric=1000", "--out", str(tmp_path / "s")]
    names = "measure=[measurable_difference,measurable_difference_q95]"
    assert "10 campaigns in 10 draws" in said(capsys, "sweep", "measurable_difference", *words, names)
    assert "what rests on draws (10 of each setting)" in (tmp_path / "s" / "README.txt").read_text(encoding="utf-8")
    rows = json.loads(said(capsys, "query", str(tmp_path / "s"), "--format", "json"))
    errors = {row["counts"]: row["measurable_difference_mcse"] for row in rows}
    assert errors["expected"] == 0 < errors["drawn"]
    assert "the store holds the same" in said(capsys, "verify", str(tmp_path / "s"))
    assert "10 draws" in said(capsys, "compare", str(tmp_path / "s"), "--by", "n_human")
    said(capsys, "sweep", "measurable_difference", "measure=srp", "--out", str(tmp_path / "t"), code=2)


@pytest.mark.slow
def test_nothing_heavy_is_imported() -> None:
    look = (
        "import sys; from simlab.cli import answer;"
        "words = 'detect n_metric=1000 n_calibration=100 accuracy=.7 --solve n_human --difference .1';"
        "assert answer(words.split()) == 0;"
        "print(sorted({'jax', 'xarray', 'hydra', 'matplotlib', 'numpyro', 'scipy.stats'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines()[-1] == "[]"
