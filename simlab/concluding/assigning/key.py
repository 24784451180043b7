"""Write down which code stands for which output, for those only who may know, and read it back."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from simlab import files
from simlab.concluding.assigning.blinding import REPEAT, Line
from simlab.concluding.assigning.cells import bare, table
from simlab.concluding.assigning.passing import Passing, passing
from simlab.messages import legible
from simlab.tables.cells import load
from simlab.types import InputError

COLUMNS = (
    *("slot", "system", "document", "segment", "number", "rater", "task", "position", "control"),
    *("source", "output"),
)
"""Of source and output a key has marks, `text_mark`."""
TEXTS = ("source", "output")


class Meant(NamedTuple):
    """Hold what a code stands for: an output of the study, the same once more, or a control item that `passes`.

    `cells` is its row of the key.
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
        """Tell whether a rating of it is one of the study."""
        return not self.again and self.passes is None


def text(lines: Sequence[Line]) -> str:
    """Write the key of an assignment."""
    rows = (
        (
            one.slot,
            one.system,
            one.document,
            one.segment,
            one.number,
            one.rater,
            one.task,
            one.position,
            one.control,
            *map(text_mark, (one.source, one.output)),
        )
        for one in sorted(lines, key=lambda one: one.slot)
    )
    return table(COLUMNS, rows)


def text_mark(text: str) -> str:
    """Return 16 digits by which a text is known again, "" of an empty one.

    How blanks, line ends and accents are written does not count, nor do apostrophes in front: spreadsheets change them.
    """
    plain = " ".join(unicodedata.normalize("NFC", text).split()).lstrip("'")
    return sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()[:16] if plain else ""


def digest(text: str) -> str:
    """Return the SHA-256 of a key."""
    return sha256(text.encode()).hexdigest()


def read_key(path: Path, sha256: str | None = None) -> dict[str, Meant]:
    """Read a key of that SHA-256 (None: any); raise InputError, naming file and line, for what is none, or another."""
    if not path.is_file():
        raise InputError(
            f"{legible(path)}: is not there, and nothing else says which code is which system; put it back"
        )
    held = load(path, "an assignment's key")
    if held.header != COLUMNS or sha256 not in (None, files.digest(path)):
        raise InputError(f"{held.where}: is not the key as it was written; put it back")
    found: dict[str, Meant] = {}
    for line, cells in held.rows:
        one = dict(zip(COLUMNS, map(bare, cells), strict=True))
        if one["slot"] in found or not (one["number"].isdecimal() and one["position"].isdecimal()):
            raise InputError(f"{held.at(line)}: is not the key as it was written; put it back")
        found[one["slot"]] = _meant(one, held.at(line))
    return found


def _meant(one: Mapping[str, str], where: str) -> Meant:
    again = one["control"] == REPEAT
    passes = passing(one["control"], where) if one["control"] and not again else None
    named = (one["system"], one["document"], one["segment"], int(one["number"]))
    return Meant(*named, one["rater"], int(one["position"]), again, passes, one)
