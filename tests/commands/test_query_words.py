"""The words by which cells of a store are asked for: what they keep, in which order, and how they are refused."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import numpy as np
import pytest
import xarray as xr
from made_cells import made_store

import simlab
from simlab.commands.query import Query, write
from simlab.types import InputError


@pytest.fixture(scope="module")
def store() -> xr.Dataset:
    return made_store()


def answer(store: xr.Dataset, *words: str, form: Any = "table", **options: Any) -> Any:
    given = {"measures": None, "sort": None, "top": None} | {k: v for k, v in options.items() if k != "pivot"}
    return write(Query(store, words, **given), form, {"pivot": options.get("pivot")})


def rows(store: xr.Dataset, *words: str, **options: Any) -> list[dict[str, Any]]:
    return json.loads(answer(store, *words, form="json", **options).text)  # type: ignore[no-any-return]


def places(found: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(row["grouping"], row["documents"]) for row in found]


def brute(store: xr.Dataset, low: float) -> list[tuple[str, int]]:
    """Reread the definition: cell by cell, those whose value reaches the bound."""
    held = store["srp"].isel(level=0)
    return [
        (str(g), int(d))
        for g in held.grouping.values
        for d in held.documents.values
        if float(held.sel(grouping=g, documents=d)) >= low
    ]


def test_bounds_keep_the_cells_that_reach_them(store: xr.Dataset) -> None:
    assert places(rows(store, "srp>=.6")) == brute(store, 0.6)
    assert 0 < len(brute(store, 0.6)) < 12
    below = places(rows(store, "srp<.6"))
    assert sorted([*below, *brute(store, 0.6)]) == sorted(places(rows(store)))
    value = float(store["srp"].values.flat[5])
    assert len(rows(store, f"srp>={value!r}")) == len(rows(store, f"srp>{value!r}")) + 1


def test_ranges_are_closed_and_lists_are_lists(store: xr.Dataset) -> None:
    assert {row["documents"] for row in rows(store, "documents=20..30")} == {20, 30}
    assert {row["documents"] for row in rows(store, "design.documents=10,40", "grouping=rule1")} == {10, 40}
    assert {row["documents"] for row in rows(store, "documents>20", "documents<=40")} == {30, 40}


def test_the_cheapest_design_that_reaches_a_value_leads_with_its_error(store: xr.Dataset) -> None:
    [first] = rows(store, "srp>=.55", sort="cost", top=1)
    reaching = rows(store, "srp>=.55")
    assert first["cost"] == min(row["cost"] for row in reaching)
    text = answer(store, "srp>=.55", sort="cost", top=1).text
    assert text.startswith(f"{len(reaching)} of 12 cells have srp>=.55.\nWith the least cost: grouping=rule2, ")
    assert "with srp .77" in text
    assert " ± .0" in text.splitlines()[1]


def test_sorting_is_stable_and_cells_without_a_value_stand_last() -> None:
    store = made_store()
    store["srp"].values[1, 2, 0] = np.nan
    for name in ("srp", "-srp"):
        found = [row["srp"] for row in rows(store, sort=name)]
        assert found[-1] is None
        assert found[:-1] == sorted(found[:-1], reverse=name.startswith("-"))
    by_cost = places(rows(store, sort="cost"))
    assert by_cost[:3] == [("rule0", 10), ("rule1", 10), ("rule2", 10)]
    assert places(rows(store, sort="-documents", top=3)) == [("rule0", 40), ("rule1", 40), ("rule2", 40)]


def test_cells_within_the_error_of_a_bound_are_marked_on_both_sides(store: xr.Dataset) -> None:
    cell = rows(store)[6]
    above, below = (f"srp>={cell['srp'] + off!r}" for off in (-0.002, 0.002))
    marked = {(row["grouping"], row["documents"]): row["within_error"] for row in rows(store, above)}
    assert marked[cell["grouping"], cell["documents"]] == above
    assert None in marked.values()
    assert f"within error of {above.removeprefix('srp>=')}" in answer(store, above).text
    text = answer(store, below).text
    assert "on its other side: grouping=rule1, documents=30, level=0.01 with srp" in " ".join(text.split())
    # What no error reaches is neither marked nor named.
    assert "of a bound" not in answer(store, "srp>=.33").text


def test_where_no_cell_reaches_a_value_the_nearest_are_named(store: xr.Dataset) -> None:
    found = answer(store, "srp>=.99", sort="cost", top=1)
    assert found.code == 4
    said = " ".join(found.text.split())
    assert said.startswith("No cell of 12 has srp>=.99. Nearest: grouping=rule2, documents=40, level=0.01 with srp .95")
    programs = answer(store, "srp>=.99", form="json")
    assert (programs.text, programs.code) == ("[]", 4)
    assert "Nearest: grouping=rule2, documents=40" in programs.notes[-1]
    assert answer(store, "srp>=.9").code == 0


def test_a_pivot_has_the_values_of_an_axis_in_columns(store: xr.Dataset) -> None:
    text = answer(store, "documents=10..20", pivot="grouping").text
    head, axis, columns, *_ = text.splitlines()
    assert (head, axis.split()) == ("srp", ["grouping"])
    assert columns.split() == ["documents", "level", "rule0", "rule1", "rule2"]
    listed = list(csv.DictReader(io.StringIO(answer(store, "srp>=.6", form="csv", pivot="grouping").text)))
    by_cell = {(row["grouping"], row["documents"]): row["srp"] for row in rows(store)}
    for line in listed:
        held = {
            name.partition("=")[2]: line[name] for name in line if name.startswith("grouping=") and "_mcse" not in name
        }
        for grouping, written in held.items():
            value = by_cell[grouping, int(line["documents"])]
            assert written == ("" if value < 0.6 else repr(value))
    with pytest.raises(InputError, match="--pivot shows one measure; name one with --measure"):
        answer(store, pivot="grouping", measures=["srp", "cost"])


@pytest.mark.parametrize(
    ("words", "options", "said"),
    [
        (["spr>=.7"], {}, r"spr: the store has no axis or measure of this name; did you mean srp\?"),
        (["srp"], {}, "srp alone is no condition; quote it with its bound, as 'srp>=.8'"),
        (["srp=.7"], {}, "srp=.7: srp is a measure; bound it, as 'srp>=.7'"),
        (["srp==.7"], {}, "== is no sign of a condition; choose from =, >=, <=, >, <"),
        (["srp=>.7"], {}, "=> is no sign of a condition"),
        (["srp>=high"], {}, "srp>=high: high is no number; write as srp>=.8"),
        (["srp>="], {}, "nothing is no number"),
        (["srp>=nan"], {}, "nan is no number"),
        (["srp>=7"], {}, "srp>=7: srp lies between 0 and 1"),
        (["grouping>=3"], {}, "grouping has no numbers; write grouping=VALUE"),
        (["grouping=a..b"], {}, "grouping has no numbers, and no range"),
        (["documents=50..90"], {}, r"no value of the store is in this range; it has \[10,20,30,40\]"),
        (["documents=10..x"], {}, "x is no number"),
        (["document=10..20"], {}, r"does not have the axis document; did you mean documents\?"),
        (["documents=10", "documents=20"], {}, "documents is given twice"),
        (["__import__('os')>=1"], {}, "the store has no axis or measure of this name"),
        ([], {"sort": "cots"}, r"--sort cots: the store has no axis or measure of this name; did you mean cost\?"),
        ([], {"pivot": "groping"}, r"the axis groping; did you mean grouping\?"),
    ],
)
def test_words_that_say_nothing_are_refused_in_one_line(
    store: xr.Dataset, words: list[str], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said) as refused:
        answer(store, *words, **options)
    assert "\n" not in str(refused.value)


def test_notebooks_get_cells_in_order_with_their_axes(store: xr.Dataset) -> None:
    found = simlab.query(store, "srp>=.6", sort="-srp", top=3, documents=slice(20, 40))
    assert found.sizes == {"cell": 3}
    assert found["srp"].values.tolist() == sorted(found["srp"].values, reverse=True)
    assert found["grouping"].values.tolist() == ["rule2"] * 3
    assert set(found["within_error"].values.tolist()) == {""}
    at = {name: found[name].values[0].item() for name in ("grouping", "documents", "level")}
    assert float(found["srp"][0]) == float(store["srp"].sel(at))
    assert float(found["srp_low"][0]) == float(simlab.query(store)["srp_low"].sel(at))
    assert dict(simlab.query(store, "documents=10..20").sizes) == {"grouping": 3, "documents": 2, "level": 1}
    asked: Any = store
    xr.testing.assert_identical(asked.simlab.query("srp>=.6", sort="cost"), simlab.query(store, "srp>=.6", sort="cost"))
