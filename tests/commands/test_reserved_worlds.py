"""A fitted world that failed its checks is run only when it is forced, and then everything says so."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path

import pytest

import simlab
from simlab.cli import answer
from simlab.config import accept_sweep, compose_sweep
from simlab.types import InputError
from simlab.world.files.fitted_world import BUILT_IN, failed_checks

SMALL = ["systems.n_documents=12", "design.documents=12", "worlds=2", "studies=3", "--jobs", "1"]
SAID = "failed 2 checks against its pilot (spread of systems (sd): 8.2, simulated 21 to 29; and 1 more)"
FAILED = """checks:
  passed: 17
  failed:
  - {name: spread of systems (sd), real: 8.2, low: 21, high: 29}
  - {name: sd of scores, real: 9, low: 22, high: 30}
"""


@pytest.fixture
def worlds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Write a world that failed, one that passed, and one that was never checked."""
    monkeypatch.chdir(tmp_path)
    text = files("simlab.world").joinpath("data", BUILT_IN).read_text(encoding="utf-8")
    text, removed = re.subn(r"\nchecks:\n(?:[ -].*\n)+", "\n", text)
    assert removed == 1
    made = {"failed": FAILED, "passed": "checks: {passed: 19, failed: []}\n", "old": ""}
    for name, checks in made.items():
        (tmp_path / f"{name}.yaml").write_text(text.replace("\nsystems:", f"\n{checks}systems:", 1), encoding="utf-8")
    return {name: tmp_path / f"{name}.yaml" for name in made}


def test_failed_checks_are_read_wherever_they_stand(worlds: dict[str, Path], tmp_path: Path) -> None:
    assert [one.name for one in failed_checks(str(worlds["failed"]))] == ["spread of systems (sd)", "sd of scores"]
    assert failed_checks(str(worlds["passed"])) == failed_checks(str(worlds["old"])) == ()
    flow = tmp_path / "flow.yaml"
    flow.write_text("{format: simlab fitted world 3, checks: {failed: [{name: a, real: 1, low: 2, high: 3}]}}")
    assert [one.name for one in failed_checks(str(flow))] == ["a"]
    flow.write_text("format: simlab fitted world 3\nchecks: {failed: [a]}\n")
    with pytest.raises(InputError, match=r"checks\.failed: each needs name"):
        failed_checks(str(flow))


@pytest.mark.slow
@pytest.mark.parametrize("command", [["run"], ["sweep", "item_grouping"]])
def test_a_world_that_failed_is_refused(
    command: list[str], worlds: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert answer([*command, "systems=fitted", "systems.path=failed.yaml", *SMALL]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert SAID in err
    assert "--force" in err
    assert not (tmp_path / "outputs").exists()


def test_worlds_that_passed_or_were_never_checked_run_as_before(worlds: dict[str, Path]) -> None:
    for name in ("passed", "old"):
        sweep = compose_sweep("item_grouping", ["systems=fitted", f"systems.path={name}.yaml"])
        assert accept_sweep(sweep, force=False) is sweep
    swept = compose_sweep("item_grouping", ["systems=fitted", "systems.path=old.yaml,failed.yaml"])
    with pytest.raises(InputError, match=r"failed\.yaml: this world failed"):
        accept_sweep(swept, force=False)


@pytest.mark.slow
def test_what_is_forced_carries_the_reservation(
    worlds: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", "systems=fitted", "systems.path=failed.yaml", *SMALL, "--out", "forced", "--force"]
    assert answer(words) == 3
    assert SAID in capsys.readouterr().err
    assert answer([*words, "--format", "json"]) == 3
    assert SAID in json.loads(capsys.readouterr().out)[0]["reservation"]
    assert "Reservation" in (tmp_path / "forced" / "README.txt").read_text()
    assert answer(["query", "forced"]) == 3
    assert SAID in capsys.readouterr().err
    assert answer(["verify", "forced"]) == 0
    assert SAID in simlab.open_results("forced").attrs["reservation"]


def test_notebooks_refuse(worlds: dict[str, Path]) -> None:
    settings = {"systems": "fitted", "systems.path": "failed.yaml"}
    with pytest.raises(InputError, match="2 checks"):
        simlab.run(settings, out="held")
