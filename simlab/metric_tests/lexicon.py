"""Words with near synonyms and with opposites: a few of simlab's own, and those of a user's file.

Call `read` on a file, or None; it returns a `Lexicon`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from simlab.messages import suggest
from simlab.metric_tests.trials import read_text
from simlab.types import InputError

Lexicon: TypeAlias = Mapping[str, Mapping[str, str]]
"""Replacement of each word, by the name of a corruption (near_syms, sem_opps)."""

_NEAR = (
    "woman:lady girl:lass kid:child child:kid baby:infant big:large large:big small:little little:small "
    "slicing:cutting strolling:walking jogging:running speaking:talking talking:speaking quickly:fast rock:stone "
    "rabbit:bunny street:road road:street couch:sofa sofa:couch picture:photo happy:glad sad:unhappy "
    "jumping:leaping yelling:shouting fixing:repairing automobile:car bicycle:bike purchasing:buying"
)
_OPPOSITE = (
    "big:small small:big large:tiny young:old old:young happy:sad sad:happy hot:cold cold:hot full:empty "
    "empty:full wet:dry dry:wet clean:dirty dirty:clean fast:slow slow:fast quickly:slowly slowly:quickly "
    "opening:closing closing:opening pushing:pulling pulling:pushing man:woman woman:man boy:girl girl:boy "
    "standing:sitting sitting:standing laughing:crying crying:laughing up:down down:up inside:outside "
    "outside:inside over:under under:over entering:leaving buying:selling white:black black:white with:without"
)
OWN: Lexicon = {
    "near_syms": dict(pair.split(":") for pair in _NEAR.split()),
    "sem_opps": dict(pair.split(":") for pair in _OPPOSITE.split()),
}
"""simlab's own words; few, and chosen by us: a file can add others."""


def read(file: Path | None) -> Lexicon:
    """Return simlab's words with those of a file, which win; raises InputError for a malformed file.

    A line of the file is a corruption (near_syms, sem_opps), a word, and what stands in its place, parted by tabs.
    """
    lexicon = {name: dict(words) for name, words in OWN.items()}
    for k, line in enumerate(read_text(file).splitlines() if file else (), start=1):
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) != 3 or not all(cells):
            raise InputError(f"{file} line {k}: it must be corruption, word and other word, parted by tabs")
        name, word, other = cells
        if name not in lexicon:
            raise InputError(f"{file} line {k}: the corruption {name[:40]!r} takes no words; {suggest(name, lexicon)}")
        lexicon[name][word.lower()] = other
    return lexicon
