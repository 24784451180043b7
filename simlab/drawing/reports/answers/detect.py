"""Report which differences settings detect, from what `simlab detect --save` kept."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from simlab.drawing.reports import references
from simlab.drawing.reports.answers import detect_charts, reading
from simlab.drawing.reports.answers.detect_words import LABELS, place, settings, unit, written
from simlab.drawing.reports.answers.reading import FLAG, MAYBE, MAYBE_WHOLE, NUMBER, WHOLE, Row, value
from simlab.drawing.reports.terms import Block, Cell, Points, Report, Section, Table, Value
from simlab.drawing.text import detection, tables
from simlab.messages import several
from simlab.types import InputError

FIELDS = {
    **dict.fromkeys(("n_human", "n_metric", "n_calibration"), MAYBE_WHOLE),
    **dict.fromkeys(("alpha", "level", "power"), NUMBER),
    **dict.fromkeys(("rho", "eta", "epsilon", "epsilon_joint", "detectable"), MAYBE),
}
OPTIONAL = {
    "n_systems": WHOLE,
    **dict.fromkeys(("correlation", "threshold", "price"), MAYBE),
    "difference": NUMBER,
    **dict.fromkeys(("detectable_joint", "power_published", "power_joint"), MAYBE),
    "multiplicity": reading.one_of(tuple(detection.RULES)),
    "find": reading.one_of(tuple(detection.FINDS)),
    "unit": reading.one_of(("points",)),
    "flipped": FLAG,
}
RESULTS = ("price", *detection.DIFFERENCES[:4], "power_published", "power_joint")
SOLVED = {
    "n_human": "n_human",
    "n_metric": "n_metric",
    "n_calibration": "n_calibration",
    "accuracy": "rho",
    "mix": "price",
}
"""What is looked for, by what --solve says."""
MOST_SENTENCES = 6
UNREACHED = "out of reach with these settings"


def report(saved: Mapping[str, Any]) -> Report:
    """Make the report of an answer of `simlab detect`; raise InputError for what is none."""
    rows = _rows(saved)
    found = _looked_for(saved, rows)
    told = (*_sentences(rows, found), *_asked(saved, rows, found))
    return Report(
        "Detectable differences",
        _question(rows, found),
        told,
        tuple(_sections(saved, rows, found)),
        dict(saved),
        tuple(_large(rows, found)),
        held_fixed=tuple(_held_fixed(rows, found)),
        reservations=tuple(_reservations(saved, rows)),
        reproduce=(reading.command(saved),),
        references=references.cited(_cited(rows)),
        paragraph=_paragraph(rows, told),
        provenance=reading.provenance(saved),
    )


def _rows(saved: Mapping[str, Any]) -> list[Row]:
    """Read the settings, each with the same fields."""
    rows = reading.alike(reading.filled(saved.get("answer"), "answer", FIELDS, OPTIONAL), "answer")
    missing = [name for name in ("multiplicity", "find") if "n_systems" in rows[0] and name not in rows[0]]
    if missing:
        raise InputError(f"answer[0]: speaks of several systems, but has no {missing[0]}; {reading.REMEDY}")
    return rows


def _looked_for(saved: Mapping[str, Any], rows: Sequence[Row]) -> str:
    """Name what was solved for; nothing where differences were asked for."""
    if "difference" not in rows[0]:
        return ""
    found = SOLVED.get(reading.option(saved, "--solve") or "", "price" if "price" in rows[0] else "n_human")
    if found not in rows[0]:
        raise InputError(f"answer[0]: has no {found}, which the command asks for; {reading.REMEDY}")
    return found


def _question(rows: Sequence[Row], found: str) -> str:
    among = "two systems" if "n_systems" not in rows[0] else "any two of several systems"
    if not found:
        return f"Which difference between {among} does an evaluation with a binary metric detect?"
    least = "What is the cheapest mix of ratings" if found == "price" else f"What is the least {_least(found)}"
    return f"{least} that finds a difference of {_differences(rows)} between {among}?"


def _differences(rows: Sequence[Row]) -> str:
    return f"{written(rows[0]['difference'])}{unit(rows)}"


def _sentences(rows: Sequence[Row], found: str) -> list[str]:
    """Say what each setting detects or needs; of many, the ends."""
    say = _solution if found else _detection
    if len(rows) <= MOST_SENTENCES:
        return [say(rows, row, found) for row in rows]
    known = [row for row in rows if row[found or "detectable"] is not None]
    if not known:
        return [f"None of {several(len(rows), 'setting')} is within reach."]
    least, most = (pick(known, key=lambda row: row[found or "detectable"]) for pick in (min, max))
    missing = len(rows) - len(known)
    gone = [f"{several(missing, 'setting')} of {len(rows):,}: {UNREACHED}."] if missing else []
    head = f"{several(len(rows), 'setting')} are compared; all of them are in the table."
    return [head, f"Least: {say(rows, least, found)}", f"Most: {say(rows, most, found)}", *gone]


def _detection(rows: Sequence[Row], row: Row, _: str = "") -> str:
    """Say which difference a setting detects, and which is the published measurable one."""
    if row["detectable"] is None or row["epsilon"] is None:
        return f"{_where(rows, row)}: {UNREACHED}."
    often = f" with power {written(row['power'])}"
    shared = row.get("detectable_joint")
    joint = f" ({_amount(rows, shared)} where both systems share one calibration)" if _differs(rows, row) else ""
    return (
        f"{_where(rows, row)}: a true difference of {_amount(rows, row['detectable'])}{unit(rows)}{joint} is found"
        f"{often}; the published measurable difference is {_amount(rows, row['epsilon'])}{unit(rows)}, which is found "
        "half the time."
    )


def _differs(rows: Sequence[Row], row: Row) -> bool:
    """Tell whether sharing a calibration is told apart from not, in the digits that are shown."""
    shared = row.get("detectable_joint")
    return shared is not None and _amount(rows, shared) != _amount(rows, row["detectable"])


def _asked(saved: Mapping[str, Any], rows: Sequence[Row], found: str) -> list[str]:
    """Say how often the difference that was asked about is found: in the worst and in the best setting."""
    powers = [row["power_published"] for row in rows if row.get("power_published") is not None]
    if found or not powers:
        return []
    asked = reading.amount(saved, "--difference", math.nan)
    what = (
        f"A true difference of {written(asked)}{unit(rows)}" if math.isfinite(asked) else "The difference asked about"
    )
    ends = list(dict.fromkeys(tables.number(end, 2) for end in (min(powers), max(powers))))
    return [f"{what} is found with power {' to '.join(ends)}{', by setting' if len(ends) > 1 else ''}."]


def _solution(rows: Sequence[Row], row: Row, found: str) -> str:
    """Say what is the least of what was looked for, and what that measures."""
    if row[found] is None or row["epsilon"] is None:
        return f"{_where(rows, row, found)}: {UNREACHED}."
    needed = _mix(row) if found == "price" else f"{_count(row[found])} is the least {_least(found)}"
    power = row.get("power_published")
    said = f", which finds it with power {tables.number(power, 2)}" if power is not None else ""
    epsilon = f"measurable difference {_amount(rows, row['epsilon'])}{unit(rows)}"
    return f"{_where(rows, row, found)}: {needed}{said} ({epsilon})."


def _least(found: str) -> str:
    return "accuracy of the metric (rho = eta)" if found == "rho" else LABELS[found]


def _mix(row: Row) -> str:
    names = (("n_human", "human"), ("n_metric", "metric"), ("n_calibration", "calibration"))
    *most, last = [f"{row[name]:,} {word}" for name, word in names if row[name] is not None]
    parts = f"{', '.join(most)} and {last}"
    return f"{parts} ratings of each system are the cheapest mix, at {row['price']:,.2f}"


def _where(rows: Sequence[Row], row: Row, found: str = "") -> str:
    said = place(rows, row, found)
    return f"{said[0].upper()}{said[1:]}"


def _count(held: float) -> str:
    return f"{held:,}" if isinstance(held, int) else tables.number(held, 4)


def _amount(rows: Sequence[Row], held: float | None) -> str:
    return "-" if held is None else tables.number(held, detection.digits(rows))


def _large(rows: Sequence[Row], found: str) -> list[Value]:
    """Return what was asked for, of a single setting with what is beside it, of several the least and the most."""
    name = found or "detectable"
    if len(rows) == 1:
        names = [name, *(["detectable"] if found else []), "epsilon"]
        return [_value(rows, rows[0], one, LABELS[one]) for one in names]
    known = [row for row in rows if row[name] is not None]
    ends = (("least", min), ("largest", max)) if known else ()
    return [_value(rows, pick(known, key=lambda row: row[name]), name, f"{word} {LABELS[name]}") for word, pick in ends]


def _value(rows: Sequence[Row], row: Row, name: str, label: str = "") -> Value:
    points = "points" if rows[0].get("unit") and name in detection.DIFFERENCES and label else ""
    return value(row.get(name), UNREACHED, label=label, unit=points)


def _sections(saved: Mapping[str, Any], rows: Sequence[Row], found: str) -> list[Section]:
    charts: list[Block] = list(detect_charts.charts(rows, found or "detectable"))
    notes = Points(tuple(_notes(saved, rows, found)))
    drawn = [Section("Figure" if len(charts) == 1 else "Figures", tuple(charts))] if charts else []
    return [*drawn, Section("Settings and what they detect", (_table(rows, found), notes))]


def _notes(saved: Mapping[str, Any], rows: Sequence[Row], found: str) -> list[str]:
    """Say what the columns are, as the text page does."""
    asked = rows[0]["difference"] if found else reading.amount(saved, "--difference", math.nan)
    given = any(word.startswith("alpha=") for word in reading.words(saved))
    results = [name for name in RESULTS if name in rows[0]]
    return detection.notes(rows, results, asked, alpha_given=given)


def _table(rows: Sequence[Row], found: str) -> Table:
    names = [*settings(rows), *(name for name in RESULTS if any(name in row for row in rows))]
    body = tuple(tuple(_cell(rows, row, name) for name in names) for row in rows)
    return Table("A row a setting, ratings per system", tuple(names), body)


def _cell(rows: Sequence[Row], row: Row, name: str) -> Cell:
    held = row.get(name)
    if isinstance(held, str | int) and not isinstance(held, bool):
        return held
    if held is None and name == "n_calibration":
        return "known"
    return _value(rows, row, name)


def _held_fixed(rows: Sequence[Row], found: str) -> list[str]:
    """Say what is the same in all settings."""
    same = [name for name in (*detection.SHOWN, *detection.LEVELS) if len({row.get(name) for row in rows}) == 1]
    told = [f"{LABELS.get(name, name)} {written(rows[0][name])}" for name in same if _is_given(rows, name, found)]
    known = [] if any(row["n_calibration"] is not None for row in rows) else ["rho and eta, as if they were known"]
    return [*told, *(known if any(row["n_metric"] for row in rows) else [])]


def _is_given(rows: Sequence[Row], name: str, found: str) -> bool:
    solved = ("n_human", "n_metric", "n_calibration") if found == "price" else (found, *(["eta"] * (found == "rho")))
    return rows[0].get(name) is not None and name not in solved


def _reservations(saved: Mapping[str, Any], rows: Sequence[Row]) -> list[str]:
    """Say what was taken where nothing was said, and what the calculation leaves out."""
    given = any(word.startswith("alpha=") for word in reading.words(saved))
    assumed = [] if given else ["alpha=.5 was taken, where ratings vary most; give alpha=... for your systems."]
    turned = any(row.get("flipped") for row in rows)
    flipped = ["A metric with rho + eta < 1 was turned round: what it calls adequate counts as inadequate."]
    missing = sum(row["epsilon"] is None for row in rows)
    gone = [f"{several(missing, 'setting')} of {len(rows):,}: {UNREACHED}."] if missing else []
    return [
        *assumed,
        *(flipped if turned else []),
        *gone,
        "Calculated, without simulation: no sampling error. Every rating counts as one of an output of its own; raters "
        "who differ, or several ratings of an output, make a study find less.",
    ]


def _cited(rows: Sequence[Row]) -> list[str]:
    rules = {row.get("multiplicity") for row in rows}
    several_rules = [*(["Romano and Wolf 2005"] * ("max_t" in rules)), *(["Holm 1979"] * ("holm" in rules))]
    return ["von Däniken et al. 2022", *several_rules, references.SIMLAB]


def _paragraph(rows: Sequence[Row], told: Sequence[str]) -> str:
    level = written(rows[0]["level"])
    head = (
        "Detectable differences of the share of adequate outputs were calculated for a human evaluation "
        f"supplemented by a binary metric (von Däniken et al. 2022; level {level}, two-sided)."
    )
    return f"{head} {' '.join(told)} Calculated with simlab."
