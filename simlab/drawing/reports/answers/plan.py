"""Report which study to buy, beside what, and what would change that, from what `simlab plan --save` kept."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from simlab.drawing.reports import references
from simlab.drawing.reports.answers import plan_reading, plan_tables, reading
from simlab.drawing.reports.answers.plan_reading import Changed, Kept
from simlab.drawing.reports.answers.plan_tables import amount, share
from simlab.drawing.reports.terms import Block, Points, Prose, Report, Section, Value
from simlab.drawing.text import paragraphs, plan_designs, plan_paragraphs, plan_words, plans
from simlab.drawing.text.references import METHODS
from simlab.drawing.text.tables import number
from simlab.messages import several
from simlab.planning.answered import Answer
from simlab.planning.figures import first_target
from simlab.planning.terms import Robust

SIMULATED = ("Card et al. 2020", "Morris et al. 2019", "Riley et al. 2024")
"""What every plan rests on."""
MOST_CHANGES = 3
"""So many of what changes an advice are reservations; the table has all."""
_CHECKS = re.compile(r"\b(\d{1,6}) of (\d{1,6}) checks against the pilot passed")


def report(saved: Mapping[str, Any]) -> Report:
    """Make the report of an answer of `simlab plan`; raise InputError for what is none."""
    kept = plan_reading.plan(saved.get("answer"))
    return of(kept, dict(saved), (reading.command(saved),), reading.provenance(saved))


def of(kept: Kept, data: Any, reproduce: Sequence[str], provenance: Mapping[str, str], paragraph: str = "") -> Report:
    """Make the report of a plan; `data` is what programs read beside it, `paragraph` the one that stands in a folder.

    Without one it is made of what was simulated.
    """
    answer = kept.answer
    return Report(
        "Plan",
        question(answer),
        tuple(sentences(answer)),
        tuple(sections(kept)),
        data,
        tuple(large(answer)),
        tuple(held_fixed(answer)),
        tuple(reservations(kept)),
        tuple(reproduce),
        references.cited([*cited(answer), references.SIMLAB]),
        paragraph or " ".join(plan_paragraphs.foreseen(answer)),
        {**provenance, **({"study": kept.digest} if kept.digest else {})},
    )


def question(answer: Answer) -> str:
    """Ask what a plan answers; why a difference is the smallest that matters is said elsewhere."""
    wanted = answer.wanted
    asked = replace(wanted, smallest=wanted.smallest._replace(why=""))
    return f"Which is the cheapest study that is to {plan_words.targets(asked)}?"


def sentences(answer: Answer) -> Iterator[str]:
    """Say what to buy, what it will find and cost, and what that hangs on."""
    yield f"{plans.headline(answer)}."
    if not answer.reached and answer.open is None:
        yield from filter(None, (plan_words.missed(answer), _remedies(answer)))
    if any(name in answer.advice.figures for name in plan_paragraphs.FORESEEN):
        shares = plan_paragraphs.shares(answer, answer.advice.figures)
        yield f"In {several(answer.worlds, 'world')} that the choice had not seen, {shares}."
    power_at = answer.advice.figures.get("power_at")
    smallest = plan_words.smallest(answer.wanted)
    at_smallest = f"Of differences of exactly {smallest} it finds {plan_words.share(power_at)}." if power_at else ""
    takes, few = plan_paragraphs.takes(answer, answer.advice.figures), plans.few_raters(answer)
    yield from filter(None, (at_smallest, takes, few, plan_words.binding(answer)))


def _remedies(answer: Answer) -> str:
    known = all(math.isfinite(one.money) for one in answer.remedies if one.what == "documents")
    return plan_words.remedies(answer) if known else ""


def large(answer: Answer) -> Iterator[Value]:
    """Return how often the targets are met, what the study takes, and how sure the choice is."""
    held, wanted = answer.advice.figures, answer.wanted
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


def held_fixed(answer: Answer) -> Iterator[str]:
    """Say what worlds, people and limits a plan takes as given."""
    ground, wanted = answer.ground, answer.wanted
    yield f"the world: {ground.world}" + (f"; pilot: {ground.read}" if ground.read else "")
    people = "these raters, and no others" if ground.these_raters else "raters like these"
    yield f"documents like these; {people}"
    yield f"the smallest difference that matters: {plan_words.smallest(wanted)} ({wanted.smallest.why})"
    yield (
        plan_words.limits(wanted, ground.raters) if ground.raters else plan_words.limits(wanted, 0).rpartition(";")[0]
    )


def reservations(kept: Kept) -> Iterator[str]:
    """Say what is to be held against a plan."""
    answer = kept.answer
    if answer.open is not None:
        yield f"open: {answer.why or 'patience ended'} before fresh worlds showed the targets"
    elif not answer.reached:
        yield "nothing within the limits reaches the targets: this is the best there is"
    if answer.reached and answer.cheapest < answer.wanted.confidence:
        yield f"that no other design is 5 % cheaper is known with probability {number(answer.cheapest, 2)} only"
    yield from _of_world(answer)
    yield from (_unlike(one, answer) for one in (answer.robust, answer.scenarios) if one and _doubted(one, answer))
    plausible = [one for one in kept.changes if one.plausible[0] <= one.at <= one.plausible[1]]
    yield from (_plausible(one, answer) for one in plausible[:MOST_CHANGES])
    if (more := len(plausible) - MOST_CHANGES) > 0:
        yield f"{several(more, 'other assumption')} would change it within what is plausible, too: see the table"


def _of_world(answer: Answer) -> Iterator[str]:
    ground = answer.ground
    if (found := _CHECKS.search(ground.world)) and int(found[1]) < int(found[2]):
        yield f"the world does not fit its pilot in all: {found[1]} of {found[2]} checks passed"
    if ground.assumed:
        yield f"assumed, not measured: {', '.join(ground.assumed)}"
    if ground.these_raters:
        yield "the raters are too few to speak of others: what such a study finds holds for them"


def _doubted(held: Robust, answer: Answer) -> bool:
    return held.share < answer.wanted.confidence


def _unlike(held: Robust, answer: Answer) -> str:
    span = f" ({number(held.low, 2)} to {number(held.high, 2)})" if math.isfinite(held.low + held.high) else ""
    return f"the targets are reached in a share of {number(held.share, 2)}{span} of {held.draws:,} {held.source}"


def _plausible(one: Changed, answer: Answer) -> str:
    return f"within what is plausible the advice changes: if {one.said}, {plan_tables.then(one, answer)}"


def cited(answer: Answer) -> list[str]:
    """Name the references of what a plan and its study rest on."""
    names = paragraphs.methods_of(answer.config)
    return sorted({*SIMULATED, *(key for name in names for key in METHODS[name].cites)})


def sections(kept: Kept) -> list[Section]:
    """Show designs beside each other, all that was looked at, what would change the advice, and what people do."""
    answer = kept.answer
    parts = (_designs(answer), _looked_at(answer), _changes(kept), _reach(answer), _people(answer))
    return [Section(heading, blocks) for heading, blocks in parts if blocks]


Part = tuple[str, tuple[Block, ...]]


def _designs(answer: Answer) -> Part:
    notes = Points((*plan_tables.meanings(answer), f"± {_errors(answer)}"))
    paired = plan_tables.differences(answer)
    better = plans.outdone(answer)[0]
    said = Prose(
        "Paired differences: all designs met the same worlds, so that these are known better than each alone."
        + (f" {better}" if better else "")
    )
    return "Designs", (plan_tables.designs(answer), notes, *((said, paired) if paired else ()))


def _errors(answer: Answer) -> str:
    worlds = several(answer.worlds, "world")
    return f"Monte-Carlo standard errors over {worlds} new to the search; ≥, ≤: 95 % bounds where nothing varied"


def _looked_at(answer: Answer) -> Part:
    chart = plan_tables.front(answer)
    told = (
        f"{several(answer.designs, 'design')} and {answer.campaigns:,} simulated studies (seed {answer.wanted.seed})."
    )
    note = Prose(f"While searching: {told} Chosen marks are on the front: none that was looked at costs less and gives "
                 "more.")  # fmt: skip
    return "What was looked at", (chart, note) if chart else ()


def _changes(kept: Kept) -> Part:
    answer = kept.answer
    said = [plan_words.other_money(answer)] if _money_known(answer) else []
    said += [text for one in (answer.robust, answer.scenarios) if one for text in _held(one, answer)]
    changed = plan_tables.changes(kept)
    points = (Points(tuple(filter(None, said))),) if any(said) else ()
    return "What would change this advice", (*((changed,) if changed else ()), *points)


def _money_known(answer: Answer) -> bool:
    return all(math.isfinite(one.money) for one in answer.other_money)


def _held(held: Robust, answer: Answer) -> Iterator[str]:
    said = _unlike(held, answer)
    yield f"{said[:1].upper()}{said[1:]}."
    if math.isfinite(held.q05):
        measure = plan_words.heading(first_target(answer.wanted).measure)
        yield f"In 95 % of them, {measure} is {number(held.q05, 2)} or more."
    if math.isfinite(held.regret + held.regret_low + held.regret_high):
        span = f"{100 * held.regret_low:.0f} to {100 * held.regret_high:.0f} %"
        yield f"It costs {100 * held.regret:.0f} % ({span}) more there than the best design for each."
    yield from filter(None, [held.more])


def _reach(answer: Answer) -> Part:
    """Show what would reach targets that are missed, and the design's figures for raters that were not asked."""
    found = [table for table in (plan_tables.missed(answer), plan_tables.remedies(answer)) if table]
    others = plan_tables.anew(answer)
    heading = "What would reach the targets" if found else "For raters who were not asked"
    return heading, (*found, *((others,) if others else ()))


def _people(answer: Answer) -> Part:
    if answer.loads is None:
        return "What people do", ()
    carried = plan_designs.sentence(answer.advice.design, answer.config, answer.ground.systems)
    return "What people do", (Prose(f"{carried}."), plan_tables.loads(answer.loads))
