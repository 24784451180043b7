"""Fit metrics to tables as a user does, use the fits in studies, and make every mistake once."""

from __future__ import annotations

import csv
import doctest
import importlib
import json
import shlex
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from simlab.cli import answer
from simlab.config import compose, compose_sweep
from simlab.rng import stream
from simlab.store.opening import open_results
from simlab.studies.worlds import draw_world
from simlab.types import InputError
from simlab.world.fitted_metrics import fitted_mu
from tests.commands.test_cli import said

OUTPUTS = "system,item,human_1,human_2,good,poor\n"
SMALL = ["worlds=2", "studies=2"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_outputs(place: str = "outputs.csv", n: int = 60, header: str = OUTPUTS) -> None:
    """Write three systems' outputs that two raters scored, and two metrics."""
    rng = stream(1, "outputs")
    lines = []
    for item in range(n):
        for system, quality in enumerate((0.5, 0.0, -0.3)):
            true = quality + rng.standard_normal()
            first, second = true + 0.5 * rng.standard_normal(2)
            good, poor = 0.7 * true + 0.7 * rng.standard_normal(), 0.1 * true + rng.standard_normal()
            lines.append(f"S{system},{item},{first:.3f},{second:.3f},{good:.3f},{poor:.3f}\n")
    Path(place).write_text(header + "".join(lines))


def write_preferences(place: str = "preferences.tsv", *, metric: bool = True) -> None:
    rng = stream(2, "preferences")
    lines = ["system_a\tsystem_b\titem\thuman" + ("\tbleu\n" if metric else "\n")]
    for item in range(80):
        for first, second in (("B", "A"), ("A", "C"), ("B", "C")):
            human = rng.choice(3, p=[0.5, 0.2, 0.3])
            says = human if rng.random() < 0.7 else rng.choice(3)
            lines.append(f"{first}\t{second}\t{item}\t{'>=<'[human]}" + (f"\t{'>=<'[says]}\n" if metric else "\n"))
    Path(place).write_text("".join(lines))


def write_trials(place: str = "scores.csv", kinds: str = "aaadddppp", metrics: tuple[str, ...] = ("chrf",)) -> None:
    """Write scores as `simlab mutt --scores` does, with missing ones; a letter is a kind of corruption."""
    rng = stream(3, "trials")
    names = {"a": "altering", "d": "disrupting", "p": "preserving"}
    rows = []
    for metric in metrics:
        for number, kind in enumerate(kinds):
            for trial in range(20):
                a = rng.random()
                b = a - (0.3 if kind != "p" else 0.0) * (rng.random() < 0.8) + 0.01 * rng.standard_normal()
                row = [f"{kind}{number}", names[kind], metric, 5, trial, f"{a:.4f}", f"{b:.4f}", "False"]
                rows.append(row if trial or number else [*row[:5], "", "", "False"])
    header = ["corruption", "kind", "metric", "references", "trial", "original", "corrupted", "lower_is_better"]
    with Path(place).open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def learned(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(said(capsys, "fit-metric", *words, "--format", "json"))
    return found


def value(found: dict[str, Any], metric: str, what: str) -> dict[str, Any]:
    return next(row for row in found["learned"] if (row["metric"], row["what"]) == (metric, what))


def carry_out(command: str, *more: str) -> None:
    words = shlex.split(command)
    assert answer([*words[words.index("simlab") + 1 :], *SMALL, *more]) == 0, command


def test_outputs_teach_rates_preferences_and_correlations(capsys: pytest.CaptureFixture[str]) -> None:
    write_outputs()
    found = learned(capsys, "outputs.csv", "--adequate-from", "0", "--human-margin", ".2", "--margin", ".1")
    assert value(found, "good", "correlation")["value"] > value(found, "poor", "correlation")["high"]
    assert value(found, "good", "rho")["rests_on"].endswith("adequate outputs")
    good, poor = (value(found, name, "P(says > | humans >)")["value"] for name in ("good", "poor"))
    assert 0.6 < good < 0.9
    assert poor < good
    content = yaml.safe_load(Path(found["files"]["good"]).read_text())
    assert not content["transported"]
    assert set(content) >= {"rho_eta", "mu", "correlation", "systems"}
    assert content["mu"]["human_margin"] == 0.2
    assert len(content["systems"]["preferences"]) == 3


@pytest.mark.slow
@pytest.mark.parametrize("number", range(3))
def test_what_is_suggested_for_outputs_can_be_done(capsys: pytest.CaptureFixture[str], number: int) -> None:
    write_outputs()
    found = learned(capsys, "outputs.csv", "--adequate-from", "0")
    assert len(found["next"]) == 3
    # The rule that takes seconds to compile is tried on the metrics of unit tests, and of preferences.
    carry_out(found["next"][number].replace("decision=bayes", "decision=human_only"))
    capsys.readouterr()


@pytest.mark.slow
def test_several_metrics_are_an_axis(capsys: pytest.CaptureFixture[str]) -> None:
    write_trials(metrics=("chrf", "bleu"))
    found = learned(capsys, "scores.csv", "--out", "fits", "--margin", ".05")
    assert sorted(file.name for file in Path("fits").iterdir()) == ["scores-bleu.yaml", "scores-chrf.yaml"]
    carry_out(found["next"][0], "--out", "sweep", "budget.annotations_per_pair=20", "systems.n_systems=3")
    with open_results("sweep") as dataset:
        assert dataset["path"].values.tolist() == ["fits/scores-chrf.yaml", "fits/scores-bleu.yaml"]


def test_each_file_on_an_axis_has_its_digest(capsys: pytest.CaptureFixture[str]) -> None:
    write_trials(metrics=("chrf", "bleu"))
    paths = list(learned(capsys, "scores.csv")["files"].values())
    sweep = compose_sweep("preference_naive", ["metric=fitted_mu", f"metric.path={','.join(paths)}"])
    digests = [cell.config["metric"]["sha256"] for cell in sweep.cells()]
    assert digests == [sha256(Path(path).read_bytes()).hexdigest() for path in paths]


def test_unit_tests_are_transported_and_mirrored(capsys: pytest.CaptureFixture[str]) -> None:
    write_trials()
    found = learned(capsys, "scores.csv", "--margin", ".05", "--out", "chrf.yaml")
    content = yaml.safe_load(Path("chrf.yaml").read_text())
    assert content["transported"]
    assert content["mu"]["mirrored"]
    counts = np.array(content["mu"]["counts"])
    np.testing.assert_allclose(counts, counts[::-1, ::-1])
    assert value(found, "chrf", "P(says > | humans >)")["value"] > 0.7
    assert value(found, "chrf", "P(says = | humans =)")["value"] > 0.9
    assert any("transported" in note for note in found["notes"])
    assert any("1 of 180 trials lack a finite score" in note for note in found["notes"])


def test_without_preserving_corruptions_draws_rest_on_a_prior(capsys: pytest.CaptureFixture[str]) -> None:
    write_trials(kinds="ad")
    found = learned(capsys, "scores.csv", "--margin", ".05")
    assert value(found, "chrf", "P(says = | humans =)")["rests_on"] == "0 comparisons"
    assert any("this column is its prior, of mean (0.33, 0.33, 0.33)" in note for note in found["notes"])
    assert any("2 of 3 kinds" in note for note in found["notes"])


@pytest.mark.slow
@pytest.mark.parametrize("metric", [True, False])
def test_preferences_teach_a_matrix_and_the_pairs(capsys: pytest.CaptureFixture[str], metric: bool) -> None:
    write_preferences(metric=metric)
    found = learned(capsys, "preferences.tsv")
    # B > A is said in the table; pairs are given by the first system that comes.
    assert value(found, "humans", "P(B > A)")["value"] == pytest.approx(0.5, abs=0.15)
    carry_out(found["next"][0], "budget.annotations_per_pair=40", "systems.n_items=40")
    if metric:
        assert value(found, "bleu", "P(says > | humans >)")["value"] == pytest.approx(0.8, abs=0.1)


def test_the_order_of_systems_in_a_row_means_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    write_preferences()
    turned = {">": "<", "=": "=", "<": ">"}
    rows = [line.split("\t") for line in Path("preferences.tsv").read_text().splitlines()]
    other = [[b, a, item, turned[human], turned[says]] for a, b, item, human, says in rows[1:]]
    Path("turned.tsv").write_text("\n".join("\t".join(row) for row in [rows[0], *other[:1], *other[1:]]) + "\n")
    first, second = (learned(capsys, name) for name in ("preferences.tsv", "turned.tsv"))
    mu = [row for row in first["learned"] if row["metric"] == "bleu"]
    assert mu == [row for row in second["learned"] if row["metric"] == "bleu"]


def test_labels_with_repeats_teach_how_raters_err(capsys: pytest.CaptureFixture[str]) -> None:
    rng = stream(4, "labels")
    rows = []
    for system, alpha in (("A", 0.8), ("B", 0.5)):
        for item in range(300):
            adequate = rng.random() < alpha
            says = int(rng.random() < (0.8 if adequate else 0.3))
            rows += [f"{system},{item},{int(rng.random() < (0.9 if adequate else 0.15))},{says}" for _ in range(3)]
    Path("labels.csv").write_text("system,item,human,judge\n" + "\n".join(rows) + "\n")
    found = learned(capsys, "labels.csv")
    for what, true in (("rho", 0.8), ("eta", 0.7)):
        assert value(found, "judge", what)["value"] == pytest.approx(true, abs=0.08)
    assert value(found, "humans", "alpha of A")["value"] == pytest.approx(0.8, abs=0.08)
    human = yaml.safe_load(Path(found["files"]["judge"]).read_text())["systems"]["human"]
    assert human["rho"] == pytest.approx(0.9, abs=0.04)
    assert human["eta"] == pytest.approx(0.85, abs=0.04)
    assert not any(row["what"].startswith("correlation") for row in found["learned"])


@pytest.mark.slow
def test_lower_can_be_better(capsys: pytest.CaptureFixture[str]) -> None:
    write_outputs()
    first = learned(capsys, "outputs.csv", "--adequate-from", "0")
    header, *rows = [line.split(",") for line in Path("outputs.csv").read_text().splitlines()]
    flipped = [[*row[:2], *(f"{-float(cell):.3f}" for cell in row[2:])] for row in rows]
    Path("outputs.csv").write_text("\n".join(",".join(row) for row in [header, *flipped]) + "\n")
    words = ["outputs.csv", "--adequate-from", "0", "--lower-is-better", "--human-lower-is-better"]
    second = learned(capsys, *words)
    for mine, other in zip(first["learned"], second["learned"], strict=True):
        assert mine["value"] == pytest.approx(other["value"])
    assert yaml.safe_load(Path("outputs-good.yaml").read_text())["rho_eta"]["lower_is_better"]


def test_missing_scores_are_counted_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    write_outputs()
    lines = Path("outputs.csv").read_text().splitlines()
    lines[5] = ",".join([*lines[5].split(",")[:4], "nan", "NA"])
    lines[6] = ",".join([*lines[6].split(",")[:2], "", "", "1", "2"])
    Path("outputs.csv").write_text("\n".join(lines) + "\n")
    found = said(capsys, "fit-metric", "outputs.csv")
    assert "all metrics: 1 of 180 outputs have no finite score, the first of S1; left out" in found
    assert "1 of 180 outputs have no human score; left out" in found
    assert "rho and eta are not identified: say from which human score" in found


@pytest.mark.parametrize(("column", "note"), [("1", "it is constant (1) and tells nothing"), ("", "it has no scores")])
def test_a_metric_that_says_nothing_is_left_out(capsys: pytest.CaptureFixture[str], column: str, note: str) -> None:
    write_outputs()
    lines = Path("outputs.csv").read_text().splitlines()
    Path("outputs.csv").write_text(
        "\n".join([lines[0], *(f"{line[: line.rindex(',')]},{column}" for line in lines[1:])])
    )
    assert f"poor: {note}" in said(capsys, "fit-metric", "outputs.csv")
    assert note in said(capsys, "fit-metric", "outputs.csv", "--metrics", "poor", code=2)


def test_few_outputs_are_said_to_be_few(capsys: pytest.CaptureFixture[str]) -> None:
    write_outputs(n=4)
    found = said(capsys, "fit-metric", "outputs.csv", "--adequate-from", "0")
    assert "only 12 outputs have both scores" in found


@pytest.mark.slow
def test_worlds_differ_as_much_as_the_data_leave_open(capsys: pytest.CaptureFixture[str]) -> None:
    write_outputs()
    found = learned(capsys, "outputs.csv", "--adequate-from", "0", "--margin", ".1", "--metrics", "good")
    path = f"metric.path={found['files']['good']}"
    configs = {part: compose([f"metric=fitted_{part}", path]) for part in ("mu", "rho_eta", "correlation")}
    worlds = {part: [draw_world(config, k) for k in range(400)] for part, config in configs.items()}
    drawn = {
        "P(says > | humans >)": [world.metric.mu[0, 0, 0] for world in worlds["mu"]],
        "P(says = | humans =)": [world.metric.mu[0, 1, 1] for world in worlds["mu"]],
        "rho": [world.metric.rho[0] for world in worlds["rho_eta"]],
        "eta": [world.metric.eta[0] for world in worlds["rho_eta"]],
        "correlation": [world.metric.correlation[0] for world in worlds["correlation"]],
    }
    for what, values in drawn.items():
        row = value(found, "good", what)
        reach = 3.5 * np.std(values) / 400**0.5
        assert np.mean(values) == pytest.approx(row["value"], abs=reach + 0.01 * (what == "correlation")), what
        inside = np.mean((np.array(values) > row["low"]) & (np.array(values) < row["high"]))
        assert inside == pytest.approx(0.95, abs=3.5 * (0.95 * 0.05 / 400) ** 0.5), what
    assert draw_world(configs["mu"], 0).metric.mu.shape == (28, 3, 3)
    known = {world.metric.nominal for world in worlds["rho_eta"]}
    assert len(known) == 1  # an analyst knows the estimates, not what is true of a world
    fixed = compose(["metric=fitted_mu", path, "metric.parameters=estimated"])
    assert (draw_world(fixed, 0).metric.mu == draw_world(fixed, 1).metric.mu).all()


def test_an_edited_file_is_another_study(capsys: pytest.CaptureFixture[str]) -> None:
    write_preferences()
    learned(capsys, "preferences.tsv", "--out", "fit.yaml")
    settings = ["metric=fitted_mu", "metric.path=fit.yaml"]
    before = compose(settings)
    Path("fit.yaml").write_text(Path("fit.yaml").read_text().replace("mirrored: true", "mirrored: false"))
    assert compose(settings)["metric"]["sha256"] != before["metric"]["sha256"]
    with pytest.raises(InputError, match="has changed since the sweep began"):
        draw_world(before, 0)


GOOD = """
format: simlab fitted metric 3
mu: {counts: [[8, 1, 2], [1, 1, 1], [2, 1, 8]], prior: [[1, 1, 1], [1, 1, 1], [1, 1, 1]], mirrored: false}
rho_eta: {TP: 40, P: 50, TN: 30, N: 45}
correlation: {value: 0.5, z_error: 0.1, system_sd: 0}
"""


@pytest.mark.parametrize(
    ("content", "message"),
    [("[" * 3000, "is nested more than 12 deep"), ("x" * (1 << 20) + "x", "is larger than 1,048,576 bytes")],
)
def test_a_file_that_is_too_much_is_one_line(capsys: pytest.CaptureFixture[str], content: str, message: str) -> None:
    Path("fit.yaml").write_text(content)
    assert message in said(capsys, "run", "metric=fitted_mu", "metric.path=fit.yaml", *SMALL, code=2)
    assert not Path("outputs").exists()


def test_a_matrix_of_unequal_pairs_lets_pairs_differ(folder: Path) -> None:
    Path("fit.yaml").write_text(GOOD.replace("mirrored: false", "mirrored: true, concentration: 5"))
    config = compose(["metric=fitted_mu", "metric.path=fit.yaml"])
    drawn = draw_world(config, 0).metric.mu
    assert drawn.std(0).max() > 0.1
    np.testing.assert_allclose(drawn.sum(1), 1)
    shared = draw_world(config | {"metric": config["metric"] | {"pairs": "shared"}}, 0).metric.mu
    assert np.ptp(shared, axis=0).max() == 0
    np.testing.assert_allclose(shared[0], shared[0, ::-1, ::-1])  # mirrored
    assert fitted_mu.__doc__


@pytest.mark.parametrize("module", ["files", "rates", "confusion"])
def test_examples_in_docstrings(module: str) -> None:
    assert doctest.testmod(importlib.import_module(f"simlab.fitting_metrics.{module}")).failed == 0
