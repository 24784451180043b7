"""What cannot be simulated beside a conclusion is missing with its reason, and the conclusion stands."""

import json
import os
import sys

import numpy as np
import pytest

from simlab.cli import answer
from simlab.concluding import simulations
from simlab.concluding.concluding import conclude
from simlab.concluding.options import ConcludeOptions
from simlab.concluding.ratings import repetitions
from simlab.concluding.simulations import simulate_parts, start_in_process, try_to_simulate
from simlab.fitting import repetitions as fitting_repetitions
from simlab.fitting.repetitions import table_world
from simlab.fitting.scales.fitting import fit
from simlab.tables.reading import read
from simlab.types import InputError
from tests.concluding.nested_tables import write_nested

DESIGNS = {
    "nested": {},
    "a rater each": {"n_raters": 2},
    "crowd": {"n_documents": 30, "n_raters": 60},
}


@pytest.mark.parametrize("answers", ["points", "categories", "binary"])
@pytest.mark.parametrize("design", DESIGNS)
def test_raters_of_one_system_each_have_a_world(design, answers, tmp_path, short_effort):
    table = write_nested(tmp_path / "t.csv", answers=answers, **DESIGNS[design])
    world = table_world(read(table), 0, 4)
    rng = np.random.default_rng(0)
    for score in (
        world.new_documents(rng, 0),
        world.new_raters_and_documents(rng, 1),
        world.equal_systems(rng, 2, raters_drawn=True),
    ):
        assert np.isfinite(score).all()


@pytest.mark.parametrize("answers", ["points", "binary"])
def test_a_table_of_nested_raters_is_concluded_with_its_check(answers, tmp_path, short_effort, capsys):
    table = write_nested(tmp_path / "t.csv", answers=answers, n_raters=6)
    assert answer(["conclude", str(table), "--format", "json"]) in (0, 3)
    found = json.loads(capsys.readouterr().out)
    assert found["control"]["studies"] > 0
    assert found["control_missing"] is None


def test_leniency_stands_with_its_rater_where_each_rates_one_document(tmp_path, short_effort):
    # Raters and documents group the ratings alike; r9 rates d0, so that their orders differ.
    table = tmp_path / "t.csv"
    rows = [f"s{system},d{d},r{9 - d},{50 + 20 * (d == 0) + system + d % 3}" for d in range(10) for system in (0, 1)]
    table.write_text("\n".join(["system,document,rater,score", *rows]))
    ratings = read(table)
    fitted = fit("gaussian", ratings, draws=20)
    lenient = np.mean([one.leniency for one in fitted.effects], axis=0)
    assert ratings.rater_names[int(np.argmax(lenient))] == "r9"


def test_one_document_leaves_no_world_and_takes_nothing_down(tmp_path, capsys):
    table = write_nested(tmp_path / "t.csv", single_document=True)
    assert answer(["conclude", str(table), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["control"] is None
    assert found["repetition"] is None
    assert found["control_missing"] == found["repetition_missing"]
    assert "1 document" in found["control_missing"]
    assert answer(["conclude", str(table)]) == 0
    page = " ".join(capsys.readouterr().out.split())
    assert f"the promise is not checked: {found['control_missing']}" in page


@pytest.mark.parametrize("fails", ["table_world", "control", "repetition"])
def test_arithmetic_that_fails_is_a_reason_and_no_bug(fails, tmp_path, short_effort, monkeypatch):
    def fail(*args, **named):
        raise FloatingPointError("overflow")

    monkeypatch.setattr(fitting_repetitions if fails == "table_world" else repetitions, fails, fail)
    table = write_nested(tmp_path / "t.csv", gap=6.0, leniency=0.1)
    found = conclude(table, ConcludeOptions(), lambda line: None)
    assert any(pair.verdict for pair in found.pairs)
    missing = {"table_world": (True, True), "control": (False, True), "repetition": (True, False)}[fails]
    assert (found.repetition is None, found.control is None) == missing
    for is_missing, said in zip(missing, (found.repetition_missing, found.control_missing), strict=True):
        assert ("overflow" in said) == is_missing


def test_what_is_no_failure_of_a_simulation_is_raised():
    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        try_to_simulate(stop)
    assert try_to_simulate(lambda: 1) == (1, "")


@pytest.fixture
def supervised(monkeypatch):
    monkeypatch.setattr(simulations, "is_supervised", lambda: True)
    # Other tests of this process may have imported it; a command of its own has not.
    monkeypatch.delitem(sys.modules, "jax", raising=False)
    monkeypatch.setattr(simulations, "THREADS", 2)


@pytest.mark.slow
def test_a_command_of_its_own_says_the_same_from_two_processes(tmp_path, short_effort, request):
    table = write_nested(tmp_path / "t.csv", gap=6.0, leniency=0.1)
    alone = conclude(table, ConcludeOptions(), lambda line: None)
    request.getfixturevalue("supervised")
    assert conclude(table, ConcludeOptions(), lambda line: None).serialise() == alone.serialise()
    assert alone.control is not None
    assert simulate_parts(lambda part: list(part), 7, 2) == [[0, 1], [2, 3], [4, 5], [6]]


def test_what_a_simulation_aside_raises_is_raised_and_one_that_is_ended_is_carried_out_here(supervised):
    here = os.getpid()

    def refuse():
        raise InputError(f"refused {os.getpid() == here}")

    def end():
        if os.getpid() != here:
            os._exit(1)
        return "here"

    assert start_in_process(os.getpid)() != here
    with pytest.raises(InputError, match="refused False"):
        start_in_process(refuse)()
    assert start_in_process(end)() == "here"
