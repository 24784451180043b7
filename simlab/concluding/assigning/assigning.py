"""Assign a study: read items and raters, deal, order, blind, and write sheet, key and what `conclude` needs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from simlab.concluding import campaigns, sidecar
from simlab.concluding.assigning.blinding import Line, Shown, lines
from simlab.concluding.assigning.dealing import PLACE, Dealt, deal
from simlab.concluding.assigning.items import Items, read_items
from simlab.concluding.assigning.people import numbered_people, read_people
from simlab.concluding.assigning.scale import Scale, scale_of
from simlab.concluding.assigning.seating import Seated, seat
from simlab.concluding.assigning.studying import KEY, Study
from simlab.studies.worlds import draw_world
from simlab.types import Streams


@dataclass(frozen=True, slots=True)
class Assigned:
    """Hold an assignment, before it is written."""

    study: Study
    items: Items
    seated: Seated
    dealt: Dealt
    lines: tuple[Line, ...]
    scale: Scale
    seed: int
    said: tuple[str, ...]

    @property
    def left_out(self) -> tuple[str, ...]:
        """Name the documents that nobody is asked about."""
        documents, names = self.dealt.collected.documents, self.seated.frame.document_names
        if documents is None:
            return ()
        return tuple(name for name, there in zip(names, documents.tolist(), strict=True) if not there)


def assign(study: Study, items: Path, raters: Path | None, seed: int | None) -> Assigned:
    """Assign a study to items and raters; nothing is written.

    Raises InputError for items and raters that do not fit the design.
    """
    held, world = read_items(items), draw_world(study.config, 0)
    people = numbered_people(world.frame.n_raters) if raters is None else read_people(raters)
    seated = seat(world.frame, study.config, held, people)
    own = int(study.config["seed"]) if seed is None else seed
    dealt = deal(study.config, seated.frame, own)
    work = [Shown(*one) for one in dealt.screens]
    laid = tuple(lines(work, seated, held, own))
    return Assigned(study, held, seated, dealt, laid, scale_of(world), own, seated.said)


def sidecar_of(assigned: Assigned, sheet_name: str) -> str:
    """Write the study with what an analyst is told of the campaign that its sheets make, as an exported one has it."""
    study, came = assigned.study, assigned.dealt.collected
    kept = replace(came, streams=Streams(study.frozen["seed"], came.streams.path))
    address = {
        **sidecar.address(study.frozen, {}, PLACE),
        "assigned": {"seed": assigned.seed, "key": KEY, "scale": assigned.scale.plain()},
    }
    return sidecar.text(study.frozen, address, campaigns.told(kept, None), sheet_name)
