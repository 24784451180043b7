"""The suite is what was committed, covers its levels, and has equal systems that are equal; a wrong test breaks it."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from simlab.concluding.concluding import conclude
from simlab.concluding.options import ConcludeOptions
from simlab.types import Floats, Ints
from tests.statistics.suite import other_tables
from tests.statistics.suite.build_suite import covers, digests
from tests.statistics.suite.candidate_tests import TESTS, Found, Test
from tests.statistics.suite.run import append, judge, read_blocks, run_block
from tests.statistics.suite.suite_oracle import pair_errors, weights_of
from tests.statistics.suite.suite_rows import DIGESTS, Row, read_rows
from tests.statistics.suite.suite_tables import comparable, draw_scores, law_of, table, truth

ROWS = read_rows()


def row_of(**levels: object) -> Row:
    """Return the first row with these levels."""
    return next(row for row in ROWS if all(getattr(row, name) == level for name, level in levels.items()))


DRAWN = (
    row_of(spread="unequal", scale="mqm", systems=9),
    row_of(tastes="divisive", scale="one_to_five", systems=4),
    row_of(tastes="t3", spread="unequal", scale="binary", systems=4),
    row_of(tastes="skewed", scale="ceiling", systems=3),
    row_of(meeting="two_pools", spread="unequal", scale="points", systems=9),
)


def test_rows_and_tables_are_those_that_were_fixed() -> None:
    assert digests() == DIGESTS.read_text(encoding="utf-8")


def test_pairs_of_levels_that_may_occur_together_do() -> None:
    valid = [row for row in ROWS if not row.limits]
    assert covers(valid)
    # Without all rows with two of these levels the pair is missing.
    assert not covers([row for row in valid if (row.systems, row.documents) != (valid[0].systems, valid[0].documents)])
    assert 0 < len(ROWS) - len(valid) <= 0.1 * len(ROWS)
    assert sum(row.screen for row in ROWS) == 30


@pytest.mark.parametrize("row", DRAWN, ids=lambda row: str(row.number))
def test_tables_are_a_function_of_row_and_seed(row: Row) -> None:
    once, again, other = table(row, 3), table(row, 3), table(row, 4)
    assert all((a == b).all() for a, b in zip(once, again, strict=True))
    assert (once.rater == other.rater).all()
    assert (once.score != other.score).any()
    assert len(once.score) == row.n_ratings


def off_by(row: Row, *, as_planted: bool = False, tables: int = 3_000) -> float:
    """Return the largest error of an expected score in its standard errors; `as_planted` leaves means uncorrected."""
    law = law_of(row)
    if as_planted:
        plain = row._replace(spread="equal", tastes="normal")
        law = law._replace(location=law_of(plain).location)
    score = draw_scores(law, np.random.default_rng(row.number), tables)
    system = law.meeting.system
    mean = np.stack([score[:, system == k].mean(1) for k in range(row.systems)], 1)
    return float((np.abs(mean.mean(0) - law.expected) / (mean.std(0) / np.sqrt(tables))).max())


@pytest.mark.parametrize("row", DRAWN, ids=lambda row: str(row.number))
def test_expected_scores_are_true_and_those_of_equal_systems_equal(row: Row) -> None:
    assert off_by(row) < 5
    planted = law_of(row).expected
    first, second = np.triu_indices(row.systems, 1)
    assert ((truth(row) == 0) == (planted[first] == planted[second])).all()


def test_unequal_spreads_would_make_systems_differ_on_a_scale_of_steps() -> None:
    assert off_by(DRAWN[0], as_planted=True) > 10


NULL = ROWS[0]._replace(effect="null", share=0.9, planted=0.0)


def z_with(errors: Floats, weights: Floats) -> Test:
    """Return the z test of weighted means with these standard errors of differences."""

    def test(system: Ints, document: Ints, rater: Ints, score: Floats) -> Found:
        estimate = weights @ score
        first, second = np.triu_indices(len(estimate), 1)
        gap = estimate[first] - estimate[second]
        # Sidak's bound for all pairs.
        from scipy.special import ndtri

        reach = errors * ndtri(1 - (1 - 0.95 ** (1 / len(gap))) / 2)
        return Found(gap, gap - reach, gap + reach, np.abs(gap) > reach)

    return test


def test_a_test_with_known_variances_holds_its_level_and_one_without_tastes_does_not() -> None:
    law = law_of(NULL)
    weights, covariance = weights_of(law)
    tables = 300
    right = judge([run_block("z", z_with(pair_errors(covariance), weights), NULL, 0, tables)])
    assert right.holds
    assert right.level > 0.005
    noise = np.zeros((NULL.systems, NULL.systems))
    for k in range(NULL.systems):
        noise[k, k] = (weights[k, law.meeting.system == k] ** 2).sum() * law.spread[k] ** 2
    wrong = judge([run_block("z", z_with(pair_errors(noise), weights), NULL, 0, tables)])
    assert not wrong.holds
    assert wrong.level > 0.5


def test_blocks_are_read_as_they_were_written(tmp_path: Path) -> None:
    row, path = DRAWN[3], tmp_path / "found" / "suite.csv"
    blocks = [run_block(name, TESTS[name], row, 0, 3) for name in TESTS]
    for block in blocks:
        append(path, block)
    assert [b._replace(power=0, power_square=0) for b in read_blocks(path)] == [
        b._replace(power=0, power_square=0) for b in blocks
    ]


def test_a_file_concludes_as_the_moderated_test_does(tmp_path: Path) -> None:
    row, path = ROWS[1], tmp_path / "ratings.csv"
    drawn = table(row, 0)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("system", "document", "rater", "score"))
        for s, d, r, score in zip(*drawn, strict=True):
            writer.writerow((f"s{s:02}", f"d{d:03}", f"r{r:02}", repr(float(score))))
    concluded = conclude(path, ConcludeOptions(gate=False, again=False), lambda line: None)
    found = TESTS["moderated"](*drawn)
    assert [pair.scope for pair in concluded.pairs] == ["raters_at_large"] * len(found.difference)
    names = [(pair.first, pair.second) for pair in concluded.pairs]
    assert names == [(f"s{i:02}", f"s{j:02}") for i, j in zip(*np.triu_indices(row.systems, 1), strict=True)]
    np.testing.assert_allclose([pair.difference for pair in concluded.pairs], found.difference, rtol=1e-6, atol=1e-9)
    assert [pair.verdict != 0 for pair in concluded.pairs] == found.claimed.tolist()
    np.testing.assert_allclose([pair.low for pair in concluded.pairs], found.lower, rtol=1e-6, atol=1e-9)


def test_pairs_between_pools_are_not_compared() -> None:
    row = DRAWN[4]
    here = comparable(row)
    assert 0 < here.sum() < len(here)
    found = TESTS["mixed_model"](*table(row, 0))
    assert np.isinf((found.upper - found.lower)[~here]).all()
    assert np.isfinite((found.upper - found.lower)[here]).all()


def test_the_other_rows_and_their_tables_are_those_that_were_fixed() -> None:
    assert other_tables.digest() == other_tables.DIGEST.read_text(encoding="utf-8")


def test_equal_systems_of_the_other_rows_are_equal_and_different_ones_are_not() -> None:
    for row in other_tables.read_rows():
        different = len(np.unique(other_tables.means(row)))
        wanted = {"null": different == 1, "partial": 1 < different < row.systems, "power": different > 1}
        assert wanted[row.effect], row.number
