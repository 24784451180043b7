"""Carry out sweeps whose axes set several keys, and whose grid has gaps: run, resumed, asked, opened."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import simlab
from simlab.cli import answer
from simlab.config.sweep import Axis
from simlab.store.query import NOT_ASKED, records
from tests import fake_studies
from tests.store.test_store import lay

SWEEP = """
designs:
  ours: {design.grouping: ungrouped, design.ratings_per_item: 2}
  theirs: {design.grouping: pseudo_side_by_side, design.ratings_per_item: 1}
axes: {design.documents: [10, 20]}
only: documents * ratings_per_item < 40
set: {systems.n_systems: 3, worlds: 2, studies: 3}
measures: [srp]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(SWEEP)
    return tmp_path


def test_a_grid_with_gaps_is_laid_and_grows(folder: Path) -> None:
    sets = ({"design.documents": 10, "price": 1.0}, {"design.documents": 20, "price": 2.0})
    design = Axis("design", "design", ("ours", "theirs"), sets=sets, along={"design.documents": "documents"})
    axes = (design, Axis("seed", "seed", (1, 2)))
    lay(fake_studies.sweep(axes=(design.select([0]), axes[1]), kept=frozenset([(0, 0)])), folder / "s")
    lay(fake_studies.sweep(axes=axes, kept=frozenset([(0, 0), (1, 0), (1, 1)])), folder / "s")
    with simlab.open_results(folder / "s") as results:
        assert results["asked"].values.tolist() == [[True, False], [True, True]]
        assert results["documents"].values.tolist() == [10, 20]
        assert np.isnan(results["mean"].values).tolist() == [[False, True], [False, False]]
        assert (results["cost"].sel(design="theirs").mean() == 6.0).item()
        assert (results["status"].sel(design="ours", seed=2) == 3).all()
        reasons = [record["mean_reason"] for record in records(results, ["mean"])]
        assert reasons == [None, NOT_ASKED, None, None]
    assert "Cells: 3, each" in (folder / "s" / "README.txt").read_text()
    lay(fake_studies.sweep(axes=axes), folder / "s")
    with simlab.open_results(folder / "s") as results:
        assert "asked" not in results


def test_show_lists_what_designs_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["show", "s.yaml"]) == 0
    page = " ".join(capsys.readouterr().out.split())
    assert "design ours design.grouping = ungrouped, design.ratings_per_item = 2" in page
    assert "design theirs design.grouping = pseudo_side_by_side" in page
    assert "3 cells" in page
    assert answer(["show", "s.yaml", "--format", "json"]) == 0
    assert '"named"' in capsys.readouterr().out
    assert answer(["show", "item_grouping", "--format", "json"]) == 0
    assert '"named"' not in capsys.readouterr().out


@pytest.mark.slow
def test_a_grid_with_gaps_is_run_resumed_and_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["sweep", "s.yaml", "design=theirs", "--out", "s", "--jobs", "1"]) in (0, 3)
    assert answer(["sweep", "s.yaml", "--out", "s", "--jobs", "1"]) in (0, 3)
    assert answer(["sweep", "s.yaml", "--out", "fresh", "--jobs", "1"]) in (0, 3)
    grown, fresh = (simlab.open_results(folder) for folder in ("s", "fresh"))
    for results in (grown, fresh):
        asked = results["asked"].sel(documents=20).to_series().to_dict()
        assert asked == {"ours": False, "theirs": True}
        at = results.sel(design="ours", documents=20)
        assert np.isnan(at["srp"]).item()
        assert (at["status"] == 3).all()
        assert results["ratings_per_item"].sel(design="ours") == 2
    both = fresh["estimate"].sel(design=["ours", "theirs"]), grown["estimate"].sel(design=["ours", "theirs"])
    assert np.array_equal(*(one.values for one in both), equal_nan=True)
    assert np.isfinite(fresh["estimate"].sel(design="theirs").values).all()
    capsys.readouterr()
    assert answer(["query", "s", "design=ours"]) == 0
    assert "the sweep leaves the cell out" in capsys.readouterr().out
    assert answer(["verify", "s"]) == 0
    assert answer(["plot", "s", "--out", "s.png"]) in (0, 3)


def test_what_is_refused_leaves_nothing_behind(capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.yaml").write_text(SWEEP.replace("documents * ", "document * "))
    before = sorted(Path().rglob("*"))
    assert answer(["sweep", "s.yaml", "--out", "s"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert sorted(Path().rglob("*")) == before
