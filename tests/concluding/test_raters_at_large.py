"""Beside a promise about these raters stands what studies by other raters would claim for theirs."""

import json

import numpy as np
import pytest

from simlab.cli import answer
from simlab.concluding.ratings.judging import claimed_pairs
from simlab.concluding.ratings.repetitions import control
from simlab.concluding.ratings.table_world import DRAWS
from simlab.drawing.reports.answers import conclude
from simlab.fitting.repetitions import table_world
from tests.concluding.repeated_tables import study_of, table_of
from tests.pilots import Truth, pilot, write

SIZE = {"n_systems": 4, "n_documents": 30}
TRUE_STUDIES = 200


def _table(seed, taste):
    """Return a table of equal systems by three new raters, who all sit where those of other tables sit."""
    rng = np.random.default_rng(seed)
    return pilot(rng, Truth(system=0.0, rater_system=taste), **SIZE, seating=np.random.default_rng(1))


def _true_share(taste):
    studies = [study_of(table_of(_table(10_000 + seed, taste))) for seed in range(TRUE_STUDIES)]
    return float(np.mean([claimed_pairs(one.prepared, one.collected, one.family).any() for one in studies]))


def _check(seed, taste, studies=1_000):
    study = study_of(table_of(_table(seed, taste)))
    return control(study, table_world(study.ratings, seed, DRAWS), seed, studies)


@pytest.mark.long
def test_other_raters_claim_for_theirs_as_often_as_is_said():
    true = _true_share(2.0)
    checks = [_check(seed, 2.0) for seed in range(4)]
    room = 3 * np.sqrt(true * (1 - true) / TRUE_STUDIES)
    held = [one.at_large.low - room <= true <= one.at_large.high + room for one in checks]
    # Of 90 % intervals two or fewer of four are in five of a hundred.
    assert sum(held) >= 3
    # Tastes make claims for other raters that the check for these raters does not have.
    assert np.mean([one.at_large.value for one in checks]) > 0.2 > np.mean([one.some_claim for one in checks])


@pytest.mark.long
def test_without_tastes_other_raters_claim_about_as_often_as_is_promised():
    true = _true_share(0.0)
    checks = [_check(seed, 0.0) for seed in range(4)]
    assert true < 0.05 + 3 * np.sqrt(0.05 * 0.95 / TRUE_STUDIES)
    assert np.mean([one.at_large.low for one in checks]) < 0.1
    assert np.mean([one.at_large.value for one in checks]) < 0.2


@pytest.mark.slow
def test_the_share_at_large_is_kept_and_told(short_effort, tmp_path, capsys):
    table, kept = tmp_path / "t.csv", tmp_path / "kept.json"
    write(_table(0, 2.0), table)
    assert answer(["conclude", str(table), "--no-repetition", "--save", str(kept)]) == 0
    assert "a study by other raters still makes some claim in " in " ".join(capsys.readouterr().out.split())
    found = json.loads(kept.read_text())["answer"]
    share = found["control"]["at_large"]
    assert 0 <= share["low"] <= share["value"] <= share["high"] <= 1
    assert 0 < found["control"]["at_large_mcse"] < 0.2
    assert conclude.read(found).control.at_large.serialise() == share
    assert answer(["report", str(kept), "--out", str(tmp_path / "r.md")]) == 0
    assert "a study by other raters still makes some claim in" in (tmp_path / "r.md").read_text()


@pytest.mark.parametrize(("n_raters", "known"), [(3, True), (8, False)])
def test_it_stands_beside_a_check_whose_raters_are_given(n_raters, known, short_effort, tmp_path, capsys):
    table = tmp_path / "t.csv"
    write(pilot(np.random.default_rng(0), n_systems=3, n_documents=10, n_raters=n_raters), table)
    assert answer(["conclude", str(table), "--no-repetition", "--format", "json"]) == 0
    held = json.loads(capsys.readouterr().out)["control"]
    assert (held["at_large"] is not None) == (held["at_large_mcse"] is not None) == known
