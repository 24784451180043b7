"""Campaigns as a clock leaves them, written by hand: who worked at what, when, and what came of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from simlab.types import COMPARE, JUDGE, RATE, Collected, Frame, Log, Seen, SlotAssignment, Streams
from simlab.types.collection import DEADLINE, DROPPED_OUT, EXCLUDED, HANDED_IN

NAN = float("nan")
ANSWER = 0.5
"""Hours that an answer takes."""

# Task, part, person, begin, fate: two nights; rater 0 does tasks 0 and 1, a control item at the end; rater 1 leaves in
# task 2, which rater 2, who comes in place of them, does; rater 3 is excluded.
ENTRIES = (
    *((0, 0, 0, 0.0, HANDED_IN), (0, 1, 0, 0.5, HANDED_IN), (1, 0, 0, 7.75, HANDED_IN), (1, 1, 0, 24.25, HANDED_IN)),
    *((-1, 0, 0, 24.75, HANDED_IN), (2, 0, 1, 1.0, DROPPED_OUT)),
    *((2, 0, 2, 26.0, HANDED_IN), (2, 1, 2, 26.5, HANDED_IN)),
    *((3, 0, 3, 2.0, EXCLUDED), (3, 1, 3, 2.5, EXCLUDED)),
)
CONFIGS: dict[str, dict[str, Any]] = {
    question: {"question": question, "budget": {"deadline": "2d", "currency": "EUR"}}
    for question in (RATE, COMPARE, JUDGE)
}


def log() -> Log:
    """Return what happened; an answer begun at 7.75 takes half an hour and ends the next day."""
    task, part, person, began, fate = (np.array(column) for column in zip(*ENTRIES, strict=True))
    ended = began + ANSWER
    ended[2] = 24.25
    order = np.argsort(ended, kind="stable")
    n = len(ended)
    return Log(
        task=task[order],
        part=part[order],
        person=person[order],
        began=began[order],
        ended=ended[order],
        seconds=np.full(n, ANSWER * 3600),
        on_task=np.zeros(n),
        lapsed=np.zeros(n, bool),
        fate=fate[order],
        seat=np.array([0, 1, 1, 2]),
        arrived=np.array([0.0, 0.5, 25.0, 1.0]),
        left=np.array([NAN, 1.5, NAN, 3.0]),
        why=np.array([0, 1, 0, 2]),
        stopped=True,
    )


def collected(question: str = RATE, *, clock: bool = True) -> Collected:
    """Return the campaign with its log: two answers about each of three tasks came, two of task 3 are lost."""
    held, n_systems = log(), 3
    came = (held.task >= 0) & (held.fate == HANDED_IN)
    item = held.task[came]
    unit = np.where(question == RATE, held.part[came], held.task[came])
    frame = Frame(
        document=np.array([10, 11, 12, 13]) - 10,
        bucket=np.zeros(4, int),
        rater=np.zeros((n_systems, 4, 1), int),
        system_names=("A", "B", "C"),
        document_names=("w", "x", "y", "z"),
        rater_names=("ada", "bob", "bob (2)", "eve"),
        lower_is_better=False,
    )
    value = np.zeros(int(came.sum()))
    seen = Seen(unit, item, held.person[came], value, value.astype(int), at=held.ended[came])
    paid = {
        "ratings": 6,
        "cost": 12.5,
        "planned": 8,
        "lost": 2,
        "open": 0,
        "ended_by": DEADLINE,
        "hours": 5.0,
        "days": 2.0,
    }
    known = {"log": held} if clock else {}
    return Collected(frame, None, SlotAssignment(np.zeros((3, 4, 1), int)), seen, None, known, paid, Streams(1, ()))
