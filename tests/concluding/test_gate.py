"""A promise that the check on equal systems contradicts is withdrawn before anybody sees a claim."""

import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from simlab.answers.conclude import Control, Promise
from simlab.cli import answer
from simlab.commands.conclude import page
from simlab.concluding.concluding import conclude
from simlab.concluding.consistency import contradictions
from simlab.concluding.judgements import repetitions as judged
from simlab.concluding.options import ConcludeOptions
from simlab.concluding.preferences import concluding as compared
from simlab.concluding.ratings import repetitions
from simlab.concluding.simulations import apply_gate, seed_from_rows
from simlab.drawing.reports.answers.conclude import report
from simlab.effort import current_effort, use_effort
from simlab.fitting.mqm import MQM
from simlab.fitting.repetitions import make_equal_over, table_world
from simlab.tables.reading import read
from simlab.world.laws.scales import truth_of_pool
from tests.concluding.nested_tables import write_nested

ROOT = Path(__file__).parents[2]
A_RATER_EACH = {"n_raters": 2, "gap": 4.0}
"""The lenient one of two raters makes a system of it."""
BY_DOCUMENT = ("analysis.test=permutation",)
"""Flips of documents cannot tell leniency from a system."""


@pytest.fixture
def unheld(tmp_path, short_effort):
    """Return a table whose test claims far too much where its systems are equal."""
    return write_nested(tmp_path / "t.csv", **A_RATER_EACH)


def _control(some, studies=1000, **more):
    mcse = float(np.sqrt(some * (1 - some) / studies))
    return Control(
        studies=studies,
        some_claim=some,
        some_claim_mcse=mcse,
        promised=0.05,
        uncorrected=some,
        uncorrected_mcse=mcse,
        world="a world",
        **more,
    )


def _promise(multiplicity="max_t"):
    return Promise(name="fixed", level=0.05, multiplicity=multiplicity, holds=True, says="nothing is wrong")


@pytest.mark.parametrize(("some", "fires"), [(0.0, False), (0.05, False), (0.074, False), (0.077, True), (1.0, True)])
def test_a_promise_is_contradicted_above_three_errors(some, fires):
    assert _control(some).contradicts(_promise()) == fires


def test_where_each_pair_is_promised_something_pairs_are_counted():
    held = _control(0.6, pair_claim=0.05, pair_claim_mcse=0.004)
    assert not held.contradicts(_promise("none"))
    assert held.contradicts(_promise())
    assert held.replace_fields(pair_claim=0.07).contradicts(_promise("none"))


def test_what_is_withdrawn_claims_nothing_and_says_so_first(unheld, tmp_path, capsys):
    files = [tmp_path / name for name in ("kept.json", "order.svg", "paragraph.md")]
    words = ["--margin", "1", "--save", str(files[0]), "--figure", str(files[1]), "--paragraph", str(files[2])]
    assert answer(["conclude", str(unheld), *BY_DOCUMENT, *words]) == 3
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("The promise is withdrawn: of 100 studies like this one, simulated with equal systems,")
    found = json.loads(files[0].read_text())["answer"]
    pair = found["pairs"][0]
    assert found["promise"]["holds"] is False
    assert found["promise"]["broken"] in said
    assert (pair["verdict"], pair["within"], pair["more"]) == (0, "open", None)
    assert pair["unpromised"] == pair["direction"] != 0
    assert {(one["rank_low"], one["rank_high"]) for one in found["systems"]} == {(1, 2)}
    assert found["repetition"] is None
    assert "withdrawn" in found["repetition_missing"]
    assert "withdrawn" in found["warnings"][0]
    assert found["detectable"] is None
    assert "is withdrawn: of 100 studies" in " ".join(files[2].read_text().split())
    for form in ("md", "html", "tex"):
        written = tmp_path / f"report.{form}"
        assert answer(["report", str(files[0]), "--out", str(written)]) == 3
        assert "is withdrawn: of 100 studies" in written.read_text()


def test_a_figure_says_what_is_withdrawn(unheld):
    found = conclude(unheld, ConcludeOptions(overrides=BY_DOCUMENT), lambda line: None)
    assert "The promise is withdrawn: of 100 studies" in report(found).caption
    assert page(found).count("is withdrawn") == 1


def test_the_same_table_without_its_claims_is_not_promised_either(tmp_path, short_effort):
    table = write_nested(tmp_path / "t.csv", n_raters=2, seed=3, leniency=0.0)
    found = conclude(table, ConcludeOptions(overrides=BY_DOCUMENT), lambda line: None)
    assert found.withdrawn
    assert not found.promise.holds
    assert list(contradictions(found)) == []


