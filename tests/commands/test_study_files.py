"""Print studies as files and run them: the same bits and cell keys as the settings that they stand for."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from simlab.engine import ledger
from simlab.store.opening import open_results
from tests.commands.test_cli import said

SMALL = [
    "systems.n_systems=4",
    "systems.n_documents=21",
    "systems.n_segments=42",
    "worlds=2",
    "studies=4",
    "design.documents=8",
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def cell_keys(folder: str) -> set[str]:
    with sqlite3.connect(Path(folder) / ledger.FILE) as book:
        return {key for (key,) in book.execute("SELECT DISTINCT cell FROM blocks")}


def same_bits(first: str, second: str) -> None:
    with open_results(first) as one, open_results(second) as other:
        assert set(one.variables) == set(other.variables)
        for name in one.variables:
            np.testing.assert_array_equal(one[name].values, other[name].values, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("changes", [[], ["design.grouping=ungrouped", "measure=srp,kendall"]])
def test_a_study_file_runs_as_its_settings_do(changes: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.yaml").write_text(said(capsys, "show", "--config", *SMALL))
    said(capsys, "run", "mine.yaml", *changes, "--jobs", "1", "--out", "file")
    said(capsys, "run", *SMALL, *changes, "--jobs", "1", "--out", "typed")
    same_bits("file", "typed")
    assert cell_keys("file") == cell_keys("typed")


def test_a_cell_of_a_sweep_is_a_study_file(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["item_grouping", *SMALL, "design.grouping=ungrouped"]
    Path("mine.yaml").write_text(said(capsys, "show", "--config", *words))
    said(capsys, "run", "mine.yaml", "--jobs", "1")
    said(capsys, "sweep", *words, "--jobs", "1", "--out", "swept")
    assert cell_keys("outputs/mine") == cell_keys("swept")


@pytest.mark.slow
def test_a_study_file_of_a_plug_in_runs_with_it_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "examples" / "house_rules"))
    ours = ["--plugins", "house_rules"]
    Path("mine.yaml").write_text(said(capsys, "show", "--config", *SMALL, "design.grouping=by_system", *ours))
    assert "add --plugins house_rules" in said(capsys, "run", "mine.yaml", code=2)
    said(capsys, "run", "mine.yaml", *ours, "--jobs", "1")
    with open_results("outputs/mine-" + hashed(["--plugins=house_rules"])) as results:
        assert results.sizes["replicate"] == 8


def hashed(changes: list[str]) -> str:
    from hashlib import sha256

    return sha256("\n".join(changes).encode()).hexdigest()[:8]
