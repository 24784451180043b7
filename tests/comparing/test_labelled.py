"""Label records over the axes that they go through."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from simlab.comparing.contrasts import Row, column, label_records, records, tabulate_comparison
from simlab.comparing.differences import Contrast

AXES: dict[str, list[Any]] = {"documents": [10, 20, 30], "grouping": ["b", "a"]}


def listed() -> list[dict[str, Any]]:
    combinations = itertools.product(*AXES.values())
    return [{"grouping": g, "cost": d * 2, "documents": d, "said": f"{g}{d}"} for d, g in combinations]


def test_every_record_is_where_its_coordinates_say() -> None:
    dataset = label_records(listed(), AXES)
    assert dict(dataset.sizes) == {"documents": 3, "grouping": 2}
    for record in listed():
        cell = dataset.sel(documents=record["documents"], grouping=record["grouping"])
        assert cell["cost"].item() == record["cost"]
        assert cell["said"].item() == record["said"]
    assert dataset["grouping"].values.tolist() == ["b", "a"]  # as given, not sorted
    assert set(dataset.data_vars) == {"cost", "said"}
    assert dataset["cost"].dims == ("documents", "grouping")


def test_records_that_do_not_fill_the_axes_are_no_grid() -> None:
    with pytest.raises(ValueError, match="reshape"):
        label_records(listed()[:-1], AXES)


@pytest.mark.parametrize(
    ("values", "wanted", "kind"),
    [
        ([1, 2], [1, 2], "i"),
        ([1, None, 2.5], [1.0, np.nan, 2.5], "f"),
        ([True, False], [True, False], "b"),
        (["a", 2, None], ["a", "2", "None"], "U"),
        ([None, None], [np.nan, np.nan], "f"),
        ([], [], "f"),
    ],
)
def test_a_column_has_one_type(values: list[Any], wanted: list[Any], kind: str) -> None:
    array = column(values)
    assert array.dtype.kind == kind
    np.testing.assert_array_equal(array, np.array(wanted))


def row(design: str, documents: int, contrast: Contrast | None) -> Row:
    value = documents + (design == "b") / 2
    return Row({"documents": documents}, design, value, 0.1, 40, 5, "a", contrast, "best" if contrast else "behind")


def compared() -> list[Row]:
    return [
        row(design, documents, None if design == "a" else Contrast(0.5, 0.1, 0.2 + documents, 0.8, 5))
        for documents in (10, 20)
        for design in ("a", "b")
    ]


def test_the_baseline_has_no_difference_from_itself() -> None:
    first, second = records(compared()[:2], "grouping", "srp")
    lacking = ("difference", "difference_mcse", "difference_low", "difference_high", "clusters")
    assert all(first[name] is None for name in lacking)
    assert [second[name] for name in lacking] == [0.5, 0.1, 10.2, 0.8, 5]
    assert first.keys() == second.keys()
    shown = {name: second[name] for name in ("documents", "grouping", "srp", "srp_mcse", "srp_n", "standing")}
    assert shown == {
        "documents": 10,
        "grouping": "b",
        "srp": 10.5,
        "srp_mcse": 0.1,
        "srp_n": 40,
        "standing": "best",
    }


def test_a_comparison_lies_over_its_axes_and_what_the_baseline_lacks_is_nan() -> None:
    dataset = tabulate_comparison(compared(), "grouping", "srp")
    assert dict(dataset.sizes) == {"documents": 2, "grouping": 2}
    np.testing.assert_array_equal(dataset["srp"], [[10, 10.5], [20, 20.5]])
    np.testing.assert_array_equal(dataset["difference"], [[np.nan, 0.5], [np.nan, 0.5]])
    np.testing.assert_array_equal(dataset["difference_low"], [[np.nan, 10.2], [np.nan, 20.2]])
    assert dataset["standing"].values.tolist() == [["behind", "best"]] * 2
    assert dataset["difference"].attrs["long_name"] == "difference from the baseline"
    assert "95%" in dataset["difference_low"].attrs["long_name"]
