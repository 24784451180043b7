"""Use the command line as a user does: the answer on stdout, one clear line for what can be mended, exit code 2."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from simlab.cli import answer
from simlab.commands.launch import default_folder

TINY = [
    "systems.n_systems=4",
    "systems.n_documents=21",
    "systems.n_segments=42",
    "worlds=2",
    "studies=6",
    "design.documents=8,12",
]
KEPT = ["estimate", "direction", "significant", "p_value", "ratings_used", "document_set"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    """Return what a command answers; nothing of a mistake may reach stdout."""
    found = answer(words)
    out, err = capsys.readouterr()
    assert found == code, err
    if code == 2:
        assert out == ""
        assert err.startswith("simlab: ")
        assert err.count("\n") == 1
        assert not any(word in err for word in ("Traceback", "Hydra", "LexerNoViableAlt", "pydantic", "╭"))
        return err
    return out


def test_the_advised_quoting_of_a_path_works(capsys: pytest.CaptureFixture[str]) -> None:
    name = "a,b (1).tsv"
    error = said(capsys, "sweep", "item_grouping", "systems=recorded", f"systems.path={name}", code=2)
    advised = error[error.index("'") + 1 : error.rindex("'")]
    assert "cannot be opened" in said(capsys, "sweep", "item_grouping", "systems=recorded", advised, code=2)


@pytest.mark.slow
def test_growing_a_sweep_keeps_the_numbers_of_old_cells(capsys: pytest.CaptureFixture[str]) -> None:
    import simlab

    small = [
        *TINY[:4],
        "studies=4",
        "design.studies_per_document_set=2",
        "design.documents=8",
        "--out",
        "s",
        "--jobs",
        "1",
    ]
    said(capsys, "sweep", "item_grouping", "design.grouping=ungrouped", *small)
    with simlab.open_results("s") as dataset:
        before = dataset[KEPT].sel(grouping="ungrouped", documents=8).load()
    grown = [*TINY[:4], "studies=6", "design.studies_per_document_set=2", "design.documents=8,10", "--out", "s"]
    said(capsys, "sweep", "item_grouping", "design.grouping=ungrouped,system_balanced", *grown, "--jobs", "1")
    with simlab.open_results("s") as dataset:
        cell = dataset.sel(grouping="ungrouped", documents=8)
        old = cell["study"].values < 4
        for name in KEPT:
            np.testing.assert_array_equal(cell[name].values[old], before[name].values)
        assert dataset.sizes["replicate"] == 12


@pytest.mark.slow
def test_a_dry_run_writes_nothing(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    assert "cells" in said(capsys, "sweep", "item_grouping", *TINY, "--dry-run")
    assert not list(folder.iterdir())


def test_run_stores_one_cell(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    assert "srp" in said(capsys, "run", *TINY[:5], "design.documents=8", "--jobs", "1")
    assert [path.name[:4] for path in (folder / "outputs").glob("[!.]*")] == ["run-"]


def test_the_default_folder_tells_what_was_changed() -> None:
    def named(*overrides: str, quick: bool = False) -> str:
        return default_folder("item_grouping", overrides, quick=quick, plugins=[]).as_posix()

    assert named() == "outputs/item_grouping"
    assert re.fullmatch(r"outputs/item_grouping-[0-9a-f]{8}", named("seed=1", "studies=2"))
    assert named("seed=1", "studies=2") == named("studies=2", "seed=1")
    assert len({named(), named("seed=1"), named("seed=2"), named(quick=True)}) == 4


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; from simlab.cli import answer; answer(['--help']); print(*sys.modules, file=sys.stderr)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"hydra", "omegaconf", "xarray", "zarr", "jax", "numpyro", "scipy", "numpy", "matplotlib", "pydantic"}
    assert not heavy & set(found.stderr.split())
    assert "Usage" in found.stdout


def test_an_edited_table_does_not_continue_a_store(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    rows = [
        f"{system}\td{d}\t1\t{rater}\t{(d * 7 + len(system) * s + r) % 5}"
        for s, system in enumerate(("a", "bb"))
        for d in range(8)
        for r, rater in enumerate("xyz")
    ]
    table = "\n".join(["system\tdocument\tsegment\trater\tscore", *rows, ""])
    (folder / "t.tsv").write_text(table)
    words = ["run", "systems=recorded", "systems.path=t.tsv", "studies=4", "design.documents=8", "--out", "s"]
    said(capsys, *words, "--jobs", "1")
    said(capsys, *words, "--jobs", "1")
    (folder / "t.tsv").write_text(table.replace("\t4\n", "\t3\n"))
    assert "systems.sha256" in said(capsys, *words, "--jobs", "1", code=2)
