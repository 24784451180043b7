"""What is typed behind plan: a pilot or a world, settings, and a newcomer's words for some of them."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from simlab.planning import request
from simlab.types import InputError

MONDAY = date(2026, 3, 2)


def test_a_newcomers_words_are_keys() -> None:
    assert request.settings(["seed=2"], 0.5, 2000, "5d", MONDAY) == (
        "seed=2",
        "budget.price_per_rating=0.5",
        "budget.total=2000",
        "budget.deadline=5d",
    )
    assert request.settings([], None, None, None, MONDAY) == ()


@pytest.mark.parametrize(
    ("typed", "day"),
    [
        ("friday", "2026-03-06"),
        ("Fri", "2026-03-06"),
        ("tues", "2026-03-03"),
        ("monday", "2026-03-09"),
        ("sun", "2026-03-08"),
        ("2026-04-01", "2026-04-01"),
        ("2026-04-01T17:00", "2026-04-01T17:00"),
    ],
)
def test_a_day_is_counted_from_today(typed: str, day: str) -> None:
    assert request.settings([], None, None, typed, MONDAY) == (f"budget.deadline={day}", "budget.start=2026-03-02")
    given = ["budget.start=2026-02-27"]
    assert request.settings(given, None, None, typed, MONDAY) == (*given, f"budget.deadline={day}")


@pytest.mark.parametrize(
    ("words", "price", "budget", "by", "said"),
    [
        (["budget.total=1"], None, 2.0, None, "--budget 2.0 and budget.total say the same"),
        (["budget.deadline=5d"], None, None, "5d", "--by 5d and budget.deadline say the same"),
        ([], -1.0, None, None, "--price -1 is no amount of money"),
        ([], None, float("inf"), None, "--budget inf is no amount of money"),
        ([], None, None, "soon", "--by soon is no time"),
        ([], None, None, "", "--by "),
        ([], None, None, "t", "--by t is no time"),
    ],
)
def test_what_cannot_be_meant(
    words: list[str], price: float | None, budget: float | None, by: str | None, said: str
) -> None:
    with pytest.raises(InputError, match="^" + said.replace(".", r"\.")):
        request.settings(words, price, budget, by, MONDAY)


def test_a_pilot_is_told_from_settings(tmp_path: Path) -> None:
    table = tmp_path / "a=b.csv"
    table.write_text("system,document,score\n")
    assert request.split_words([str(table), "seed=3"]) == (table, ("seed=3",))
    assert request.split_words(["seed=3"]) == (None, ("seed=3",))
    with pytest.raises(InputError, match="a plan takes one pilot"):
        request.split_words([str(table), "other.csv"])
    with pytest.raises(InputError, match=r"other\.csv is no file"):
        request.split_words(["other.csv"])


@pytest.mark.parametrize("text", ["", "0", "0s", "-3m", "soon", "1e9m"])
def test_patience_is_a_time(text: str) -> None:
    with pytest.raises(InputError, match="--at-most"):
        request.read_patience(text)
    assert (request.read_patience("1.5m").amount, request.read_patience("1.5m").in_seconds) == (90, True)
    assert (request.read_patience("3").amount, request.read_patience("3").in_seconds) == (3, False)


@pytest.mark.parametrize("value", [0.0, 1.0, -0.1, float("nan")])
def test_a_share_lies_between_its_ends(value: float) -> None:
    with pytest.raises(InputError, match="--margin"):
        request.share("--margin", value)
    assert request.share("--margin", 0.02) == 0.02
