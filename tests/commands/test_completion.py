"""Typer completes the words of a command line, as a shell asks for it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def said(*words: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "simlab", *words], env=os.environ | environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("line", "completed"), [("simlab sw", ["sweep"]), ("simlab plan --marg", ["--margin"]), ("simlab nonsense x", [])]
)
def test_words_are_completed(line: str, completed: list[str]) -> None:
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    assert said(_SIMLAB_COMPLETE="complete_bash", **asked).split() == completed


def test_the_script_for_a_shell_is_shown() -> None:
    assert "_SIMLAB_COMPLETE=complete_bash" in said(
        "--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1"
    )
