"""Run the command line as a process: how it starts, how it is interrupted, what it does when nobody reads."""

from __future__ import annotations

import codecs
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from simlab import cli
from simlab.commands import show as showing
from simlab.commands.streams import SPELLED_OUT, spell_signs

SIMLAB = [sys.executable, "-m", "simlab"]


def simlab(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*SIMLAB, *words], cwd=cwd, capture_output=True, text=True)


def test_help_is_there_at_once() -> None:
    def seconds() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert simlab("--help").returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    # The machine may be busy with something else; what counts is what simlab needs of a processor.
    assert min(seconds() for _ in range(4)) < 0.5


def test_a_mistake_reaches_stderr_only() -> None:
    found = simlab("swep")
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr == "simlab: there is no command swep; did you mean sweep?\n"


@pytest.mark.parametrize("words", [("--against", "S99"), ("analysis.tst=max_t",)])
def test_a_mistake_found_while_a_world_is_fitted_aside_is_one_line_and_the_code_of_a_mistake(
    words: tuple[str, ...],
) -> None:
    found = simlab("conclude", str(Path(__file__).parents[2] / "examples" / "ratings.csv"), *words)
    assert (found.returncode, found.stdout, found.stderr.count("\n")) == (2, "", 1)
    assert "did you mean" in found.stderr or "no such system" in found.stderr


def test_ctrl_c_ends_in_one_line(tmp_path: Path) -> None:
    words = ["sweep", "item_grouping", "worlds=40", "studies=500", "engine.block=1", "--jobs", "1", "--out", "s"]
    process = subprocess.Popen([*SIMLAB, *words], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 300
    while not (tmp_path / "s" / "ledger.sqlite").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 130
    assert (
        said.splitlines()[-1] == "simlab: interrupted; blocks that were finished are kept, the same command continues"
    )
    assert "Traceback" not in said


@pytest.mark.parametrize(
    "words", [["--help"], ["show"], pytest.param(["show", "item_grouping"], marks=pytest.mark.slow)]
)
def test_nobody_reads_and_nothing_is_said(words: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    process = subprocess.run([*SIMLAB, *words], stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert (process.returncode, process.stderr) == (141, "")


@pytest.mark.slow
def test_output_that_cannot_show_a_sign_replaces_it(tmp_path: Path) -> None:
    found = subprocess.run(
        [*SIMLAB, "show", "item_grouping"], capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"}
    )
    assert found.returncode == 0


def in_encoding(encoding: str, *words: str, cwd: Path) -> tuple[str, str]:
    env = {**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": encoding}
    found = subprocess.run([*SIMLAB, *words], cwd=cwd, capture_output=True, env=env)
    assert found.returncode == 0
    return found.stdout.decode(encoding), found.stderr.decode(encoding)


@pytest.mark.slow
def test_bounds_keep_their_direction_in_every_encoding(tmp_path: Path) -> None:
    small = ["systems.n_systems=3", "systems.n_documents=21", "systems.n_segments=21", "design.documents=8"]
    ask = ["run", *small, "worlds=2", "studies=4", "--jobs", "1", "--out", "s"]
    whole, _ = in_encoding("utf-8", *ask, cwd=tmp_path)
    assert "≥" in whole or "≤" in whole
    for encoding in ("ascii", "cp1252"):
        out, _ = in_encoding(encoding, *ask, cwd=tmp_path)
        spelled = whole.replace("≥", ">=").replace("≤", "<=")
        said = spelled.replace("±", "+/-") if encoding == "ascii" else spelled
        assert out.split() == said.split()


def test_what_else_a_stream_cannot_show_is_escaped() -> None:
    codecs.register_error(SPELLED_OUT, spell_signs)
    assert "ä ± .1 ≥ .2".encode("ascii", SPELLED_OUT) == b"\\xe4 +/- .1 >= .2"
    assert "\udc80≤".encode("utf-16-le", SPELLED_OUT).decode("utf-16-le") == "\\udc80≤"


def unwritable(**_: object) -> tuple[int, str]:
    raise OSError("no room")


def test_a_bug_is_one_line_that_says_how_to_see_more(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> str:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(showing, "show_words", broken)
    monkeypatch.delenv("SIMLAB_TRACEBACK", raising=False)
    assert cli.answer(["show"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "bug" in err
    kept = Path(err.rpartition(" ")[2].strip())
    assert "RuntimeError: two\nlines" in kept.read_text(encoding="utf-8")
    kept.unlink()
    monkeypatch.setattr(tempfile, "mkstemp", unwritable)
    assert cli.answer(["show"]) == 1
    assert "SIMLAB_TRACEBACK=1" in capsys.readouterr().err
    monkeypatch.setenv("SIMLAB_TRACEBACK", "1")
    with pytest.raises(RuntimeError, match="two"):
        cli.answer(["show"])


@pytest.mark.slow
def test_options_may_stand_before_or_after_settings(tmp_path: Path) -> None:
    small = ["systems.n_systems=3", "systems.n_documents=21", "systems.n_segments=21", "design.documents=7,14"]
    first = simlab("sweep", "item_grouping", "--dry-run", "--out", "s", *small, cwd=tmp_path)
    second = simlab("sweep", "--out", "s", "item_grouping", *small, "--dry-run", cwd=tmp_path)
    assert first.returncode == second.returncode == 0
    assert first.stdout.splitlines()[1] == second.stdout.splitlines()[1] == "  cells      6"


def test_folder_of_a_changed_sweep_does_not_depend_on_the_order_of_changes() -> None:
    from simlab.commands.launch import default_folder

    def name(*changes: str, quick: bool = False) -> str:
        return default_folder("item_grouping", changes, quick=quick, plugins=[]).name

    assert name("a=1", "b=2") == name("b=2", "a=1")
    assert len({name(), name("a=1"), name("a=2"), name(quick=True), name("a=1", quick=True)}) == 5
    assert default_folder("a/my.yaml", [], quick=False, plugins=[]).as_posix() == "outputs/my"
