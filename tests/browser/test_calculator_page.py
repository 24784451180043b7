"""The page of the measurable difference, in a browser: its numbers are those of `simlab detect`."""

from __future__ import annotations

import itertools
import json
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simlab.analysis.adequacy.grid import PUBLISHED
from simlab.analysis.adequacy.inverse import find_smallest_number
from simlab.analysis.adequacy.measurable_difference import measurable_difference
from simlab.analysis.adequacy.plans import Plan
from simlab.cli import answer
from simlab.commands import detect_page
from simlab.drawing.text import tables
from simlab.rng import stream

pytestmark = pytest.mark.slow

ALL = "return arguments[0].map((plan) => epsilonOf(plan))"
TOLD = "return arguments[0].map((epsilon) => told(epsilon))"


@pytest.fixture
def shown(browser: Any, tmp_path: Path) -> Any:
    file = tmp_path / "detect.html"
    detect_page.write_page(file)
    browser.get(file.as_uri())
    return browser


def by(driver: Any, name: str) -> Any:
    return driver.find_element("css selector", f"[data-control={name}]")


def value(driver: Any, name: str) -> float | None:
    """Return what an output holds, in full, once it is there."""
    said = driver.find_element("id", name).get_attribute("data-value")
    return None if said is None else float(said)


def typed(driver: Any, **values: float) -> None:
    from selenium.webdriver.common.keys import Keys

    for name, number in values.items():
        by(driver, name).send_keys(Keys.CONTROL, "a", Keys.NULL, f"{number}")


def chosen(driver: Any, name: str, option: str) -> None:
    from selenium.webdriver.support.select import Select

    Select(by(driver, name)).select_by_value(option)


def rested(driver: Any) -> None:
    """Wait until the inverse and the chart have followed."""
    driver.execute_async_script("setTimeout(arguments[0], 70)")


def text(driver: Any, name: str) -> str:
    return str(driver.find_element("id", name).text)


