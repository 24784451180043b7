"""Report which study to buy, beside what, and what would change that, from what `simlab plan --save` kept."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from simlab.answers.plan import AdviceChange, PlanAnswer, Robust, StudyPlan
from simlab.drawing.reports import references
from simlab.drawing.reports.answers import plan_tables
from simlab.drawing.reports.answers.plan_tables import amount, share
from simlab.drawing.reports.terms import Block, Points, Prose, Report, Section, Value
from simlab.drawing.text import paragraphs, plan_designs, plan_paragraphs, plan_words, plans
from simlab.drawing.text.references import METHODS
from simlab.drawing.text.tables import number
from simlab.messages import several

SIMULATED = ("Card et al. 2020", "Morris et al. 2019", "Riley et al. 2024")
"""What every plan rests on."""
MOST_CHANGES = 3
"""So many of what changes an advice are reservations; the table has all."""
_CHECKS = re.compile(r"\b(\d{1,6}) of (\d{1,6}) checks against the pilot passed")


def report(found: PlanAnswer | StudyPlan, study: Mapping[str, Any] | None = None) -> Report:
    """Make the report of an answer of `simlab plan`; `study` is its composed study, where that is at hand."""
    answer = found.plan if isinstance(found, PlanAnswer) else found
    return Report(
        "Plan",
        question(answer),
        tuple(sentences(answer)),
        tuple(sections(answer)),
        figures=tuple(large(answer)),
        held_fixed=tuple(held_fixed(answer)),
        reservations=tuple(reservations(answer)),
        references=references.cited([*cited(answer, study), references.SIMLAB]),
        paragraph=" ".join(plan_paragraphs.foreseen(answer)),
        provenance={"study": answer.digest} if answer.digest else {},
    )


def question(answer: StudyPlan) -> str:
    """Ask what a plan answers; why a difference is the smallest that matters is said elsewhere."""
    asked = answer.model_copy(update={"smallest": answer.smallest.model_copy(update={"why": ""})})
    return f"Which is the cheapest study that is to {plan_words.targets(asked)}?"


def sentences(answer: StudyPlan) -> Iterator[str]:
    """Say what to buy, what it will find and cost, and what that hangs on."""
    yield f"{plans.headline(answer)}."
    if not answer.reached and answer.open is None:
        yield from filter(None, (plan_words.missed(answer), _remedies(answer)))
    if any(name in answer.figures for name in plan_paragraphs.FORESEEN):
        shares = plan_paragraphs.shares(answer, answer.figures)
        yield f"In {several(answer.worlds, 'world')} that the choice had not seen, {shares}."
    power_at = answer.figures.get("power_at")
    smallest = plan_words.smallest(answer)
    at_smallest = f"Of differences of exactly {smallest} it finds {plan_words.share(power_at)}." if power_at else ""
    takes, few = plan_paragraphs.takes(answer, answer.figures), plans.few_raters(answer)
    yield from filter(None, (at_smallest, takes, few, plan_words.binding(answer)))


def _remedies(answer: StudyPlan) -> str:
    known = all(math.isfinite(one.money) for one in answer.would_reach if one.what == "documents")
    return plan_words.remedies(answer) if known else ""


def large(answer: StudyPlan) -> Iterator[Value]:
    """Return how often the targets are met, what the study takes, and how sure the choice is."""
    held, wanted = answer.figures, answer
    for one in wanted.targets:
        if one.measure in held:
            label = f"{plan_words.heading(one.measure)} (wanted: {number(one.least, 2)})"
            yield share(held[one.measure], label)
    for name, unit in (("money", wanted.limits.currency or ""), ("hours", "hours"), ("days", "days")):
        if name in held:
            yield amount(
                held[name], ("it costs" if unit else "money that it costs") if name == "money" else "it takes", unit
            )
    if answer.reached and math.isfinite(answer.cheapest):
        of = several(answer.designs, "design")
        yield Value(answer.cheapest, label=f"probability that none of {of} is 5 % cheaper")


def held_fixed(answer: StudyPlan) -> Iterator[str]:
    """Say what worlds, people and limits a plan takes as given."""
    wanted = answer
    yield f"the world: {answer.world}" + (f"; pilot: {answer.pilot}" if answer.pilot else "")
    people = "these raters, and no others" if answer.these_raters else "raters like these"
    yield f"documents like these; {people}"
    yield f"the smallest difference that matters: {plan_words.smallest(wanted)} ({wanted.smallest.why})"
    yield (
        plan_words.limits(wanted, answer.raters) if answer.raters else plan_words.limits(wanted, 0).rpartition(";")[0]
    )


def reservations(answer: StudyPlan) -> Iterator[str]:
    """Say what is to be held against a plan."""
    if answer.open is not None:
        yield f"open: {answer.ended or 'patience ended'} before fresh worlds showed the targets"
    elif not answer.reached:
        yield "nothing within the limits reaches the targets: this is the best there is"
    if answer.reached and answer.cheapest < answer.confidence:
        yield f"that no other design is 5 % cheaper is known with probability {number(answer.cheapest, 2)} only"
    yield from _of_world(answer)
    yield from (_unlike(one, answer) for one in (answer.robust, answer.scenarios) if one and _doubted(one, answer))
    plausible = [one for one in answer.flips if one.plausible[0] <= one.at <= one.plausible[1]]
    yield from (_plausible(one, answer) for one in plausible[:MOST_CHANGES])
    if (more := len(plausible) - MOST_CHANGES) > 0:
        yield f"{several(more, 'other assumption')} would change it within what is plausible, too: see the table"


def _of_world(answer: StudyPlan) -> Iterator[str]:
    if (found := _CHECKS.search(answer.world)) and int(found[1]) < int(found[2]):
        yield f"the world does not fit its pilot in all: {found[1]} of {found[2]} checks passed"
    if answer.assumed:
        yield f"assumed, not measured: {', '.join(answer.assumed)}"
    if answer.these_raters:
        yield "the raters are too few to speak of others: what such a study finds holds for them"


def _doubted(held: Robust, answer: StudyPlan) -> bool:
    return held.share < answer.confidence


def _unlike(held: Robust, answer: StudyPlan) -> str:
    span = f" ({number(held.low, 2)} to {number(held.high, 2)})" if math.isfinite(held.low + held.high) else ""
    return f"the targets are reached in a share of {number(held.share, 2)}{span} of {held.draws:,} {held.source}"


def _plausible(one: AdviceChange, answer: StudyPlan) -> str:
    return f"within what is plausible the advice changes: if {one.said}, {plan_tables.then(one, answer)}"


def cited(answer: StudyPlan, study: Mapping[str, Any] | None) -> list[str]:
    """Name the references of what a plan and its study rest on."""
    names = paragraphs.methods_of(study or _config(answer))
    return sorted({*SIMULATED, *(key for name in names for key in METHODS[name].cites)})


def _config(answer: StudyPlan) -> dict[str, Any]:
    """Return as much of a study's config as its plan says."""
    config: dict[str, Any] = {}
    for key, value in answer.settings:
        section, _, name = key.partition(".")
        config.setdefault(section, {})[name] = {"_target_": value} if isinstance(value, str) else value
    return config


