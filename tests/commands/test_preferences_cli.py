"""Studies of preferences from the command line: run, figures, orders, and one line for what can be mended."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simlab.cli import answer
from simlab.comparing.verdicts import matches
from simlab.store.opening import open_results
from tests.commands.test_cli import said

SMALL = ["systems.n_systems=4", "systems.n_items=40", "budget.annotations_per_pair=40", "metric.n_outputs=100"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("name", ["preference_naive", "budget_divergence"])
def test_figures_of_pairs_and_of_tradeoffs_are_drawn(
    name: str, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    smaller = ["systems.n_items=40", "systems.n_systems=4", "worlds=2", "studies=2", "--out", "s"]
    smaller += ["decision=fixed,human_only", "budget.annotations_per_pair=20,40"] if "budget" in name else []
    smaller += ["budget.annotations_per_pair=40"] if "naive" in name else []
    said(capsys, "sweep", name, *smaller)
    said(capsys, "plot", "s", "--out", "figure.png")
    assert (folder / "figure.png").stat().st_size > 10_000


def test_the_order_that_one_campaign_found_is_drawn(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    said(
        capsys,
        "run",
        "systems=preference",
        "systems.n_systems=3",
        *SMALL[1:3],
        "decision=human_only",
        "metric=none",
        "worlds=1",
        "studies=2",
        "--out",
        "s",
    )
    assert said(capsys, "plot", "s", "--study", "1") == "s/order.png\n"
    said(capsys, "plot", "s", "--study", "1", "--out", "order.svg")
    assert "world 0, study 1" in Path("order.svg").read_text(encoding="utf-8").replace("\n", " ")
    assert answer(["plot", "s", "--study", "2"]) == 2
    assert "no campaign is world 0, study 2; the store holds world 0 to 0, study 0 to 1" in capsys.readouterr().err


def test_a_figure_of_pairs_names_each_kind_of_error() -> None:
    verdict = np.array([1, 0, 1, -1, 0, 1])
    reference = np.array([1, 0, -1, 1, 1, 0])
    assert matches(verdict, reference).tolist() == [0, 1, 2, 2, 3, 4]


@pytest.mark.slow
def test_stores_are_the_same_bits_for_any_number_of_jobs(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    words = ["run", "systems=preference", "systems.n_systems=3", *SMALL[1:], "worlds=2", "studies=3", "engine.block=1"]
    for jobs in ("1", "2"):
        said(capsys, *words, "--jobs", jobs, "--out", jobs)
    one, two = (open_results(folder / jobs).load() for jobs in ("1", "2"))
    assert one.drop_attrs().equals(two.drop_attrs())
