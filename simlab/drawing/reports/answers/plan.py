"""Report which study a plan advises to buy, which designs rival it, and what would change the advice.

Call `report` with the answer of `simlab plan`, which returns a `Report` of text, tables and charts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from simlab.answers.plan import ACCOUNTS, PlanAnswer, StudyPlan
from simlab.drawing.reports import references
from simlab.drawing.reports.answers import plan_tables
from simlab.drawing.reports.terms import Block, Points, Prose, Report, Section, Value
from simlab.drawing.text import paragraphs, plan_designs, plan_paragraphs, plan_words
from simlab.drawing.text.references import METHODS
from simlab.drawing.text.tables import number
from simlab.messages import pluralise

SIMULATED = ("Card et al. 2020", "Morris et al. 2019", "Riley et al. 2024")
"""References that every plan rests on."""
MOST_CHANGES = 3
"""Changes of the advice that stand among the reservations; their section has all."""
_CHECKS = re.compile(r"\b(\d{1,6}) of (\d{1,6}) checks against the pilot passed")


def report(answer: PlanAnswer | StudyPlan, study: Mapping[str, Any] | None = None) -> Report:
    """Make the report of an answer of `simlab plan`.

    `study` is the config of its composed study; None where that is not at hand.
    """
    plan = answer.plan if isinstance(answer, PlanAnswer) else answer
    return Report(
        "Plan",
        _question(plan),
        tuple(filter(None, _answer(plan))),
        tuple(_sections(plan, study or {})),
        figures=tuple(_key_figures(plan)),
        held_fixed=(f"documents like these, {'and no other raters' if plan.these_raters else 'raters like these'}",),
        reservations=tuple(_reservations(plan)),
        references=references.list_references([*_list_references(plan, study or _settings(plan)), references.SIMLAB]),
        paragraph=" ".join(plan_paragraphs.list_forecast_sentences(plan)),
        provenance={"study": plan.digest} if plan.digest else {},
    )


def _question(plan: StudyPlan) -> str:
    """Ask what a plan answers; why a difference is the smallest that matters is written elsewhere."""
    plain = plan.model_copy(update={"smallest": plan.smallest.model_copy(update={"why": ""})})
    return f"Which is the cheapest study that is to {plan_words.targets(plain)}?"


def _answer(plan: StudyPlan) -> Iterator[str]:
    """Write what to buy, what it will find and cost, and what that hangs on."""
    yield plan_words.headline(plan)
    if plan.open is not None:
        yield "More patience decides: the same command with a larger --at-most goes on where this one ended."
    elif not plan.reached:
        yield f"{plan_words.describe_missed_targets(plan)} {plan_words.remedies(plan)}".strip()
    yield plan_words.takes(plan)
    yield plan_words.describe_findings(plan)
    yield f"{plan_words.few_raters(plan)} {plan_words.describe_binding_limit(plan)}".strip()


def _key_figures(plan: StudyPlan) -> Iterator[Value]:
    """Return how often the targets are met, what the study takes, and how sure the choice is."""
    for target in plan.targets:
        if target.measure in plan.figures:
            label = f"{plan_words.heading(target.measure)} (wanted: {number(target.least, 2)})"
            yield plan_tables.share(plan.figures[target.measure], label)
    units = {"money": plan.limits.currency or "", "hours": "hours", "days": "days"}
    for name, unit in units.items():
        if name in plan.figures:
            label = "it takes" if name != "money" else "it costs" if unit else "money that it costs"
            yield plan_tables.amount(plan.figures[name], label, unit)
    if plan.reached and math.isfinite(plan.cheapest):
        of = pluralise(plan.designs, "design")
        yield Value(plan.cheapest, label=f"probability that none of {of} is 5 % cheaper")


def _reservations(plan: StudyPlan) -> Iterator[str]:
    """Write the reservations on a plan, beside those that its first sentences are about."""
    if plan.open is not None:
        yield f"open: {plan.ended or 'patience ended'} before fresh worlds showed the targets"
    if plan.reached and plan.cheapest < plan.confidence:
        yield f"that no other design is 5 % cheaper is known with probability {number(plan.cheapest, 2)} only"
    if (match := _CHECKS.search(plan.world)) and int(match[1]) < int(match[2]):
        yield f"the world does not fit its pilot in all: {match[1]} of {match[2]} checks passed"
    if plan.assumed:
        yield f"assumed, not measured: {', '.join(plan.assumed)}"
    if plan.scenarios is not None and plan.scenarios.share < plan.confidence:
        yield f"not all scenarios reach the targets: {number(plan.scenarios.share, 2)} of them do"
    plausible = [flip for flip in plan.flips if flip.plausible[0] <= flip.at <= flip.plausible[1]]
    for flip in plausible[:MOST_CHANGES]:
        yield (
            f"within what is plausible the advice changes: if {flip.said}, "
            f"{plan_words.describe_next_advice(flip, plan)}"
        )
    if (more := len(plausible) - MOST_CHANGES) > 0:
        yield f"{pluralise(more, 'other assumption')} would change it within what is plausible, too"


def _list_references(plan: StudyPlan, study: Mapping[str, Any]) -> list[str]:
    """Name the references of what a plan and its study rest on."""
    return sorted({*SIMULATED, *(key for name in paragraphs.list_methods(study) for key in METHODS[name].cites)})


def _settings(plan: StudyPlan) -> dict[str, Any]:
    """Return as much of a study's config as its plan says."""
    config: dict[str, Any] = {}
    for key, value in plan.settings:
        section, _, name = key.partition(".")
        config.setdefault(section, {})[name] = {"_target_": value} if isinstance(value, str) else value
    return config


