"""Example files are found wherever simlab is installed, copied whole, and do what their line says."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from faults.told import told

from simlab.commands import examples
from simlab.config.groups import folder

COMMAND = re.compile(r"simlab (.*)$")
AT_ONCE = {
    name: found[1] for name, line in examples.FILES.items() if (found := COMMAND.search(line)) and "my" not in line
}


def test_the_list_names_all_that_lies_there() -> None:
    there = {path.name for path in folder("examples").iterdir() if not path.name.startswith((".", "__"))}
    assert there == {*examples.FILES}


def test_copies_are_whole_and_nothing_is_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, _ = told("examples", "--copy", "mine")
    assert code == 0
    assert out.endswith("copied to mine\n")
    for name in examples.FILES:
        for file in (folder("examples") / name).rglob("*.*") if "." not in name else [folder("examples") / name]:
            if (
                file.is_file()
                and "__pycache__" not in file.parts
                and not any(p.startswith(".") for p in file.parts[-2:])
            ):
                assert (Path("mine") / file.relative_to(folder("examples"))).read_bytes() == file.read_bytes()
    Path("mine/items.csv").write_text("my own", encoding="utf-8")
    code, _, err = told("examples", "--copy", "mine")
    assert code == 2
    assert err == "simlab: --copy mine: ratings.csv is there already; name a new folder\n"
    assert Path("mine/items.csv").read_text(encoding="utf-8") == "my own"


@pytest.mark.parametrize("name", sorted(AT_ONCE))
def test_a_line_does_what_it_says(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(folder("examples") / name, tmp_path)
    words = shlex.split(AT_ONCE[name])
    quick = ["--no-repetition"] if words[0] == "conclude" else []
    code, out, err = told(*words, *quick)
    assert code in (0, 3), err
    assert out
