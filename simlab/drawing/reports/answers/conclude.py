"""Report who is better, with which promise, from what `simlab conclude --save` kept."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from simlab.answers.conclude import Conclusion, Metric, Pair, System
from simlab.answers.records import REMEDY, read_record
from simlab.concluding.consistency import contradictions
from simlab.drawing.reports import references
from simlab.drawing.reports.terms import Chart, Mark, Points, Prose, Report, Section, Table, Value
from simlab.drawing.text import conclusion_numbers as numbers
from simlab.drawing.text import conclusion_pairs as pairs
from simlab.drawing.text import conclusions, paragraphs
from simlab.drawing.text.conclusion_systems import METHODS, confidence
from simlab.drawing.text.references import METHODS as CITING
from simlab.messages import legible, several
from simlab.types import InputError

QUESTIONS = {
    "rate": "Which systems do people rate better?",
    "compare": "Which systems do people prefer?",
    "judge": "Which systems have more adequate outputs?",
}
MOST_PAIRS, MOST_RATERS = 60, 60
"""So many pairs and raters are drawn; the tables have all."""
UNKNOWN = "not known from these data"
WORDS = {"trust": "is worth using", "correct": "is used only with people beside it", "leave_out": "is left out"}


def report(found: Conclusion) -> Report:
    """Make the report of what `simlab conclude` answers; raise InputError for what contradicts itself."""
    return of(checked(found), found.plain(), (), {})


def read(held: Any) -> Conclusion:
    """Read a conclusion from its record; raise InputError for what is none, or contradicts itself."""
    return checked(read_record(Conclusion, held))


def checked(found: Conclusion) -> Conclusion:
    """Return a conclusion that a file held; raise InputError, naming the first contradiction, where it has one."""
    if any(one.without for one in found.without.values()):
        raise InputError(f"answer.without: a conclusion without some raters leaves out no more of them; {REMEDY}")
    for said in contradictions(found):
        raise InputError(f"answer: its numbers contradict each other: {said}; {REMEDY}")
    return found.changed(line=found.line or _line(found.read))


def _line(read: Mapping[str, Any]) -> str:
    """Say what was read: how many answers, about what, by whom.

    >>> _line({"used": 400, "systems": 4, "raters": 8})
    '400 answers about 4 systems by 8 raters'
    """
    about = [f"{read[name]:,} {name}" for name in ("systems", "documents", "items") if read.get(name) is not None]
    said = f"{read.get('used') or 0:,} answers" + (f" about {', '.join(about)}" if about else "")
    return said + (f" by {read['raters']:,} raters" if read.get("raters") is not None else "")


def of(found: Conclusion, data: Any, reproduce: Sequence[str], provenance: Mapping[str, str]) -> Report:
    """Make the report of a conclusion; `data` is what programs read beside it."""
    paragraph, _, _ = paragraphs.paragraph(found).partition("\n\nReferences\n")
    return Report(
        "Conclusion",
        QUESTIONS.get(found.question, "Which systems are better?"),
        tuple(sentences(found)),
        tuple(sections(found)),
        data,
        tuple(_large(found)),
        (held_fixed(found),),
        tuple(reservations(found)),
        tuple(reproduce),
        references.cited([*cited(found), references.SIMLAB]),
        " ".join(paragraph.split()),
        dict(provenance),
    )


def sentences(found: Conclusion) -> Iterator[str]:
    """Say what is claimed with which promise, who came out first, and what is open."""
    says = found.promise.says.replace(" below", "")
    if found.promise.holds:
        yield f"The promise: {says}."
    else:
        yield f"The promise ({says}) {numbers.broken(found)}."
    yield from _first(found)
    digits = numbers.decimals(found)
    for part in (pairs.claims(found, digits), pairs.settling(found.pairs), pairs.within(found)):
        yield from (" ".join(one.split()) for one in part)


def _first(found: Conclusion) -> Iterator[str]:
    best = pairs.ordered(found)[0]
    if math.isfinite(best.estimate):
        noun, unit = numbers.measure(found)
        digits = numbers.decimals(found)
        value = numbers.amount(numbers.measured(best.estimate, best.low, best.high, digits), unit)
        rank = "rank 1" if best.rank_high == 1 else f"its rank may be {numbers.rank(best.rank_low, best.rank_high)}"
        yield f"{best.system} came out first ({rank}): {noun} {value}."


def cited(found: Conclusion) -> list[str]:
    """Name the references of the methods that a conclusion rests on."""
    return sorted({key for name in paragraphs.methods(found) if name in CITING for key in CITING[name].cites})


def held_fixed(found: Conclusion) -> str:
    """Say for whom claims are: for raters like these, or for these alone."""
    drawn = found.about.get("raters") == "drawn"
    return "documents like these; " + ("raters like these" if drawn else "these raters, and no others")


def reservations(found: Conclusion) -> Iterator[str]:
    """Say what is to be held against a conclusion."""
    if not found.promise.holds:
        yield f"the promise {numbers.broken(found)}"
    if found.plan is None:
        yield "design and analysis were not registered with simlab beforehand"
    elif found.plan.deviations:
        yield f"the table leaves its plan: {'; '.join(found.plan.deviations)}"
    yield from numbers.warnings(found)
    yield from (one.removesuffix(".") for one in numbers.missing(found))
    yield from numbers.unmet(found)
    yield from (f"no order within the cycle {' > '.join([*one, one[0]])}" for one in found.cycles)
    if found.control is not None and found.promise.holds and found.control.contradicts(found.promise):
        some = numbers.percent(found.control.some_claim, found.control.some_claim_mcse)
        yield (
            f"studies like this one with equal systems make some claim in {some}, more than the promised "
            f"{numbers.share(found.control.promised)}"
        )


def sections(found: Conclusion) -> list[Section]:
    """Show systems, pairs, raters, metrics, and what simulations of such a study say."""
    return [
        Section("Systems", (_chart_of_systems(found), _systems(found))),
        *_pairs(found),
        *_raters(found),
        *(_metric(found, one) for one in found.metrics),
        *_simulated(found),
        *_read(found),
    ]


def _large(found: Conclusion) -> Iterator[Value]:
    claimed = sum(one.verdict != 0 for one in found.pairs)
    yield Value(claimed, label=f"of {several(len(found.pairs), 'pair')} claimed")
    if found.detectable is not None and math.isfinite(found.detectable):
        unit = numbers.unit_of_differences(found)
        by_pair = pairs.detectable_by_pair(found)
        yield Value(
            found.detectable,
            low=by_pair[0] if by_pair else None,
            high=by_pair[1] if by_pair else None,
            unit="" if " " in unit else unit,
            label=f"difference that such a table finds, 80 %{' (from pair to pair)' if by_pair else ''}",
        )
    if found.control is not None:
        held = found.control
        label = f"some claim where systems are equal (promised {held.promised:g})"
        yield Value(_finite(held.some_claim), _finite(held.some_claim_mcse), n=held.studies, label=label)


def _axis(found: Conclusion) -> str:
    return ", ".join(part for part in numbers.measure(found) if part)


def _chart_of_systems(found: Conclusion) -> Chart:
    known = [one for one in pairs.ordered(found) if math.isfinite(one.estimate)]
    marks = tuple(
        Mark(one.estimate, one.system, _finite(one.low), _finite(one.high), n=one.n, note=_rank(one)) for one in known
    )
    said = f"{several(len(known), 'system')} with their {confidence(found)} intervals, best first"
    return Chart(
        "intervals",
        "How good is each system?",
        _axis(found),
        "system",
        marks,
        said,
        table=_systems(found),
        interval=f"{confidence(found)} interval",
    )


def _rank(one: System) -> str:
    return f"rank {numbers.rank(one.rank_low, one.rank_high)}"


def _systems(found: Conclusion) -> Table:
    below = pairs.beaten(found.pairs)
    names = [one.system for one in pairs.ordered(found)]
    rows = tuple(
        (
            numbers.rank(one.rank_low, one.rank_high),
            one.system,
            _known(one.estimate, one.low, one.high, n=one.n),
            one.n,
            ", ".join(name for name in names if name in below.get(one.system, ())) or "none",
        )
        for one in pairs.ordered(found)
    )
    columns = ("rank", "system", f"{_axis(found)} ({confidence(found)} interval)", "answers", "claimed better than")
    return Table("Systems, best first", columns, rows)


def _known(value: float, low: float, high: float, n: int | None = None) -> Value:
    reason = "" if math.isfinite(value) else UNKNOWN
    return Value(_finite(value), low=_finite(low), high=_finite(high), n=n, reason=reason)


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def _pairs(found: Conclusion) -> Iterator[Section]:
    if not found.pairs:
        return
    each = [pairs.oriented(one) for one in found.pairs]
    yield Section("Pairs", (_chart_of_pairs(found, each), _table_of_pairs(found, each)))


def _chart_of_pairs(found: Conclusion, each: Sequence[Pair]) -> Chart:
    known = [one for one in each if math.isfinite(one.difference)][:MOST_PAIRS]
    marks = tuple(
        Mark(
            one.difference,
            f"{one.first} - {one.second}",
            _finite(one.low),
            _finite(one.high),
            "claimed" if one.verdict else "open",
            note=f"adjusted p = {one.adjusted:.4g}",
        )
        for one in known
    )
    claimed = sum(one.verdict != 0 for one in known)
    alt = f"Differences of {several(len(known), 'pair')} with their intervals; {claimed} are claimed, the others open."
    unit = numbers.unit_of_differences(found)
    return Chart(
        "intervals",
        "How far are systems apart?",
        f"difference, {unit}" if unit else "difference",
        "pair",
        marks,
        alt,
        "claim",
        target=0.0,
        table=_table_of_pairs(found, each),
        interval=f"{confidence(found)} interval",
    )


def _table_of_pairs(found: Conclusion, each: Sequence[Pair]) -> Table:
    unit = numbers.unit_of_differences(found)
    settled = any(one.more for one in each)
    rows = tuple(
        (
            one.first,
            one.second,
            _known(one.difference, one.low, one.high),
            Value(_finite(one.p_value), reason=UNKNOWN),
            Value(_finite(one.adjusted), reason=UNKNOWN),
            _claim(one),
            *((numbers.more(one.more) if one.more else "",) if settled else ()),
        )
        for one in each
    )
    differs = f"difference, {unit}" if unit else "difference"
    more = ("more that settles it with 80 %",) if settled else ()
    columns = ("system", "and system", differs, "p", "p, adjusted", "claim", *more)
    return Table("Pairs, the better one first; open is not equal", columns, rows)


def _claim(one: Pair) -> str:
    if one.unpromised:
        return "open; claimed better without a promise"
    return "claimed better" if one.verdict else "open" if pairs.is_compared(one) else "never compared"


def _raters(found: Conclusion) -> Iterator[Section]:
    known = sorted((one for one in found.raters if math.isfinite(one.leniency)), key=lambda one: one.leniency)
    if not known:
        return
    marks = tuple(
        Mark(one.leniency, one.rater, _finite(one.low), _finite(one.high), n=one.n) for one in known[:MOST_RATERS]
    )
    rows = tuple((one.rater, one.n, _known(one.leniency, one.low, one.high)) for one in known)
    said = "Each rater's scores less those of the others on the same outputs"
    table = Table(said, ("rater", "answers", f"leniency, {found.unit}"), rows)
    alt = f"Leniency of {several(len(known), 'rater')} with intervals, the most severe first"
    axis = f"leniency, {found.unit}" if found.unit else "leniency"
    level = f"{confidence(found)} interval"
    chart = Chart(
        "intervals", "How lenient is each rater?", axis, "rater", marks, alt, target=0.0, table=table, interval=level
    )
    yield Section("Raters", (chart,))


def _metric(found: Conclusion, one: Metric) -> Section:
    reason = f": {one.reason}" if one.reason else ""
    said = Prose(f"The metric {one.name} {WORDS[one.verdict]}{reason}.")
    rows = tuple(
        (each.system, METHODS.get(each.method, each.method), _known(each.value, each.low, each.high))
        for each in one.estimates
    )
    parts: list[Prose | Table] = [said]
    if rows:
        header = ("system", "from", _axis(found))
        parts.append(Table("Estimates with the metric beside those of people alone", header, rows))
    if one.bias_pairs:
        errors = tuple(
            (f"{each.first} - {each.second}", _known(each.value, each.low, each.high)) for each in one.bias_pairs
        )
        title = "Errors of the metric's own differences (metric less people), bounds for all pairs at once"
        parts.append(Table(title, ("pair", "error"), errors))
    for title, systems in (
        ("Its error of each system about the mean of all, bounds for all systems at once", one.bias),
        ("How far above its line on human means each system lies, against the median of the others", one.favour),
    ):
        if systems:
            values = tuple((each.system, _known(each.value, each.low, each.high)) for each in systems)
            parts.append(Table(title, ("system", "points"), values))
    if one.worth_labels is not None:
        worth = (("human labels that would narrow differences as much", _known(*one.worth_labels.bounds())),)
        parts.append(Table("What mixing the metric in is worth", ("what", "labels"), worth))
    return Section(f"Metric {one.name}", tuple(parts))


def _simulated(found: Conclusion) -> Iterator[Section]:
    """Say what simulated studies of this design say: a repetition, and one of equal systems."""
    rows: list[tuple[str, Value, str]] = []
    if (again := found.repetition) is not None:
        chance = numbers.by_chance(sum(one.verdict != 0 for one in found.pairs))
        for name, who in numbers.NEW_IN.items():
            sign, anew = getattr(again.same_sign, name), getattr(again.claimed_again, name)
            if name in again.unknown:
                continue
            same = f"a repetition gives all claims the same sign ({chance}): {who}"
            rows.append((same, _known(sign.value, sign.low, sign.high, again.studies), again.world))
            rows.append((f"share of the claims that it claims again: {who}", _known(*anew.bounds()), again.world))
    if (held := found.control) is not None:
        plain = f"the same, uncorrected {numbers.uncorrected(found.question)}"
        shares = [
            ("some claim where systems are equal", held.some_claim, held.some_claim_mcse),
            (plain, held.uncorrected, held.uncorrected_mcse),
        ]
        if held.watched is not None:
            shares.append(("the same, watched through 300 looks", held.watched, held.watched_mcse or math.nan))
        if held.at_large is not None:
            by_others = "some claim by other raters, for theirs, where systems are equal for raters at large"
            rows.append((by_others, _known(*held.at_large.bounds()), held.world))
        rows += [
            (what, Value(_finite(value), _finite(error), n=held.studies), held.world) for what, value, error in shares
        ]
    if rows:
        said = "After the fact: shares of simulated studies of this design; intervals are 90 %."
        yield Section(
            "Simulated studies like this one",
            (Prose(said), Table("Shares of the simulated studies", ("what", "share", "world"), tuple(rows))),
        )


def _read(found: Conclusion) -> Iterator[Section]:
    told = [f"Read: {numbers.read(found)}."]
    told += [f"{one[0].upper()}{one[1:]}." for one in numbers.texts_of(found.read, "remarks")]
    if unused := numbers.texts_of(found.read, "unused"):
        told.append(f"Not used: {legible(', '.join(unused), 200)}.")
    told += [f"Plan: {conclusions.followed(found.plan)}."] if found.plan else []
    told += [f"Planned / found: {conclusions.targets(found.plan)}."] if found.plan and found.plan.targets else []
    told += [f"Without {names}: {sum(p.verdict != 0 for p in one.pairs)} pairs are claimed."
             for names, one in found.without.items()]  # fmt: skip
    yield Section("What was read", (Points((*told, *found.notes)),))
