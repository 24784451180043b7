"""Variance components, coefficients and trades against closed forms and simulated studies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from plain_law import TRUTH, drawn, effects, law

from simlab.fitting.components import (
    PilotComponents,
    StudySize,
    absolute_error,
    choose_ratings_each,
    coefficients,
    components,
    relative_error,
    trade,
    variances,
)
from simlab.world.laws.scales import draw_flat_answers

KNOWN = {"system": 9.0, "document": 4.0, "system_document": 2.0, "leniency": 6.0, "rater_system": 1.0}
KNOWN |= {"rater_document": 0.5, "residual": 12.0}


def held(**changed: float) -> PilotComponents:
    """Hold components that are known exactly."""
    return PilotComponents({k: np.array([v]) for k, v in (KNOWN | changed).items()}, 1.0, 3, 40, frozenset())


def test_components_are_the_mean_squares_of_a_textbook() -> None:
    rng = np.random.default_rng(1)
    n_s, n_d, n_r = 5, 12, 4
    score = rng.standard_normal((n_s, n_d, 1, n_r)) + rng.standard_normal((n_s, 1, 1, 1)) * 2
    found = variances(score)
    y = score[:, :, 0, :]
    residual = y - y.mean(0) - y.mean(1, keepdims=True) - y.mean(2, keepdims=True)
    residual = residual + y.mean((0, 1)) + y.mean((0, 2))[:, None] + y.mean((1, 2))[:, None, None] - y.mean()
    ms_all = (residual**2).sum() / ((n_s - 1) * (n_d - 1) * (n_r - 1))
    assert found["residual"] == pytest.approx(ms_all)
    sd = y.mean(2) - y.mean((1, 2))[:, None] - y.mean((0, 2)) + y.mean()
    ms_sd = n_r * (sd**2).sum() / ((n_s - 1) * (n_d - 1))
    assert found["system_document"] == pytest.approx(max((ms_sd - ms_all) / n_r, 0))
    sr = y.mean(1) - y.mean((1, 2))[:, None] - y.mean((0, 1)) + y.mean()
    ms_sr = n_d * (sr**2).sum() / ((n_s - 1) * (n_r - 1))
    ms_s = n_d * n_r * y.mean((1, 2)).var(ddof=1)
    wanted = (ms_s - ms_sd - ms_sr + ms_all) / (n_d * n_r)
    assert found["system"] == pytest.approx(max(wanted, 0))


def test_components_of_a_law_are_its_spreads() -> None:
    truth = replace(TRUTH, low=-1e9, high=1e9)
    one = law(truth)
    found = {one.name: one for one in components(one, one.fit(drawn(1, truth), draws=60)).list_components()}
    for name, sd in (("document", 3.0), ("leniency", 3.0), ("rater_system", 0.7), ("residual", 4.2)):
        # Rounding to whole points adds a variance of 1/12; medians over 60 draws are within a few percent.
        assert found[name].sd == pytest.approx(sd, rel=0.08), name
    assert found["document"].low < 3.0 < found["document"].high


def test_segments_are_told_from_documents() -> None:
    rng = np.random.default_rng(1)
    found = variances(
        3 * rng.standard_normal((1, 400, 1, 1))
        + 2 * rng.standard_normal((1, 400, 3, 1))
        + rng.standard_normal((6, 400, 3, 2))
    )
    assert found["document"] == pytest.approx(9, rel=0.3)
    assert found["segment"] == pytest.approx(4, rel=0.15)
    assert found["residual"] == pytest.approx(1, rel=0.1)
    assert found["system_document"] < 0.05


def test_what_the_pilot_says_nothing_of_has_no_number() -> None:
    unknown = replace(held(), unknown=frozenset({"leniency", "rater_system"}))
    listed = {one.name: one for one in unknown.list_components()}
    assert np.isnan(listed["leniency"].sd)
    assert listed["leniency"].assumed == pytest.approx(np.sqrt(6))
    assert {one.raters for one in coefficients(unknown, 1)} == {"fixed"}
    assert trade(replace(held(), unknown=frozenset({"system_document"})), 80) is None


def test_errors_are_those_of_simulated_studies() -> None:
    n, each, raters, studies = 20, 2, 4, 3000
    truth = replace(TRUTH, low=-1e9, high=1e9)
    rng = np.random.default_rng(1)
    quality = np.array([0.0, 0.0])
    differences, means = [], []
    system, document, seat = (axis.ravel() for axis in np.indices((2, n, each)))
    rater = (document * each + seat) % raters
    for _ in range(studies):
        one = replace(
            effects(truth, quality, raters, rng), scale=replace(effects(truth, quality, 1, rng).scale, step=0.0)
        )
        score = draw_flat_answers(rng, one, system, document, rater, np.arange(n))
        mean = np.bincount(system, weights=score) / (n * each)
        differences.append(mean[0] - mean[1])
        means.append(mean[0])
    exact = PilotComponents(
        {
            name: np.array([sd**2])
            for name, sd in {
                "document": 3.0,
                "system_document": 2.0,
                "leniency": 3.0,
                "rater_system": 0.7,
                "rater_document": 1.0,
                "residual": 4.2,
            }.items()
        },
        1.0,
        raters,
        n,
        frozenset(),
    )
    size = StudySize(n, each, raters)
    slack = 5 * np.sqrt(2 / studies)
    assert np.var(differences) / 2 == pytest.approx(relative_error(exact, size, "drawn").item(), rel=slack)
    assert np.var(means) == pytest.approx(absolute_error(exact, size, "drawn").item(), rel=slack)
    # With raters fixed, what they favour is no error: that would be far off.
    assert np.var(means) > 2 * absolute_error(exact, size, "fixed").item()


def test_coefficients_follow_the_formula() -> None:
    found = {(one.name, one.raters, one.documents): one.value for one in coefficients(held(), 2, (10, 1_000_000))}
    relative = 2 / 10 + 12 / 20 + 1 / 3
    assert found["e_rho2", "drawn", 10] == pytest.approx(9 / (9 + relative))
    absolute = relative + 4 / 10 + 0.5 / 20 + 6 / 3
    assert found["phi", "drawn", 10] == pytest.approx(9 / (9 + absolute))
    assert found["phi", "fixed", 1_000_000] == pytest.approx(1, abs=1e-4)
    # With other raters no number of documents makes scores dependable.
    assert found["phi", "drawn", 1_000_000] == pytest.approx(9 / (9 + 1 / 3 + 6 / 3), abs=1e-4)


def test_more_ratings_each_pay_only_where_documents_cost() -> None:
    weighed = trade(held(), 80)
    assert weighed is not None
    assert [row.each for row in weighed.rows] == list(range(1, 21))
    assert weighed.rows[0].best == 1
    assert weighed.rows[1].error == pytest.approx(np.sqrt(2 * (2 / 40 + 12 / 80)))
    # A second rating pays from a price of 2 A / B ratings on.
    assert weighed.price[1] == pytest.approx(2 * 2 / 12)
    below, above = choose_ratings_each(held(), (0.3, 0.4))
    assert (below.each, above.each) == (1, 2)
    # K = sqrt(price B / A).
    assert choose_ratings_each(held(), (50.0,))[0].each == round(np.sqrt(50 * 12 / 2))
