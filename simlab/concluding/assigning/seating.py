"""Put real items and raters in the places that the simulated ones of a plan have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from simlab.concluding.assigning.items import Items
from simlab.concluding.assigning.people import Person
from simlab.design.balance import seated
from simlab.messages import legible, several
from simlab.types import Frame, InputError, Ints


class Seated(NamedTuple):
    """Hold the frame of a real study, whose raters are in the order of the simulated ones; what was matched, in words.

    `system[k]` is the number in the table of items of the frame's k-th system. `by_name`: raters are those of the
    study, by their names.
    """

    frame: Frame
    people: tuple[Person, ...]
    spare: tuple[Person, ...]
    system: Ints
    said: tuple[str, ...]
    by_name: bool


def seat(frame: Frame, config: Mapping[str, Any], items: Items, people: Sequence[Person]) -> Seated:
    """Seat raters in buckets of the documents as those of a simulated world sit, with its `frame`.

    Raises InputError, with both numbers, for other numbers of systems than the study has, for fewer documents than it
    asks about, and for raters who are too few for its buckets.
    """
    _check_numbers(frame, config["design"], items, people)
    order, systems = _matched(frame.system_names, items.systems, "systems")
    who = [one.name for one in people]
    seats_of, raters = _matched(frame.rater_names, who, "raters")
    own = tuple(people[k] for k in seats_of[: frame.n_raters])
    spare = tuple(one for one in people if one not in own)
    document = np.repeat(np.arange(len(items.documents)), [len(one) for one in items.segments])
    bucket, seats = _buckets(frame, config, len(items.documents))
    names = tuple(items.systems[k] for k in order)
    laid = Frame(
        document=document,
        bucket=bucket,
        rater=np.broadcast_to(seats[bucket[document]], (len(names), len(document), seats.shape[1])),
        system_names=names,
        document_names=items.documents,
        rater_names=tuple(one.name for one in own),
        lower_is_better=frame.lower_is_better,
    )
    said = tuple(one for one in (systems, raters) if one)
    return Seated(laid, own, spare, np.array(order), said, set(frame.rater_names) <= set(who))


def _check_numbers(frame: Frame, design: Mapping[str, Any], items: Items, people: Sequence[Person]) -> None:
    if len(items.systems) != frame.n_systems:
        raise InputError(
            f"{items.where}: has {several(len(items.systems), 'system')} and the study {frame.n_systems}; give outputs "
            "of as many, or plan for these"
        )
    if len(items.documents) < design["documents"]:
        raise InputError(
            f"{items.where}: has {several(len(items.documents), 'document')} and the study asks about "
            f"{design['documents']} (design.documents); add documents, or plan for as many"
        )
    if len(people) < frame.n_raters:
        raise InputError(
            f"{several(len(people), 'rater')} are too few: the buckets of this study seat {frame.n_raters}; find "
            f"{frame.n_raters - len(people)} more, or plan for as many"
        )


def _matched(simulated: Sequence[str], real: Sequence[str], what: str) -> tuple[list[int], str]:
    """Return real names in the order of the simulated ones, and how they were matched: by name, else in their order."""
    if set(simulated) <= set(real):
        first = [real.index(name) for name in simulated]
        return first + [k for k in range(len(real)) if k not in first], ""
    if agree := [name for name in real if name in simulated]:
        known = legible(", ".join(agree), 60)
        return list(range(len(real))), f"{what} take places in their order, though the study, too, knows {known}"
    return list(range(len(real))), ""


def _buckets(frame: Frame, config: Mapping[str, Any], n_documents: int) -> tuple[Ints, Ints]:
    """Return the bucket of each document, and who sits in each bucket, as worlds of another size have them."""
    seats = seated(frame)
    if n_documents == frame.n_documents:
        return frame.bucket, seats
    size = config.get("raters", {}).get("documents_per_bucket")
    places = np.arange(n_documents)
    bucket = places // size if size else np.sort(places % min(len(seats), n_documents))
    return bucket, seats[np.arange(int(bucket.max()) + 1) % len(seats)]
