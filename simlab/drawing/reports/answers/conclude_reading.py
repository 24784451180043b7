"""Read a conclusion back from the record that `simlab conclude` keeps, so that it is put in the same words."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from simlab.concluding.conclusion import (
    Candidate,
    Conclusion,
    Control,
    Estimated,
    Family,
    Followed,
    Interval,
    Metric,
    MetricError,
    More,
    Pair,
    PlannedFigure,
    Promise,
    Rated,
    Rater,
    RepeatedShares,
    Repetition,
    System,
    UnmetPeople,
)
from simlab.concluding.consistency import contradictions
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
from simlab.drawing.text.references import METHODS

COUNTED = ("systems", "documents", "items")
VERDICT = Kind("-1, 0 or 1", lambda value: isinstance(value, int) and not isinstance(value, bool) and abs(value) <= 1)
MAYBE_OBJECT = Kind("an object or null", lambda value: value is None or isinstance(value, dict))
MAYBE_FLAG = Kind("true, false or null", lambda value: value is None or isinstance(value, bool))
LIST = Kind("a list", lambda value: isinstance(value, list))
WITHIN = ("better", "worse", "not_inferior", "not_superior", "equivalent", "open")
SAYS = ("claimed", "step_down", "excludes", "open")
MAYBE_SAYS = Kind(f"null or one of {', '.join(SAYS)}", lambda value: value is None or value in SAYS)
MAYBE_WITHIN = Kind(f"null or one of {', '.join(WITHIN)}", lambda value: value is None or value in WITHIN)

TOP = {
    "question": TEXT,
    "read": OBJECT,
    "unit": TEXT,
    "better": reading.one_of(("higher", "lower")),
    **dict.fromkeys(("promise", "about"), OBJECT),
    **dict.fromkeys(("systems", "pairs", "raters", "metrics", "cycles"), LIST),
    **dict.fromkeys(("repetition", "control", "plan"), MAYBE_OBJECT),
    "detectable": MAYBE,
    "without": OBJECT,
    **dict.fromkeys(("notes", "warnings"), TEXTS),
}
MISSING = {"confounded": WHOLE, "repetition_missing": MAYBE_TEXT, "control_missing": MAYBE_TEXT, "limits": MAYBE_OBJECT}
MISSING |= dict.fromkeys(("family", "exploratory"), MAYBE_OBJECT)
FAMILY = {
    "name": reading.one_of(("all", "against", "best", "ranks", "fdr")),
    "says": TEXT,
    **dict.fromkeys(("candidates", "tiers", "claims"), LIST),
}
CANDIDATE = {"system": TEXT, "may_be_best": FLAG, "p_value": NUMBER, "behind": MAYBE, "within": MAYBE_FLAG}
LIMITS = {"raters": WHOLE, "unmet_share": NUMBER, "one_in_five_unmet": NUMBER}
PROMISE = {**dict.fromkeys(("name", "multiplicity", "says", "broken"), TEXT), "level": NUMBER, "holds": FLAG}
SYSTEM = {"system": TEXT, "n": WHOLE, **dict.fromkeys(("estimate", "low", "high"), MAYBE)}
PLAIN = {"plain": MAYBE}
OF_RATINGS = {"plain": MAYBE, "scope": MAYBE_TEXT, "unpromised": VERDICT, "detectable": MAYBE, "family": MAYBE_SAYS}
RANKS = dict.fromkeys(("rank_low", "rank_high"), WHOLE)
PAIR = {
    **dict.fromkeys(("first", "second"), TEXT),
    **dict.fromkeys(("difference", "low", "high", "p_value", "adjusted"), MAYBE),
    **dict.fromkeys(("direction", "verdict"), VERDICT),
    "within": MAYBE_WITHIN,
    "more": MAYBE_OBJECT,
}
MORE = {
    **dict.fromkeys(("unit", "answers"), TEXT),
    **dict.fromkeys(("median", "low", "high"), MAYBE),
    **dict.fromkeys(("limit", "per_unit"), NUMBER),
}
RATER = {"rater": TEXT, "n": WHOLE, **dict.fromkeys(("leniency", "low", "high"), MAYBE)}
INTERVAL = dict.fromkeys(("value", "low", "high"), MAYBE)
REPETITION = {
    **dict.fromkeys(("same_sign", "claimed_again", "unknown"), OBJECT),
    "sign_by_chance": NUMBER,
    "studies": WHOLE,
    "world": TEXT,
}
SHARES = dict.fromkeys(RepeatedShares._fields, OBJECT)
CONTROL = {
    "studies": WHOLE,
    **dict.fromkeys(("some_claim", "some_claim_mcse", "uncorrected", "uncorrected_mcse"), MAYBE),
    "promised": NUMBER,
    "world": TEXT,
}
WATCHED = dict.fromkeys(("watched", "watched_mcse", "pair_claim", "pair_claim_mcse", "at_large_mcse"), MAYBE)
WATCHED |= dict.fromkeys(("best_excluded", "best_excluded_mcse"), MAYBE)
AT_LARGE = {"at_large": MAYBE_OBJECT}
PLAN = {**dict.fromkeys(("name", "digest"), TEXT), **dict.fromkeys(("planned", "look"), WHOLE), "deviations": TEXTS}
TARGET = {
    **dict.fromkeys(("measure", "unit", "missing"), TEXT),
    "planned": NUMBER,
    **dict.fromkeys(("found", "planned_mcse", "found_mcse"), MAYBE),
}
METRIC = {
    "name": TEXT,
    "verdict": reading.one_of(("trust", "correct", "leave_out")),
    "reason": TEXT,
    "labels": MAYBE_OBJECT,
    "spread": OBJECT,
    "width": MAYBE,
    **dict.fromkeys(("estimates", "pairs"), LIST),
}
ERROR = {"first": TEXT, "second": TEXT, **dict.fromkeys(("human", "metric", "value", "low", "high"), MAYBE)}
BIAS = {
    **dict.fromkeys(("bias", "bias_pairs", "favour"), LIST),
    **dict.fromkeys(("bias_worst", "favour_slope", "worth_labels"), MAYBE_OBJECT),
    "bias_factor": MAYBE,
    "labels_at_random": MAYBE_FLAG,
}
RATED = {"system": TEXT, **INTERVAL}
ABOUT = {
    "estimate": TEXT,
    "difference": TEXT,
    "test": TEXT,
    "methods": TEXTS,
    "margin": NUMBER,
    "raters": TEXT,
    "normalization": TEXT,
}
"""What words are made of; the rest of `about` is for programs."""

Made = TypeVar("Made")


def conclusion(held: Any, where: str = "answer", depth: int = 0) -> Conclusion:
    """Read a conclusion from its record; raise InputError for what is none, or contradicts itself. Null is NaN."""
    row = reading.record(held, where, TOP, MISSING)
    systems = [System(**reading.known(one)) for one in _systems(row["systems"], f"{where}.systems")]
    names = {one.system for one in systems}
    plan = row["plan"]
    found = Conclusion(
        row["question"],
        row["read"],
        line(row["read"], where),
        row["unit"],
        row["better"] == "lower",
        Promise(**cast(Any, reading.record(row["promise"], f"{where}.promise", PROMISE))),
        systems,
        _pairs(row["pairs"], f"{where}.pairs", names),
        _all(row["raters"], f"{where}.raters", RATER, Rater),
        [_metric(one, f"{where}.metrics[{k}]", names) for k, one in enumerate(row["metrics"])],
        _cycles(row["cycles"], f"{where}.cycles"),
        row["detectable"],
        _maybe(row["repetition"], f"{where}.repetition", _repetition),
        row.get("repetition_missing") or "",
        _maybe(row["control"], f"{where}.control", _control),
        row.get("control_missing") or "",
        _maybe(plan, f"{where}.plan", _plan),
        _without(row["without"], where, depth),
        row.get("confounded") or 0,
        (),
        _about(row["about"], f"{where}.about"),
        row["notes"],
        row["warnings"],
        _maybe(row.get("limits"), f"{where}.limits", _limits),
        _maybe(row.get("family"), f"{where}.family", _family),
        _maybe(row.get("exploratory"), f"{where}.exploratory", _family),
    )
    for said in () if depth else contradictions(found):
        raise reading.wrong(where, f"its numbers contradict each other: {said}")
    return found


def line(read: Mapping[str, Any], where: str) -> str:
    """Say what was read: how many answers, about what, by whom.

    >>> line({"used": 400, "systems": 4, "raters": 8}, "answer")
    '400 answers about 4 systems by 8 raters'
    """
    fields = dict.fromkeys(("used", *COUNTED, "raters"), reading.MAYBE_WHOLE)
    counted = {name: n for name, n in reading.record(dict(read), f"{where}.read", {}, fields).items() if n is not None}
    about = [f"{counted[name]:,} {name}" for name in COUNTED if name in counted]
    said = f"{counted.get('used', 0):,} answers"
    said += f" about {', '.join(about)}" if about else ""
    return said + (f" by {counted['raters']:,} raters" if "raters" in counted else "")


def _systems(held: Any, where: str) -> list[Row]:
    rows = reading.filled(held, where, {**SYSTEM, **RANKS}, PLAIN)
    if len({row["system"] for row in rows}) < len(rows):
        raise reading.wrong(where, "two systems have the same name")
    return rows


def _pairs(held: Any, where: str, names: set[str]) -> list[Pair]:
    made = []
    for k, row in enumerate(reading.records(held, where, PAIR, OF_RATINGS)):
        if not {row["first"], row["second"]} <= names:
            raise reading.wrong(f"{where}[{k}]", "a pair is of systems that are not listed")
        more = _maybe(row.pop("more"), f"{where}[{k}].more", _more)
        unknown = {name: row.pop(name, None) for name in ("within", "detectable", "family")}
        made.append(Pair(**cast(Any, {**reading.known(row), **unknown, "more": more})))
    return made


def _plan(held: Any, where: str) -> Followed:
    row = reading.record(held, where, {**PLAN, "targets": LIST})
    return Followed(**{**row, "targets": _all(row["targets"], f"{where}.targets", TARGET, PlannedFigure)})


def _limits(held: Any, where: str) -> UnmetPeople:
    return UnmetPeople(**cast(Any, reading.record(held, where, LIMITS)))


def _family(held: Any, where: str) -> Family:
    row = reading.record(held, where, FAMILY)
    tiers, claims = (_cycles(row[name], f"{where}.{name}") for name in ("tiers", "claims"))
    rows = reading.records(row["candidates"], f"{where}.candidates", CANDIDATE)
    # Null stands for a bound that is not known.
    candidates = [Candidate(**cast(Any, {**one, "behind": _infinite(one["behind"])})) for one in rows]
    pairs = [(better, worse) for better, worse in claims if better != worse]
    return Family(row["name"], row["says"], candidates, tiers, pairs)


def _infinite(value: Any) -> float:
    return math.inf if value is None else float(value)


def _more(held: Any, where: str) -> More:
    row = reading.record(held, where, MORE)
    # Null stands for a number beyond the limit.
    return More(**cast(Any, {name: math.inf if one is None else one for name, one in row.items()}))


def _metric(held: Any, where: str, names: set[str]) -> Metric:
    row = reading.record(held, where, METRIC, BIAS)
    quality = next((name for name in held if name not in {*METRIC, *BIAS, "youden"}), "youden")
    errors = _all(row.get("bias_pairs", []), f"{where}.bias_pairs", ERROR, MetricError)
    worst = row.get("bias_worst")
    estimates = reading.records(row["estimates"], f"{where}.estimates", {"method": TEXT, **RATED})
    return Metric(
        row["name"],
        row["verdict"],
        row["reason"],
        _maybe(row["labels"], f"{where}.labels", _more),
        quality,
        _all(held.get(quality, []), f"{where}.{quality}", RATED, Rated),
        _interval(row["spread"], f"{where}.spread"),
        math.nan if row["width"] is None else row["width"],
        [Estimated(**reading.known(one)) for one in estimates],
        _pairs(row["pairs"], f"{where}.pairs", names),
        _all(row.get("bias", []), f"{where}.bias", RATED, Rated),
        errors,
        None if worst is None else _all([worst], f"{where}.bias_worst", ERROR, MetricError)[0],
        row.get("bias_factor"),
        _all(row.get("favour", []), f"{where}.favour", RATED, Rated),
        _maybe(row.get("favour_slope"), f"{where}.favour_slope", _interval),
        _maybe(row.get("worth_labels"), f"{where}.worth_labels", _interval),
        row.get("labels_at_random"),
    )


def _cycles(held: Sequence[Any], where: str) -> list[list[str]]:
    if not all(isinstance(one, list) and one and all(isinstance(name, str) for name in one) for one in held):
        raise reading.wrong(where, "holds what is no list of systems")
    return [list(one) for one in held]


def _repetition(held: Any, where: str) -> Repetition:
    row = reading.record(held, where, REPETITION)
    del row["sign_by_chance"]
    shares = {name: _shares(row[name], f"{where}.{name}") for name in ("same_sign", "claimed_again")}
    unknown = reading.record(row["unknown"], f"{where}.unknown", {}, dict.fromkeys(RepeatedShares._fields, TEXT))
    return Repetition(**cast(Any, {**row, **shares, "unknown": unknown}))


def _shares(held: Any, where: str) -> RepeatedShares:
    row = reading.record(held, where, SHARES)
    return RepeatedShares(**{name: _interval(one, f"{where}.{name}") for name, one in row.items()})


def _control(held: Any, where: str) -> Control:
    row = reading.record(held, where, CONTROL, {**WATCHED, **AT_LARGE})
    watched = {name: row.pop(name, None) for name in WATCHED}
    others = _maybe(row.pop("at_large", None), f"{where}.at_large", _interval)
    return Control(**cast(Any, {**reading.known(row), **watched, "at_large": others}))


def _without(held: Mapping[str, Any], where: str, depth: int) -> dict[str, Conclusion]:
    if depth and held:
        raise reading.wrong(f"{where}.without", "a conclusion without some raters leaves out no more of them")
    return {name: conclusion(one, f"{where}.without", depth + 1) for name, one in held.items()}


def _about(held: Mapping[str, Any], where: str) -> dict[str, Any]:
    known = {name: one for name, one in held.items() if one is not None}
    row = reading.record(known, where, {}, ABOUT)
    return {**row, "methods": [name for name in row.get("methods", [row.get("test", "")]) if name in METHODS]}


def _interval(held: Any, where: str) -> Interval:
    return Interval(**reading.known(reading.record(held, where, INTERVAL)))


def _all(held: Any, where: str, fields: Mapping[str, Kind], make: Callable[..., Made]) -> list[Made]:
    return [make(**reading.known(row)) for row in reading.records(held, where, fields)]


def _maybe(held: Any, where: str, make: Callable[[Any, str], Made]) -> Made | None:
    return None if held is None else make(held, where)
