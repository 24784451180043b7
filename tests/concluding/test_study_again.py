"""A repetition is confirmed as often as it is said to be, and equal systems are claimed to differ as rarely."""

from dataclasses import replace

import numpy as np
import pytest

from simlab.concluding.concluding import conclude
from simlab.concluding.options import ConcludeOptions
from simlab.concluding.ratings.campaign_sheets import convert_to_ratings
from simlab.concluding.ratings.judging import claimed_pairs
from simlab.concluding.ratings.repetitions import control, repetition, replace_scores
from simlab.concluding.ratings.table_world import DRAWS
from simlab.fitting import repetitions
from simlab.fitting.repetitions import table_world
from simlab.studies.ratings.concluding import measure_leads
from simlab.types import Streams
from tests.concluding.repeated_tables import WAYS, answers, compared, study_of, table_of
from tests.pilots import Truth, pilot, write

ROOM = 0.02
"""What 200 true repetitions leave open of a share near 1."""


TRUTH = Truth(system=2.5)


def _held(seeds, truth=TRUTH):
    rows = [row for seed in seeds for row in compared(seed, truth)]
    return rows, np.array([row.low - ROOM <= row.true <= row.high + ROOM for row in rows])


@pytest.mark.long
def test_true_repetitions_lie_where_they_are_expected():
    rows, held = _held(range(1, 4))
    # 90 % intervals: 7 or fewer of 12 are four in 1,000.
    assert len(rows) == 12
    assert held.sum() >= 8


@pytest.mark.long
def test_other_people_confirm_less_often_than_the_same():
    rows, _ = _held(range(4, 5), Truth(system=2.5, rater_system=1.5))
    predicted = {way: np.mean([row.predicted for row in rows if row.way == way]) for way in WAYS}
    assert predicted["same"] > predicted["new_documents"] > predicted["new_study"]
    assert predicted["same"] > predicted["new_raters"] > predicted["new_study"]


@pytest.mark.slow
def test_a_world_that_takes_systems_for_equal_expects_no_confirmation(usual_effort: None, monkeypatch):
    monkeypatch.setattr(repetitions.TableWorld, "new_documents", lambda world, rng, draw: world.equal_systems(
        rng, draw, raters_drawn=False))  # fmt: skip
    study = study_of(table_of(pilot(np.random.default_rng(0), n_systems=6, n_documents=30)))
    found = repetition(study, table_world(study.ratings, 0, 20), 0)
    assert found is not None
    assert found.same_sign.new_documents.value < 0.2 < 0.8 < found.same_sign.same.value


@pytest.mark.slow
def test_nothing_claimed_is_not_confirmed():
    study = study_of(table_of(pilot(np.random.default_rng(1), Truth(system=0.0), n_systems=3, n_documents=8)))
    study.verdict[:] = 0
    assert repetition(study, table_world(study.ratings, 0, 4), 0) is None


@pytest.mark.slow
def test_a_sign_comes_again_more_often_than_a_claim(short_effort):
    study = study_of(table_of(pilot(np.random.default_rng(0), n_systems=4, n_documents=20)))
    found = repetition(study, table_world(study.ratings, 0, 20), 0)
    assert found is not None
    claimed = np.count_nonzero(study.verdict)
    for sign, anew in zip(dict(found.same_sign).values(), dict(found.claimed_again).values(), strict=True):
        assert 0 <= anew.low <= anew.value <= anew.high <= 1
        # A claim that is found again has its sign again: all signs are at least as likely as all claims.
        assert 1 - anew.value >= (1 - sign.value) / claimed - 0.05


@pytest.mark.long
def test_as_many_claims_are_claimed_again_as_is_said():
    held = pilot(np.random.default_rng(5), TRUTH, n_systems=6, n_documents=30)
    study = study_of(table_of(held))
    found, claimed = repetition(study, table_world(study.ratings, 5, DRAWS), 5), study.verdict != 0
    assert found is not None
    rng, shares = np.random.default_rng(6), []
    for k in range(200):
        again = replace_scores(study, answers(rng, held, TRUTH, study.ratings, "same"))
        again = replace(again, streams=Streams(7, ("true", k)))
        anew = claimed_pairs(study.prepared, again, study.family)[claimed]
        shares.append((anew & (measure_leads(study.prepared, again)[claimed] * study.verdict[claimed] > 0)).mean())
    same = found.claimed_again.same
    assert same.low - ROOM <= np.mean(shares) <= same.high + ROOM
    assert same.value < 0.98


@pytest.mark.slow
def test_equal_systems_are_claimed_to_differ_as_rarely_as_promised():
    held = pilot(np.random.default_rng(2), Truth(system_document=6.0, rater_document=4.0), n_systems=6, n_documents=20)
    study = study_of(table_of(held))
    found = control(study, table_world(study.ratings, 0, DRAWS), 0, studies=400)
    assert found.some_claim <= 0.05 + 3 * found.some_claim_mcse
    assert found.uncorrected > 0.2
    assert found.promised == 0.05


@pytest.mark.long
def test_repetitions_of_many_tables_lie_where_they_are_expected():
    rows, held = _held(range(100, 200))
    for way in WAYS:
        of_way = held[[row.way == way for row in rows]]
        mcse = np.sqrt(0.9 * 0.1 / len(of_way))
        assert of_way.mean() >= 0.9 - 3 * mcse, way
    by_others = [row for row in rows if row.way == "new_study"]
    bias = [row.predicted - row.true for row in by_others]
    # Three raters say little of how raters at large favour systems: what is said of others errs to the careful side.
    assert -0.12 < np.mean(bias) < 0.03


@pytest.mark.slow
def test_a_repetition_against_a_baseline_is_about_its_pairs(tmp_path):
    file = tmp_path / "pilot.csv"
    write(pilot(np.random.default_rng(3), n_systems=4, n_documents=20), file)
    whole, against = (conclude(file, ConcludeOptions(against=name), lambda line: None) for name in (None, "S2"))
    assert len(against.pairs) == 3 < len(whole.pairs)
    assert against.repetition is not None
    assert whole.repetition is not None
    # Fewer claims are confirmed at least as often.
    assert against.repetition.same_sign.same.value >= whole.repetition.same_sign.same.value - 0.05
    assert against.control is not None
    assert against.control.some_claim <= 0.05 + 3 * against.control.some_claim_mcse


def test_a_campaign_that_follows_its_plan_is_carried_out_again(tmp_path):
    study = study_of(table_of(pilot(np.random.default_rng(4), n_systems=4, n_documents=20)))
    found = convert_to_ratings(study.collected)
    assert found.item_names != study.ratings.item_names
    for name in ("system", "item", "rater", "score", "document"):
        np.testing.assert_array_equal(getattr(found, name), getattr(study.ratings, name))
