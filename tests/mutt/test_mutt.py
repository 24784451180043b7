"""Test metrics on corrupted sentences as a user does: own trials, own metrics, mistakes in both."""

from __future__ import annotations

import csv
import doctest
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simlab.cli import answer
from simlab.metric_tests import files, metrics, pass_rates, scoring
from simlab.metric_tests.trials import Trials
from simlab.types import InputError

TRIAL = {
    "original": "A cat sits on the old mat",
    "corruption": "The mat sits on a old cat",
    "kind": "altering",
    "references": ["A cat sits on the old mat today", "The cat is on an old mat"],
}
PARAPHRASE = {**TRIAL, "kind": "passive", "corruption": "On the old mat sits a cat"}

OWN_METRICS = """
def length(candidates, references):
    print("a metric may talk")
    return [len(text) for text in candidates]

def errors(candidates, references):
    return [float(text not in texts) for text, texts in zip(candidates, references)]
errors.lower_is_better = True

def raises(candidates, references):
    raise RuntimeError("out of\\nmemory")

def short(candidates, references):
    return [1.0]

def words(candidates, references):
    return candidates

def holes(candidates, references):
    references.clear()
    return [float("nan")] + [float("inf")] + [2.0] * (len(candidates) - 2)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "path" / "own_metrics"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(OWN_METRICS)
    monkeypatch.syspath_prepend(str(tmp_path / "path"))
    monkeypatch.delitem(sys.modules, "own_metrics", raising=False)


def write(*records: Any, name: str = "t.jsonl") -> Path:
    file = Path(name)
    file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return file


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Return the one line that a mistake is answered with; nothing else is written anywhere."""
    before = sorted(path for path in Path().rglob("*") if "__pycache__" not in path.parts)
    assert answer(["mutt", *words]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1), err
    assert err.startswith("simlab: ")
    assert sorted(path for path in Path().rglob("*") if "__pycache__" not in path.parts) == before
    return err


