"""Ask a small store everything that commands ask of stores."""

from __future__ import annotations

from pathlib import Path

import pytest

from simlab.commands import run, stores, sweep
from simlab.config import load_sweep
from simlab.config.sweepfile import RUN

TINY = ["systems.n_systems=3", "systems.n_documents=21", "systems.n_segments=21", "studies=4"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stores") / "g"
    words = [*TINY, "worlds=2", "design.documents=8,12", "design.grouping=ungrouped,system_balanced"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder.parent)
        launched = sweep.answer(
            "item_grouping", load_sweep("item_grouping"), words, out=folder, jobs=1, quick=False, dry=False, plugins=[]
        )
    assert launched.text.splitlines()[1] == "           grouping"
    assert "n = 8 campaigns in 2 worlds behind each value" in launched.text
    assert launched.notes[-1].endswith(f"compare {folder} --by grouping --measure srp")
    return folder


@pytest.mark.slow
def test_one_world_has_document_sets_behind_its_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = [*TINY, "worlds=1", "design.documents=8", "design.studies_per_document_set=2"]
    launched = run.answer(RUN, words, out=None, jobs=1, quick=False, dry=False, plugins=[])
    assert "n = 4 campaigns in 2 document sets behind each value" in launched.text
    assert launched.notes[0].startswith("conditional on one world")


def test_the_condition_of_a_store_is_said_after_the_answer(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with stores.viewed(store, ["documents=8"]) as dataset:
        assert dataset.sizes["documents"] == 1
    assert capsys.readouterr().err == ""


def test_the_last_store_is_taken_and_named(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(store.parent)
    assert stores.named(None) == Path("g")
    assert capsys.readouterr().err == "store: g\n"
    assert stores.named(Path("other")) == Path("other")
