"""METEOR as pycocoevalcap runs it: what it is asked and answers, and what happens where it does not answer."""

from __future__ import annotations

import json
import shutil
import stat
import sys
from pathlib import Path

import pytest
from pycocoevalcap.meteor.meteor import Meteor as Package

from simlab.cli import answer
from simlab.metric_tests import metrics, scoring
from simlab.metric_tests.meteor import Meteor
from simlab.metric_tests.trials import Trials
from simlab.types import InputError

JAVA = pytest.mark.skipif(shutil.which("java") is None, reason="METEOR needs Java, which is not here")

STAND_IN = """#!{python}
import os, sys
assert "-Duser.language=en" in os.environ["JAVA_TOOL_OPTIONS"]
for line in open(0, encoding="utf-8"):
    kind, *rest = line.rstrip("\\n").split(" ||| ")
    if kind == "SCORE":
        print(len(rest[-1].split()), flush=True)
    else:
        {answer}
"""
SCORES = "print(*[float(n) / 10 for n in rest], 1.0, sep='\\n', flush=True)"


def java(folder: Path, answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a command `java` first that answers as METEOR does: a sentence scores its number of words, in tenths."""
    (folder / "java").write_text(STAND_IN.format(python=sys.executable, answer=answer))
    (folder / "java").chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", str(folder))


def test_sentences_without_words_are_not_asked_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java(tmp_path, SCORES, monkeypatch)
    scorer = Meteor(Package)
    assert scorer._scorer is None  # nothing starts before it is needed
    assert scorer.score(["a cat", "one ||| two\nthree", "", "a"], [["x"], ["x", " "], ["x"], ["?"]]) == [0.2, 0.3, 0, 0]
    first = scorer._scorer
    assert scorer.score(["Ein schöner Tag", "a " * 100_000], [["x"], ["a"]]) == [0.3, 10_000.0]
    assert scorer._scorer is first  # one process for all


@pytest.mark.parametrize(
    ("program", "says"),
    [("sys.exit(1)", "could not convert"), ("print('0,5', flush=True)", "could not convert string to float: b'0,5'")],
)
def test_what_does_not_answer_is_ended(
    program: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java(tmp_path, program, monkeypatch)
    scorer = Meteor(Package)
    # Another time, too: the package's own lock would be held for ever.
    for _ in range(2):
        with pytest.raises(RuntimeError, match=f"METEOR gave no score .{says}"):
            scorer.score(["a"], [["a"]])
        assert scorer._scorer is None
    trials = Trials("c", "altering", 1, ("1",), ("a b",), ("b",), (("a",),))
    metric = metrics.TestedMetric(("meteor",), lambda *texts: {"meteor": scorer.score(*texts)})
    failure = scoring.score([trials], [metric])[0].failure
    assert failure is not None
    assert failure.startswith("it raised RuntimeError: METEOR gave no score")


def test_without_java_or_package_a_line_says_so(
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
    monkeypatch.setitem(sys.modules, "pycocoevalcap.meteor.meteor", None)
    with pytest.raises(InputError, match="needs the package pycocoevalcap"):
        metrics.list_built_in_metrics(["meteor"])


@JAVA
@pytest.mark.long
def test_scores_are_those_of_meteor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start METEOR where the language writes decimal commas and another encoding is usual."""
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Duser.language=de -Duser.country=DE -Dfile.encoding=ISO-8859-1")
    monkeypatch.setenv("LC_ALL", "C")
    real = Meteor(Package)
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
    assert real.score([original] * 200, [references] * 200) == [again] * 200
