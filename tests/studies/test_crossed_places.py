"""Draw other raters and other documents for the systems of a world: what is kept, what is new, and that they cross."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simlab.config.composing import compose
from simlab.studies.blocks import run_block
from simlab.studies.kinds import identify_kind
from simlab.studies.worlds import draw_world, forget
from simlab.types import RATE, Array, InputError, Place, World
from simlab.world.laws.error_counts import ErrorCounts
from simlab.world.laws.judgements import require_judgements

SMALL = ("systems.n_documents=21", "systems.n_segments=50", "systems.n_systems=4", "design.documents=12")
CROSSED = [(pool, draw) for pool in range(3) for draw in range(3)]


@pytest.fixture(autouse=True)
def _afresh() -> None:
    forget()


def law_at(config: dict[str, Any], pool: int, draw: int) -> ErrorCounts:
    law = draw_world(config, 0, pool, draw).answers[RATE]
    assert isinstance(law, ErrorCounts)
    return law


def same(first: Array, second: Array) -> bool:
    return first.shape == second.shape and bool(np.array_equal(first, second))


@pytest.mark.parametrize("systems", ["mqm", "fitted"])
def test_what_documents_bring_is_the_same_whoever_rates_them(systems: str) -> None:
    options = SMALL if systems == "mqm" else ("systems=fitted", "systems.n_documents=21", "design.documents=12")
    config = compose(options)
    shared = {at: law_at(config, *at).shared for at in CROSSED}
    for pool, draw in CROSSED:
        assert same(shared[pool, draw], shared[0, draw])
        assert draw == 0 or not same(shared[pool, draw], shared[pool, 0])
    of_documents = {at: draw_world(config, 0, *at).frame.document for at in CROSSED}
    assert all(same(of_documents[at], of_documents[0, at[1]]) for at in CROSSED)


def test_a_pool_is_the_same_people_whatever_they_rate() -> None:
    # Of raters who differ in leniency alone, what two are expected to mark stands in the same proportion anywhere.
    alone = [f"raters.rater_{of}_sd=0" for of in ("system", "document", "output")]
    config = compose([*SMALL, *alone, "raters.severity_sd=0"])

    def proportions(pool: int, draw: int) -> Array:
        """Hold each rater of a bucket against the first one there: `[bucket, slot]`."""
        frame, mean = draw_world(config, 0, pool, draw).frame, law_at(config, pool, draw).mean[0, 0]
        first_item = np.searchsorted(frame.bucket[frame.document], np.unique(frame.bucket))
        return np.asarray(mean[first_item] / mean[first_item, :1])

    ratio = {at: proportions(*at) for at in CROSSED}
    for pool, draw in CROSSED:
        np.testing.assert_allclose(ratio[pool, draw], ratio[pool, 0], rtol=1e-9)
        assert pool == 0 or not np.allclose(ratio[pool, draw], ratio[0, draw])


def test_systems_are_worth_the_same_in_all_pools_and_draws() -> None:
    config = compose(SMALL)
    truths = [draw_world(config, 0, *at).truth for at in CROSSED]
    assert all(same(truth, truths[0]) for truth in truths if truth is not None)


def test_the_mean_over_many_draws_of_documents_and_pools_is_the_truth() -> None:
    many = ("systems.n_documents=700", "systems.n_segments=700", "systems.n_systems=4", "raters.pool_size=60")
    config = compose([*many, "raters.raters_per_bucket=3", "raters.buckets_per_rater=1"])
    world = draw_world(config, 0)
    means = []
    for place in [(pool, draw) for pool in range(3) for draw in range(5)]:
        law = law_at(config, *place)
        means.append(law.expected_ratings().mean((1, 2)))
    assert world.truth is not None
    error = np.std(means, axis=0, ddof=1) / np.sqrt(len(means)) * 2
    assert np.all(np.abs(np.mean(means, axis=0) - world.truth) < 5 * error)


def test_the_first_pool_and_draw_have_the_bits_they_always_had() -> None:
    config = compose(SMALL)
    crossed = {**config, "pools": 3, "document_draws": 2}
    plain, first = (run_block(one, [Place(0, study=1)]) for one in (config, crossed))
    assert all(same(plain.arrays[name], first.arrays[name]) for name in plain.arrays)


def test_a_study_alone_gives_the_same_bits_as_in_a_block() -> None:
    config = {**compose(SMALL), "pools": 2, "document_draws": 2}
    block = run_block(config, [Place(0, 1, 1, study) for study in range(3)])
    forget()
    alone = run_block(config, [Place(0, 1, 1, 2)])
    assert all(same(block.arrays[name][2:], alone.arrays[name]) for name in ("estimate", "p_value", "direction"))
    other = run_block(config, [Place(0, 1, 0, 2)])
    assert not same(other.arrays["estimate"], alone.arrays["estimate"])


def test_studies_of_two_pools_have_the_same_documents() -> None:
    from simlab.studies.ratings.collecting import chosen_documents, lay
    from simlab.studies.ratings.preparing import prepare

    config = compose(SMALL)
    prepared = prepare(config)

    def chosen(pool: int, draw: int) -> Array:
        place = Place(0, pool, draw, 3)
        world = draw_world(config, *place[:3])
        return chosen_documents(prepared, world, lay(prepared, world, place), place)

    assert same(chosen(0, 1), chosen(2, 1))
    assert not same(chosen(0, 0), chosen(0, 1))


@pytest.mark.parametrize("question", ["compare", "judge"])
def test_other_kinds_draw_other_raters(question: str) -> None:
    config = compose([f"question={question}", *(["raters.leniency_sd=1"] if question == "judge" else [])])
    first, other = draw_world(config, 0), draw_world(config, 0, 1)
    assert first.answers.keys() == other.answers.keys()
    if question == "judge":
        leniency = [require_judgements(world).judges.leniency for world in (first, other, draw_world(config, 0, 1, 1))]
        assert not same(leniency[0], leniency[1])
        assert same(leniency[1], leniency[2])


def test_other_people_compare_the_same_outputs() -> None:
    from simlab.studies.preferences.collecting import lay
    from simlab.studies.preferences.preparing import prepare

    config = compose(["question=compare", "raters=noisy_oracle", "systems.test_set=fixed"])

    def human(pool: int, draw: int) -> Array:
        laid = lay(prepare(config), draw_world(config, 0, pool, draw), Place(0, pool, draw))
        assert laid is not None
        return laid.human

    agreement = [float(np.mean(human(0, 0) == human(*at))) for at in ((0, 0), (1, 0), (0, 1))]
    assert agreement[0] == 1.0
    # Who errs on the same outputs agrees more often than who sees others.
    assert agreement[2] + 0.1 < agreement[1] < 1.0


@pytest.mark.parametrize("question", ["compare", "judge"])
def test_a_study_has_the_same_inputs_whoever_rates_them(question: str) -> None:
    noisy = ["raters=noisy_oracle"] if question == "compare" else ["raters.noise=1"]
    config = compose([f"question={question}", *noisy])
    kind = identify_kind(config)

    def answers(*place: int) -> Array:
        at, prepared = Place(*place), kind.prepare(config)
        world = draw_world(config, *at[:3])
        drawn = kind.draw(prepared, world, kind.lay(prepared, world, at), at)
        return np.asarray(drawn.human if question == "compare" else drawn.y)

    agreement = [float(np.mean(answers(0, 0, 0, 5) == answers(*at))) for at in ((0, 1, 0, 5), (0, 1, 0, 6))]
    assert agreement[1] + 0.05 < agreement[0] < 1.0


def test_a_metric_follows_the_documents_and_not_its_old_scores() -> None:
    config = compose([*SMALL, "metric=segment_metric"])

    def scores(pool: int, draw: int) -> Array:
        world: World = draw_world(config, 0, pool, draw)
        return np.asarray(world.metric)

    assert not same(scores(0, 0), scores(0, 1))
    # Other raters do not change the metric's errors on an output, only what it aims at.
    assert np.corrcoef(scores(0, 1).ravel(), scores(1, 1).ravel())[0, 1] > 0.9
    assert abs(np.corrcoef(scores(0, 0)[0], scores(0, 1)[0])[0, 1]) < 0.6


def test_what_cannot_be_drawn_anew_is_refused() -> None:
    config = compose(["systems=recorded"])
    with pytest.raises(InputError, match="neither raters nor documents can be drawn anew"):
        draw_world(config, 0, 1)
