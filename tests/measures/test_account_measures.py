"""Measures of money, hours, days and of what became of ratings, against counting by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from accounted_outcomes import PLANNED, PRICE, accounted, unaccounted
from scipy import stats

from simlab.config import bound_options
from simlab.measures import accounts
from simlab.measures.labels import ACCOUNTS, LABELS, measure_range
from simlab.store.measures import all_measures
from simlab.studies.kinds import outcomes as declared
from simlab.types import Estimate, Outcomes
from simlab.types.collection import DEADLINE, MONEY, NOBODY

Measure = Callable[[Outcomes], Estimate]
MEANS = {
    accounts.money: "cost",
    accounts.hours: "work_hours",
    accounts.days: "campaign_days",
    accounts.planned: "ratings_planned",
    accounts.received: "ratings_used",
    accounts.lost: "ratings_lost",
    accounts.left_open: "ratings_open",
    accounts.documents_finished: "documents_rated",
    accounts.load_evenness: "load_entropy_reached",
}
ENDINGS = {accounts.ended_by_money: MONEY, accounts.ended_by_deadline: DEADLINE, accounts.ended_by_nobody: NOBODY}
EVERY = [*MEANS, *ENDINGS, accounts.completed_share, accounts.ended_as_planned]


@pytest.mark.parametrize("measure", MEANS, ids=lambda measure: measure.__name__)
def test_means_are_those_of_the_campaigns_that_were_carried_out(measure: Measure) -> None:
    data = accounted()
    values = [float(v) for v, status in zip(data[MEANS[measure]], data["status"], strict=True) if status == 0]
    found = measure(data)
    assert found.value == pytest.approx(sum(values) / len(values))
    assert (found.n, found.cluster, len(found.influence)) == (len(values), "world", 4)


@pytest.mark.parametrize("measure", ENDINGS, ids=lambda measure: measure.__name__)
def test_endings_are_counted(measure: Measure) -> None:
    data = accounted()
    ended = [code for code, status in zip(data["ended_by"], data["status"], strict=True) if status == 0]
    assert measure(data).value == pytest.approx(ended.count(ENDINGS[measure]) / len(ended))


def test_endings_add_up_to_one_and_ratings_to_those_planned() -> None:
    data = accounted()
    assert sum(one(data).value for one in (*ENDINGS, accounts.ended_as_planned)) == pytest.approx(1)
    parts = (accounts.received, accounts.lost, accounts.left_open)
    assert sum(part(data).value for part in parts) == pytest.approx(accounts.planned(data).value) == PLANNED
    share = accounts.received(data).value / accounts.planned(data).value
    assert accounts.completed_share(data).value == pytest.approx(share)


def test_money_follows_its_closed_form() -> None:
    """Where each answer that came or was lost has one price, so has the mean; a price forgotten is seen."""
    data = accounted()
    expected = PRICE * (accounts.received(data).value + accounts.lost(data).value)
    assert accounts.money(data).value == pytest.approx(expected)
    assert accounts.money(data | {"cost": PRICE * data["ratings_used"]}).value < expected - 1


@pytest.mark.parametrize("measure", [accounts.money, accounts.planned, accounts.received], ids=lambda m: m.__name__)
def test_folders_filled_before_have_money_and_ratings(measure: Measure) -> None:
    data = unaccounted()
    name = "cost" if measure is accounts.money else "ratings_used"
    assert measure(data).value == pytest.approx(data[name][data["status"] == 0].mean())


@pytest.mark.parametrize(
    "measure", [one for one in EVERY if one is not accounts.load_evenness], ids=lambda m: m.__name__
)
def test_what_is_not_known_has_no_value(measure: Measure) -> None:
    lacking = {name: values for name, values in unaccounted().items() if name not in ("cost", "ratings_used")}
    assert measure(lacking).n == 0
    assert np.isnan(measure(lacking).value)


@pytest.mark.parametrize("measure", [accounts.hours, accounts.days], ids=lambda measure: measure.__name__)
def test_without_a_clock_there_are_no_hours(measure: Measure) -> None:
    nothing = np.full(48, np.nan)
    assert measure(accounted() | {"work_hours": nothing, "campaign_days": nothing}).n == 0


def test_a_campaign_that_failed_changes_nothing() -> None:
    data = accounted()
    failed = data["status"] != 0
    blank = {name: np.where(failed, 10**6, data[name]) for name in ("ratings_used", "ratings_planned", "ended_by")}
    blank |= {name: np.where(failed, np.nan, data[name]) for name in ("cost", "work_hours", "campaign_days")}
    for measure in EVERY:
        np.testing.assert_array_equal(measure(data | blank).influence, measure(data).influence)


COVERED, STEPS = 300, 10


def _coverage(error: Callable[[Estimate], float], clusters: int) -> float:
    """Count how often intervals hold the mean hours, worlds differing in speed."""
    truth = accounts.hours(accounted(0, worlds=4000, studies=2)).value
    found = [accounts.hours(accounted(seed, worlds=clusters, studies=STEPS)) for seed in range(1, COVERED + 1)]
    reach = stats.t.ppf(0.975, clusters - 1)
    return float(np.mean([abs(one.value - truth) <= reach * error(one) for one in found]))


def test_intervals_cover_and_those_that_count_campaigns_as_worlds_do_not() -> None:
    slack = 5 * np.sqrt(0.95 * 0.05 / COVERED)
    assert _coverage(lambda one: one.mcse, 20) > 0.95 - 0.02 - slack
    # Campaigns of a world have the same people: taken as independent they promise too much.
    assert _coverage(lambda one: one.mcse / np.sqrt(STEPS), 20) < 0.95 - slack - 0.2


def test_no_measure_bears_the_name_of_an_outcome() -> None:
    assert not set(all_measures()) & set(declared())
    assert set(ACCOUNTS) <= set(bound_options("measure")) & set(LABELS)


@pytest.mark.parametrize("name", [*ACCOUNTS, "load_evenness"])
def test_no_value_leaves_its_range(name: str) -> None:
    value, (least, greatest, _) = all_measures()[name](accounted()).value, measure_range(name)
    assert least == 0
    assert 0 <= value <= (greatest or np.inf)
