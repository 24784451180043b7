"""Show a plan as tables and a chart: designs, their differences, and the designs that the search measured.

Functions take the `StudyPlan` of `simlab plan`; a `Figure` is a measured value with its error and interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from simlab.answers.plan import ACCOUNTS, EACH, DesignRow, Figure, Figures, StudyPlan, TriedDesign
from simlab.drawing.reports.terms import Cell, Chart, ChartPoint, ReportTable, Value, value_or_reason
from simlab.drawing.text import plan_designs, plan_words
from simlab.drawing.text.tables import number
from simlab.messages import pluralise
from simlab.planning.terms import Design, family

USUAL = ("power", "no_wrong_claim")
"""Measures that follow those of the targets on a page."""
REPEATS = ("srp_new_study", "srp_new_documents")
"""What is new in a repetition: all, or all that can be where targets are for these raters."""
MOST_MEASURES = 3
"""Measures that a page has columns for."""
BESIDE = ("power_at", "significant_share", *REPEATS)
"""Measures that stand behind those of a page."""
MOST_KINDS = 6
"""Kinds of designs that have a colour of their own."""
UNKNOWN = "not measured"


def share(figure: Figure | None, label: str = "") -> Value:
    """Return a share with its error, interval, worlds and studies."""
    if figure is None:
        return Value(None, label=label, reason=UNKNOWN)
    low, high, error = (keep_finite(number) for number in (figure.low, figure.high, figure.mcse))
    return Value(float(figure.value), error, figure.studies or None, figure.worlds or None, low, high, label=label)


def amount(figure: Figure | None, label: str = "", unit: str = "") -> Value:
    """Return money, hours or days as a `Value`; with an error where that is not small."""
    if figure is None:
        return Value(None, label=label, reason=UNKNOWN)
    small = figure.mcse <= plan_words.TINY * abs(figure.value)
    error = None if small else keep_finite(figure.mcse)
    low, high = (None, None) if small else (keep_finite(figure.low), keep_finite(figure.high))
    value = round(figure.value, 2) if abs(figure.value) >= 1 and small else figure.value
    return Value(float(value), error, figure.studies or None, figure.worlds or None, low, high, unit, label)


def keep_finite(value: float) -> float | None:
    """Return a number, None for what is none."""
    return float(value) if math.isfinite(value) else None


def page_measures(plan: StudyPlan) -> list[str]:
    """Return the names of the measures of a page: targets before floors, then what belongs beside them."""
    targets = sorted(plan.targets, key=lambda target: target.floor)
    repeats = next((name for name in REPEATS if name in plan.figures), REPEATS[0])
    names = dict.fromkeys([*(target.measure for target in targets), *USUAL, repeats])
    return [name for name in names if name in plan.figures][:MOST_MEASURES]


def other_measures(plan: StudyPlan) -> list[str]:
    """Return the names of the known measures that a page has no room for."""
    shown = page_measures(plan)
    names = dict.fromkeys([*(target.measure for target in plan.targets), *BESIDE])
    return [name for name in names if name in plan.figures and name not in shown]


def _account(name: str, plan: StudyPlan) -> str:
    currency = plan.limits.currency
    return name if name != "money" else f"cost, {currency}" if currency else "cost"


def designs(plan: StudyPlan, names: Sequence[str], accounts: Sequence[str] = ()) -> ReportTable:
    """Return a table of the advice (for these raters, also for others), its rivals, and the most that limits allow.

    Columns are the measures `names`, then `accounts` (money, hours, days).
    """
    rows = [(label(row, plan), row.figures) for row in plan.rows]
    if plan.new_figures:
        rows.insert(1, ("  the same, for other raters", _figures_for_other_raters(plan.new_figures)))
    return ReportTable(
        "Designs in worlds that no choice has seen",
        ("design", *map(plan_words.heading, names), *(_account(account, plan) for account in accounts)),
        tuple((name, *_cells(figures, names, accounts)) for name, figures in rows),
    )


def _figures_for_other_raters(figures: Figures) -> Figures:
    """Return figures for raters that were not asked: repetition on new documents is by new raters, too."""
    new, old = REPEATS
    return {**figures, old: figures[new]} if new in figures else figures


def _cells(figures: Figures, names: Sequence[str], accounts: Sequence[str]) -> Iterator[Cell]:
    yield from (share(figures.get(name)) for name in names)
    yield from (amount(figures.get(name)) for name in accounts)


def label(row: DesignRow, plan: StudyPlan) -> str:
    """Return the name of a row: the role of its design, and its difference from the advice."""
    if row.role == "advice":
        return f"{'this design' if plan.reached else 'the best'}: {plan_designs.shorten_design(row.design)}"
    beside = plan_designs.shorten_design(row.design, plan.design)
    if row.role == "most":
        return f"most you can do: {beside}"
    if abs(row.gap) > plan_words.SMALL_GAP:
        return f"{'cheaper' if row.gap < 0 else 'dearer'}: {beside} ({100 * row.gap:+.0f} %)"
    return f"same money: {beside}"


def differences(plan: StudyPlan, names: Sequence[str]) -> tuple[ReportTable, ...]:
    """Return a table of each rival minus the advice, by pairs of worlds, in a tuple; () without rivals."""
    shown = [name for name in names if any(name in row.less for row in plan.runners)]
    rows = tuple((label(row, plan), *_differences(row, shown)) for row in plan.runners)
    caption = "Each design minus this one in the same worlds, with 95 % intervals"
    table = ReportTable(caption, ("design", *map(plan_words.heading, shown), "cost, in %"), rows)
    return (table,) if rows and shown else ()


def _differences(row: DesignRow, names: Sequence[str]) -> Iterator[Cell]:
    yield from (_difference(row.less.get(name)) for name in names)
    yield value_or_reason(round(100 * row.gap, 1), UNKNOWN)


def _difference(figure: Figure | None) -> Value:
    if figure is None:
        return Value(None, reason=UNKNOWN)
    # An interval stands in the cell in place of the error: what matters is whether it has 0.
    low, high = keep_finite(figure.low), keep_finite(figure.high)
    error = keep_finite(figure.mcse) if low is None or high is None else None
    return Value(float(figure.value), error, figure.studies or None, figure.worlds or None, low, high)


def front(plan: StudyPlan) -> Chart | None:
    """Return a chart of the measured designs: the first target's measure against money or time; None without any."""
    target = plan.first_target
    across = next((name for name in ACCOUNTS if any(name in design.figures for design in plan.front)), None)
    seen = [design for design in plan.front if target.measure in design.figures and across in design.figures]
    if across is None or not seen:
        return None
    kinds = _kinds(plan, seen)
    marks = [_mark(design, across, target.measure, kinds[family(design.design)]) for design in seen]
    figures, name = plan.figures, "advice (fresh worlds)" if plan.reached else "the best (fresh worlds)"
    if across in figures and target.measure in figures:
        marks.append(_make_point(figures, across, target.measure, name, plan_designs.shorten_design(plan.design)))
    return Chart(
        "scatter",
        "What does each design give for its money?"
        if across == "money"
        else "What does each design give for its time?",
        _x_label(across, plan),
        plan_words.heading(target.measure),
        tuple(marks),
        _alt_text(plan, seen, across),
        "kind of design",
        plan.wanted_line,
        (0.0, 1.0),
        _table(plan, seen, across),
        interval="95 % interval",
    )