def said_by_detect(command: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Carry out a command that the page shows."""
    capsys.readouterr()
    assert answer([*shlex.split(command)[1:], "--format", "json"]) == 0
    row = json.loads(capsys.readouterr().out)[0]
    assert isinstance(row, dict)
    return row


def of_detect(plans: Sequence[dict[str, Any]]) -> np.ndarray:
    """Return epsilon of settings by the function that detect calls; they all have a calibration, or none has."""
    columns = {name: np.array([plan[name] for plan in plans]) for name in Plan._fields}
    if plans[0]["n_calibration"] is None:
        del columns["n_calibration"]
    return np.asarray(measurable_difference(Plan(**columns)).epsilon)


def sample(n: int, seed: int) -> list[dict[str, Any]]:
    drawn = detect_page.random_settings(stream(seed, "random settings"), n)
    return [{name: float(column[k]) for name, column in drawn.items()} for k in range(n)]


def published(n: int | None) -> list[dict[str, Any]]:
    """List settings of the published grid: all, or some that are drawn."""
    every = itertools.product(*PUBLISHED.values())
    rows = [dict(zip(PUBLISHED, values, strict=True)) for values in every]
    if n is None:
        return rows
    return [rows[k] for k in stream(0, "published").choice(len(rows), n, replace=False)]


def digits(epsilon: float) -> str:
    return tables.number(epsilon, 4 if epsilon < 0.01 else 3)


def hold_published(driver: Any, plans: list[dict[str, Any]]) -> None:
    """Hold the page's numbers against those of detect, to the digits shown and far beyond."""
    expected = of_detect(plans)
    found = np.array(driver.execute_script(ALL, plans), float)
    assert np.abs(found / expected - 1).max() < 1e-9
    assert driver.execute_script(TOLD, found.tolist()) == [digits(epsilon) for epsilon in expected]


def test_published_settings_have_the_digits_of_detect(shown: Any) -> None:
    hold_published(shown, published(1500))


@pytest.mark.long
def test_all_published_settings_have_the_digits_of_detect(shown: Any) -> None:
    plans = published(None)
    assert len(plans) == 158_400
    for start in range(0, len(plans), 5000):
        hold_published(shown, plans[start : start + 5000])


def test_random_settings_between_them_are_those_of_detect(shown: Any) -> None:
    plans = sample(2000, 1)
    expected = of_detect(plans)
    off = np.abs(np.array(shown.execute_script(ALL, plans), float) / expected - 1)
    assert (off < 0.05).mean() >= 0.95
    assert off.max() < 1e-9
    # A page that rounded settings to the nearest published ones would fail.
    axes = {name: np.array(values, float) for name, values in PUBLISHED.items()}
    nearest = [{name: float(axes[name][np.abs(axes[name] - x).argmin()]) for name, x in plan.items()} for plan in plans]
    assert (np.abs(of_detect(nearest) / expected - 1) < 0.05).mean() < 0.9


def test_known_and_perfect_and_turned_metrics_are_those_of_detect(shown: Any) -> None:
    plans = [plan | {"n_calibration": None} for plan in sample(100, 2)]
    plans += [plan | {"rho": 1.0, "eta": 1.0} for plan in sample(20, 3)]
    plans += [plan | {"rho": 1 - plan["rho"], "eta": 1 - plan["eta"]} for plan in sample(20, 4)]
    plans += [plan | {"n_human": 3e6, "n_metric": 2e7, "n_calibration": 40_000_000.0} for plan in sample(5, 5)]
    expected = np.concatenate([of_detect(plans[:100]), of_detect(plans[100:])])
    assert np.abs(np.array(shown.execute_script(ALL, plans), float) / expected - 1).max() < 1e-8


def test_the_inverse_is_that_of_detect_and_turns_the_page_round(shown: Any) -> None:
    cases = [(plan, unknown) for plan in sample(6, 6) for unknown in ("n_human", "n_metric", "n_calibration")]
    cases += [(plan | {"n_metric": 20_000.0}, "accuracy") for plan in sample(4, 7)]
    reached = 0
    for plan, unknown in cases:
        found = shown.execute_script("return smallest(...arguments)", unknown, plan, 0.06)
        try:
            expected: float | None = find_smallest_number(unknown, Plan(**plan), 0.06)  # type: ignore[arg-type]
        except ValueError:
            expected = None
        assert found["value"] == expected, (plan, unknown)
        if expected and unknown != "accuracy":
            reached += 1
            here = [plan | {unknown: expected - less} for less in (0, 1)]
            enough, less = shown.execute_script("return arguments[0].map((p) => epsilonOf(p, false))", here)
            assert enough <= 0.06 < less
    assert reached > 5


def test_keys_move_sliders_and_the_answer_follows(
    shown: Any, console: Callable[[], list[str]], requests: Callable[[], list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    from selenium.webdriver.common.keys import Keys

    before = value(shown, "epsilon")
    for name in ("n_human", "n_metric", "n_calibration", "rho", "eta", "alpha"):
        slider, last = by(shown, f"{name}-slider"), by(shown, name).get_attribute("value")
        slider.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
        assert by(shown, name).get_attribute("value") != last
        assert slider.get_attribute("data-value") == by(shown, name).get_attribute("value")
    assert value(shown, "epsilon") != before
    row = said_by_detect(text(shown, "command"), capsys)
    assert value(shown, "epsilon") == pytest.approx(row["epsilon"], rel=1e-9)
    assert text(shown, "epsilon") == digits(row["epsilon"])
    for name in ("n_human", "n_metric", "n_calibration", "rho", "eta", "alpha"):
        by(shown, f"{name}-slider").send_keys(Keys.HOME)
    assert value(shown, "epsilon") == 1
    rested(shown)
    assert console() == []
    assert {url.partition("//")[0] for url in requests()} == {"file:"}


def test_commands_that_the_page_shows_give_its_numbers(shown: Any, capsys: pytest.CaptureFixture[str]) -> None:
    typed(shown, n_human=137, n_metric=12_000, n_calibration=650, rho=0.81, eta=0.7, alpha=0.35, difference=0.08)
    for unknown in ("n_human", "n_metric", "n_calibration", "accuracy"):
        chosen(shown, "unknown", unknown)
        rested(shown)
        row, said = said_by_detect(text(shown, "inverse-command"), capsys), value(shown, "smallest")
        assert said == (row["rho"] if unknown == "accuracy" else row[unknown])
    by(shown, "points").click()
    by(shown, "known").click()
    rested(shown)
    assert float(by(shown, "difference").get_attribute("value")) == 8
    row = said_by_detect(text(shown, "command"), capsys)
    assert row["unit"] == "points"
    assert row["n_calibration"] is None
    assert value(shown, "epsilon") == pytest.approx(row["epsilon"], rel=1e-9)
    assert said_by_detect(text(shown, "inverse-command"), capsys)["rho"] == value(shown, "smallest")


def test_a_difference_out_of_reach_is_said_with_the_limit(shown: Any) -> None:
    typed(shown, n_human=0, n_calibration=10, difference=0.01)
    chosen(shown, "unknown", "n_metric")
    rested(shown)
    assert value(shown, "smallest") is None
    assert "the least is" in text(shown, "smallest-said")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"n_human": "1.5"}, "n_human=1.5 is not a number of ratings"),
        ({"n_metric": "-3"}, "n_metric=-3 is not a number of ratings"),
        ({"alpha": "1.2"}, "alpha=1.2 is not a share"),
        ({"rho": "e"}, "rho holds no number"),
        ({"rho": ".4", "eta": ".6"}, "add up to 1"),
    ],
)
def test_nonsense_is_refused_in_a_line_and_no_number_stands(
    shown: Any, console: Callable[[], list[str]], given: dict[str, Any], said: str
) -> None:
    typed(shown, **given)
    assert said in text(shown, "refusal")
    assert value(shown, "epsilon") is None
    rested(shown)
    assert value(shown, "smallest") is None
    typed(shown, n_human=100, n_metric=1000, rho=0.7, eta=0.7, alpha=0.6)
    assert not shown.find_element("id", "refusal").is_displayed()
    assert value(shown, "epsilon") is not None
    assert console() == []


