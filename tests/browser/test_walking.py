"""Walk through the report of a store in a browser: from a cell to a world, to a campaign, to its replay."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from faults.reading import TINY, say
from looking import opened, sized, unsized, wider

pytestmark = pytest.mark.slow

pytest.importorskip("altair", reason="the extra simlab[report] is not installed")
pytest.importorskip("vl_convert", reason="the extra simlab[report] is not installed")


def press(browser: Any, name: str) -> None:
    browser.find_element("css selector", f"figure[data-block='drill'] [data-control='{name}']").click()


@pytest.mark.parametrize("width", [390, 1280])
def test_a_reader_walks_from_a_cell_to_the_replay_of_a_campaign(
    browser: Any,
    console: Callable[[], list[str]],
    requests: Callable[[], list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    width: int,
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [*TINY, "measure=[srp]", "design.grouping=ungrouped,system_balanced", "design.documents=12,8"]
    assert say("sweep", "item_grouping", *words, "--jobs", "1", "--out", "a store").code == 0
    assert say("report", "a store").code == 0
    sized(browser, width)
    opened(browser, tmp_path / "read.html", Path("a store/report.html").read_text())
    for name in ("cell-2", "world-1", "campaign-3"):
        press(browser, name)
        assert wider(browser) == []
    lines = browser.find_elements("css selector", "[data-line='replay'], [data-line='export']")
    replay, export = (shlex.split(line.text) for line in lines)
    unsized(browser)
    assert console() == []
    assert [url for url in requests() if not url.startswith(("file:", "blob:"))] == []
    said = say(*replay[1:])
    assert said.code == 0
    # Cells of the page stand in ascending order, those of the ledger as they were asked for.
    assert said.out.startswith("grouping=system_balanced, documents=8, world 1, study 3")
    assert "the same bits as the folder keeps" in said.out
    assert say(*export[1:]).code == 0
    assert Path("campaign.csv").exists()
