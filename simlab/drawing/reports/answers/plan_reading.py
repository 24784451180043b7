"""Read a plan back from the record that `simlab plan` keeps, so that it is put in the same words."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from simlab.drawing.reports.answers import reading
from simlab.drawing.reports.answers.reading import (
    FLAG,
    MAYBE,
    MAYBE_TEXT,
    MAYBE_WHOLE,
    NUMBER,
    OBJECT,
    TEXT,
    TEXTS,
    WHOLE,
    Kind,
    Row,
)
from simlab.drawing.text.plan_designs import EACH, POOL
from simlab.planning.answered import Answer, Binding, Figure, Figures, Loads, OtherMoney, Point, Pool, Remedy, Short
from simlab.planning.answered import Row as Shown
from simlab.planning.terms import SIZE, Design, Ground, Limits, Robust, Smallest, Target, Wanted
from simlab.types import InputError

BINDING = ("money", "deadline", "documents", "raters", "none")
ROLES = ("same_money", "most")
COUNTS = (SIZE, EACH, *POOL)
"""Keys of designs whose values are counted, and are whole."""
LIST = Kind("a list", lambda value: isinstance(value, list))
MAYBE_OBJECT = Kind("an object or null", lambda value: value is None or isinstance(value, dict))
SCALAR = Kind("a number, a text, true or false", lambda value: NUMBER.allows(value) or isinstance(value, str | bool))

TOP = {
    **dict.fromkeys(("reached", "these_raters"), FLAG),
    **dict.fromkeys(("design", "measures", "limits", "smallest", "largest", "all_new", "settings"), OBJECT),
    **dict.fromkeys(("currency", "digest", "pilot"), MAYBE_TEXT),
    **dict.fromkeys(("confidence", "margin"), NUMBER),
    **dict.fromkeys(("probability", "cheapest"), MAYBE),
    **dict.fromkeys(("seed", "designs", "campaigns", "worlds", "systems", "raters"), WHOLE),
    **dict.fromkeys(("ended", "world"), TEXT),
    **dict.fromkeys(("targets", "runners", "other_money", "missed", "would_reach", "flips", "front"), LIST),
    **dict.fromkeys(("robust", "scenarios", "loads", "pool", "open", "under_pilot"), MAYBE_OBJECT),
    "binding": reading.one_of(BINDING),
    "assumed": TEXTS,
}
FIGURE = {**dict.fromkeys(("value", "mcse", "low", "high"), MAYBE), **dict.fromkeys(("worlds", "studies"), WHOLE)}
TARGET = {"measure": TEXT, "least": NUMBER, "floor": FLAG}
LIMITS = {"money": MAYBE, **dict.fromkeys(("currency", "deadline"), MAYBE_TEXT)}
SMALLEST = {"value": NUMBER, **dict.fromkeys(("unit", "why"), TEXT)}
RUNNER = {
    "role": reading.one_of(ROLES),
    **dict.fromkeys(("design", "measures", "difference"), OBJECT),
    "gap": MAYBE,
}
LARGEST = {"design": OBJECT, "next": MAYBE_OBJECT, "ended_by": MAYBE}
OTHER = {"money": NUMBER, **dict.fromkeys(("design", "most"), MAYBE_OBJECT), "cost": MAYBE, **FIGURE}
MISSED = {"target": TEXT, "least": NUMBER, **FIGURE}
REMEDY = {
    "what": reading.one_of(("documents", "raters", "difference")),
    "design": OBJECT,
    **dict.fromkeys(("value", "low", "high", "money"), MAYBE),
    "extrapolated": FLAG,
}
ROBUST = {
    **dict.fromkeys(("share", "low", "high", "q05", "regret", "regret_low", "regret_high"), MAYBE),
    "draws": WHOLE,
    **dict.fromkeys(("source", "more"), TEXT),
}
FLIP = {
    **dict.fromkeys(("assumption", "unit", "why", "said", "source"), TEXT),
    **dict.fromkeys(("now", "at"), NUMBER),
    **dict.fromkeys(("low", "high"), MAYBE),
    "then": MAYBE_OBJECT,
    "plausible": LIST,
}
LOADS = {
    "covers": TEXT,
    **dict.fromkeys(("outputs", "ratings", "per_rater", "most", "per_rater_documents"), NUMBER),
    "raters": WHOLE,
}
POOL_OF = {"raters": MAYBE_WHOLE, "design": LIST, "figures": OBJECT}
POINT = {**dict.fromkeys(("design", "measures"), OBJECT), **dict.fromkeys(("front", "reaches", "within"), FLAG)}

Made = TypeVar("Made")


class Changed(NamedTuple):
    """Hold a value of an assumption at which the advice changes, in words, and what follows.

    `low` and `high` are its 90 % interval, `plausible` the range that `source` tells; `then` is None where nothing
    reaches the targets.
    """

    assumption: str
    unit: str
    now: float
    at: float
    low: float
    high: float
    plausible: tuple[float, float]
    source: str
    said: str
    then: Design | None
    why: str


class Kept(NamedTuple):
    """Hold a plan that was read back, and what would change it: a record has assumptions in words only."""

    answer: Answer
    changes: Sequence[Changed]
    digest: str | None


def plan(held: Any, where: str = "answer", config: Mapping[str, Any] | None = None) -> Kept:
    """Read a plan from its record, or from a list of one; raise InputError for what is none. Null is NaN.

    `config` is the composed study of the advice, where that is at hand.
    """
    if isinstance(held, list):
        if len(held) != 1:
            raise reading.wrong(where, f"a plan is one record, and here are {len(held):,}")
        held = held[0]
    row = reading.record(held, where, TOP)
    answer = _answer(row, where, config)
    changes = [_changed(one, f"{where}.flips[{k}]") for k, one in enumerate(row["flips"])]
    return Kept(answer, changes, row["digest"])


def _answer(row: Row, where: str, config: Mapping[str, Any] | None) -> Answer:
    loads = _maybe(row["loads"], f"{where}.loads", _loads)
    return Answer(
        ground=_ground(row),
        wanted=_wanted(row, where),
        reached=row["reached"],
        rows=_rows(row, where),
        front=tuple(_point(one, f"{where}.front[{k}]") for k, one in _each(row["front"], f"{where}.front")),
        binding=_binding(row, f"{where}.largest"),
        other_money=tuple(_other(one, f"{where}.other_money[{k}]") for k, one in enumerate(row["other_money"])),
        short=tuple(_short(one, f"{where}.missed[{k}]") for k, one in enumerate(row["missed"])),
        remedies=tuple(_remedy(one, f"{where}.would_reach[{k}]") for k, one in enumerate(row["would_reach"])),
        probability=_number(row["probability"]),
        designs=row["designs"],
        campaigns=row["campaigns"],
        worlds=row["worlds"],
        why=row["ended"],
        robust=_maybe(row["robust"], f"{where}.robust", _robust),
        scenarios=_maybe(row["scenarios"], f"{where}.scenarios", _robust),
        loads=loads,
        all_new=_figures(row["all_new"], f"{where}.all_new"),
        pool=_maybe(row["pool"], f"{where}.pool", _pool),
        config=_config(row["settings"], f"{where}.settings") if config is None else config,
        open=_maybe(row["open"], f"{where}.open", _open),
        cheapest=_number(row["cheapest"]),
    )


def _open(held: Any, where: str) -> tuple[int, int]:
    row = reading.record(held, where, dict.fromkeys(("from", "to"), WHOLE))
    return row["from"], row["to"]


def _ground(row: Row) -> Ground:
    """Return what is known of the ground; of draws no more than that there are some."""
    draws = int(row["under_pilot"] is not None)
    said = (row["pilot"], row["world"], tuple(row["assumed"]), row["systems"], row["raters"], row["these_raters"])
    return Ground((), *said, unit="", system_sd=math.nan, draws=draws, levers=(), assumptions=(), record={})


def _wanted(row: Row, where: str) -> Wanted:
    targets = reading.filled(row["targets"], f"{where}.targets", TARGET)
    limits = Limits(**reading.record(row["limits"], f"{where}.limits", LIMITS))
    smallest = Smallest(**reading.record(row["smallest"], f"{where}.smallest", SMALLEST))
    asked = {name: row[name] for name in ("margin", "confidence", "seed")}
    return Wanted(tuple(Target(**one) for one in targets), limits, smallest, **asked)


def _rows(row: Row, where: str) -> tuple[Shown, ...]:
    """Return the advice, and what stands beside it."""
    own = _figures(row["measures"], f"{where}.measures")
    advice = Shown("advice", _design(row["design"], f"{where}.design"), own, {}, 0.0)
    return (advice, *(_runner(one, f"{where}.runners[{k}]") for k, one in enumerate(row["runners"])))


def _runner(held: Any, where: str) -> Shown:
    row = reading.record(held, where, RUNNER)
    figures, less = (_figures(row[name], f"{where}.{name}") for name in ("measures", "difference"))
    return Shown(row["role"], _design(row["design"], f"{where}.design"), figures, less, _number(row["gap"]))


def _figures(held: Mapping[str, Any], where: str) -> Figures:
    """Return the figures whose values are known."""
    found = {name: _figure(one, f"{where}.{name}") for name, one in held.items()}
    return {name: one for name, one in found.items() if math.isfinite(one.value)}


def _figure(held: Any, where: str) -> Figure:
    return _of_row(reading.record(held, where, FIGURE))


def _of_row(row: Row) -> Figure:
    return Figure(**reading.known({name: row[name] for name in FIGURE}))


def _design(held: Mapping[str, Any], where: str) -> Design:
    found = tuple((key, reading.checked(value, f"{where}.{key}", SCALAR)) for key, value in held.items())
    for key, value in found:
        if key in COUNTS:
            reading.checked(value, f"{where}.{key}", WHOLE)
    return found


def _maybe_design(held: Mapping[str, Any] | None, where: str) -> Design | None:
    return None if held is None else _design(held, where)


def _config(settings: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return as much of a study's config as designs are put in words by."""
    config: dict[str, Any] = {}
    for key, value in _design(settings, where):
        section, _, name = key.partition(".")
        config.setdefault(section, {})[name] = {"_target_": value} if isinstance(value, str) else value
    return config


