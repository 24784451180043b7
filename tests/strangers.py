"""Write one table in many ways that strangers write theirs: what it says must not change with how it is written.

`mutations` yields files. Rows and columns are in another order, systems and raters have other names, cells are set
apart and quoted otherwise, lines end otherwise, there is a title above the header or a remark beside each row, or the
table is JSON. `ratings_of` and `comparisons_of` give what a reader made of a file in the names of the original table,
so that two files can be compared with `==`.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from simlab.answers.conclude import Conclusion
from simlab.tables.preferences import Preferences
from simlab.tables.rating_table import Ratings
from simlab.types import InputError

TURNED = {"better": "worse", "worse": "better", "not_superior": "not_inferior", "not_inferior": "not_superior"}
"""What an answer to a margin is called with the two systems exchanged."""

Rows = Sequence[Sequence[str]]
T = TypeVar("T")

CHANGES = (
    "rows",
    "columns",
    "names",
    "mark",
    "bom",
    "ends",
    "quotes",
    "case",
    "blanks",
    "empty_lines",
    "title",
    "remark",
    "gzip",
    "json",
    "comma",
)
"""Every change there is; `leave` takes some of them out. `rows` matters where an order is part of the table."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """A written file, the changes that made it, and the names of the original behind those in the file."""

    path: Path
    changes: tuple[str, ...]
    original: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def named(self, kind: str, name: str) -> str:
        """Return the original name of a system or rater in this file."""
        return self.original.get(kind, {}).get(name, name)


def mutations(
    table: Rows,
    folder: Path,
    seed: int,
    n: int = 40,
    *,
    names: Mapping[str, Sequence[str]],
    refers: Mapping[str, str] | None = None,
    numbers: Sequence[str] = (),
    leave: Sequence[str] = (),
) -> Iterator[Mutation]:
    """Write a table (its first row is the header) in `n` ways, each of some random changes.

    `names` says for each kind of name in which columns it stands: `{"system": ("system_a", "system_b")}`. `refers`
    names columns whose cells may be such a name or another word: `{"winner": "system"}`. The cells of `numbers` may be
    written with a decimal comma. `leave` are changes that are not made.
    """
    for k in range(n):
        rng = random.Random(f"{seed}/{k}")
        allowed = [change for change in CHANGES if change not in leave]
        # Each change once alone, then some of them together.
        chosen = {allowed[k]} if k < len(allowed) else set(rng.sample(allowed, min(len(allowed), rng.randint(2, 7))))
        header, *rows = ([str(cell) for cell in row] for row in table)
        header, rows = list(header), [list(row) for row in rows]
        original = _rename(rng, header, rows, names, refers or {}) if "names" in chosen else {}
        if "rows" in chosen:
            rng.shuffle(rows)
        if "remark" in chosen:
            place = rng.randrange(len(header) + 1)
            header.insert(place, rng.choice(("comment", "submission_time", "notes")))
            for j, row in enumerate(rows):
                row.insert(place, rng.choice(("", f"remark {j}", 'he said "fine"; really', "ok, fine")))
        if "columns" in chosen:
            order = rng.sample(range(len(header)), len(header))
            header, rows = [header[j] for j in order], [[row[j] for j in order] for row in rows]
        if "case" in chosen:
            change = rng.choice((str.upper, str.title, lambda name: name.title().replace("_", " ")))
            header = [change(name) for name in header]
        yield Mutation(_write(rng, folder, k, header, rows, chosen, numbers), tuple(sorted(chosen)), original)


def _rename(
    rng: random.Random,
    header: Sequence[str],
    rows: Sequence[list[str]],
    names: Mapping[str, Sequence[str]],
    refers: Mapping[str, str],
) -> dict[str, dict[str, str]]:
    """Give names another spelling that sorts otherwise; return the originals behind them."""
    original = {}
    for kind, columns in names.items():
        places = [header.index(column) for column in columns]
        known = sorted({row[place] for row in rows for place in places} - {""})
        marks = rng.sample(range(100, 1000), len(known))
        style = rng.choice((f"{kind}-{{}}", "{}é", "my {} words", "X_{}.v2"))
        fresh = {name: style.format(mark) for name, mark in zip(known, marks, strict=True)}
        places += [header.index(column) for column, of in refers.items() if of == kind]
        for row in rows:
            for place in places:
                row[place] = fresh.get(row[place], row[place])
        original[kind] = {new: old for old, new in fresh.items()}
    return original


def _write(
    rng: random.Random,
    folder: Path,
    k: int,
    header: list[str],
    rows: list[list[str]],
    chosen: set[str],
    numbers: Sequence[str],
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    if "json" in chosen:
        records = [{name: _plain(cell, rng) for name, cell in zip(header, row, strict=True)} for row in rows]
        as_lines = rng.random() < 0.5
        text = "".join(f"{json.dumps(one)}\n" for one in records) if as_lines else json.dumps(records, indent=1)
        return _saved(folder / f"{k}.{'jsonl' if as_lines else 'json'}", text, chosen - {"bom"})
    mark = rng.choice("\t;,") if "mark" in chosen else ";" if "comma" in chosen else ","
    if "comma" in chosen and mark == ";":
        folded = {name.lower().replace(" ", "_") for name in numbers}
        places = [j for j, name in enumerate(header) if name.lower().replace(" ", "_") in folded]
        rows = [[cell.replace(".", ",") if j in places else cell for j, cell in enumerate(row)] for row in rows]
    if "blanks" in chosen:
        header, *rows = ([f" {cell}  " if rng.random() < 0.3 else cell for cell in row] for row in [header, *rows])
    written = io.StringIO()
    # Tables with tabs do not quote, unless their header does.
    quoted = csv.QUOTE_ALL if "quotes" in chosen else csv.QUOTE_MINIMAL
    if mark == "\t" and quoted == csv.QUOTE_MINIMAL:
        text = "".join("\t".join(row) + "\n" for row in [header, *rows])
    else:
        csv.writer(written, delimiter=mark, quoting=quoted, lineterminator="\n").writerows([header, *rows])
        text = written.getvalue()
    if "empty_lines" in chosen:
        lines = text.splitlines(keepends=True)
        for _ in range(3):
            lines.insert(rng.randint(0, len(lines)), "\n")
        text = "".join(lines) + "\n\n"
    if "title" in chosen:
        text = rng.choice(("Ratings of our study\n", "Export of 3 March 2026\n\n", "# results, second batch\n")) + text
    if "ends" in chosen:
        text = text.replace("\n", rng.choice(("\r\n", "\r", "\r\r\n")))
        text = text.rstrip("\r\n") if rng.random() < 0.5 else text
    return _saved(folder / f"{k}{rng.choice(('.csv', '.tsv', '.txt'))}", text, chosen)


def _plain(cell: str, rng: random.Random) -> object:
    """Return a cell as JSON may have it: as a number where that is written alike, else as text."""
    if not cell:
        return None if rng.random() < 0.5 else ""
    try:
        value = json.loads(cell)
    except ValueError:
        return cell
    return value if isinstance(value, int | float) and json.dumps(value) == cell else cell


def _saved(path: Path, text: str, chosen: set[str]) -> Path:
    content = (b"\xef\xbb\xbf" if "bom" in chosen else b"") + text.encode()
    path.write_bytes(gzip.compress(content) if "gzip" in chosen else content)
    return path


def answers_of(found: Conclusion, mutation: Mutation | None = None) -> dict[frozenset[str], tuple[object, ...]]:
    """Return what a conclusion says of each pair, and of each system, in the original names of a mutation.

    Of a pair: who came out better, by how much, within which bounds, whether that is claimed, and the answer to a
    margin, as seen from its first system by name; of a system its estimate and its ranks. Rounded to what reordered
    sums leave alike. The adjusted p-value stands last.
    """
    at = mutation or Mutation(Path(), ())
    answers: dict[frozenset[str], tuple[object, ...]] = {}
    for pair in found.pairs:
        names = [at.named("system", name) for name in (pair.first, pair.second)]
        sign = 1 if names[0] < names[1] else -1
        bounds = sorted((sign * pair.low, sign * pair.high))
        within = TURNED.get(pair.within or "", pair.within) if sign < 0 else pair.within
        numbers = [_known(number) for number in (sign * pair.difference, *bounds)]
        words = (sign * pair.direction, sign * pair.verdict, within, _known(pair.adjusted))
        answers[frozenset(names)] = (*numbers, *words)
    for one in found.systems:
        name = frozenset([at.named("system", one.system)])
        answers[name] = (_known(one.estimate), one.rank_low, one.rank_high)
    return answers


def _known(number: float) -> float | None:
    return None if math.isnan(number) else round(number, 6) + 0.0


def answer_or_line(read: Callable[[Path], T], path: Path) -> T | str:
    """Return what `read` makes of a file, or the one line that refuses it."""
    try:
        return read(path)
    except InputError as refused:
        message = str(refused)
        assert message == " ".join(message.splitlines()).strip() != "", message
        return message


def ratings_of(ratings: Ratings, mutation: Mutation | None = None) -> Counter[tuple[str, str, str, str, float]]:
    """Count (system, document, segment, rater, score) of what was read, in the original names of a mutation."""
    at = mutation or Mutation(Path(), ())
    return Counter(
        (
            at.named("system", ratings.system_names[system]),
            at.named("document", ratings.document_names[ratings.document[item]]),
            at.named("document", ratings.item_names[item]),
            at.named("rater", ratings.rater_names[rater]),
            float(score),
        )
        for system, item, rater, score in zip(ratings.system, ratings.item, ratings.rater, ratings.score, strict=True)
    )


def comparisons_of(held: Preferences, mutation: Mutation | None = None) -> Counter[tuple[str, str, str, str, int]]:
    """Count (first, second, item, rater, outcome) of what was read, in the original names of a mutation.

    `outcome` is 0 where the first is better, 1 for a tie, 2 where the second is.
    """
    at = mutation or Mutation(Path(), ())
    items, raters = (*held.item_names, ""), (*held.rater_names, "")
    return Counter(
        (
            at.named("system", held.system_names[first]),
            at.named("system", held.system_names[second]),
            at.named("item", items[item]),
            at.named("rater", raters[rater]),
            int(outcome),
        )
        for first, second, item, rater, outcome in zip(
            held.first, held.second, held.item, held.rater, held.outcome, strict=True
        )
    )
