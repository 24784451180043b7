"""Names that would be markup, programs, expressions or keys of objects are text on a page, and never run."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from looking import cells, choose, control, downloaded, marks, opened, options, rested, type_in, wider
from made_reports import HOSTILE, charts, explorer, matrix, report

from simlab.drawing.reports import html

pytestmark = pytest.mark.slow

pytest.importorskip("altair", reason="the extra simlab[report] is not installed")
pytest.importorskip("vl_convert", reason="the extra simlab[report] is not installed")

AXES = {HOSTILE[0]: HOSTILE, "__proto__": (10, 20), "a.b[0]": HOSTILE[:4]}


@pytest.fixture
def shown(browser: Any, tmp_path: Path) -> Any:
    """Return a page on which everything that has a name has a hostile one."""
    blocks = (explorer(AXES), matrix(HOSTILE), *charts(HOSTILE))
    opened(browser, tmp_path / "report.html", html.page(report(*blocks, title=HOSTILE[0])))
    return browser


def harmed(browser: Any) -> Any:
    return browser.execute_script("return window.harmed ?? null")


def test_hostile_names_are_text_and_never_run(
    shown: Any, console: Callable[[], list[str]], requests: Callable[[], list[str]], tmp_path: Path
) -> None:
    for name, values in (
        ("x", (0, 2, 1)),
        ("line", (0, "")),
        ("slice-2", (0, 3)),
        ("cost", (0, "")),
        ("measure", (1, 0)),
    ):
        for value in values:
            if str(value) in options(shown, name):
                choose(shown, name, value)
    choose(shown, "x", 0)
    type_in(shown, "target", "0.5")
    for place in range(1, 5):
        downloaded(shown, "csv", tmp_path, place)
    assert harmed(shown) is None
    assert console() == []
    assert [url for url in requests() if not url.startswith(("file:", "blob:"))] == []
    assert (
        shown.execute_script(
            "return [...document.querySelectorAll('img, main svg[onload], [onerror], [onfocus]')].length"
        )
        == 0
    )


def test_harm_is_noticed(browser: Any, console: Callable[[], list[str]], tmp_path: Path) -> None:
    """Names that stood in a page as they are would run: the checks above see it."""
    page = f"<!doctype html><title>a</title><p>{HOSTILE[0]}</p><p>{HOSTILE[1]}</p>"
    (tmp_path / "page.html").write_text(page)
    browser.get((tmp_path / "page.html").as_uri())
    assert harmed(browser) in (1, 2)
    assert console() != []


def test_every_name_stands_whole_in_the_table(shown: Any) -> None:
    choose(shown, "x", 0)
    choose(shown, "line", "")
    assert [cell["words"][0] for cell in cells(shown)] == list(HOSTILE)
    every = explorer(AXES).rows
    assert [every[cell["row"]]["srp"] for cell in cells(shown)] == [mark["y"] for mark in marks(shown)]
    texts = shown.execute_script(
        "return [...document.querySelectorAll('.chart svg text')].map((one) => one.textContent)"
    )
    assert any("</script>" in text for text in texts)
    assert max(map(len, texts)) < 200


def test_options_are_cut_short_and_say_so(shown: Any) -> None:
    choose(shown, "x", 1)
    choose(shown, "line", 2)
    texts = list(options(shown, "slice-0").values())
    assert texts[3:5] == list(HOSTILE[3:5])
    assert texts[9] == "x" * 59 + "…"


def test_the_csv_of_hostile_names_reads_back(shown: Any, tmp_path: Path) -> None:
    choose(shown, "x", 0)
    choose(shown, "line", 1)
    read = list(csv.DictReader(io.StringIO(downloaded(shown, "csv", tmp_path), newline="")))
    rows = [explorer(AXES).rows[cell["row"]] for cell in cells(shown)]
    assert [line[HOSTILE[0]] for line in read] == [row[HOSTILE[0]] for row in rows]
    assert [int(line["__proto__"]) for line in read] == [row["__proto__"] for row in rows]
    assert {line["a.b[0]"] for line in read} == {HOSTILE[0]}


def test_the_svg_of_hostile_names_is_whole(shown: Any, tmp_path: Path) -> None:
    choose(shown, "x", 0)
    for place in range(5):
        root = ElementTree.fromstring(downloaded(shown, "svg", tmp_path, place))
        tags = {one.tag.rpartition("}")[2] for one in root.iter()}
        assert tags <= {"svg", "g", "path", "text", "tspan", "line", "rect", "defs", "clipPath"}


def test_long_names_do_not_widen_a_narrow_page(shown: Any) -> None:
    from looking import sized, unsized

    sized(shown, 400)
    try:
        rested(shown)
        shown.execute_script("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert wider(shown) == []
    finally:
        unsized(shown)
    assert control(shown, "measure").is_displayed()
