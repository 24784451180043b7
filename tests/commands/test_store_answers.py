"""Ask a small store everything that commands ask of stores."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from simlab.commands import compare, order, plot, query, run, stores, sweep, verify
from simlab.config import load_sweep
from simlab.config.sweepfile import RUN
from simlab.types import InputError

ENDS = ("_mcse", "_n", "_clusters", "_low", "_high", "_failed")
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


def test_a_measure_that_the_store_lacks_comes_from_its_outcomes(store: Path) -> None:
    rows = json.loads(query.answer(store, ["documents=8"], ["annotation_fraction", "cycles", "srp"], "json").text)
    assert [row["documents"] for row in rows] == [8, 8]
    assert list(rows[0])[2:5] == ["annotation_fraction", "annotation_fraction_mcse", "annotation_fraction_n"]
    assert rows[0]["annotation_fraction_reason"] == "undefined in these studies"
    with pytest.raises(InputError, match="did you mean kendall"):
        query.answer(store, [], ["kendal"], "table")


def test_csv_and_json_hold_the_measure_and_how_sure_it_is(store: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(query.answer(store, [], ["srp"], "csv").text)))
    measures = ["srp", "power"]
    fields = [f"{name}{end}" for name in measures for end in ("", *ENDS)]
    assert list(rows[0]) == ["grouping", "documents", *fields, "held_fixed"]
    assert rows[0]["held_fixed"] == "srp: raters, documents; power: nothing but the law"
    with pytest.raises(InputError, match="--format xml"):
        query.answer(store, [], ["srp"], "xml")  # type: ignore[arg-type]


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


@pytest.mark.slow
def test_designs_are_compared_and_a_baseline_may_be_named(store: Path) -> None:
    rows = json.loads(compare.answer(store, ["documents=8"], "grouping", "srp", "ungrouped", "json").text)
    assert [row["baseline"] for row in rows] == ["ungrouped", "ungrouped"]
    text, code = compare.answer(store, ["documents=8"], "design.grouping", None, None, "table")
    assert code == 0
    assert "n = 8 campaigns in 2 worlds behind each value" in text


def test_several_stores_need_names_of_their_own(store: Path) -> None:
    with pytest.raises(InputError, match="have the same name"):
        compare.of_stores([store, store], [], None, None, "table")


def test_a_figure_of_an_unknown_form_is_refused_before_the_store_is_opened(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--out x\.gif"):
        plot.answer(tmp_path / "nowhere", [], Path("x.gif"), None)


def test_a_store_is_verified_whole(store: Path) -> None:
    text, _, sound = verify.answer(store, [])
    assert sound
    assert "checksums hold" in text
    with pytest.raises(InputError, match="leave out documents=8"):
        verify.answer(store, ["documents=8"])


def test_ratings_have_no_order(store: Path) -> None:
    with pytest.raises(InputError, match="holds no verdicts"):
        order.answer(store, [], 0, 0, "table")
