"""Show a plan as tables and a chart: designs, differences, what was looked at, what changes, what would reach."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from simlab.answers.plan import (
    EACH,
    AdviceChange,
    DesignRow,
    Figure,
    Figures,
    Loads,
    Remedy,
    StudyPlan,
    TriedDesign,
    known_figures,
)
from simlab.drawing.reports.terms import Cell, Chart, Mark, Table, Value
from simlab.drawing.text import plan_designs, plan_rows, plan_words
from simlab.drawing.text.plan_rows import REPEATS
from simlab.drawing.text.tables import number
from simlab.messages import several
from simlab.planning.terms import Design, family

ACCOUNTS = ("money", "hours", "days")
BESIDE = ("power_at", "significant_share", *REPEATS)
"""Measures that stand behind those of a page."""
MOST_KINDS = 6
"""So many kinds of designs have a colour of their own."""
UNKNOWN = "not measured"


def share(held: Figure | None, label: str = "") -> Value:
    """Hold a share with its error, interval, worlds and studies."""
    if held is None:
        return Value(None, label=label, reason=UNKNOWN)
    low, high, error = (known(one) for one in (held.low, held.high, held.mcse))
    return Value(float(held.value), error, held.studies or None, held.worlds or None, low, high, label=label)


def amount(held: Figure | None, label: str = "", unit: str = "") -> Value:
    """Hold money, hours or days; with an error where that is not small."""
    if held is None:
        return Value(None, label=label, reason=UNKNOWN)
    small = held.mcse <= plan_words.TINY * abs(held.value)
    error = None if small else known(held.mcse)
    low, high = (None, None) if small else (known(held.low), known(held.high))
    value = round(held.value, 2) if abs(held.value) >= 1 and small else held.value
    return Value(float(value), error, held.studies or None, held.worlds or None, low, high, unit, label)


def known(value: float) -> float | None:
    """Return a number, None for what is none."""
    return float(value) if math.isfinite(value) else None


def measures(answer: StudyPlan) -> list[str]:
    """Name the shares that are shown: those of a page, then others that are known."""
    names = dict.fromkeys([*plan_rows.measures(answer), *(one.measure for one in answer.targets), *BESIDE])
    held = answer.figures
    new = REPEATS[0] in held
    return [name for name in names if name in held and not (new and name == REPEATS[1])]


def meanings(answer: StudyPlan) -> list[str]:
    """Say what each column of shares is."""
    return [plan_words.meaning(name, answer) for name in measures(answer)]


def _headings(names: Sequence[str]) -> list[str]:
    return [plan_words.heading(name) for name in names]


def _account(name: str, answer: StudyPlan) -> str:
    currency = answer.limits.currency
    return name if name != "money" else f"cost, {currency}" if currency else "cost"


def designs(answer: StudyPlan) -> Table:
    """Show the advice, its rivals at equal cost, and the most that the limits allow."""
    names, accounts = measures(answer), _accounts(answer)
    rows = tuple((label(row, answer), *_cells(row.figures, names, accounts)) for row in answer.rows)
    return Table(
        "Designs in worlds that no choice has seen",
        ("design", *_headings(names), *(_account(one, answer) for one in accounts)),
        rows,
    )


def _accounts(answer: StudyPlan) -> list[str]:
    return [name for name in ACCOUNTS if name in answer.figures]


def _cells(held: Figures, names: Sequence[str], accounts: Sequence[str]) -> Iterator[Cell]:
    yield from (share(held.get(name)) for name in names)
    yield from (amount(held.get(name)) for name in accounts)


def label(row: DesignRow, answer: StudyPlan) -> str:
    """Say what a design stands there for."""
    own = plan_designs.short(row.design)
    if row.role == "advice":
        return f"{'this design' if answer.reached else 'the best'}: {own}"
    said = plan_designs.short(row.design, answer.design)
    if row.role == "most":
        return f"most you can do: {said}"
    if abs(row.gap) > plan_words.SMALL_GAP:
        return f"{'cheaper' if row.gap < 0 else 'dearer'}: {said} ({100 * row.gap:+.0f} %)"
    return f"same money: {said}"


def differences(answer: StudyPlan) -> Table | None:
    """Show each rival minus the advice, by pairs of worlds; None without rivals."""
    names = [name for name in measures(answer) if any(name in row.less for row in answer.rows[1:])]
    rows = tuple((label(row, answer), *_less(row, names)) for row in answer.rows[1:])
    said = "Each design minus this one, with 95 % intervals"
    return Table(said, ("design", *_headings(names), "cost, in %"), rows) if rows and names else None


def _less(row: DesignRow, names: Sequence[str]) -> Iterator[Cell]:
    yield from (_difference(row.less.get(name)) for name in names)
    yield Value(known(round(100 * row.gap, 1)), reason="" if math.isfinite(row.gap) else UNKNOWN)


def _difference(held: Figure | None) -> Value:
    if held is None:
        return Value(None, reason=UNKNOWN)
    # An interval stands in the cell in place of the error: what matters is whether it has 0.
    low, high = known(held.low), known(held.high)
    error = known(held.mcse) if low is None or high is None else None
    return Value(float(held.value), error, held.studies or None, held.worlds or None, low, high)


def front(answer: StudyPlan) -> Chart | None:
    """Draw what was looked at: the first target's measure against what a design takes; None where nothing was."""
    target = answer.first_target
    across = next((name for name in ACCOUNTS if any(name in one.figures for one in answer.front)), None)
    seen = [one for one in answer.front if target.measure in one.figures and across in one.figures]
    if across is None or not seen:
        return None
    kinds = _kinds(answer, seen)
    marks = [_mark(one, across, target.measure, kinds[family(one.design)]) for one in seen]
    held, name = answer.figures, "advice (fresh worlds)" if answer.reached else "the best (fresh worlds)"
    if across in held and target.measure in held:
        marks.append(_marked(held, across, target.measure, name, plan_designs.short(answer.design)))
    return Chart(
        "scatter",
        "What does each design give for its money?"
        if across == "money"
        else "What does each design give for its time?",
        _account(across, answer),
        plan_words.heading(target.measure),
        tuple(marks),
        _alt(answer, seen, across),
        "kind of design",
        answer.wanted_line,
        (0.0, 1.0),
        _table(answer, seen, across),
        interval="95 % interval",
    )


