"""Values that cannot be fail their campaign, parts that write into what they are handed their block: never exit 0."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import bad_parts
import numpy as np
import pytest
import yaml
from bad_parts import PACKAGE, SMALL, words
from poisoned.parts import MODES
from small_studies import CONF, judgement_study, preference_study, study

from simlab.cli import answer
from simlab.studies.blocks import Block, run_block
from simlab.studies.kinds import identify_kind
from simlab.types import OK, Array, Place

Slot = tuple[str, ...]

SCORED = study() | {"metric": yaml.safe_load((CONF / "metric/segment_metric.yaml").read_text())}
FRESH = study() | {"raters": study()["raters"] | {"noise": "fresh"}}
STUDIES = {"rate": FRESH, "fixed": SCORED, "compare": preference_study(), "judge": judgement_study()}
PLACES = [Place(world, study=k) for world in range(2) for k in range(5)]
SMALLER = {"n_systems": 4, "n_items": 30, "n_documents": 14, "n_segments": 40, "n_outputs": 100}


def slots(section: Mapping[str, Any], path: Slot = ()) -> Iterator[Slot]:
    """List where a config names a part."""
    for key, value in section.items():
        if isinstance(value, dict):
            yield from ([(*path, key)] if "_target_" in value else [])
            yield from slots(value, (*path, key))


def put(config: Mapping[str, Any], slot: Slot, section: Mapping[str, Any]) -> dict[str, Any]:
    if not slot:
        return dict(section)
    return {**config, slot[0]: put(config[slot[0]], slot[1:], section)}


def at(config: Mapping[str, Any], slot: Slot) -> Any:
    return at(config[slot[0]], slot[1:]) if slot else config


def poisoned(config: Mapping[str, Any], slot: Slot, mode: str) -> dict[str, Any]:
    """Let the part of a slot return other numbers than it does."""
    section = at(config, slot)
    lie = section | {"_target_": "poisoned.parts.poisoned", "original": section["_target_"], "mode": mode}
    return put(config, slot, lie) | {"plugins": ["poisoned"]}


def modes(slot: Slot) -> list[str]:
    return [*MODES, *(f"answers {mode}" for mode in MODES if slot == ("raters",))]


def carried_out(config: Mapping[str, Any]) -> Block:
    """Carry out studies as a worker does, where numpy's warnings are no errors."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return run_block(config, PLACES)


def wrong_answers(config: Mapping[str, Any], clean: Mapping[str, Array], block: Block) -> list[str]:
    """Name the outcomes of campaigns that pass for sound ones and are not what they are without the poison.

    What now says that it knows nothing, where that is an answer, is no wrong answer.
    """
    sound, declared = block.arrays["status"] == OK, identify_kind(config).outcomes
    assert len(block.failures) == np.count_nonzero(~sound)
    wrong = []
    for name, array in block.arrays.items():
        rows = slice(None) if name.startswith("true_") else sound
        gap = np.isnan(array[rows]) & declared[name].gap if array.dtype.kind == "f" else False
        same = clean[name][rows] == array[rows] if name in clean else np.array(False)
        if name != "status" and not (same | gap).all():
            wrong.append(name)
    return wrong


def found(config: Mapping[str, Any], chosen: list[Slot]) -> tuple[dict[str, list[str]], int]:
    """Poison parts in every way; return the wrong answers, and how often the poison was noticed."""
    clean = carried_out(config)
    assert (clean.arrays["status"] == OK).all()
    wrong, noticed = {}, 0
    for slot in chosen:
        for mode in modes(slot):
            try:
                block = carried_out(poisoned(config, slot, mode))
            except Exception as error:
                assert "plug-in" not in str(error), error  # noqa: PT017 (the poison itself has to work)
                noticed += 1
                continue
            noticed += bool(block.failures)
            if names := wrong_answers(config, clean.arrays, block):
                wrong[f"{'.'.join(slot)}: {mode}"] = names
    return wrong, noticed


