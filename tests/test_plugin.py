"""Try the example plug-in: one function and one YAML make a grouping rule or a measure that sweeps can use."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from simlab.cli import answer

EXAMPLE = Path(__file__).parents[1] / "examples" / "house_rules"
SMALL = ["systems.n_systems=4", "systems.n_documents=42", "systems.n_segments=84", "worlds=3", "--jobs", "1"]


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(EXAMPLE))


def test_a_plug_in_brings_a_grouping_rule_and_a_measure(capsys: pytest.CaptureFixture[str]) -> None:
    sweep = ["sweep", str(EXAMPLE / "by_system.yaml"), *SMALL, "--out", "s"]
    assert answer([*sweep, "--plugins", "house_rules"]) == 0
    capsys.readouterr()
    assert answer(["query", "s", "documents=42", "--measure", "srp,same_winner", "--format", "json"]) == 0
    records = {record["grouping"]: record for record in json.loads(capsys.readouterr().out)}
    assert records["by_system"]["same_winner_n"] == 30
    # All outputs of a system from one rater: the rater's leniency is the system's score, so rankings do not hold.
    assert records["by_system"]["srp"] < records["pseudo_side_by_side"]["srp"]
    assert answer(["verify", "s"]) == 0
    # A report explains the parts of a package where it is named, and asks none that is not.
    said = "Ask one rater about all outputs of a system in a bucket."
    assert answer(["report", "s", "--out", "unnamed.md"]) == 0
    assert said not in Path("unnamed.md").read_text(encoding="utf-8")
    assert "Not simlab's own: same\\_winner." in Path("unnamed.md").read_text(encoding="utf-8")
    assert answer(["report", "s", "--out", "named.md", "--plugins", "house_rules"]) == 0
    named = Path("named.md").read_text(encoding="utf-8")
    assert said in named
    assert "How often two comparable campaigns put the same system first" in named
    assert answer(["report", "s", "--out", "strange.md", "--plugins", "nothing_here"]) == 2
    assert not Path("strange.md").exists()


def test_parts_of_a_package_that_is_not_named_are_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["sweep", str(EXAMPLE / "by_system.yaml"), *SMALL, "--out", "s"]) == 2
    assert "by_system" in capsys.readouterr().err


TESTS = '''
"""Tests of one's own: of documents' totals, and of ratings."""
import numpy as np
from simlab.types import Floats, ScoredRatings

def of_totals(rng: np.random.Generator, total: Floats) -> Floats:
    return np.full(total.shape[1] * (total.shape[1] - 1) // 2, 0.25)

def unsaid(rng, total):
    return of_totals(rng, total)

def of_ratings(rng: np.random.Generator, scores: ScoredRatings) -> Floats:
    return np.full(scores.n_systems * (scores.n_systems - 1) // 2, 1 / len(np.unique(scores.rater)))
'''


@pytest.mark.parametrize(
    ("test", "p_value"),
    [("of_totals", 0.25), pytest.param("unsaid", 0.25, marks=pytest.mark.slow), ("of_ratings", 1 / 7)],
)
def test_a_test_is_handed_what_its_annotation_names(
    test: str, p_value: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "tests_of_mine"
    (package / "conf/analysis/test").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "parts.py").write_text(TESTS)
    (package / f"conf/analysis/test/{test}.yaml").write_text(
        f"# A test of mine.\n_target_: tests_of_mine.parts.{test}\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("tests_of_mine", "tests_of_mine.parts"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    words = [
        f"analysis.test={test}",
        "decision=significance",
        *SMALL[:3],
        "worlds=1",
        "studies=2",
        "--jobs",
        "1",
        "--out",
        "s",
    ]
    assert answer(["run", *words, "--plugins", "tests_of_mine"]) in (0, 3)
    with xr.open_zarr(tmp_path / "s/results.zarr") as store:
        np.testing.assert_array_equal(store["p_value"].values, p_value)


def register(root: Path, name: str, *packages: str) -> None:
    for number, package in enumerate(packages):
        folder = root / f"registered{number}-1.0.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: registered{number}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[simlab.plugins]\n{name} = {package}\n")


def test_an_installed_package_registers_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert answer(["show", "--plugins", "house"]) == 2
    assert "plug-in house is no package" in capsys.readouterr().err
    register(tmp_path / "one", "house", "house_rules")
    with monkeypatch.context() as patch:
        patch.syspath_prepend(str(tmp_path / "one"))
        assert answer(["show", "--plugins", "house"]) == 0
        assert "by_system" in capsys.readouterr().out
        # Names of packages are names as before.
        assert answer(["show", "--plugins", "house_rules"]) == 0
        assert "by_system" in capsys.readouterr().out
    register(tmp_path / "two", "house", "house_rules", "json")
    monkeypatch.syspath_prepend(str(tmp_path / "two"))
    assert answer(["show", "--plugins", "house"]) == 2
    said = capsys.readouterr().err
    assert "--plugins house: house_rules and json both have this name" in said
    assert len(said.strip().splitlines()) == 1
