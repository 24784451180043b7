"""Hold intervals of means and shares to what they promise at few judgements, and of outputs that come in documents.

Quick versions take few worlds and allow five errors; long ones must hold within three.
"""

from __future__ import annotations

from collections.abc import Iterable

import mean_promises as promises
import numpy as np
import pytest
from mean_promises import PROMISES, PUBLISHED, Row


def check(rows: Iterable[Row], *, errors: float) -> None:
    held = list(rows)
    assert held
    for row in held:
        assert row.holds(errors), row


def test_shares_are_covered_from_twenty_judgements_on() -> None:
    every = np.linspace(0.01, 0.99, 197).tolist()
    check(promises.independent_shares((*range(20, 60), 100), every), errors=0)
    check(promises.independent_shares((20, 50), every, interval="clopper_pearson"), errors=0)


def test_the_dip_of_shares_beyond_is_what_is_said() -> None:
    beyond = np.linspace(1e-4, 0.01, 100).tolist()
    least = min(row.value for row in promises.independent_shares((20, 50, 100), beyond))
    assert 0.835 < least < 0.845
    check(promises.independent_shares((20, 50, 100), beyond, interval="clopper_pearson"), errors=0)


def test_normal_intervals_of_shares_cover_what_was_published() -> None:
    rows = list(promises.published_shares())
    check(rows, errors=0)
    np.testing.assert_allclose([row.value for row in rows], list(PUBLISHED.values()), atol=0.005)


def test_means_of_skewed_scores_are_covered_as_far_as_t_can() -> None:
    check(promises.skewed_means(4000), errors=5)
    check(promises.corrected_means(2000), errors=5)
    check(promises.skewed_means(600, interval="bootstrap_t"), errors=5)


def test_skewness_is_noticed_where_it_matters() -> None:
    check(promises.skewness_is_noticed(3000), errors=5)


def test_shares_of_outputs_in_documents_are_covered() -> None:
    check(promises.shares_of_documents(2000, alphas=(0.02, 0.1, 0.5, 0.9, 0.98)), errors=5)


def test_means_of_outputs_in_documents_are_covered() -> None:
    check(promises.means_of_documents(2000), errors=5)
    check(promises.documents_judged_in_part(2000), errors=5)
    check(promises.documents_forgotten(2000), errors=5)


def test_differences_keep_their_level_where_outputs_come_in_documents() -> None:
    check(promises.levels_of_differences(1000), errors=5)


def test_a_metric_that_knows_nothing_costs_next_to_nothing() -> None:
    check(promises.useless_metrics(1000), errors=5)


def test_studies_of_documents_cover_and_keep_their_level() -> None:
    check(promises.studies_of_documents(60), errors=5)


@pytest.mark.long
@pytest.mark.parametrize("promise", PROMISES)
def test_every_promise_holds(promise: object) -> None:
    check(promise(), errors=3)  # type: ignore[operator]
