"""What somebody sees first: `simlab` alone, and the commands in groups."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping

import pytest
import typer

from simlab import cli
from simlab.commands.errors import MOVED_VERBS

HEAVY = ("numpy", "scipy", "pandas", "yaml", "pydantic", "hydra", "jax")


def _commands() -> Mapping[str, typer.core.TyperCommand]:
    return typer.main.get_command(cli.app).commands  # type: ignore[attr-defined,no-any-return]


def _misplaced(commands: Iterable[str], groups: Mapping[str, Iterable[str]]) -> list[str]:
    """Name the commands that do not stand in exactly one group."""
    placed = [name for names in groups.values() for name in names]
    return [name for name in commands if placed.count(name) != 1]


def test_every_command_stands_in_exactly_one_group() -> None:
    assert _misplaced(_commands(), cli.GROUPS) == []
    assert [heading.split()[0].rstrip(",") for heading in cli.GROUPS] == ["Decide", "Pilot", "Explore", "Keep"]
    # What is left out, and what stands twice, would be found.
    keep = list(cli.GROUPS)[-1]
    assert _misplaced(_commands(), {**cli.GROUPS, keep: ("verify", "merge")}) == ["export"]
    assert _misplaced(_commands(), {**cli.GROUPS, keep: (*cli.GROUPS[keep], "plan")}) == ["plan"]


@pytest.mark.slow
def test_help_shows_the_groups_and_every_command_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.answer(["--help-all"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.rstrip(":") for line in lines if line.rstrip(":") in cli.GROUPS] == list(cli.GROUPS)
    assert "Others:" not in lines
    named = [line.split()[0] for line in lines if line.startswith("  ") and line.split()[0] in _commands()]
    assert sorted(named) == sorted(_commands())


def test_help_shows_ten_verbs_and_names_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.answer(["--help"]) == 0
    page = capsys.readouterr().out
    lines = page[page.index(next(iter(cli.FIRST))) :].splitlines()
    shown = [line.split()[0] for line in lines if line.startswith("  ") and line.split()[0] in _commands()]
    first = [name for names in cli.FIRST.values() for name in names]
    assert (shown, len(set(first))) == (first, 10)
    others = " ".join(page.split()).partition("`simlab --help-all` shows these, too: ")[2].partition(".")[0]
    assert sorted([*others.split(", "), *first]) == sorted(_commands())
    # What stands on neither page would be found.
    assert "replay" not in others


def test_without_words_there_are_three_things_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.answer([]) == 0
    page = capsys.readouterr().out
    assert page.rstrip().splitlines()[-1].endswith("simlab --help-all: all commands")
    assert len(cli.THINGS) == 3
    for command, gets in cli.THINGS:
        name, *words = shlex.split(command)
        assert f"simlab {command}" in page
        assert gets in page
        # Every option that is shown is one.
        known = {option for one in _commands()[name].params for option in one.opts}
        assert {word for word in words if word.startswith("--")} <= known
    assert max(map(len, page.splitlines())) <= 110


@pytest.mark.parametrize("words", [[], ["--help"]])
def test_first_contact_imports_nothing_heavy(words: list[str]) -> None:
    code = f"import sys; from simlab.cli import answer; answer({words}); "
    code += f"print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("verb", MOVED_VERBS)
def test_a_verb_that_moved_names_its_successor(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert verb not in _commands()
    successor = MOVED_VERBS[verb].split()
    assert {word for word in successor if word.startswith("--")} <= {
        name for option in _commands()[successor[0]].params for name in option.opts
    }
    for words in ([verb], [verb, "a", "--study", "1"], [verb, "--help"]):
        assert cli.answer(words) == 2
        out, err = capsys.readouterr()
        assert (out, err) == ("", f"simlab: there is no command {verb} any more; use `simlab {MOVED_VERBS[verb]}`\n")
