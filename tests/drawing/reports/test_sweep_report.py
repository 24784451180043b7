"""Check that the report of a sweep says what its store holds: numbers, their errors, and what speaks against them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import fake_studies
import numpy as np
import pytest
import xarray as xr
from shipped import SWEEPS

import simlab
from simlab.commands import compare, query
from simlab.comparing import kinds_of_errors
from simlab.config import load_sweep
from simlab.config.sweep import Axis
from simlab.drawing.reports.sweep import report
from simlab.drawing.reports.sweeping import answering, mistakes, store_view
from simlab.drawing.reports.sweeping.comparing import PLAIN_WORDS
from simlab.drawing.reports.sweeping.store_view import view_store
from simlab.drawing.reports.terms import Code, Explorer, PairMatrix, Points, Report, ReportTable, Section, Value
from simlab.measures import errors, stability
from simlab.measures.labels import LABELS
from simlab.store import filling
from simlab.store.opening import open_results

TINY = ["systems.n_systems=3", "systems.n_documents=21", "systems.n_segments=21", "studies=4"]
Part = TypeVar("Part")


@pytest.fixture(scope="module")
def folder(item_grouping_store: Path) -> Path:
    return item_grouping_store


@pytest.fixture(scope="module")
def made(folder: Path) -> Iterator[Report]:
    with open_results(folder) as dataset:
        yield report(dataset, folder)


def section(of: Report, heading: str) -> Section:
    return next(one for one in of.sections if one.heading == heading)


def blocks(of: Report, kind: type[Part]) -> list[Part]:
    return [block for one in of.sections for block in one.blocks if isinstance(block, kind)]


def values(of: Report) -> list[Value]:
    return [cell for table in blocks(of, ReportTable) for row in table.rows for cell in row if isinstance(cell, Value)]


@pytest.mark.slow
def test_the_data_are_the_rows_of_a_query(made: Report, folder: Path) -> None:
    asked = json.loads(query.write(query.Query(folder, [], None), "json", {}).text)
    assert json.loads(json.dumps(made.data)) == asked
    (explorer,) = blocks(made, Explorer)
    assert [dict(row) for row in explorer.rows] == made.data
    assert (explorer.measure, explorer.x, explorer.line) == ("srp", "documents", "grouping")
    assert {one.name for one in explorer.measures} <= made.data[0].keys()
    assert [one.values for one in explorer.axes][1] == (8, 12)


def test_the_largest_error_of_a_measure_is_said_with_what_would_halve_it(made: Report, folder: Path) -> None:
    errors = [row["srp_mcse"] for row in json.loads(query.write(query.Query(folder, [], ["srp"]), "json", {}).text)]
    points = [line for one in blocks(made, Points) for line in one.items]
    (line,) = [line for line in points if line.startswith("The largest error of srp is ")]
    said = re.fullmatch(r"The largest error of srp is (\S+), over \d+ \w[\w ]*s; four times as many halve it\.", line)
    assert said is not None
    assert float(said[1]) == pytest.approx(max(errors), abs=0.005)
    assert float(said[1]) > 0


def test_the_table_behind_the_figure_has_every_cell_with_its_error(made: Report, folder: Path) -> None:
    rows = json.loads(query.write(query.Query(folder, [], ["srp"]), "json", {}).text)
    (explorer,) = blocks(made, Explorer)
    shown = [next(cell for cell in row if isinstance(cell, Value)) for row in explorer.table.rows]
    assert [cell.value for cell in shown] == [row["srp"] for row in rows]
    assert [(cell.n, cell.clusters) for cell in shown] == [(row["srp_n"], row["srp_clusters"]) for row in rows]
    for cell, row in zip(shown, rows, strict=True):
        assert cell.mcse is None or cell.mcse == row["srp_mcse"]


def test_comparisons_are_those_of_the_command(made: Report, folder: Path) -> None:
    told = json.loads(compare.write(compare.ask(folder, [], "grouping", "srp", None, None), "json", {}).text)
    told.sort(key=lambda row: -row["documents"])
    both = [section(made, heading) for heading in ("Comparisons", "Comparisons elsewhere")]
    tables = [block for part in both for block in part.blocks if isinstance(block, ReportTable)]
    assert [part.folded for part in both] == [False, True]
    assert [table.caption.rpartition(", ")[2] for table in tables] == ["documents=12", "documents=8"]
    lines = [row for table in tables for row in table.rows]
    notes = both[0].blocks[-1]
    assert isinstance(notes, Points)
    assert len(lines) == len(told) == 6
    for line, row in zip(lines, told, strict=True):
        name, held, gap, _, standing = line[:5]
        assert str(name).replace(" ", "_") == row["grouping"]
        assert isinstance(held, Value)
        assert held.value == row["srp"]
        assert (gap.value if isinstance(gap, Value) else None) == row["difference"]
        assert str(standing).rstrip(" *") == PLAIN_WORDS[row["standing"]]
        assert str(standing).endswith("*") == bool(row["marked"])
    starred = {note[2:].partition(": ")[0] for note in notes.items if note.startswith("* ")}
    assert starred == {row["grouping"] for row in told if row["marked"]}


def test_srp_never_stands_without_what_was_found(made: Report) -> None:
    told = [line for line in made.answer if "±" in line or "≥" in line or "≤" in line]
    assert told
    assert all("power" in line for line in told)
    assert {figure.label.partition(" (")[0] for figure in made.figures} == {"stable ranking probability", "power"}


def test_two_worlds_are_a_reservation_and_doubts_come_first(folder: Path, made: Report) -> None:
    assert any("2 worlds at most" in line for line in made.reservations)
    with open_results(folder) as dataset:
        doubted = report(dataset, folder, ["chunk 3 is missing"])
    assert doubted.reservations[0] == "chunk 3 is missing"
    assert doubted.reservations[1:] == made.reservations


def test_measures_without_a_value_are_named_with_their_reason(made: Report) -> None:
    assert "no value in any cell: srp_new_raters (needs pools=2 or more)" in made.reservations
    (explorer,) = blocks(made, Explorer)
    assert "srp_new_raters" not in {one.name for one in explorer.measures}


def test_the_commands_give_the_store_again(made: Report) -> None:
    assert made.reproduce[0].startswith("simlab sweep item_grouping systems.n_systems=3")
    assert made.reproduce[1:] == (
        "simlab verify g",
        "simlab compare g --by grouping --measure srp",
        "simlab report g --out report.html",
    )


def test_without_a_page_beside_it_the_declaration_gives_the_command(folder: Path, tmp_path: Path) -> None:
    with open_results(folder) as dataset:
        words = report(dataset, tmp_path / "elsewhere").reproduce[0].split()
    assert words[:3] == ["simlab", "sweep", "item_grouping"]
    assert {"design.documents=8,12", "worlds=2", "studies=4", "seed=1"} <= set(words)


def test_config_provenance_methods_and_references_are_there(made: Report, folder: Path) -> None:
    (code,) = [block for block in section(made, "Full config").blocks if isinstance(block, Code)]
    assert "n_systems: 3" in code.text
    with open_results(folder) as dataset:
        for name in ("seal", "seed", "commit", "schema", "simlab"):
            assert made.provenance[name] == str(dataset.attrs[name])
    measures, parts = (block for block in section(made, "Methods").blocks if isinstance(block, ReportTable))
    assert "srp" in {row[0] for row in measures.rows}
    assert {"permutation", "pseudo_side_by_side", "ungrouped", "mqm"} <= {row[1] for row in parts.rows}
    assert {"riley2024", "gelman2014", "simlab"} <= {one.key for one in made.references}
    assert "deriu2023" not in {one.key for one in made.references}


def test_errors_are_counted_pair_by_pair_as_power_counts_them(made: Report) -> None:
    (matrix,) = blocks(made, PairMatrix)
    assert (len(matrix.systems), matrix.pairs) == (3, ((0, 1), (0, 2), (1, 2)))
    assert len(matrix.designs) == len(made.data)
    for shares, row in zip(matrix.shares, made.data, strict=True):
        # All pairs differ truly in this world, so that the share that is found is the power.
        assert np.mean(shares[0]) == pytest.approx(row["power"], abs=1e-4)
        assert np.sum(shares, 0) == pytest.approx(np.ones(3), abs=5e-4)
    table = section(made, "How errors were made").blocks[-1]
    assert isinstance(table, ReportTable)
    place_of = table.columns.index("found")
    for cells, row in zip(table.rows, made.data, strict=True):
        found = cells[place_of]
        assert isinstance(found, Value)
        assert found.value == pytest.approx(row["power"])
        assert (found.mcse or 0.0) == pytest.approx(row["power_mcse"] or 0.0)
        assert (found.n, found.clusters) == (row["power_n"], row["power_clusters"])


def test_kinds_of_errors_are_told_apart() -> None:
    truth = np.array([[1, 1, 0], [-1, -1, 0]], np.int8)
    claim = np.array([[1, 0, 1], [1, -1, 0]], np.int8)
    outcomes = {
        "status": np.zeros(2, np.int8),
        "world": np.array([0, 1]),
        "verdict": claim,
        "true_direction": truth,
    }
    found = kinds_of_errors.kinds(outcomes)
    assert found is not None
    # World 0 is in its true order; in world 1 the first system comes last, so that its pairs change their places.
    assert found.worlds == 2
    assert dict(zip(kinds_of_errors.KINDS, found.shares.tolist(), strict=True)) == {
        "found": [0.5, 0.0, 0.5],
        "missed": [0.0, 0.5, 0.0],
        "wrong way round": [0.0, 0.5, 0.0],
        "false claim": [0.0, 0.0, 0.5],
        "rightly no claim": [0.5, 0.0, 0.0],
    }
    flipped = kinds_of_errors.kinds({**outcomes, "verdict": -claim})
    assert flipped is not None
    assert flipped.shares[0].tolist() == found.shares[2].tolist()


def test_a_single_cell_shows_its_measures_and_compares_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = [*TINY, "worlds=1", "design.documents=8", "design.studies_per_document_set=2"]
    simlab.run(*words, out="one", jobs=1)
    with open_results(Path("one")) as dataset:
        made = report(dataset, Path("one"))
    headings = [one.heading for one in made.sections]
    assert "Measures" in headings
    assert "Comparisons" not in headings
    assert blocks(made, Explorer) == []
    assert any("conditional on one world" in line for line in made.reservations)
    assert made.reproduce[0].startswith("simlab run ")


def faked(folder: Path, **more: Any) -> Report:
    """Report a fake sweep in which one campaign in seven fails."""
    held = fake_studies.sweep(measures=("srp", "significant_share"), **more)
    measures = {"srp": stability.srp, "significant_share": errors.significant_share}
    filling.fill(
        held, folder, measures, 1, block=fake_studies.block, check=fake_studies.check, labels=LABELS, quiet=True
    )
    with open_results(folder) as dataset:
        return report(dataset, folder)


def test_failed_campaigns_are_said(tmp_path: Path) -> None:
    made = faked(tmp_path, worlds=5)
    assert any(line.startswith("10 of 100 campaigns failed") for line in made.reservations)
    assert not any(line.startswith("every measure rests on") for line in made.reservations)


def test_without_the_truth_no_errors_are_made_up(tmp_path: Path) -> None:
    made = faked(tmp_path, worlds=2)
    assert blocks(made, PairMatrix) == []
    (prose,) = section(made, "How errors were made").blocks
    assert "is not known here" in str(prose)


@pytest.mark.slow
def test_a_store_of_many_cells_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "MOST_TABLES", 5)
    axes = [Axis("design.documents", "documents", tuple(range(10, 50))), Axis("price", "price", tuple(range(1, 11)))]
    made = faked(tmp_path, axes=axes, worlds=2, studies=4, block=4)
    assert len(made.data) == 400
    assert "held_fixed" not in made.data[0]
    assert len(json.dumps(made.data)) < 400 * 600
    told = section(made, "Comparisons").blocks
    assert sum(isinstance(block, ReportTable) for block in told) == 1
    assert "1 of 10 tables are shown" in str(told[-1])


def test_of_a_store_that_is_too_large_a_part_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_view, "MOST_CELLS", 6)
    axes = [
        Axis("design.documents", "documents", (10, 20)),
        Axis("price", "price", (1, 2, 3)),
        Axis("design.studies_per_document_set", "per_set", (2, 4)),
    ]
    made = faked(tmp_path, axes=axes, worlds=2, studies=4)
    assert made.reservations[0].startswith("of 12 cells this report holds those at ")
    assert len(made.data) <= 6
    monkeypatch.setattr(store_view, "MOST_CELLS", 12)
    with open_results(tmp_path) as dataset:
        whole = report(dataset, tmp_path)
    assert len(whole.data) == 12
    assert "this report holds" not in whole.reservations[0]


def test_too_many_designs_are_cut_and_the_report_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mistakes, "MOST_DESIGNS", 2)
    with open_results(folder) as dataset:
        places, note = mistakes.choose_cells(view_store(dataset))
        whole, nothing = view_store(dataset), ""
    assert places == [(0, 1), (2, 1)]
    assert note.startswith("Shown are 2 of 6 designs: those at documents=12, every 2th")
    monkeypatch.setattr(mistakes, "MOST_DESIGNS", 60)
    assert mistakes.choose_cells(whole) == ([(a, b) for a in range(3) for b in range(2)], nothing)


def of_values(rows: dict[str, list[float]]) -> xr.Dataset:
    """Return a store of designs whose values of SRP in six worlds are given."""
    influence = np.array(list(rows.values()))
    value = influence.mean(1)
    n = len(value)
    declared = {
        "name": "made",
        "aim": "Which is best?",
        "axes": [{"key": "design.grouping", "name": "grouping", "values": list(rows)}],
        "worlds": 6,
        "studies": 1,
        "measures": ["power"],
        "figure": {"measure": "power"},
    }
    centred = influence - value[:, None]
    variables = {
        "power": ("grouping", value, {**LABELS["power"], "cluster": "world"}),
        "power_mcse": ("grouping", np.sqrt((centred**2).sum(1) / 30)),
        "power_n": ("grouping", np.full(n, 60)),
        "power_influence": (("grouping", "cluster"), centred),
    }
    attributes = {"sweep": json.dumps(declared), "config": "{}", "conditional": 0}
    return xr.Dataset(variables, {"grouping": ("grouping", list(rows), {"key": "design.grouping"})}, attributes)


APART = {"a": [0.80, 0.82, 0.81, 0.79, 0.80, 0.83], "b": [0.50, 0.52, 0.49, 0.50, 0.51, 0.50]}
TIED = {"a": [0.80, 0.60, 0.81, 0.59, 0.80, 0.63], "b": [0.61, 0.82, 0.59, 0.80, 0.61, 0.79]}


def test_who_is_best_is_said_with_the_paired_difference() -> None:
    (_, told) = answering.sentences(view_store(of_values(APART)))
    gap = np.subtract(APART["b"], APART["a"])
    error = gap.std(ddof=1) / math.sqrt(6)
    assert told.startswith("A (.81 ± ") or told.startswith("A (.808 ± ")
    assert ") is best; the next, b (" in told
    found = re.search(r"differs by -(\.\d+) ± (\.\d+) \(95 % interval -(\.\d+) to -(\.\d+)\)", told)
    assert found
    difference, mcse, low, high = map(float, found.groups())
    assert -difference == pytest.approx(gap.mean(), abs=6e-4)
    assert mcse == pytest.approx(error, abs=6e-4)
    assert (low - difference, difference - high) == pytest.approx((2.571 * error, 2.571 * error), abs=2e-3)


def test_a_tie_is_said_to_be_one() -> None:
    (_, told) = answering.sentences(view_store(of_values(TIED)))
    assert "is tied with 1 other: no design is best alone" in told
    assert "is best (" not in told
    assert " is best;" not in told


def test_one_world_gives_no_error_and_no_best() -> None:
    (_, told) = answering.sentences(view_store(of_values({"a": [0.8], "b": [0.5]})))
    assert "no error can be given" in told


def test_calculations_have_no_sampling_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = "measurable_difference"
    simlab.sweep(name, out="m")
    with open_results(Path("m")) as dataset:
        made = report(dataset, Path("m"))
    assert "no sampling error" in made.answer[1]
    assert all(held.mcse is None for held in values(made))
    assert made.reproduce[0] == "simlab sweep measurable_difference"
    assert not any("verify" in line for line in made.reproduce)
    assert made.data[0]["measurable_difference"] == 1.0
    assert "vondaniken2022" in {one.key for one in made.references}


def test_names_of_others_stay_text(folder: Path) -> None:
    with open_results(folder) as dataset:
        declared = json.loads(dataset.attrs["sweep"]) | {"aim": "</script><b>?", "name": "a\nb"}
        made = report(dataset.assign_attrs(sweep=json.dumps(declared)), folder)
    assert (made.question, made.title) == ("</script><b>?", "a\nb")


@pytest.mark.filterwarnings("ignore:.*:UserWarning")  # Studies as small as these are warned of.
@pytest.mark.slow
@pytest.mark.parametrize("name", ["preference_naive", "stop_judging"])
def test_studies_that_compare_or_judge_are_reported_alike(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["worlds=2", "studies=2"]
    simlab.sweep(name, *words, out="s", jobs=1, quick=True)
    with open_results(Path("s")) as dataset:
        made = report(dataset, Path("s"))
    asked = json.loads(query.write(query.Query(Path("s"), [], None), "json", {}).text)
    assert json.loads(json.dumps(made.data)) == asked
    assert blocks(made, PairMatrix)
    assert any("rests on 2 worlds" in line for line in made.reservations)


@pytest.mark.filterwarnings("ignore:.*:UserWarning")  # Studies as small as these are warned of.
@pytest.mark.long
@pytest.mark.parametrize("name", SWEEPS)
def test_every_sweep_that_ships_has_a_report(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    declared = load_sweep(name)
    of_table = name.startswith("recorded")
    words = [] if declared.calculation else ["studies=2", *([] if of_table else ["worlds=2"])]
    quick = not declared.calculation
    simlab.sweep(name, *words, out="s", jobs=1, quick=quick)
    with open_results(Path("s")) as dataset:
        made = report(dataset, Path("s"))
    assert made.answer
    assert made.question
    assert made.reproduce[0].startswith(f"simlab sweep {name}")
    axes = [axis for block in blocks(made, Explorer) for axis in block.axes]
    assert len(made.data) == math.prod(len(axis.values) for axis in axes)