def _binding(row: Row, where: str) -> Binding:
    held = reading.record(row["largest"], where, LARGEST)
    following = _maybe_design(held["next"], f"{where}.next")
    return Binding(row["binding"], _number(held["ended_by"]), _design(held["design"], f"{where}.design"), following)


def _other(held: Any, where: str) -> OtherMoney:
    row = reading.record(held, where, OTHER)
    advice, most = (_maybe_design(row[name], f"{where}.{name}") for name in ("design", "most"))
    return OtherMoney(row["money"], advice, _number(row["cost"]), most, _of_row(row))


def _short(held: Any, where: str) -> Short:
    row = reading.record(held, where, MISSED)
    return Short(row["target"], row["least"], _of_row(row))


def _remedy(held: Any, where: str) -> Remedy:
    row = reading.record(held, where, REMEDY)
    # Null stands for no end: no number of documents would do.
    ends = {name: math.inf if row[name] is None else float(row[name]) for name in ("value", "low", "high")}
    design = _design(row["design"], f"{where}.design")
    return Remedy(row["what"], design, **ends, money=_number(row["money"]), extrapolated=row["extrapolated"])


def _robust(held: Any, where: str) -> Robust:
    return Robust(**reading.known(reading.record(held, where, ROBUST)))


def _changed(held: Any, where: str) -> Changed:
    row = reading.record(held, where, FLIP)
    low, high = _ends(row["plausible"], f"{where}.plausible")
    return Changed(
        row["assumption"],
        row["unit"],
        row["now"],
        row["at"],
        _number(row["low"]),
        _number(row["high"]),
        (low, high),
        row["source"],
        row["said"],
        _maybe_design(row["then"], f"{where}.then"),
        row["why"],
    )


