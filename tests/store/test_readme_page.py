"""Write the page beside a store from what was asked alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from simlab.store.readme import PAGE, WIDTH, describe_calculation, describe_studies, write

DECLARED: dict[str, Any] = {
    "name": "small",
    "aim": "first line\n" + "word " * 60,
    "axes": [
        {"key": "design.documents", "name": "documents", "values": list(range(25))},
        {"key": "design.grouping", "name": "grouping", "values": ["ungrouped", "20", None]},
    ],
    "worlds": 5,
    "studies": 50,
    "measures": ["srp", "own"],
    "base": {"seed": 1, "measure": {"srp": {"_target_": "m.srp"}}, "design": {"tries": 3}},
}
LABELS = {"srp": {"label": "stability of a ranking"}}


def test_a_page_says_how_much_there_is_and_what_it_means() -> None:
    page = describe_studies(DECLARED, LABELS, "simlab sweep small")
    assert page.startswith("small: results of simlab\n\nfirst line\nword word")
    assert "Cells: 75, each 5 worlds x 50 studies." in page
    assert "    srp: stability of a ranking\n    own: own\n" in page
    assert "Made by\n\n    simlab sweep small\n" in page
    assert "    grouping (design.grouping): ungrouped, '20', null\n" in page
    assert page.endswith("\n")
    assert not page.endswith("\n\n")


def test_a_long_axis_is_cut_and_says_how_long_it_is() -> None:
    page = describe_studies(DECLARED, LABELS, "")
    assert "    documents (design.documents): 0, 1, 2, " in page
    assert ", 19, ... (25 values)\n" in page
    assert "20, 21" not in page


def test_what_all_cells_share_reads_back_without_the_measures() -> None:
    page = describe_studies(DECLARED, LABELS, "")
    held = page.partition("What all cells share:\n\n")[2]
    assert yaml.safe_load(held) == {"seed": 1, "design": {"tries": 3}}
    assert "Made by" not in page


def test_the_aim_is_filled_line_by_line() -> None:
    aim = describe_studies(DECLARED, LABELS, "").split("\n\n")[1].splitlines()
    assert aim[0] == "first line"
    assert max(map(len, aim)) <= WIDTH
    assert len(aim) == 1 + -(-60 * 5 // WIDTH)
    assert describe_studies({**DECLARED, "aim": ""}, LABELS, "").split("\n\n")[1].startswith("results.zarr")


def test_a_calculation_shares_what_is_on_no_axis_and_has_no_ledger() -> None:
    about = {**DECLARED, "calculation": {"level": 0.05, "design.documents": 7, "rho": 0.9}}
    page = describe_calculation(about, LABELS, "simlab sweep small")
    assert yaml.safe_load(page.partition("What all cells share:\n\n")[2]) == {"level": 0.05, "rho": 0.9}
    assert "Settings: 75, calculated without simulation" in page
    assert "ledger" not in page
    assert "ledger" in describe_studies(DECLARED, LABELS, "")


def test_without_axes_there_is_one_cell() -> None:
    page = describe_studies({**DECLARED, "axes": []}, LABELS, "")
    assert "Cells: 1, each" in page
    assert "Axes:" not in page


def test_a_page_is_replaced_in_one_step(tmp_path: Path) -> None:
    for text in ("a: results of simlab, first, and longer\n", "a: results of simlab, zweite ü\n"):
        write(tmp_path, text)
        assert (tmp_path / PAGE).read_text(encoding="utf-8") == text
    assert [file.name for file in tmp_path.iterdir()] == [PAGE]
