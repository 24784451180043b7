"""Read what a plan answered back from its record, in the terms in which it was made."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from simlab.drawing.reports.answers import reading
from simlab.drawing.reports.answers.reading import (
    FLAG,
    MAYBE,
    MAYBE_TEXT,
    NUMBER,
    OBJECT,
    TEXT,
    TEXTS,
    WHOLE,
    Kind,
    Row,
)
from simlab.drawing.text.plan_designs import EACH
from simlab.planning.answered import Figure, Figures, Loads, OtherMoney, Point, Remedy, Short
from simlab.planning.answered import Row as Rival
from simlab.planning.terms import SIZE, Design, Limits, Robust, Smallest, Target, Wanted

LIST = Kind("a list", lambda value: isinstance(value, list))
MAYBE_OBJECT = Kind("an object or null", lambda value: value is None or isinstance(value, dict))
FIGURE = {**dict.fromkeys(("value", "mcse", "low", "high"), MAYBE), "worlds": WHOLE, "studies": WHOLE}
TOP = {
    "reached": FLAG,
    **dict.fromkeys(("design", "measures", "limits", "smallest", "all_new"), OBJECT),
    **dict.fromkeys(("digest", "pilot"), MAYBE_TEXT),
    **dict.fromkeys(("confidence", "margin"), NUMBER),
    "probability": MAYBE,
    **dict.fromkeys(("targets", "runners", "other_money", "missed", "would_reach", "flips", "front"), LIST),
    **dict.fromkeys(("seed", "designs", "campaigns", "worlds"), WHOLE),
    **dict.fromkeys(("ended", "world"), TEXT),
    **dict.fromkeys(("robust", "scenarios", "loads"), MAYBE_OBJECT),
    "these_raters": FLAG,
    "assumed": TEXTS,
}
TARGET = {"measure": TEXT, "least": NUMBER, "floor": FLAG}
LIMITS = {"money": MAYBE, "currency": MAYBE_TEXT, "deadline": MAYBE_TEXT}
SMALLEST = {"value": NUMBER, "unit": TEXT, "why": TEXT}
RIVAL = {"role": reading.one_of(("same_money", "most")), "design": OBJECT, "gap": MAYBE}
RIVAL |= dict.fromkeys(("measures", "difference"), OBJECT)
POINT = {"design": OBJECT, "measures": OBJECT, **dict.fromkeys(("front", "reaches", "within"), FLAG)}
MONEY = {"money": NUMBER, "design": MAYBE_OBJECT, "cost": MAYBE, "most": MAYBE_OBJECT, **FIGURE}
MISSED = {"target": TEXT, "least": NUMBER, **FIGURE}
REMEDY = {"what": reading.one_of(("documents", "raters", "difference")), "design": OBJECT, "extrapolated": FLAG}
REMEDY |= dict.fromkeys(("value", "low", "high", "money"), MAYBE)
FLIP = {
    **dict.fromkeys(("assumption", "key", "unit", "why"), TEXT),
    **dict.fromkeys(("now", "at", "low", "high"), MAYBE),
    "then": MAYBE_OBJECT,
    "plausible": LIST,
}
ROBUST = {
    **dict.fromkeys(("share", "low", "high", "q05", "regret", "regret_low", "regret_high"), MAYBE),
    "draws": WHOLE,
    "source": TEXT,
    "more": TEXT,
}
LOADS = {"covers": TEXT, "raters": WHOLE}
LOADS |= dict.fromkeys(("outputs", "ratings", "per_rater", "most", "per_rater_documents"), NUMBER)


class Change(NamedTuple):
    """Hold the nearest value of an assumption at which another design is the better advice."""

    assumption: str
    key: str
    unit: str
    why: str
    now: float | None
    at: float | None
    low: float | None
    high: float | None
    then: Design | None
    plausible: tuple[float | None, float | None]


class Planned(NamedTuple):
    """Hold what a plan answered: the design to buy, its rivals, the front, and what would change the advice."""

    row: Row
    wanted: Wanted
    design: Design
    figures: Figures
    rivals: tuple[Rival, ...]
    front: tuple[Point, ...]
    other_money: tuple[OtherMoney, ...]
    missed: tuple[Short, ...]
    remedies: tuple[Remedy, ...]
    changes: tuple[Change, ...]
    robust: tuple[Robust, ...]
    loads: Loads | None
    all_new: Figures


def planned(held: Any, where: str = "answer") -> Planned:
    """Read what a plan answered: its record, alone or as a list of one; raise InputError for what is none."""
    held = held[0] if isinstance(held, list) and len(held) == 1 else held
    row = reading.record(held, where, TOP)
    return Planned(
        row,
        _wanted(row, where),
        design(row["design"], f"{where}.design"),
        figures(row["measures"], f"{where}.measures"),
        tuple(_rival(one, f"{where}.runners[{k}]") for k, one in enumerate(row["runners"])),
        tuple(_point(one, f"{where}.front[{k}]") for k, one in enumerate(row["front"])),
        tuple(_other_money(one, f"{where}.other_money") for one in row["other_money"]),
        tuple(_missed(one, f"{where}.missed") for one in row["missed"]),
        tuple(_remedy(one, f"{where}.would_reach") for one in row["would_reach"]),
        tuple(_change(one, f"{where}.flips[{k}]") for k, one in enumerate(row["flips"])),
        tuple(_robust(row[name], f"{where}.{name}") for name in ("robust", "scenarios") if row[name] is not None),
        None if row["loads"] is None else Loads(**reading.record(row["loads"], f"{where}.loads", LOADS)),
        figures(row["all_new"], f"{where}.all_new"),
    )


def design(held: Mapping[str, Any], where: str) -> Design:
    """Read a design: keys with their values, numbers of documents and ratings whole ones from 1."""
    for key, value in held.items():
        whole = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= reading.LARGEST
        if key in (SIZE, EACH) and not whole:
            raise reading.wrong(f"{where}.{key}", "must be a whole number from 1")
        if not isinstance(value, str | int | float | bool):
            raise reading.wrong(f"{where}.{key}", "must be a number or a text")
    return tuple(held.items())


def figures(held: Mapping[str, Any], where: str) -> Figures:
    """Read measures with their errors; null is NaN."""
    rows = {name: reading.record(one, f"{where}.{name}", FIGURE) for name, one in held.items()}
    return {name: Figure(**reading.known(row)) for name, row in rows.items()}


def _wanted(row: Row, where: str) -> Wanted:
    targets = reading.filled(row["targets"], f"{where}.targets", TARGET)
    return Wanted(
        tuple(Target(**one) for one in targets),
        Limits(**reading.record(row["limits"], f"{where}.limits", LIMITS)),
        Smallest(**reading.record(row["smallest"], f"{where}.smallest", SMALLEST)),
        row["margin"],
        row["confidence"],
        seed=row["seed"],
    )


def _rival(held: Any, where: str) -> Rival:
    row = reading.record(held, where, RIVAL)
    measures, less = (figures(row[name], f"{where}.{name}") for name in ("measures", "difference"))
    return Rival(row["role"], design(row["design"], where), measures, less, reading.known(row)["gap"])


def _point(held: Any, where: str) -> Point:
    row = reading.record(held, where, POINT)
    found = figures(row["measures"], where)
    return Point(design(row["design"], where), found, row["reaches"], row["within"], row["front"])


def _maybe(held: Mapping[str, Any] | None, where: str) -> Design | None:
    return None if held is None else design(held, where)


def _other_money(held: Any, where: str) -> OtherMoney:
    row = reading.record(held, where, MONEY)
    found = Figure(**reading.known({name: row[name] for name in FIGURE}))
    cost = math.nan if row["cost"] is None else row["cost"]
    return OtherMoney(row["money"], _maybe(row["design"], where), cost, _maybe(row["most"], where), found)


def _missed(held: Any, where: str) -> Short:
    row = reading.record(held, where, MISSED)
    return Short(row["target"], row["least"], Figure(**reading.known({name: row[name] for name in FIGURE})))


def _remedy(held: Any, where: str) -> Remedy:
    row = reading.record(held, where, REMEDY)
    # Null stands for a number that no size reaches.
    ends = {name: math.inf if row[name] is None else row[name] for name in ("value", "low", "high", "money")}
    return Remedy(**cast(Any, {**row, **ends, "design": design(row["design"], where)}))


def _change(held: Any, where: str) -> Change:
    row = reading.record(held, where, FLIP)
    ends = row["plausible"]
    if len(ends) != 2 or not all(MAYBE.allows(one) for one in ends):
        raise reading.wrong(f"{where}.plausible", "must be two numbers")
    return Change(**cast(Any, {**row, "then": _maybe(row["then"], where), "plausible": tuple(ends)}))


def _robust(held: Any, where: str) -> Robust:
    return Robust(**reading.known(reading.record(held, where, ROBUST)))
