"""Hold alpha and intraclass correlations against a library, a published table, dense algebra and known truth."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import krippendorff
import numpy as np
import pytest
from scipy.stats import binomtest

from simlab.drawing.reports.answers.agreement import report
from simlab.drawing.reports.static import plot_report
from simlab.fitting.agreement import (
    compare_with_others,
    mean_by_cluster,
    measure_agreement,
    share_interval,
    slope_by_cluster,
)
from simlab.fitting.agreement_coefficients import (
    Intraclass,
    Level,
    RatedOutputs,
    alpha,
    coefficients,
    intraclass_correlations,
    number_outputs,
)
from simlab.tables.rating_table import ControlAnswers, Ratings
from simlab.tables.times import take_durations
from simlab.types import Floats
from tests.commands.test_cli import said

SHROUT_FLEISS = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float)
"""Ratings of six targets by four judges: Shrout and Fleiss 1979, table 2."""


def flat(table: Floats, per_document: int = 1) -> RatedOutputs:
    """Take table[output, rater], NaN for a gap."""
    output, rater = np.nonzero(np.isfinite(table))
    return RatedOutputs(output, rater, table[output, rater], np.arange(len(table)) // per_document)


def ratings_of(table: Floats, *, lower: bool = False, controls: ControlAnswers | None = None) -> Ratings:
    """Take table[system, document, rater], a document of one segment each."""
    system, document, rater = np.nonzero(np.isfinite(table))
    n = len(system)
    names = [tuple(f"{kind}{k}" for k in range(size)) for kind, size in zip("sdr", table.shape, strict=True)]
    unknown = np.full(n, math.nan)
    return Ratings(
        system, document, rater, table[system, document, rater], np.full(n, -1), unknown, np.arange(table.shape[1]),
        names[0], names[1], names[1], names[2], lower, None, "ratings", controls=controls,
    )  # fmt: skip


def simulated(rng: np.random.Generator, raters: Floats, documents: int = 40, systems: int = 4) -> Floats:
    """Draw scores of outputs in documents that two of the raters rate; of outputs and noise the variance is 1."""
    shape = systems, documents
    latent = 0.6 * rng.standard_normal(documents) + 0.8 * rng.standard_normal(shape)
    scores = latent[..., None] + raters + rng.standard_normal((*shape, len(raters)))
    met = np.argsort(rng.random((documents, len(raters))), axis=1) < 2
    return np.where(met, scores, np.nan)


@pytest.mark.parametrize("level", ["interval", "ordinal", "nominal"])
@pytest.mark.parametrize("seed", range(5))
def test_alpha_is_that_of_the_library(level: Level, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = (rng.integers(0, 4, (40, 1)) + rng.integers(0, 3, (40, 4))).astype(float)
    table[rng.random(table.shape) < 0.5] = np.nan
    expected = krippendorff.alpha(reliability_data=table.T, level_of_measurement=level)
    assert alpha(flat(table), level) == pytest.approx(expected, abs=1e-10)
    other = "nominal" if level != "nominal" else "interval"
    assert alpha(flat(table), other) != pytest.approx(expected, abs=1e-3)


def test_intraclass_correlations_are_the_published_ones() -> None:
    held = flat(SHROUT_FLEISS)
    found = intraclass_correlations(held.output, held.rater, held.score, np.ones(6))
    assert [round(value, 2) for value in found[:3]] == [0.17, 0.29, 0.62]
    assert found.ratings_each == 4


def test_with_gaps_reductions_are_those_of_least_squares() -> None:
    """Fit the fixed effects by dense least squares, and equate reductions to their expectations by traces."""
    rng = np.random.default_rng(3)
    held = flat(simulated(rng, rng.standard_normal(5)).reshape(-1, 5))
    n = len(held.score)
    of_output = np.eye(held.output.max() + 1)[held.output]
    of_rater = np.eye(5)[held.rater]
    fits = [design @ np.linalg.pinv(design) for design in (of_output, of_rater, np.hstack([of_output, of_rater]))]
    output, rater, both = (held.score @ fit @ held.score for fit in fits)
    noise = (held.score @ held.score - both) / (n - np.trace(fits[2]))
    rank = np.trace(fits[2]) - np.trace(fits[0]), np.trace(fits[2]) - np.trace(fits[1])
    rater_part = (both - output - noise * rank[0]) / np.trace(of_rater.T @ (np.eye(n) - fits[0]) @ of_rater)
    output_part = (both - rater - noise * rank[1]) / np.trace(of_output.T @ (np.eye(n) - fits[1]) @ of_output)
    found = intraclass_correlations(held.output, held.rater, held.score, np.ones(len(held.document)))
    assert found.single == pytest.approx(output_part / (output_part + rater_part + noise))
    assert found.average == pytest.approx(output_part / (output_part + (rater_part + noise) / 2))


def test_an_output_that_counts_twice_is_two() -> None:
    rng = np.random.default_rng(4)
    table = simulated(rng, rng.standard_normal(5), documents=10).reshape(-1, 5)
    weight = rng.integers(0, 3, len(table))
    held, repeated = flat(table), flat(np.repeat(table, weight, axis=0))
    found = intraclass_correlations(held.output, held.rater, held.score, weight.astype(float))
    expected = intraclass_correlations(repeated.output, repeated.rater, repeated.score, np.ones(len(repeated.document)))
    assert found == pytest.approx(expected)


def test_components_find_the_truth_with_gaps() -> None:
    """Means over pilots lie within 4 standard errors of what they were drawn from; ICC(1) of twice is not ICC(A,k)."""
    rng = np.random.default_rng(5)
    found: list[Intraclass] = []
    for _ in range(150):
        held = flat(simulated(rng, 0.7 * rng.standard_normal(12)).reshape(-1, 12))
        found.append(intraclass_correlations(held.output, held.rater, held.score, np.ones(len(held.document))))
    single, average = (np.array([getattr(one, name) for one in found]) for name in ("single", "average"))
    assert abs(single.mean() - 1 / 2.49) < 4 * single.std() / 150**0.5
    assert abs(average.mean() - 1 / (1 + 1.49 / 2)) < 4 * average.std() / 150**0.5 + 0.01  # a ratio: biased by 1 / n
    assert abs(single.mean() - 1 / (1 + 1.49 / 2)) > 4 * single.std() / 150**0.5


def covered(studies: int) -> list[float]:
    """Return how often intervals of alpha and ICC(A,1) hold what the same raters show on very many documents."""
    rng = np.random.default_rng(6)
    raters = np.array([-0.8, -0.2, 0.0, 0.3, 0.7])
    held = number_outputs(ratings_of(simulated(rng, raters, 5000)))
    single = intraclass_correlations(held.output, held.rater, held.score, np.ones(len(held.document))).single
    many = {"Krippendorff's alpha (interval)": alpha(held, "interval"), "ICC(A,1)": single}
    hits = []
    for _ in range(studies):
        found = {one.coefficient: one for one in coefficients(ratings_of(simulated(rng, raters, 40)))}
        hits.append([found[name].low < truth < found[name].high for name, truth in many.items()])
    return [float(share) for share in np.mean(hits, axis=0)]


@pytest.mark.long
def test_intervals_cover() -> None:
    # Percentile intervals of 40 documents cover a little less than they say.
    assert all(0.88 <= share <= 0.99 for share in covered(300))


@pytest.mark.slow
def test_intervals_cover_on_few_pilots() -> None:
    assert all(share >= 0.75 for share in covered(12))


def test_leniency_and_sharpness_by_hand() -> None:
    # r1 scores 10 points above r0, and spreads outputs twice as far as r0 does.
    base = np.array([[1.0, 3, 5, 2], [4, 6, 9, 3]])
    table = np.stack([base, 2 * base + 10], axis=-1)
    first, second = compare_with_others(ratings_of(table))
    assert (first.shared, first.shared_documents) == (8, 4)
    assert (first.sharpness, second.sharpness) == pytest.approx((0.5, 2.0))
    assert second.leniency == pytest.approx(float((base + 10).mean()))
    assert first.leniency == pytest.approx(-second.leniency)
    assert compare_with_others(ratings_of(table, lower=True))[0].leniency == pytest.approx(second.leniency)


def test_intervals_of_leniency_and_sharpness_cover() -> None:
    """Deviations and errors go together within documents; intervals hold 0 and the slope as often as they say."""
    rng = np.random.default_rng(7)
    document = np.repeat(np.arange(30), 5)
    hits = np.zeros(4)
    for _ in range(400):
        shared = rng.standard_normal(30)[document]
        _, low, high = mean_by_cluster(shared + rng.standard_normal(150), document)
        x = rng.standard_normal(30)[document] + 0.3 * rng.standard_normal(150)
        y = 0.5 * x + shared + rng.standard_normal(150)
        _, below, above = slope_by_cluster(x, y, document)
        _, alone, none = mean_by_cluster(shared + rng.standard_normal(150), np.arange(150))
        hits += low < 0 < high, below < 0.5 < above, alone < 0 < none, below < 1 < above
    error = (0.95 * 0.05 / 400) ** 0.5
    assert abs(hits[0] / 400 - 0.95) < 4 * error
    assert abs(hits[1] / 400 - 0.95) < 4 * error + 0.02  # robust errors of 30 clusters are a little small
    assert hits[2] / 400 < 0.95 - 4 * error  # outputs of a document are not independent
    assert hits[3] / 400 < 0.9


@pytest.mark.parametrize(("n", "k"), [(10, 0), (10, 3), (10, 10), (1, 0)])
def test_shares_of_failed_controls_are_exact(n: int, k: int) -> None:
    expected = binomtest(k, n).proportion_ci(0.95, "exact")
    assert share_interval(n, k) == pytest.approx((k / n, expected.low, expected.high))


def test_controls_and_seconds_are_those_of_their_rater() -> None:
    controls = ControlAnswers(np.array([0, 0, 0, 2]), np.array([True, False, True, False]), "it was missed")
    found = measure_agreement(ratings_of(simulated(np.random.default_rng(1), np.zeros(3), 6), controls=controls))
    assert [(rater.controls, rater.failed) for rater in found.corated] == [(3, 2), (0, 0), (1, 0)]
    assert math.isnan(found.corated[1].failed_share)
    assert found.controls == "it was missed"
    assert all(math.isnan(rater.seconds) for rater in found.corated)


@pytest.mark.parametrize(("took", "shown"), [(2.0, 2.0), (0.001, math.nan)])
def test_what_took_no_time_has_no_usual_time(took: float, shown: float) -> None:
    held = ratings_of(simulated(np.random.default_rng(1), np.zeros(3), 6))
    names = [held.rater_names[rater] for rater in held.rater]
    times = take_durations(names, [took] * len(names), names, {})
    found = measure_agreement(replace(held, times=times))
    assert [rater.seconds for rater in found.corated] == pytest.approx([shown] * 3, nan_ok=True)
    assert [rater.timed for rater in found.corated] == np.bincount(held.rater).tolist()
    assert [one.cut for one in found.hours] == [30, 300, 1800]
    assert [one.hours for one in found.hours] == pytest.approx([took * len(names) / 3600] * 3)


def test_levels_are_those_that_scores_have() -> None:
    rng = np.random.default_rng(2)
    table = simulated(rng, np.zeros(3), 8)
    for values, levels in ((2, ["nominal"]), (5, ["interval", "ordinal", "nominal"]), (40, ["interval"])):
        cut = np.round((table - np.nanmin(table)) / np.nanmax(table - np.nanmin(table)) * (values - 1))
        names = [one.coefficient for one in coefficients(ratings_of(cut))]
        assert names[: len(levels)] == [f"Krippendorff's alpha ({level})" for level in levels]


def test_raters_who_are_not_named_are_not_taken_for_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("system,document,score\nA,d,1\nB,d,2\n")
    page = said(capsys, "agreement", str(tmp_path / "table.csv"))
    assert "How far raters agree on scores is not known: the table does not say who rated." in page
    assert "one rater" not in page


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("A,d1,r,1\nB,d1,r,2\nA,d2,r,3\nB,d2,r,1\n", "all ratings are by one rater"),
        ("A,d1,r,1\nB,d1,r,2\nA,d2,s,3\nB,d2,s,1\n", "no output has ratings of two raters"),
        ("A,d1,r,1\nB,d1,r,2\nA,d1,s,3\nB,d1,s,1\n", "too few for an interval"),
        (
            "A,d1,r,5\nB,d1,r,5\nA,d1,s,5\nB,d1,s,5\nA,d2,r,5\nB,d2,r,5\nA,d2,s,5\nB,d2,s,5\n",
            "scores that can be compared are all equal",
        ),
    ],
)
def test_what_a_table_cannot_tell_is_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, rows: str, says: str
) -> None:
    path = tmp_path / "table.csv"
    path.write_text("system,document,rater,score\n" + rows)
    page = said(capsys, "agreement", str(path))
    assert says in page
    told = json.loads(said(capsys, "agreement", str(path), "--format", "json"))
    for one in told["coefficients"]:
        assert one["low"] is None or one["value"] is not None
        if "no output" in says or "one rater" in says:
            assert one["value"] is None
    assert "nan" not in page


@pytest.mark.slow
def test_the_figure_shows_leniency_where_it_is_known() -> None:
    rng = np.random.default_rng(8)
    drawn = plot_report(report(measure_agreement(ratings_of(60 + 10 * simulated(rng, np.array([-1.0, 0, 1]), 8)))))
    drawn.draw_without_rendering()
    assert [" ".join(axes.get_title().split()) for axes in drawn.axes] == [
        "How lenient are raters?",
        "How sharp are raters?",
        "What scores do raters give?",
    ]
    assert "higher is better" in drawn.axes[2].get_xlabel()
    alone = plot_report(report(measure_agreement(ratings_of(simulated(rng, np.zeros(1), 8)))))
    assert [" ".join(axes.get_title().split()) for axes in alone.axes] == ["What scores do raters give?"]
