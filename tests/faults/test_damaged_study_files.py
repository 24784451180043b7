"""Damage the file of a frozen study: what reads it answers, or refuses it in one line and writes nothing."""

from __future__ import annotations

import csv
import re
import resource
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import as_file
from importlib.resources import files as packaged
from pathlib import Path
from random import Random

import pytest
from slowness import SHORT, slow_except
from told import told

from simlab.commands import conclude as command
from simlab.commands.exit_codes import DONE, REFUSED, RESERVED
from simlab.concluding.concluding import conclude
from simlab.config import compose
from simlab.config.studyfile import write as write_study
from simlab.effort import use_effort
from simlab.planning import execution, folder
from simlab.types import InputError
from simlab.world.files.fitted_world import BUILT_IN

STUDY = (
    *("systems=gaussian", "systems.n_systems=3", "systems.n_documents=12", "systems.n_segments=24"),
    *("raters.pool_size=6", "raters.raters_per_bucket=3", "raters.buckets_per_rater=1", "design.documents=8"),
)
COMMANDS = (
    ("assign", "my", "--items", "items.csv"),
    ("conclude", "--plan", "my"),
    ("conclude", "t.csv", "--plan", "my", "--no-repetition"),
    ("conclude", "t.csv", "--plan", "my/study.yaml", "--check"),
    ("plan", "my/study.yaml", "--out", "out"),
)
"""All that reads a frozen study; the plan is one of the study that somebody declared."""
VALUES = (
    *("[1]", "[]", "{}", "{a: 1}", "[[0.5, nan]]", "[1, 2, 3]", "[" * 40 + "]" * 40),
    *("null", "true", "~", "text", "x" * 5000, '""', '"1"', "'*'", "../../x", "é\u2028", "2026-01-01"),
    *("nan", "inf", "-inf", "-1", "0", "-0.0", "0.5", "0.999999", "2", "1_000", "0x10", "1e-320", "1e9", "1e308"),
    *("100000", "1000000000", "1000000000000000000", "1" + "0" * 30),
)
BYTES = b'\0\xff\t\r:#{"\n\x85'
MOST_MEGABYTES = 200
MOST_SECONDS = 20.0
"""CPU seconds of one answer, and by how much what the process takes at most may grow."""
LARGE = "  n_systems: 1000000000", "  pool_size: 100000000", "  n_segments: 1000000000"
WENT_THROUGH = "a study that can be planned"


def _headings(lines: list[str], rng: Random) -> int:
    """Choose a line with a key: in nine of ten cases one with a value behind it."""
    pattern = ": ." if rng.random() < 0.9 else ":"
    return rng.choice([k for k, line in enumerate(lines) if re.search(pattern, line)])


def _value(lines: list[str], rng: Random) -> None:
    k = _headings(lines, rng)
    lines[k] = f"{lines[k].partition(':')[0]}: {rng.choice(VALUES)}"


def _deleted(lines: list[str], rng: Random) -> None:
    del lines[rng.randrange(len(lines))]


def _doubled(lines: list[str], rng: Random) -> None:
    k = rng.randrange(len(lines))
    lines.insert(k, lines[k])


def _moved(lines: list[str], rng: Random) -> None:
    lines.insert(rng.randrange(len(lines)), lines.pop(rng.randrange(len(lines))))


def _indented(lines: list[str], rng: Random) -> None:
    k = rng.randrange(len(lines))
    lines[k] = " " * rng.randrange(1, 5) + lines[k].strip()


def _renamed(lines: list[str], rng: Random) -> None:
    k = rng.randrange(len(lines))
    lines[k] = re.sub("[a-z]", "q", lines[k], count=1)


def _added(lines: list[str], rng: Random) -> None:
    lines.insert(rng.randrange(len(lines)), f"nonsense: {rng.choice(VALUES)}")


def _referring(lines: list[str], rng: Random) -> None:
    """Let something stand for something else: an alias, a merged key, a tag."""
    k = _headings(lines, rng)
    key, _, value = lines[k].partition(":")
    tags = "!!int 3", "!!python/object/apply:os.system [x]", "!!binary aGk=", "${seed}"
    new = rng.choice(([f"{key}: &a {value}", "more: *a"], ["<<: {seed: 2}", lines[k]], [f"{key}: {rng.choice(tags)}"]))
    lines[k : k + 1] = new


LINES: dict[Callable[[list[str], Random], None], int] = {
    _value: 8,
    _deleted: 1,
    _doubled: 1,
    _moved: 1,
    _indented: 1,
    _renamed: 1,
    _added: 1,
    _referring: 3,
}
"""What is done to lines, and how often beside the rest."""


def damaged(study: str, rng: Random) -> bytes:
    """Damage a study once or twice: its lines, then perhaps its bytes, or its length."""
    lines = study.splitlines()
    for _ in range(rng.choice((1, 1, 1, 2))):
        rng.choices(list(LINES), list(LINES.values()))[0](lines, rng)
    held = "\n".join([*lines, ""]).encode()
    what = rng.random()
    if what < 0.05:
        at = rng.randrange(len(held))
        return held[:at] + bytes([rng.choice(BYTES)]) + held[at + 1 :]
    return held[: rng.randrange(len(held))] if what < 0.1 else held


