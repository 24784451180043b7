"""A report page in a browser: every control does what it says, and every number is that of the store."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from looking import (
    cells,
    choose,
    control,
    controls,
    downloaded,
    marks,
    opened,
    options,
    rested,
    said,
    type_in,
    waited,
)
from made_reports import PLAIN, QUANTITIES, charts, explorer, matrix, report

from simlab.drawing.reports import html, values
from simlab.drawing.reports.cells import table
from simlab.rng import stream

pytestmark = pytest.mark.slow

pytest.importorskip("altair", reason="the extra simlab[report] is not installed")
pytest.importorskip("vl_convert", reason="the extra simlab[report] is not installed")

AXES = list(PLAIN)
ENDS = ("", "_mcse", "_n", "_clusters", "_low", "_high")
DATA = ("value", "mcse", "n", "clusters", "low", "high")
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def shown(browser: Any, tmp_path: Path) -> Any:
    """Return a page with an explorer of four axes, a matrix and charts of every kind."""
    opened(browser, tmp_path / "report.html", html.page(report(explorer(), matrix(), *charts())))
    return browser


@pytest.fixture
def quiet(shown: Any, console: Callable[[], list[str]], requests: Callable[[], list[str]]) -> Iterator[Any]:
    """Return the page; after the test there was no complaint, and no request but for the page and its own blobs."""
    yield shown
    assert console() == []
    assert [url for url in requests() if not url.startswith(("file:", "blob:"))] == []


def selection(chosen: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a selection in the order of the page: line by line, then across."""
    held = [row for row in explorer().rows if all(row[name] == value for name, value in chosen["slices"].items())]
    order = [name for name in (chosen["line"], chosen["x"]) if name]
    return sorted(held, key=lambda row: [PLAIN[name].index(row[name]) for name in order])  # type: ignore[arg-type]


def chosen_at_random(browser: Any, rng: Any) -> dict[str, Any]:
    """Turn the controls to a random view of a random measure; return what was chosen."""
    x, line = rng.permutation(len(AXES))[:2].tolist()
    measure = int(rng.integers(len(QUANTITIES)))
    choose(browser, "measure", measure)
    choose(browser, "x", x)
    choose(browser, "line", line if rng.random() < 0.8 else "")
    at = {k: int(rng.integers(len(PLAIN[name]))) for k, name in enumerate(AXES) if f"slice-{k}" in controls(browser)}
    for k, place in at.items():
        choose(browser, f"slice-{k}", place)
    named = control(browser, "line").get_attribute("value")
    return {
        "measure": QUANTITIES[measure].name,
        "x": AXES[x],
        "line": AXES[int(named)] if named else None,
        "slices": {AXES[k]: PLAIN[AXES[k]][place] for k, place in at.items()},
    }


def differing(browser: Any, rows: list[dict[str, Any]], measure: str) -> list[str]:
    """List where the table or the marks of the page differ from rows of the store, to the last digit."""
    wrong, every = [], explorer().rows
    table, drawn = cells(browser), {mark["k"]: mark for mark in marks(browser)}
    if [every[cell["row"]] for cell in table] != rows:
        wrong.append("other cells, or in another order")
    for k, (cell, row) in enumerate(zip(table, rows, strict=False)):
        held = cell["values"][0]
        page = [None if held.get(name) is None else float(held[name]) for name in DATA]
        store = [row[f"{measure}{end}"] for end in ENDS]
        wrong += [f"row {k}: {page}, not {store}"] * (page != store)
        mark = drawn.get(k, {"y": None, "low": None, "high": None})
        wrong += [f"mark {k}: {mark}"] * ([mark["y"], mark["low"], mark["high"]] != [store[0], *store[4:]])
    return wrong


def test_random_selections_show_the_values_of_the_store(quiet: Any) -> None:
    rng = stream(20, "browser", "selections")
    for _ in range(12):
        chosen = chosen_at_random(quiet, rng)
        assert differing(quiet, selection(chosen), chosen["measure"]) == [], chosen


def test_a_value_that_is_not_the_stores_is_noticed(shown: Any) -> None:
    rows = selection({"x": "documents", "line": "grouping", "slices": {"raters": 4, "crew": "students"}})
    assert differing(shown, rows, "srp") == []
    shown.execute_script("document.querySelector('td[data-measure]').dataset.value = '0.5'")
    assert len(differing(shown, rows, "srp")) == 1
    shown.execute_script("document.querySelector('.chart').result.view.data('marks')[3].y += 1e-9")
    assert len(differing(shown, rows, "srp")) == 2
    assert differing(shown, rows[1:], "srp")


