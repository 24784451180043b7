"""Hold what simlab refuses, and in which line, against refusals.yaml: exit code 2, one line, nothing written.

`uv run python tests/golden/test_refusals.py` records the lines anew.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from datetime import date
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pytest
import typer
import yaml
from slowness import slow_except

from simlab.cli import answer, app

TABLE = Path(__file__).with_name("refusals.yaml")
REFUSALS: dict[str, Any] = yaml.load(TABLE.read_text(encoding="utf-8"), yaml.CSafeLoader)
CASES: list[dict[str, Any]] = REFUSALS["refusals"]


def run(words: str) -> tuple[int, str, str]:
    """Return the exit code of a command, and what it prints on stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.dict(os.environ, COLUMNS="80", UV_RUN_RECURSION_DEPTH="1"),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = answer(shlex.split(words))
    return code, out.getvalue(), err.getvalue()


def refusal(words: str) -> str:
    """Return the line that refuses a command, without this folder, today's date and simlab's version."""
    before = listing()
    code, out, err = run(words)
    assert (code, out) == (2, ""), f"{words}: {err or out}"
    assert listing() == before, words
    assert err.startswith("simlab: ")
    assert err.count("\n") == 1, err
    line = err.removeprefix("simlab: ").strip().replace(str(Path.cwd()), "HERE")
    line = line.replace(date.today().isoformat(), "TODAY")
    return re.sub(rf"\b{re.escape(version('simlab'))}\b", "VERSION", line)


def listing() -> list[tuple[str, int, int]]:
    """List all files below this folder, those behind links too, with their sizes and times."""
    walked = os.walk(".", followlinks=True)
    files = sorted(os.path.join(folder, name) for folder, _, names in walked for name in names)
    return [(name, os.lstat(name).st_size, os.lstat(name).st_mtime_ns) for name in files]


def make_inputs() -> None:
    """Write the inputs that several cases name: files, and what commands make or print."""
    write(REFUSALS["files"])
    for name, words in REFUSALS["made"].items():
        code, out, err = run(words)
        assert code in (0, 3), err
        if not Path(name).exists():
            write({name: out})


def write(files: Mapping[str, str | bytes]) -> None:
    """Write files by their names; `!!binary` ones as they are, texts in UTF-8."""
    for name, content in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())


def link_inputs(case: Mapping[str, Any], inputs: Path) -> None:
    """Put into this folder what a command names, and nothing else."""
    for shared in inputs.iterdir():
        if re.search(rf"(?<![\w.-]){re.escape(shared.name)}(?![\w.-])", case["words"]):
            Path(shared.name).symlink_to(shared)
    write(case.get("files", {}))


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the inputs that several cases name once."""
    folder = tmp_path_factory.mktemp("inputs")
    with contextlib.chdir(folder):
        make_inputs()
    return folder


COMMANDS = list(dict.fromkeys(case["words"].split()[0] for case in CASES))


@pytest.mark.parametrize("command", slow_except([command for command in COMMANDS if command != "plan"], COMMANDS))
def test_refusals_are_the_recorded_lines(command: str, inputs: Path, tmp_path: Path) -> None:
    recorded = [(case["words"], case["line"]) for case in CASES if case["words"].split()[0] == command]
    assert list(refusals(command, inputs, tmp_path)) == recorded


def refusals(command: str, inputs: Path, place: Path) -> Iterator[tuple[str, str]]:
    """Give all cases of a command, each in a new folder; return their words and lines."""
    for number, case in enumerate(case for case in CASES if command in ("", case["words"].split()[0])):
        folder = place / str(number)
        folder.mkdir()
        with contextlib.chdir(folder):
            link_inputs(case, inputs)
            yield case["words"], refusal(case["words"])


def test_the_table_has_a_hundred_cases_and_every_command() -> None:
    commands = set(getattr(typer.main.get_command(app), "commands", {}))
    assert len(CASES) >= 100
    assert commands <= {case["words"].split()[0] for case in CASES}


def test_what_is_answered_is_no_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError):
        refusal("detect n_human=100")


def test_a_refusal_that_writes_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = listing()
    write({"more/file.txt": ""})
    assert listing() != before


def main() -> None:
    """Record the lines anew."""
    with TemporaryDirectory() as folder:
        inputs = Path(folder, "inputs")
        inputs.mkdir()
        with contextlib.chdir(inputs):
            make_inputs()
        lines = [line for _, line in refusals("", inputs, Path(folder))]
    for case, line in zip(CASES, lines, strict=True):
        case["line"] = line
    head = "".join(line for line in TABLE.read_text(encoding="utf-8").splitlines(True) if line.startswith("#"))
    TABLE.write_text(head + "\n" + dumped(REFUSALS), encoding="utf-8")


def dumped(table: Mapping[str, Any]) -> str:
    """Write a table as YAML, texts of several lines as blocks."""

    class Dumper(yaml.SafeDumper):
        pass

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    Dumper.add_representer(str, text)
    return yaml.dump(dict(table), Dumper=Dumper, sort_keys=False, allow_unicode=True, width=10_000)


if __name__ == "__main__":
    sys.exit(main())