@pytest.fixture(autouse=True)
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a frozen study, in a folder with what it takes to carry it out; nothing is simulated for a plan."""

    def went_through(*_: object) -> None:
        raise InputError(WENT_THROUGH)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(execution, "carry_out_plan", went_through)
    draw, outputs = Random(1), [(y, f"d{d}", s) for d in range(8) for s in (1, 2) for y in "ABC"]
    items = [(d, s, f"source {d} {s}", y, f"output {d} {s} {y}") for y, d, s in outputs]
    rated = [(y, d, s, f"r{(int(d[1:]) + s) % 6}", 40 + 12 * "ABC".find(y) + draw.randrange(20)) for y, d, s in outputs]
    write("items.csv", "document,segment,source,system,output", items)
    write("t.csv", "system,document,segment,rater,score", rated)
    return folder.freeze_study(compose(STUDY)).text


def write(name: str, head: str, rows: list[tuple[object, ...]]) -> None:
    with Path(name).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head.split(","), *rows])


def answers(held: bytes) -> list[tuple[int, str]]:
    """Ask every command about a study, each in a folder where nobody looked yet; hold what any answer must be."""
    found = []
    for words in COMMANDS:
        shutil.rmtree("my", ignore_errors=True)
        Path("my").mkdir()
        Path("my/study.yaml").write_bytes(held)
        files, began, most = everything(), time.process_time(), _megabytes()
        with use_effort(SHORT._replace(draws=10, equal_studies=20)):
            code, out, err = told(*words)
        assert time.process_time() - began < MOST_SECONDS, (words, held)
        assert _megabytes() - most < MOST_MEGABYTES, (words, held)
        assert code in (DONE, REFUSED, RESERVED), (words, held, err)
        if code == REFUSED:
            said = [line for line in err.splitlines() if line.startswith("simlab: ")]
            assert len(said) == 1, (words, held, err)
            assert err.splitlines()[-1] == said[0], (words, held, err)
            assert len(said[0]) < 1200, (words, held, err)
            assert out == "", (words, held)
            assert everything() == files, (words, held)
        found.append((code, err))
    return found


def everything() -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in Path().rglob("*") if file.is_file()}


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def test_an_undamaged_study_goes_through(study: str) -> None:
    *others, (code, err) = answers(study.encode())
    assert [code for code, _ in others] == [DONE] * 4, others
    assert (code, WENT_THROUGH in err) == (REFUSED, True)


@pytest.mark.parametrize(
    "line",
    [
        *("question: []", "question: [1]", "question: {a: 1}", "question: 3"),
        *("  documents: [1]", "design: 5", "seed: nan", "  buckets_per_rater: {}", "  buckets_per_rater: [[1]]"),
        *("  n_documents: 1" + "0" * 30, "  n_segments: '2'", "  pool_size: inf", "systems: []"),
    ],
)
def test_a_value_that_is_none_is_refused_by_all_commands(line: str, study: str) -> None:
    assert {code for code, _ in answers(having(study, line))} == {REFUSED}


@pytest.mark.parametrize("line", slow_except(LARGE[:1], LARGE))
def test_a_study_that_fits_into_no_memory_is_refused_before_it_is_drawn(line: str, study: str) -> None:
    (assigned, why), *_, (planned, _) = answers(having(study, line))
    assert (assigned, planned) == (REFUSED, REFUSED)
    assert re.search("would take about|pool_size", why), why


def test_raters_without_end_of_a_fitted_world_are_refused_before_they_are_named() -> None:
    world = compose(["systems=fitted", "systems.rater_pool=new"])
    with as_file(packaged("simlab.world").joinpath("data", BUILT_IN)) as file:
        shutil.copy(file, "my-world.yaml")
    config = {
        **world,
        "systems": {**world["systems"], "path": str(Path("my-world.yaml").resolve()), "n_raters": 1_000_000_000},
    }
    (code, why), _, (concluded, _), (checked, _), (planned, _) = answers(write_study(config).encode())
    assert (code, concluded, checked, planned) == (REFUSED,) * 4
    assert "lower systems.n_raters" in why


def having(study: str, line: str) -> bytes:
    """Write a line in place of the one with its key, and of what is below that."""
    key, lines = line.partition(":")[0], study.splitlines()
    (at,) = (k for k, one in enumerate(lines) if one.partition(":")[0] == key)
    below = next(
        (k for k in range(at + 1, len(lines)) if not lines[k].startswith(f"{key[: -len(key.lstrip())]} ")), at + 1
    )
    return "\n".join([*lines[:at], line, *lines[below:], ""]).encode()


def _assert_sound(study: str, seeds: range) -> None:
    codes = [code for seed in seeds for code, _ in answers(damaged(study, Random(seed)))]
    # Most is refused, and what is no damage goes through.
    assert codes.count(REFUSED) > 0.6 * len(codes)
    assert codes.count(DONE) > 0


@pytest.fixture
def without_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out of a conclusion its dearest part: equal systems under the study's own design."""
    monkeypatch.setattr(
        command, "conclude", lambda table, wanted, say: conclude(table, replace(wanted, gate=False), say)
    )


@pytest.mark.usefixtures("without_gate")
def test_damaged_study_files_are_answered_or_refused(study: str) -> None:
    _assert_sound(study, range(40))


@pytest.mark.slow
@pytest.mark.usefixtures("without_gate")
def test_a_hundred_more_damaged_study_files_are_answered_or_refused(study: str) -> None:
    _assert_sound(study, range(40, 140))


@pytest.mark.long
def test_five_hundred_damaged_study_files_are_answered_or_refused(study: str) -> None:
    _assert_sound(study, range(140, 640))
