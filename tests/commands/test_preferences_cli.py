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


MISTAKES = {
    "run systems=preference raters=oracle decision=significance": "to studies of ratings or judgements",
    "run systems=mqm decision=bayes": "choose one",
    "run systems=preference design.grouping=ungrouped": "to studies of ratings",
    "run systems=preference raters=expert_pool": "raters=expert_pool to studies of ratings; choose one",
    "run systems=preference metric=none decision=naive": "needs a metric",
    "run systems=preference metric.mu=[[1,0,0],[0,1,0],[0,0,.5]]": "column 3 (what is said when the oracle",
    "run systems=preference metric.mu=[[[1]]]": "nothing deeper",
    "run systems=preference_given systems.p=[[.5,.5,.5]]": "give three that sum to 1",
    "run systems=preference_given systems.p=[[.5,.7,-.2]]": "give three that sum to 1",
    "run systems=preference_free metric=scalar": "only systems=preference has",
    "run decision=bayes decision.two_outcomes=true": "this metric draws",
    "run decision=bayes decision.rater=[[1,0],[0,1]]": "must be 3 x 3",
    "run decision=bayes decision.mu=[[.8,.2,.1],[.1,.5,.1],[.2,.3,.8]]": "decision.mu: column 1",
    "run decision=bayes decision.mu=[[1,0],[0,1]]": "decision.mu has shape (2, 2); it must be 3 x 3",
    "run decision=bayes decision.mu=[[.6,.5,.4],[0,0,0],[.4,.5,.6]]": "row = is 0, and the metric says =",
    "run decision=bayes decision.mu=[[1,0,0],[0,1,0],[0,0,1]] metric=none": "decision.mu is about a metric",
    "run decision=bayes decision.mu=[[1,0,0],[0,1,0],[0,0,1]] decision.sharing=joint": "choose one",
    "run decision=bayes decision.sharing=partial metric=none": "decision.sharing=partial is about a metric",
    "run decision=bayes decision.sharing=joint decision.rater=[[1,0,0],[0,1,0],[0,0,1]]": "from raters who do not",
    "run decision=bayes decision.sharing=some": "must be own or joint or partial",
    "run decision=group_sequential decision.metric=correct metric=none": "decision.metric=correct needs a metric",
    "run decision=group_sequential decision.metric=correct decision.unit=document": "set it to true",
    "run decision=bayes budget.annotations_per_pair=300": "exceeds the 200 outputs",
    "run decision=bayes budget.batch_size=500": "exceeds budget.annotations_per_pair",
    "run decision=bayes budget.batch_size=0": "a whole number >= 1",
    "run decision=bayes design.documents=9": "design.documents is a key of design=default only",
    "run raters=compared_scores": "add systems=recorded",
    "run decision=betting metric=none": "decision.use_metric=true needs a metric",
    "run decision=betting metric.n_outputs=250": "raise metric.n_outputs above systems.n_items",
    "run decision=betting decision.estimand=test_set metric.n_outputs=100": "must rate every output",
    "run decision=betting decision.unit=document": "design.whole_documents=false mixes their outputs",
    "run decision=group_sequential decision.unit=document": "set it to true",
    "run decision=anytime decision.multiplicity=closed design.shared_order=false": "set design.shared_order=true, or",
    "run decision=betting decision.multiplicity=e_bh design.shared_order=false": "orders of their own",
    "run decision=fixed decision.multiplicity=closed": "must be none or holm",
    "run systems=recorded decision=bayes raters=oracle": "come from the file",
    "run systems=recorded decision=bayes systems.names=[refA,refB]": "has no ratings of refB",
    "run systems=recorded decision=bayes worlds=3": "is one world",
}


@pytest.mark.parametrize("command", MISTAKES)
def test_a_mistake_is_one_line_and_nothing_is_written(
    command: str, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    assert MISTAKES[command] in said(capsys, *command.split(), code=2)
    assert not list(folder.iterdir())


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


def test_a_figure_of_an_unknown_kind_is_one_line(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    sweep = folder / "mine.yaml"
    for line, says in (("{kind: pear, x: metric}", "pairs"), ("{kind: tradeoff, scale: lag}", "log")):
        sweep.write_text(f"aim: mine\naxes:\n  metric: [none, ideal]\nset:\n  decision: human_only\nfigure: {line}\n")
        assert says in said(capsys, "sweep", "mine.yaml", code=2)


@pytest.mark.slow
def test_there_is_no_order_in_a_study_of_ratings(capsys: pytest.CaptureFixture[str]) -> None:
    tiny = ["systems.n_systems=3", "systems.n_documents=21", "systems.n_segments=42", "design.documents=8"]
    assert answer(["run", *tiny, "worlds=1", "studies=2", "--out", "r"]) == 0
    capsys.readouterr()
    assert "studies of preferences" in said(capsys, "order", "r", code=2)
