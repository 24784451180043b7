"""Write how fast people work, as a table of ratings tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simlab.drawing.text import tables


def sentence(held: Mapping[str, Any]) -> str:
    """Say hours under which rule, how fast people are at large, and what the same work would take others."""
    cut = f"{held['cut']:,g} s"
    rule = f"gaps between answers cut at {cut}" if held["rule"] == "ends" else f"times of answers, cut at {cut}"
    took = next(one["hours"] for one in held["hours"] if one["cut"] == held["cut"])
    people = "one person" if held["people"] == 1 else f"{held['people']:,} people"
    spread, again = held["rater_sd"], held["hours_again"]
    return (
        f"{_number(took)} hours of work by {people} ({rule}); {_span(held['seconds_per_answer'])} s an answer; people's"
        f" speeds differ by {tables.number(spread['estimate'], 2)} ({tables.number(spread['low'], 2)} to"
        f" {tables.number(spread['high'], 2)}, sd of logs). Others would take"
        f" {_number(again['median'])} hours ({_number(again['low'])} to {_number(again['high'])}) for the same"
    )


def _span(one: Mapping[str, float]) -> str:
    return f"{_number(one['estimate'])} ({_number(one['low'])} to {_number(one['high'])})"


def _number(value: float) -> str:
    return tables.number(value, 0 if value >= 10 else 1)
