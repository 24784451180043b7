"""A run whose store is complete gives its answer, whatever stands where it is only remembered or kept."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from reading import say

from simlab.commands import saved_answers
from simlab.store.folder import last_store, remember_last
from simlab.types import InputError

WORDS = ("sweep", "measurable_difference", "n_metric=0,1000", "--quick")


def folder_in_the_way(outputs: Path) -> None:
    (outputs / ".last" / "deep").mkdir(parents=True)


def pipe(outputs: Path) -> None:
    outputs.mkdir()
    os.mkfifo(outputs / ".last")


def garbage(outputs: Path) -> None:
    outputs.mkdir()
    (outputs / ".last").write_bytes(bytes(range(256)) * 40)


def huge(outputs: Path) -> None:
    outputs.mkdir()
    with (outputs / ".last").open("wb") as file:
        file.truncate(2**40)


def a_file(outputs: Path) -> None:
    outputs.write_text("mine")


def link_to_nowhere(outputs: Path) -> None:
    outputs.symlink_to("/proc/nowhere")


OBSTACLES = (folder_in_the_way, pipe, garbage, huge, a_file, link_to_nowhere)
Obstacle = Callable[[Path], None]


@pytest.mark.parametrize("obstacle", OBSTACLES, ids=lambda obstacle: obstacle.__name__)
def test_what_only_remembers_a_store_fails_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, obstacle: Obstacle
) -> None:
    monkeypatch.chdir(tmp_path)
    obstacle(Path("outputs"))
    said = say("query")
    assert (said.code, said.out, len(said.err.splitlines())) == (2, "", 1), said
    assert "bug" not in said.err
    said = say(*WORDS, "--out", "elsewhere")
    assert said.code == 0, said
    assert "stored in elsewhere" in said.err
    again = say("query")
    assert again.code == (0 if obstacle in (pipe, garbage, huge) else 2), again
    assert ("not remembered as the last store" in said.err) == (again.code == 2)


@pytest.mark.parametrize("content", [b"", b"\n", b"\0\n", b"relative\n", b"/a\n/b\n", b"\xff\xfe", b"/nowhere\n"])
def test_a_name_that_is_none_is_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".last").write_bytes(content)
    with pytest.raises(InputError, match=r"name the folder of") as refused:
        last_store(tmp_path)
    assert "\n" not in str(refused.value)


def test_a_folder_of_any_name_is_remembered(tmp_path: Path) -> None:
    for name in ("plain", "Größe 1", "a=b"):
        (tmp_path / name).mkdir()
        assert remember_last(tmp_path / name, tmp_path / "outputs") == []
        assert last_store(tmp_path / "outputs").name == name
    assert [path.name for path in (tmp_path / "outputs").iterdir()] == [".last"]


def test_a_kept_answer_that_cannot_be_written_withholds_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def full(file: Path, command: str, text: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(file))

    monkeypatch.setattr(saved_answers, "keep", full)
    said = say(*WORDS, "--out", "elsewhere", "--save", "kept.json")
    assert said.code == 3, said
    assert "--save: not kept (kept.json: No space left" in said.err
    assert said.out == say(*WORDS, "--out", "elsewhere").out
    said = say("query", "elsewhere", "--save", "kept.json")
    assert said.code == 3
    assert said.out == say("query", "elsewhere").out
