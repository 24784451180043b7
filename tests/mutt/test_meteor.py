"""METEOR in one process: what it is asked and answers, and what happens where it does not answer."""

from __future__ import annotations

import gc
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from simlab.cli import answer
from simlab.mutt import meteor, metrics, scoring
from simlab.mutt.trials import Trials
from simlab.types import InputError

JAVA = pytest.mark.skipif(shutil.which("java") is None, reason="METEOR needs Java, which is not here")
ZEROS = " ".join(["0.0"] * 23)

# Answers as METEOR does: the score is the number of words of the sentence, in tenths.
ANSWERS = f"""
import sys
for line in sys.stdin:
    kind, *rest = line.rstrip("\\n").split(" ||| ")
    if kind == "SCORE":
        said = rest[-1].split()
        print(len(said), *"{ZEROS}".split()[1:], flush=True)
    else:
        score = float(rest[0].split()[0]) / 10
        print(score); print(score, flush=True)
"""


def of(program: str) -> meteor.Meteor:
    return meteor.Meteor([sys.executable, "-c", program], Path())


def running(scorer: meteor.Meteor) -> bool:
    assert scorer._process is not None
    return scorer._process._process.poll() is None


def test_sentences_are_asked_one_by_one() -> None:
    scorer = of(ANSWERS)
    assert scorer._process is None  # nothing starts before it is needed
    assert scorer.score(["a cat", "one ||| two\nthree", "", "a"], [["x"], ["x", " "], ["x"], ["?"]]) == [0.2, 0.3, 0, 0]
    first = scorer._process
    assert scorer.score(["Ein schöner Tag"], [["x"]]) == [0.3]
    assert scorer._process is first  # one process for all


def test_nothing_is_left_of_a_process() -> None:
    scorer = of(ANSWERS)
    scorer.score(["a"], [["a"]])
    process = scorer._process
    assert process is not None
    inner = process._process
    del scorer, process
    gc.collect()
    assert inner.returncode is not None  # ended, and waited for: no zombie


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("import sys; sys.exit('Exception: out of paper')", "METEOR ended: Exception: out of paper"),
        ("pass", "METEOR ended: it said nothing"),
        ("import time; time.sleep(60)", "METEOR gave no answer in 0 s"),
        ("print('Error: bad line', flush=True); input(); input()", "METEOR answered 'Error: bad line'"),
        (f"print('{ZEROS}'); print('0,5', flush=True); input(); input(); input()", "could not convert"),
    ],
)
def test_what_does_not_answer_is_ended(program: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meteor, "START", 0.4 if "sleep" in program else 300.0)
    scorer = of(program)
    with pytest.raises((RuntimeError, ValueError), match=says):
        scorer.score(["a"], [["a"]])
    assert not running(scorer)
    with pytest.raises(RuntimeError, match="METEOR ended at an earlier sentence"):
        scorer.score(["a"], [["a"]])


def test_complaints_do_not_stop_it() -> None:
    """A pipe that nobody reads holds 64 KiB: a control with twenty times as much."""
    loud = ANSWERS.replace("    else:", "        sys.stderr.write('x' * 1_300_000)\n    else:")
    assert of(loud).score(["a"] * 3, [["a"]] * 3) == [0.1] * 3


def test_long_lines_do_not_stop_it() -> None:
    assert of(ANSWERS).score(["a " * 100_000], [["a"]]) == [10_000.0]


def test_without_java_or_archive_a_line_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trial = {"original": "a", "corruption": "b", "kind": "altering", "references": ["a"]}
    (tmp_path / "t.jsonl").write_text(json.dumps(trial))
    words = ["mutt", str(tmp_path / "t.jsonl"), "--metrics", "chrf,meteor"]
    monkeypatch.setenv("PATH", str(tmp_path))
    assert answer(words) == 2
    assert capsys.readouterr().err.splitlines() == [
        "simlab: the metric meteor needs Java, which is not found; install a Java runtime, or leave it out"
    ]
    # A command of the name that starts no Java is none, as where a system only says how to get it.
    (tmp_path / "java").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "java").chmod(0o755)
    assert answer(words) == 2
    assert capsys.readouterr().err.startswith("simlab: the metric meteor needs Java")
    monkeypatch.setattr(meteor, "JAR", "meteor-0.jar")
    with pytest.raises(InputError, match=r"needs meteor-0\.jar, which pycocoevalcap does not hold"):
        metrics.built_in(["meteor"])
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(InputError, match="needs the package pycocoevalcap"):
        metrics.built_in(["meteor"])


def test_what_meteor_cannot_score_is_counted() -> None:
    metric = metrics.Metric(("meteor",), lambda *texts: {"meteor": of("pass").score(*texts)})
    trials = Trials("c", "altering", 1, ("1",), ("a b",), ("b",), (("a",),))
    held = scoring.score([trials], [metric])[0]
    assert held.failure == "it raised RuntimeError: METEOR ended: it said nothing"


@pytest.fixture(scope="module")
def real() -> Iterator[meteor.Meteor]:
    """Start METEOR where the language writes decimal commas and another encoding is usual."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", "-Duser.language=de -Duser.country=DE -Dfile.encoding=ISO-8859-1")
        patch.setenv("LC_ALL", "C")
        scorer = meteor.Meteor(*meteor.command())
        scorer.score(["a"], [["a"]])
        yield scorer


@JAVA
@pytest.mark.long
def test_scores_are_those_of_meteor(real: meteor.Meteor) -> None:
    original, negated = "A girl is feeding the ducks", "There is no girl feeding the ducks"
    references = ["A girl feeds some ducks at the pond", "The girl is feeding ducks"]
    same, worse, nothing, again, umlaut, ascii = real.score(
        [original, negated, "?!", original, "Ein schöner Tag", "Ein schner Tag"],
        [[original], references, references, references, ["Ein schöner Tag"], ["Ein schöner Tag"]],
    )
    assert same == pytest.approx(1.0)
    assert 0 < worse < again < 1
    assert nothing == 0
    assert umlaut == pytest.approx(1.0)
    assert ascii < umlaut
    started = time.monotonic()
    assert real.score([original] * 200, [references] * 200) == [again] * 200
    assert time.monotonic() - started < 300


@JAVA
@pytest.mark.long
def test_a_process_of_its_own_answers_the_same(real: meteor.Meteor) -> None:
    """Hold one sentence against the archive itself, started as its users do."""
    start, folder = meteor.command()
    asked = "SCORE ||| a girl feeds some ducks ||| a girl is feeding ducks\n"
    out = subprocess.run(start, cwd=folder, input=asked, capture_output=True, text=True, check=True).stdout
    process = real._process
    assert process is not None
    assert process.ask(asked.strip()) == out.strip()
