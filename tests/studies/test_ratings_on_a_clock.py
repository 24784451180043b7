"""Studies of ratings on a clock: what came, what it cost, and that nothing else happened."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import places
from working_crews import IDEAL

from simlab.config import compose
from simlab.studies.blocks import run_block
from simlab.studies.checks import check
from simlab.studies.ratings.collecting import collect, draw, lay
from simlab.studies.ratings.preparing import prepare
from simlab.studies.worlds import draw_world
from simlab.types import (
    ALL_CAME,
    CONTROL,
    DEADLINE,
    DESIGN_FAILED,
    DROPPED_OUT,
    HANDED_IN,
    MONEY,
    NO_TWIN,
    NOBODY,
    Array,
    Campaign,
    Collected,
    InputError,
    World,
)

SMALL = ["design.documents=12", "systems.n_systems=3", "systems.n_documents=24", "systems.n_segments=100"]


@cache
def composed(*settings: str) -> dict[str, Any]:
    return compose([*SMALL, "design.collection=team", *settings])


def config(*settings: str, budget: dict[str, Any] | None = None, **keys: Any) -> dict[str, Any]:
    """Compose a study on a clock that is ideal but for some keys."""
    asked = deepcopy(composed(*settings))
    asked["design"]["collection"] |= IDEAL | keys
    asked["budget"] |= budget or {}
    return asked


def block(*settings: str, n: int = 4, **keys: Any) -> dict[str, Array]:
    return run_block(config(*settings, **keys), places(0, n)).arrays


def carried(asked: dict[str, Any], study: int = 0) -> tuple[World, Collected | None]:
    world, prepared = draw_world(asked, 0), prepare(asked)
    [place] = places(0, 1, study)
    table = lay(prepared, world, place)
    [came] = collect(prepared, world, table, iter([draw(prepared, world, table, place)]), [place])
    return world, came.collected if isinstance(came, Campaign) else None


def campaign(*settings: str, **keys: Any) -> tuple[World, Collected]:
    world, held = carried(config(*settings, **keys))
    assert held is not None
    return world, held


@pytest.mark.parametrize(
    "design",
    [
        [],
        ["design/grouping=ungrouped"],
        ["design.ratings_per_item=2", "analysis.test=two_way", "decision=holm"],
        ["raters.noise=potential"],
        ["analysis.normalization=zscore"],
        ["design.load_entropy=0.9"],
        ["metric=segment_metric"],
    ],
    ids=str,
)
def test_an_ideal_clock_gives_the_bits_of_no_clock(design: list[str]) -> None:
    timed = run_block(config(*design), places(0, 4)).arrays
    plain = run_block(compose([*SMALL, *design]), places(0, 4)).arrays
    for name, array in plain.items():
        np.testing.assert_array_equal(timed[name], array, err_msg=name)
    assert (timed["ended_by"] == ALL_CAME).all()
    assert not timed["ratings_lost"].any()
    assert not timed["ratings_open"].any()


def test_a_clock_that_is_not_ideal_gives_others() -> None:
    plain = run_block(compose(SMALL), places(0, 4)).arrays
    for keys in ({"lapse_rate": 0.3}, {"drop_out": 0.5, "replacement": "newcomers"}):
        assert (block(**keys)["estimate"] != plain["estimate"]).any(), keys


def test_the_order_of_blocks_changes_no_bit() -> None:
    lively = {"drop_out": 0.05, "lapse_rate": 0.05, "control_share": 0.1, "control_failures": 1}
    asked = config(budget={"total": 250.0, "price_per_hour": 1.0}, replacement="newcomers", **lively)
    together = run_block(asked, places(0, 5)).arrays
    alone = [run_block(asked, places(0, 1, study)).arrays for study in (3, 0, 4)]
    for name in together:
        if not name.startswith("true_"):
            for study, array in zip((3, 0, 4), alone, strict=True):
                np.testing.assert_array_equal(array[name][0], together[name][study], err_msg=name)


def test_when_answers_came_is_known() -> None:
    world, held = campaign(seconds_per_answer=60.0, hours_a_day=1.0)
    seen = held.seen
    assert seen.at is not None
    assert seen.order is not None
    assert (np.diff(seen.unit) >= 0).all()
    for system in range(world.frame.n_systems):
        mine = seen.unit == system
        assert sorted(seen.order[mine].tolist()) == list(range(mine.sum()))
        assert (np.diff(seen.at[mine][np.argsort(seen.order[mine])]) >= 0).all()
    np.testing.assert_allclose(np.sort(seen.at), held.known["log"].ended)


def test_documents_are_rated_in_one_go_and_their_systems_in_random_order() -> None:
    world, held = campaign(seconds_per_answer=60.0)
    seen = held.seen
    document = world.frame.document[seen.item]
    firsts = []
    for d in np.unique(document):
        here = document == d
        assert len(np.unique(seen.rater[here])) == 1
        order = seen.unit[here][np.argsort(seen.at[here])]
        # A screen at a time.
        assert np.count_nonzero(np.diff(order)) == world.frame.n_systems - 1
        firsts.append(order[0])
    assert len(set(firsts)) > 1


def test_a_lapse_is_what_the_same_person_says_of_another_output() -> None:
    _, clear = campaign()
    _, held = campaign(lapse_rate=0.5)
    np.testing.assert_array_equal(held.seen.rater, clear.seen.rater)
    other = held.seen.value != clear.seen.value
    assert 0.1 < other.mean() < 0.6
    for rater in np.unique(held.seen.rater[other]):
        said = clear.seen.value[clear.seen.rater == rater]
        assert np.isin(held.seen.value[other & (held.seen.rater == rater)], said).all()


def test_what_a_colleague_takes_over_is_what_they_would_have_said() -> None:
    world, held = campaign("raters.noise=potential", drop_out=0.2)
    frame, seen, law = world.frame, held.seen, world.answers["rate"]
    dealt = held.asked.slot[seen.unit, frame.document[seen.item], 0]
    others = frame.rater[seen.unit, seen.item, dealt] != seen.rater
    assert others.any()
    slot = (frame.rater[seen.unit, seen.item] == seen.rater[:, None]).argmax(1)
    # Somebody of the bucket, who says what they say in every design.
    np.testing.assert_array_equal(frame.rater[seen.unit, seen.item, slot], seen.rater)
    np.testing.assert_array_equal(law.answer(None, seen.unit, seen.item, slot).value, seen.value)


def test_newcomers_have_names_and_a_mind_of_their_own() -> None:
    world, held = campaign("raters.noise=potential", drop_out=0.2, replacement="newcomers")
    n, seen = world.frame.n_raters, held.seen
    new = seen.rater >= n
    assert new.any()
    assert held.frame.n_raters == len(held.known["log"].seat) > n
    assert all(name.endswith(")") for name in held.frame.rater_names[n:])
    dealt = held.asked.slot[seen.unit, world.frame.document[seen.item], 0]
    before = world.answers["rate"].answer(None, seen.unit, seen.item, dealt).value
    assert (seen.value[new] != before[new]).any()
    np.testing.assert_array_equal(seen.value[~new], before[~new])


def test_money_ends_a_campaign_to_the_cent() -> None:
    prices = {"price_per_rating": 0.5, "price_per_hour": 12.0, "price_per_rater": 3.0, "platform_fee": 0.2}
    keys = {"seconds_per_answer": 60.0, "screen_sd": 0.5, "arrival_hours": 1.0, "hours_a_day": 2.0}
    _, held = campaign(budget=prices | {"total": 150.0}, **keys)
    log, paid = held.known["log"], held.paid
    assert paid["ended_by"] == MONEY
    here = np.isfinite(log.arrived)
    cost = 1.2 * (0.5 * len(log.task) + 12 * log.seconds.sum() / 3600 + 3 * here.sum())
    assert paid["cost"] == pytest.approx(cost, abs=1e-9)
    # The next payment would have been too much.
    _, whole = campaign(budget=prices, **keys)
    nth = len(log.task)
    np.testing.assert_array_equal(whole.known["log"].ended[:nth], log.ended)
    next_answer = 1.2 * (0.5 + 12 * whole.known["log"].seconds[nth] / 3600)
    came_late = np.sort(whole.known["log"].arrived)
    more = 1.2 * 3 * ((came_late > log.ended[-1]) & (came_late <= whole.known["log"].ended[nth])).sum()
    assert paid["cost"] <= 150 < paid["cost"] + next_answer + more


def test_a_deadline_lets_count_what_came_before() -> None:
    keys = {"seconds_per_answer": 150.0, "hours_a_day": 1.0}
    _, whole = campaign(**keys)
    _, held = campaign(budget={"deadline": "24.1h"}, **keys)
    in_time = whole.seen.at <= 24.1
    assert 0 < in_time.sum() < len(in_time)
    np.testing.assert_array_equal(held.seen.value, whole.seen.value[in_time])
    assert held.paid["ended_by"] == DEADLINE
    assert held.paid["days"] == pytest.approx(24.1 / 24)
    assert held.paid["open"] == (~in_time).sum()


def test_nobody_is_left_to_work() -> None:
    outcomes = block(drop_out=0.02, replacement="none", n=6)
    short = outcomes["ended_by"] == NOBODY
    assert short.any()
    assert (outcomes["ratings_lost"][short] > 0).any()
    ran = outcomes["status"] == 0
    asked = outcomes["ratings_used"] + outcomes["ratings_lost"] + outcomes["ratings_open"]
    np.testing.assert_array_equal(asked[ran], outcomes["ratings_planned"][ran])


STUDIES = st.fixed_dictionaries(
    {
        "grouping": st.sampled_from(["pseudo_side_by_side", "system_balanced", "ungrouped"]),
        "ratings_per_item": st.integers(1, 2),
        "drop_out": st.sampled_from([0.0, 0.02, 0.3]),
        "replacement": st.sampled_from(["none", "colleagues", "newcomers"]),
        "control_failures": st.sampled_from([None, 0, 2]),
        "most_answers": st.sampled_from([None, 60]),
        "lapse_rate": st.sampled_from([0.0, 0.2]),
        "hours_a_day": st.sampled_from([1.0, 24.0]),
        "deadline": st.sampled_from([None, "30h", "5d"]),
        "total": st.sampled_from([None, 60.0, 200.0]),
        "study": st.integers(0, 3),
    }
)


@settings(max_examples=40, deadline=None)
@given(STUDIES)
def test_each_rating_that_was_planned_came_was_lost_or_is_open(drawn: dict[str, Any]) -> None:
    names = ("drop_out", "replacement", "control_failures", "most_answers", "lapse_rate", "hours_a_day")
    asked = config(
        f"design/grouping={drawn['grouping']}",
        f"design.ratings_per_item={drawn['ratings_per_item']}",
        "analysis.test=two_way",
        budget={"deadline": drawn["deadline"], "total": drawn["total"], "price_per_rating": 0.5, "price_per_hour": 6.0},
        **{name: drawn[name] for name in names},
        control_share=0.1,
        control_pass=0.8,
        seconds_per_answer=120.0,
        rater_sd=0.5,
    )
    world, held = carried(asked, drawn["study"])
    if held is not None:
        conserved(world, held, drawn)


def conserved(world: World, held: Collected, drawn: dict[str, Any]) -> None:
    frame, seen, paid, log = world.frame, held.seen, held.paid, held.known["log"]
    planned = (held.asked.slot >= 0)[:, frame.document].sum()
    assert paid["ratings"] + paid["lost"] + paid["open"] == paid["planned"] == planned
    assert (paid["ended_by"] == ALL_CAME) == (paid["ratings"] == planned)
    # Nobody twice about an output, nobody from outside its bucket.
    said = np.column_stack([seen.unit, seen.item, seen.rater])
    assert len(np.unique(said, axis=0)) == len(said)
    assert np.bincount(seen.item * frame.n_systems + seen.unit).max(initial=0) <= drawn["ratings_per_item"]
    seat = log.seat[seen.rater]
    assert (frame.rater[seen.unit, seen.item] == seat[:, None]).any(1).all()
    # All that is paid is in the log, and nothing after the end.
    handed = log.fate != DROPPED_OUT
    cost = 0.5 * handed.sum() + 6 * log.seconds[handed].sum() / 3600
    assert paid["cost"] == pytest.approx(cost, abs=1e-9)
    assert paid["hours"] == pytest.approx(log.seconds.sum() / 3600, abs=1e-9)
    assert (log.ended <= 24 * paid["days"] + 1e-9).all()
    if drawn["total"] is not None:
        assert paid["cost"] <= drawn["total"] + 1e-9
    if drawn["most_answers"] is not None:
        theirs = np.bincount(log.person[(log.task != CONTROL) & handed], minlength=1)
        assert theirs.max() <= drawn["most_answers"]
    kept = (log.task != CONTROL) & (log.fate == HANDED_IN)
    assert kept.sum() == len(seen.value)


@pytest.mark.parametrize(
    ("budget", "keys", "words"),
    [
        ({"deadline": "1h", "start": "2026-11-21"}, {"days_a_week": 5}, r"least that would do is 5\d(\.\d)?h"),
        ({"deadline": "20h"}, {"seconds_per_answer": 36000.0}, "6 documents"),
    ],
)
def test_deadlines_that_leave_no_time_are_refused(budget: dict[str, Any], keys: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        check(config(budget=budget, **keys))


def test_a_campaign_to_which_nobody_comes_fails_and_says_why() -> None:
    asked = config(budget={"deadline": "9h"}, arrival_hours=1e5, seconds_per_answer=1.0)
    carried_out = run_block(asked, places(0, 3))
    assert (carried_out.arrays["status"] == DESIGN_FAILED).all()
    assert "the deadline came after 0 of" in carried_out.failures[0][1]


def test_newcomers_of_a_recorded_table_are_refused(tmp_path: Path) -> None:
    table = tmp_path / "ratings.csv"
    rows = [
        f"{system},d{document},1,{rater},{(document + len(system) + len(rater)) % 5}"
        for system in ("a", "bb")
        for document in range(8)
        for rater in ("x", "yy")
    ]
    table.write_text("\n".join(["system,document,segment,rater,score", *rows]) + "\n")
    words = ["design.documents=8", "worlds=1", "design.collection=crowd", "systems=recorded", f"systems.path={table}"]
    with pytest.raises(InputError, match="replacement=newcomers: of this world nobody can be drawn anew"):
        check(compose(words))
    held = run_block(compose([*words, "design.collection.replacement=colleagues"]), places(0, 2)).arrays
    assert (held["ended_by"] >= ALL_CAME).all()


def test_other_raters_are_asked_again_only_where_all_came_as_it_was_dealt() -> None:
    whole = block("raters.noise=potential")
    short = block("raters.noise=potential", budget={"deadline": "30h"})
    assert (whole["twin_direction"] != NO_TWIN).all()
    assert (short["ended_by"] == DEADLINE).all()
    assert (short["twin_direction"] == NO_TWIN).all()
