"""Real ratings whose systems are equal: each rater's labels are permuted, one permutation for all that he rated.

Tastes, scales and dependence are those of people; for raters at large the systems are equal. One table is one draw of
raters and documents, so that a share is a number about it; it refutes the level, or does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from shared_data import SHARED

from simlab.analysis.raters.model_comparisons import compare_by_model
from simlab.analysis.raters.t_tests import segment_t
from simlab.concluding.options import ConcludeOptions
from simlab.concluding.ratings.concluding import read_study
from simlab.rng import stream
from simlab.studies.ratings.concluding import document_totals, make_scored_ratings, score_ratings
from simlab.studies.ratings.preparing import prepare
from simlab.tables.rating_table import ColumnOverrides
from simlab.types import ScoredRatings
from tests.statistics.null_tables import Meeting, rated_table

LEVEL = 0.05
FEW = ("example", "ted", "squality")
"""Tables of three or four raters, of whom `conclude` says nothing about raters at large."""
EXAMPLE = Path(__file__).parents[2] / "examples" / "ratings.csv"
TABLES: Mapping[str, tuple[Path, ColumnOverrides]] = {
    "example": (EXAMPLE, ColumnOverrides()),
    "esa": (SHARED / "esa/240315rc5ESA.scores.csv", ColumnOverrides(people=SHARED / "esa/Annotators_mapping.csv")),
    "gemba": (SHARED / "esa/240315rc5GEMBA.scores.csv", ColumnOverrides(people=SHARED / "esa/Annotators_mapping.csv")),
    "mqm": (SHARED / "esa/240315rc5MQM.scores.csv", ColumnOverrides(people=SHARED / "esa/Annotators_mapping.csv")),
    "ted": (SHARED / "mqm_ted_ende.tsv", ColumnOverrides()),
    "squality": (SHARED / "repetitions/squality.csv", ColumnOverrides(columns={"score": "overall"})),
    "thin": (SHARED / "strangers/12-difference-at-the-end-of-its-interval.csv", ColumnOverrides()),
    "uneven": (SHARED / "strangers/20-uneven-raters-many-systems.csv", ColumnOverrides()),
}


def rated(name: str) -> ScoredRatings:
    """Return the ratings of a table as its analysis takes them."""
    path, told = TABLES[name]
    study = read_study(path, ConcludeOptions(column_overrides=told))
    prepared = prepare(study.config)
    scores = score_ratings(prepared, study.collected)
    return make_scored_ratings(study.collected, scores, document_totals(prepared, study.collected))


def permuted(table: ScoredRatings, rng: np.random.Generator) -> ScoredRatings:
    """Give the systems that each rater met each other's names."""
    system = table.system.copy()
    for rater in np.unique(table.rater):
        own = table.rater == rater
        met, at = np.unique(system[own], return_inverse=True)
        system[own] = rng.permutation(met)[at]
    return rated_table(Meeting(system, table.rater, table.item, table.document), table.value)


def share_of_claims(name: str, tables: int) -> float:
    table, rng = rated(name), stream(2026, "real null", name)
    claims = [compare_by_model(permuted(table, rng)).family(at_large=True).max_t() <= LEVEL for _ in range(tables)]
    return float(np.mean([claim.any() for claim in claims]))


def bound(tables: int) -> float:
    return LEVEL + 3 * np.sqrt(LEVEL * (1 - LEVEL) / tables)


@pytest.mark.needs_shared("strangers")
def test_raters_of_a_thin_table_whose_labels_are_permuted_claim_little() -> None:
    assert share_of_claims("thin", 200) <= bound(200)


@pytest.mark.needs_shared("strangers", "esa")
@pytest.mark.slow
@pytest.mark.parametrize("name", [one for one in TABLES if one not in FEW])
def test_raters_whose_labels_are_permuted_claim_little(name: str) -> None:
    assert share_of_claims(name, 300) <= bound(300)


@pytest.mark.needs_shared("repetitions", "mqm_ted_ende.tsv")
@pytest.mark.long
def test_of_three_or_four_raters_the_level_at_large_is_not_far_off() -> None:
    assert max(share_of_claims(name, 1000) for name in FEW) <= 0.15


@pytest.mark.needs_shared("esa")
@pytest.mark.slow
def test_a_test_of_segments_claims_what_raters_like() -> None:
    """The negative control: with the raters' tastes in the labels, tests over segments find systems that differ."""
    table, rng = rated("esa"), stream(2026, "segments")
    drawn = [permuted(table, rng) for _ in range(40)]
    assert np.mean([segment_t(one.value, one.system, one.item, one.n_systems).min() <= LEVEL for one in drawn]) > 0.5
