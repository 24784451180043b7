"""Two stores held against each other: same settings say nothing moved, a planted shift is found."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from made_once import made_once

import simlab
from simlab.answers.compare import ChangedStores
from simlab.cli import answer
from simlab.comparing.changes import find_moved, find_p_values
from simlab.rng import stream
from simlab.types import Floats

TINY = ["systems.n_systems=4", "systems.n_documents=12", "systems.n_segments=24", "worlds=4", "studies=4", "--jobs=1"]
GRID = ["item_grouping", "design.grouping=pseudo_side_by_side,ungrouped"]
CELLS, WORLDS = 24, 5


@pytest.fixture(scope="session")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def make(folder: Path) -> None:
        assert answer(["sweep", *GRID, "design.documents=8", *TINY, "--out", "old"]) in (0, 3)
        assert answer(["sweep", *GRID, "design.documents=8,12", "seed=7", *TINY, "--out", "new"]) in (0, 3)

    return made_once(tmp_path_factory, "changes", make)


@pytest.fixture(autouse=True)
def here(stores: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("old", "new"):
        shutil.copytree(stores / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)


def test_cells_of_the_same_settings_are_held_against_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    code = answer(["compare", "old", "new", "--changed", "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    assert (found["matched"], found["only_old"], found["only_new"]) == (2, 0, 2)
    assert code == (3 if any(row["moved"] for row in found["values"]) else 0)
    assert {row["key"]: (row["old"], row["new"]) for row in found["keys"]} == {"seed": (1, 7)}
    assert not found["same_seed"]
    with simlab.open_results("old") as old, simlab.open_results("new") as new:
        for row in found["values"]:
            at = {"grouping": row["at"]["grouping"], "documents": int(row["at"]["documents"])}
            assert row["old"] == float(old[row["measure"]].sel(at))
            assert row["new"] == float(new[row["measure"]].sel(at))
    assert answer(["compare", "old", "new", "--changed"]) == code
    page = " ".join(capsys.readouterr().out.split())
    assert "2 cells only in the new store" in page
    assert "seed 1 7" in page


def test_an_axis_of_one_store_is_a_setting_of_the_other() -> None:
    assert answer(["sweep", *GRID[:1], "design.grouping=ungrouped", "design.documents=8", *TINY, "--out", "one"]) in (
        0,
        3,
    )
    found = simlab.compare("old", "one", changed=True)
    assert isinstance(found, ChangedStores)
    assert (found.matched, found.only_old, found.only_new) == (1, 1, 0)
    assert found.same_seed
    assert all(one.old == one.new for one in found.values)
    assert not found.moved
    assert not found.keys
    assert "same bits" in " ".join(str(found._repr_html_()).split())


def test_a_value_that_moved_leaves_a_reservation(capsys: pytest.CaptureFixture[str]) -> None:
    # Claims at a level of .9 are many more.
    assert answer(["sweep", *GRID, "design.documents=8", *TINY, "decision.level=.9", "--out", "other"]) in (0, 3)
    capsys.readouterr()
    asked = ["compare", "old", "other", "--changed", "--measure", "significant_share"]
    assert answer(asked) == 3
    page = " ".join(capsys.readouterr().out.split())
    assert "Values that moved" in page
    assert "decision.level 0.05 0.9" in page
    assert answer([*asked, "--format", "csv"]) == 3
    assert capsys.readouterr().out.startswith("measure,old,")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["old", "--changed"], "name OLD and NEW"),
        (["old", "new", "old", "--changed"], "name OLD and NEW"),
        (["old", "new", "--changed", "--by", "grouping"], "leave out --by"),
        (["old", "new", "--changed", "--measure", "srpp"], "did you mean srp"),
        (["old", "nowhere", "--changed"], "nowhere"),
        (["old", "new", "--changed", "documents=9"], "documents"),
    ],
)
def test_what_cannot_be_held_against_each_other_is_one_line(
    words: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert answer(["compare", *words]) == 2
    said = capsys.readouterr()
    assert line in said.err
    assert (said.out, said.err.count("\n")) == ("", 1)


def _call_moved(rng: np.random.Generator, shift: float) -> Floats:
    """Draw two stores of shares, worlds with effects that cells share, and say which cells are called moved."""
    quality = rng.normal(size=(2, WORLDS, 1)) * 0.5
    of_cells = np.linspace(-1, 1, CELLS)
    chance = 1 / (1 + np.exp(-(of_cells + quality + 0.5 * rng.normal(size=(2, WORLDS, CELLS)))))
    chance[1, :, 0] = np.clip(chance[1, :, 0] + shift, 0, 1)
    shares = rng.binomial(40, chance) / 40
    values, errors = shares.mean(1).T, (shares.std(1, ddof=1) / math.sqrt(WORLDS)).T
    return np.asarray(find_moved(find_p_values(values, errors, np.full((CELLS, 2), WORLDS))))


def _rates(trials: int, shift: float) -> tuple[float, float]:
    """Return how often any cell is called moved, and the first."""
    moved = np.array([_call_moved(stream(1, f"changes {shift} {k}"), shift) for k in range(trials)])
    return float(moved.any(1).mean()), float(moved[:, 0].mean())


def test_other_seeds_are_seldom_called_a_change_and_a_shift_is_found() -> None:
    """Of 1,000 pairs of stores .04 are called changed; a shift by .6 (clipped) in one of 24 cells is found in .83."""
    trials = 1000
    any_moved, _ = _rates(trials, 0.0)
    assert any_moved <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / trials)
    _, found = _rates(300, 0.6)
    assert found > 0.7


def test_each_value_by_itself_would_be_called_changed_too_often() -> None:
    """The negative control: without Benjamini-Hochberg some cell is called changed in a third of the pairs."""
    rng = stream(2, "changes")
    p_values = rng.random((500, CELLS))
    assert (p_values < 0.05).any(1).mean() > 0.3
    assert np.mean([find_moved(row).any() for row in p_values]) < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 500)


def test_p_values_without_an_error_and_unknown_ones() -> None:
    values = np.array([[1.0, 1.0 + 1e-12], [1.0, 1.1], [0.5, 0.6], [0.5, 0.5]])
    errors = np.array([[0.0, 0.0], [0.0, 0.0], [np.nan, 0.1], [np.nan, np.nan]])
    found = find_p_values(values, errors, np.full((4, 2), 5))
    assert found[[0, 1, 3]].tolist() == [1, 0, 1]
    assert np.isnan(found[2])
    assert find_moved(found).tolist() == [False, True, False, False]
    assert find_moved(np.array([np.nan])).tolist() == [False]
    # Two means of 5, as scipy has it.
    from scipy import stats

    one, two = np.array([1.0, 2, 3, 4, 5]), np.array([2.0, 4, 6, 9, 9])
    means = np.array([[one.mean(), two.mean()]])
    of_means = np.array([[one.std(ddof=1), two.std(ddof=1)]]) / math.sqrt(5)
    wanted = stats.ttest_ind(one, two, equal_var=False).pvalue
    assert find_p_values(means, of_means, np.full((1, 2), 5))[0] == pytest.approx(wanted)
