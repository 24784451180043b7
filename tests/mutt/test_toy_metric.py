"""The toy experiment of docs/metric.md gives the table that the page shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simlab.cli import answer

ROOT = Path(__file__).parents[2]


def test_the_page_shows_what_its_experiment_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    page = (ROOT / "docs" / "metric.md").read_text(encoding="utf-8").partition("## A toy metric")[2]
    experiment = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    shown = re.search(r"```\n( +toy .*?)\n```", page, re.DOTALL)
    assert experiment
    assert shown
    assert answer(["mutt", "examples/sentences.jsonl", "--make", "corrupted.jsonl", "--seed", "1"]) == 0
    capsys.readouterr()
    exec(experiment[1], {})
    out = capsys.readouterr().out
    assert out.rstrip("\n") == shown[1]
    # What the page says of it: denials and passives are all right, order is nothing.
    toy = {line.split()[0]: float(line.split()[1]) for line in out.splitlines()[1:]}
    assert {toy[name] for name in ("neg_subj", "neg_verb", "passive")} == {1}
    assert {toy[name] for name in ("shuffled", "double_PP", "swap_chunks")} == {0}