def written_column(rows: list[dict[str, Any]], name: str) -> list[str]:
    """Write a measure of cells as `simlab query` does."""
    return [written[-1] for written in values.cells(table(rows, ["documents"], [name]))]


def test_values_are_written_as_queries_write_them(quiet: Any) -> None:
    for k, quantity in enumerate(QUANTITIES):
        choose(quiet, "measure", k)
        rows = [
            {key: math.nan if value is None else value for key, value in explorer().rows[cell["row"]].items()}
            for cell in cells(quiet)
        ]
        told = [one["values"][0]["text"] for one in cells(quiet)]
        expected = [text if text != "-" else "needs pools=2" for text in written_column(rows, quantity.name)]
        assert told == expected


def test_an_axis_goes_one_way_only(quiet: Any) -> None:
    assert controls(quiet) == ["measure", "x", "line", "slice-2", "slice-3", "cost", "target", "csv", "svg"]
    choose(quiet, "x", 0)
    assert control(quiet, "line").get_attribute("value") == "1"
    choose(quiet, "x", 3)
    assert controls(quiet)[:5] == ["measure", "x", "line", "slice-0", "slice-2"]
    assert "3" not in options(quiet, "line")
    choose(quiet, "line", "")
    assert controls(quiet)[3:6] == ["slice-0", "slice-1", "slice-2"]
    assert len(cells(quiet)) == 2


def test_what_has_no_value_says_why(quiet: Any) -> None:
    choose(quiet, "measure", 1)
    missing = [cell for cell in cells(quiet) if "value" not in cell["values"][0]]
    for slices in ((0, 1), (1, 0), (1, 1)):
        if missing:
            break
        choose(quiet, "slice-2", slices[0])
        choose(quiet, "slice-3", slices[1])
        missing = [cell for cell in cells(quiet) if "value" not in cell["values"][0]]
    assert missing
    assert all("needs pools=2" in cell["words"] for cell in missing)
    assert f"power has no value in {len(missing)} of the 15 cells shown: needs pools=2." in said(quiet)


@pytest.mark.parametrize(("measure", "sign"), [(0, 1), (2, -1)])
def test_the_target_is_reached_by_values_or_by_whole_intervals(quiet: Any, measure: int, sign: int) -> None:
    choose(quiet, "measure", measure)
    type_in(quiet, "target", "0.6")
    name, end = QUANTITIES[measure].name, "low" if sign > 0 else "high"
    rows = [explorer().rows[cell["row"]] for cell in cells(quiet)]
    value, whole = ([sign * row[f"{name}{of}"] >= sign * 0.6 for row in rows] for of in ("", f"_{end}"))
    told = [cell["words"][-1] for cell in cells(quiet)]
    assert told == ["yes" if w else "value only" if v else "no" for v, w in zip(value, whole, strict=True)]
    assert {"yes", "no"} <= set(told)
    assert f"of at {'least' if sign > 0 else 'most'} .6: {sum(value)} of the 15 cells shown" in said(quiet)
    assert waited(quiet, "return document.querySelector('.chart svg').textContent.includes('target .6')")
    type_in(quiet, "target", "")
    assert said(quiet) == ""
    assert not quiet.execute_script("return document.querySelector('.chart svg').textContent.includes('target')")


def test_each_measure_has_a_target_of_its_own(quiet: Any) -> None:
    type_in(quiet, "target", "0.7")
    choose(quiet, "measure", 3)
    assert control(quiet, "target").get_attribute("value") == ""
    choose(quiet, "measure", 0)
    assert control(quiet, "target").get_attribute("value") == "0.7"


def test_at_equal_cost_money_goes_across(quiet: Any) -> None:
    choose(quiet, "cost", 0)
    rows = explorer().rows
    for cell, mark in zip(cells(quiet), marks(quiet), strict=True):
        row = rows[cell["row"]]
        assert [held["measure"] for held in cell["values"]] == ["srp", "money"]
        assert [float(held["value"]) for held in cell["values"]] == [row["srp"], row["money"]]
        assert float(cell["values"][1]["mcse"]) == row["money_mcse"]
        assert (mark["x"], mark["y"]) == (row["money"], row["srp"])
    assert "cost of a campaign [EUR]" in quiet.execute_script("return document.querySelector('.chart svg').textContent")
    choose(quiet, "cost", "")
    assert {mark["x"] for mark in marks(quiet)} == set(PLAIN["documents"])


