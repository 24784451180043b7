"""Read the sentences that stand as comments in an option's YAML file: one of the option, one of each key.

A comment belongs to the key right below it, or to the key on whose line it ends; nothing else is said of a key. The
comment at the top of a file is the option's own, unless a key follows it at once. What a sentence has in brackets at
its end is the unit: `# Documents that are rated [documents].`
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

OWN = ""
"""The key of the option's own sentence."""

_KEY = re.compile(r"([A-Za-z]\w*):(?=\s|$)((?:\"[^\"]*\"|'[^']*'|(?<=\S)#|[^\"'#])*)(?:#\s*(.*))?")
_UNIT = re.compile(r"\s*\[([^\]]+)\]\.?$")


class Sentence(NamedTuple):
    """Hold what a comment says: a sentence without its unit, and the unit, empty where there is none."""

    text: str
    unit: str


def sentences(content: str) -> dict[str, Sentence]:
    """Return the sentence of each key of a YAML file that has one, and under `OWN` the option's.

    >>> sentences("n: 1  # So many [things].")
    {'n': Sentence(text='So many.', unit='things')}
    """
    said: dict[str, Sentence] = {}
    for key, text in _blocks(content):
        # The first block is the option's own; later ones that stand above no key say nothing of one.
        if text and (key != OWN or not said):
            said[key] = _sentence(text)
    return said


def _blocks(content: str) -> Iterator[tuple[str, str]]:
    """Yield comment blocks with the key that they belong to, `OWN` for those above anything else."""
    block: list[str] = []
    for line in content.splitlines():
        if line.startswith("#"):
            block += [] if line.startswith("# @") else [line.lstrip("#").strip()]
            continue
        match = _KEY.match(line)
        if match and match[1] not in ("_target_", "defaults"):
            yield match[1], " ".join([*block, *([match[3].strip()] if match[3] else [])])
        elif block:
            yield OWN, " ".join(block)
        block = []
    if block:
        yield OWN, " ".join(block)


def _sentence(text: str) -> Sentence:
    unit = _UNIT.search(text)
    return Sentence(f"{text[: unit.start()]}." if unit else text, unit[1] if unit else "")
