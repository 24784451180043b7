"""Claims of equal systems where few voters have skewed tastes: what is held, and the limit that the page prints."""

from __future__ import annotations

import numpy as np
import pytest
from taste_promises import (
    LEVEL,
    PANELS,
    UNMET,
    Crowd,
    certain_tastes,
    draw_leads,
    few_voters,
    measure_panel,
    p_value_of_votes,
    tastes,
)
from vote_worlds import flips_of_studies

from simlab.concluding.far_scores import unmet_people


def test_flips_of_ten_voters_are_those_that_conclude_makes() -> None:
    lead = draw_leads(np.random.default_rng(1), Crowd(10, 20, 0.2), 12)
    found = [p_value_of_votes(one, 20) for one in lead]
    assert found == pytest.approx(flips_of_studies(lead, 20))


def test_a_group_that_nobody_met_is_as_large_as_chance_allows() -> None:
    """Where people of exactly that share exist, one study of twenty meets none of them."""
    for n in (6, 10, 40):
        limits = unmet_people(n)
        none_met = (np.random.default_rng(n).random((20_000, n)) >= limits.unmet_share).all(1).mean()
        assert none_met == pytest.approx(0.05, abs=5 * (0.05 * 0.95 / 20_000) ** 0.5)
        assert limits.unmet_share < 3 / n
        assert limits.one_in_five_unmet == pytest.approx(0.8**n)


def test_few_voters_of_a_rare_group_claim_equal_systems_as_often_as_they_miss_it() -> None:
    """Nearly all claims of equal systems are of studies that met none of the group, or one."""
    crowd = UNMET[1]
    lead = draw_leads(np.random.default_rng(2), crowd, 1500)
    claimed = flips_of_studies(lead, crowd.votes) <= LEVEL
    lovers = (lead == crowd.votes).sum(1)
    assert claimed[lovers <= 1].sum() >= 0.9 * claimed.sum()
    assert claimed.mean() > LEVEL


@pytest.mark.slow
def test_claims_hold_where_tastes_are_symmetric_or_groups_are_met() -> None:
    rows = list(tastes(1500))
    assert [row for row in rows if not row.control and not row.holds(5)] == []
    assert all(row.value > LEVEL for row in rows if row.control)


@pytest.mark.long
def test_claims_hold_in_many_studies_and_limits_are_where_they_are_said_to_be() -> None:
    assert [row for row in (*tastes(20_000), *certain_tastes(20_000)) if not row.holds(3)] == []


def test_few_voters_who_meet_all_items_find_most_of_what_known_variances_would() -> None:
    of = measure_panel(PANELS[1], 60)
    assert of.level.mean() <= LEVEL + 5 * (LEVEL * (1 - LEVEL) / 60) ** 0.5
    assert of.found.mean() >= 0.6 * of.known.mean()
    # Negative control: sign tests take the votes of one voter for those of many.
    assert of.sign_tests.mean() > 0.3


@pytest.mark.long
def test_few_voters_hold_the_level_in_many_studies() -> None:
    assert [row for row in few_voters(1000) if not row.holds(3)] == []
