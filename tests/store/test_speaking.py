"""A store says what its variables are and where it comes from, in itself and on a page beside it; old ones say less."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import fake_studies
import numpy as np
import pytest
import zarr

import simlab
from simlab.config import compose_calculation, load_sweep
from simlab.config.sweep import Axis, Sweep
from simlab.engine import provenance
from simlab.engine import run as engine
from simlab.store import calculations, filling, units
from simlab.store.verifying import verify
from simlab.studies.kinds import outcomes as declared
from simlab.types import Array


def lay(sweep: Sweep, folder: Path, jobs: int = 1) -> Path:
    parts = {"check": fake_studies.check, "block": fake_studies.block, "labels": fake_studies.LABELS, "quiet": True}
    filling.fill(sweep, folder, fake_studies.MEASURES, jobs, **parts)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return lay(fake_studies.sweep(), tmp_path / "store")


def test_every_variable_says_what_it_is(folder: Path) -> None:
    with simlab.open_results(folder) as dataset:
        assert all(variable.attrs["long_name"] for variable in dataset.variables.values())
        assert dataset["share"].attrs["long_name"] == dataset["share"].attrs["label"] == "share of significant pairs"
        assert dataset["documents"].attrs["units"] == "documents"
        assert dataset["cost"].attrs["units"] == "currency"
        assert dataset["share_n"].attrs["units"] == "campaigns"
        assert "units" not in dataset["direction"].attrs


KINDS = {"human_count": "points", "verdict": "1", "human_cost": "1"}


@pytest.mark.parametrize("mark", KINDS)
def test_every_number_that_is_no_code_has_a_unit(mark: str) -> None:
    codes = {name for name, outcome in declared().items() if outcome.dtype in ("int8", "bool")} | {"document_set"}
    without = {name for name in declared() if units.outcome_unit(name, [mark]) is None}
    assert without == codes
    assert units.outcome_unit("estimate", [mark]) == KINDS[mark]


def test_where_studies_of_two_sorts_lie_together_quality_has_no_unit() -> None:
    assert units.outcome_unit("estimate", ["human_count", "verdict"]) is None
    assert units.outcome_unit("cost", ["human_count", "verdict"]) == "currency"


def test_standardised_scores_are_no_points() -> None:
    def config(name: str) -> dict[str, Any]:
        return {"analysis": {"normalization": {"_target_": f"simlab.analysis.normalization.{name}"}}}

    assert units.is_in_points([config("none"), config("mean")])
    assert not units.is_in_points([config("none"), config("zscore")])
    assert not units.is_in_points([{}])


def test_pairs_bear_the_names_of_their_systems(folder: Path) -> None:
    with simlab.open_results(folder) as dataset:
        names = dataset["system"].values
        assert dataset["pair_first_name"].values.tolist() == names[dataset["pair_first"].values].tolist()
        assert dataset["pair_second_name"].values.tolist() == names[dataset["pair_second"].values].tolist()
        assert {"pair_first_name", "pair_second_name"} <= set(dataset.coords)


def test_pairs_of_cells_with_other_systems_have_no_names(tmp_path: Path) -> None:
    lay(fake_studies.sweep(axes=[Axis("n_systems", "size", (4, 3))]), tmp_path)
    with simlab.open_results(tmp_path) as dataset:
        assert "pair_first_name" not in dataset.variables
    assert verify(tmp_path, fake_studies.MEASURES).problems == ()


@pytest.mark.parametrize(("commit", "dirty"), [("abc", False), ("abc+changed", True), ("unknown", False)])
def test_numbers_from_files_that_no_commit_holds_are_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commit: str, dirty: bool
) -> None:
    for sweep, named in ((fake_studies.sweep((10,)), commit), (fake_studies.sweep(), "later")):
        for module in (engine, provenance):
            monkeypatch.setattr(module, "provenance", lambda named=named: {"simlab": "0", "commit": named})
        lay(sweep, tmp_path)
    with simlab.open_results(tmp_path) as dataset:
        assert dataset.attrs["dirty"] == int(dirty)


def test_names_and_marks_that_are_wrong_are_noticed(folder: Path) -> None:
    root = zarr.open_group(folder / "results.zarr", mode="r+", use_consolidated=False)
    named: Any = root["pair_first_name"]
    named[0] = "nobody"
    root.attrs["dirty"] = 1 - root.attrs["dirty"]
    problems = verify(folder, fake_studies.MEASURES).problems
    assert "results.zarr/pair_first_name is not what the ledger says" in problems
    assert any("the attribute dirty is not what the ledger says" in problem for problem in problems)


def test_names_that_are_lost_are_noticed(folder: Path) -> None:
    root = zarr.open_group(folder / "results.zarr", mode="r+", use_consolidated=False)
    del root["pair_first_name"]
    assert any("pair_first_name" in problem for problem in verify(folder, fake_studies.MEASURES).problems)


def page(folder: Path) -> str:
    return (folder / "README.txt").read_text(encoding="utf-8")


def test_a_page_says_what_a_folder_holds_and_what_made_it(folder: Path) -> None:
    text = page(folder)
    assert "    simlab sweep fake\n" in text
    assert "documents (design.documents): 10, 20" in text
    assert "Cells: 2, each 2 worlds x 10 studies." in text
    assert "share: share of significant pairs" in text
    assert re.search(r"^    price: 1\.0$", text, re.MULTILINE)
    assert max(map(len, text.splitlines())) <= 120


def test_the_same_content_has_the_same_page(tmp_path: Path, folder: Path) -> None:
    grown = lay(fake_studies.sweep((10,), worlds=1, block=9), tmp_path / "grown")
    assert page(grown) != page(folder)
    assert page(lay(fake_studies.sweep(), grown, jobs=2)) == page(folder)
    assert sorted(path.name for path in grown.iterdir()) == ["README.txt", "ledger.sqlite", "results.zarr"]


def snippets(text: str) -> list[str]:
    """Return the pieces of Python of a page."""
    blocks = re.findall(r"(?:^(?:    .*)?\n)+", text, re.MULTILINE)
    return [code for block in blocks if (code := textwrap.dedent(block).strip()).startswith("import ")]


def test_what_a_page_says_about_opening_works(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    said: dict[str, Any] = {}
    codes = snippets(page(folder))
    assert len(codes) == 3
    shapes = []
    for code in codes:
        exec(code, said)  # the page's own words, as a reader would type them
        shapes.append(said["results"]["estimate"].shape)
        said["results"].close()
    assert shapes == [(2, 20, 3)] * 3
    outcomes: Mapping[str, Array] = said["outcomes"]
    np.testing.assert_array_equal(outcomes["status"], (outcomes["study"] % 7 == 3).astype(np.int8))
    assert len(said["configs"]) == 2


def test_a_calculation_has_a_page_and_a_mark(tmp_path: Path) -> None:
    calculation = compose_calculation(load_sweep("measurable_difference"), ["n_metric=0,1000"], quick=True)
    calculations.run(calculation, tmp_path, {})
    text = page(tmp_path)
    assert "simlab sweep measurable_difference n_metric=0,1000 --quick" in text
    assert "calculated without simulation" in text
    assert "    rho: 0.7\n" in text
    assert "    n_human: 100\n" not in text
    assert "ledger" not in text
    with simlab.open_results(tmp_path) as dataset:
        assert dataset.attrs["dirty"] in (0, 1)
        assert dataset["measurable_difference"].attrs["units"] == "1"
    assert calculations.verify(tmp_path) == (2, [])