def sections(answer: StudyPlan) -> list[Section]:
    """Show designs beside each other, all that was looked at, what would change the advice, and what people do."""
    parts = (_designs(answer), _looked_at(answer), _changes(answer), _reach(answer), _people(answer))
    return [Section(heading, blocks) for heading, blocks in parts if blocks]


Part = tuple[str, tuple[Block, ...]]


def _designs(answer: StudyPlan) -> Part:
    notes = Points((*plan_tables.meanings(answer), f"± {_errors(answer)}"))
    paired = plan_tables.differences(answer)
    better = plans.outdone(answer)[0]
    said = Prose(
        "Paired differences: all designs met the same worlds, so that these are known better than each alone."
        + (f" {better}" if better else "")
    )
    return "Designs", (plan_tables.designs(answer), notes, *((said, paired) if paired else ()))


def _errors(answer: StudyPlan) -> str:
    worlds = several(answer.worlds, "world")
    return f"Monte-Carlo standard errors over {worlds} new to the search; ≥, ≤: 95 % bounds where nothing varied"


def _looked_at(answer: StudyPlan) -> Part:
    chart = plan_tables.front(answer)
    told = f"{several(answer.designs, 'design')} and {answer.campaigns:,} simulated studies (seed {answer.seed})."
    note = Prose(f"While searching: {told} Chosen marks are on the front: none that was looked at costs less and gives "
                 "more.")  # fmt: skip
    return "What was looked at", (chart, note) if chart else ()


def _changes(answer: StudyPlan) -> Part:
    said = [plan_words.other_money(answer)] if _money_known(answer) else []
    said += [text for one in (answer.robust, answer.scenarios) if one for text in _held(one, answer)]
    changed = plan_tables.changes(answer)
    points = (Points(tuple(filter(None, said))),) if any(said) else ()
    return "What would change this advice", (*((changed,) if changed else ()), *points)


def _money_known(answer: StudyPlan) -> bool:
    return all(math.isfinite(one.money) for one in answer.other_money)


def _held(held: Robust, answer: StudyPlan) -> Iterator[str]:
    said = _unlike(held, answer)
    yield f"{said[:1].upper()}{said[1:]}."
    if math.isfinite(held.q05):
        measure = plan_words.heading(answer.first_target.measure)
        yield f"In 95 % of them, {measure} is {number(held.q05, 2)} or more."
    if math.isfinite(held.regret + held.regret_low + held.regret_high):
        span = f"{100 * held.regret_low:.0f} to {100 * held.regret_high:.0f} %"
        yield f"It costs {100 * held.regret:.0f} % ({span}) more there than the best design for each."
    yield from filter(None, [held.more])


def _reach(answer: StudyPlan) -> Part:
    """Show what would reach targets that are missed, and the design's figures for raters that were not asked."""
    found = [table for table in (plan_tables.missed(answer), plan_tables.remedies(answer)) if table]
    others = plan_tables.anew(answer)
    heading = "What would reach the targets" if found else "For raters who were not asked"
    return heading, (*found, *((others,) if others else ()))


def _people(answer: StudyPlan) -> Part:
    if answer.loads is None:
        return "What people do", ()
    carried = plan_designs.sentence(answer.design, answer.settings, answer.systems)
    return "What people do", (Prose(f"{carried}."), plan_tables.loads(answer.loads))
