"""Of equal systems the mixed model claims some in at most five tables of a hundred, whoever met which system."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from simlab.analysis.raters.model_comparisons import ModelComparisons, compare_by_model
from simlab.analysis.raters.t_tests import segment_t
from simlab.rng import stream
from simlab.types import ScoredRatings
from tests.statistics.null_tables import NULLS, SCALES, Null, mixed, nested, null_table

LEVEL = 0.05


def claims(of: ModelComparisons) -> bool:
    return bool((of.family(at_large=True).max_t() <= LEVEL).any())


def share_of_claims(null: str, scale: str, tables: int) -> float:
    rng = stream(2026, "levels", null, scale)
    return float(np.mean([claims(compare_by_model(null_table(rng, NULLS[null], scale))) for _ in range(tables)]))


def bound(tables: int) -> float:
    return LEVEL + 3 * np.sqrt(LEVEL * (1 - LEVEL) / tables)


def test_equal_systems_rated_by_other_raters_are_not_claimed() -> None:
    """Each rater met one system: what a test of documents claims in most tables the model claims in few."""
    tables = 150
    assert share_of_claims("nested, 10 raters", "skewed", tables) <= bound(tables)
    rng = stream(5, "nested")
    drawn = [null_table(rng, NULLS["nested, 10 raters"], "skewed") for _ in range(tables)]
    by_segments = [segment_t(one.value, one.system, one.item, one.n_systems).min() <= LEVEL for one in drawn]
    assert np.mean(by_segments) > 0.25


@pytest.mark.slow
@pytest.mark.parametrize("null", NULLS)
def test_equal_systems_are_hardly_claimed(null: str) -> None:
    tables = 150
    shares = {scale: share_of_claims(null, scale, tables) for scale in ("skewed", "penalties")}
    assert max(shares.values()) <= bound(tables), shares


@pytest.mark.long
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("null", NULLS)
def test_equal_systems_are_claimed_at_the_level(null: str, scale: str) -> None:
    tables = 4_000
    assert share_of_claims(null, scale, tables) <= bound(tables)


@pytest.mark.slow
@pytest.mark.parametrize("scale", ["normal", "skewed"])
def test_intervals_hold_differences_where_lenient_raters_met_one_system_more(scale: str) -> None:
    rng, effect, tables = stream(9, scale), np.array([0.0, 0.8, 2.0]), 400
    first, second = np.triu_indices(3, 1)
    held = []
    for _ in range(tables):
        found = compare_by_model(null_table(rng, NULLS["favoured, 12 documents"], scale, effect))
        off = np.abs(found.difference - (effect[first] - effect[second]))
        held.append((off <= found.family(at_large=True).bar(LEVEL) * np.sqrt(found.at_large_variance)).all())
    assert 0.93 <= np.mean(held) <= 0.97 + 3 * np.sqrt(0.03 / tables)


PARTIAL = ("nested, 24 raters, 4 systems", "side by side, 5 systems", "by output, half missing", "crossed")


def wrong_claims(null: str, scale: str, tables: int, gap: float = 2.0) -> float:
    """Return the share of tables where some of the equal systems are claimed beside one that is really better."""
    rng, wrong = stream(2026, "partial", null, scale), []
    for _ in range(tables):
        made = NULLS[null]
        n_systems = int(made.meet(stream(0, null)).system.max()) + 1
        effect = np.where(np.arange(n_systems) == 0, gap, 0.0)
        family = compare_by_model(null_table(rng, made, scale, effect)).family(at_large=True)
        equal = np.triu_indices(n_systems, 1)[0] > 0
        wrong.append(bool((family.max_t()[equal] <= LEVEL).any()))
    return float(np.mean(wrong))


@pytest.mark.slow
@pytest.mark.parametrize("null", PARTIAL)
def test_equal_systems_are_not_claimed_beside_a_better_one(null: str) -> None:
    tables = 200
    assert wrong_claims(null, "skewed", tables) <= bound(tables)


@pytest.mark.long
@pytest.mark.parametrize("scale", ["normal", "skewed"])
@pytest.mark.parametrize("null", PARTIAL)
def test_equal_systems_are_claimed_at_the_level_beside_a_better_one(null: str, scale: str) -> None:
    tables = 4_000
    assert wrong_claims(null, scale, tables) <= bound(tables)


def welch(table: ScoredRatings) -> bool:
    means = [[table.value[table.rater == r].mean() for r in np.unique(table.rater[table.system == s])] for s in (0, 1)]
    return bool(stats.ttest_ind(*means, equal_var=False).pvalue <= LEVEL)


@pytest.mark.slow
def test_nested_raters_find_what_a_test_of_their_means_finds() -> None:
    """Four standard errors between two systems, raters of one system each: at least .9 of what Welch's t finds."""
    rng, null = stream(7, "power"), Null(nested(2, 30, 6))
    error = np.sqrt(2 * (1 + (1 + 1 + 0.16) / 5) / 6)
    found = np.array(
        [
            (claims(compare_by_model(table)), welch(table))
            for table in (null_table(rng, null, "normal", np.array([0.0, 4 * error])) for _ in range(400))
        ]
    ).mean(0)
    assert found[0] >= 0.9 * found[1] - 3 * np.sqrt(0.25 / 400)
    assert found[1] > 0.8


@pytest.mark.slow
def test_mixed_tables_find_what_known_components_would_find() -> None:
    rng, null, effect = stream(8, "power"), Null(mixed(0.2)), np.array([0.0, 1.2])
    found, known = [], []
    for _ in range(400):
        table = null_table(rng, null, "normal", effect)
        found.append(claims(compare_by_model(table)))
        parts = {1.0: table.rater, 1.09: table.document}
        covariance = (1 + 0.16) * np.eye(len(table.value))
        covariance += sum(one * np.equal.outer(label, label) for one, label in parts.items())
        x = np.eye(2)[table.system]
        inverse = np.linalg.inv(x.T @ np.linalg.solve(covariance, x))
        estimate = inverse @ x.T @ np.linalg.solve(covariance, table.value)
        z = (estimate[0] - estimate[1]) / np.sqrt(inverse[0, 0] + inverse[1, 1] - 2 * inverse[0, 1])
        known.append(2 * stats.norm.sf(abs(z)) <= LEVEL)
    assert 0.5 < np.mean(known) < 0.97
    assert np.mean(found) >= 0.8 * np.mean(known)
