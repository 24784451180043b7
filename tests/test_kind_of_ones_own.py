"""Try the example plug-in's kind of study: declared outside simlab, swept beside a kind that is built in."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr

from simlab.cli import answer
from simlab.studies import kinds
from simlab.studies.ratings import KIND as RATINGS
from simlab.types import InputError, Outcome

EXAMPLE = Path(__file__).parents[1] / "examples" / "house_rules"
SWEEP = ["sweep", str(EXAMPLE / "best_of_four.yaml"), "--plugins", "house_rules", "--jobs", "1", "--out", "s"]


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(EXAMPLE))


def records(words: list[str], capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    capsys.readouterr()
    assert answer([*words, "--format", "json"]) == 0
    found: list[dict[str, object]] = json.loads(capsys.readouterr().out)
    return found


def test_one_sweep_holds_cells_of_two_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer([*SWEEP, "worlds=4"]) == 0
    cells = {(r["question"], r["system_sd"]): r for r in records(["query", "s"], capsys)}
    assert set(cells) == {(q, sd) for q in ("judge", "pick") for sd in (0.1, 0.4)}
    for question in ("judge", "pick"):
        assert cells[question, 0.4]["power"] > cells[question, 0.1]["power"]
    used = {
        r["question"]: r for r in records(["query", "s", "system_sd=0.4", "--measure", "significant_share"], capsys)
    }
    assert used.keys() == {"judge", "pick"}
    # Both met the same systems, so that a difference is paired.
    compared = records(["compare", "s", "system_sd=0.4", "--by", "question", "--measure", "power"], capsys)
    assert [row["clusters"] for row in compared if row["clusters"]] == [4]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sweep", "measure"), [("best_of_four", "power"), ("by_system", "srp")], ids=["a kind", "a part"]
)
def test_a_folder_of_a_plug_in_is_read_without_it(sweep: str, measure: str) -> None:
    """Nothing that a folder names is imported: a process that cannot find the plug-in verifies and queries it."""
    words = ["sweep", str(EXAMPLE / f"{sweep}.yaml"), "--plugins", "house_rules", "--jobs", "1", "--out", "s"]
    smaller = ["systems.n_systems=4", "systems.n_documents=42", "systems.n_segments=84"] if sweep == "by_system" else []
    assert answer([*words, *smaller, "worlds=2", "studies=2"]) == 0
    for question in (["verify", "s"], ["query", "s", "--measure", measure], ["query", "s", "--measure", "cost"]):
        run = subprocess.run([sys.executable, "-m", "simlab", *question], capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        assert "Traceback" not in run.stderr


@pytest.mark.slow
def test_a_comparison_says_whether_kinds_met_the_same_systems(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer([*SWEEP, "worlds=2", "studies=3"]) == 0
    small = ["design.documents=8", "budget.human_ratings=20", "worlds=2", "studies=3", "--jobs", "1", "--out", "apart"]
    assert answer(["run", "-m", "question=rate,judge", *small]) == 0
    capsys.readouterr()
    # Whose systems are not the same is not called better: no best is a reservation.
    for folder, said, code in (("s", "that the designs share", 0), ("apart", "Their systems are not the same ones", 3)):
        assert answer(["compare", folder, "--by", "question", "--measure", "significant_share"]) == code
        assert said in capsys.readouterr().out


def test_a_measure_of_what_a_kind_lacks_has_no_value_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer([*SWEEP, "worlds=3", "studies=4", "measure=[power,rmse]"]) == 0
    cells = records(["query", "s"], capsys)
    assert all((cell["rmse"] is None) == (cell["question"] == "pick") for cell in cells)
    assert all((cell["rmse_n"] == 0) == (cell["question"] == "pick") for cell in cells)


def test_the_best_of_four_is_picked_as_often_as_it_should_be() -> None:
    """Two panels' law by simulation against the probability that the first of four independent scores is largest."""
    from house_rules.pickers import Picks

    from simlab.types import Latent

    law = Picks(Latent(np.array([0.5, 0.0, 0.0, 0.0]), 1.0, 0.0, 0.0), 0.0)
    n = 40_000
    noise = law.draw(np.random.default_rng(1), n)
    picked = law.answer(noise, np.zeros(n, int), np.arange(n), np.zeros(n, int)).value
    x = np.linspace(-8, 9, 20_001)
    density = np.exp(-((x - 0.5) ** 2) / 2) / np.sqrt(2 * np.pi)
    wanted = float(np.trapezoid(density * ndtr(x) ** 3, x))
    error = np.sqrt(wanted * (1 - wanted) / n)
    assert abs((picked == 0).mean() - wanted) < 5 * error
    # Negative control: without the difference in quality each is picked one time in four.
    assert abs((picked == 0).mean() - 0.25) > 5 * error


def test_a_key_that_no_kind_has_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer([*SWEEP, "design.itmes=3"]) == 2
    assert "design.items" in capsys.readouterr().err
    assert not Path("s").exists()


def test_two_kinds_may_not_ask_the_same_question_or_declare_an_outcome_differently(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kinds, "_read_kinds", lambda plugin: (RATINGS,))
    with pytest.raises(InputError, match="question=rate is taken"):
        kinds._kinds.__wrapped__(("other",))
    other = replace(RATINGS, question="else", outcomes={"cost": Outcome(("replicate",), "int8", 0, "price")})
    monkeypatch.setattr(kinds, "_read_kinds", lambda plugin: (other,))
    with pytest.raises(InputError, match="the outcome cost otherwise"):
        kinds._kinds.__wrapped__(("other",))


def test_a_kind_that_cannot_be_read_or_misnames_its_outcomes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "broken_rules").mkdir()
    (tmp_path / "broken_rules" / "__init__.py").touch()
    (tmp_path / "broken_rules" / "kinds.py").write_text("import no_such_package_anywhere\n")
    with pytest.raises(InputError, match="plug-in broken_rules: its kinds of studies cannot be used"):
        kinds._kinds.__wrapped__(("broken_rules",))
    for name, dims in (("true_choice", ("replicate",)), ("choice", ("of_world",))):
        own = replace(RATINGS, question="else", outcomes={name: Outcome(dims, "int8", 0, "price")})
        monkeypatch.setattr(kinds, "_read_kinds", lambda plugin, own=own: (own,))
        with pytest.raises(InputError, match="begin with true_"):
            kinds._kinds.__wrapped__(("other",))


def test_a_folder_grows_by_a_part_of_its_kinds_and_stays_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer([*SWEEP, "worlds=2", "studies=3"]) == 0
    before = {(r["question"], r["system_sd"]): r["power"] for r in records(["query", "s"], capsys)}
    assert answer([*SWEEP, "worlds=2", "studies=5", "question=judge"]) == 0  # no plug-in's kind among these cells
    assert answer(["verify", "s"]) == 0
    grown = {(r["question"], r["system_sd"]): r["power"] for r in records(["query", "s"], capsys)}
    assert {cell: power for cell, power in grown.items() if cell[0] == "pick"} == {
        cell: power for cell, power in before.items() if cell[0] == "pick"
    }


def test_sizes_of_kinds_whose_defaults_differ_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["run", "-m", "question=rate,judge", "--out", "apart"]) == 2
    assert "in the defaults of these kinds of studies; give one number" in capsys.readouterr().err
    assert not Path("apart").exists()