def _ends(held: Sequence[Any], where: str) -> tuple[float, float]:
    if len(held) != 2:
        raise reading.wrong(where, "a range has two ends")
    low, high = (reading.checked(one, where, MAYBE) for one in held)
    return _number(low), _number(high)


def _loads(held: Any, where: str) -> Loads:
    return Loads(**reading.record(held, where, LOADS))


def _pool(held: Any, where: str) -> Pool:
    row = reading.record(held, where, POOL_OF)
    pairs = row["design"]
    if not all(isinstance(one, list) and len(one) == 2 and isinstance(one[0], str) for one in pairs):
        raise reading.wrong(f"{where}.design", "a design is a list of keys and values")
    design = _design(dict(pairs), f"{where}.design")
    return Pool(row["raters"], design, _figures(row["figures"], f"{where}.figures"))


def _point(held: Any, where: str) -> Point:
    row = reading.record(held, where, POINT)
    figures, design = _figures(row["measures"], f"{where}.measures"), _design(row["design"], f"{where}.design")
    return Point(design, figures, row["reaches"], row["within"], row["front"])


def _each(held: Sequence[Any], where: str) -> enumerate[Any]:
    if len(held) > reading.MOST_ROWS:
        raise InputError(f"{where}: has {len(held):,} designs, more than {reading.MOST_ROWS:,}; {reading.REMEDY}")
    return enumerate(held)


def _number(held: float | None) -> float:
    return math.nan if held is None else float(held)


def _maybe(held: Any, where: str, make: Callable[[Any, str], Made]) -> Made | None:
    return None if held is None else make(held, where)
