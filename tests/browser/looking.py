"""Look at a report page in a browser: its controls, the table behind a chart, what is drawn, and what does not fit."""

from __future__ import annotations

import base64
import time
from pathlib import Path
from typing import Any

FIGURE = "figure[data-place='{place}']"
CELLS = """
const rows = document.querySelectorAll("figure[data-place='" + arguments[0] + "'] .behind-it tr[data-row]");
return [...rows].map((row) => ({
  row: Number(row.dataset.row), words: [...row.cells].map((cell) => cell.textContent),
  values: [...row.cells].filter((cell) => cell.dataset.measure)
    .map((cell) => ({ ...cell.dataset, text: cell.textContent })),
}));
"""
MARKS = """
const view = document.querySelector("figure[data-place='" + arguments[0] + "'] .chart").result.view;
const held = ({ k, x, y, low, high, line, share, chosen }) => ({ k, x, y, low, high, line, share, chosen });
return view.data("marks").map(held);
"""
WIDER = """
const most = document.documentElement.clientWidth + 1;
const scrolls = (one) => { for (let at = one; at; at = at.parentElement)
  if (/auto|scroll|hidden|clip/.test(getComputedStyle(at).overflowX)) return true; return false; };
const out = [...document.body.querySelectorAll("*")].filter((one) => !one.closest(".hint") &&
  one.getBoundingClientRect().right > most && !scrolls(one.parentElement)).map((one) => one.outerHTML.slice(0, 120));
return document.documentElement.scrollWidth > most ? ["the page scrolls", ...out] : out;
"""


def opened(browser: Any, file: Path, page: str) -> Any:
    """Write a page, open it, and wait until all of its charts are drawn."""
    file.write_text(page, encoding="utf-8")
    browser.get(file.as_uri())
    return rested(browser)


def rested(browser: Any, seconds: float = 30) -> Any:
    """Wait until every chart of the page is drawn, and none is about to be drawn anew."""
    ready = (
        "return document.documentElement.dataset.charts === 'drawn' && [...document.querySelectorAll('.chart')]"
        ".every((one) => one.querySelector('img') || (one.turn && one.dataset.drawn === String(one.turn)))"
    )
    return waited(browser, ready, seconds)


def waited(browser: Any, script: str, seconds: float = 30) -> Any:
    """Wait until a script of the page returns something."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := browser.execute_script(script):
            return found
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s: {script}")


def control(browser: Any, name: str, place: int = 0) -> Any:
    return browser.find_element("css selector", f"{FIGURE.format(place=place)} [data-control='{name}']")


def controls(browser: Any, place: int = 0) -> list[str]:
    found = browser.find_elements("css selector", f"{FIGURE.format(place=place)} [data-control]")
    return [one.get_attribute("data-control") for one in found]


def choose(browser: Any, name: str, option: object, place: int = 0) -> None:
    """Choose an option by its value, as who clicks on it does."""
    from selenium.webdriver.support.select import Select

    Select(control(browser, name, place)).select_by_value(str(option))
    rested(browser)


def options(browser: Any, name: str, place: int = 0) -> dict[str, str]:
    found = control(browser, name, place).find_elements("css selector", "option")
    return {one.get_attribute("value"): one.get_attribute("textContent") for one in found}


def type_in(browser: Any, name: str, text: str, place: int = 0) -> None:
    from selenium.webdriver.common.keys import Keys

    control(browser, name, place).send_keys(Keys.CONTROL, "a", Keys.NULL, text or Keys.BACKSPACE)
    rested(browser)


def cells(browser: Any, place: int = 0) -> list[dict[str, Any]]:
    """Return the rows of the table behind a chart: the place of each in the data, its words, and its values in full."""
    return list(browser.execute_script(CELLS, place))


def marks(browser: Any, place: int = 0) -> list[dict[str, Any]]:
    """Return what Vega drew, mark by mark."""
    return list(browser.execute_script(MARKS, place))


def said(browser: Any, place: int = 0) -> str:
    found = browser.find_element("css selector", f"{FIGURE.format(place=place)} .said")
    return str(found.get_attribute("textContent"))


def wider(browser: Any) -> list[str]:
    """List what reaches beyond the right edge of the page."""
    return list(browser.execute_script(WIDER))


def sized(browser: Any, width: int, scheme: str = "light") -> None:
    """Show a page as wide as a telephone or a large screen, in the light or in the dark."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def unsized(browser: Any) -> None:
    """Leave the browser as the next test expects it."""
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def downloaded(browser: Any, name: str, folder: Path, place: int = 0) -> str:
    """Press a button that hands over a file, and read that file."""
    before = set(folder.iterdir())
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})
    control(browser, name, place).click()
    until = time.monotonic() + 20
    while time.monotonic() < until:
        new = [file for file in folder.iterdir() if file not in before and file.suffix in (".csv", ".svg")]
        if new and new[0].stat().st_size:
            return new[0].read_bytes().decode("utf-8")
        time.sleep(0.05)
    raise AssertionError(f"{name} handed over no file")


def picture(browser: Any) -> bytes:
    """Return a picture of what is in view."""
    return base64.b64decode(browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})["data"])
