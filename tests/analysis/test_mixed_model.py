"""The mixed model of ratings is the one that lme4 fits: components, estimates and errors of ten tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from simlab.analysis.raters.mixed_model import (
    MixedModelFit,
    RandomTerm,
    fit,
    fit_each,
    make_design,
    quadratic_forms,
    solve,
    step_from,
    sum_scores,
)
from simlab.analysis.raters.model_comparisons import contrast_variances
from simlab.types import Array
from tests.analysis.rating_tables import RatingTable, rating_tables

FITS = Path(__file__).parent / "lme4" / "fits.json"
NAMES = {"rater": "rater", "rater x system": "rater:system", "document": "document"}
NAMES |= {"document x system": "document:system"}


def numbered(*columns: Array) -> Array:
    return np.unique(np.stack(columns, 1), axis=0, return_inverse=True)[1].ravel()


def fit_table(table: RatingTable, terms: tuple[str, ...] | None = None) -> MixedModelFit:
    by = {"rater": table.rater, "document": table.document, "system": table.system}
    labels = [RandomTerm(name, numbered(*(by[part] for part in name.split(" x ")))) for name in terms or table.terms]
    found = fit(make_design(table.system, labels, int(table.system.max()) + 1), table.score)
    assert found is not None
    return found


@pytest.mark.parametrize("table", list(rating_tables()), ids=lambda table: table.name)
def test_fits_are_those_of_lme4(table: RatingTable) -> None:
    printed = json.loads(FITS.read_text())[table.name]
    found = fit_table(table)
    assert found.converged
    np.testing.assert_allclose(found.component[0], printed["components"]["Residual"], rtol=1e-4)
    for term, component in zip(found.design.terms, found.component[1:], strict=True):
        np.testing.assert_allclose(component, printed["components"][NAMES[term.name]], rtol=1e-4, atol=1e-4)
    gaps = found.estimate[:, None] - np.array(printed["estimate"])
    np.testing.assert_allclose(np.diag(gaps), 0, atol=1e-4)
    np.testing.assert_allclose(errors(found), printed["error"], rtol=1e-4)


def test_degrees_of_freedom_are_those_of_lmertest_up_to_how_information_is_taken() -> None:
    """LmerTest takes the observed information, this the expected one: near each other, equal only on average."""
    printed = json.loads(FITS.read_text())
    ratio = [
        np.median(np.array(printed[table.name]["freedom"]) / freedom(fit_table(table))) for table in rating_tables()
    ]
    assert 0.8 < np.median(ratio) < 1.25, ratio


def errors(found: MixedModelFit) -> Any:
    covariance = found.component[0] * found.at.noise
    for load, component in zip(found.at.load, found.component[1:], strict=True):
        covariance = covariance + component * load.T @ load
    return np.sqrt(contrast_variances(covariance))


def freedom(found: MixedModelFit) -> Any:
    from simlab.analysis.raters.model_comparisons import satterthwaite_freedom

    share = [contrast_variances(found.at.noise), *(contrast_variances(load.T @ load) for load in found.at.load)]
    return satterthwaite_freedom(found.component[:, None], found.at.information, np.stack(share))[1][0]


def test_balanced_tables_have_the_components_of_an_analysis_of_variance() -> None:
    rng = np.random.default_rng(3)
    system, rater = (axis.ravel() for axis in np.meshgrid(range(4), range(9), indexing="ij"))
    score = rng.normal(size=9)[rater] * 2 + rng.normal(size=len(rater))
    found = fit(make_design(system, [RandomTerm("rater", rater)], 4), score)
    assert found is not None
    by_cell = score.reshape(4, 9)
    left = by_cell - by_cell.mean(0) - by_cell.mean(1)[:, None] + by_cell.mean()
    noise = (left**2).sum() / (3 * 8)
    rows = 4 * by_cell.mean(0).var(ddof=1)
    np.testing.assert_allclose(found.component, [noise, (rows - noise) / 4], rtol=1e-6)
    np.testing.assert_allclose(found.estimate, by_cell.mean(1))
    # The paired t test of two systems would have 8 degrees of freedom; the pooled one has 24.
    np.testing.assert_allclose(freedom(found), 24, rtol=1e-6)


def test_equations_are_those_of_the_whole_covariance_matrix() -> None:
    rng = np.random.default_rng(1)
    n, n_systems = 150, 3
    system, rater, document = rng.integers(0, 3, n), rng.integers(0, 6, n), rng.integers(0, 25, n)
    labels = [numbered(rater), numbered(rater, system), numbered(document)]
    design = make_design(system, [RandomTerm(str(k), label) for k, label in enumerate(labels)], n_systems)
    ratio, score = np.array([0.7, 0.0, 1.2]), rng.normal(size=n)
    at = solve(design, ratio)
    forms = quadratic_forms(design, at, sum_scores(design, score))
    parts = [np.eye(n), *(np.equal.outer(term.label, term.label).astype(float) for term in design.terms)]
    covariance = parts[0] + sum(one * part for one, part in zip(ratio, parts[1:], strict=True))
    x, inverse = np.eye(n_systems)[system], np.linalg.inv(covariance)
    projection = inverse - inverse @ x @ np.linalg.solve(x.T @ inverse @ x, x.T @ inverse)
    for k, one in enumerate(parts):
        np.testing.assert_allclose(forms.form[k], score @ projection @ one @ projection @ score, rtol=1e-8)
        for j, other in enumerate(parts):
            np.testing.assert_allclose(at.information[k, j], np.trace(projection @ one @ projection @ other), rtol=1e-8)
    whole = np.linalg.slogdet(covariance)[1] + np.linalg.slogdet(x.T @ inverse @ x)[1]
    np.testing.assert_allclose(at.log_determinant, whole, rtol=1e-10)
    np.testing.assert_allclose(forms.residual, score @ projection @ score, rtol=1e-8)


def test_products_within_levels_give_the_equations_of_whole_matrices() -> None:
    """Two raters each rate a document, all systems of it: outputs have few systems, raters and documents each."""
    rng = np.random.default_rng(3)
    system, document, place = (axis.ravel() for axis in np.indices((8, 60, 2)))
    rater = (document + place * (1 + document // 7)) % 7
    terms = [RandomTerm("rater", rater), RandomTerm("taste", rater * 8 + system), RandomTerm("document", document)]
    design = make_design(system, [*terms, RandomTerm("output", document * 8 + system)], 8)
    assert design.products is not None
    assert not isinstance(design.to_last, np.ndarray)
    plain = design._replace(products=None)
    whole = plain._replace(to_last=design.to_last.toarray())
    ratio = rng.uniform(0.0, 2.0, (3, 4))
    ratio[0, 1] = 0.0
    for other in (plain, whole):
        for one, also in zip(solve(design, ratio), solve(other, ratio), strict=True):
            for a, b in zip(one, also, strict=True) if isinstance(one, tuple) else [(one, also)]:
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_studies_that_are_fitted_together_come_out_as_each_alone() -> None:
    rng = np.random.default_rng(7)
    n = 90
    system, rater, document = rng.integers(0, 3, n), rng.integers(0, 6, n), rng.integers(0, 9, n)
    labels = [
        RandomTerm("rater", numbered(rater)),
        RandomTerm("tastes", numbered(rater, system)),
        RandomTerm("document", document),
    ]
    design = make_design(system, labels, 3)
    # From raters that are all alike, whose components are 0, to such as noise is little beside.
    spread = np.linspace(0, 3, 30)
    score = spread * rng.normal(size=(6, 30))[rater] + rng.normal(size=(9, 30))[document] + rng.normal(size=(n, 30))
    score[:, 4] = system
    together = fit_each(design, score)
    assert together.scattered.tolist() == [k != 4 for k in range(30)]
    at_zero = set()
    for k in np.flatnonzero(together.scattered):
        alone = fit(design, score[:, k])
        assert alone is not None
        assert alone.converged == together.converged[k]
        np.testing.assert_allclose(together.component[:, k], alone.component, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(together.estimate[:, k], alone.estimate, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(together.at.information[k], alone.at.information, rtol=1e-9)
        at_zero.add(bool((alone.component == 0).any()))
    assert at_zero == {False, True}


def test_one_step_from_true_components_is_nearly_the_whole_fit() -> None:
    rng = np.random.default_rng(4)
    table = next(iter(rating_tables()))
    labels = [RandomTerm("rater", table.rater), RandomTerm("document", table.document)]
    design = make_design(table.system, labels, 4)
    whole, scores = [], []
    for _ in range(60):
        score = rng.normal(size=7)[table.rater] + rng.normal(size=30)[table.document] + rng.normal(size=120)
        fitted = fit(design, score)
        assert fitted is not None
        whole.append(fitted.component)
        scores.append(score)
    one = step_from(design, solve(design, np.ones(2)), np.stack(scores, axis=1)).component.T
    # Noise is known best; levels of seven raters scatter, by either way alike.
    assert np.corrcoef(np.array(whole)[:, 0], np.array(one)[:, 0])[0, 1] > 0.98
    gap = np.mean(whole, 0) - np.mean(one, 0)
    assert (np.abs(gap) < 3 * np.std(np.array(whole) - np.array(one), axis=0) / np.sqrt(60) + 0.02).all()


def test_scores_that_systems_explain_leave_nothing_to_fit() -> None:
    system = np.repeat([0, 1], 10)
    design = make_design(system, [RandomTerm("document", np.tile(np.arange(10), 2))], 2)
    assert fit(design, 3.0 + system) is None


def test_estimates_of_a_nested_table_are_compared_as_by_welch() -> None:
    """Raters of one system each, equal loads: the difference has the error of the two groups of rater means."""
    rng = np.random.default_rng(8)
    rater = np.repeat(np.arange(10), 6)
    system = rater // 5
    score = 2 * rng.normal(size=10)[rater] + rng.normal(size=60)
    found = fit(make_design(system, [RandomTerm("rater", rater)], 2), score)
    assert found is not None
    means = score.reshape(10, 6).mean(1)
    by_hand = stats.ttest_ind(means[:5], means[5:])
    t = (found.estimate[0] - found.estimate[1]) / errors(found)[0]
    np.testing.assert_allclose(t, by_hand.statistic, rtol=1e-6)
    np.testing.assert_allclose(freedom(found)[0], 8, rtol=1e-6)
