"""A study that is under way is never planned over, and nothing of its folder changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from simlab.cli import answer
from simlab.commands.exit_codes import REFUSED
from simlab.planning import folder


@pytest.mark.parametrize("name", ["key.csv", "assigned.study.yaml", "conclusion.json", "study.yaml.looks.json"])
def test_a_folder_with_a_key_answers_or_looks_is_not_planned_over(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "my"
    out.mkdir()
    folder.refuse_begun(out)
    (out / name).write_text("held", encoding="utf-8")
    assert answer(["plan", "--target", "power=.8", "--at-most", "10", "--out", str(out)]) == REFUSED
    err = capsys.readouterr().err
    assert f"its study is under way ({name})" in err
    assert err.count("\n") == 1
    assert [file.name for file in out.iterdir()] == [name]
