"""Read from a table how long people worked: the time between the ends of their answers, login by login.

`take_times` returns `Times`. Gaps longer than a cut, in seconds, hold a pause: each counts as the cut.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from simlab.types import Floats, InputError, Ints

CUTS = (30.0, 300.0, 1800.0)
"""Where a gap between two answers is cut, in seconds: nobody can tell from a log whether somebody thought or had left,
and the total depends on it, so that it is shown at three cuts."""
CUT = 300.0
"""The cut that speeds are learnt under unless another is asked for, in seconds."""
MOST_SECONDS = 1e9
"""Longest gap, in seconds: it keeps sums finite where times are from no known century."""


def check_cut(cut: float) -> None:
    """Raise InputError for a cut that no gap could be held against."""
    if not 1 <= cut <= MOST_SECONDS:
        raise InputError(
            f"--cut {cut:g}: gaps are cut at 1 second or more; 300 is usual, 30 and 1800 are shown beside it"
        )


@dataclass(frozen=True, slots=True)
class Times:
    """Times of answers, flat: one entry per answer with a known time, login by login, in order.

    All that was handed in counts: control items, practice and repeated answers take time as well. `login[k]`;
    `person[login]` is an index of `person_names`; `gap[k]` are seconds since the answer before in that login had ended,
    as long as they were (`rule` "ends"; the first answer of a login has no entry), or what the table says that the
    answer took ("durations": it has no ends). `screen[k]` numbers answers that were given in a row about one output.
    """

    login: Ints
    person: Ints
    gap: Floats
    screen: Ints
    login_names: tuple[str, ...]
    person_names: tuple[str, ...]
    rule: Literal["ends", "durations"]

    def seconds(self, cut: float) -> Floats:
        """Return the time of each answer in seconds, gaps cut at `cut` seconds."""
        return np.minimum(self.gap, cut)

    def split_by_person(self, cut: float) -> dict[str, Floats]:
        """Return the times of each person's answers in seconds, gaps cut at `cut` seconds."""
        person, seconds = self.person[self.login], self.seconds(cut)
        parts = np.split(seconds[np.argsort(person, kind="stable")], np.cumsum(np.bincount(person))[:-1])
        return dict(zip(self.person_names, parts, strict=True))

    def hours(self, cut: float) -> float:
        """Return the hours of all people together, gaps cut at `cut` seconds."""
        return float(self.seconds(cut).sum()) / 3600


def take_times(
    logins: Sequence[str],
    ends: Iterable[float],
    seconds: Iterable[float],
    outputs: Sequence[Hashable],
    who: Mapping[str, str],
    order: Sequence[int] | None = None,
) -> Times | None:
    """Return times from ends, where most answers have one, else from durations; None where a table has neither.

    `logins`, `ends` and `seconds` (durations) and `outputs` have one entry per answer, NaN for what is not known; `who`
    and `order` are as in `take_gaps`.
    """
    ended = np.fromiter(ends, float, len(logins))
    if np.isfinite(ended).sum() * 2 > len(logins):
        return take_gaps(logins, ended, outputs, who, order)
    return take_durations(logins, seconds, outputs, who)


def take_gaps(
    logins: Sequence[str],
    ends: Iterable[float],
    outputs: Sequence[Hashable],
    who: Mapping[str, str],
    order: Sequence[int] | None = None,
) -> Times | None:
    """Return the time between two ends in a row within a login, as `Times`; None where no login has two ends.

    `who` says which person a login is (itself, where it does not say). Answers that ended at once are in the order of
    `order`, else in that of the table; NaN is an end that nobody knows.
    """
    ended = np.fromiter(ends, float, len(logins))
    number = np.unique(np.array(logins, str), return_inverse=True)[1]
    turn = np.arange(len(logins)) if order is None else np.asarray(order)
    in_order = np.lexsort((turn, ended, number))
    in_order = in_order[np.isfinite(ended[in_order])]
    same = np.diff(number[in_order]) == 0
    if not same.any():
        return None
    # Times of no known century may lie further apart than a float holds; the minimum cuts what overflows.
    with np.errstate(over="ignore"):
        gap = np.minimum(np.diff(ended[in_order])[same], MOST_SECONDS)
    return _times([(logins[k], outputs[k]) for k in in_order[1:][same].tolist()], gap, who, "ends")


def take_durations(
    logins: Sequence[str], seconds: Iterable[float], outputs: Sequence[Hashable], who: Mapping[str, str]
) -> Times | None:
    """Return the durations in a table, in its order, as `Times`; None where no answer took any time.

    Somebody who took no time for anything was not timed, and has no entry.
    """
    spent = np.fromiter(seconds, float, len(logins))
    timed = {logins[k] for k in np.flatnonzero(np.isfinite(spent) & (spent > 0)).tolist()}
    kept = [k for k in np.flatnonzero(np.isfinite(spent) & (spent >= 0)).tolist() if logins[k] in timed]
    if not kept:
        return None
    kept.sort(key=lambda k: logins[k])
    gap = np.minimum(spent[kept], MOST_SECONDS)
    return _times([(logins[k], outputs[k]) for k in kept], gap, who, "durations")


def _times(
    answers: Sequence[tuple[str, Hashable]], gap: Floats, who: Mapping[str, str], rule: Literal["ends", "durations"]
) -> Times:
    """Number logins, people and screens; entries come login by login."""
    logins = tuple(sorted({login for login, _ in answers}))
    people = tuple(sorted({who.get(login, login) for login in logins}))
    number = {login: k for k, login in enumerate(logins)}
    place = {name: k for k, name in enumerate(people)}
    new = np.array([True, *(first != second for first, second in pairwise(answers))])
    return Times(
        np.array([number[login] for login, _ in answers], np.int64),
        np.array([place[who.get(login, login)] for login in logins], np.int64),
        gap,
        np.cumsum(new) - 1,
        logins,
        people,
        rule,
    )
