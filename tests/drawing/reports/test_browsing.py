"""Walk from a cell to its worlds and campaigns: what a report holds of each, and what it leaves out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from made_cells import made_store

from simlab.drawing.reports import html, sweep
from simlab.drawing.reports.paper import still_block
from simlab.drawing.reports.sweeping import browsing
from simlab.drawing.reports.sweeping.store_view import view_store
from simlab.drawing.reports.terms import Code, Drill, Prose, Section
from simlab.types import BLOCK_FAILED, OK, UNRUN

WORLDS, STUDIES, PAIRS = 3, 2, 4


def with_campaigns(store: xr.Dataset, worlds: int = WORLDS) -> xr.Dataset:
    """Add campaigns to a store: campaign k of cell c finds (c + k) modulo 5 pairs."""
    axes = ("grouping", "documents", "level")
    shape = [store.sizes[name] for name in axes]
    n = worlds * STUDIES
    count = (np.arange(np.prod(shape))[:, None] + np.arange(n)) % (PAIRS + 1)
    significant = (np.arange(PAIRS) < count[..., None]).reshape(*shape, n, PAIRS)
    status = np.full((*shape, n), OK)
    status[0, 0, 0, :2] = [BLOCK_FAILED, UNRUN]
    declared = json.loads(store.attrs["sweep"]) | {"worlds": worlds, "studies": STUDIES}
    added = {
        "status": ((*axes, "replicate"), status, {"label": "status"}),
        "significant": ((*axes, "replicate", "pair"), significant, {"label": "significant"}),
    }
    return store.assign(added).assign_attrs(sweep=json.dumps(declared))


def drill(store: xr.Dataset, numbers: browsing.Numbers | None) -> Drill:
    found = browsing.section(view_store(store), store, Path("my store"), numbers)
    assert isinstance(found, Section)
    (block,) = found.blocks
    assert isinstance(block, Drill)
    return block


def test_campaigns_are_those_of_the_store_and_cells_are_counted_as_its_ledger_does() -> None:
    store = with_campaigns(made_store(2, 3))
    numbers = {("rule1", 20, 0.01): 0, ("rule0", 10, 0.01): 1}
    block = drill(store, numbers)
    assert block.sizes == (WORLDS, 1, 1, STUDIES)
    assert block.numbers == (1, None, None, None, 0, None)
    assert block.claims is not None
    assert block.claims[0] == (browsing.FAILED, browsing.NOT_RUN, 2, 3, 4, 0)
    assert block.claims[4] == (4, 0, 1, 2, 3, 4)
    assert block.replay == "simlab verify 'my store' --replay"
    np.testing.assert_allclose(block.values, store["srp"].values.ravel(), rtol=1e-3)
    table = still_block(block)
    assert [row[-1] for row in table.rows] == [f"{block.replay} 1.0.0", f"{block.replay} 0.0.0"]  # type: ignore[union-attr]


def test_without_a_ledger_no_line_replays() -> None:
    block = drill(with_campaigns(made_store(2, 3)), None)
    assert (block.replay, block.export) == ("", "")
    assert block.numbers == tuple(range(6))


def test_what_a_page_does_not_hold_is_said_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    store = with_campaigns(made_store(2, 3))
    monkeypatch.setattr(browsing, "MOST_CAMPAIGNS", 35)
    block = drill(store, None)
    assert block.claims is None
    assert "What each of 36 campaigns claimed is more than a page holds" in block.note
    assert "simlab export 'my store' AXIS=VALUE --as parquet --out cell.parquet" in block.note
    assert "keeps measures only" in drill(store.drop_vars("significant"), None).note
    assert browsing.section(view_store(store), store.drop_vars("status"), Path("s"), None) is None


def test_a_store_of_more_cells_than_a_page_walks_into_is_said_to_be_one(monkeypatch: pytest.MonkeyPatch) -> None:
    store = with_campaigns(made_store(2, 3))
    assert browsing.name_excess(store) == ""
    monkeypatch.setattr(browsing, "MOST_CELLS", 5)
    said = "6 cells are more than the 5 whose worlds and campaigns a page holds."
    assert browsing.name_excess(store) == said
    assert browsing.name_excess(store.drop_vars("status")) == ""
    for numbers, replayed in (({("rule1", 20, 0.01): 0}, True), (None, False)):
        found = browsing.section(view_store(store), store, Path("my store"), numbers)
        assert isinstance(found, Section)
        text, commands = found.blocks
        assert isinstance(text, Prose)
        assert text.text.startswith(said)
        assert isinstance(commands, Code)
        assert commands.text.startswith("simlab query 'my store' AXIS=VALUE\n")
        assert ("simlab verify 'my store' --replay CELL.WORLD.STUDY\n" in commands.text) is replayed
    assert said in html.page(sweep.report(store, Path("large")))


@pytest.mark.parametrize("worlds", [pytest.param(10, marks=pytest.mark.slow), 2])
def test_twenty_thousand_cells_are_a_page_of_five_megabytes(worlds: int) -> None:
    store = with_campaigns(made_store(20, 50, 20 if worlds == 10 else 4), worlds)
    page = html.page(sweep.report(store, Path("large")))
    assert len(page.encode()) < 5e6
    held = json.loads(page.partition('id="simlab-block-1">')[2].partition("</script>")[0])
    assert len(held["values"]) == len(held["claims"]) == (20_000 if worlds == 10 else 4_000)