def test_the_front_is_of_those_that_nothing_cheaper_beats(quiet: Any) -> None:
    """In one slice, and over all values of the further axes; more is better of one measure, less of another."""
    choose(quiet, "cost", 0)
    for measure, sign in ((0, 1), (2, -1)):
        choose(quiet, "measure", measure)
        for slices, n in ((0, 15), ("all", 60)):
            choose(quiet, "slice-2", slices)
            choose(quiet, "slice-3", slices)
            name, table = QUANTITIES[measure].name, cells(quiet)
            assert len({cell["row"] for cell in table}) == len(table) == n
            at = np.array([[sign * (row := explorer().rows[cell["row"]])[name], row["money"]] for cell in table])
            beaten = [((at[:, 0] > value) & (at[:, 1] < cost)).any() for value, cost in at]
            assert ["yes" if mark["chosen"] else "no" for mark in marks(quiet)] == [
                "no" if b else "yes" for b in beaten
            ]
            column = next(k for k, word in enumerate(table[0]["words"]) if word in ("yes", "no"))
            assert [cell["words"][column] == "no" for cell in table] == beaten
            rings = "return document.querySelectorAll(\"figure[data-place='0'] .chart g.ring_marks path\").length"
            assert quiet.execute_script(rings) == len(at) - sum(beaten) > 0
    choose(quiet, "cost", "")
    assert len(cells(quiet)) == 15
    assert "all" not in options(quiet, "slice-2")


def test_points_stand_where_their_values_are(quiet: Any) -> None:
    """Pixels are a linear function of values; a point moved by one pixel would be noticed."""
    script = """return [...document.querySelectorAll("figure[data-place='0'] .chart g.mark-symbol.role-mark")].at(-1)
    .querySelectorAll('path').values().map((one) => one.transform.baseVal[0].matrix).map((m) => [m.e, m.f]).toArray()"""
    at = np.array(quiet.execute_script(script))
    values = np.array([mark["y"] for mark in marks(quiet)])
    assert len(at) == len(values) == 15

    def off(pixels: Any) -> float:
        return float(np.abs(np.polyval(np.polyfit(values, pixels, 1), values) - pixels).max())

    assert off(at[:, 1]) < 0.01
    assert off(at[:, 1] + np.eye(15)[4]) > 0.5
    assert np.polyfit(values, at[:, 1], 1)[0] < 0


def test_the_selection_as_csv_has_the_rows_of_the_store(quiet: Any, tmp_path: Path) -> None:
    choose(quiet, "measure", 1)
    choose(quiet, "slice-2", 1)
    choose(quiet, "cost", 0)
    read = list(csv.DictReader(io.StringIO(downloaded(quiet, "csv", tmp_path))))
    rows = [explorer().rows[cell["row"]] for cell in cells(quiet)]
    names = [*PLAIN, *(f"{of}{end}" for of in ("power", "money") for end in (*ENDS, "_failed", "_reason"))]
    assert len(read) == len(rows) == 15
    for line, row in zip(read, rows, strict=True):
        expected = {name: row[name] for name in names if row.get(name) is not None}
        assert {key: type(expected[key])(text) for key, text in line.items() if text} == expected


def test_the_figure_as_svg_is_whole(quiet: Any, tmp_path: Path) -> None:
    for place, question in enumerate(("Which grouping", "Which pairs", "What of", "What of", "What of")):
        text = downloaded(quiet, "svg", tmp_path, place)
        root = ElementTree.fromstring(text)
        assert root.tag == f"{SVG}svg"
        assert float(root.attrib["width"]) > 300
        words = "".join(root.itertext())
        assert question in words
        assert not root.findall(f".//{SVG}script")
        assert len(root.findall(f".//{SVG}path")) > 3


