"""Tell which segments of a document were shown, from the order in which a task shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Shown(NamedTuple):
    """Say what a login was shown: a segment of a system's document, as item `number` of their task.

    `mark` tells copies of an output from the output itself.
    """

    login: str
    system: str
    document: str
    mark: str
    number: int


_Run = tuple[str, str]


def placed(shown: Sequence[Shown]) -> list[int | None]:
    """Return the place of each segment in its document, from 0; None where it cannot be told.

    A task shows the segments of a document in their order. The largest number of segments that a login was shown of a
    document is taken for all that it has. A document that a task has no room for goes on in the next, in the order of
    logins; parts that do not add up to the whole cannot be placed.
    """
    runs = _runs(shown)
    size: dict[str, int] = {}
    for (document, _), parts in runs.items():
        size[document] = max([size.get(document, 0), *(len(numbers) for numbers in parts.values())])
    first = {output: _firsts(parts, size[output[0]]) for output, parts in runs.items()}
    places: list[int | None] = []
    for one in shown:
        output, run = (one.document, one.system), (one.login, one.mark)
        start = first[output].get(run)
        places.append(None if start is None else start + runs[output][run].index(one.number))
    return places


def _runs(shown: Sequence[Shown]) -> dict[tuple[str, str], dict[_Run, list[int]]]:
    """List the numbers of items, in order, by output (document, system), then by who was shown it (login, mark)."""
    runs: dict[tuple[str, str], dict[_Run, set[int]]] = {}
    for one in shown:
        output = runs.setdefault((one.document, one.system), {})
        output.setdefault((one.login, one.mark), set()).add(one.number)
    return {output: {run: sorted(parts[run]) for run in sorted(parts)} for output, parts in runs.items()}


def _firsts(parts: dict[_Run, list[int]], size: int) -> dict[_Run, int]:
    """Return the place of the first segment of each part that can be placed.

    Whole documents begin at the beginning; parts of the output itself follow each other; a part of a copy is placed
    where a part of the output is as long, and no other.
    """
    first = {run: 0 for run, numbers in parts.items() if len(numbers) == size}
    split = [run for run, numbers in parts.items() if len(numbers) < size and not run[1]]
    if sum(len(parts[run]) for run in split) == size:
        at = 0
        for run in split:
            first[run], at = at, at + len(parts[run])
    for run in parts.keys() - first.keys():
        alike = [first[one] for one in split if one in first and len(parts[one]) == len(parts[run])]
        if run[1] and len(alike) == 1:
            first[run] = alike[0]
    return first