@pytest.mark.parametrize("question", STUDIES)
def test_no_part_that_returns_what_is_no_number_gives_an_answer(question: str) -> None:
    config = STUDIES[question]
    chosen = [slot for slot in slots(config) if slot != ("design", "grouping")]
    wrong, noticed = found(config, chosen)
    assert not wrong
    # A rule's theta may be unknown, and a rating that nobody asks for may be anything.
    assert noticed >= sum(len(modes(slot)) for slot in chosen) - 4


def test_without_the_checks_the_same_poison_gives_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: what the checks find is there to be found."""
    from simlab.studies import blocks
    from simlab.studies.ratings import concluding

    monkeypatch.setattr(blocks, "find_impossible", lambda *_: iter(()))
    monkeypatch.setattr(concluding, "probabilities", lambda p_value, part: p_value)
    monkeypatch.setattr(concluding, "is_in_bounds", lambda array: True)
    wrong, _ = found(FRESH, [("analysis", "test"), ("analysis", "normalization")])
    assert len(wrong) == 2 * len(MODES)
    assert wrong["analysis.test: all nan"] == ["significant", "p_value"]


@pytest.mark.long
@pytest.mark.parametrize("question", STUDIES)
def test_no_option_that_returns_what_is_no_number_gives_an_answer(question: str) -> None:
    tried = 0
    for slot in slots(STUDIES[question]):
        for file in sorted(CONF.joinpath(*slot).glob("*.yaml")):
            section = yaml.safe_load(file.read_text()) or {}
            section |= {key: value for key, value in SMALLER.items() if key in section}
            config = put(STUDIES[question], slot, section)
            try:
                carried_out(config)
            except Exception:
                continue
            tried += 1
            wrong, _ = found(config, [slot])
            assert not wrong, file.stem
    assert tried >= 10


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the plug-in once: workers that found it serve the next test, too."""
    folder = tmp_path_factory.mktemp("package")
    bad_parts.install(folder)
    return folder


@pytest.fixture
def bad(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(package))


NUMBER = "returns what is no number"
WRITES = f"a part writes into what it was handed ({PACKAGE}.parts."
AGAIN = "when it was carried out again: a part draws from a generator of its own, or keeps state"


MISBEHAVING = [
    ("rate", "analysis.test=test_nan", 4, "12 campaigns failed and are left out of the measures: analysis.test"),
    ("rate", "analysis.test=test_rarely_nan", 3, "analysis.test gives the p-value nan"),
    ("rate", "analysis.test=test_negative", 4, "which does not lie between 0 and 1"),
    ("rate", "analysis.test=test_writes", 4, WRITES + "test_writes"),
    ("rate", "analysis.test=test_global", 3, AGAIN),
    ("rate", "analysis.test=test_counts", 3, "gave another p_value " + AGAIN),
    ("rate", "analysis.normalization=normalise_inf", 4, NUMBER),
    ("rate", "analysis.normalization=normalise_one_nan", 4, "analysis.normalization makes a rating nan"),
    ("rate", "analysis.normalization=normalise_writes", 4, WRITES + "normalise_writes"),
    ("compare", "decision=decision_nan", 4, "p_mean is nan for pair 1, preference 1; a part of this study"),
    ("compare", "decision=decision_half", 3, "decision gives a verdict other than +1, 0 and -1"),
    ("compare", "decision=decision_writes", 4, WRITES + "decision_writes"),
    ("compare", "decision=decision_counts", 3, "gave another theta " + AGAIN),
    ("compare", "analysis.reference=reference_nan", 4, "analysis.reference gives the p-value nan"),
    ("compare", "analysis.reference=reference_writes", 4, WRITES + "reference_writes"),
    ("judge", "analysis.estimator=estimator_nan", 4, "estimate is nan for system 1; a part of this study"),
    ("judge", "analysis.estimator=estimator_huge", 4, "numbers beyond 1e+15 cannot be told apart"),
    ("judge", "analysis.estimator=estimator_below_zero", 4, "for system 1; it cannot be below 0"),
    ("judge", "analysis.estimator=estimator_writes", 2, WRITES + "estimator_writes"),
    ("judge", "analysis.estimator=estimator_own", 3, "gave another estimate " + AGAIN),
]


