"""Say the same thing in the same words everywhere: names in order, the nearest name, values on one line."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from simlab.messages import clip, find_nearest, flatten, name_things, number_naturally, order_naturally, suggest


def test_numbered_names_are_in_natural_order_and_in_that_of_text() -> None:
    names = name_things("rater", 120)
    assert names[0] == "rater001"
    assert names[-1] == "rater120"
    assert list(number_naturally(names)) == sorted(names) == list(names)


def test_numbers_within_names_count_as_numbers() -> None:
    names = ["v10.2", "v2.10", "v2.9", "v", "a10", "01", "1"]
    assert list(number_naturally(names)) == ["01", "1", "a10", "v", "v2.9", "v2.10", "v10.2"]
    assert sorted(names) != sorted(names, key=order_naturally)


@given(st.lists(st.text(alphabet="ab0123.", max_size=6), max_size=12))
def test_the_order_does_not_depend_on_how_names_came(names: list[str]) -> None:
    mixed = names[:]
    random.Random(0).shuffle(mixed)
    assert number_naturally(names) == number_naturally(mixed)
    assert list(number_naturally(names).values()) == list(range(len(set(names))))


def test_a_slip_is_met_by_the_nearest_name_and_nonsense_by_all_names() -> None:
    assert find_nearest("Kendal", ["srp", "kendall"]) == "kendall"
    assert find_nearest("zzz", ["srp", "kendall"]) is None
    assert suggest("zzz", ["srp", "kendall"]) == "choose from srp, kendall"
    assert suggest("zzz", ["srp", "kendall"], "it has", 10) == "it has srp, ke..."


def test_names_from_files_stay_on_one_line() -> None:
    assert clip("a\nb") == r"'a\nb'"
    assert "\n" not in suggest("a\nc", ["a\nb"])
    assert len(clip("x" * 1000, 40)) == 40


@given(st.recursive(st.integers(), lambda inner: st.dictionaries(st.text("abc", min_size=1), inner), max_leaves=8))
def test_flattening_keeps_every_value_under_the_path_to_it(section: object) -> None:
    if not isinstance(section, dict):
        return
    for key, value in flatten(section):
        held: object = section
        for part in key.split("."):
            assert isinstance(held, dict)
            held = held[part]
        assert held == value
