"""Check that tables say what records hold, in any width, and that JSON and CSV lose nothing."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

import pytest
from compared_pages import compared_page

from simlab.answers.query import QueriedCells
from simlab.comparing.contrasts import Row, records
from simlab.comparing.differences import Contrast
from simlab.drawing.reports import cells, values
from simlab.drawing.reports.answers.query import report
from simlab.drawing.reports.text import page, write_block
from simlab.drawing.text import tables
from simlab.drawing.view import View

NAN = float("nan")


def record(documents: int, grouping: str, srp: float, mcse: float = 0.012, n: int = 250) -> dict[str, Any]:
    return {
        "grouping": grouping, "documents": documents, "srp": srp, "srp_mcse": mcse, "srp_n": n,
        "srp_clusters": 5, "srp_cluster": "world", "srp_failed": 0,
        "srp_low": srp - 2 * mcse, "srp_high": srp + 2 * mcse,
        "power": NAN, "power_mcse": NAN, "power_n": 0, "power_clusters": 0, "power_cluster": "world",
        "power_low": NAN, "power_high": NAN, "power_failed": 0,
    }  # fmt: skip


RECORDS = [record(d, g, s) for g, s in (("ungrouped", 0.731), ("balanced", 0.958)) for d in (10, 30)]


def cells_page(records: Sequence[dict[str, Any]], axes: Sequence[str], names: Sequence[str]) -> str:
    """Write the page of `simlab query` for cells."""
    n = len(records)
    found = QueriedCells(
        cells=tuple(records), axes=tuple(axes), measures=tuple(names), clusters={}, kept=n, found=n, total=n
    )
    return page(report(found))


def column(records: Sequence[dict[str, Any]], name: str) -> list[str]:
    return [written[-1] for written in values.cells(cells.table(records, ["documents"], [name]))]


def figure_tables(records: Sequence[dict[str, Any]], view: View) -> str:
    return "\n\n".join(map(write_block, cells.tables_of_figure(records, view, [view.measure])))


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "34")


def test_json_is_valid_and_what_is_missing_is_null() -> None:
    found = json.loads(tables.write_json(RECORDS), parse_constant=pytest.fail)
    assert found[0] == {**RECORDS[0], **dict.fromkeys(("power", "power_mcse", "power_low", "power_high"))}


def test_csv_reads_back() -> None:
    rows = list(csv.DictReader(io.StringIO(tables.write_csv([record(10, 'a "quoted", name', 0.1)]))))
    assert rows[0]["grouping"] == 'a "quoted", name'
    assert (float(rows[0]["srp"]), rows[0]["power"]) == (0.1, "")


@pytest.mark.parametrize(
    ("value", "mcse", "written"),
    [
        (0.943, 0.0121, ".94 ± .01"),
        (1.0, 0.0, "1.00 ± .00"),
        (-0.004, 0.01, ".00 ± .01"),
        (-0.94, 0.01, "-.94 ± .01"),
        (0.999, 0.01, "1.00 ± .01"),
        (12.5, NAN, "12.50 ± ?"),
        (NAN, NAN, "-"),
    ],
)
def test_measure_is_written_with_its_error(value: float, mcse: float, written: str) -> None:
    assert tables.format_with_error(value, mcse, 2) == written


def test_table_says_n_and_names_measures_without_a_value() -> None:
    text = cells_page(RECORDS, ["grouping", "documents"], ["srp", "power"])
    assert text.splitlines()[1] == "ungrouped  10         .73 ± .01"
    assert "n = 250 campaigns in 5 worlds behind each value" in text
    assert text.splitlines()[-1] == "no value in these cells: power"
    assert cells_page(RECORDS, ["grouping"], ["power"]) == "no value in these cells: power"


def seen(value: float, low: float, high: float, mcse: float = 0.0) -> dict[str, Any]:
    return {**record(10, "a", value, mcse), "srp_low": low, "srp_high": high}


def test_what_was_never_or_always_seen_has_a_bound_in_place_of_an_error_of_nothing() -> None:
    """An error of 0 said that an event of probability .0015 cannot happen, in 57 % of the studies of 25 x 15."""
    never, always, other = seen(0.0, 0.0, 0.0582), seen(1.0, 0.9418, 1.0), seen(0.5, 0.4, 0.6, 0.05)
    text = cells_page([never, always, other], ["documents"], ["srp"])
    assert [line.split()[1:] for line in text.splitlines()[1:4]] == [["≤", ".06"], ["≥", ".94"], [".50", "±", ".05"]]
    assert cells.BOUNDS in text
    assert cells.BOUNDS not in cells_page([other], ["documents"], ["srp"])
    # What rounds to nothing is no better known; what was designed to be the same is no event.
    assert column([seen(0.0004, 0.0001, 0.0582, 0.0004)], "srp") == ["≤ .059"]
    assert column([seen(1.0, 1.0, 1.0), other], "srp") == ["1.00 ± .00", ".50 ± .05"]
    # A bound is rounded outwards.
    assert column([seen(0.0, 0.0, 0.0511)], "srp") == ["≤ .06"]
    assert column([seen(1.0, 0.949, 1.0)], "srp") == ["≥ .94"]


def test_a_few_worlds_that_agree_tell_no_error() -> None:
    unbounded, two = seen(1.0, NAN, NAN), {**seen(0.5, 0.04, 0.96), "srp_clusters": 2}
    text = cells_page([unbounded, two, record(30, "a", 0.7, 0.05)], ["documents"], ["srp"])
    assert [line.split(None, 1)[1] for line in text.splitlines()[1:4]] == ["1.00 ± ?", ".50 ± ?", ".70 ± .05"]
    assert "?: too few worlds to tell an error" in text.splitlines()
    # What was designed is the same however few have it, and many worlds that agree say something.
    cost = {**seen(300.0, 300.0, 300.0), "srp_clusters": 2}
    assert column([cost, seen(0.5, 0.3, 0.7)], "srp") == ["300.00 ± .00", ".50 ± .00"]
    assert "?" not in cells_page([cost], ["documents"], ["srp"])


def test_a_difference_without_an_interval_has_no_error() -> None:
    pair = [
        Row({}, "a", 1.0, 0.0, 8, 2, "a", None, "unknown", 0.2, 1.0),
        Row({}, "b", 1.0, 0.0, 8, 2, "a", Contrast(0.0, 0.0, -0.8, 0.8, 2), "tied", 0.2, 1.0),
    ]
    text = compared_page(pair, "rule", "srp")
    assert ".00 ± ?" in text
    assert "?: too few worlds to tell an error." in text
    assert "± .00" not in text


def test_failed_campaigns_and_missing_values_are_said() -> None:
    some = {**record(10, "a", 0.5, n=240), "srp_failed": 10, "srp_reason": None}
    none = {**record(30, "a", NAN, NAN, 0), "srp_failed": 250, "srp_reason": "every campaign failed"}
    text = cells_page([some, none], ["documents"], ["srp"])
    assert text.splitlines()[2].split() == ["30", "-"]
    assert "260 of 500 campaigns failed in 2 of 2 cells and are left out of the values" in text
    assert "-: no value; every campaign failed" in text
    assert cells_page([none], ["documents"], ["srp"]) == "no value in these cells: srp (every campaign failed)"


def test_prices_say_whose_they_are() -> None:
    text = cells_page([{name.replace("srp", "cost"): value for name, value in RECORDS[0].items()}], [], ["cost"])
    assert "cost in all, all systems together" in text


def test_different_n_are_given_measure_by_measure() -> None:
    records = [
        {**row, "power": 0.5, "power_mcse": 0.1, "power_n": 10 * k, "power_clusters": k + 1}
        for k, row in enumerate(RECORDS)
    ]
    text = " ".join(cells_page(records, ["grouping", "documents"], ["srp", "power"]).split())
    assert "srp 250 campaigns in 5 worlds, power 0 to 30 campaigns in 1 to 4 worlds" in text


def test_calculated_measures_beside_drawn_ones_rest_on_no_campaigns() -> None:
    exact = {"power": 0.5, "power_mcse": 0.0, "power_n": 0, "power_clusters": 0, "power_cluster": "none"}
    text = cells_page([{**record(10, "ungrouped", 0.9), **exact}], ["documents"], ["srp", "power"])
    assert "behind each value: srp 250 campaigns in 5 worlds, power calculated" in text


def test_store_without_axes_is_a_line_per_measure() -> None:
    assert cells_page([RECORDS[0]], [], ["srp"]).splitlines()[:2] == ["measure      value", "srp      .73 ± .01"]


def test_figure_table_crosses_x_and_lines() -> None:
    text = figure_tables(RECORDS, View("srp", "documents", "grouping", ()))
    assert text.splitlines()[:4] == [
        "srp",
        "           grouping",
        "documents  ungrouped   balanced",
        "10         .73 ± .01  .96 ± .01",
    ]


@pytest.mark.usefixtures("narrow")
def test_narrow_terminal_gets_one_line_per_cell_and_one_table_per_measure() -> None:
    records = [{**row, "power": 0.5, "power_mcse": 0.1, "power_n": 250} for row in RECORDS]
    crossed = figure_tables(
        [{**row, "grouping": f"a_long_name_{row['grouping']}"} for row in records],
        View("srp", "documents", "grouping", ()),
    )
    lines = [line.split() for line in crossed.splitlines()]
    assert lines[2:4] == [["documents", "a_long_name_ungrouped"], ["10", ".73", "±", ".01"]]
    assert ["documents", "a_long_name_balanced"] in lines
    text = cells_page(records, ["grouping", "documents"], ["srp", "power"])
    assert [line.split() for line in text.splitlines()].count([]) == 2


def test_figure_table_has_a_part_for_each_panel() -> None:
    records = [{**row, "seed": seed} for seed in (1, 2) for row in RECORDS]
    text = figure_tables(records, View("srp", "documents", "grouping", ("seed",)))
    assert [line for line in text.splitlines() if line.startswith("srp")] == ["srp, seed=1", "srp, seed=2"]


def rows(clusters: int) -> list[Row]:
    known = Contrast(-0.1, 0.02, -0.15, -0.05, clusters)
    unknown = Contrast(-0.1, NAN, NAN, NAN, clusters)
    contrast = known if clusters > 1 else unknown
    standings: Any = ["best", "behind"] if clusters > 1 else ["unknown", "unknown"]
    return [
        Row({"documents": 10}, "a", 0.9, 0.01, 250, 5, "a", None, standings[0]),
        Row({"documents": 10}, "b", 0.8, 0.01, 250, 5, "a", contrast, standings[1]),
    ]


def test_comparison_names_the_best_and_what_it_is_paired_over() -> None:
    text = compared_page(rows(5), "grouping", "srp", "document_set")
    assert text.splitlines()[:3] == [
        "documents  grouping        srp     minus a  95 % interval  standing",
        "10         a         .90 ± .01                             best",
        "10         b         .80 ± .01  -.10 ± .02   -.15 to -.05",
    ]
    assert "paired over 5 document sets" in text
    assert "n = 250 campaigns in 5 document sets behind each value" in text
    assert "Left out" not in text


def test_a_narrow_comparison_goes_on_below_and_leaves_nothing_out(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = compared_page(rows(5), "grouping", "type_s")
    monkeypatch.setenv("COLUMNS", "50")
    text = compared_page(rows(5), "grouping", "type_s")
    assert text.splitlines()[:7] == [
        "documents  grouping     type_s     minus a",
        "10         a         .90 ± .01",
        "10         b         .80 ± .01  -.10 ± .02",
        "",
        "documents  grouping  95 % interval  standing",
        "10         a                        best",
        "10         b          -.15 to -.05",
    ]
    assert set(whole.split()) == set(text.split())
    assert text.splitlines()[-1] == "Less is better."


def test_a_folded_table_names_its_rows_in_every_part(monkeypatch: pytest.MonkeyPatch) -> None:
    header, row = ["name", *"abcdef"], ["first", *("0123456789" for _ in "abcdef")]
    for columns in (1, 17, 29, 30, 41, 77, 100):
        monkeypatch.setenv("COLUMNS", str(columns))
        parts = [part.splitlines() for part in tables.fold_columns(header, [row]).split("\n\n")]
        assert all(
            line.split()[0] == name for part in parts for name, line in zip(("name", "first"), part, strict=True)
        )
        assert [name for first, _ in parts for name in first.split()[1:]] == header[1:]
        assert columns < 17 or max(len(line) for part in parts for line in part) <= columns
        assert len(parts) == {1: 6, 17: 6, 29: 3, 30: 3, 41: 2, 77: 1, 100: 1}[columns]


def test_comparison_of_one_cluster_says_that_no_error_can_be_given() -> None:
    text = compared_page(rows(1), "grouping", "srp")
    assert "-.10 ± ?" in text
    assert "No error can be given from 1 world" in text


def test_comparison_records_are_flat() -> None:
    best, behind = records(rows(5), "grouping", "srp")
    assert (best["difference"], best["standing"]) == (None, "best")
    assert (behind["difference"], behind["difference_high"], behind["baseline"]) == (-0.1, -0.05, "a")
    assert list(best) == list(behind)