@pytest.mark.parametrize("moment", ["control", "judge_studies"])
def test_no_claim_appears_before_the_check_is_over(moment, unheld, tmp_path, monkeypatch, capsys):
    def die(*args, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr(repetitions, moment, die)
    files = [tmp_path / name for name in ("kept.json", "order.svg", "paragraph.md")]
    words = ["--save", str(files[0]), "--figure", str(files[1]), "--paragraph", str(files[2])]
    assert answer(["conclude", str(unheld), *BY_DOCUMENT, *words]) != 0
    assert capsys.readouterr().out == ""
    assert not any(file.exists() for file in files)


@pytest.mark.slow
def test_the_check_follows_the_table_and_neither_its_order_nor_the_seed(tmp_path, short_effort):
    table = write_nested(tmp_path / "t.csv", n_raters=6)
    header, *rows = table.read_text().splitlines()
    shuffled = tmp_path / "shuffled.csv"
    random.Random(1).shuffle(rows)
    shuffled.write_text("\n".join([header, *rows]))
    first, second, third = (
        conclude(file, ConcludeOptions(seed=seed, again=False), lambda line: None)
        for file, seed in ((table, 0), (shuffled, 0), (table, 7))
    )
    assert first.control == second.control == third.control
    other = conclude(
        write_nested(tmp_path / "other.csv", n_raters=6, seed=1), ConcludeOptions(again=False), lambda line: None
    )
    assert other.control != first.control


def test_a_seed_follows_rows_as_a_set():
    columns = np.array([2.0, 0, 1, 1]), np.array([5.0, 6, 7, 8])
    at = np.array([3, 1, 0, 2])
    assert seed_from_rows(("a", "b"), *columns) == seed_from_rows(("a", "b"), *(one[at] for one in columns))
    assert seed_from_rows(("a", "b"), *columns) != seed_from_rows(("a", "b"), columns[0], columns[1] + 1)
    assert seed_from_rows(("a", "b"), *columns) != seed_from_rows(("a", "c"), *columns)


def test_a_repetition_is_left_out_and_the_check_is_not(tmp_path, short_effort, capsys):
    table = write_nested(tmp_path / "t.csv", n_raters=10, gap=5.0)
    assert answer(["conclude", str(table), "--no-repetition", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["pairs"][0]["verdict"] == 1
    assert found["repetition"] is None
    assert found["repetition_missing"] == "not asked for"
    assert found["control"]["studies"] == 100


def test_an_effort_of_no_studies_leaves_the_check_out(unheld):
    with use_effort(current_effort()._replace(equal_studies=0)):
        found = conclude(unheld, ConcludeOptions(overrides=BY_DOCUMENT), lambda line: None)
    assert found.control is None
    assert found.control_missing == "not asked for"
    assert found.promise.holds


@pytest.mark.parametrize("answers", ["points", "categories", "binary"])
def test_equal_systems_keep_the_tastes_of_these_raters(answers, tmp_path, short_effort):
    table = write_nested(tmp_path / "t.csv", answers=answers, n_raters=6, gap=0.5)
    ratings = read(table)
    world = table_world(ratings, 0, 4)
    effects, load = world.fitted.effects[0], np.bincount(ratings.rater) / len(ratings.rater)
    even = make_equal_over(effects, load)
    np.testing.assert_array_equal(even.taste, effects.taste)
    np.testing.assert_array_equal(even.leniency, effects.leniency)
    assert np.ptp(truth_of_pool(even, load)) < 1e-3 * (np.ptp(ratings.score) or 1) < np.ptp(ratings.score)


def test_equal_counts_of_errors_have_one_mean_over_these_raters(tmp_path, short_effort):
    rng = np.random.default_rng(0)
    taste = np.exp(0.8 * rng.standard_normal((3, 2)))
    rows = [
        (f"s{s}", f"d{d}", f"r{r}", rng.poisson(3 * taste[r, s])) for d in range(30) for r in range(3) for s in range(2)
    ]
    table = tmp_path / "errors.csv"
    table.write_text("\n".join(["system,document,rater,score", *(",".join(map(str, row)) for row in rows)]))
    ratings = read(table, replace(ConcludeOptions().column_overrides, better="lower"))
    load = np.bincount(ratings.rater) / len(ratings.rater)
    effects = MQM.fit(ratings, draws=2, rough=True).effects[0]
    even = make_equal_over(replace(effects, rater_system_sd=1.0), load)
    score = [MQM.answer(np.random.default_rng(k), even, ratings) for k in range(300)]
    gap = np.array([one[ratings.system == 0].mean() - one[ratings.system == 1].mean() for one in score])
    assert abs(gap.mean()) < 4 * gap.std() / np.sqrt(len(gap))


def test_votes_and_judgements_have_the_gate_too(monkeypatch, short_effort):
    monkeypatch.setattr(judged, "control", lambda *args, **named: _control(0.3))
    monkeypatch.setattr(compared, "control", lambda *args, **named: _control(0.3))
    for table in ("examples/judged.csv", "examples/preferences.csv"):
        found = conclude(ROOT / table, ConcludeOptions(), lambda line: None)
        assert found.withdrawn
        assert any(one.unpromised for one in found.pairs)
        assert not any(one.verdict for one in found.pairs)
        assert not any(one.verdict for metric in found.metrics for one in metric.pairs)
        assert list(contradictions(found)) == []
        assert page(found).startswith("The promise is withdrawn")


def test_claims_that_stay_are_refused_as_a_contradiction(unheld):
    found = conclude(unheld, ConcludeOptions(overrides=BY_DOCUMENT), lambda line: None)
    assert "the promise is withdrawn" in next(
        contradictions(found.replace_fields(pairs=[found.pairs[0].replace_fields(verdict=found.pairs[0].direction)]))
    )
    held = found.replace_fields(promise=found.promise.replace_fields(holds=True, broken=""))
    assert any("not withdrawn" in said for said in contradictions(held))
    assert apply_gate(found).serialise()["promise"]["holds"] is False
