"""Write what is concluded from a table, on a page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from simlab.answers.conclude import Conclusion, Followed, PlannedFigure, Rank, Rater, Repetition, rank_of
from simlab.concluding.consistency import check_consistent
from simlab.drawing.text import conclusion_metrics as metrics
from simlab.drawing.text import conclusion_numbers as numbers
from simlab.drawing.text import conclusion_pairs as pairs
from simlab.drawing.text import conclusion_systems as systems
from simlab.drawing.text.tables import line, measured, number
from simlab.messages import legible, several

MOST_LINES, USUAL_SYSTEMS = 25, 8
MOST_WARNINGS, MOST_CYCLES, LEAST_RATERS, MOST_COLUMNS = 4, 2, 2, 12
DIGEST = 6
SMALL_ERROR, MANY = 0.005, 100
NAMES = {"significant_share": "share of pairs claimed"}
"""Figures that a page calls otherwise than their measures."""


def page(found: Conclusion, written: Sequence[Path] = (), following: str = "") -> str:
    """Write a conclusion for people: 25 lines of 100 columns for eight systems; `following` is the next command.

    Where that is too little, fewer open pairs are shown. What is cut is counted. Raises Inconsistent for a conclusion
    whose numbers contradict each other.
    """
    check_consistent(found)
    full = _page(found, written, following, brief=False)
    room = MOST_LINES + max(len(found.systems) - USUAL_SYSTEMS, 0)
    return full if len(full.splitlines()) <= room else _page(found, written, following, brief=True)


def _page(found: Conclusion, written: Sequence[Path], following: str, *, brief: bool) -> str:
    digits = numbers.decimals(found)
    parts = [
        "\n".join(_head(found)),
        "\n".join([systems.table(found, digits), *_below(found, digits, brief)]),
        "\n".join(metrics.table(found.metrics)),
        "\n".join([*([f"written: {', '.join(map(str, written))}"] if written else []), *_next(following)]),
    ]
    return "\n\n".join(part for part in parts if part)


def _next(following: str) -> list[str]:
    return [f"next: {following}"] if following else []


def _head(found: Conclusion) -> Iterator[str]:
    """Say what was read, by which plan, and what is promised; then what limits it. What is withdrawn is said first."""
    promise = found.promise
    promised = promise.says if promise.holds else f"{numbers.broken(found)}; else {promise.says}"
    if found.withdrawn:
        yield line("Promise", promised)
    yield line("Read", found.line)
    for one in numbers.texts_of(found.read, "remarks"):
        yield line("", one)
    if unused := numbers.texts_of(found.read, "unused"):
        yield line("", f"not used: {numbers.listed(list(map(legible, unused)), MOST_COLUMNS)}")
    if found.plan is not None:
        yield line("Plan", followed(found.plan))
        if found.plan.targets:
            yield line("Targets", f"planned / found: {targets(found.plan)}")
    if not found.withdrawn:
        yield line("Promise", promised)
    warnings = numbers.warnings(found)
    # What changes a claim or a number is never cut.
    shown = max(sum(rank_of(one) < Rank.LEFT_OUT for one in warnings), MOST_WARNINGS)
    for one in warnings[:shown]:
        yield line("Warning", one)
    if (rest := len(warnings) - shown) > 0:
        yield line("", f"and {several(rest, 'warning')} more: --format json")


def followed(plan: Followed) -> str:
    """Say which plan was followed, where the table left it, and at which look."""
    left = f"deviations: {'; '.join(plan.deviations)}" if plan.deviations else "no deviations"
    look = "first look" if plan.look <= 1 else f"look {plan.look}"
    return f"{plan.digest[:DIGEST]}, {plan.planned:,} answers planned; {left}; {look}"


def targets(plan: Followed) -> str:
    """Say of each figure what was planned and, behind a stroke, what is found."""
    return "; ".join(map(_target, plan.targets))


def _target(one: PlannedFigure) -> str:
    share = one.unit == "share"
    planned = _figure(one.planned, one.planned_mcse, share=share)
    found = _figure(one.found, one.found_mcse, share=share)
    said = found if math.isfinite(one.found) else f"not known ({legible(one.missing, 120)})"
    unit = "" if share or one.unit == one.measure or not math.isfinite(one.found) else f" {legible(one.unit, 20)}"
    name = NAMES.get(one.measure, legible(one.measure, 40).replace("_", " "))
    return f"{name} {planned} / {said}{unit}"


def _figure(value: float, mcse: float, *, share: bool) -> str:
    """Write a share with its Monte-Carlo standard error, another figure with three digits."""
    if share and math.isfinite(mcse):
        return measured(value, mcse, 3 if mcse < SMALL_ERROR else 2)
    if value >= MANY:
        return f"{value:,.0f}"
    said = f"{value:.3g}"
    return said.removeprefix("0") or said


def _below(found: Conclusion, digits: int, brief: bool) -> Iterator[str]:
    """Say what the table of systems rests on, and what it does not say."""
    yield from pairs.claims(found, digits, brief=brief)
    yield from _cycles(found.cycles)
    yield from pairs.settling(found.pairs, brief=brief)
    yield from pairs.within(found)
    yield from _raters(found.raters, digits)
    yield from (numbers.filled(one) for one in found.lines)
    yield from _again(found, brief)
    yield from _checked(found)
    yield from (numbers.filled(f"{one}.") for one in numbers.unmet(found))
    yield from (numbers.filled(one) for one in numbers.missing(found))
    yield from pairs.without(found, digits)


def _cycles(cycles: Sequence[Sequence[str]]) -> Iterator[str]:
    if not cycles:
        return
    said = "; ".join(" > ".join([*one, one[0]]) for one in cycles[:MOST_CYCLES])
    rest = len(cycles) - MOST_CYCLES
    said += f"; {several(rest, 'cycle')} more" if rest > 0 else ""
    yield numbers.filled(f"No order within cycles: {said}.")


def _raters(raters: Sequence[Rater], digits: int) -> Iterator[str]:
    """Name the raters who score the same outputs highest and lowest."""
    # Of whom an output or two is known, nothing is: such a rater is not named as the most lenient.
    known = sorted((one for one in raters if math.isfinite(one.high - one.low)), key=lambda one: one.leniency)
    if len(known) < LEAST_RATERS:
        return
    ends = " to ".join(f"{one.rater} {_lenient(one, digits)}" for one in (known[0], known[-1]))
    yield numbers.filled(f"{several(len(known), 'rater')}, against the others on the same outputs: {ends}.")


def _lenient(rater: Rater, digits: int) -> str:
    return f"{number(rater.leniency, digits, sign=True)} ({numbers.span(rater.low, rater.high, digits)})"


def _again(found: Conclusion, brief: bool) -> Iterator[str]:
    """Say how often a repetition would confirm all claims: after the fact, and simulated."""
    if found.repetition is None:
        return
    again, claimed = found.repetition, sum(one.verdict != 0 for one in found.pairs)
    if not claimed:
        yield "No claim, so that there is nothing that a repetition could confirm."
        return
    what = f"all {claimed:,} claims" if claimed > 1 else "the claim"
    ways = numbers.ways(again)
    said = ", ".join(f"{numbers.interval(sign)} {who}" for sign, _, who in ways) or "not known"
    anew = ", ".join(f"{numbers.interval(one)} {who}" for _, one, who in ways if math.isfinite(one.value))
    of_claims = f" Of the claims it claims again: {anew}." if anew else ""
    by = f"{numbers.by_chance(claimed)}; {_after(again, brief)}"
    yield numbers.filled(f"A repetition gives {what} the same sign: {said} ({by}).{of_claims}")


def _after(again: Repetition, brief: bool) -> str:
    if brief:
        return "after the fact"
    return f"after the fact, 90 % intervals; {again.studies:,} studies in worlds fitted to this table: {again.world}"


def _checked(found: Conclusion) -> Iterator[str]:
    """Say what studies like this one claim where there is nothing to claim."""
    if (held := found.control) is None:
        return
    some = numbers.percent(held.some_claim, held.some_claim_mcse)
    plain = numbers.percent(held.uncorrected, held.uncorrected_mcse)
    said = f"uncorrected {numbers.uncorrected(found.question)}: in {plain}"
    if held.watched is not None:
        said += f", watched through 300 looks: in {numbers.percent(held.watched, held.watched_mcse or math.nan)}"
    what = f"some claim in {some}"
    if held.best_excluded is not None:
        excluded = numbers.percent(held.best_excluded, held.best_excluded_mcse or math.nan)
        what = f"one that is a best is excluded in {excluded}, at most"
    yield numbers.filled(
        f"Check: {held.studies:,} studies like this one, simulated with equal systems: {what} "
        f"(promised {numbers.share(held.promised)}); {said}."
    )
    if others := numbers.at_large(held):
        yield numbers.filled(others)
