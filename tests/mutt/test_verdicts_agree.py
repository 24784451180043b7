"""Metrics agree about trials as far as their verdicts say, with errors that trials of one original do not shrink."""

from __future__ import annotations

import csv
import doctest
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simlab.answers.mutt import EqualVerdicts
from simlab.cli import answer
from simlab.metric_tests import agreement
from simlab.metric_tests.scoring import ScorePairs
from simlab.metric_tests.trials import Kind, Trials
from simlab.rng import stream
from simlab.types import InputError


def verdicts(metric: str, passed: Any, *, corruption: str = "c", originals: Any = None, kind: Kind = "altering") -> Any:
    """Make scores that pass where wanted; NaN is no score."""
    wanted = np.asarray(passed, float)
    n = len(wanted)
    names = tuple(map(str, range(n) if originals is None else originals))
    trials = Trials(corruption, kind, 1, names, names, ("b",) * n, (("r",),) * n)
    return ScorePairs(trials, metric, False, 0.0, wanted, np.where(np.isnan(wanted), np.nan, 0.5), None)


def only(*pairs: ScorePairs) -> EqualVerdicts:
    (row,) = agreement.metric_agreement(pairs, tolerance=0.15).rows
    return row


def test_agreement_and_correlation_are_those_of_numpy() -> None:
    x, y = stream(1, "verdicts").integers(0, 2, (2, 60))
    row = only(verdicts("x", x), verdicts("y", y))
    assert row.agreement == pytest.approx((x == y).mean())
    assert row.correlation == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert (row.n, row.originals, row.reason) == (60, 60, "")


def test_what_is_constant_has_no_correlation_but_a_reason() -> None:
    row = only(verdicts("x", [1, 1, 1]), verdicts("y", [1, 0, 1]))
    assert (row.agreement, row.reason) == (pytest.approx(2 / 3), "x passes all")
    assert np.isnan([row.correlation, row.correlation_error]).all()
    assert only(verdicts("x", [1, 1]), verdicts("y", [0, 0])).reason == "x passes all; y passes none"
    row = only(verdicts("x", [np.nan, 1]), verdicts("y", [1, np.nan]))
    assert (row.n, row.reason) == (0, "no trial has scores of both")
    assert np.isnan(row.agreement)


def test_trials_without_two_scores_are_left_out() -> None:
    row = only(verdicts("x", [1, 0, np.nan, 1]), verdicts("y", [1, 1, 0, np.nan]))
    assert (row.n, row.agreement) == (2, 0.5)


def test_equal_verdicts_are_no_certainty() -> None:
    row = only(verdicts("x", [1, 0, 1]), verdicts("y", [1, 0, 1]))
    assert (row.agreement, row.correlation) == (1, pytest.approx(1))
    assert np.isnan([row.agreement_error, row.correlation_error]).all()


def test_corruptions_are_told_apart_and_pooled() -> None:
    rows = agreement.metric_agreement(
        [
            verdicts("x", [1, 0, 1], corruption="c"), verdicts("y", [1, 0, 0], corruption="c"),
            verdicts("x", [0, 0, 1], corruption="d"), verdicts("y", [1, 0, 1], corruption="d"),
        ],
        tolerance=0.15,
    ).rows  # fmt: skip
    assert [(row.corruption, row.n, row.originals) for row in rows] == [
        ("c", 3, 3),
        ("d", 3, 3),
        ("all", 6, 3),
    ]
    assert rows[2].agreement == pytest.approx(4 / 6)


def test_a_corruption_that_is_called_all_is_refused() -> None:
    with pytest.raises(InputError, match="a corruption is called all"):
        only(verdicts("x", [1, 0], corruption="all"), verdicts("y", [1, 0], corruption="all"))


def drawn(study: int, copies: int) -> tuple[Any, Any, Any]:
    """Draw dependent verdicts on 60 originals, each corrupted so many times with nearly the same outcome."""
    rng = stream(2, "study", study)
    x = rng.random(60) < 0.6
    y = np.where(rng.random(60) < 0.4, x, rng.random(60) < 0.6)
    flipped = rng.random((2, copies, 60)) < 0.05
    return (x ^ flipped[0]).ravel(), (y ^ flipped[1]).ravel(), np.tile(np.arange(60), copies)


def test_errors_are_those_of_repetitions() -> None:
    """Over 200 draws the stated errors are the spread of values; taken as independent, copies would halve them."""
    rows, naive = [], []
    for study in range(200):
        x, y, original = drawn(study, copies=4)
        rows.append(only(verdicts("x", x, originals=original), verdicts("y", y, originals=original)))
        naive.append(only(verdicts("x", x), verdicts("y", y)))
    for name in ("agreement", "correlation"):
        spread = np.std([getattr(row, name) for row in rows])
        stated = np.mean([getattr(row, f"{name}_error") for row in rows])
        # The error of a standard deviation of 200 values is 5 % of it.
        assert stated == pytest.approx(spread, rel=5 * 0.05)
        assert np.mean([getattr(row, f"{name}_error") for row in naive]) < 0.7 * spread


TRIALS = [
    {"original": f"a {who} sits on the mat", "corruption": corrupted.format(who=who), "kind": kind,
     "references": [f"the {who} sits on a mat", f"a {who} is on the mat"]}
    for who in ("cat", "dog", "bird")
    for corrupted, kind in (("no {who} sits on the mat", "altering"), ("on the mat sits a {who}", "preserving"))
]  # fmt: skip


@pytest.fixture
def trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.jsonl").write_text("".join(json.dumps(trial) + "\n" for trial in TRIALS))


@pytest.mark.usefixtures("trials")
def test_the_command_says_it_in_every_form(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["mutt", "t.jsonl", "--metrics", "bleu_1,bleu_4,chrf", "--agreement"]
    assert answer(words) == 0
    out = capsys.readouterr().out
    assert "3 pairs of metrics are compared" in out.splitlines()[0]
    assert len(out.split("\n\n")[2].splitlines()) == 5
    assert answer([*words, "--format", "json", "--save", "kept.json", "--scores", "s.csv"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == 3 * 3
    assert {"agreement", "correlation", "near_ties", "reason"} <= rows[0].keys()
    assert Path("kept.json").is_file()
    assert len(Path("s.csv").read_text().splitlines()) == 1 + 3 * 6
    assert answer([*words, "--format", "csv"]) == 0
    assert len(list(csv.DictReader(capsys.readouterr().out.splitlines()))) == 9


def test_examples_in_its_docstrings() -> None:
    assert doctest.testmod(agreement) == (0, 1)
