"""Report which design to buy, and how sure that is, from what `simlab plan --save` kept."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from simlab.drawing.reports import references
from simlab.drawing.reports.answers import plan_reading, reading
from simlab.drawing.reports.answers.plan_reading import Planned
from simlab.drawing.reports.terms import Cell, Chart, Mark, Points, Report, Section, Table, Value
from simlab.drawing.text import plan_designs as designs
from simlab.drawing.text import plan_words as words
from simlab.drawing.text.plan_rows import REPEATS
from simlab.drawing.text.tables import number
from simlab.messages import several
from simlab.planning.answered import Figure, Figures, Loads
from simlab.planning.figures import first_target
from simlab.planning.terms import Design, Robust

USUAL, ALSO = ("power", "no_wrong_claim"), ("power_at", "significant_share")
ACCOUNTS = ("money", "hours", "days")
SOURCES = ("Card et al. 2020", "Morris et al. 2019", "Riley et al. 2024", references.SIMLAB)


def report(saved: Mapping[str, Any]) -> Report:
    """Make the report of an answer of `simlab plan`; raise InputError for what is none."""
    found = plan_reading.planned(saved.get("answer"))
    return of(found, saved, (reading.command(saved),), reading.provenance(saved))


def of(
    found: Planned, data: Any, reproduce: Sequence[str], provenance: Mapping[str, str], paragraph: str = ""
) -> Report:
    """Make the report of a plan; `data` is what programs read beside it."""
    told = tuple(sentences(found))
    return Report(
        "Plan of a study",
        f"Which study finds differences of {words.smallest(found.wanted)}?",
        told,
        tuple(sections(found)),
        data,
        tuple(_large(found)),
        tuple(held_fixed(found)),
        tuple(reservations(found)),
        tuple(reproduce),
        references.cited(SOURCES),
        paragraph
        or f"{' '.join(told)} Designs were compared by simulating whole studies (Card et al. 2020); ± is the "
        "Monte-Carlo standard error (Morris et al. 2019).",
        dict(provenance),
    )


def sentences(found: Planned) -> Iterator[str]:
    """Say which design to buy, how it was chosen, and what it shows in worlds that the choice had not seen."""
    whom = " for these raters" if found.row["these_raters"] else ""
    said = designs.changed(found.design, ())
    if found.row["reached"]:
        yield f"Buy{whom}: {said}, {_costs(found, found.figures)}."
    else:
        yield f"Nothing within the limits reaches the targets{whom}."
        yield f"The best is {said}, {_costs(found, found.figures)}."
    yield f"Wanted: {words.targets(found.wanted)}."
    shown = [f"{words.heading(name)} {words.share(found.figures[name])}" for name in _measures(found)[:3]]
    yield f"In {several(found.row['worlds'], 'world')} that the choice had not seen: {'; '.join(shown)}."
    yield from (f"Missed: {words.heading(one.measure)} {words.share(one.figure)}, wanted {number(one.least, 2)}."
                for one in found.missed)  # fmt: skip
    yield from (robustness(found, one) for one in found.robust)


def robustness(found: Planned, held: Robust) -> str:
    """Say in what share of the worlds that a pilot allows the advice reaches its targets, and what it costs beyond."""
    measure = words.heading(first_target(found.wanted).measure)
    share = f"{number(held.share, 2)} ({number(held.low, 2)} to {number(held.high, 2)})"
    return (
        f"In {share} of {held.draws} {held.source} the targets are reached; "
        f"there {measure} is {number(held.q05, 2)} or more in 95 %."
    )


def held_fixed(found: Planned) -> Iterator[str]:
    """Say what a plan takes for granted."""
    yield f"the world: {found.row['world']}"
    yield f"the pilot: {found.row['pilot']}" if found.row["pilot"] else "no pilot: people and scores are the world's"
    yield from (f"assumed: {one}" for one in found.row["assumed"])
    yield "these raters" if found.row["these_raters"] else "raters at large, of whom those of the world are a sample"
    yield f"the smallest difference that matters: {words.smallest(found.wanted)} ({found.wanted.smallest.why})"


def reservations(found: Planned) -> Iterator[str]:
    """Say what is to be held against the advice."""
    if not found.row["reached"]:
        yield "no design within the limits reaches the targets"
    probability = found.row["probability"]
    if probability is not None and probability < found.wanted.confidence:
        why = f" ({found.row['ended']})" if found.row["ended"] else ""
        said = f"the choice among designs is right with probability {number(probability, 3)}"
        yield f"{said}, less than the {number(found.wanted.confidence, 3)} that was asked for{why}"
    for one in found.robust:
        if one.share < 0.9:
            yield f"the targets are reached in only {number(one.share, 2)} of {one.draws} {one.source}"


def sections(found: Planned) -> list[Section]:
    """Show the designs, the front, and what would change the advice."""
    made = (_designs(found), _front(found), _changes(found), _remedies(found), _money(found), _loads(found.loads))
    return [section for section in made if section]


def _large(found: Planned) -> Iterator[Value]:
    cost = found.figures.get("money")
    if cost is not None:
        yield Value(_finite(cost.value), unit=found.wanted.limits.currency or "money", label="cost of the study")
    for name in _measures(found)[:2]:
        meaning = words.meaning(name, found.wanted).partition(": ")[2]
        yield _value(found.figures[name], label=meaning)


def _measures(found: Planned) -> list[str]:
    repeats = next((name for name in REPEATS if name in found.figures), REPEATS[0])
    names = dict.fromkeys([*(one.measure for one in found.wanted.targets), *USUAL, repeats, *ALSO])
    return [name for name in names if name in found.figures]


def _costs(found: Planned, held: Figures) -> str:
    said = [words.money(held["money"].value, found.wanted)] if "money" in held else []
    said += [f"{held[name].value:,.0f} {name}" for name in ACCOUNTS[1:] if name in held]
    return ", ".join(said) or "at no cost that is known"


def _value(one: Figure, unit: str = "", label: str = "") -> Value:
    return Value(
        _finite(one.value),
        _finite(one.mcse),
        one.studies or None,
        one.worlds or None,
        _finite(one.low),
        _finite(one.high),
        unit,
        label,
    )


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _designs(found: Planned) -> Section:
    """Hold the advice and its rivals beside each other, and their paired differences from it."""
    names, accounts = _measures(found), [name for name in ACCOUNTS if name in found.figures]
    rows = [("this design" if found.row["reached"] else "the best", found.design, found.figures)]
    rows += [("for other raters", found.design, found.all_new)] if found.all_new else []
    rows += [(_role(one.role), one.design, one.figures) for one in found.rivals]
    columns = ("", "design", *map(words.heading, names), *(_account(name, found) for name in accounts))
    table = Table(
        "Designs, in worlds that the search had not seen",
        columns,
        tuple(
            (role, designs.changed(one, ()), *_cells(held, names), *_paid(held, accounts)) for role, one, held in rows
        ),
    )
    meanings = Points(tuple(words.meaning(name, found.wanted) for name in names))
    return Section("Designs", (table, *_less(found, names), meanings))


def _role(role: str) -> str:
    return {"same_money": "same money", "most": "most you can do"}[role]


def _account(name: str, found: Planned) -> str:
    return (found.wanted.limits.currency or "money") if name == "money" else name


def _cells(held: Figures, names: Sequence[str]) -> list[Cell]:
    return [_value(held[name]) if name in held else None for name in names]


def _paid(held: Figures, names: Sequence[str]) -> list[Cell]:
    """Return what designs take; a cost that is the same in all worlds has no error."""
    values = [held.get(name) for name in names]
    return [None if one is None else _value(one) if one.mcse > 0 else Value(_finite(one.value)) for one in values]


def _less(found: Planned, names: Sequence[str]) -> Iterator[Table]:
    if found.rivals:
        rows = tuple((designs.changed(one.design, ()), *_cells(one.less, names)) for one in found.rivals)
        yield Table("Minus this design, paired over worlds", ("design", *map(words.heading, names)), rows)


def _front(found: Planned) -> Section | None:
    """Draw what was looked at while searching: what each design costs, and what it shows."""
    measure = first_target(found.wanted)
    across = next((name for name in ACCOUNTS if any(name in one.figures for one in found.front)), None)
    known = [one for one in found.front if across in one.figures and measure.measure in one.figures]
    if across is None or not known:
        return None
    marks = tuple(
        Mark(
            one.figures[across].value,
            held.value,
            _finite(held.low),
            _finite(held.high),
            mcse=_finite(held.mcse),
            n=held.studies,
            clusters=held.worlds,
            note=f"{designs.changed(one.design, ())}{'' if one.within else '; beyond the limits'}",
            chosen=one.front,
        )
        for one in known
        if math.isfinite((held := one.figures[measure.measure]).value) and math.isfinite(one.figures[across].value)
    )
    alt = (
        f"{several(len(marks), 'design')} by cost and {words.heading(measure.measure)}; {sum(m.chosen for m in marks)} "
        "are on the Pareto front: nothing cheaper shows as much."
    )
    chart = Chart(
        "scatter",
        "What does more money buy?",
        _account(across, found),
        f"{words.heading(measure.measure)}, share",
        marks,
        alt,
        target=measure.least,
        bounds=(0.0, 1.0),
        table=_looked_at(found, across, known),
    )
    said = "Rings: the Pareto front. These figures are the search's own; those of the tables are from fresh worlds."
    return Section("What was looked at", (chart, Points((said,))))


def _looked_at(found: Planned, across: str, known: Sequence[Any]) -> Table:
    names = _measures(found)
    rows = tuple(
        (
            designs.changed(one.design, ()),
            Value(_finite(one.figures[across].value)),
            *_cells(one.figures, names),
            "yes" if one.front else "",
            "yes" if one.reaches else "",
        )
        for one in known
    )
    columns = ("design", _account(across, found), *map(words.heading, names), "Pareto front", "reaches the targets")
    return Table("Designs that were looked at while searching", columns, rows)


def _changes(found: Planned) -> Section | None:
    """List the nearest values of assumptions at which another design is the better advice."""
    rows = tuple(
        (
            one.assumption,
            Value(one.now, unit=_unit(one.unit, found)),
            Value(one.at, low=one.low, high=one.high, unit=_unit(one.unit, found)),
            " to ".join("?" if end is None else f"{end:.3g}" for end in one.plausible),
            designs.changed(one.then, found.design) if one.then else one.why or "nothing reaches the targets",
        )
        for one in found.changes
    )
    columns = ("assumption", "now", "changes at (90 % interval)", "plausible", "then")
    return Section("What would change this advice", (Table("", columns, rows),)) if rows else None


def _unit(unit: str, found: Planned) -> str:
    return (found.wanted.limits.currency or unit) if unit == "money" else unit


def _remedies(found: Planned) -> Section | None:
    rows = tuple(
        (
            one.what,
            _reach(one.value, one.low, one.high),
            designs.changed(one.design, ()),
            Value(_finite(one.money)),
            "extrapolated" if one.extrapolated else "simulated",
        )
        for one in found.remedies
    )
    columns = ("what", "needed (95 % interval)", "design", _account("money", found), "how it is known")
    return Section("What would reach the targets", (Table("", columns, rows),)) if rows else None


def _reach(value: float, low: float, high: float) -> str:
    if not math.isfinite(value):
        return "no number alone does"
    said = f"{value:,.4g}"
    return (
        f"{said} ({low:,.4g} to {f'{high:,.4g}' if math.isfinite(high) else 'no end'})" if math.isfinite(low) else said
    )


def _money(found: Planned) -> Section | None:
    measure = words.heading(first_target(found.wanted).measure)
    rows = tuple(
        (
            words.money(one.money, found.wanted),
            _advice(one.advice, found.design),
            designs.changed(one.most, ()) if one.most else "not known",
            _value(one.figure),
        )
        for one in found.other_money
    )
    columns = ("with", "the advice is", "the most it buys", f"{measure} of the most")
    return Section("A tenth less, and more, money", (Table("", columns, rows),)) if rows else None


def _advice(one: Design | None, now: Design) -> str:
    if one is None:
        return "nothing reaches the targets"
    return "the same" if one == now else designs.changed(one, ())


def _loads(held: Loads | None) -> Section | None:
    if held is None:
        return None
    rows = (
        ("outputs", Value(held.outputs)),
        ("ratings", Value(held.ratings)),
        ("raters", held.raters),
        ("ratings of a rater, on average", Value(held.per_rater)),
        ("ratings of a rater, at most", Value(held.most)),
        ("documents of a rater, on average", Value(held.per_rater_documents)),
    )
    return Section("What is asked of people", (Table(held.covers, ("what", "number"), rows),))