def told(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[list[dict[str, Any]], str]:
    code = answer(["mutt", *words, "--format", "json"])
    out, err = capsys.readouterr()
    assert code == 0, err
    return json.loads(out), err


def test_rates_come_with_intervals_and_scores(capsys: pytest.CaptureFixture[str]) -> None:
    write(TRIAL, TRIAL, PARAPHRASE)
    Path("new").mkdir()
    rows, err = told(capsys, "t.jsonl", "--metrics", "bleu_1,chrf,bleu_4", "--scores", "new/s.csv")
    assert err == ""
    found = {(row["corruption"], row["metric"]): row for row in rows}
    assert list(found) == [(name, m) for name in ("altering", "passive") for m in ("bleu_1", "bleu_4", "chrf")]
    assert found["altering", "chrf"] == {
        "corruption": "altering", "kind": "altering", "metric": "chrf", "references": 2, "pass_rate": 1.0,
        "low": pytest.approx(0.025**0.5), "high": 1.0, "passed": 2, "n": 2, "zero_passes": 0, "near_ties": 0,
        "unscored": 0, "tolerance": 0.15, "near_tie": 0.0,
    }  # fmt: skip
    assert found["passive", "bleu_1"]["kind"] == "preserving"
    assert found["passive", "bleu_1"]["pass_rate"] == 1  # the same words
    assert found["passive", "bleu_4"]["pass_rate"] == 0
    scores = list(csv.DictReader(Path("new/s.csv").read_text(encoding="utf-8").splitlines()))
    assert len(scores) == 9
    first = scores[0]
    assert (first["metric"], first["trial"], first["lower_is_better"]) == ("bleu_1", "1", "false")
    assert float(first["original"]) == pytest.approx(1, abs=1e-6)


def test_a_table_in_rows_says_the_same_as_records(capsys: pytest.CaptureFixture[str]) -> None:
    write(TRIAL, {**PARAPHRASE, "type": "voice"})
    rows = [
        [*(t[k] for k in ("original", "corruption", "kind")), " ||| ".join(t["references"])]
        for t in (TRIAL, PARAPHRASE)
    ]
    lines = [
        "original\tcorruption\tkind\treferences\ttype",
        *("\t".join(row) + f"\t{t}" for row, t in zip(rows, ("", "voice"), strict=True)),
    ]
    Path("t.tsv").write_text("\ufeff" + "\r\n".join(lines) + "\r\n\r\n", encoding="utf-8")
    assert told(capsys, "t.tsv") == told(capsys, "t.jsonl")


def test_the_table_and_the_figure(capsys: pytest.CaptureFixture[str]) -> None:
    write(TRIAL, {**PARAPHRASE, "type": "$a$ voice_1$" + 99 * "x"})
    for figure in ("f.png", "f.svg", "f.pdf"):
        words = ["t.jsonl", "--metrics", "bleu,ter", "--references", "1,2", "--tolerance", "0.5", "--figure", figure]
        assert answer(["mutt", *words]) == 0
        assert Path(figure).stat().st_size > 1000
    out = capsys.readouterr().out
    assert re.search(r"metric +1 reference\n", out)
    assert "by at most 50 % of the original's" in out
    assert re.search(r"\naltering +altering +bleu_1 +\.00 \(\.00 to \.97\)", out)


def test_more_references_take_the_first_so_many(capsys: pytest.CaptureFixture[str]) -> None:
    write(TRIAL, {**TRIAL, "references": [*TRIAL["references"], " ", "A mat"]})
    rows, err = told(capsys, "t.jsonl", "--metrics", "rouge_l")
    assert [row["references"] for row in rows] == [3]
    assert "1 empty references left out" in err
    assert "trials have 2 to 3 references" in err
    found = files.read(Path("t.jsonl"), [1, 2]).trials
    assert [trials.references for trials in found] == [
        (("A cat sits on the old mat today",),) * 2,
        (tuple(TRIAL["references"]),) * 2,
    ]


COCO = {
    "x_a.json": [{"image_id": 1, "caption": "A cat sits"}, {"image_id": 2, "caption": "A dog runs"}],
    "x_b.json": [{"image_id": 2, "caption": "A dog is run"}, {"image_id": 1, "caption": "Sits a cat"}],
    "x_r1.json": {
        "annotations": [{"image_id": 1, "caption": "The cat sits"}, {"image_id": 2, "caption": "A dog runs"}]
    },
}


def write_coco(changed: dict[str, Any]) -> None:
    Path("coco").mkdir()
    for name, held in {**COCO, **changed}.items():
        if held is not None:
            Path("coco", name).write_text(held if isinstance(held, str) else json.dumps(held), encoding="utf-8")


def test_coco_captions_are_matched_by_image(capsys: pytest.CaptureFixture[str]) -> None:
    write_coco({"README.md": "not a trial", ".hidden": "", "x_R5.json": "{"})
    rows, err = told(capsys, "coco", "--kind", "x=disrupting", "--metrics", "bleu_1,cider")
    assert err == "coco: ignored, no trials: README.md, x_R5.json\n"
    assert [row["n"] for row in rows] == [2, 2]
    trials = files.read(Path("coco"), None, {"x": "disrupting"}).trials[0]
    assert trials.name == ("1", "2")
    assert trials.corrupted == ("Sits a cat", "A dog is run")


@pytest.mark.usefixtures("plugin")
def test_any_function_can_be_a_metric(capsys: pytest.CaptureFixture[str]) -> None:
    write(TRIAL, TRIAL, {**TRIAL, "corruption": "A cat sits on the old mat"})
    names = ["length", "errors", "raises", "short", "words", "holes"]
    asked = ",".join(f"own_metrics.{name}" for name in names)
    rows, err = told(capsys, "t.jsonl", "--metrics", f"{asked},bleu_1", "--plugins", "own_metrics")
    found = {row["metric"].removeprefix("own_metrics."): row for row in rows}
    assert found["length"]["passed"] == 0
    assert found["errors"]["n"] == 3
    for name in ("raises", "short", "words"):
        assert (found[name]["pass_rate"], found[name]["n"], found[name]["unscored"]) == (None, 0, 3)
    assert (found["holes"]["n"], found["holes"]["unscored"]) == (1, 2)
    for line in (
        "own_metrics.raises has no scores of altering with 2 references: it raised RuntimeError: out of memory",
        "own_metrics.short has no scores of altering with 2 references: it gave 1 scores for 3 sentences",
        "own_metrics.words has no scores of altering with 2 references: what it gave are not numbers",
        "own_metrics.holes: 2 of 3 pairs of scores are not finite",
        "a metric may talk",
    ):
        assert line in err
    # Where no metric gave a score there is no answer.
    reason = refused(capsys, "t.jsonl", "--metrics", "own_metrics.raises", "--plugins", "own_metrics")
    assert "no metric gave a score; own_metrics.raises has no scores" in reason
    assert "defines no function nothing" in refused(
        capsys, "t.jsonl", "--metrics", "own_metrics.nothing", "--plugins", "own_metrics"
    )


def test_a_missing_package_is_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics", None)
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    write(TRIAL)
    assert "needs the package sacrebleu, which is not installed; pip install 'simlab[mutt]'" in refused(
        capsys, "t.jsonl"
    )


def pairs(kind: Any, original: list[float], corrupted: list[float], *, lower: bool = False) -> scoring.ScorePairs:
    n = len(original)
    trials = Trials("c", kind, 1, tuple(map(str, range(n))), ("a",) * n, ("b",) * n, (("r",),) * n)
    metric = metrics.TestedMetric(("m",), lambda texts, _: {"m": original if texts[0] == "a" else corrupted}, lower)
    return scoring.score([trials], [metric])[0]


@pytest.mark.parametrize(
    ("kind", "lower", "expected"),
    [
        ("altering", False, [True, False, False, False, False, False]),
        ("disrupting", True, [False, True, False, False, True, False]),
        ("preserving", False, [False, False, True, True, False, False]),
    ],
)
def test_both_rules(kind: str, lower: bool, expected: list[bool]) -> None:
    held = pairs(kind, [1.0, 0.5, 0.0, 2.0, 0.0, np.nan], [0.5, 1.0, 0.0, 2.0, 1e-3, 1.0], lower=lower)
    assert pass_rates.passes(held, tolerance=0.15).tolist() == expected
    (rate,) = pass_rates.pass_rates([held], tolerance=0.15).rows
    assert (rate.n, rate.unscored, rate.passed, rate.kind) == (5, 1, sum(expected), kind)
    assert rate.zero_passes == (kind == "preserving")


def test_a_difference_of_just_the_tolerance_passes() -> None:
    assert pass_rates.is_alike(np.array([1.0]), np.array([0.85]), tolerance=0.15).all()
    assert not pass_rates.is_alike(np.array([1.0]), np.array([0.8499]), tolerance=0.15).any()


@pytest.mark.parametrize(("passed", "n"), [(0, 14), (9, 14), (14, 14), (499, 500)])
def test_intervals_are_those_of_scipy(passed: int, n: int) -> None:
    from scipy.stats import binomtest

    expected = binomtest(passed, n).proportion_ci(0.95, "exact")
    assert pass_rates.interval(passed, n) == pytest.approx((expected.low, expected.high), abs=1e-6)


def test_intervals_cover_as_they_promise() -> None:
    """Over all that 20 trials can give, the interval covers the rate in at least 95 % of the cases, whatever it is."""
    from scipy.special import comb

    passed = np.arange(21)
    bounds = np.array([pass_rates.interval(k, 20) for k in passed])
    for rate in np.linspace(0.01, 0.99, 99):
        chance = comb(20, passed) * rate**passed * (1 - rate) ** (20 - passed)
        covered = chance[(bounds[:, 0] <= rate) & (rate <= bounds[:, 1])].sum()
        assert covered >= 0.95


def test_metrics_of_a_sentence_without_words_are_numbers() -> None:
    trials = Trials("c", "altering", 1, ("1", "2"), ("?!", "a b c d"), ("...", "a"), (("!",), ("a b c d",)))
    for held in scoring.score(
        [trials], metrics.list_built_in_metrics([name for name in metrics.FAMILIES if name != "meteor"])
    ):
        assert held.failure is None, held.metric
        assert held.scored.all(), held.metric
        sign = -1 if held.lower_is_better else 1
        assert sign * held.original[1] >= sign * held.corrupted[1], held.metric


def test_a_metric_that_is_asked_for_twice_is_one() -> None:
    assert [metric.names for metric in metrics.list_built_in_metrics(["bleu_4", "bleu", "bleu_1", "rouge_2"])] == [
        ("bleu_1", "bleu_2", "bleu_3", "bleu_4"),
        ("rouge_2",),
    ]
    with pytest.raises(InputError, match="did you mean rouge_l"):
        metrics.list_built_in_metrics(["rougel"])


@pytest.mark.parametrize("name", ["pass_rates", "words"])
def test_examples_in_docstrings(name: str) -> None:
    failed, tried = doctest.testmod(importlib.import_module(f"simlab.metric_tests.{name}"))
    assert (failed, tried > 0) == (0, True)


def test_help_and_reading_import_no_packages_of_metrics() -> None:
    code = (
        "import sys; from simlab.cli import answer; import simlab.commands.mutt; answer(['mutt', '--help']); "
        "print(sorted({'nltk', 'sacrebleu', 'pycocoevalcap', 'rouge_score', 'jax', 'xarray'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.splitlines()[-1] == "[]"