def _x_label(name: str, plan: StudyPlan) -> str:
    """Name what stands across, and how much of it there is."""
    limit = plan.limits.money if name == "money" else None
    return _account(name, plan) + ("" if limit is None else f" (budget: {limit:,.0f})")


def _kinds(plan: StudyPlan, seen: Sequence[TriedDesign]) -> dict[Design, str]:
    """Name families of designs; those of the rows first, and those that give most, the others by one name."""
    measure = plan.first_target.measure
    shown = {family(row.design): k for k, row in reversed(list(enumerate(plan.rows)))}
    best: dict[Design, float] = {}
    for design in seen:
        own = family(design.design)
        best[own] = max(best.get(own, 0.0), design.figures[measure].value)
    ordered = sorted(best, key=lambda own: (shown.get(own, len(shown)), -best[own]))
    differing = {
        key for own in ordered for key, value in own if any(dict(other).get(key) != value for other in ordered)
    }
    named = [tuple(lever for lever in own if lever[0] in differing) for own in ordered]
    return {own: _kind(named[k]) if k < MOST_KINDS else "other designs" for k, own in enumerate(ordered)}


def _kind(own: Design) -> str:
    """Name a kind of designs as shortly as a legend has room for, ratings per output as elsewhere on the page."""
    words = plan_designs.kind(tuple(lever for lever in own if lever[0] != EACH), ())
    each = [f"x {value}" for key, value in own if key == EACH]
    return ", ".join([*([words] if words != "the same" else []), *each]) or "all designs"


def _mark(design: TriedDesign, across: str, measure: str, kind: str) -> ChartPoint:
    note = plan_designs.shorten_design(design.design) + ("" if design.within else "; beyond the limits")
    return _make_point(design.figures, across, measure, kind, note, chosen=design.front)


def _make_point(
    figures: Figures, across: str, measure: str, line: str, note: str, *, chosen: bool = False
) -> ChartPoint:
    figure = figures[measure]
    x, low, high = figures[across].value, keep_finite(figure.low), keep_finite(figure.high)
    return ChartPoint(
        x,
        figure.value,
        low,
        high,
        line,
        keep_finite(figure.mcse),
        figure.studies or None,
        figure.worlds or None,
        note,
        chosen,
    )


def _alt_text(plan: StudyPlan, seen: Sequence[TriedDesign], across: str) -> str:
    target = plan.first_target
    least, most = (end(design.figures[target.measure].value for design in seen) for end in (min, max))
    reach = sum(design.reaches for design in seen)
    takes = _account(across, plan).partition(",")[0]
    return (
        f"{pluralise(len(seen), 'design')} by their {takes}: {plan_words.heading(target.measure)} from "
        f"{number(least, 2)} to {number(most, 2)}; {reach} reach all targets, {sum(design.front for design in seen)} "
        "are on the front."
    )


def _table(plan: StudyPlan, seen: Sequence[TriedDesign], across: str) -> ReportTable:
    measure = plan.first_target.measure
    rows = tuple(
        (
            plan_designs.shorten_design(design.design),
            amount(design.figures[across]),
            share(design.figures[measure]),
            _format_boolean(design.front),
            _format_boolean(design.reaches),
            _format_boolean(design.within),
        )
        for design in sorted(seen, key=lambda design: design.figures[across].value)
    )
    titles = ("design", _account(across, plan), plan_words.heading(measure))
    caption = "What was looked at while searching, the least first"
    return ReportTable(caption, (*titles, "on the front", "reaches all targets", "within the limits"), rows)


def _format_boolean(value: bool) -> str:
    return "yes" if value else "no"