def _kinds(answer: StudyPlan, seen: Sequence[TriedDesign]) -> dict[Design, str]:
    """Name families of designs; those of the rows first, and those that give most, the others by one name."""
    measure = answer.first_target.measure
    shown = {family(row.design): k for k, row in reversed(list(enumerate(answer.rows)))}
    best: dict[Design, float] = {}
    for one in seen:
        own = family(one.design)
        best[own] = max(best.get(own, 0.0), one.figures[measure].value)
    ordered = sorted(best, key=lambda own: (shown.get(own, len(shown)), -best[own]))
    differing = {
        key for own in ordered for key, value in own if any(dict(other).get(key) != value for other in ordered)
    }
    named = [tuple(one for one in own if one[0] in differing) for own in ordered]
    return {own: _kind(named[k]) if k < MOST_KINDS else "other designs" for k, own in enumerate(ordered)}


def _kind(own: Design) -> str:
    """Name a kind of designs as shortly as a legend has room for, ratings per output as elsewhere on the page."""
    words = plan_designs.kind(tuple(one for one in own if one[0] != EACH), ())
    each = [f"x {value}" for key, value in own if key == EACH]
    return ", ".join([*([words] if words != "the same" else []), *each]) or "all designs"


def _mark(one: TriedDesign, across: str, measure: str, kind: str) -> Mark:
    said = plan_designs.short(one.design) + ("" if one.within else "; beyond the limits")
    return _marked(one.figures, across, measure, kind, said, chosen=one.front)


def _marked(held: Figures, across: str, measure: str, line: str, note: str, *, chosen: bool = False) -> Mark:
    one = held[measure]
    x, low, high = held[across].value, known(one.low), known(one.high)
    return Mark(x, one.value, low, high, line, known(one.mcse), one.studies or None, one.worlds or None, note, chosen)


def _alt(answer: StudyPlan, seen: Sequence[TriedDesign], across: str) -> str:
    target = answer.first_target
    least, most = (end(one.figures[target.measure].value for one in seen) for end in (min, max))
    reach = sum(one.reaches for one in seen)
    takes = _account(across, answer).partition(",")[0]
    return (
        f"{several(len(seen), 'design')} by their {takes}: {plan_words.heading(target.measure)} from "
        f"{number(least, 2)} to {number(most, 2)}; {reach} reach all targets, {sum(one.front for one in seen)} are on "
        "the front."
    )


