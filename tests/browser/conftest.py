"""A browser that logs what a page says and what it asks for."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = Path(os.environ.get("SIMLAB_CHROMIUM", "/usr/bin/chromium"))
DRIVER = Path(os.environ.get("SIMLAB_CHROMEDRIVER", "/usr/bin/chromedriver"))
QUIET = (
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def _driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    for program in (CHROMIUM, DRIVER):
        if not program.exists():
            pytest.skip(f"there is no {program}")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    alone = ["--no-sandbox"] if os.geteuid() == 0 else []
    profile = tmp_path_factory.mktemp("profile")
    for word in (*QUIET, *alone, f"--user-data-dir={profile}", "--window-size=1200,1000"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
    yield driver
    driver.quit()


@pytest.fixture
def browser(_driver: Any) -> Any:
    """Return a driver with empty logs; `console` and `requests` read what came since."""
    _driver.get("about:blank")
    for log in ("browser", "performance"):
        _driver.get_log(log)
    return _driver


@pytest.fixture
def console(browser: Any) -> Callable[[], list[str]]:
    """Return what lists the lines that pages wrote to the console, errors among them."""
    return lambda: [line["message"] for line in browser.get_log("browser")]


@pytest.fixture
def requests(browser: Any) -> Callable[[], list[str]]:
    """Return what lists the addresses that pages asked for, the pages' own among them."""

    def asked() -> list[str]:
        events = (json.loads(line["message"])["message"] for line in browser.get_log("performance"))
        sent = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
        return [url for url in sent if not url.startswith("data:")]

    return asked
