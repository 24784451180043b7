"""What a second batch asks for, and what is promised of it: kept, refused, or that of a study of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_ratings import Plan as Made
from made_ratings import made

from simlab.answers.conclude import Conclusion
from simlab.answers.standings import More
from simlab.concluding.options import ConcludeOptions
from simlab.concluding.plan_compliance import LIMIT, Room, SecondBatch, second_batch
from simlab.concluding.plans import LoadedPlan
from simlab.concluding.ratings.collecting import collect, compose_config
from simlab.concluding.ratings.findings import TableReading, conclude_ratings
from simlab.concluding.ratings.judging import claimed_pairs
from simlab.rng import stream
from simlab.studies.ratings.preparing import prepare
from simlab.tables.rating_table import Ratings
from simlab.types import InputError
from tests.made_conclusions import compared, judged, many, pairs_of, planned, rated

RATED = {"design": {"ratings_per_item": 1, "min_documents": 6}}
COMPARED = {"design": {}, "budget": {"annotations_per_pair": 1000, "batch_size": 50}}
MANY = Room(documents=10_000)


def plan(question: str = "rate", config: Mapping[str, Any] = RATED) -> LoadedPlan:
    path = Path("my/study.yaml")
    return LoadedPlan(path, question, config, "3f9c2a7b11", None, path)


def still_open() -> Conclusion:
    """Make up comparisons of which three pairs are open, one of them nearly settled."""
    found = compared()
    scores = {"b": 0.35, "c": 0.3, "d": 0.28}
    loose = {(one.first, one.second): one for one in pairs_of(scores, 0.22, 1.5)}
    loose = {
        pair: one.replace_fields(
            more=one.more and one.more.replace_fields(unit="comparisons", per_unit=1.0, answers="")
        )
        for pair, one in loose.items()
    }
    return found.replace_fields(pairs=[loose.get((one.first, one.second), one) for one in found.pairs], cycles=[])


def test_a_promise_of_one_look_is_not_looked_at_twice() -> None:
    with pytest.raises(InputError, match=r"is one of a single look, at its end.*conclude it alone \(--alone\)$"):
        second_batch(plan(), planned(), MANY)
    fixed = compared(promise=rated().promise)
    with pytest.raises(InputError, match=r"or plan for looks at any time \(decision=anytime\)"):
        second_batch(plan("compare", COMPARED), fixed)


def test_what_never_promised_anything_does_not_go_on() -> None:
    naive = compared()
    naive = naive.replace_fields(
        promise=naive.promise.replace_fields(holds=False, broken="decision=naive bounds no error")
    )
    with pytest.raises(InputError, match="promises nothing that could go on"):
        second_batch(plan("compare", COMPARED), naive)


def test_a_promise_at_any_look_goes_on_with_what_settles_each_pair() -> None:
    found, config = still_open(), {**COMPARED, "budget": {"annotations_per_pair": 2000}}
    batch = second_batch(plan("compare", config), found, MANY)
    assert [{one.first, one.second} for one in batch.pairs] == [{"b", "d"}, {"b", "c"}]
    pairs = {(one.first, one.second): one for one in found.pairs}
    assert not batch.alone
    assert batch.promise == found.promise
    for one in batch.pairs:
        more = pairs[one.first, one.second].more
        assert more is not None
        assert one.number == int(np.ceil(more.median))
    assert batch.ratings == sum(one.number for one in batch.pairs)
    assert batch.documents == max(one.number for one in batch.pairs)
    assert {name for one in batch.pairs for name in (one.first, one.second)} == set(batch.systems)
    assert found.promise.says in batch.why


def test_no_more_is_asked_of_a_pair_than_its_plan_has() -> None:
    """All open pairs but the nearest need more than is left; then that one does, too."""
    found, config = still_open(), {**COMPARED, "budget": {"annotations_per_pair": 2000}}
    whole = second_batch(plan("compare", config), found, MANY)
    first = whole.pairs[0]
    assert len(whole.pairs) > 1
    came = {(one.first, one.second): 2000 for one in whole.pairs[1:]} | {
        (first.second, first.first): 2000 - first.number
    }
    assert second_batch(plan("compare", config), found, MANY._replace(came=came)).pairs == (first,)
    full = MANY._replace(came=dict.fromkeys(came, 2000))
    with pytest.raises(InputError, match=r"beyond what the plan has of a pair \(2,000\)"):
        second_batch(plan("compare", config), found, full)


def test_a_new_study_asks_about_the_nearest_pairs_that_there_is_room_for() -> None:
    """Rows of rooms: the larger, the more pairs, never more than there is room for, nearest first."""
    found = planned()
    sizes = []
    for ratings in (2_000, 8_000, 40_000, 1_000_000):
        batch = second_batch(plan(), found, MANY._replace(ratings=ratings), alone=True)
        assert batch.ratings == batch.documents * len(batch.systems) <= ratings
        assert batch.documents <= 10_000
        assert all(_pair(found, one.first, one.second).verdict == 0 for one in batch.pairs)
        assert list(batch.systems) == [one.system for one in found.systems if one.system in batch.systems]
        sizes.append(len(batch.pairs))
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]
    assert batch.alone
    assert "second study by itself" in batch.promise.says
    assert "whatever the first found" in batch.why
    assert "at most 10 %" in batch.why


def _pair(found: Conclusion, first: str, second: str):  # type: ignore[no-untyped-def]
    return next(one for one in found.pairs if {one.first, one.second} == {first, second})


def test_without_room_a_batch_is_no_larger_than_the_study_was() -> None:
    found = planned()
    with pytest.raises(
        InputError, match=r"alone takes .* documents, and the study had 130; leave it open, or find more"
    ):
        second_batch(plan(), found.replace_fields(pairs=[_unclear(one) for one in found.pairs]), alone=True)
    with pytest.raises(InputError, match="and 10 are to be spent"):
        second_batch(plan(), found, MANY._replace(ratings=10), alone=True)


def _unclear(pair):  # type: ignore[no-untyped-def]
    return pair if pair.verdict else pair.replace_fields(difference=0.01)


def test_what_nobody_can_settle_is_said() -> None:
    found = planned()
    open_ = [one for one in found.pairs if not one.verdict]
    lost = [
        one.replace_fields(difference=0.0, low=-np.inf, high=np.inf) if one in open_ else one for one in found.pairs
    ]
    with pytest.raises(InputError, match="no size within reach settles even"):
        second_batch(plan(), found.replace_fields(pairs=lost), MANY, alone=True)
    claimed = [one for one in found.pairs if one.verdict]
    with pytest.raises(InputError, match="no pair is open"):
        second_batch(plan(), found.replace_fields(pairs=claimed), MANY, alone=True)
    with pytest.raises(InputError, match="plan a new study of more labels"):
        second_batch(plan("judge"), judged(), alone=True)


def test_raters_who_stand_for_others_are_new_and_more_where_that_settles_a_pair() -> None:
    found = planned(about={"raters": "drawn"})
    by_raters = More(unit="raters", median=4, low=2, high=9, limit=1000, per_unit=43.0, answers="ratings of these two")
    pairs = [one if one.verdict else one.replace_fields(more=by_raters) for one in found.pairs]
    batch = second_batch(plan(), found.replace_fields(pairs=pairs), MANY._replace(ratings=4_000), alone=True)
    assert batch.new_raters
    assert batch.raters is not None
    # Each is as busy as one of the six was.
    assert batch.documents == pytest.approx(batch.raters * 130 / 6, abs=1.5)
    assert "by other raters" in batch.why
    assert not second_batch(plan(), planned(), MANY, alone=True).new_raters


def test_a_promise_of_each_pair_is_no_more_in_a_second_study() -> None:
    found = planned()
    each = found.replace_fields(promise=found.promise.replace_fields(multiplicity="none"))
    batch = second_batch(plan(), each, MANY, alone=True)
    assert "no claim is wrong" not in batch.promise.says
    assert batch.documents < second_batch(plan(), found, MANY, alone=True).documents


def test_many_open_pairs_are_gone_through_in_no_time() -> None:
    found = many(20, apart=0.01)
    assert second_batch(plan(), found, Room(10**6), alone=True).documents > 0


# What is promised of a batch, simulated with equal systems.

SYSTEMS, DOCUMENTS, LEVEL = 4, 12, 0.05
AFTER = Room(documents=int(LIMIT), ratings=200)


def config_for(table: Made, test: str, key: str) -> Mapping[str, Any]:
    words = (f"analysis.test={test}", f"analysis.test.{key}=199", "decision.multiplicity=max_t")
    return compose_config(ConcludeOptions(again=False, gate=False, overrides=words))


def concluded_first(config: Mapping[str, Any], ratings: Ratings, seed: int) -> Conclusion:
    read = {"documents": ratings.n_documents, "raters": ratings.n_raters, "used": len(ratings.score)}
    return conclude_ratings(
        config, collect(ratings, seed), ConcludeOptions(again=False, gate=False), TableReading(read, "")
    )


def only(ratings: Ratings, systems: tuple[str, ...]) -> Ratings:
    """Keep some systems of a table."""
    kept = [ratings.system_names.index(name) for name in systems]
    rows = np.isin(ratings.system, kept)
    code = np.full(ratings.n_systems, -1)
    code[kept] = np.arange(len(kept))
    fields = {name: getattr(ratings, name)[rows] for name in ("item", "rater", "score", "errors", "seconds")}
    return replace(ratings, system=code[ratings.system[rows]], system_names=systems, **fields)


def both(first: Ratings, second: Ratings) -> Ratings:
    """Put two tables of the same systems and raters together, as if they were one."""
    fields = {
        name: np.concatenate([getattr(first, name), getattr(second, name)])
        for name in ("system", "rater", "score", "errors", "seconds")
    }
    return replace(
        first,
        **fields,
        item=np.concatenate([first.item, second.item + len(first.document)]),
        document=np.concatenate([first.document, second.document + first.n_documents]),
        document_names=tuple(f"d{k}" for k in range(first.n_documents + second.n_documents)),
        item_names=tuple(f"i{k}" for k in range(len(first.document) + len(second.document))),
    )


def claimed(config: Mapping[str, Any], ratings: Ratings, seed: int) -> bool:
    n = ratings.n_systems * (ratings.n_systems - 1) // 2
    return bool(claimed_pairs(prepare(config), collect(ratings, seed), np.ones(n, bool)).any())


def batches(
    config: Mapping[str, Any], campaigns: int, room: Room, draw: Callable[[np.random.Generator, int], Ratings]
) -> Iterator[tuple[int, Ratings, SecondBatch]]:
    """Conclude first batches of equal systems; yield those after which a second one is asked for."""
    of = plan(config=config)
    for k in range(campaigns):
        first = draw(stream(5, "first", k), k)
        try:
            yield k, first, second_batch(of, concluded_first(config, first, k), room, alone=True)
        except InputError:
            continue


@pytest.mark.slow
def test_a_second_study_by_itself_keeps_its_level_and_one_added_to_the_first_does_not() -> None:
    """With 1,000 campaigns of equal systems; what looked nearly settled is added to in the control."""
    table = Made(systems=SYSTEMS, documents=DOCUMENTS, segments=1, raters=3, taste=0.0)
    config = config_for(table, "permutation", "permutations")
    alone, added = [], []
    for k, first, batch in batches(config, 1000, AFTER, lambda rng, _: made(rng, table)):
        second = only(made(stream(5, "second", k), table), batch.systems)
        alone.append(claimed(config, second, k))
        added.append(claimed(config, both(only(first, batch.systems), second), k))
    n = len(alone)
    mcse = float(np.sqrt(LEVEL * (1 - LEVEL) / n))
    assert n > 500
    assert np.mean(alone) <= LEVEL + 3 * mcse
    assert np.mean(alone) >= LEVEL / 2 - 3 * mcse
    assert np.mean(added) > LEVEL + 6 * mcse


@pytest.mark.slow
def test_raters_whose_tastes_chose_the_pairs_are_not_asked_again() -> None:
    """Eight raters stand for others: other people keep the level, the same ones do not."""
    table = Made(systems=SYSTEMS, documents=32, segments=1, raters=8, taste=0.0, document=0.0, noise=0.3, even=100.0)
    config = config_for(table, "rater_flips", "flips")
    new, same = [], []

    def tasted(rng: np.random.Generator, ratings: Ratings, people: tuple[object, ...]) -> Ratings:
        liking = 0.5 * stream(6, *people).standard_normal((8, SYSTEMS))
        return replace(ratings, score=ratings.score + liking[ratings.rater, ratings.system])

    for k, _, batch in batches(
        config, 400, AFTER._replace(ratings=500), lambda rng, k: tasted(rng, made(rng, table), ("people", k))
    ):
        assert batch.new_raters
        drawn = made(stream(6, "second", k), table)
        for found, people in ((new, "others"), (same, "people")):
            found.append(claimed(config, only(tasted(stream(0), drawn, (people, k)), batch.systems), k))
    mcse = float(np.sqrt(LEVEL * (1 - LEVEL) / len(new)))
    assert len(new) > 200
    assert np.mean(new) <= LEVEL + 3 * mcse
    assert np.mean(same) > LEVEL + 6 * mcse