def _table(answer: StudyPlan, seen: Sequence[TriedDesign], across: str) -> Table:
    measure = answer.first_target.measure
    rows = tuple(
        (
            plan_designs.short(one.design),
            amount(one.figures[across]),
            share(one.figures[measure]),
            _yes(one.front),
            _yes(one.reaches),
            _yes(one.within),
        )
        for one in sorted(seen, key=lambda one: one.figures[across].value)
    )
    titles = ("design", _account(across, answer), plan_words.heading(measure))
    said = "What was looked at while searching, the least first"
    return Table(said, (*titles, "on the front", "reaches all targets", "within the limits"), rows)


def _yes(held: bool) -> str:
    return "yes" if held else "no"


def changes(answer: StudyPlan) -> Table | None:
    """Show the nearest value of each assumption at which the advice changes; None where none was found."""
    rows = tuple(_change(one, answer) for one in answer.flips)
    titles = ("assumption", "is now", "advice changes at", "plausible", "source", "in words", "then")
    return Table("Nearest values at which another design is the better advice", titles, rows) if rows else None


def _change(one: AdviceChange, answer: StudyPlan) -> tuple[Cell, ...]:
    unit = (answer.limits.currency or "money") if one.unit == "money" else one.unit
    at = Value(one.at, low=known(one.low), high=known(one.high), unit=unit)
    low, high = one.plausible
    span = f"{low:.3g} to {high:.3g}" if math.isfinite(low + high) else "not known"
    return one.assumption, Value(one.now, unit=unit), at, span, one.source, one.said, then(one, answer)


def then(one: AdviceChange, answer: StudyPlan) -> str:
    """Say what follows where the advice changes."""
    if one.then is None:
        return one.why or "nothing reaches the targets"
    return plan_designs.changed(one.then, answer.design)


def missed(answer: StudyPlan) -> Table | None:
    """Show the targets that the best design misses; None where it misses none."""
    rows = tuple((plan_words.heading(one.target), Value(one.least), share(one)) for one in answer.missed)
    return Table("Targets that the best design misses", ("target", "wanted", "found"), rows) if rows else None


def remedies(answer: StudyPlan) -> Table | None:
    """Show what would reach the targets; None where nothing that was tried would."""
    rows = tuple(_remedy(one, answer) for one in answer.would_reach)
    titles = ("what", "so many would do", "design", _account("money", answer), "known by")
    return Table("What would reach the targets", titles, rows) if rows else None


def _remedy(one: Remedy, answer: StudyPlan) -> tuple[Cell, ...]:
    unit = answer.smallest.unit if one.what == "difference" else one.what
    value = Value(known(one.value), low=known(one.low), high=known(one.high), unit=unit, reason="no number would do")
    return (
        "ask for larger differences only" if one.what == "difference" else f"more {one.what}",
        value if value.value is None else Value(value.value, low=value.low, high=value.high, unit=unit),
        plan_designs.short(one.design),
        Value(known(one.money), reason="" if math.isfinite(one.money) else UNKNOWN),
        "extrapolated" if one.extrapolated else "simulated",
    )


def anew(answer: StudyPlan) -> Table | None:
    """Show the design's figures for raters that were not asked, beside those for these; None where all are alike."""
    names = [name for name in measures(answer) if name in answer.new_figures]
    if not names:
        return None
    shown = [("this design", answer.new_figures)]
    if answer.pool is not None and answer.pool.raters is not None:
        shown.append((plan_designs.short(answer.pool.design), known_figures(answer.pool.figures)))
    rows = tuple((said, *_cells(held, names, ())) for said, held in shown)
    return Table("For raters who were not asked", ("design", *_headings(names)), rows)


def loads(held: Loads) -> Table:
    """Show what one rating covers, and how much each rater does."""
    rows: tuple[tuple[Cell, ...], ...] = (
        ("raters", held.raters),
        ("outputs", Value(held.outputs)),
        ("ratings", Value(held.ratings)),
        ("ratings per rater, on average", Value(held.per_rater)),
        ("ratings per rater, at most", Value(held.most)),
        ("documents per rater, on average", Value(held.per_rater_documents)),
    )
    covers = f"{held.covers[:1].upper()}{held.covers[1:]}" if held.covers else "What people do"
    return Table(covers, ("what", "number"), rows)
