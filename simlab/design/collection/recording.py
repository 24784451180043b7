"""Work out, for all that people did at once, when each answer was begun and ended: the log of a campaign."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from simlab.design.collection.floor import Floor, Rules, Stint
from simlab.design.collection.people import Person
from simlab.design.collection.piles import Piles
from simlab.design.collection.shifts import SLACK, Shifts, moments
from simlab.types import CONTROL, DROPPED_OUT, EXCLUDED, FAILED_CONTROLS, HANDED_IN, Bools, Floats, Ints, Log

SECONDS = 3600.0


class Entries(NamedTuple):
    """Hold what people worked at, one entry per answer or control item; the efforts at which each begins and ends."""

    task: Ints
    part: Ints
    person: Ints
    begins: Floats
    ends: Floats
    lost: Bools
    failed: Bools


def log_of(
    rng: np.random.Generator, floor: Floor, people: Sequence[Person], piles: Piles, *, deadline: float | None
) -> Log:
    """Lay out each stint: the answers that were given, the one that its person left amid, the control items."""
    rules = floor.rules
    entries = _entries(floor.stints, people, piles, rules)
    offset = np.array([one.offset for one in people])[entries.person]
    began, before, rested, ended, worked = _times(rules.shifts, entries)
    lapsed = rng.random(len(began)) < rules.lapse_rate + rules.lapse_per_hour * rested
    why = np.array([one.why for one in people])
    void = why[entries.person] == FAILED_CONTROLS
    ended += offset
    order = np.argsort(ended, kind="stable")
    if deadline is not None:
        order = order[: np.searchsorted(ended[order], deadline, side="right")]
    return Log(
        task=entries.task[order],
        part=entries.part[order],
        person=entries.person[order],
        began=(began + offset)[order],
        ended=ended[order],
        seconds=SECONDS * np.maximum(worked - before, 0.0)[order],
        on_task=rested[order],
        lapsed=np.where(entries.task == CONTROL, entries.failed, lapsed)[order],
        fate=np.where(entries.lost, DROPPED_OUT, np.where(void, EXCLUDED, HANDED_IN))[order],
        seat=np.array([one.seat for one in people]),
        arrived=np.array([one.arrives for one in people]),
        left=np.array([one.left for one in people]),
        why=why,
        stopped=floor.stopped,
    )


def _times(shifts: Shifts, entries: Entries) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Say of each entry when it was begun (hour, work before, hours since a rest), and when it ended (hour, work)."""
    ended, worked, rested = moments(shifts, entries.ends, ends=True)
    # An answer begins when the one before it ends, unless that was the last before a rest, or somebody else's.
    at_rest = (rested >= shifts.block * (1 - SLACK)) | (np.abs(rested - shifts.last) <= shifts.block * SLACK)
    anew = np.concatenate([[True], (entries.begins[1:] != entries.ends[:-1]) | at_rest[:-1]])[: len(ended)]
    began, before, since = (np.concatenate([[0.0], column[:-1]])[: len(ended)] for column in (ended, worked, rested))
    began[anew], before[anew], since[anew] = moments(shifts, entries.begins[anew], ends=False)
    return began, before, since, ended, worked


def _entries(stints: Sequence[Stint], people: Sequence[Person], piles: Piles, rules: Rules) -> Entries:
    columns = np.array(stints, float).reshape(len(stints), len(Stint._fields)).T
    person, task, first, last, controls, failed = (columns[k].astype(np.int64) for k in (0, 1, 2, 3, 6, 7))
    effort, quits = columns[4:6]
    bounds, whole = np.array(piles.begins), piles.efforts()
    begin, end = bounds[task] + first, bounds[task] + last
    pace = np.array([one.pace for one in people])[person]
    # Who left once all was answered left no answer behind.
    amid = ~np.isnan(quits) & (end < bounds[task + 1])
    of, place = _spread(last - first + amid + controls)
    answers = (last - first)[of]
    lost = amid[of] & (place == answers)
    control = (place >= answers) & ~lost
    at = (begin[of] + place)[~control]
    begins, ends = np.empty(len(of)), np.empty(len(of))
    origin = (effort - pace * whole[begin])[of]
    begins[~control] = origin[~control] + pace[of][~control] * whole[at]
    ends[~control] = origin[~control] + pace[of][~control] * whole[at + 1]
    if control.any():
        nth, each = (place - answers)[control], pace[of][control] * rules.controls.takes
        begins[control] = (effort + pace * (whole[end] - whole[begin]))[of][control] + nth * each
        ends[control] = begins[control] + each
    ends[lost] = np.maximum(quits[of][lost], begins[lost])
    return Entries(
        np.where(control, CONTROL, task[of]),
        np.where(control, 0, first[of] + place),
        person[of],
        begins,
        ends,
        lost,
        control & (place - answers < failed[of]),
    )


def _spread(sizes: Ints) -> tuple[Ints, Ints]:
    """Number the entries of groups one after the other: which group each belongs to, and its place in it."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    return group, np.arange(len(group)) - (np.cumsum(sizes) - sizes)[group]
