"""Cut random designs of every kind to their money: it is never overspent, and all that was planned is accounted for."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exported_designs import Config, composed, judgements, option, patched, preferences, ratings
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from places import places

from simlab.studies.blocks import run_block
from simlab.studies.checks import check
from simlab.studies.kinds import identify_kind
from simlab.studies.money import bill, read_prices
from simlab.studies.outcomes import ACCOUNT
from simlab.studies.ratings.collecting import collect, draw, lay
from simlab.studies.ratings.preparing import prepare
from simlab.studies.worlds import draw_world
from simlab.types import OK, RATE, Array, Campaign, InputError, Place
from simlab.types.collection import ALL_CAME, DECIDED, MONEY

KINDS = {"ratings": ratings, "preferences": preferences, "judgements": judgements}
STUDIES = 2

priced = st.fixed_dictionaries({
    "price_per_rating": st.sampled_from([0.1, 0.3, 1.0, 7.13]),
    "platform_fee": st.sampled_from([0.0, 0.2]),
    "share": st.floats(0.55, 1.1),
    "less": st.floats(0.8, 1.0),
    "by_system": st.booleans(),
    "rater": st.sampled_from([0.0, 5.0]),
    "call": st.sampled_from([None, 0.02]),
})  # fmt: skip


def with_money(config: Config, drawn: Mapping[str, Any], **limits: float | None) -> Config:
    """Give a study prices, and limits to what it may cost."""
    own = {"price_per_rating": drawn["price_per_rating"], "platform_fee": drawn["platform_fee"]}
    question = identify_kind(config).question
    if question == RATE:
        # As many documents as there are, so that there is something to cut, and parts that go with any number.
        config = {**config, "design": {**config["design"], "documents": 12}}
        normalization = option("analysis/normalization", "none")
        test = option("analysis/test", "permutation", permutations=60)
        config["analysis"] = {**config["analysis"], "normalization": normalization, "test": test}
    own |= {"price_per_rater": drawn["rater"]} if question == RATE else {}
    own |= {} if question == "compare" else {"price_per_metric_call": drawn["call"]}
    return {**config, "studies": STUDIES, "worlds": 1, "budget": {**config["budget"], **own, **limits}}


def carried_out(config: Config) -> dict[str, Array]:
    arrays = run_block(config, places(0, STUDIES)).arrays
    assume((arrays["status"] == OK).all())
    return arrays


def limited(config: Config, drawn: Mapping[str, Any], amount: float) -> Config:
    systems = draw_world(config, 0).frame.n_systems
    by_system = drawn["by_system"] and identify_kind(config).question != "judge"
    return with_money(config, drawn, **({"per_system": amount / systems} if by_system else {"total": amount}))


def accounts_add_up(config: Config, arrays: dict[str, Array], amount: float, planned: Array) -> None:
    used = arrays["ratings_used"]
    np.testing.assert_array_equal(planned, used + arrays["ratings_lost"] + arrays["ratings_open"])
    np.testing.assert_array_equal(arrays["ratings_planned"], planned)
    assert (arrays["cost"] <= amount * (1 + 1e-9)).all()
    assert (arrays["ended_by"][used == planned] != DECIDED).all()
    assert set(arrays["ended_by"].tolist()) <= {ALL_CAME, DECIDED, MONEY}
    prices = read_prices(config["budget"], identify_kind(config).question)
    beside = arrays["cost"] - used * prices.answer * (1 + prices.fee)
    world = draw_world(config, 0)
    calls = np.zeros(len(used)) if world.metric is None else arrays.get("metric_used", np.zeros(len(used)))
    if world.metric is not None and identify_kind(config).question == RATE:
        calls = np.full(len(used), world.frame.n_systems * len(world.frame.document))
    raters = world.frame.n_raters if identify_kind(config).question == RATE else 0
    others = [bill(prices, answers=0, raters=raters, metric_calls=count) for count in calls]
    # To the cent, with what nobody rated left aside.
    np.testing.assert_allclose(beside, others, atol=0.001)


@pytest.mark.parametrize("kind", KINDS)
def test_money_is_never_overspent_and_more_of_it_never_buys_less(kind: str, tmp_path: Path) -> None:
    @settings(
        max_examples=30,
        deadline=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(KINDS[kind](tmp_path), priced)
    def holds(config: Config, drawn: dict[str, Any]) -> None:
        whole = with_money(config, drawn, total=1e9)
        with suppress(InputError):
            check(with_money(config, drawn))
            full = carried_out(whole)
            accounts_add_up(whole, full, 1e9, full["ratings_planned"])
            amounts = [float(full["cost"].max()) * drawn["share"] * less for less in (drawn["less"], 1.0)]
            found = []
            for amount in amounts:
                limit = limited(config, drawn, amount)
                check(limit)
                found.append(carried_out(limit))
                accounts_add_up(limit, found[-1], amount, full["ratings_planned"])
            assert (found[0]["ratings_used"] <= found[1]["ratings_used"]).all()
            assert (found[1]["ratings_used"] <= full["ratings_used"]).all()
            cut.append(bool((found[0]["ended_by"] == MONEY).any()))

    cut: list[bool] = []
    holds()
    # Enough of them were cut, and carried out all the same.
    assert sum(cut) >= 3


@pytest.mark.parametrize("kind", KINDS)
def test_without_limits_nothing_is_accounted_and_bits_are_what_they_were(kind: str, tmp_path: Path) -> None:
    @settings(
        max_examples=5,
        deadline=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(KINDS[kind](tmp_path))
    def holds(config: Config) -> None:
        try:
            check(config)
        except InputError:
            return
        plain, whole = (
            run_block({**config, "budget": {**config["budget"], "total": total}}, places(0, 2)).arrays
            for total in (None, 1e9)
        )
        assert not plain.keys() & ACCOUNT.keys()
        assert whole.keys() - plain.keys() >= ACCOUNT.keys()
        for name, array in plain.items():
            np.testing.assert_array_equal(array, whole[name])

    holds()


BIG = ("systems.n_systems=4", "systems.n_documents=30", "systems.n_segments=120", "raters=crowd_pool")


def campaigns(total: float, **design: Any) -> list[Campaign]:
    keys = {"design.documents": 20, "design.ratings_per_item": 3, "design.studies_per_document_set": 1}
    config = patched(BIG, keys, {"budget.total": total}, {f"design.{key}": value for key, value in design.items()})
    prepared, world = prepare(config), draw_world(config, 0)
    table = lay(prepared, world, Place(0))
    where = places(0, 6)
    noise = iter([draw(prepared, world, table, place) for place in where])
    return [one for one in collect(prepared, world, table, noise, where) if isinstance(one, Campaign)]


def test_documents_are_cut_first_in_the_order_in_which_they_are_drawn_and_then_ratings_per_item() -> None:
    before: list[Campaign] | None = None
    shapes = []
    for total in (900, 700, 500, 400, 300, 250, 200, 150, 130):
        found = campaigns(total)
        per_item = {one.collected.asked.slot.shape[2] for one in found if one.collected.asked is not None}
        documents = [int(one.collected.documents.sum()) for one in found if one.collected.documents is not None]
        shapes.append((per_item.pop(), min(documents)))
        assert not per_item
        if before is not None and shapes[-1][0] == shapes[-2][0]:
            for one, other in zip(found, before, strict=True):
                assert one.collected.documents is not None
                assert other.collected.documents is not None
                assert not (one.collected.documents & ~other.collected.documents).any()
        before = found
    each = [one for one, _ in shapes]
    assert each == sorted(each, reverse=True)
    assert each[0] == 3
    assert each[-1] == 1
    assert all(documents >= 6 for _, documents in shapes)


def test_a_campaign_has_as_many_documents_as_its_own_lengths_let_the_money_pay() -> None:
    config = composed(*BIG)
    frame = draw_world(config, 0).frame
    size = np.bincount(frame.document) * frame.n_systems
    found = campaigns(300.0, ratings_per_item=1)
    chosen = [one.collected.documents for one in found]
    counts = {int(documents.sum()) for documents in chosen if documents is not None}
    assert len(counts) > 1
    for documents in chosen:
        assert documents is not None
        assert 300 - size.max() < size[documents].sum() <= 300


@pytest.mark.parametrize(
    ("words", "key"),
    [
        (("systems.n_systems=5",), "total"),
        (("systems.n_systems=5", "budget.price_per_rating=.3", "budget.price_per_rater=3"), "per_system"),
        (("question=compare", "systems=preference", "systems.n_systems=4", "budget.platform_fee=.2"), "total"),
        (("question=judge", "metric=none", "analysis/estimator=sample_mean", "budget.price_per_judgement=.7"), "total"),
        (("question=judge", "budget.metric_ratings=100", "budget.price_per_metric_call=.01"), "per_system"),
    ],
)
def test_the_least_that_would_do_does_and_a_cent_less_is_refused(words: tuple[str, ...], key: str) -> None:
    config = patched(words, {"studies": 2})

    def refusal(amount: float) -> str:
        try:
            check({**config, "budget": {**config["budget"], key: amount}})
        except InputError as error:
            return str(error)
        return ""

    said = refusal(0.01)
    assert said.startswith(f"budget.{key}=0.01 does not pay ")
    least = float(said.partition("the least that would is ")[2].split()[0].rstrip(";").replace(",", ""))
    assert refusal(least) == ""
    assert "the least that would is" in refusal(least - 0.01)
