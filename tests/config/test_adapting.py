"""Fit the sizes of sweeps to recorded tables: what a file says is adapted, what is typed is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from simlab.cli import answer
from simlab.config import compose_sweep
from simlab.config.adapting import _fit
from simlab.store.opening import open_results
from simlab.types import InputError


def test_values_beyond_the_table_are_dropped_and_what_it_has_stands_in_their_place_once() -> None:
    assert _fit((10, 20, 40, 80), 38) == (10, 20, 38)
    assert _fit((10, 38, 60), 38) == (10, 38)
    assert _fit((10, 20), 38) == (10, 20)


def test_a_sweep_takes_the_sizes_that_the_table_has_and_says_so() -> None:
    sweep = compose_sweep("item_grouping", ["systems=recorded"])
    documents = next(axis for axis in sweep.axes if axis.name == "documents")
    assert max(documents.values) == 30
    assert sweep.adapted.startswith("sizes are those that the table has: design.documents=")
    assert sweep.n_cells == len(list(sweep.cells()))
    # What was adapted is in the file that continues the sweep.
    assert "181" not in sweep.file
    # The negative controls: drawn worlds have all sizes, and sizes that the table has stay.
    assert compose_sweep("item_grouping").adapted == ""
    fitting = compose_sweep("item_grouping", ["systems=recorded", "design.documents=10,30"])
    assert (fitting.adapted, fitting.axes[-1].values) == ("", (10, 30))


def test_what_is_typed_is_meant_as_it_stands() -> None:
    typed = compose_sweep("item_grouping", ["systems=recorded", "design.documents=10,40"])
    assert (typed.adapted, typed.axes[-1].values) == ("", (10, 40))


def test_a_table_that_cannot_be_read_is_refused_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("system\tdocument\n")
    with pytest.raises(InputError, match=r"t\.tsv, line 1: no column score"):
        compose_sweep("item_grouping", ["systems=recorded", f"systems.path={tmp_path / 't.tsv'}"])


@pytest.mark.slow
def test_a_store_tells_what_was_adapted_also_when_it_is_continued(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    few = ["--quick", "design.grouping=ungrouped", "--jobs", "1"]
    assert answer(["sweep", "item_grouping", "systems=recorded", "studies=2", *few, "--out", "rec"]) in (0, 3)
    assert "design.documents=20,30 in place of 20,60,181" in capsys.readouterr().err
    assert answer(["sweep", "rec", "studies=3", "--jobs", "1"]) in (0, 3)
    with open_results(tmp_path / "rec") as dataset:
        assert dataset["documents"].values.tolist() == [20, 30]
        assert "in place of 20,60,181" in dataset.attrs["sweep"]
    capsys.readouterr()
    assert answer(["show", "rec"]) == 0
    assert "Sizes are those that the table has" in " ".join(capsys.readouterr().out.split())
