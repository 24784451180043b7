"""Read what `simlab fit` kept: checks, components, coefficients and speeds, as the text page has them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from simlab.drawing.reports.answers import reading
from simlab.drawing.reports.answers.reading import (
    FLAG,
    MAYBE,
    MAYBE_WHOLE,
    NUMBER,
    OBJECT,
    REMEDY,
    TEXT,
    TEXTS,
    WHOLE,
    Kind,
    Row,
    known,
    record,
    records,
    shaped,
)
from simlab.drawing.text.fitted_world import MEASURES
from simlab.types import InputError

if TYPE_CHECKING:
    from simlab.fitting.checks import Erring
    from simlab.fitting.comparing_laws import Compared
    from simlab.fitting.generalisability import Coefficient, Trade

PREFERENCE = "preference"
ALWAYS = {
    "read": OBJECT,
    "law": TEXT,
    "compared": Kind("a list", lambda held: isinstance(held, list)),
    "checks": OBJECT,
    "components": Kind("a list", lambda held: isinstance(held, list)),
    "not_identified": TEXTS,
}
READ = {"used": WHOLE, "systems": WHOLE, "raters": MAYBE_WHOLE}
READ_MORE = {
    **dict.fromkeys(("rows", "gaps", "documents", "items", "pairs"), MAYBE_WHOLE),
    "ties": MAYBE,
    "better": reading.MAYBE_TEXT,
    "scale": Kind("two numbers or null", lambda held: held is None or _is_span(held)),
}
COMPONENT = {"name": TEXT, **dict.fromkeys(("sd", "low", "high", "assumed"), MAYBE)}
CHECK = {"name": TEXT, "real": NUMBER, **dict.fromkeys(("simulated", "low", "high"), MAYBE), "inside": FLAG}
COEFFICIENT = {
    "name": reading.one_of(("e_rho2", "phi")),
    "raters": reading.one_of(("drawn", "fixed")),
    **dict.fromkeys(("documents", "each"), WHOLE),
    **dict.fromkeys(("value", "low", "high"), NUMBER),
}
EACH = {"each": WHOLE, **dict.fromkeys(("documents", "error", "low", "high", "best"), NUMBER)}
SPAN = dict.fromkeys(("estimate", "low", "high"), NUMBER)
SPEED = {"median_seconds": NUMBER, "log_sd": NUMBER}


def _is_span(held: Any) -> bool:
    return isinstance(held, list) and len(held) == 2 and all(map(NUMBER.allows, held))


class Trait(NamedTuple):
    """Hold a check: a trait of the pilot, and the median and interval of tables of its law; NaN is not known."""

    name: str
    real: float
    simulated: float
    low: float
    high: float
    inside: bool


@dataclass(frozen=True, slots=True)
class Fit:
    """Hold a kept fit: `table` is what was read, `traits` are checks, `unmixed` says that chains disagree."""

    table: Row
    law: str
    compared: tuple[Compared, ...]
    refused: Mapping[str, str]
    traits: tuple[Trait, ...]
    erring: tuple[Erring, ...]
    components: tuple[Row, ...]
    coefficients: tuple[Coefficient, ...]
    trade: Trade | None
    not_identified: tuple[str, ...]
    unmixed: tuple[str, ...]
    speeds: Row | None

    @property
    def compares(self) -> bool:
        """Tell whether the table compares outputs, and holds no ratings."""
        return self.law == PREFERENCE

    @property
    def passed(self) -> int:
        """Count the checks that the pilot passed."""
        return sum(one.inside for one in self.traits)

    @property
    def interval(self) -> int:
        """Return what the intervals of components hold [%]."""
        return 90 if self.compares else 95


def components_of(fit: Fit) -> list[Row]:
    """Return the components that are known, the largest first; a share of ties is none of them."""
    known = [one for one in fit.components if one["sd"] is not None and one["name"] != "equal_outputs_tie"]
    return sorted(known, key=lambda one: -float(one["sd"]))


def read(answer: Any) -> Fit:
    """Read a kept answer; raise InputError where something of it is missing, or of another kind."""
    held = record(answer, "answer", ALWAYS)
    checks = record(held["checks"], "answer.checks", {"all": Kind("a list", lambda one: isinstance(one, list))})
    return Fit(
        record(held["read"], "answer.read", READ, READ_MORE),
        held["law"],
        tuple(shaped(one) for one in records(held["compared"], "answer.compared", _COMPARED)),
        _refused(answer.get("refused", {})),
        tuple(Trait(**known(one)) for one in records(checks["all"], "answer.checks.all", CHECK)),
        _erring(answer["checks"].get("erring", [])),
        tuple(_components(held["components"])),
        tuple(shaped(one) for one in records(answer.get("coefficients", []), "answer.coefficients", COEFFICIENT)),
        _trade(answer),
        tuple(held["not_identified"]),
        tuple(record({"unmixed": answer.get("unmixed", [])}, "answer", {"unmixed": TEXTS})["unmixed"]),
        _speeds(answer.get("speeds")),
    )


_COMPARED = {"law": TEXT, "log_score": MAYBE, "behind": NUMBER, "se": MAYBE}


def _refused(held: Any) -> Mapping[str, str]:
    if not isinstance(held, dict) or not all(isinstance(one, str) for one in held.values()):
        raise InputError(f"answer.refused: must be an object of texts; {REMEDY}")
    return held


def _erring(held: Any) -> tuple[Erring, ...]:
    fields = {"measure": TEXT, **dict.fromkeys(("real", "simulated", "below"), NUMBER)}
    words = {said: name for name, said in MEASURES.items()}
    rows = records(held, "answer.checks.erring", {**fields, "measure": reading.one_of(tuple(words))})
    return tuple(shaped({**row, "measure": words[row["measure"]]}) for row in rows)


def _components(held: Any) -> Sequence[Row]:
    """Read components; one that is known has an interval."""
    rows = reading.filled(held, "answer.components", COMPONENT)
    for k, row in enumerate(rows):
        if row["sd"] is not None and (row["low"] is None or row["high"] is None):
            raise InputError(f"answer.components[{k}]: has a value, but no interval; {REMEDY}")
    return rows


def _trade(answer: Row) -> Trade | None:
    """Read what more ratings each are worth; None where the pilot cannot tell, or compares outputs."""
    rows = records(answer.get("each", []), "answer.each", EACH)
    price = answer.get("price")
    if not rows or price is None:
        return None
    if not isinstance(price, list) or len(price) != 3 or not all(map(MAYBE.allows, price)):
        raise InputError(f"answer.price: must be three numbers, null where more documents always pay; {REMEDY}")
    low, middle, high = (math.inf if one is None else float(one) for one in price)
    first = rows[0]
    ratings = first["each"] * first["documents"]
    return shaped({"ratings": ratings, "rows": tuple(map(shaped, rows)), "price": (low, middle, high)})  # type: ignore[no-any-return]


def _speeds(held: Any) -> Row | None:
    """Read how fast people worked; None of a table without times."""
    if held is None:
        return None
    spans = dict.fromkeys(("seconds_per_answer", "rater_sd", "hours_again"), OBJECT)
    row = record(held, "answer.speeds", {"rule": TEXT, "cut": NUMBER, "people": WHOLE, "raters": OBJECT, **spans})
    hours = reading.filled(held.get("hours"), "answer.speeds.hours", {"cut": NUMBER, "hours": NUMBER})
    if row["cut"] not in {one["cut"] for one in hours}:
        raise InputError(f"answer.speeds.hours: has none cut at {row['cut']:g} s; {REMEDY}")
    median = {"median": NUMBER, "low": NUMBER, "high": NUMBER}
    told = {name: record(row[name], f"answer.speeds.{name}", SPAN) for name in ("seconds_per_answer", "rater_sd")}
    again = record(row["hours_again"], "answer.speeds.hours_again", median)
    raters = {name: record(one, "answer.speeds.raters[...]", SPEED) for name, one in row["raters"].items()}
    return {**row, **told, "hours": hours, "hours_again": again, "raters": raters}
