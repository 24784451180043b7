"""Number the systems, documents, segments and raters that a table names, and refuse names that look alike.

Readers fill a `RatingCollector` with names, row by row; `number_names` turns it into `Indexed`, with one entry per
rating and names in natural order. `find_repeats`, `drop_repeats` and `refuse_repeats` deal with two ratings of the same
output by the same rater.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from simlab.messages import clip, order_naturally, pluralise
from simlab.tables.opening import compare_rows
from simlab.tables.rating_table import Alike, ControlAnswers
from simlab.types import InputError, Ints

MOST_NAMES = 1_000_000
"""Most names of a kind: sorting more takes more memory than the ratings themselves."""
NO_NAMES = frozenset(("", "nan", "NaN", "NAN", "#N/A", "#n/a", "<NA>", "NaT")).union(
    ("#REF!", "#VALUE!", "#NAME?", "#DIV/0!", "#NUM!", "#NULL!", "#ERROR!")
)
"""Cells that programs write for a missing name; `Nan` is not one, since people have that name."""
_DOUBTFUL = frozenset(("na", "n/a", "none", "null", "missing", "unknown", "-", "--"))
"""Names, in lower case, that may stand for a gap; they are kept, and that is said."""
_NUMBER = re.compile(r"0*(\d+)(?:\.0*)?", re.ASCII)
_ONE_NAME = {"system_a": "system", "system_b": "system"}
_NAMED = ("system", "system_a", "system_b", "document", "segment", "item", "rater")
_LISTS = (re.compile(r"\s*[,;+&/|]\s*|\s+and\s+", re.IGNORECASE), re.compile(r"\s+"))
"""What sets names in a list apart."""
KEPT = "kept as a name"
"""Beginning of a note on a name that may stand for a gap."""


class Numbers(dict[Any, int]):
    """Dict from things to numbers, which numbers a new thing when it is looked up, from 0."""

    def __missing__(self, key: Any) -> int:
        self[key] = len(self)
        return self[key]


def sort_names(numbers: Numbers) -> tuple[tuple[str, ...], Ints]:
    """Return names in natural order, and the place of each by its number."""
    names = list(numbers)
    order = sorted(range(len(names)), key=lambda k: order_naturally(names[k]))
    return tuple(names[k] for k in order), places(order)


def places(order: list[int]) -> Ints:
    """Turn an order into places: `places[order[k]] = k`."""
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank


def spelling(name: str) -> str:
    r"""Write a name without blanks, capitals and invisible characters; numbers apart by blanks stay two.

    Full width, and an accent of its own behind a letter, are ways to write the same; 1, 1.0 and 01 are one number, and
    1.1 and 1.10 are two versions.

    >>> spelling("My System") == spelling("mysystem"), spelling("1 6") == spelling("16")
    (True, False)
    >>> spelling("An\u200ba") == spelling("Ana"), spelling("01") == spelling("1.0"), spelling("1.10") == spelling("1.1")
    (True, True, False)
    """
    if not name.isascii():
        name = unicodedata.normalize("NFC", "".join(map(_narrow, name)))
    # The zero byte keeps two numbers apart where all blanks go: 1 6 is not 16.
    text = "".join(re.sub(r"(?<=\d)\s+(?=\d)", "\0", name).split()).casefold()
    number = _NUMBER.fullmatch(text)
    return number[1] if number else text if text.isascii() else unicodedata.normalize("NFC", text)


def _narrow(letter: str) -> str:
    """Return a letter in its usual width, nothing for one that cannot be seen."""
    if unicodedata.category(letter) == "Cf" or 0xFE00 <= ord(letter) <= 0xFE0F:
        return ""
    # Of these forms only: NFKC of every letter would make one name of a raised 2 and a plain one.
    wide = unicodedata.decomposition(letter).startswith(("<wide>", "<narrow>", "<noBreak>"))
    return unicodedata.normalize("NFKC", letter) if wide else letter


def reveal(name: str) -> str:
    r"""Return a quoted name with invisible and non-ASCII characters as escapes.

    >>> reveal("Ana"), reveal("Jos\u00e9")
    ("'Ana'", "'Jos\\xe9'")
    """
    return clip(ascii(name), 60)


class Spellings:
    """Replace names that look alike by the one that comes first; `met` keeps the replaced ones."""

    def __init__(self) -> None:
        self._find_first: dict[tuple[str, str], str] = {}
        self.met: dict[tuple[str, str], str] = {}

    def spell(self, column: str, name: str) -> str:
        """Return the first spelling of a name in a column of names."""
        kind = _ONE_NAME.get(column, column)
        first = self._find_first.setdefault((kind, spelling(name)), name)
        if first != name:
            self.met.setdefault((kind, name), first)
        return first

    def rows(
        self, rows: Iterable[tuple[int, list[str]]], columns: Mapping[str, int]
    ) -> Iterator[tuple[int, list[str]]]:
        """Go through rows, whose `columns[ours]` are places of columns, with one spelling of each name."""
        places = [(name, columns[name]) for name in _NAMED if name in columns]
        pair = columns.get("pair")
        for line, row in rows:
            for name, at in places:
                if at < len(row) and row[at].strip():
                    row[at] = self.spell(name, row[at].strip())
            if pair is not None and pair < len(row):
                row[pair] = "|".join(self.spell("system", part.strip()) for part in row[pair].split("|"))
            yield line, row

    def remarks(self) -> Iterator[str]:
        """State which names were taken for one."""
        shown = [f"{kind} {reveal(name)} is {reveal(first)}" for (kind, name), first in self.met.items()]
        if shown:
            more = f", and {len(shown) - 6:,} more" if len(shown) > 6 else ""
            yield f"taken for one name (--alike merge): {', '.join(shown[:6])}{more}"


def doubtful_names(names: Iterable[str], what: str) -> Iterator[str]:
    """Yield a note on each name that may stand for a gap; `what` is the word for the named, such as rater.

    >>> list(doubtful_names(["Ana", "NA"], "rater"))
    ["kept as a name: the rater 'NA'; if it stands for a gap, take these rows out"]
    """
    for name in names:
        if name.lower() in _DOUBTFUL:
            yield f"{KEPT}: the {what} {name!r}; if it stands for a gap, take these rows out"


def refuse_lists(names: Sequence[str], where: Callable[[int], str]) -> None:
    """Raise InputError, beginning with `where(k)`, for the name of a system that lists the names of others.

    >>> refuse_lists(["A", "B", "my B"], str)
    """
    known = {spelling(name) for name in names}
    for k, name in enumerate(names):
        for apart in _LISTS:
            parts = dict.fromkeys(part for part in apart.split(name.strip()) if part)
            if len(parts) > 1 and all(spelling(part) in known for part in parts):
                others = clip(" and ".join(parts), 80)
                raise InputError(
                    f"{where(k)}: the system {clip(name, 60)!r} names several systems of this table, {others}; "
                    "write a row for each of them, or, if it is one system, call it otherwise"
                )


def refuse_alike(
    names: Iterable[str], what: str, where: str, path: Path | None = None, alike: Alike | None = None
) -> None:
    """Raise InputError for names that look alike, unless the user keeps them (`alike` is "keep").

    `what` is the word for the named, `alike` None means that the user has no such option. `path` is the table in which
    the rows with the names are compared, to report other differences.
    """
    if alike == "keep":
        return
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(spelling(name), name)
        if other != name:
            rows = "" if path is None else compare_rows(path, other, name)
            remedy = "write them alike" + (", or say --alike merge or --alike keep" if alike else "")
            raise InputError(f"{where}: the {what} {_difference(other, name)}{rows}; {remedy}")


def _difference(first: str, second: str) -> str:
    if "".join(first.split()).casefold() == "".join(second.split()).casefold():
        return f"{clip(repr(first), 60)} and {clip(repr(second), 60)} differ in case or blanks only"
    if first.isascii() and second.isascii():
        return f"{reveal(first)} and {reveal(second)} are one number, written in two ways"
    return f"{reveal(first)} and {reveal(second)} look alike: letters are encoded in two ways, or cannot be seen"


def refuse_many(numbers: Numbers, what: str, where: str) -> None:
    """Raise InputError for more than MOST_NAMES names; `what` is the word for the named."""
    if len(numbers) > MOST_NAMES:
        raise InputError(f"{where}: has more than {MOST_NAMES:,} {what}; check the columns of the table")


def _int_array() -> array[int]:
    return array("q")


@dataclass(frozen=True, slots=True)
class RatingCollector:
    """Ratings, row by row: `line[k]`, and numbers of system, item and rater, in the order in which names come.

    An item is a number of a document and the name of a segment in it.
    """

    systems: Numbers = field(default_factory=Numbers)
    documents: Numbers = field(default_factory=Numbers)
    items: Numbers = field(default_factory=Numbers)
    raters: Numbers = field(default_factory=Numbers)
    system: array[int] = field(default_factory=_int_array)
    item: array[int] = field(default_factory=_int_array)
    rater: array[int] = field(default_factory=_int_array)
    line: array[int] = field(default_factory=_int_array)

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
    """Indices of ratings by names in natural order; items are sorted by document, then by segment.

    `system[rating]`, `item[rating]` and `rater[rating]` are places in the lists of names, `document[item]` is that of
    an item's document.
    """

    system: Ints
    item: Ints
    rater: Ints
    document: Ints
    system_names: tuple[str, ...]
    document_names: tuple[str, ...]
    item_names: tuple[str, ...]
    rater_names: tuple[str, ...]


def number_names(
    collector: RatingCollector, where: str, path: Path | None = None, alike: Alike | None = None
) -> Indexed:
    """Number names in natural order; raise InputError for names that are too many or too much alike.

    `path` is a table with a header, in which rows are looked up for that. `alike` as in `refuse_alike`.
    """
    refuse_lists(list(collector.systems), lambda k: f"{where}, line {collector.line[collector.system.index(k)]}")
    for numbers, what in (
        (collector.systems, "systems"),
        (collector.documents, "documents"),
        (collector.raters, "raters"),
    ):
        refuse_many(numbers, what, where)
        refuse_alike(numbers, what, where, path, alike)
    refuse_many(collector.items, "segments", where)
    _refuse_alike_segments(collector, where, path, alike)
    systems, system = sort_names(collector.systems)
    documents, document = sort_names(collector.documents)
    raters, rater = sort_names(collector.raters)
    items = list(collector.items)
    of_item = document[[number for number, _ in items]].tolist()
    order = sorted(range(len(items)), key=lambda k: (of_item[k], order_naturally(items[k][1])))
    return Indexed(
        system=system[_unpack(collector.system)],
        item=places(order)[_unpack(collector.item)],
        rater=rater[_unpack(collector.rater)],
        document=np.array([of_item[k] for k in order], np.int64),
        system_names=systems,
        document_names=documents,
        item_names=tuple(items[k][1] for k in order),
        rater_names=raters,
    )


def _unpack(numbers: array[int]) -> Ints:
    # An array of type "q" has 8 bytes a number, which NumPy reads without a copy.
    return np.frombuffer(numbers, np.int64)


def _refuse_alike_segments(collector: RatingCollector, where: str, path: Path | None, alike: Alike | None) -> None:
    seen: dict[tuple[int, str], str] = {}
    for document, segment in collector.items:
        other = seen.setdefault((document, spelling(segment)), segment)
        if other != segment:
            refuse_alike((other, segment), "segments", where, path, alike)


def find_repeats(indexed: Indexed) -> Ints:
    """List the ratings, in order, that repeat an earlier one: the same system, item and rater."""
    key = (indexed.system * len(indexed.item_names) + indexed.item) * len(indexed.rater_names) + indexed.rater
    order = np.argsort(key, kind="stable")
    return np.sort(order[1:][np.diff(key[order]) == 0])


def repeat_groups(collector: RatingCollector, indexed: Indexed) -> list[list[int]]:
    """Return the lines of ratings of the same system and item by the same rater, in groups of two or more."""
    twice = find_repeats(indexed)
    if not len(twice):
        return []
    key = (indexed.system * len(indexed.item_names) + indexed.item) * len(indexed.rater_names) + indexed.rater
    groups: dict[int, list[int]] = {number: [] for number in key[twice].tolist()}
    for k in np.flatnonzero(np.isin(key, key[twice])).tolist():
        groups[int(key[k])].append(collector.line[k])
    return list(groups.values())


def keep_ratings(collector: RatingCollector, indexed: Indexed, kept: Ints) -> tuple[RatingCollector, Indexed]:
    """Return both without all ratings but `kept` (indices); names stay."""
    system, item, rater, line = (
        array("q", np.array(numbers, np.int64)[kept].tolist())
        for numbers in (collector.system, collector.item, collector.rater, collector.line)
    )
    index = {name: getattr(indexed, name)[kept] for name in ("system", "item", "rater")}
    return replace(collector, system=system, item=item, rater=rater, line=line), indexed._replace(**index)


def notes_on_names(collector: RatingCollector) -> Iterator[str]:
    """Yield a note on each name of the ratings that may stand for a gap."""
    for what, names in (("system", collector.systems), ("document", collector.documents), ("rater", collector.raters)):
        yield from doubtful_names(names, what)


def name_rating(indexed: Indexed, k: int, *, rater_known: bool) -> str:
    """Return words on rating k: who rated which output (`rater_known` False: which output alone)."""
    item = int(indexed.item[k])
    document, segment = indexed.document_names[indexed.document[item]], indexed.item_names[item]
    output = f"{indexed.system_names[indexed.system[k]]} on "
    output += f"segment {segment} of {document}" if segment != document else f"document {document}"
    return f"{indexed.rater_names[indexed.rater[k]]} rated {output}" if rater_known else f"{output} is rated"


def drop_repeats(indexed: Indexed) -> tuple[Indexed, Ints]:
    """Keep the first rating that each rater gave to an output; return it and the indices of the kept ratings."""
    kept = np.setdiff1d(np.arange(len(indexed.system)), find_repeats(indexed), assume_unique=True)
    return indexed._replace(system=indexed.system[kept], item=indexed.item[kept], rater=indexed.rater[kept]), kept


def state_repeats(n: int) -> tuple[str, ...]:
    """State how many repeated ratings were left out; nothing of none."""
    return (
        (f"left out: {pluralise(n, 'rating')} of outputs that the same person had rated; the first row counts",)
        if n
        else ()
    )


def controls(
    met: Sequence[tuple[str, bool]], who: Mapping[str, str], indexed: Indexed, rule: str
) -> ControlAnswers | None:
    """Number who met a control item and whether they failed it; None where nobody met one.

    `met` are logins, each with whether it failed, `who` says which person each login is, and `rule` what failing means.
    What was met by somebody without any rating is left out.
    """
    rater = {name: k for k, name in enumerate(indexed.rater_names)}
    known = [(rater[who[login]], failed) for login, failed in met if who.get(login) in rater]
    if not known:
        return None
    return ControlAnswers(np.array([k for k, _ in known], np.int64), np.array([failed for _, failed in known]), rule)


def refuse_repeats(
    collector: RatingCollector, indexed: Indexed, where: str, differing: Callable[[int, int], str], *, rater_known: bool
) -> None:
    """Raise InputError naming both lines where a rater rated an output twice.

    `differing` states the difference between two lines.
    """
    twice = find_repeats(indexed)
    if not len(twice):
        return
    k = int(twice[0])
    same = (
        (indexed.system == indexed.system[k]) & (indexed.item == indexed.item[k]) & (indexed.rater == indexed.rater[k])
    )
    first = collector.line[int(np.flatnonzero(same)[0])]
    item = int(indexed.item[k])
    document, segment = indexed.document_names[indexed.document[item]], indexed.item_names[item]
    output = f"{indexed.system_names[indexed.system[k]]} on "
    output += f"segment {segment} of {document}" if segment != document else f"document {document}"
    twice_said = differing(first, collector.line[k])
    if rater_known:
        statement = clip(f"{indexed.rater_names[indexed.rater[k]]} rated {output}", 200)
        raise InputError(
            f"{where}, line {collector.line[k]}: {statement} before, on line {first}; {twice_said}; keep one of the two"
        )
    raise InputError(
        f"{where}, line {collector.line[k]}: {clip(output, 200)} has a score before, on line {first}; "
        f"{twice_said}; keep "
        "one of the two, or name in a column rater who answered (simlab conclude averages answers of people who are "
        "not known)"
    )


def replace_raters(collector: RatingCollector, people: Sequence[str]) -> RatingCollector:
    """Put people in the place of raters: `people[number]` is who the rater of that number is."""
    names = Numbers()
    number = [names[person] for person in people]
    return replace(collector, raters=names, rater=array("q", (number[rater] for rater in collector.rater)))
