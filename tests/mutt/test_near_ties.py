"""Verdicts that hang on next to nothing: the rule is strict, rounding is no difference, near ties are counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simlab.cli import answer
from simlab.metric_tests import metrics, pass_rates, scoring
from simlab.metric_tests.trials import Kind, Trials

# Ten matches of ten words and nine of nine, where a package adds 1e-9 to the number of words.
TEN, NINE = 10 / (10 + 1e-9), 9 / (9 + 1e-9)


def scored(kind: Kind, original: float, corrupted: float) -> scoring.ScorePairs:
    trials = Trials("c", kind, 1, ("1",), ("a",), ("b",), (("r",),))
    return scoring.ScorePairs(trials, "m", False, 0.0, np.array([original]), np.array([corrupted]), None)


def counted(kind: Kind, original: float, corrupted: float, near_tie: float = 0.0) -> tuple[int, int]:
    """Return whether the trial is passed, and whether that hangs on a near tie."""
    (rate,) = pass_rates.pass_rates([scored(kind, original, corrupted)], tolerance=0.15, near_tie=near_tie).rows
    return rate.passed, rate.near_ties


@pytest.mark.parametrize(
    ("original", "corrupted", "expected"),
    [
        (TEN, NINE, (1, 1)),  # by 1e-11: a pass, by the published rule
        (NINE, TEN, (0, 0)),  # a failure whatever the margin
        (0.5, 0.5 * (1 - 1e-14), (0, 0)),  # rounding
        (0.5, 0.5 * (1 - 1e-5), (1, 0)),  # a difference
        (0.5, 0.4, (1, 0)),
        (0.0, 0.0, (0, 0)),
        (np.nan, 0.5, (0, 0)),
    ],
)
def test_a_near_tie_passes_and_is_counted(original: float, corrupted: float, expected: tuple[int, int]) -> None:
    assert counted("altering", original, corrupted) == expected
    assert counted("disrupting", 100 * original, 100 * corrupted) == expected  # whatever the unit


def test_a_margin_calls_it_a_tie() -> None:
    assert counted("altering", TEN, NINE, near_tie=1e-9) == (0, 1)
    assert counted("altering", TEN, NINE, near_tie=1e-12) == (1, 1)
    assert counted("altering", 0.5, 0.49, near_tie=0.1) == (0, 1)
    assert counted("altering", 0.5, 0.4, near_tie=0.1) == (1, 0)


def test_scores_that_must_be_alike_have_their_near_ties_at_the_tolerance() -> None:
    over = 1 - 0.15 * (1 + 1e-8)
    assert counted("preserving", 1.0, 0.85) == (1, 0)
    assert counted("preserving", 1.0, over) == (0, 1)
    assert counted("preserving", 1.0, over, near_tie=1e-7) == (1, 1)
    assert counted("preserving", 1.0, 0.84) == (0, 0)


TRIAL = {
    "original": "a cat sits on the mat in the sun",
    "corruption": "a cat sits on the mat in sun",
    "kind": "altering",
    "references": ["a cat sits on the mat in the sun", "a cat sits on the mat in sun"],
}


@pytest.fixture
def trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a trial of nine words and eight, all of them in a reference: BLEU tells them apart by 1e-11."""
    monkeypatch.chdir(tmp_path)
    Path("t.jsonl").write_text(json.dumps(TRIAL) + "\n")


@pytest.mark.usefixtures("trials")
def test_a_constructed_near_tie_of_a_package(capsys: pytest.CaptureFixture[str]) -> None:
    scores = metrics.list_built_in_metrics(["bleu_1"])[0].score(
        [TRIAL["original"], TRIAL["corruption"]], [TRIAL["references"]] * 2
    )  # type: ignore[list-item]
    first, second = scores["bleu_1"]
    assert 1e-13 < abs(first - second) / first < 1e-9
    assert told(capsys)["near_ties"] == 1
    assert told(capsys)["passed"] == 1
    row = told(capsys, "--near-tie", "1e-8")
    assert (row["passed"], row["near_ties"]) == (0, 1)


@pytest.mark.usefixtures("trials")
def test_the_table_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["mutt", "t.jsonl", "--metrics", "bleu_1"]
    assert answer(words) == 0
    assert "Verdicts that hang on a near tie: 1 of bleu_1" in capsys.readouterr().out
    assert answer([*words, "--near-tie", "1e-8"]) == 0
    assert "differences up to 1e-08 of a score are ties." in " ".join(capsys.readouterr().out.split())
    # A control: where nothing hangs on a near tie, nothing is said of any.
    Path("t.jsonl").write_text(json.dumps({**TRIAL, "corruption": "a dog sat in a box"}) + "\n")
    assert answer(words) == 0
    assert "near tie" not in capsys.readouterr().out


def told(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert answer(["mutt", "t.jsonl", "--metrics", "bleu_1", "--format", "json", *words]) == 0
    row: dict[str, Any] = json.loads(capsys.readouterr().out)[0]
    return row


def test_a_tie_is_alike_however_small_the_tolerance() -> None:
    original, corrupted = np.array([0.5, 0.5]), np.array([0.5 * (1 - 1e-8), 0.4])
    assert pass_rates.is_alike(original, corrupted, tolerance=0.0).tolist() == [False, False]
    assert pass_rates.is_alike(original, corrupted, tolerance=0.0, near_tie=1e-6).tolist() == [True, False]
    assert pass_rates.is_alike(original, corrupted, tolerance=0.15, near_tie=0.3).tolist() == [True, True]
