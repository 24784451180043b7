"""Gather who rated what, flat, and number it in the order of names."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from simlab.messages import legible, natural, several
from simlab.tables.held import Alike, Controls
from simlab.tables.names import (
    Numbers,
    doubtful_names,
    places,
    ranked,
    refuse_alike,
    refuse_lists,
    refuse_many,
    spelling,
)
from simlab.types import InputError, Ints


def _ints() -> array[int]:
    return array("q")


@dataclass(frozen=True, slots=True)
class Gathered:
    """Collect ratings: `line[k]`, and the numbers of what was rated and by whom, in the order in which names come.

    An item is a number of a document and the name of a segment in it.
    """

    systems: Numbers = field(default_factory=Numbers)
    documents: Numbers = field(default_factory=Numbers)
    items: Numbers = field(default_factory=Numbers)
    raters: Numbers = field(default_factory=Numbers)
    system: array[int] = field(default_factory=_ints)
    item: array[int] = field(default_factory=_ints)
    rater: array[int] = field(default_factory=_ints)
    line: array[int] = field(default_factory=_ints)

    def add(
        self,
        lines: Iterable[int],
        systems: Iterable[str],
        documents: Iterable[str],
        segments: Iterable[str],
        raters: Iterable[str],
    ) -> None:
        """Add ratings, given by names."""
        self.line.extend(lines)
        self.system.extend(map(self.systems.__getitem__, systems))
        numbers = map(self.documents.__getitem__, documents)
        self.item.extend(map(self.items.__getitem__, zip(numbers, segments, strict=True)))
        self.rater.extend(map(self.raters.__getitem__, raters))


class Indexed(NamedTuple):
    """Hold indices of ratings by names in natural order; items are sorted by document, then by segment."""

    system: Ints
    item: Ints
    rater: Ints
    document: Ints
    system_names: tuple[str, ...]
    document_names: tuple[str, ...]
    item_names: tuple[str, ...]
    rater_names: tuple[str, ...]


def indexed(held: Gathered, where: str, path: Path | None = None, alike: Alike | None = None) -> Indexed:
    """Number names in natural order; raise InputError for names that are too many or too much alike.

    `path` is a table with a header, in which rows are looked up for that. `alike` as in `refuse_alike`.
    """
    refuse_lists(list(held.systems), lambda k: f"{where}, line {held.line[held.system.index(k)]}")
    for numbers, what in ((held.systems, "systems"), (held.documents, "documents"), (held.raters, "raters")):
        refuse_many(numbers, what, where)
        refuse_alike(numbers, what, where, path, alike)
    refuse_many(held.items, "segments", where)
    _refuse_alike_segments(held, where, path, alike)
    systems, system = ranked(held.systems)
    documents, document = ranked(held.documents)
    raters, rater = ranked(held.raters)
    items = list(held.items)
    of_item = document[[number for number, _ in items]].tolist()
    order = sorted(range(len(items)), key=lambda k: (of_item[k], natural(items[k][1])))
    return Indexed(
        system=system[_flat(held.system)],
        item=places(order)[_flat(held.item)],
        rater=rater[_flat(held.rater)],
        document=np.array([of_item[k] for k in order], np.int64),
        system_names=systems,
        document_names=documents,
        item_names=tuple(items[k][1] for k in order),
        rater_names=raters,
    )


def _flat(numbers: array[int]) -> Ints:
    return np.frombuffer(numbers, np.int64)


def _refuse_alike_segments(held: Gathered, where: str, path: Path | None, alike: Alike | None) -> None:
    seen: dict[tuple[int, str], str] = {}
    for document, segment in held.items:
        other = seen.setdefault((document, spelling(segment)), segment)
        if other != segment:
            refuse_alike((other, segment), "segments", where, path, alike)


def repeats(found: Indexed) -> Ints:
    """List the ratings, in order, that repeat an earlier one: the same system, item and rater."""
    key = (found.system * len(found.item_names) + found.item) * len(found.rater_names) + found.rater
    order = np.argsort(key, kind="stable")
    return np.sort(order[1:][np.diff(key[order]) == 0])


def repeat_groups(held: Gathered, found: Indexed) -> list[list[int]]:
    """Group the lines of ratings of the same system, item and rater, where there are several."""
    twice = repeats(found)
    if not len(twice):
        return []
    key = (found.system * len(found.item_names) + found.item) * len(found.rater_names) + found.rater
    groups: dict[int, list[int]] = {number: [] for number in key[twice].tolist()}
    for k in np.flatnonzero(np.isin(key, key[twice])).tolist():
        groups[int(key[k])].append(held.line[k])
    return list(groups.values())


def chosen(held: Gathered, found: Indexed, kept: Ints) -> tuple[Gathered, Indexed]:
    """Keep some ratings; names stay."""
    system, item, rater, line = (
        array("q", np.array(numbers, np.int64)[kept].tolist())
        for numbers in (held.system, held.item, held.rater, held.line)
    )
    index = {name: getattr(found, name)[kept] for name in ("system", "item", "rater")}
    return replace(held, system=system, item=item, rater=rater, line=line), found._replace(**index)


def notes_on_names(held: Gathered) -> Iterator[str]:
    """Say which names may stand for a gap."""
    for what, names in (("system", held.systems), ("document", held.documents), ("rater", held.raters)):
        yield from doubtful_names(names, what)


def rated(found: Indexed, k: int, *, rater_known: bool) -> str:
    """Say in words who rated what."""
    item = int(found.item[k])
    document, segment = found.document_names[found.document[item]], found.item_names[item]
    output = f"{found.system_names[found.system[k]]} on "
    output += f"segment {segment} of {document}" if segment != document else f"document {document}"
    return f"{found.rater_names[found.rater[k]]} rated {output}" if rater_known else f"{output} is rated"


def without_repeats(found: Indexed) -> tuple[Indexed, Ints]:
    """Keep the first rating that a rater gave to an output, and list those that are kept."""
    kept = np.setdiff1d(np.arange(len(found.system)), repeats(found), assume_unique=True)
    return found._replace(system=found.system[kept], item=found.item[kept], rater=found.rater[kept]), kept


def left_out(n: int) -> tuple[str, ...]:
    """Say how many repeated ratings were left out; nothing of none."""
    return (
        (f"left out: {several(n, 'rating')} of outputs that the same person had rated; the first row counts",)
        if n
        else ()
    )


def controls(met: Sequence[tuple[str, bool]], who: Mapping[str, str], found: Indexed, rule: str) -> Controls | None:
    """Number who met a control item and failed it: `met` are logins, `who` says which person each is; None: no items.

    What was met by somebody without any rating is left out.
    """
    rater = {name: k for k, name in enumerate(found.rater_names)}
    known = [(rater[who[login]], failed) for login, failed in met if who.get(login) in rater]
    if not known:
        return None
    return Controls(np.array([k for k, _ in known], np.int64), np.array([failed for _, failed in known]), rule)


def refuse_repeats(
    held: Gathered, found: Indexed, where: str, differing: Callable[[int, int], str], *, rater_known: bool
) -> None:
    """Raise InputError naming both lines where a rating is there twice; `differing` says in what these differ."""
    twice = repeats(found)
    if not len(twice):
        return
    k = int(twice[0])
    same = (found.system == found.system[k]) & (found.item == found.item[k]) & (found.rater == found.rater[k])
    first = held.line[int(np.flatnonzero(same)[0])]
    item = int(found.item[k])
    document, segment = found.document_names[found.document[item]], found.item_names[item]
    output = f"{found.system_names[found.system[k]]} on "
    output += f"segment {segment} of {document}" if segment != document else f"document {document}"
    twice_said = differing(first, held.line[k])
    if rater_known:
        said = legible(f"{found.rater_names[found.rater[k]]} rated {output}", 200)
        raise InputError(
            f"{where}, line {held.line[k]}: {said} before, on line {first}; {twice_said}; keep one of the two"
        )
    raise InputError(
        f"{where}, line {held.line[k]}: {legible(output, 200)} has a score before, on line {first}; {twice_said}; keep "
        "one of the two, or name in a column rater who answered (simlab conclude averages answers of people who are "
        "not known)"
    )


def renamed(held: Gathered, people: Sequence[str]) -> Gathered:
    """Put people in the place of raters: `people[number]` is who the rater of that number is."""
    names = Numbers()
    number = [names[person] for person in people]
    return replace(held, raters=names, rater=array("q", (number[rater] for rater in held.rater)))
