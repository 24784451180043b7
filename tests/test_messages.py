"""Say the same thing in the same words everywhere: names in order, the nearest name, values on one line."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from simlab.messages import flat, in_natural_order, legible, natural, nearest, numbered, or_nearest


def test_numbered_names_are_in_natural_order_and_in_that_of_text() -> None:
    names = numbered("rater", 120)
    assert names[0] == "rater001"
    assert names[-1] == "rater120"
    assert list(in_natural_order(names)) == sorted(names) == list(names)


def test_numbers_within_names_count_as_numbers() -> None:
    names = ["v10.2", "v2.10", "v2.9", "v", "a10", "01", "1"]
    assert list(in_natural_order(names)) == ["01", "1", "a10", "v", "v2.9", "v2.10", "v10.2"]
    assert sorted(names) != sorted(names, key=natural)


@given(st.lists(st.text(alphabet="ab0123.", max_size=6), max_size=12))
def test_the_order_does_not_depend_on_how_names_came(names: list[str]) -> None:
    mixed = names[:]
    random.Random(0).shuffle(mixed)
    assert in_natural_order(names) == in_natural_order(mixed)
    assert list(in_natural_order(names).values()) == list(range(len(set(names))))


def test_a_slip_is_met_by_the_nearest_name_and_nonsense_by_all_names() -> None:
    assert nearest("Kendal", ["srp", "kendall"]) == "kendall"
    assert nearest("zzz", ["srp", "kendall"]) is None
    assert or_nearest("zzz", ["srp", "kendall"]) == "choose from srp, kendall"
    assert or_nearest("zzz", ["srp", "kendall"], "it has", 10) == "it has srp, ke..."


def test_names_from_files_stay_on_one_line() -> None:
    assert legible("a\nb") == r"'a\nb'"
    assert "\n" not in or_nearest("a\nc", ["a\nb"])
    assert len(legible("x" * 1000, 40)) == 40


@given(st.recursive(st.integers(), lambda inner: st.dictionaries(st.text("abc", min_size=1), inner), max_leaves=8))
def test_flattening_keeps_every_value_under_the_path_to_it(section: object) -> None:
    if not isinstance(section, dict):
        return
    for key, value in flat(section):
        held: object = section
        for part in key.split("."):
            assert isinstance(held, dict)
            held = held[part]
        assert held == value
