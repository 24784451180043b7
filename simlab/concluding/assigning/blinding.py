"""Name every screen by a code that says nothing of its system, and keep the key that says what each code stands for.

A screen shows one system's output of a document, segment by segment. `lines` returns one `SheetLine` per rating, `text`
the key as CSV, and `read_key` reads a key back as a `Meant` for each code.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from simlab import files
from simlab.concluding.assigning.cells import strip_guard, table
from simlab.concluding.assigning.dealing import Seated
from simlab.concluding.assigning.items import ControlItem, Items, Passing, parse_passing
from simlab.messages import clip
from simlab.rng import stream
from simlab.tables.cells import load
from simlab.types import InputError, Ints

LETTERS = "bcdfghjkmnpqrstvwxz"
"""Without vowels no code is a word, without l none is a number."""
LENGTH = 6
REPEAT = "repeat"

COLUMNS = (
    *("slot", "system", "document", "segment", "number", "rater", "task", "position", "control"),
    *("source", "output"),
)
"""Of source and output a key has marks, `text_mark`."""
TEXTS = ("source", "output")


class ShownScreen(NamedTuple):
    """A screen in a rater's work: an output of the study, the same once more (`again`), or a `control` item.

    `task` counts the tasks of a rater from 0; system and document are those of the frame (-1: of a control item).
    """

    rater: int
    task: int
    system: int
    document: int
    again: bool = False
    control: ControlItem | None = None


class SheetLine(NamedTuple):
    """One rating that is to be given; `position` and `task` count from 1 for each rater.

    `slot` is its code. `segment` is the name of the segment, "" where the document is the unit; `number` counts it in
    its document, from 1. `control` is the range that passes a control item, `repeat` for an output shown once more, or
    "". `source` and `output` are texts.
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


def lines(work: Sequence[ShownScreen], seated: Seated, items: Items, seed: int, study: str) -> list[SheetLine]:
    """Return the ratings of all screens of `work`, a line each, in its order; each screen gets a code of its own.

    `seated` and `items` name systems, documents and texts, `seed` is that of the deal. `study` is the digest of the
    study: other studies, and other items, have other codes, so that no sheet is read by the key of another.
    """
    codes = _codes(len(work), seed, study, _digest(items))
    frame = seated.frame
    # Items of a document stand together, in the order of documents, so that a search finds its first one.
    starts = np.searchsorted(frame.document, np.arange(frame.n_documents))
    sheet_lines: list[SheetLine] = []
    position: dict[int, int] = {}
    for screen, code in zip(work, codes, strict=True):
        of_screen = (
            _list_control_cells(screen.control) if screen.control else _list_study_cells(screen, seated, items, starts)
        )
        for number, (document, segment, control, source, output, system) in enumerate(of_screen, 1):
            position[screen.rater] = position.get(screen.rater, 0) + 1
            rater, slot = frame.rater_names[screen.rater], f"{code}-{number}"
            at = (
                position[screen.rater],
                rater,
                screen.task + 1,
                document,
                segment,
                slot,
                control,
                source,
                output,
                system,
            )
            sheet_lines.append(SheetLine(*at, number))
    return sheet_lines


def _list_control_cells(control: ControlItem) -> list[tuple[str, str, str, str, str, str]]:
    parts = zip(control.segments, control.passes, control.sources, control.outputs, strict=True)
    return [
        (control.document, segment, passes.format(), source, output, "") for segment, passes, source, output in parts
    ]


def _list_study_cells(
    screen: ShownScreen, seated: Seated, items: Items, starts: Ints
) -> list[tuple[str, str, str, str, str, str]]:
    document, system = seated.frame.document_names[screen.document], seated.frame.system_names[screen.system]
    outputs, first = items.output[seated.system[screen.system]], int(starts[screen.document])
    kind = REPEAT if screen.again else ""
    return [
        (document, segment, kind, items.source[first + k], outputs[first + k], system)
        for k, segment in enumerate(items.segments[screen.document])
    ]


def _digest(items: Items) -> str:
    return sha256(repr((items.systems, items.documents, items.segments, items.output)).encode()).hexdigest()


def _codes(n: int, seed: int, study: str, items: str) -> list[str]:
    """Draw so many different codes, by random numbers that nothing else is drawn from."""
    rng = stream(seed, "assign", "codes", study, items)
    codes: dict[str, None] = {}
    while len(codes) < n:
        letters = rng.integers(len(LETTERS), size=(n, LENGTH))
        # Draws collide now and then; a dict drops repeats and keeps the order in which codes were drawn.
        codes |= dict.fromkeys("".join(LETTERS[k] for k in word) for word in letters.tolist())
    return list(codes)[:n]


class Meant(NamedTuple):
    """Meaning of a code: an output of the study, the same once more (`again`), or a control item that `passes`.

    `number` counts the segment in its document and `position` the rating among those of the rater, from 1. `cells` is
    the row of the key, by column.
    """

    system: str
    document: str
    segment: str
    number: int
    rater: str
    position: int
    again: bool
    passes: Passing | None
    cells: Mapping[str, str] = MappingProxyType({})

    @property
    def counts(self) -> bool:
        """True if a rating of this code belongs to the study: neither a repeat nor a control item."""
        return not self.again and self.passes is None


def text(lines: Sequence[SheetLine]) -> str:
    """Return the key of an assignment as CSV, a row per rating, sorted by code so that the order tells nothing."""
    rows = (
        (
            line.slot,
            line.system,
            line.document,
            line.segment,
            line.number,
            line.rater,
            line.task,
            line.position,
            line.control,
            *map(text_mark, (line.source, line.output)),
        )
        for line in sorted(lines, key=lambda one: one.slot)
    )
    return table(COLUMNS, rows)


def text_mark(text: str) -> str:
    """Return 16 hexadecimal digits of a text's SHA-256, by which it is recognised; "" for an empty text.

    How blanks, line ends and accents are written does not count, nor do apostrophes in front: spreadsheets change them.
    """
    plain = " ".join(unicodedata.normalize("NFC", text).split()).lstrip("'")
    return sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()[:16] if plain else ""


def digest(text: str) -> str:
    """Return the SHA-256 of a key's text, in hexadecimal."""
    return sha256(text.encode()).hexdigest()


def read_key(path: Path, sha256: str | None = None) -> dict[str, Meant]:
    """Read a key, and return the meaning of each code.

    `sha256` is the digest that the file must have (None: any). Raises InputError, naming the file, for a file that is
    no key, or another one.
    """
    if not path.is_file():
        raise InputError(f"{clip(path)}: is not there, and nothing else says which code is which system; put it back")
    cell_table = load(path, "an assignment's key")
    if cell_table.header != COLUMNS or sha256 not in (None, files.digest(path)):
        raise InputError(f"{cell_table.where}: is not the key as it was written; put it back")
    by_slot: dict[str, Meant] = {}
    for line, cells in cell_table.rows:
        row = dict(zip(COLUMNS, map(strip_guard, cells), strict=True))
        if row["slot"] in by_slot or not (row["number"].isdecimal() and row["position"].isdecimal()):
            raise InputError(f"{cell_table.locate(line)}: is not the key as it was written; put it back")
        by_slot[row["slot"]] = _parse_key_row(row, cell_table.locate(line))
    return by_slot


def _parse_key_row(row: Mapping[str, str], where: str) -> Meant:
    again = row["control"] == REPEAT
    passes = parse_passing(row["control"], where) if row["control"] and not again else None
    named = (row["system"], row["document"], row["segment"], int(row["number"]))
    return Meant(*named, row["rater"], int(row["position"]), again, passes, row)
