"""What a table of ratings is said to find with 80 %, and to need for a claim, is what studies of a known law find."""

from __future__ import annotations

import foreseen_promises as foreseen
import numpy as np
import pytest
from scipy.special import ndtri

from simlab.analysis.needed_units import POWER, least_detectable_difference
from tests.statistics.null_tables import Meeting, rated_table


@pytest.mark.parametrize("kind", ["side by side, 5 systems", "favoured, 12 documents"])
def test_a_difference_that_is_said_to_be_found_is_found(kind: str) -> None:
    rows = list(foreseen.differences_found(80, (kind,)))
    assert rows
    assert [one for one in rows if not one.holds(3)] == []


@pytest.mark.long
@pytest.mark.parametrize("kind", foreseen.KINDS)
def test_differences_that_are_said_to_be_found_are_found(kind: str) -> None:
    rows = list(foreseen.differences_found(1_000, (kind,)))
    assert [one for one in rows if not one.holds(1)] == []


@pytest.mark.parametrize("freedom", [3.0, 8.0, 30.0, np.inf])
def test_a_difference_is_found_whatever_errors_were_estimated(freedom: float) -> None:
    """Estimate the error of a table, and that of the study that looks for what the table says it finds."""
    rng, n, bar = np.random.default_rng(1), 40_000, 2.8
    known = np.isinf(freedom)
    told, met = (np.ones(n) if known else np.sqrt(rng.chisquare(freedom, n) / freedom) for _ in range(2))
    z = rng.standard_normal(n)
    mcse = np.sqrt(POWER * (1 - POWER) / n)

    def share(size: float) -> float:
        return float((size * told + z > bar * met).mean())

    assert abs(share(least_detectable_difference(bar, 1.0, freedom)) - POWER) <= 3 * mcse + 0.002
    # The control: an error that is taken as known finds less.
    assert known or share(bar + float(ndtri(POWER))) < POWER - 5 * mcse


def test_the_upper_number_settles_a_pair_with_eighty_percent() -> None:
    n = 40
    low, high = foreseen.settled_shares("documents by three raters", n)
    assert np.mean(high) >= POWER - 2 * np.sqrt(POWER * (1 - POWER) / n)
    assert np.mean(low) < np.mean(high)


@pytest.mark.long
@pytest.mark.parametrize("kind", foreseen.GROWING)
def test_what_is_said_to_settle_pairs_settles_them(kind: str) -> None:
    """The range goes from what settles fewer than 80 % of open pairs, or about so many, to what settles more."""
    n = 400
    low, high = foreseen.settled_shares(kind, n)
    mcse = np.sqrt(POWER * (1 - POWER) / n)
    assert POWER - mcse <= np.mean(high) <= 0.95
    assert 0.5 <= np.mean(low) <= POWER + mcse


@pytest.mark.long
def test_documents_of_raters_without_tastes_in_the_table_settle_less() -> None:
    """The control: where raters are counted, documents of the same raters do not settle what they seem to."""
    n = 200
    _, high = foreseen.settled_shares("raters side by side", n, by_documents=True)
    assert np.mean(high) < POWER - 3 * np.sqrt(POWER * (1 - POWER) / n)


def test_one_rater_leaves_the_error_of_documents() -> None:
    """The error is that of the differences by document, whatever is common to all ratings of the one rater."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        score = 50 + rng.normal(size=(200, 3))
        document, system = (axis.ravel() for axis in np.indices(score.shape))
        told = foreseen.spans_of(rated_table(Meeting(system, 0 * system, document, document), score.ravel()))
        plain = np.sqrt((score - score.mean(1, keepdims=True)).var(0).sum() / 199)
        np.testing.assert_allclose(told.error, plain, rtol=0.05)
