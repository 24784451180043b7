"""A quote is what campaigns of other people take: its ends, its words, and what it does where they are slow or fail."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import fake_studies
import numpy as np
import pytest
from fake_studies import Block

from simlab.drawing.text import quotes as pages
from simlab.engine import campaign_quotes
from simlab.engine.campaign_quotes import QuantileSpan, Quote, quotes
from simlab.rng import stream
from simlab.types import DESIGN_FAILED, Place
from simlab.types.collection import ALL_CAME, DEADLINE

HOURS, SD, PRICE = 40.0, 0.5, 25.0
CLOCK = {"budget": {"total": 2000, "currency": "EUR"}, "design": {"collection": {"_target_": "some.crew"}}}


def paid_by_the_hour(config: Mapping[str, Any], places: Sequence[Place]) -> Block:
    """Let people of another speed work in each world; who takes longer than 48 hours runs into the deadline."""
    speed = np.array([np.exp(SD * stream(1, *place.of_pool, "people").normal()) for place in places])
    hours = np.minimum(HOURS * speed, 48.0)
    late = (HOURS * speed > 48.0).astype(np.int8)
    arrays = {"status": np.zeros(len(places), np.int8), "cost": PRICE * hours, "work_hours": hours}
    return Block(arrays | {"campaign_days": hours / 8, "ended_by": np.where(late, DEADLINE, ALL_CAME).astype(np.int8)})


def without_a_clock(config: Mapping[str, Any], places: Sequence[Place]) -> Block:
    cost = np.array([100.0 + place.world for place in places])
    return Block({"status": np.zeros(len(places), np.int8), "cost": cost})


def failing(config: Mapping[str, Any], places: Sequence[Place]) -> Block:
    status = np.array([DESIGN_FAILED if place.world % 2 else 0 for place in places], np.int8)
    return Block({"status": status, "cost": np.where(status, np.nan, 7.0)})


def slow(config: Mapping[str, Any], places: Sequence[Place]) -> Block:
    time.sleep(3600)
    return without_a_clock(config, places)


def broken(config: Mapping[str, Any], places: Sequence[Place]) -> Block:
    raise RuntimeError("a part of this study fails")


def test_ends_are_those_of_the_people_there_are() -> None:
    (quote,) = quotes(paid_by_the_hour, [({}, CLOCK)])
    hours = paid_by_the_hour(CLOCK, [Place(world, 0, 0, 0) for world in range(quote.campaigns)]).arrays["work_hours"]
    assert quote.hours == pytest.approx(np.percentile(hours, [5, 50, 95], method="weibull"))
    assert quote.money == pytest.approx([PRICE * value for value in quote.hours or ()])
    assert quote.ended == pytest.approx({ALL_CAME: np.mean(hours < 48), DEADLINE: np.mean(hours == 48)})
    # Half the people are quicker than the median: four standard errors of the median of a lognormal.
    error = 1.2533 * SD / np.sqrt(quote.campaigns)
    assert abs(np.log((quote.hours or QuantileSpan(0, 1, 0)).middle / HOURS)) < 4 * error


def test_the_same_study_has_the_same_quote() -> None:
    assert quotes(paid_by_the_hour, [({}, CLOCK)]) == quotes(paid_by_the_hour, [({}, CLOCK)])


def test_without_a_clock_there_is_money_alone() -> None:
    (quote,) = quotes(without_a_clock, [({}, {"budget": {"total": 10}})])
    assert (quote.hours, quote.days, quote.ended) == (None, None, {})
    assert pages.describe_quote(quote).startswith(f"{quote.money.middle:,.0f} in money (")


def test_campaigns_that_fail_are_said_and_left_out() -> None:
    (quote,) = quotes(failing, [({}, CLOCK)])
    assert (quote.campaigns + quote.failed) in campaign_quotes.SIZES
    assert quote.money == (7.0, 7.0, 7.0)
    assert f"7.0 EUR; {quote.failed} more campaigns failed" in pages.describe_quote(quote)


@pytest.mark.parametrize(
    ("block", "why"),
    [(slow, "no campaign came to its end within 0.5 s"), (broken, "RuntimeError: a part of this study")],
)
def test_what_takes_too_long_or_fails_is_not_quoted_and_says_why(
    block: Any, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaign_quotes, "FIRST_SECONDS", 0.5 if block is slow else 300.0)
    began = time.monotonic()
    (quote,) = quotes(block, [({}, CLOCK)])
    assert quote.campaigns == 0
    assert why in pages.describe_quote(quote)
    assert len(pages.rows([quote])) == 1
    assert time.monotonic() - began < 300


def test_of_few_campaigns_the_range_is_the_least_and_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign_quotes, "SIZES", (5,))
    (quote,) = quotes(without_a_clock, [({}, {"budget": {"total": 10}})])
    assert (quote.campaigns, quote.money) == (5, (100.0, 102.0, 104.0))
    assert "the range is the least and the most of them" in pages.rows([quote])[-1][1]


def test_studies_without_a_price_that_matters_are_not_quoted() -> None:
    assert quotes(broken, [({}, {"budget": {"price_per_rating": 1.0}}), ({}, {})]) == ()
    assert quotes(broken, []) == ()


def test_of_a_sweep_the_first_and_the_last_cell_are_quoted() -> None:
    cells = [({"documents": n}, CLOCK) for n in range(10, 101, 10)]
    assert [quote.at["documents"] for quote in quotes(paid_by_the_hour, cells)] == [10, 40, 70, 100]


def test_a_newcomer_reads_what_to_pay_and_how_long_it_takes() -> None:
    quote = Quote(
        {},
        100,
        0,
        QuantileSpan(980, 1050, 1120),
        QuantileSpan(28, 35, 46),
        QuantileSpan(4, 6.2, 9),
        {ALL_CAME: 0.88, DEADLINE: 0.12},
        "EUR",
    )
    assert pages.describe_quote(quote) == (
        "1,050 EUR (980 to 1,120), 35 h of work (28 to 46), 6.2 days (4.0 to 9.0); of campaigns .88 end with all "
        "ratings there, .12 end at the deadline"
    )
    assert [row[0] for row in pages.rows([quote, quote])] == ["quote", "", ""]
    assert "the middle of 100 campaigns" in pages.rows([quote])[-1][1]
    assert pages.rows([]) == []


def test_cells_are_named_by_their_values() -> None:
    sweep = fake_studies.sweep((10, 20))
    named = [at for at, _ in campaign_quotes.place_cells(sweep, [type("C", (), {"values": (10,), "config": {}})()])]  # type: ignore[list-item]
    assert named == [{"documents": 10}]
