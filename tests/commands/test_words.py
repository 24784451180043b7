"""Read words: those of `simlab detect`, mistakes of every command, and where a launch puts its store."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from simlab.commands import errors, launch, notes
from simlab.commands.detect_words import FREE, list_combinations, parse_words
from simlab.commands.typed_commands import Launched, end
from simlab.types import InputError


def test_words_are_lists_of_numbers_by_key() -> None:
    assert parse_words(["n_human=1,2", "n_calibration=none,free"]) == {
        "n_human": [1.0, 2.0],
        "n_calibration": [None, FREE],
    }


def test_all_combinations_are_made_the_first_key_slowest() -> None:
    rows = list_combinations(parse_words(["n_human=1,2", "n_metric=10,20", "accuracy=.8"]))
    assert [(row["n_human"], row["n_metric"]) for row in rows] == [(1, 10), (1, 20), (2, 10), (2, 20)]
    assert {(row["rho"], row["eta"], row["level"]) for row in rows} == {(0.8, 0.8, 0.05)}
    assert "accuracy" not in rows[0]


def test_more_than_a_thousand_combinations_are_refused() -> None:
    with pytest.raises(InputError, match="1001 combinations"):
        list_combinations(parse_words(["n_human=" + ",".join(["1"] * 1001)]))


def test_errors_have_their_exit_codes(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SIMLAB_TRACEBACK", raising=False)
    assert errors.explain(InputError("x=1\nis   wrong")) == 2
    assert errors.explain(FileNotFoundError(2, "No such file", "there.tsv")) == 2
    assert errors.explain(OSError("without a file")) == 1
    assert errors.explain(typer.BadParameter("Value error, It is wrong.")) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "simlab: x=1 is wrong"
    assert lines[1] == "simlab: there.tsv: no such file"
    assert "this is a bug in simlab (OSError: without a file)" in lines[2]
    assert len(lines) == 4


def test_a_launch_refuses_a_file_in_the_place_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("")
    with pytest.raises(InputError, match="cannot be made a folder"):
        launch.choose_folder("item_grouping", [], tmp_path / "s", quick=False, plugins=[])
    assert launch.choose_folder("item_grouping", [], None, quick=False, plugins=[]) == Path("outputs/item_grouping")


def test_notes_follow_the_answer_on_the_other_stream(capsys: pytest.CaptureFixture[str]) -> None:
    end(Launched("answer", ["one", "two"]))
    assert capsys.readouterr() == ("answer\n", "one\ntwo\n")


def test_a_suggested_command_starts_as_the_user_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_RUN_RECURSION_DEPTH", "1")
    assert notes.program() == "uv run simlab"
    monkeypatch.delenv("UV_RUN_RECURSION_DEPTH")
    assert notes.program() == "simlab"