def test_the_pair_matrix_shows_the_shares_of_the_design_and_kind(quiet: Any) -> None:
    block = matrix()
    for design, kind in ((0, 0), (1, 2), (0, 1)):
        choose(quiet, "matrix-design", design, 1)
        choose(quiet, "matrix-kind", kind, 1)
        assert [mark["share"] for mark in marks(quiet, 1)] == list(block.shares[design][kind])
        script = "return [...document.querySelectorAll(\"figure[data-place='1'] td[data-kind]\")].map((c) => c.dataset)"
        table = {(int(c["kind"]), k // 3): float(c["value"]) for k, c in enumerate(quiet.execute_script(script))}
        assert table == {(one, k): block.shares[design][one][k] for one in range(3) for k in range(len(block.pairs))}


def test_the_shares_as_csv(quiet: Any, tmp_path: Path) -> None:
    choose(quiet, "matrix-design", 1, 1)
    header, *lines = csv.reader(io.StringIO(downloaded(quiet, "csv", tmp_path, 1)))
    block = matrix()
    assert header == ["design", "system", "and system", *block.kinds]
    assert [[float(share) for share in line[3:]] for line in lines] == [
        list(of) for of in zip(*block.shares[1], strict=True)
    ]
    assert [line[1:3] for line in lines] == [[block.systems[i], block.systems[j]] for i, j in block.pairs]


def test_charts_hand_over_their_marks(quiet: Any, tmp_path: Path) -> None:
    for place, chart in enumerate(charts(), 2):
        read = list(csv.DictReader(io.StringIO(downloaded(quiet, "csv", tmp_path, place))))
        xs, ys = ([line[name] for line in read] for name in (chart.x, chart.y))
        assert [type(mark.x)(x) for mark, x in zip(chart.marks, xs, strict=True)] == [mark.x for mark in chart.marks]
        assert [type(mark.y)(y) for mark, y in zip(chart.marks, ys, strict=True)] == [mark.y for mark in chart.marks]


def test_hovering_tells_value_error_clusters_and_n(quiet: Any) -> None:
    from selenium.webdriver import ActionChains

    symbols = quiet.find_elements("css selector", "figure[data-place='0'] .chart g.mark-symbol.role-mark")[-1]
    ActionChains(quiet).move_to_element(symbols.find_elements("css selector", "path")[7]).perform()
    hint = waited(quiet, "const h = document.querySelector('.hint'); return h && !h.hidden && h.textContent")
    cell = cells(quiet)[7]
    assert cell["values"][0]["text"] in hint
    assert cell["words"][3] in hint
    assert all(word in hint for word in ("5 worlds", "250 campaigns", "raters, documents", "system_balanced"))
    quiet.find_element("css selector", "body").send_keys("\ue00c")
    assert waited(quiet, "return document.querySelector('.hint').hidden")


def test_hovering_a_chart_names_its_interval(quiet: Any) -> None:
    from selenium.webdriver import ActionChains

    symbols = quiet.find_elements("css selector", "figure[data-place='2'] .chart g.mark-symbol.role-mark")[-1]
    quiet.execute_script("arguments[0].scrollIntoView({ block: 'center' })", symbols)
    ActionChains(quiet).move_to_element(symbols.find_elements("css selector", "path")[1]).perform()
    hint = waited(quiet, "const h = document.querySelector('.hint'); return h && !h.hidden && h.textContent")
    assert all(word in hint for word in ("80 % interval", ".20 ± .02", ".15", ".25"))
    assert "95 %" not in hint
    quiet.find_element("css selector", "body").send_keys("\ue00c")


def test_charts_have_words_for_those_who_do_not_see_them(quiet: Any) -> None:
    labels = quiet.execute_script("return [...document.querySelectorAll('.chart[role=img]')].map((c) => c.ariaLabel)")
    assert len(labels) == 5
    assert labels[0].startswith("stable ranking probability against documents, a line for each grouping: from ")
    assert labels[2:] == ["alt of intervals", "alt of lines", "alt of scatter"]
    unnamed = "return [...document.querySelectorAll('select, input')].filter((one) => !one.labels[0]?.textContent)"
    assert quiet.execute_script(unnamed) == []
    assert quiet.execute_script("return document.querySelectorAll('figure[data-block] details table').length") == 5


def test_everything_can_be_done_with_the_keyboard(quiet: Any) -> None:
    """Tab goes through all controls in their order, arrows choose, and focus is seen and stays where it is."""
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    def press(*keys: str) -> None:
        ActionChains(quiet).send_keys(*keys).perform()

    here = "return document.activeElement.dataset.control ?? document.activeElement.localName"
    control(quiet, "measure").send_keys("")
    quiet.execute_script("document.querySelector('[data-control=measure]').focus()")
    met = []
    for _ in range(10):
        met.append(quiet.execute_script(here))
        outline = quiet.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", met
        press(Keys.TAB)
    assert met == [*controls(quiet), "summary"]
    quiet.execute_script("document.querySelector('[data-control=measure]').focus()")
    press(Keys.ARROW_DOWN)
    rested(quiet)
    assert quiet.execute_script(here) == "measure"
    assert cells(quiet)[0]["values"][0]["measure"] == "power"
    press(Keys.TAB, Keys.ARROW_UP)
    rested(quiet)
    assert quiet.execute_script(here) == "x"
    assert control(quiet, "x").get_attribute("value") == "0"


def test_the_rows_of_the_page_are_those_of_the_store(quiet: Any) -> None:
    held = quiet.execute_script("return document.getElementById('simlab-data').textContent")
    assert json.loads(held) == [dict(row) for row in explorer().rows]
