"""Report who is better, with which promise, from what `simlab conclude` answers.

Call `report` with a `Conclusion`, which returns a `Report` of text, tables and charts; `read` makes the record from its
JSON.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from simlab.answers.conclude import Conclusion
from simlab.answers.records import REMEDY, read_record
from simlab.answers.standings import Metric
from simlab.concluding.consistency import contradictions
from simlab.drawing.reports import references
from simlab.drawing.reports.answers import conclude_charts as charts
from simlab.drawing.reports.answers import conclude_numbers as numbers
from simlab.drawing.reports.answers import conclude_paragraph as paragraphs
from simlab.drawing.reports.answers import conclude_words as words
from simlab.drawing.reports.answers.conclude_charts import keep_finite
from simlab.drawing.reports.answers.conclude_consensus import consensus_sections
from simlab.drawing.reports.terms import Block, Points, Prose, Report, ReportTable, Section, Value
from simlab.messages import clip, pluralise
from simlab.types import InputError

QUESTIONS = {
    "rate": "Which systems do people rate better?",
    "compare": "Which systems do people prefer?",
    "judge": "Which systems have more adequate outputs?",
}
MOST_OPEN, MOST_ROWS = 5, 12
"""Pairs in tables: of more than `MOST_ROWS`, `MOST_OPEN` open ones that least would settle stand before all others."""


def report(conclusion: Conclusion) -> Report:
    """Make the report of what `simlab conclude` answers; raise InputError for what contradicts itself."""
    check_read(conclusion)
    return Report(
        "Conclusion",
        _question(conclusion),
        tuple(filter(None, _answer(conclusion))),
        tuple(_sections(conclusion)),
        conclusion.serialise(),
        tuple(_key_figures(conclusion)),
        (_describe_population(conclusion),),
        tuple(_reservations(conclusion)),
        references=references.list_references([*paragraphs.list_references(conclusion), references.SIMLAB]),
        paragraph=paragraphs.body(conclusion),
        caption=_caption(conclusion),
    )


def read(content: Any) -> Conclusion:
    """Return a conclusion from its parsed JSON; raise InputError for what is none, or contradicts itself."""
    return check_read(read_record(Conclusion, content))


def check_read(conclusion: Conclusion) -> Conclusion:
    """Return a conclusion; raise InputError, naming the first contradiction, where its numbers have one."""
    if any(other.without for other in conclusion.without.values()):
        raise InputError(f"answer.without: a conclusion without some raters leaves out no more of them; {REMEDY}")
    for contradiction in contradictions(conclusion):
        raise InputError(f"answer: its numbers contradict each other: {contradiction}; {REMEDY}")
    return conclusion


def _answer(conclusion: Conclusion) -> Iterator[str]:
    """State who is better, with which promise, what open means, what was read, and by which plan."""
    if not conclusion.promise.holds:
        yield f"The promise {words.describe_broken_promise(conclusion)}."
    yield words.write_headline(conclusion)
    yield f"Promise{'' if conclusion.promise.holds else ' that does not hold'}: {conclusion.promise.says}."
    yield words.explain_open_pairs(conclusion)
    yield f"Read: {conclusion.line or words.count_answers(conclusion)}."
    yield words.describe_plan(conclusion)


def _sections(conclusion: Conclusion) -> Iterator[Section]:
    yield Section("Systems", (charts.ordered_systems(conclusion),))
    yield from _pairs(conclusion)
    if conclusion.consensus is not None:
        yield from consensus_sections(conclusion.consensus)
    yield from _simulation_sections(conclusion)
    yield from _metrics(conclusion)
    if conclusion.plan is not None and conclusion.plan.targets:
        rows = tuple(map(words.compare_with_plan, conclusion.plan.targets))
        yield Section("What was planned, and what is found", (ReportTable("", ("what", "planned", "found"), rows),))
    if (chart := charts.raters(conclusion)) is not None:
        yield Section("Raters", (chart,), light=True)
    if others := [*_describe_table(conclusion)]:
        yield Section("What else the table says", (Points(tuple(others)),))
    if conclusion.notes:
        # The command line prints them below the page, too.
        yield Section("Notes", (Points(tuple(conclusion.notes)),), light=True)


def _question(conclusion: Conclusion) -> str:
    """Return what a table answers; where people gave scores, no output is called adequate."""
    if conclusion.question == "judge" and "adequate" not in conclusion.unit:
        return QUESTIONS["rate"]
    return QUESTIONS.get(conclusion.question, "Which systems are better?")


def _pairs(conclusion: Conclusion) -> Iterator[Section]:
    """Show pairs: of few all, of many what is open before all others."""
    if not conclusion.pairs:
        return
    notes = tuple(words.list_remarks_on_claims(conclusion))
    points = (Points(notes),) if notes else ()
    if len(conclusion.pairs) <= MOST_ROWS:
        yield Section("Pairs", (charts.pairs(conclusion), *points))
        return
    left = words.open_pairs(conclusion.pairs)
    few = f"{MOST_OPEN} of {len(left):,} open pairs, those first that least would settle"
    caption = few if len(left) > MOST_OPEN else "All open pairs"
    shown = charts.table_of_pairs(conclusion, left[:MOST_OPEN], caption, brief=True)
    if blocks := (*([shown] if left else []), *points):
        yield Section("Open pairs" if left else "Pairs", blocks)
    yield Section("All pairs", (charts.pairs(conclusion),), light=True)


def _simulation_sections(conclusion: Conclusion) -> Iterator[Section]:
    """Show what simulated studies of this design say: repetitions, and studies of equal systems."""
    blocks: list[Block] = []
    claimed = sum(pair.verdict != 0 for pair in conclusion.pairs)
    if (again := conclusion.repetition) is not None and not claimed:
        blocks.append(Prose("No claim, so that there is nothing that a repetition could confirm."))
    elif again is not None:
        what = f"all {claimed:,} claims" if claimed > 1 else "the claim"
        rows = tuple(
            (who, _share(sign.value, sign.low, sign.high), _share(anew.value, anew.low, anew.high))
            for sign, anew, who in words.ways(again)
        )
        chance = words.state_chance(claimed)
        caption = (
            f"A repetition, after the fact, 90 % intervals ({again.studies:,} studies in worlds fitted to this table: "
            f"{again.world}); {chance} has the same sign"
        )
        blocks += [ReportTable(caption, ("by", f"same sign of {what}", "share claimed again"), rows)] if rows else []
    if (control := conclusion.control) is not None:
        best = control.best_excluded is not None
        value, error = (
            (control.best_excluded, control.best_excluded_mcse)
            if best
            else (control.some_claim, control.some_claim_mcse)
        )
        shares = [(f"this one (promised {numbers.share(control.promised)})", value, error)]
        shares.append(
            (
                f"uncorrected {words.name_uncorrected_tests(conclusion.question)}",
                control.uncorrected,
                control.uncorrected_mcse,
            )
        )
        if control.watched is not None:
            shares.append(("the same, watched through 300 looks", control.watched, control.watched_mcse))
        checks = tuple(
            (what, Value(keep_finite(share), keep_finite(mcse), n=control.studies)) for what, share, mcse in shares
        )
        claims = "excludes one that is a best, at most" if best else "makes some claim"
        world = "" if again is not None and again.world == control.world else f" ({control.world})"
        caption = f"Check: {control.studies:,} studies like this one, simulated with equal systems{world}"
        blocks.append(ReportTable(caption, ("analysis", claims), checks))
    blocks += [
        Prose(text)
        for text in (words.describe_check_at_large(control), *words.describe_missing_simulations(conclusion))
        if text
    ]
    if blocks:
        yield Section("If the study were repeated, and if systems were equal", tuple(blocks))


def _share(value: float, low: float, high: float) -> Value:
    return Value(keep_finite(value), low=keep_finite(low), high=keep_finite(high), digits=2, reason=charts.UNKNOWN)


def _metrics(conclusion: Conclusion) -> Iterator[Section]:
    """Show which metrics may be used, and what speaks for and against each."""
    if not conclusion.metrics:
        return
    chart = charts.metrics(conclusion)
    points = (tuple(words.describe_metric(metric)) for metric in conclusion.metrics)
    table = charts.table_of_metrics(conclusion, "quality")
    yield Section("Metrics", (chart or table, *map(Points, filter(None, points))))
    for metric in conclusion.metrics:
        favours = charts.plot_favour(conclusion, metric)
        blocks: list[Block] = [*_estimates(conclusion, metric), *_errors(metric), *([favours] if favours else [])]
        if blocks:
            yield Section(f"Metric {metric.name}", tuple(blocks), light=True)


def _estimates(conclusion: Conclusion, metric: Metric) -> Iterator[ReportTable]:
    by = {(each.method, each.system): each for each in metric.estimates}
    ways, systems = charts.list_estimation_methods(metric), [each.system for each in words.order_systems(conclusion)]
    rows = tuple(
        (
            system,
            *(
                charts.value_with_interval(each.value, each.low, each.high) if (each := by.get((way, system))) else None
                for way in ways
            ),
        )
        for system in systems
    )
    if ways:
        yield ReportTable(
            f"Means ({charts.axis(conclusion)})", ("system", *(charts.METHODS[way] for way in ways)), rows
        )


def _errors(metric: Metric) -> Iterator[ReportTable]:
    errors = [(f"{each.first} - {each.second}", each) for each in metric.bias_pairs]
    for title, of, rows in (
        ("Errors of the metric's own differences (metric less people), bounds for all pairs at once", "pair", errors),
        (
            "Its error of each system about the mean of all, bounds for all systems at once",
            "system",
            [(each.system, each) for each in metric.bias],
        ),
    ):
        if rows:
            cells = tuple((name, charts.value_with_interval(each.value, each.low, each.high)) for name, each in rows)
            yield ReportTable(title, (of, "points"), cells)


def _describe_table(conclusion: Conclusion) -> Iterator[str]:
    """State how the table was read, what of it was not used, and what else it shows."""
    for remark in words.read_texts(conclusion.read, "remarks"):
        yield f"{remark[0].upper()}{remark[1:]}."
    if unused := words.read_texts(conclusion.read, "unused"):
        yield f"Not used: {clip(', '.join(unused), 200)}."
    if ends := words.ends_of_raters(conclusion):
        yield ends
    yield from conclusion.lines


def _key_figures(conclusion: Conclusion) -> Iterator[Value]:
    claimed = sum(pair.verdict != 0 for pair in conclusion.pairs)
    yield Value(claimed, label=f"of {pluralise(len(conclusion.pairs), 'pair')} claimed")
    if conclusion.detectable is not None and math.isfinite(conclusion.detectable):
        unit = numbers.unit_of_differences(conclusion)
        by_pair = words.detectable_range(conclusion)
        yield Value(
            conclusion.detectable,
            low=by_pair[0] if by_pair else None,
            high=by_pair[1] if by_pair else None,
            unit="" if " " in unit else unit,
            label=f"difference that such a table finds, 80 %{' (from pair to pair)' if by_pair else ''}",
        )
    if (control := conclusion.control) is not None:
        label = f"some claim where systems are equal (promised {control.promised:g})"
        yield Value(
            keep_finite(control.some_claim), keep_finite(control.some_claim_mcse), n=control.studies, label=label
        )


def _describe_population(conclusion: Conclusion) -> str:
    """State for whom claims are: for raters and outputs like these, or for these alone."""
    drawn = conclusion.about.get("raters") == "drawn"
    unit = "items" if conclusion.question == "compare" and "items" in conclusion.about else "documents"
    outputs = f"these {unit}" if conclusion.about.get(unit) == "fixed" else f"{unit} like these"
    return f"{outputs}; {'raters like these' if drawn else 'these raters, and no others'}"


def _reservations(conclusion: Conclusion) -> Iterator[str]:
    """State what is to be held against a conclusion, beside a promise that does not hold: that leads the answer."""
    if conclusion.plan is None:
        yield "design and analysis were not registered with simlab beforehand"
    elif conclusion.plan.deviations:
        yield f"the table leaves its plan: {'; '.join(conclusion.plan.deviations)}"
    yield from (f"Warning: {warning}" for warning in words.warnings(conclusion))
    yield from words.describe_unmet_groups(conclusion)
    if (
        conclusion.control is not None
        and conclusion.promise.holds
        and conclusion.control.contradicts(conclusion.promise)
    ):
        some = numbers.percent(conclusion.control.some_claim, conclusion.control.some_claim_mcse)
        yield (
            f"studies like this one with equal systems make some claim in {some}, more than the promised "
            f"{numbers.share(conclusion.control.promised)}"
        )


def _caption(conclusion: Conclusion) -> str:
    """State what is promised, or that it is not, and what the marks of the figure do not say."""
    says = words.describe_promise(conclusion)
    promise = f"{says[:1].upper()}{says[1:]}."
    promise_line = (
        promise if conclusion.promise.holds else f"The promise {words.describe_broken_promise(conclusion)}. ({promise})"
    )
    arrows = " Arrows: claimed better, what follows is left out." if words.find_beaten(conclusion.pairs) else ""
    lenient = " Leniency: how far above the others a rater scores the same outputs." if conclusion.raters else ""
    return f"{words.count_answers(conclusion)}. {promise_line} Open is not equal.{arrows}{lenient}"