@pytest.mark.usefixtures("bad")
@pytest.mark.parametrize(
    ("question", "part", "code", "said"),
    [*MISBEHAVING[:2], *(pytest.param(*case, marks=pytest.mark.slow) for case in MISBEHAVING[2:])],
)
def test_a_part_that_misbehaves_is_told_and_never_ends_with_0(
    question: str, part: str, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert answer(words(question, part)) == code
    captured = capsys.readouterr()
    assert said in captured.err
    assert "Warning" not in captured.err
    told = [line for line in captured.err.splitlines() if "failed" in line or "handed" in line]
    assert 1 <= len(told) <= 3
    if code == 4:
        assert "±" not in captured.out.replace("± Monte-Carlo", "")


@pytest.mark.usefixtures("bad")
def test_a_measure_that_writes_into_outcomes_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(words("rate", "measure=[measure_writes]")) != 0
    said = capsys.readouterr().err
    assert "the measure measure_writes failed in 1 cell" in said
    assert "read-only" in said
    assert re.search(r"read-only \(parts\.py, line \d+, in \w+\)", said)


@pytest.mark.slow
@pytest.mark.usefixtures("bad")
def test_a_measure_of_infinite_numbers_failed_and_the_reason_of_others_is_not_made_up(
    capsys: pytest.CaptureFixture[str],
) -> None:
    measures = "measure=[srp,measure_nan,measure_infinite,measure_huge]"
    assert answer(words("rate", measures)) == 3
    out, err = capsys.readouterr()
    assert "measure_nan (undefined)" in out
    assert "measure_infinite (the measure failed: ValueError: " in out
    assert "measure_huge (the measure failed: " in out
    assert "the measure measure_infinite failed in 1 cell" in err
    assert "the measure measure_huge failed in 1 cell" in err
    assert "Warning" not in err
    assert answer(["query", "s", "--measure", "srp"]) == 0
    assert answer(["query", "s", "--measure", "measure_huge"]) == 3


@pytest.mark.slow
@pytest.mark.usefixtures("bad")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_what_parts_print_is_no_part_of_the_answer(jobs: str, package: Path) -> None:
    asked = words("rate", "analysis.test=test_prints", "measure=[srp,measure_prints]", "--format", "json")
    asked[asked.index("--jobs") + 1] = jobs
    found = subprocess.run(
        [sys.executable, "-m", "simlab", *asked],
        env={**os.environ, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0
    assert json.loads(found.stdout)[0]["measure_prints"] == 0.5
    for letter in "abcd":
        assert f'{{"{letter}": 1}}' in found.stderr


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("systems.mean_score=1e300", "must be a number > 0 and <= 1000000.0"),
        ("raters.dispersion=1e300", "must be a number >= 0 and <= 100"),
    ],
)
def test_worlds_beyond_all_scales_are_refused(
    key: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert answer(["run", *SMALL["rate"], key, "--out", "s"]) == 2
    assert said in capsys.readouterr().err
    assert not Path("s").exists()


def run_in(folder: Path, monkeypatch: pytest.MonkeyPatch, *keys: str) -> int:
    monkeypatch.chdir(folder)
    return answer(["run", *SMALL["rate"], "worlds=2", "studies=6", *keys, "--jobs", "1", "--out", "s"])


@pytest.mark.slow
@pytest.mark.parametrize("keys", [[], ["engine.outcomes=false"]])
def test_a_world_in_which_nothing_can_be_told_apart_says_so(
    keys: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_in(tmp_path, monkeypatch, "raters.leniency_sd=1000", *keys) == 3
    line = "in 12 of 12 campaigns every system has the same estimate (0): nothing can be told apart"
    assert line in capsys.readouterr().err
    assert answer(["verify", "s"]) == 0
    capsys.readouterr()
    assert answer(["query", "s"]) == 3
    assert capsys.readouterr().err.count(line) == 1
    assert run_in(tmp_path, monkeypatch, "raters.leniency_sd=1000", *keys) == 3  # nothing was left to run


def test_equal_systems_are_told_apart_by_noise_and_no_reservation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Negative control: a null world is a world."""
    assert run_in(tmp_path, monkeypatch, "systems.system_sd=0") == 0
    assert "nothing can be told apart" not in capsys.readouterr().err
