"""Name every screen by a code of its own that says nothing of its system, and lay the work out rating by rating."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

import numpy as np

from simlab.concluding.assigning.items import Control, Items
from simlab.concluding.assigning.seating import Seated
from simlab.rng import stream
from simlab.types import Ints

LETTERS = "bcdfghjkmnpqrstvwxz"
"""Without vowels no code is a word, without l none is a number."""
LENGTH = 6
REPEAT = "repeat"


class Shown(NamedTuple):
    """Hold a screen of somebody's work: an output of the study, once more (`again`), or a `control` item.

    `task` counts the tasks of a rater from 0; system and document are those of the frame (-1: of a control item).
    """

    rater: int
    task: int
    system: int
    document: int
    again: bool = False
    control: Control | None = None


class Line(NamedTuple):
    """Hold one rating that is to be given; `position` and `task` count from 1 for each rater.

    `slot` is its code. `segment` is the name of the segment, "" where the document is the unit; `number` counts it in
    its document, from 1. `control` says which ratings pass, `repeat`, or nothing.
    """

    position: int
    rater: str
    task: int
    document: str
    segment: str
    slot: str
    control: str
    source: str
    output: str
    system: str
    number: int

    @property
    def screen(self) -> str:
        """Return the code of the output that it is a segment of."""
        return self.slot.rpartition("-")[0]


def lines(work: Sequence[Shown], seated: Seated, items: Items, seed: int, study: str) -> list[Line]:
    """Lay out work, rater by rater and in its order; codes are drawn anew for each screen.

    `study` is the digest of the study: other studies, and other items, have other codes, so that no sheet is read by
    the key of another.
    """
    codes = _codes(len(work), seed, study, _digest(items))
    frame = seated.frame
    starts = np.searchsorted(frame.document, np.arange(frame.n_documents))
    found: list[Line] = []
    position: dict[int, int] = {}
    for one, code in zip(work, codes, strict=True):
        of_screen = _of_control(one.control) if one.control else _of_study(one, seated, items, starts)
        for number, (document, segment, control, source, output, system) in enumerate(of_screen, 1):
            position[one.rater] = position.get(one.rater, 0) + 1
            rater, slot = frame.rater_names[one.rater], f"{code}-{number}"
            at = (position[one.rater], rater, one.task + 1, document, segment, slot, control, source, output, system)
            found.append(Line(*at, number))
    return found


def _of_control(control: Control) -> list[tuple[str, str, str, str, str, str]]:
    parts = zip(control.segments, control.passes, control.sources, control.outputs, strict=True)
    return [
        (control.document, segment, passes.written(), source, output, "") for segment, passes, source, output in parts
    ]


def _of_study(one: Shown, seated: Seated, items: Items, starts: Ints) -> list[tuple[str, str, str, str, str, str]]:
    document, system = seated.frame.document_names[one.document], seated.frame.system_names[one.system]
    outputs, first = items.output[seated.system[one.system]], int(starts[one.document])
    kind = REPEAT if one.again else ""
    return [
        (document, segment, kind, items.source[first + k], outputs[first + k], system)
        for k, segment in enumerate(items.segments[one.document])
    ]


def _digest(items: Items) -> str:
    return sha256(repr((items.systems, items.documents, items.segments, items.output)).encode()).hexdigest()


def _codes(n: int, seed: int, study: str, items: str) -> list[str]:
    """Draw so many different codes, by random numbers that nothing else is drawn from."""
    rng = stream(seed, "assign", "codes", study, items)
    found: dict[str, None] = {}
    while len(found) < n:
        letters = rng.integers(len(LETTERS), size=(n, LENGTH))
        found |= dict.fromkeys("".join(LETTERS[k] for k in word) for word in letters.tolist())
    return list(found)[:n]
