"""Whatever is typed or stands in a file: an answer or a refusal, in bounded time, and nothing is run or written."""

from __future__ import annotations

import gzip
import io
import os
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any

import grammars
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from slowness import SHORT
from told import sound

from simlab.effort import use_effort

PROFILE: Any = {
    "derandomize": True,
    "database": None,
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
}
LONGEST_SECONDS = 20.0
"""CPU seconds of one answer; the largest take one."""
DRY = ("--cfg", "job")


def asked(*words: str, files: dict[str, bytes] | None = None) -> None:
    """Ask in a folder of its own, and look that nothing is left in it."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for name, content in (files or {}).items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_bytes(content)
        before = time.process_time()
        sound(*words)
        assert time.process_time() - before < LONGEST_SECONDS, words
        left = {path.as_posix() for path in Path().rglob("*") if path.is_file()}
        assert left == set(files or {}), words


def overrides(data: st.DataObject) -> None:
    asked("run", *data.draw(st.sampled_from([(), ("-m",)])), *DRY, "--", *data.draw(grammars.WORDS))


def sweeps(data: st.DataObject) -> None:
    words = data.draw(grammars.WORDS)
    asked("sweep", *DRY, "--", "./s.yaml", *words, files={"s.yaml": data.draw(grammars.SWEEP).encode("utf-8")})


def studies(data: st.DataObject) -> None:
    text = "simlab: 1\nquestion: rate\n" + data.draw(grammars.SWEEP)
    asked("run", *DRY, "--", "./s.yaml", *data.draw(grammars.WORDS), files={"s.yaml": text.encode("utf-8")})


def options(data: st.DataObject) -> None:
    group = data.draw(st.sampled_from(["systems", "raters", "measure", "metric", "design/grouping"]))
    content = data.draw(grammars.mutated(grammars.OPTION.map(lambda text: text.encode("utf-8"))))
    word = f"{group.replace('/', '.')}=mine"
    asked("run", word, *DRY, "--config-dir", "own", files={f"own/{group}/mine.yaml": content})


def tables(data: st.DataObject) -> None:
    form = data.draw(st.sampled_from(["ratings", "errors", "averages"]))
    asked("agreement", "./t.tsv", files={"t.tsv": data.draw(grammars.table(form))})


def conclusions(data: st.DataObject) -> None:
    """Conclude with all that a conclusion does by itself: the check on equal systems, and the repetition."""
    words = data.draw(st.sampled_from([(), ("--family", "fdr")]))
    with use_effort(SHORT._replace(draws=10, equal_studies=20)):
        asked("conclude", "./t.csv", *words, files={"t.csv": data.draw(grammars.ratings_table())})


def metric_tables(data: st.DataObject) -> None:
    form = data.draw(st.sampled_from(["outputs", "preferences", "trials"]))
    content = data.draw(grammars.table(form))
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        Path("t.csv").write_bytes(content)
        sound("fit-metric", "t.csv", "--out", "fits")
        assert {path.parts[0] for path in Path().rglob("*")} <= {"t.csv", "fits"}


def trials(data: st.DataObject) -> None:
    if data.draw(st.booleans()):
        asked("mutt", "t.jsonl", "--metrics", "chrf", files={"t.jsonl": data.draw(grammars.JSON_LINES)})
    else:
        asked("mutt", "t.tsv", "--metrics", "chrf", files={"t.tsv": data.draw(grammars.table("mutt"))})


def fitted_files(data: st.DataObject) -> None:
    line = st.builds(
        "{}: {}".format,
        st.sampled_from(["format", "draws", "mu", "rho_eta", "correlation", "systems", "x"]),
        grammars.VALUE,
    )
    text = "\n".join(data.draw(st.lists(line, max_size=5)))
    kind = data.draw(st.sampled_from(["world", "metric"]))
    head = data.draw(st.sampled_from([f"format: simlab fitted {kind} 1\n", ""]))
    content = data.draw(grammars.mutated(st.just((head + text).encode("utf-8"))))
    words = ["systems=fitted", "systems.path=f.yaml"] if kind == "world" else ["metric=fitted_mu", "metric.path=f.yaml"]
    asked("run", *words, "worlds=1", "studies=1", "--dry-run", "--jobs", "1", files={"f.yaml": content})


def archives(data: st.DataObject) -> None:
    raw = data.draw(grammars.table("ratings"))
    if data.draw(st.booleans()):
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for name in data.draw(
                st.lists(st.sampled_from(["t.tsv", "../t.tsv", "._t.tsv", "/t.tsv", "x"]), max_size=3)
            ):
                member = tarfile.TarInfo(name)
                member.type = data.draw(
                    st.sampled_from([tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.FIFOTYPE, tarfile.LNKTYPE])
                )
                member.size, member.linkname = len(raw) * (member.type == tarfile.REGTYPE), "/etc/passwd"
                archive.addfile(member, io.BytesIO(raw))
        raw = packed.getvalue()
    content = data.draw(grammars.mutated(st.just(gzip.compress(data.draw(grammars.mutated(st.just(raw))), mtime=0))))
    asked("agreement", "./t.tar.gz", files={"t.tar.gz": content})


KINDS: dict[Callable[[st.DataObject], None], int] = {
    overrides: 4,
    sweeps: 3,
    studies: 2,
    options: 3,
    tables: 3,
    conclusions: 2,
    metric_tables: 2,
    trials: 1,
    fitted_files: 1,
    archives: 1,
}
"""What is fuzzed, and its share of twenty examples."""


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_whatever_comes_in_is_answered_or_refused(kind: Callable[[st.DataObject], None]) -> None:
    settings(**PROFILE, max_examples=KINDS[kind])(given(st.data())(kind))()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_hundred_inputs_are_answered_or_refused(kind: Callable[[st.DataObject], None]) -> None:
    settings(**PROFILE, max_examples=6 * KINDS[kind])(given(st.data())(kind))()


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_two_thousand_inputs_are_answered_or_refused(kind: Callable[[st.DataObject], None]) -> None:
    settings(**PROFILE, max_examples=100 * KINDS[kind])(given(st.data())(kind))()


ATTACKS = [
    "run systems._target_=os.system",
    "run +systems._target_=os.system",
    "run raters={_target_:os.system,command:PWN}",
    "run systems.n_systems=${oc.env:HOME}",
    "run -m systems.n_systems=3,${oc.env:HOME}",
    "run systems=recorded systems.path=${oc.env:HOME}/x.tsv",
    "run seed=${now:%s}",
    "run seed=${eval:1+1}",
    "run systems._recursive_=true",
    "run +systems._convert_=all",
    "run hydra.run.dir=PWN",
    "run hydra/launcher=basic",
    "run hydra.searchpath=[file:///etc]",
    "run --config-dir own systems=../../../etc/passwd",
    "run systems=/etc/passwd",
    "run measure=../measure/srp",
    "run plugins=[os]",
    "run plugins=os",
    "run --plugins os systems=mqm",
    "run --plugins ../x",
    "mutt t.jsonl --metrics os.system",
    "mutt t.jsonl --metrics os.system --plugins os",
]


@pytest.mark.parametrize("line", ATTACKS)
def test_nothing_that_is_typed_runs_or_reads(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/secret-home")
    monkeypatch.setattr(os, "system", lambda command: pytest.fail("ran"))
    err = sound(*line.replace("PWN", str(tmp_path / "pwned")).split(), *(() if line.startswith("mutt") else DRY))
    assert err.count("\n") == 1, err
    assert "secret-home" not in err
    assert list(tmp_path.iterdir()) == []


FILE_ATTACKS = [
    "set: {systems._target_: os.system}",
    "axes: {systems._target_: [os.system, os.remove]}",
    "set: {seed: !!python/object/apply:os.system [touch pwned]}",
    "!!python/object/apply:os.system [touch pwned]",
    "set: {seed: '${oc.env:HOME}'}",
    "axes: {seed: ['${oc.env:HOME}']}",
    "axes: {systems.path: ['${oc.env:HOME}/a', b]}",
    "defaults: [../../etc/passwd]",
    "set: {plugins: [os]}",
    "set: {hydra.run.dir: x}",
    "simlab: 1\nplugins: [this]\nsystems: {_target_: this.s}",
    "simlab: 1\nsystems: {_target_: os.system, command: touch pwned}",
    "simlab: 1\nsystems: {_target_: simlab.cli.main}",
    "simlab: 1\nsystems: {_target_: simlab.world.systems.mqm, _recursive_: true}",
    "simlab: 1\nraters: {inner: {_target_: builtins.eval}}",
]


@pytest.mark.parametrize("text", FILE_ATTACKS)
def test_nothing_in_a_file_runs_or_reads(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/secret-home")
    Path("s.yaml").write_text(text)
    command = "run" if text.startswith("simlab") else "sweep"
    err = sound(command, *DRY, "./s.yaml")
    assert err.count("\n") == 1, err
    assert "secret-home" not in err
    assert "this" not in sys.modules
    assert [path.name for path in tmp_path.iterdir()] == ["s.yaml"]


TARGETS = [
    *("os.system", "builtins.eval", "simlab.cli.main", "simlab.world.systems.np.load", "simlab.parts.resolve"),
    *("simlab.world.systems.mqm.__globals__", "simlab.world.systems._documents", "simlab.world", ".os.system", "eval"),
]


@pytest.mark.parametrize("target", TARGETS)
def test_an_own_option_can_name_parts_only(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "own" / "systems" / "mine.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(f"# Mine.\n_target_: {target}\ncommand: touch pwned\n")
    err = sound("run", "systems=mine", "--config-dir", "own", *DRY)
    assert "names no part" in err
    assert not Path("pwned").exists()


@pytest.mark.parametrize(
    "text", ["n_systems: ${oc.env:HOME}", "defaults: [/etc/passwd]", "n_systems: !!python/name:os.system"]
)
def test_an_option_of_ones_own_refers_to_nothing(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/secret-home")
    file = tmp_path / "own" / "systems" / "mine.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(f"# Mine.\n_target_: simlab.world.systems.mqm\n{text}\n")
    err = sound("run", "systems=mine", "--config-dir", "own", *DRY)
    assert err.count("\n") == 1
    assert "secret-home" not in err
