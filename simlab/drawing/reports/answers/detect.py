"""Report which differences settings of an evaluation detect, or how many ratings a wanted difference takes.

Call `report` with `Detections`, which returns a `Report`. A row (`Detection`) is one setting: its ratings per system,
the metric's accuracy, and the differences and powers. Its field `sought` names the number that was looked for: the
detectable difference, or the one that was solved for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from simlab.answers.detect import CHAINS, DIFFERENCES, POWERS, Detection, Detections
from simlab.drawing.reports import references
from simlab.drawing.reports.answers import detect_charts
from simlab.drawing.reports.answers.detect_words import (
    LABELS,
    format_difference,
    format_setting,
    list_fixed_settings,
    notes,
    place,
    settings,
)
from simlab.drawing.reports.terms import Cell, Points, Report, ReportTable, Section, Value, value_or_reason
from simlab.messages import join_words, pluralise

MOST_SENTENCES = 3
"""Settings with a sentence each; of more, only the two at the ends."""
UNREACHED = "out of reach with these settings"


def report(detections: Detections) -> Report:
    """Make the report of an answer of `simlab detect`."""
    rows = detections.rows
    sentences, table = (*_sentences(rows), *_describe_power(rows)), _table(rows)
    charts = tuple(detect_charts.charts(rows, table))
    return Report(
        "Detectable differences",
        _question(rows[0]),
        sentences,
        (Section("Settings and what they detect", (*(charts or [table]), Points(tuple(notes(rows, table.columns))))),),
        figures=tuple(_key_figures(rows)),
        held_fixed=tuple(filter(None, (", ".join(_list_fixed(rows)),))),
        reservations=tuple(_reservations(rows)),
        references=references.list_references(_list_references(rows)),
        paragraph="Detectable differences of the share of adequate outputs were calculated for a human evaluation "
        f"supplemented by a binary metric (von Däniken et al. 2022; level {format_setting(rows[0].level)}, two-sided). "
        f"{' '.join(sentences)} Calculated with simlab.",
    )


def _question(row: Detection) -> str:
    among = "two systems" if row.n_systems is None else "any two of several systems"
    if not row.solved:
        return f"Which difference between {among} does an evaluation with a binary metric detect?"
    least = "cheapest mix of ratings" if row.sought == "price" else f"least {LABELS[row.sought]}"
    return f"What is the {least} that finds a difference of {format_difference(row, row.difference)} between {among}?"


def _sentences(rows: Sequence[Detection]) -> Iterator[str]:
    """State what each setting detects or needs; of many, the ends."""
    reached = [row for row in rows if row.is_reached]
    if len(rows) <= MOST_SENTENCES:
        yield from (_sentence(rows, row) for row in rows)
    elif not reached:
        yield f"None of {pluralise(len(rows), 'setting')} is within reach."
    else:
        gone = f", {len(rows) - len(reached)} of them out of reach" if len(reached) < len(rows) else ""
        yield f"{pluralise(len(rows), 'setting')} are compared{gone}; all of them are in the table."
        yield from (f"{word}: {_sentence(rows, row)}" for word, row in _ends(reached))


def _ends(reached: Sequence[Detection]) -> list[tuple[str, Detection]]:
    """Return the settings with the least and the largest value of what was looked for."""
    ordered = sorted(reached, key=lambda row: float(getattr(row, row.sought)))
    return [("Least", ordered[0]), ("Largest", ordered[-1])]


def _sentence(rows: Sequence[Detection], row: Detection) -> str:
    """State which difference a setting detects, or what is the least of what was looked for and what that measures."""
    where = place(rows, row)
    where = f"{where[0].upper()}{where[1:]}"
    if not row.is_reached:
        return f"{where}: {UNREACHED}."
    if not row.solved:
        apart, shared = format_setting(row.detectable), format_setting(row.detectable_joint)
        joint = f" ({shared} where both systems share one calibration)" if shared not in (apart, "-") else ""
        return (
            f"{where}: a true difference of {format_difference(row, row.detectable)}{joint} is found with power "
            f"{format_setting(row.power)}; the published measurable difference is "
            f"{format_difference(row, row.epsilon)}, which is found half the time."
        )
    power, epsilon = (row.power_joint, row.epsilon_joint) if row.joint else (row.power_published, row.epsilon)
    shared = "; both systems share one calibration" if row.joint else ""
    least = f"{format_setting(row.known_value(row.sought))} is the least {LABELS[row.sought]}"
    return (
        f"{where}: {_mix(row) if row.sought == 'price' else least}; a difference of "
        f"{format_difference(row, row.difference)} is found with power {format_setting(power)} (measurable difference "
        f"{format_difference(row, epsilon)}{shared})."
    )


def _mix(row: Detection) -> str:
    counts = [(row.n_human, "human"), (row.n_metric, "metric"), (row.n_calibration, "calibration")]
    parts = join_words([f"{count:,} {word}" for count, word in counts if count is not None])
    return f"{parts} ratings of each system are the cheapest mix, at {row.price:,.2f}"


def _describe_power(rows: Sequence[Detection]) -> Iterator[str]:
    """State how often the difference that was asked about is found: in the worst and in the best setting."""
    apart, shared = ([getattr(row, name) for row in rows if row.known_value(name) is not None] for name in POWERS)
    if apart and not rows[0].solved:
        ends, joint = _range(apart), _range(shared)
        more = f" ({joint} where both systems share one calibration)" if joint not in (ends, "") else ""
        by = ", by setting" if " to " in ends else ""
        yield (
            f"A true difference of {format_difference(rows[0], rows[0].difference)} is found with power "
            f"{ends}{more}{by}."
        )


def _range(values: Sequence[float]) -> str:
    return " to ".join(dict.fromkeys(format_setting(end) for end in (min(values), max(values)))) if values else ""


def _key_figures(rows: Sequence[Detection]) -> Iterator[Value]:
    """Yield what was looked for: of a single setting with what is beside it, of several the least and the largest."""
    name = rows[0].sought
    if len(rows) == 1:
        for figure in dict.fromkeys((name, "detectable", "epsilon")):
            yield _value(rows[0], figure, LABELS[figure])
    elif reached := [row for row in rows if row.is_reached]:
        yield from (_value(row, name, f"{word.lower()} {LABELS[name]}") for word, row in _ends(reached))


def _value(row: Detection, name: str, label: str = "") -> Value:
    """Return the number `name` of a setting as a `Value`; with its unit where it stands alone, with a label."""
    number = getattr(row, name)
    reason = "no metric ratings" if name in ("rho", "eta") and row.is_reached else UNREACHED
    unit = "points" if label and row.unit and name in DIFFERENCES else ""
    return value_or_reason(float("nan") if number is None else float(number), reason, label=label, unit=unit)


def _table(rows: Sequence[Detection]) -> ReportTable:
    results = [name for name in ("price", *DIFFERENCES, *POWERS, *CHAINS) if name in rows[0].model_fields_set]
    columns = (*(name for name in settings(rows) if name not in list_fixed_settings(rows)), *results)
    body = tuple(tuple(_cell(row, name) for name in columns) for row in rows)
    return ReportTable("A row a setting, ratings per system", columns, body)


def _cell(row: Detection, name: str) -> Cell:
    content = getattr(row, name)
    if isinstance(content, str | int):
        return content
    return "known" if name == "n_calibration" and row.is_reached else _value(row, name)


def _list_fixed(rows: Sequence[Detection]) -> Iterator[str]:
    """Name what is the same in all settings."""
    for name in list_fixed_settings(rows):
        yield f"{name if name == 'rho' else LABELS.get(name, name)} {format_setting(rows[0].known_value(name))}"
    if any(row.n_metric for row in rows) and not any(row.n_calibration is not None for row in rows):
        yield "rho and eta, as if they were known"


def _reservations(rows: Sequence[Detection]) -> Iterator[str]:
    """State what was taken where nothing was said, and what the calculation leaves out."""
    if rows[0].alpha_assumed:
        yield "alpha=.5 was taken, where ratings vary most; give alpha=... for your systems."
    if any(row.flipped for row in rows):
        yield "A metric with rho + eta < 1 was turned round: what it calls adequate counts as inadequate."
    if missing := sum(not row.is_reached for row in rows):
        yield f"{pluralise(missing, 'setting')} of {len(rows):,}: {UNREACHED}."
    yield (
        "Calculated, without simulation: no sampling error. Every rating counts as one of an output of its own; raters "
        "who differ, or several ratings of an output, make a study find less."
    )


def _list_references(rows: Sequence[Detection]) -> list[str]:
    rules = {row.multiplicity for row in rows}
    several_rules = [*(["Romano and Wolf 2005"] * ("max_t" in rules)), *(["Holm 1979"] * ("holm" in rules))]
    return ["von Däniken et al. 2022", *several_rules, references.SIMLAB]
