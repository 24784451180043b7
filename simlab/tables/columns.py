"""Find the columns of a table of ratings, by their usual names or as its owner says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from simlab.messages import legible, nearest, or_nearest
from simlab.types import InputError

USUAL: Mapping[str, tuple[str, ...]] = {
    "system": ("system", "model"),
    "document": ("doc", "document"),
    "segment": ("globalsegid", "seg_id", "segment", "item"),
    "position": ("docsegid", "doc_id"),
    "rater": ("rater", "annotator", "worker", "login"),
    "category": ("category",),
    "severity": ("severity",),
    "score": ("score", "rating"),
    "errors": ("errors",),
    "minor": ("minor",),
    "major": ("major",),
    "seconds": ("seconds",),
    "start": ("start",),
    "end": ("end",),
    "metadata": ("metadata",),
}
"""Usual names of the columns that are read, in lower case; the first that a table has is taken.

`docSegId` and `doc_id` are the place of a segment in its document; `globalSegId` and `seg_id` are free to be a constant
or to start again in each document, so a segment is known by all of them together.
"""

_SHOWN = {"globalsegid": "globalSegId", "docsegid": "docSegId"}


def told(text: str | None) -> dict[str, str]:
    """Read `ours=theirs,...` as it is typed.

    >>> told("score=fluency, rater=who")
    {'score': 'fluency', 'rater': 'who'}

    Raises InputError for what is none, and for a column that is named twice.
    """
    named: dict[str, str] = {}
    for part in (text or "").split(",") if text is not None else ():
        ours, sign, theirs = (piece.strip() for piece in part.partition("="))
        if not (ours and sign and theirs):
            raise InputError(f"--columns {legible(part.strip(), 60)}: write OURS=THEIRS, such as score=fluency")
        if ours.lower() in named:
            raise InputError(f"--columns {legible(ours, 40)}: is named twice; name each column once")
        named[ours.lower()] = theirs
    return named


def found(names: Sequence[str], said: Mapping[str, str], where: str) -> dict[str, int]:
    """Return the place of each column that is read, by the keys of USUAL.

    Raises InputError for a name that is told and not there, and for a column that is there twice.
    """
    folded = [name.lower() for name in names]
    chosen = {_ours(ours): _told(ours, theirs, names, where) for ours, theirs in said.items()}
    taken = set(chosen.values())
    for key, usual in USUAL.items():
        at = next((name for name in usual if name in folded and folded.index(name) not in taken), None)
        if key not in chosen and at is not None:
            if folded.count(at) > 1:
                raise InputError(f"{where}: column {_SHOWN.get(at, at)} appears twice; rename one")
            chosen[key] = folded.index(at)
    if "segment" not in chosen and "position" in chosen:
        chosen["segment"] = chosen.pop("position")
    return chosen


def _ours(word: str) -> str:
    for key, usual in USUAL.items():
        if word == key or word in usual:
            return key
    raise InputError(f"--columns {legible(word, 40)}: is no column of ratings; {or_nearest(word, USUAL)}")


def _told(ours: str, theirs: str, names: Sequence[str], where: str) -> int:
    folded = [name.lower() for name in names]
    exact = [k for k, name in enumerate(names) if name == theirs]
    at = exact or [k for k, name in enumerate(folded) if name == theirs.lower()]
    if not at:
        raise InputError(
            f"--columns {legible(f'{ours}={theirs}', 80)}: {where} has no such column; "
            f"{or_nearest(theirs, names, 'it has', 200)}"
        )
    if len(at) > 1:
        raise InputError(f"{where}: column {legible(theirs, 40)} appears twice; rename one")
    return at[0]


def require(wanted: Iterable[str], columns: Mapping[str, int], names: Sequence[str], where: str) -> None:
    """Raise InputError naming the columns that a table lacks, those it has, and the nearest of them."""
    missing = [key for key in wanted if key not in columns]
    if not missing:
        return
    usual = ", no column ".join(" or ".join(_SHOWN.get(name, name) for name in USUAL[key]) for key in missing)
    there = ", ".join(legible(name, 40) for name in names[:12]) + (", ..." if len(names) > 12 else "")
    close = (nearest(name, [name for name in names if name]) for key in missing for name in USUAL[key])
    hints = list(dict.fromkeys(legible(name, 40) for name in close if name))
    hint = f"; did you mean {', '.join(hints)}?" if hints else ""
    advice = f"; or say which is meant: --columns {missing[0]}=NAME" if len(names) > 1 else ""
    alone = "; columns are set apart by tabs, commas or semicolons" if len(names) == 1 else ""
    raise InputError(f"{where}: no column {usual}; found {there or 'an empty line'}{hint}{advice}{alone}")
