"""Hold platforms to what none may break, whoever takes which task, and each to its own rule."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from simlab.config import compose
from simlab.design.assignment import dynamic
from simlab.rng import stream
from simlab.studies.kinds import identify_kind
from simlab.studies.worlds import draw_world
from simlab.types import Collected, DesignFailure, InputError, Place, Queue, World

SMALL = ("systems.n_systems=4", "systems.n_documents=30", "systems.n_segments=80", "design.documents=20")
CALM = ("drop_out=0", "lapse_rate=0", "lapse_per_hour=0")
"""Nobody leaves, and everybody looks."""


def words(*more: str, clock: str = "crowd", calm: bool = True) -> list[str]:
    quiet = [f"design.collection.{key}" for key in CALM] if calm else []
    return [*SMALL, f"design.collection={clock}", *quiet, *more]


def campaign(*asked: str, world: int = 0, study: int = 0) -> tuple[World, Collected]:
    config = compose(list(asked))
    kind, place = identify_kind(config), Place(world, study=study)
    prepared, drawn = kind.prepare(config), draw_world(config, world)
    kind.check(config, drawn)
    laid = kind.lay(prepared, drawn, place)
    (one,) = kind.collect(prepared, drawn, laid, iter([kind.draw(prepared, drawn, laid, place)]), [place])
    if isinstance(one, DesignFailure):
        raise AssertionError(str(one))
    return drawn, one.collected


RULES = ("as_dealt", "one_stream", "dynamic")
FURTHER = ((), ("design.overlap=.4",), ("design.overlap=.5", "design.boost_margin=3"))
ROUGH = ("design.collection.drop_out=.5", "design.collection.lapse_rate=.05")


@pytest.mark.parametrize("further", FURTHER, ids=lambda words: " ".join(words) or "alone")
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("grouping", ["pseudo_side_by_side", "system_balanced", "ungrouped"])
def test_nobody_rates_what_is_not_theirs(rule: str, grouping: str, further: tuple[str, ...]) -> None:
    if rule == "dynamic" and grouping == "pseudo_side_by_side":
        return
    for world, more in enumerate(((), ROUGH, (*ROUGH, "budget.total=150"), (*ROUGH, "budget.deadline=4h"))):
        asked = words(f"design.assignment={rule}", f"design.grouping={grouping}", *further, *more, calm=not more)
        try:
            drawn, held = campaign(*asked, world=world)
        except AssertionError as failure:
            assert "rated in whole" in str(failure) or "nobody" in str(failure)  # noqa: PT017
            continue
        check(drawn, held, in_whole=not more and grouping == "pseudo_side_by_side")


def check(world: World, held: Collected, *, in_whole: bool) -> None:
    seen, frame, log = held.seen, world.frame, held.known["log"]
    key = (seen.unit * len(frame.document) + seen.item) * len(log.seat) + seen.rater
    assert len(np.unique(key)) == len(key)
    seats = log.seat[seen.rater]
    assert (frame.rater[seen.unit, seen.item] == seats[:, None]).any(1).all()
    paid = held.paid
    assert paid["planned"] == paid["ratings"] + paid["lost"] + paid["open"]
    assert held.documents is not None
    assert held.documents[frame.document[seen.item]].all()
    if in_whole:
        document = frame.document[seen.item]
        size = np.bincount(frame.document) * frame.n_systems
        assert all((counts == size[d]).all() for d, counts in by_rater(document, seen.rater).items())


def by_rater(document: Any, rater: Any) -> dict[int, Any]:
    return {d: np.unique(rater[document == d], return_counts=True)[1] for d in np.unique(document).tolist()}


def test_a_share_of_the_documents_has_a_second_rater() -> None:
    for rule in ("as_dealt", "one_stream"):
        drawn, held = campaign(*words("design.overlap=.4", f"design.assignment={rule}"))
        raters = [len(counts) for counts in by_rater(drawn.frame.document[held.seen.item], held.seen.rater).values()]
        assert sorted(raters) == [1] * 12 + [2] * 8


@pytest.mark.parametrize("rule", ["as_dealt", "one_stream"])
@pytest.mark.parametrize("margin", [0.5, 3.0, 8.0])
def test_one_more_is_asked_where_two_are_further_apart_than_the_margin(rule: str, margin: float) -> None:
    asked = words("design.overlap=.5", f"design.boost_margin={margin}", f"design.assignment={rule}")
    drawn, held = campaign(*asked)
    frame, seen = drawn.frame, held.seen
    document = frame.document[seen.item]
    boosted = 0
    for d in np.unique(document).tolist():
        here = document == d
        raters = np.unique(seen.rater[here])
        done = {r: seen.at[here & (seen.rater == r)].max() for r in raters.tolist()}
        first_two = sorted(done, key=lambda r: done[r])[:2]
        means = [
            [seen.value[here & (seen.rater == r) & (seen.unit == s)].mean() for s in range(frame.n_systems)]
            for r in first_two
        ]
        apart = len(first_two) == 2 and np.abs(np.subtract(*means)).max() > margin
        assert len(raters) == (3 if apart else len(first_two))
        boosted += int(apart)
    assert boosted > 0 or margin == 8.0


def test_a_margin_that_nobody_exceeds_changes_no_bit() -> None:
    _, one = campaign(*words("design.overlap=.5"))
    _, other = campaign(*words("design.overlap=.5", "design.boost_margin=1e6"))
    for name in ("unit", "item", "rater", "value", "at"):
        np.testing.assert_array_equal(getattr(one.seen, name), getattr(other.seen, name))


def test_one_stream_ends_earlier_than_queues_and_asks_the_same() -> None:
    days: dict[str, list[float]] = {"as_dealt": [], "one_stream": []}
    for world, rule in itertools.product(range(6), days):
        _, held = campaign(*words(f"design.assignment={rule}", clock="team"), world=world)
        days[rule].append(held.paid["days"])
        assert held.paid["open"] == 0
    # Who is quick takes more, so that nobody waits for who is slow.
    assert np.mean(days["one_stream"]) < np.mean(days["as_dealt"])
    assert np.mean(np.array(days["one_stream"]) <= np.array(days["as_dealt"]) + 1e-9) > 0.5


def shares(decay: float) -> Any:
    """Return the share of the ratings that systems have, the best first, where the money pays a third."""
    found = []
    for world in range(6):
        rule = ("design.assignment=dynamic", f"design.assignment.decay={decay}", "design.assignment.warm_up=3")
        asked = words(*rule, "design.grouping=ungrouped", "systems.system_sd=1", "budget.total=110")
        drawn, held = campaign(*asked, world=world)
        order = np.argsort(drawn.truth)  # of error scores the least is the best
        count = np.bincount(held.seen.unit, minlength=4)
        found.append(count[order] / count.sum())
    return np.mean(found, axis=0)


def test_the_better_a_system_stands_the_more_often_it_is_rated() -> None:
    leaning, alike = shares(0.3), shares(1.0)
    assert leaning[0] > leaning[1] > leaning[-1]
    assert leaning[0] > alike[0] + 0.05
    assert np.ptp(alike) < 0.12


@pytest.mark.parametrize("lower", [False, True])
def test_systems_are_drawn_by_weights_of_their_ranks(lower: bool) -> None:
    """Hold the draw to its closed form: of three open systems that rank first, third and fourth 1 : d^2 : d^3."""
    mean = np.array([4.0, 3.0, 2.0, 1.0]) * (-1 if lower else 1)
    queue = Queue(np.array([0, 0, 2, 3, 3]), np.full(4, 9), mean, lower)
    rng, n = stream(3), 4000
    places = np.bincount([dynamic(rng, queue, decay=0.6, warm_up=5) for _ in range(n)], minlength=5)
    wanted = np.array([1, 0.6**2, 0.6**3])
    wanted /= wanted.sum()
    error = np.sqrt(wanted * (1 - wanted) / n)
    assert (np.abs(places[[0, 2, 3]] / n - wanted) < 4 * error).all()
    assert places[1] == places[4] == 0
    few = Queue(queue.system, np.array([9, 9, 2, 4]), mean, lower)
    assert {dynamic(rng, few, decay=0.6, warm_up=5) for _ in range(20)} == {2}


PAIRS = ("raters.pool_size=6", "raters.raters_per_bucket=2", "raters.buckets_per_rater=1")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("design.assignment=one_stream",), "only a clock knows who is free next; choose design.collection=crowd"),
        (("design.overlap=.2",), "second raters are asked on a clock; choose design.collection"),
        (("design.boost_margin=3",), "design.boost_margin=3: who is asked once raters have disagreed"),
        (("design.collection=crowd", "design.boost_margin=3"), "outputs with one rating show no disagreement"),
        (("design.collection=crowd", "design.assignment=dynamic"), "choose design.grouping=ungrouped"),
        (
            ("design.collection=crowd", "design.assignment=one_stream", "design.load_entropy=.8"),
            "set design.load_entropy=null",
        ),
        (
            ("design.collection=crowd", "design.overlap=.2", "design.ratings_per_item=2"),
            "every output has a second rating",
        ),
        (
            ("design.collection=crowd", "design.overlap=.2", "design.boost_margin=2", *PAIRS),
            "asks 3 raters about an output, and a bucket has 2",
        ),
        (("design.collection=crowd", "design.overlap=.2", "analysis.test=by_rater"), "takes what raters contribute"),
    ],
)
def test_what_a_platform_cannot_do_is_refused(asked: tuple[str, ...], said: str) -> None:
    with pytest.raises(InputError, match=said):
        campaign(*SMALL, *asked)
