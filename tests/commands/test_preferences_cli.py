"""Studies of preferences from the command line: run, figures, orders, and one line for what can be mended."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from simlab.cli import answer
from simlab.comparing.verdicts import matches
from simlab.store.opening import open_results
from tests.commands.test_cli import said

SMALL = ["systems.n_systems=4", "systems.n_items=40", "budget.annotations_per_pair=40", "metric.n_outputs=100"]
NO_METRIC = SMALL[:3]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_a_sweep_of_decisions_is_queried_compared_ordered_and_drawn(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    sweep = ["sweep", "preference_protocol", "metric=none,ideal", *NO_METRIC, "worlds=2", "studies=3", "--out", "s"]
    assert "annotation_fraction" in said(capsys, *sweep, "--jobs", "1")
    first = open_results(folder / "s").load()
    said(capsys, *sweep, "--jobs", "1")  # nothing is missing
    records = json.loads(said(capsys, "query", "s", "--measure", "correct,kld_smoothed", "--format", "json"))
    assert [record["metric"] for record in records] == ["none", "ideal"]
    assert all(record["correct_n"] == 6 for record in records)
    assert "minus" in said(capsys, "compare", "s", "--by", "metric", "--measure", "annotation_fraction")
    orders = json.loads(said(capsys, "order", "s", "--world", "1", "--format", "json"))
    assert [order["metric"] for order in orders] == ["none", "ideal"]
    for order in orders:
        assert sum(map(len, order["ranks"])) == 4
        assert order["undecided"][0] == 6
        assert np.all(np.diff(order["undecided"]) <= 0)
        assert np.all(np.diff(order["collected"]) >= 0)
    assert "ranks" in said(capsys, "order", "s", "metric=ideal")
    assert "study 9" in said(capsys, "order", "s", "--study", "9", code=2)
    assert first["verdict"].dims == ("metric", "replicate", "pair")
    assert list(first["preference"].values) == [">", "=", "<"]
    assert "checksums hold" in said(capsys, "verify", "s")
    said(capsys, "plot", "s", "--out", "s.png")
    assert (folder / "s.png").stat().st_size > 10_000


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


@pytest.mark.slow
def test_there_is_no_order_in_a_study_of_ratings(capsys: pytest.CaptureFixture[str]) -> None:
    tiny = ["systems.n_systems=3", "systems.n_documents=21", "systems.n_segments=42", "design.documents=8"]
    assert answer(["run", *tiny, "worlds=1", "studies=2", "--out", "r"]) == 0
    capsys.readouterr()
    assert "studies of preferences" in said(capsys, "order", "r", code=2)
