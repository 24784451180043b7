"""A report page fits: telephones and large screens, light and dark, paper; and what does not is noticed."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from looking import opened, picture, rested, sized, unsized, waited, wider
from made_reports import charts, explorer, matrix, report

from simlab.drawing.reports import html, interactive

pytestmark = pytest.mark.slow

pytest.importorskip("altair", reason="the extra simlab[report] is not installed")
pytest.importorskip("vl_convert", reason="the extra simlab[report] is not installed")


@pytest.fixture
def shown(browser: Any, tmp_path: Path) -> Iterator[Any]:
    sized(browser, 1200)
    opened(browser, tmp_path / "report.html", html.page(report(explorer(target=0.6), matrix(), *charts())))
    yield browser
    unsized(browser)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1600])
def test_nothing_reaches_beyond_the_page(shown: Any, width: int, scheme: str) -> None:
    sized(shown, width, scheme)
    shown.execute_script("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    wide = waited(shown, "return [...document.querySelectorAll('.chart')].map((one) => one.clientWidth)")
    waited(shown, "return [...document.querySelectorAll('.chart')].every((c) => Math.abs(c.clientWidth - c.width) < 6)")
    rested(shown)
    assert wider(shown) == []
    drawn = shown.execute_script("return [...document.querySelectorAll('.chart svg')].map((one) => one.clientWidth)")
    for room, taken in zip(wide, drawn, strict=True):
        assert 0.9 * room < taken <= room
    letters = shown.execute_script(
        "return [...document.querySelectorAll('.chart svg text')].map((t) => t.getBoundingClientRect().height)"
    )
    assert min(letter for letter in letters if letter) > 9


def test_what_is_too_wide_is_noticed(shown: Any) -> None:
    assert wider(shown) == []
    shown.execute_script(
        "document.body.append(Object.assign(document.createElement('div'), {style: 'width: 3000px', textContent: 'a'}))"
    )
    assert len(wider(shown)) == 2


def test_letters_and_lines_stand_out_in_the_light_and_in_the_dark(shown: Any) -> None:
    """Contrast of WCAG: 4.5 of letters against what is behind them, 3 of lines."""
    for scheme in ("light", "dark"):
        sized(shown, 1200, scheme)
        behind = _luminance(_behind(shown))
        for selector, property_, least in (
            (".chart .role-axis-label text", "fill", 4.5),
            (".chart .role-axis-title text", "fill", 4.5),
            (".chart .role-legend-label text", "fill", 4.5),
            ("figcaption", "color", 4.5),
            (".chart g.mark-line path", "stroke", 2.9),
        ):
            script = (
                f"return [...document.querySelectorAll('{selector}')].map((one) => getComputedStyle(one).{property_})"
            )
            colours = set(shown.execute_script(script))
            assert colours
            for colour in colours:
                assert _contrast(_luminance(_rgb(colour)), behind) >= least, (scheme, selector, colour)


def test_numbers_in_squares_can_be_read(shown: Any) -> None:
    """Letters against their square, whose share of its colour lies over the page."""
    script = """return [...document.querySelectorAll("figure[data-place='1'] .chart g.square_marks path")].map(
      (one) => [getComputedStyle(one).fill, Number(one.getAttribute('opacity'))])"""
    letters = "figure[data-place='1'] .chart g:is(.faint_marks, .full_marks) text"
    words = f"""return [...document.querySelectorAll("{letters}")].map(
      (one) => [getComputedStyle(one).fill, one.textContent])"""
    for scheme in ("light", "dark"):
        sized(shown, 1200, scheme)
        page = np.array(_behind(shown))
        full = [(np.array(_rgb(fill)), opacity) for fill, opacity in shown.execute_script(script)]
        squares = {
            f"{(opacity - 0.04) / 0.96:.2f}".lstrip("0"): page + opacity * (fill - page) for fill, opacity in full
        }
        told = shown.execute_script(words)
        assert len(told) == len(full) == 6
        for colour, text in told:
            assert _contrast(_luminance(_rgb(colour)), _luminance(squares[text].tolist())) >= 3.5, (scheme, text)


def _behind(browser: Any) -> list[float]:
    from PIL import Image

    return [float(one) for one in Image.open(io.BytesIO(picture(browser))).convert("RGB").getpixel((2, 450))]


def _rgb(colour: str) -> list[float]:
    return [float(one) for one in colour[colour.index("(") + 1 : -1].split(",")[:3]]


def _luminance(rgb: list[float]) -> float:
    parts = np.array(rgb) / 255
    linear = np.where(parts <= 0.03928, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def _contrast(one: float, other: float) -> float:
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


def test_on_paper_there_are_figures_and_no_controls(shown: Any) -> None:
    shown.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": []})
    seen = "return [...document.querySelectorAll('{}')].filter((one) => one.getBoundingClientRect().height > 0).length"
    assert shown.execute_script(seen.format(".controls, .buttons button")) == 0
    assert shown.execute_script(seen.format(".chart svg")) == 5
    printed = shown.execute_cdp_cmd("Page.printToPDF", {"paperWidth": 8.27, "paperHeight": 11.69})["data"]
    assert len(printed) > 20_000


def test_an_error_and_a_request_of_a_page_are_noticed(
    browser: Any, console: Callable[[], list[str]], requests: Callable[[], list[str]], tmp_path: Path
) -> None:
    """A page that throws, one that asks for a picture elsewhere, and a report that would ask and may not."""
    page = tmp_path / "page.html"
    page.write_text("<!doctype html><title>a</title><script>undefined.harm</script>")
    browser.get(page.as_uri())
    assert any("TypeError" in line for line in console())
    page.write_text("<!doctype html><title>a</title><img src='http://127.0.0.1:9/a.png'>")
    browser.get(page.as_uri())
    assert "http://127.0.0.1:9/a.png" in requests()
    console()
    before, end, after = html.page(report(explorer())).rpartition("</body>")
    opened(browser, page, f"{before}<img src='http://127.0.0.1:9/a.png'>{end}{after}")
    assert any("Content Security Policy" in line for line in console())


def test_without_the_extra_a_page_is_static_and_says_so(
    browser: Any, console: Callable[[], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interactive, "NEEDED", ("no_such_module",))
    page = html.page(report(explorer(), matrix(), *charts()))
    assert "<script>" not in page
    (tmp_path / "page.html").write_text(page)
    browser.get((tmp_path / "page.html").as_uri())
    drawn = browser.execute_script(
        "return [...document.images].map((one) => [one.complete, one.naturalWidth, one.alt])"
    )
    assert len(drawn) == 5
    assert all(complete and width > 100 and alt for complete, width, alt in drawn)
    assert browser.execute_script("return document.body.textContent.split('simlab[report]').length") == 6
    assert browser.execute_script("return document.querySelectorAll('[data-control]').length") == 0
    assert wider(browser) == []
    assert console() == []
