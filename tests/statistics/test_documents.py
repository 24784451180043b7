"""Outputs come in documents: what is alike within one is as alike as stated, and nothing else changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from simlab.formulas import sign
from simlab.parts import bind
from simlab.rng import stream
from simlab.types import COMPARE, JUDGE, Contest, Documents, World
from simlab.world.laws.comparisons import contest_frame, latent_scores
from simlab.world.laws.davidson import deviates
from simlab.world.laws.judgements import Needs, Potential, require_judgements
from simlab.world.oracles import oracle
from simlab.world.output_metrics import correlated

SIZE, AGREEMENT = 5, 0.3
N_DOCUMENTS = 8_000
N = SIZE * N_DOCUMENTS
CONF = Path(__file__).parents[2] / "conf"
SYSTEMS = ("alpha_optimal", "preference", "preference_free", "preference_given")


def contest(name: str, **keys: Any) -> Contest:
    config = yaml.safe_load((CONF / "systems" / f"{name}.yaml").read_text())
    given = {"n_systems": 2, "n_items": N, "outputs_per_document": SIZE, "document_agreement": AGREEMENT}
    found: Contest = bind(config | given | keys)(stream(1, "systems"))
    return found


def judged(raters: str = "score", **keys: Any) -> World:
    config = yaml.safe_load((CONF / "raters" / "judges.yaml").read_text()) | {"scale": raters}
    world: World = bind(config)(stream(1, "raters"), contest("alpha_optimal", **keys))
    return correlated(stream(1), world, correlation=0.7, correlation_sd=0.0)


def needs(world: World, **keys: Any) -> Needs:
    usual = Needs(100, 200, 0, 1, True, False, None, world.metric)
    return usual._replace(**keys)


def drawn(world: World, **keys: Any) -> Potential:
    found: Potential = world.answers[JUDGE].draw(stream(2), needs(world, **keys))
    return found


def agreement(values: np.ndarray) -> float:
    """Return the correlation of the first two items of each document."""
    first, second = values[0::SIZE], values[1::SIZE]
    return float(np.corrcoef(first, second)[0, 1])


# The standard error of a correlation of 8,000 pairs of items is .011 at most.
FAR = 5 / np.sqrt(N_DOCUMENTS)


@pytest.mark.parametrize("item_agreement", [0.0, 0.5])
def test_outputs_of_a_document_are_as_alike_as_stated_and_no_others(item_agreement: float) -> None:
    given = contest("alpha_optimal", item_agreement=item_agreement)
    score = latent_scores(stream(3), given.latent, N, given.documents)
    assert abs(agreement(score[0]) - AGREEMENT) < FAR
    assert abs(agreement(score[0] - score[1]) - AGREEMENT) < FAR
    # Across the border of two documents nothing is alike.
    last, first = score[0, SIZE - 1 : -1 : SIZE], score[0, SIZE::SIZE]
    assert abs(np.corrcoef(last, first)[0, 1]) < FAR
    assert abs(np.corrcoef(score)[0, 1] - item_agreement) < 1.4 * FAR
    np.testing.assert_allclose(score.std(1), 1, atol=FAR)


@pytest.mark.parametrize("name", SYSTEMS)
def test_documents_change_no_probability(name: str) -> None:
    apart, together = contest(name, document_agreement=0.0), contest(name)
    np.testing.assert_array_equal(apart.p, together.p)
    world = oracle(stream(0), together)
    human = world.answers[COMPARE].draw(stream(4), None).human[0]
    rates = np.array([(human == k).mean() for k in range(3)])
    # Documents of 5 that agree by at most 1 inflate a variance by at most 5.
    assert (np.abs(rates - together.p[0]) < 5 * np.sqrt(SIZE * together.p[0] * (1 - together.p[0]) / N)).all()


@pytest.mark.parametrize("name", SYSTEMS)
def test_outcomes_of_a_pair_are_alike_within_a_document(name: str) -> None:
    for alike in (0.0, AGREEMENT):
        world = oracle(stream(0), contest(name, document_agreement=alike))
        human = world.answers[COMPARE].draw(stream(4), None).human[0]
        found = agreement((human == 0).astype(float) - (human == 2))
        assert (found > 0.1) if alike else (abs(found) < FAR)


@pytest.mark.parametrize("name", SYSTEMS)
def test_outputs_that_know_nothing_of_their_document_are_drawn_as_ever(name: str) -> None:
    draws = [
        oracle(stream(0), contest(name, n_items=200, **keys)).answers[COMPARE].draw(stream(4), None).human
        for keys in (
            {"outputs_per_document": 1, "document_agreement": 0.0},
            {"document_agreement": 0.0},
            {"outputs_per_document": 1},
        )
    ]
    np.testing.assert_array_equal(draws[0], draws[1])
    np.testing.assert_array_equal(draws[0], draws[2])


def test_a_frame_says_which_document_an_item_is_of() -> None:
    frame = contest_frame(contest("preference", n_items=12))
    np.testing.assert_array_equal(frame.document, [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2])
    assert frame.n_documents == 3
    plain = contest_frame(contest("preference", n_items=12, outputs_per_document=1))
    np.testing.assert_array_equal(plain.document, np.arange(12))


def test_judged_outputs_and_the_rest_say_their_documents() -> None:
    world = judged()
    potential = drawn(world, human=12, metric=23)
    np.testing.assert_array_equal(potential.document, np.tile([0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2], (2, 1)))
    np.testing.assert_array_equal(potential.parts.document[0], [3, 4, 5, 6, 7])
    np.testing.assert_array_equal(potential.parts.n, [5, 5, 5, 5, 3])
    n, mean, _ = potential.rest
    np.testing.assert_allclose(potential.parts.total.sum(1), n * mean)
    none = drawn(judged(outputs_per_document=1), human=12, metric=23)
    assert none.document is None
    assert none.parts is None


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("item_agreement", [0.0, 0.4])
def test_systems_with_inputs_of_their_own_have_documents_of_their_own(shared: bool, item_agreement: float) -> None:
    law = require_judgements(judged(item_agreement=item_agreement))
    # 3 is no multiple of 5: no document may be divided between systems.
    score = np.stack([law.outputs(stream(k), 3, None, shared=shared).score for k in range(4000)])
    assert abs(np.corrcoef(score[:, 1, 0], score[:, 1, 1])[0, 1] - AGREEMENT) < 5 / np.sqrt(4000)
    assert abs(np.corrcoef(score[:, 0, 0], score[:, 1, 0])[0, 1] - shared * item_agreement) < 5 / np.sqrt(4000)


@pytest.mark.parametrize("replacement", [True, False])
def test_a_test_set_is_judged_by_whole_documents(replacement: bool) -> None:
    world = judged(n_items=32, test_set="fixed")
    law = require_judgements(world)
    test_set = law.outputs(stream(5), 32, world.metric, shared=True)
    asked = needs(world, human=12, test_set=test_set, replacement=replacement)
    potential = law.draw(stream(6), asked)
    position = np.array([np.flatnonzero(test_set.score[0] == value)[0] for value in potential.y[0]])
    for k in np.unique(potential.document[0]):
        assert len(set(Documents(SIZE).document_indices(32)[position[potential.document[0] == k]])) == 1
    drawn_at = [law.draw(stream(k), asked).y[0] for k in range(400)]
    np.testing.assert_array_equal(np.unique(drawn_at), np.sort(test_set.score[0]))


def test_deviates_have_the_covariance_of_documents() -> None:
    found = np.cov(deviates(stream(7), (20_000, 7), Documents(3, 0.6)).T)
    wanted = np.where(np.equal.outer(np.arange(7) // 3, np.arange(7) // 3), 0.6, 0.0) + 0.4 * np.eye(7)
    assert np.abs(found - wanted).max() < 5 * np.sqrt(2 / 20_000)
    assert (sign(found - 0.3) == sign(wanted - 0.3)).all()
