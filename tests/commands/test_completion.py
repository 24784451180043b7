"""Complete words as a shell asks for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from simlab.cli import answer, app
from simlab.commands import completion, shells
from simlab.commands.completion import ASKED, Settings, glued
from simlab.config import compose, list_options, list_sweeps
from simlab.config.explaining import explain_keys
from simlab.types import InputError

COMPLETED = {
    "sw": ["sweep"],
    "--ver": ["--version"],
    "sweep item": ["item_grouping", "item_grouping_published"],
    "sweep item_grouping design.gr": ["design.grouping="],
    "run ra": ["raters.", "raters="],
    "run systems.mean": ["systems.mean=", "systems.mean_score="],
    "run raters=cr": ["raters=crowd_pool"],
    "run raters=crowd_pool,ide": ["raters=crowd_pool,identical"],
    "run analysis/test=per": ["analysis/test=permutation"],
    "run design.documents=": ["design.documents=40"],
    "run measure=srp,kend": ["measure=srp,kendall"],
    "run --quick se": ["seed="],
    "run --mul": ["--multirun"],
    "sweep item_grouping --preset ": ["quick", "spread"],
    "sweep load_balance --preset=": ["--preset=quick"],
    "run --out ": [],
    "run --sha": ["--shard"],
    "cluster-script s": ["slurm"],
    "cluster-script pbs item": ["item_grouping", "item_grouping_published"],
    "cluster-script pbs item_grouping design.gr": ["design.grouping="],
    "mer": ["merge"],
    "merge out": [],
    "run --cfg ": ["job"],
    "query outputs/x --measure srp,srp_d": ["srp,srp_disjoint"],
    "query --format=j": ["--format=json"],
    "fit --law g": ["gaussian"],
    "show raters.leniency": ["raters.leniency", "raters.leniency_sd"],
    "show pears": ["pearson"],
    "query out": [],
    "nonsense ": [],
}


@pytest.mark.parametrize("line", COMPLETED)
def test_a_word_is_completed(line: str) -> None:
    *before, word = line.split(" ")
    assert completion.completions(before, word, typer.main.get_command(app)) == COMPLETED[line]


def test_every_sweep_option_and_key_is_offered() -> None:
    settings = Settings()
    options = {group: sorted(names) for group, names in list_options().items() if group != "calculation"}
    assert {group: sorted(names) for group, names in settings.groups.items()} == options
    assert completion.sweeps() == list(list_sweeps())
    known = {key.key for key in explain_keys() if key.key.rpartition(".")[2] not in ("sha256", "plugins")}
    assert set(settings.keys) == {key for key in known if not key.startswith("calculation.")}
    assert settings.keys["design.documents"] == [str(compose()["design"]["documents"])]


def test_options_of_ones_own_are_offered(tmp_path: Path) -> None:
    (tmp_path / "raters").mkdir()
    (tmp_path / "raters/strangers.yaml").write_text("leniency_sd: 1.5\n")
    before = ["run", "--config-dir", str(tmp_path)]
    command = typer.main.get_command(app)
    assert completion.completions(before, "raters=str", command) == ["raters=strangers"]
    assert completion.completions(["run"], "raters=str", command) == []


@pytest.mark.parametrize(
    ("words", "together"),
    [
        (["run", "raters", "=", "cr"], ["run", "raters=cr"]),
        (["run", "raters", "="], ["run", "raters="]),
        (["run", "raters=cr"], ["run", "raters=cr"]),
        (["run", "seed", "=", "1", "x"], ["run", "seed=1", "x"]),
        (["query", "--format", "=", "j"], ["query", "--format=j"]),
        ([""], [""]),
    ],
)
def test_what_bash_takes_apart_is_put_together(words: list[str], together: list[str]) -> None:
    assert glued(words) == together


def in_bash(tmp_path: Path, *words: str) -> list[str]:
    """Complete the last word in Bash itself."""
    program = tmp_path / "simlab"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -m simlab\n")
    program.chmod(0o755)
    listed = " ".join(f"'{word}'" for word in words)
    script = f"{shells.BASH}\nCOMP_WORDS=(simlab {listed}); COMP_CWORD={len(words)}\n"
    script += f'_simlab_completion {program}\nprintf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.slow
def test_bash_gets_what_comes_behind_the_last_equals_sign(tmp_path: Path) -> None:
    assert in_bash(tmp_path, "run", "raters", "=", "cr") == ["crowd_pool"]
    assert in_bash(tmp_path, "run", "raters.noise", "=") == ["fresh", "0.0"]
    assert in_bash(tmp_path, "sweep", "item") == ["item_grouping", "item_grouping_published"]
    assert in_bash(tmp_path, "query", "some_folder") == []


def test_completion_imports_nothing_heavy() -> None:
    words = {"COMP_WORDS": "simlab\nrun\nraters=", "COMP_CWORD": "2", ASKED: "1"}
    code = (
        "import sys; from simlab.cli import answer; answer([]);"
        "print([name for name in ('numpy', 'yaml', 'hydra', 'pydantic', 'xarray') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **words}, capture_output=True, text=True, check=True
    )
    *found, heavy = done.stdout.splitlines()
    assert "raters=crowd_pool" in found
    assert heavy == "[]"


@pytest.mark.parametrize("name", shells.SCRIPTS)
def test_a_shell_is_taught_once(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("shellingham.detect_shell", lambda: (name, f"/bin/{name}"))
    for _ in range(2):
        assert answer(["--install-completion"]) == 0
    file = tmp_path / shells.FILES[name]
    assert str(file) in capsys.readouterr().out
    assert answer(["--show-completion"]) == 0
    assert capsys.readouterr().out == file.read_text()
    for start, line in [shells.READ_BY[name]] if name in shells.READ_BY else []:
        assert (tmp_path / start).read_text() == f"{line}\n"


def test_a_shell_that_is_not_known_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("tcsh", "/bin/tcsh"))
    with pytest.raises(InputError, match="bash, zsh, fish, and this shell is tcsh"):
        shells.shell()
