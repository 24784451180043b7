"""Compute the timeline of one campaign: each person's stretches of work and their fates, nights, and the end.

Call `timeline` with a campaign's config and its collected answers, which returns a `Timeline` in hours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simlab.studies.kinds import identify_kind
from simlab.studies.money import deadline_hours
from simlab.types import COMPARE, CONTROL, JUDGE, RATE, Bools, Collected, Floats, Frame, InputError, Ints, Log

CAME, LEFT_OFF, VOID, OF_CONTROL = 0, 1, 2, 3
"""Fates of a stretch of work: it counts; its person dropped out in the midst of a task; its person was excluded;
it was a control item. The first three are the fates of answers (`HANDED_IN`, `DROPPED_OUT`, `EXCLUDED`)."""

TOGETHER = 1 / 60
"""Hours (one minute) within which answers of a task that follow each other are one stretch."""
NIGHT = 4.0
"""Hours without anybody at work from which on they are a night or a weekend; less is a pause."""
ANSWERS = {RATE: "ratings", COMPARE: "comparisons", JUDGE: "judgements"}
THINGS = {RATE: "documents", COMPARE: "pairs of systems", JUDGE: "systems"}


@dataclass(frozen=True, slots=True)
class Timeline:
    """Timeline of one campaign, hours from the start on the calendar.

    Stretches of work are flat arrays: `row[k]` (of `people`), `begin[k]`, `end[k]`, `what[k]` (`CAME`, ...), `task[k]`,
    and `about[k]`, the name of what the task is about (empty where none of its answers came). People, in the order of
    `people`, have the number of a `seat`; they `arrived`, `left` (NaN: they stayed) and `why` (`STAYED`, `LEFT`, ...).
    In `nights` nobody worked. The campaign ended at the hour `stop`, and `ended_by` says why (`ALL_CAME`, `DECIDED`,
    ...; both codes are those of `simlab.types.collection`); `deadline` is None where there is none. `paid` is what
    `Collected.paid` holds; `answers` is the word for what people give, `things` for what `about` names.
    """

    people: Sequence[str]
    seat: Ints
    row: Ints
    begin: Floats
    end: Floats
    what: Ints
    task: Ints
    about: Sequence[str]
    arrived: Floats
    left: Floats
    why: Ints
    nights: Sequence[tuple[float, float]]
    deadline: float | None
    stop: float
    ended_by: int
    paid: Mapping[str, float]
    currency: str | None
    answers: str
    things: str


def timeline(config: Mapping[str, Any], collected: Collected) -> Timeline:
    """Lay out a campaign that was carried out on a clock; raise InputError for one without."""
    log = collected.known.get("log")
    if not isinstance(log, Log):
        raise InputError(
            "design.collection=none: this study has no clock, and nobody knows who worked when; run it with "
            "design.collection=experts, crowd or team"
        )
    order = np.lexsort((log.began, log.person))
    begin, end, whose = _list_stretches(log, order)
    what = np.where(log.task == CONTROL, OF_CONTROL, log.fate)[whose]
    first = _find_starts(log, whose, begin, end, what)
    stop = float(collected.paid["days"]) * 24
    # The argsort of an order is its inverse: from people to their rows.
    rows = np.argsort(np.lexsort((np.arange(len(log.seat)), log.seat)))
    last = np.append(first[1:], len(whose)) - 1
    task = log.task[whose][first]
    question = identify_kind(config).question
    named = _name_subjects(question, collected, log)
    return Timeline(
        people=_name_people(collected, len(log.seat), rows),
        seat=_order_rows(log.seat, rows),
        row=rows[log.person[whose][first]],
        begin=begin[first],
        end=end[last],
        what=what[first],
        task=task,
        about=[named.get(int(number), "") for number in task],
        arrived=_order_rows(log.arrived, rows),
        left=_order_rows(log.left, rows),
        why=_order_rows(log.why, rows),
        nights=nights(begin, end, stop),
        deadline=deadline_hours(config["budget"]),
        stop=stop,
        ended_by=int(collected.paid["ended_by"]),
        paid=collected.paid,
        currency=config["budget"].get("currency"),
        answers=ANSWERS.get(question, "answers"),
        things=THINGS.get(question, "what a task is about"),
    )


def nights(begin: Floats, end: Floats, stop: float) -> list[tuple[float, float]]:
    """List the (begin, end) of times without work of at least `NIGHT` hours, up to the end `stop` of a campaign.

    >>> nights(np.array([0.0, 3.0, 24.0]), np.array([4.0, 8.0, 30.0]), 48.0)
    [(8.0, 24.0), (30.0, 48.0)]
    """
    order = np.argsort(begin, kind="stable")
    # Who began earlier may still be at work after later ones have ended.
    busy = np.maximum.accumulate(np.append(0.0, end[order]))
    again = np.append(begin[order], stop)
    return [(float(a), float(b)) for a, b in zip(busy, again, strict=True) if b - a >= NIGHT]


def _list_stretches(log: Log, order: Ints) -> tuple[Floats, Floats, Ints]:
    """Return when people worked, begin and end `[stretch]`, and the entry of the log of each.

    An answer that began before a rest and ended after it took less than the time between: half of what it took is drawn
    on either side, since a log does not say how it was divided.
    """
    began, ended, hours = log.began[order], log.ended[order], log.seconds[order] / 3600
    across = ended - began > hours + TOGETHER
    half = hours[across] / 2
    begin = np.concatenate([began, ended[across] - half])
    end = np.concatenate([np.where(across, began + hours / 2, ended), ended[across]])
    whose = np.concatenate([order, order[across]])
    again = np.lexsort((begin, log.person[whose]))
    return begin[again], end[again], whose[again]


def _find_starts(log: Log, whose: Ints, begin: Floats, end: Floats, what: Ints) -> Ints:
    """Find where a stretch begins: with another person, task or fate, or after a rest."""
    fresh: Bools = np.ones(len(whose), bool)
    for column in (log.person[whose], log.task[whose], what):
        fresh[1:] &= column[1:] == column[:-1]
    fresh[1:] &= begin[1:] - end[:-1] <= TOGETHER
    return np.append(0, np.flatnonzero(~fresh[1:]) + 1) if len(whose) else np.empty(0, int)


def _name_subjects(question: str, collected: Collected, log: Log) -> dict[int, str]:
    """Return the subject of each task, from its answers that count: an answer is known by the hour when it came.

    Where answers say who gave them, by that, too: two people may hand in at the same time.
    """
    seen, came = collected.seen, np.flatnonzero((log.task != CONTROL) & (log.fate == CAME))
    if seen.at is None:
        return {}
    named = len(seen.rater) > 0 and bool((seen.rater >= 0).all())
    people = log.person[came] if named else np.zeros(len(came), int)
    tasks = dict(zip(zip(people.tolist(), log.ended[came].tolist(), strict=True), log.task[came].tolist(), strict=True))
    given = zip((seen.rater if named else np.zeros(len(seen.at), int)).tolist(), seen.at.tolist(), strict=True)
    subjects = {tasks.get(answer, CONTROL): k for k, answer in enumerate(given)}
    return {
        task: _name(question, collected.frame, int(seen.unit[k]), int(seen.item[k]))
        for task, k in subjects.items()
        if task != CONTROL
    }


def _name(question: str, frame: Frame, unit: int, item: int) -> str:
    """Name the subject of an answer: the document of a rating, the two systems of a comparison, a system judged."""
    if question == RATE:
        return str(int(frame.document[item]))
    if question == COMPARE:
        first, second = np.triu_indices(frame.n_systems, 1)
        return f"{frame.system_names[first[unit]]} : {frame.system_names[second[unit]]}"
    return frame.system_names[unit]


def _name_people(collected: Collected, n: int, rows: Ints) -> list[str]:
    """Name people in the order of their seats, those who came later below whom they replaced."""
    names = collected.frame.rater_names
    people = list(names) if len(names) == n else [f"person {k + 1}" for k in range(n)]
    return [people[k] for k in np.argsort(rows)]


def _order_rows(values: Any, rows: Ints) -> Any:
    return values[np.argsort(rows)]
