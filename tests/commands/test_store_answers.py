"""Ask a small store everything that commands ask of stores."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import simlab
from simlab.commands import launch, stores
from simlab.types import InputError

TINY = ["systems.n_systems=3", "systems.n_documents=21", "systems.n_segments=21", "studies=4"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stores") / "g"
    words = [*TINY, "worlds=2", "design.documents=8,12", "design.grouping=ungrouped,system_balanced"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder.parent)
        launched = launch.write(inspect.unwrap(simlab.sweep)("item_grouping", *words, out=folder, jobs=1), "table", {})
    assert launched.text.splitlines()[1] == "           grouping"
    assert "n = 8 campaigns in 2 worlds behind each value" in launched.text
    assert launched.notes[-1].endswith(f"compare {folder} --by grouping --measure srp")
    return folder


@pytest.mark.slow
def test_one_world_has_document_sets_behind_its_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = [*TINY, "worlds=1", "design.documents=8", "design.studies_per_document_set=2"]
    launched = launch.write(inspect.unwrap(simlab.run)(*words, jobs=1), "table", {})
    assert "n = 4 campaigns in 2 document sets behind each value" in launched.text
    assert launched.notes[0].startswith("conditional on one world")


def test_conditions_may_stand_alone_or_before_folders(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(store.parent)
    assert simlab.query("documents=8").sizes["documents"] == 1
    assert simlab.compare("documents=8", "g", by="grouping", measure="srp").sizes["documents"] == 1
    with pytest.raises(InputError, match="two of these folders have the same name"):
        simlab.compare("documents=8", "g", "../" + store.parent.name + "/g")


def test_the_last_store_is_taken_and_named(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(store.parent)
    assert stores.find_store(None) == Path("g")
    assert capsys.readouterr().err == "store: g\n"
    assert stores.find_store(Path("other")) == Path("other")
