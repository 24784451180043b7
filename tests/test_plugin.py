"""Try the example plug-in: one function and one YAML make a grouping rule or a measure that sweeps can use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simlab.cli import answer

EXAMPLE = Path(__file__).parents[1] / "examples" / "house_rules"
SMALL = ["systems.n_systems=4", "systems.n_documents=42", "systems.n_segments=84", "worlds=3", "--jobs", "1"]


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(EXAMPLE))


def test_a_plug_in_brings_a_grouping_rule_and_a_measure(capsys: pytest.CaptureFixture[str]) -> None:
    sweep = ["sweep", str(EXAMPLE / "by_system.yaml"), *SMALL, "--out", "s"]
    assert answer([*sweep, "--plugins", "house_rules"]) == 0
    capsys.readouterr()
    assert answer(["query", "s", "documents=42", "--measure", "srp,same_winner", "--format", "json"]) == 0
    records = {record["grouping"]: record for record in json.loads(capsys.readouterr().out)}
    assert records["by_system"]["same_winner_n"] == 30
    # All outputs of a system from one rater: the rater's leniency is the system's score, so rankings do not hold.
    assert records["by_system"]["srp"] < records["pseudo_side_by_side"]["srp"]
    assert answer(["verify", "s"]) == 0


def test_parts_of_a_package_that_is_not_named_are_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["sweep", str(EXAMPLE / "by_system.yaml"), *SMALL, "--out", "s"]) == 2
    assert "by_system" in capsys.readouterr().err
