"""Statistics of worlds, axes and curves by the command line: those of the accessor, on pages with what they rest on."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from faults.told import told

import simlab


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("statistics") / "store"
    sizes = ["systems.n_systems=4", "systems.n_documents=40", "systems.n_segments=80"]
    words = ["design.documents=6,10,20,40", "design.grouping=pseudo_side_by_side,ungrouped", "worlds=20", "studies=2"]
    tests = ["analysis.test=permutation", "analysis.test.permutations=50", "decision=significance"]
    code, _, err = told("sweep", "item_grouping", *words, *sizes, *tests, "--jobs", "1", "--out", str(place))
    assert code in (0, 3), err
    return str(place)


def rows(store: str, *words: str) -> list[dict[str, object]]:
    code, out, err = told("query", store, *words, "--format", "json")
    assert code == 0, err
    return list(json.loads(out)["rows"])


def test_each_is_what_the_accessor_gives(store: str) -> None:
    with simlab.open_results(store) as dataset:
        shares = dataset.simlab.share("power>=.4")
        quantiles = dataset.simlab.quantiles("power", [0.25, 0.75])
        solved = dataset.simlab.solve("documents", power=0.4)
        importance = dataset.simlab.importance("power")
        sensitivity = dataset.simlab.sensitivity("power", around={"design.documents": 20})
        for words, laid, name in (
            (["--share", "power>=.4"], shares, "value"),
            (["--measure", "power", "--quantiles", ".25,.75"], quantiles, "value"),
            (["--solve", "documents", "--target", "power=.4"], solved, "value"),
            (["--importance", "power"], importance, "total"),
            (["--sensitivity", "power", "--around", "documents=20"], sensitivity, "difference_low"),
        ):
            found = [np.nan if row[name] is None else row[name] for row in rows(store, *words)]
            expected = np.where(np.isfinite(laid[name].values), laid[name].values, np.nan).ravel()
            np.testing.assert_array_equal(np.array(found, float), expected)


def test_pages_say_what_decides_and_what_numbers_rest_on(store: str) -> None:
    code, page, _ = told("query", store, "--importance", "power")
    assert code == 0
    first = max(rows(store, "--importance", "power"), key=lambda row: float(str(row["total"])))
    assert page.startswith(f"{first['axis']} decides most: ")
    assert "with interactions" in page
    _, page, _ = told("query", store, "documents=6,40", "--importance", "power", "--by", "documents")
    assert "of the variance of power of documents=6 less that of documents=40" in " ".join(page.split())
    _, page, _ = told("query", store, "--sensitivity", "power", "--around", "grouping=ungrouped")
    assert " moves power most: by " in page
    assert "all else as in the base (documents=6, grouping=ungrouped)" in " ".join(page.split())
    _, page, _ = told("query", store, "--share", "power>=.4")
    assert "20 worlds of 2 studies or more behind each value, the noise of studies removed" in " ".join(page.split())
    _, page, _ = told("query", store, "--solve", "documents", "--target", "power=.999")
    assert "not reached within the sweep" in page


def test_conditions_narrow_the_cells_and_csv_has_all_columns(store: str) -> None:
    code, out, _ = told("query", store, "grouping=ungrouped", "--share", "power>=.4", "--format", "csv")
    assert code == 0
    found = list(csv.DictReader(io.StringIO(out)))
    assert [row["grouping"] for row in found] == ["ungrouped"] * 4
    assert {"value", "mcse", "low", "high", "worlds", "studies", "reliability"} <= found[0].keys()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--share", "power"], "power is no bound on a measure; write MEASURE>=VALUE"),
        (["--share", "power>=.4", "--importance", "power"], "--share and --importance are two questions"),
        (["--solve", "documents"], "--solve needs what is to be reached"),
        (["--solve", "documents", "--target", "power"], "--target power is no crossing; write MEASURE=VALUE"),
        (["--target", "power=.4"], "--target is the value that a measure is to reach"),
        (["--solve", "grouping", "--target", "power=.4"], "grouping has values that are no numbers"),
        (["--quantiles", ".1"], "--quantiles are those of one measure"),
        (["--measure", "power", "--quantiles", "a"], "--quantiles a: write numbers between 0 and 1"),
        (["--measure", "power", "--quantiles", "1.5"], "quantiles lie between 0 and 1"),
        (["--importance", "powr"], "powr"),
        (["--importance", "power", "--top", "3"], "--importance answers for every cell"),
        (["power>=.4", "--importance", "power"], "narrow axes, not measures"),
        (["--around", "documents=20"], "--around names the base for --sensitivity MEASURE"),
        (["--sensitivity", "power", "--around", "documents=7"], "documents=7 is not in the store"),
        (["--sensitivity", "power", "--around", "place=7"], "place"),
        (["--sensitivity", "power", "--around", "documents"], "--around documents names no value"),
        (["--by", "grouping"], "--by takes two designs apart for --importance MEASURE"),
        (["--share", "power>=.4", "--by", "grouping"], "--by takes two designs apart for --importance MEASURE"),
        (["--importance", "power", "--by", "documents"], "documents has 4 here; name two of them"),
        (["--importance", "power", "--by", "groupin"], "the store has no axis groupin; did you mean grouping"),
    ],
)
def test_what_is_asked_wrongly_gets_one_line(store: str, words: list[str], line: str) -> None:
    code, out, err = told("query", store, *words)
    assert (code, out) == (2, "")
    assert line in err
    assert err.count("\n") == 1


def test_a_kept_answer_is_read_again(store: str, tmp_path: Path) -> None:
    from simlab.answers.query import CellStatistics
    from simlab.answers.records import read_record

    file = tmp_path / "kept.json"
    assert told("query", store, "--importance", "power", "--save", str(file))[0] == 0
    kept = json.loads(file.read_text(encoding="utf-8"))["answer"]
    assert read_record(CellStatistics, kept).serialise() == kept
    assert told("report", str(file), "--out", str(tmp_path / "kept.html"))[0] == 0
    assert "Which axis decides power?" in (tmp_path / "kept.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_sweep_runs_one_axis_at_a_time_from_the_values_that_come_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("judge.yaml").write_text(
        "axes: {budget.human_ratings: [80, 40, 160], analysis.estimator: [sample_mean, ppi]}\n"
        "set: {question: judge, systems.n_systems: 2, worlds: 4, studies: 2}\nmeasures: [rmse]\n",
        encoding="utf-8",
    )
    assert told("sweep", "judge.yaml", "--one-at-a-time", "--write", "again.yaml")[0] == 0
    assert "only: one_at_a_time" in Path("again.yaml").read_text(encoding="utf-8")
    code, _, err = told("sweep", "judge.yaml", "--one-at-a-time", "--jobs", "1", "--out", "swept")
    assert code in (0, 3), err
    assert "query swept --sensitivity " in err.splitlines()[-1]
    found = rows("swept", "--sensitivity", "rmse")
    assert [row["setting"] for row in found if row["difference"] is None] == [
        "human_ratings=80",
        "estimator=sample_mean",
    ]
    assert all(row["value"] is not None for row in found)
    # A value that is added leaves the same base, and the rest of the grid is not run.
    assert told("sweep", "swept", "budget.human_ratings=20", "--jobs", "1")[0] in (0, 3)
    shown = json.loads(told("show", ".", "--format", "json")[1])
    assert "simlab sweep judge.yaml --one-at-a-time" in json.dumps(shown), "what made the store, not what continued it"
    more = rows("swept", "--sensitivity", "rmse")
    assert [row for row in more if row["setting"] != "human_ratings=20"][1]["value"] == found[1]["value"]
    assert len(more) == len(found) + 1
    with simlab.open_results("swept") as dataset:
        assert int(np.isfinite(dataset["rmse"]).sum()) == 5