def _sections(plan: StudyPlan, study: Mapping[str, Any]) -> Iterator[Section]:
    """Show what the plan rests on, designs beside each other, what would change the advice, and what people do."""
    yield Section("What this plan rests on", (Points(tuple(plan_words.head(plan, study))),))
    yield _designs(plan)
    title = "This advice changes if" if plan.reached else "Another design is the best if"
    if plan.flips:
        yield Section(title, (Points(tuple(plan_words.change(flip, plan) for flip in plan.flips)),))
    if others := tuple(filter(None, _describe_other_worlds(plan))):
        yield Section("With other money, and in other worlds", (Points(others),))
    if plan.loads is not None:
        yield Section("What people do", (Prose(plan_words.work(plan)),))
    if (chart := plan_tables.front(plan)) is not None:
        note = "Chosen marks are on the front: none that was looked at while searching costs less and gives more."
        yield Section("What was looked at", (chart, Prose(note)), light=True)
    if more := plan_tables.other_measures(plan):
        yield Section("Other measures", _measures(plan, more), light=True)


def _describe_other_worlds(plan: StudyPlan) -> Iterator[str]:
    """Write what other amounts of money and other worlds change; the share of the pilot's worlds stands at the top."""
    yield plan_words.other_money(plan)
    if plan.robust is not None:
        yield from plan_words.describe_other_worlds(plan.robust, plan)
    if plan.scenarios is not None:
        yield plan_words.describe_reach_in_other_worlds(plan.scenarios)
        yield from plan_words.describe_other_worlds(plan.scenarios, plan)


def _designs(plan: StudyPlan) -> Section:
    """Show the advice, its rivals at equal cost and the most that the limits allow, and how they differ."""
    notes = (_describe_worlds(plan), _times(plan), plan_words.describe_rival_rows(plan))
    accounts = [name for name in ACCOUNTS if name in plan.figures]
    return Section("Designs", _measures(plan, plan_tables.page_measures(plan), accounts, tuple(filter(None, notes))))


def _measures(
    plan: StudyPlan, names: Sequence[str], accounts: Sequence[str] = (), notes: tuple[str, ...] = ()
) -> tuple[Block, ...]:
    """Show measures of designs, what these are, and their paired differences to the design."""
    meanings = "; ".join(plan_words.meaning(name, plan) for name in names)
    points = Points((*([f"{meanings}."] if names else []), *notes))
    return plan_tables.designs(plan, names, accounts), points, *plan_tables.differences(plan, names)


def _describe_worlds(plan: StudyPlan) -> str:
    """Write which worlds the rows met, and what stands behind their numbers."""
    worlds, studies = (
        max((getattr(figure, name) for figure in plan.figures.values()), default=0) for name in ("worlds", "studies")
    )
    who = "All rows met" if plan.runners else "This design met"
    each = f" ({studies:,} studies)" if studies > worlds else ""
    errors = "±: Monte-Carlo standard error; ≥, ≤: 95 % bounds where nothing varied"
    return f"{who} the same {pluralise(worlds, 'world')}{each}, new to the search; {errors}."


def _times(plan: StudyPlan) -> str:
    """Explain a times sign between numbers of documents and ratings, where one stands."""
    for row in plan.runners:
        size = plan_designs.shorten_design(row.design, plan.design).rpartition(", ")[2]
        if " x " in size:
            return f"{size}: {plan_designs.describe_size(row.design)}."
    return ""