def test_the_chart_has_its_numbers_behind_it(shown: Any) -> None:
    for along in ("n_human", "n_metric", "n_calibration"):
        chosen(shown, "along", along)
        rested(shown)
        rows = shown.execute_script(
            "return [...document.querySelectorAll('#numbers td')].map((x) => x.dataset.value || x.textContent)"
        )
        at = [float(x.replace(",", "")) for x in rows[::2]]
        start = {name: float(x) for name, x in detect_page.START.items()}
        assert set(PUBLISHED[along]) <= set(at)
        expected = of_detect([start | {along: n} for n in at])
        assert np.allclose([float(x) for x in rows[1::2]], expected, rtol=1e-9)
        assert len(shown.find_elements("css selector", "#drawing circle.dot")) == len(at)
        assert along in shown.find_element("css selector", "#drawing svg").get_attribute("aria-label")


def test_the_page_says_how_well_it_agrees(shown: Any) -> None:
    off = value(shown, "trust")
    assert off is not None
    assert off < 1e-9
    shown.execute_script("DATA.checks[0].epsilon *= 1.01; trust()")
    assert "do not rely on them" in text(shown, "trust")


@pytest.mark.parametrize("width", [400, 1600])
def test_nothing_hangs_out_at_either_width(shown: Any, width: int) -> None:
    shown.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    )
    shown.refresh()
    rested(shown)
    wide = shown.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
    shown.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert wide[0] <= wide[1] == width


def test_an_answer_follows_a_slider_at_once(shown: Any) -> None:
    # The quickest of twenty: the machine may be busy with something else.
    took = """const took = []; for (let k = 0; k < 20; k++) { const began = performance.now();
        at('alpha').value = k / 20; update(); took.push(performance.now() - began); } return Math.min(...took)"""
    assert shown.execute_script(took) < 100
