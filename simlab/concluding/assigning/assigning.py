"""Deal the items of a planned study of ratings to raters, shuffled and blinded.

Call `assign` with the study and the tables of items and raters: it returns an `Assigned`, which `writing.write` puts
into files.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from simlab.concluding import campaigns
from simlab.concluding.assigning import blinding
from simlab.concluding.assigning.blinding import SheetLine, ShownScreen, lines
from simlab.concluding.assigning.controls import add_controls
from simlab.concluding.assigning.dealing import PLACE, DealtCampaign, Seated, deal, find_seconds, seat, seat_by_capacity
from simlab.concluding.assigning.items import Items, RaterCapacity, numbered_people, read_items, read_people
from simlab.concluding.assigning.planned_study import KEY, AssignedStudy, RatingScale, scale_of
from simlab.messages import clip, suggest
from simlab.rng import stream
from simlab.studies.checks import check
from simlab.studies.worlds import draw_world
from simlab.types import InputError, Ints, Streams


@dataclass(frozen=True, slots=True)
class Assigned:
    """An assignment, before it is written.

    `items` are the outputs that can be rated, `seated` the raters in their seats, `dealt` the deal: which rater rates
    which output, in which order. `lines` are the ratings to be given, control items included; `scale` is the scale of
    ratings, `seed` the seed of the deal, `notes` are sentences for the user.
    """

    study: AssignedStudy
    items: Items
    seated: Seated
    dealt: DealtCampaign
    lines: tuple[SheetLine, ...]
    scale: RatingScale
    seed: int
    notes: tuple[str, ...]

    @property
    def left_out(self) -> tuple[str, ...]:
        """Return the names of the documents that the deal leaves out."""
        documents, names = self.dealt.collected.documents, self.seated.frame.document_names
        if documents is None:
            return ()
        return tuple(name for name, there in zip(names, documents.tolist(), strict=True) if not there)


def assign(
    study: AssignedStudy, items: Path, raters: Path | None, seed: int | None, share: float | None = None
) -> Assigned:
    """Assign a study to items and raters; nothing is written.

    `items` and `raters` are tables (no raters: r1, r2, ...), `seed` is that of the deal (None: the study's), `share` is
    that of control ratings for each rating (None: as planned).

    Raises InputError for a study whose keys contradict each other, and for items and raters that do not fit it.
    """
    item_table = read_items(items)
    check(study.config)
    world = draw_world(study.config, 0)
    people = numbered_people(world.frame.n_raters) if raters is None else read_people(raters)
    seated = seat(world.frame, study.config, item_table, people)
    if study.family and study.family.against not in (None, *seated.frame.system_names):
        hint = suggest(str(study.family.against), seated.frame.system_names, "there are", 300)
        raise InputError(
            f"{clip(items)}: lacks {clip(str(study.family.against), 60)}, the baseline of the plan; {hint}"
        )
    # The plan's own seed by default: the real deal is then the first one that was simulated.
    own = int(study.config["seed"]) if seed is None else seed
    dealt = deal(study.config, seated.frame, own)
    sizes = np.array([len(segment) for segment in item_table.segments])
    rng = stream(own, *PLACE.of_study, "assign", "controls")
    work = add_controls(rng, dealt.screens, sizes, item_table.controls, _share(study, item_table, share))
    loads = np.bincount(
        [screen.rater for screen in work for _ in range(_size(screen, sizes))], minlength=seated.frame.n_raters
    )
    seconds = find_seconds(study.config, world)
    unused = _list_unused_hours(people, seconds)
    # Control ratings are work, too, so capacity is checked after they were added.
    seated = seat_by_capacity(seated, loads, seconds)
    dealt = dealt._replace(collected=replace(dealt.collected, frame=seated.frame))
    laid = tuple(lines(work, seated, item_table, own, study.digest))
    return Assigned(study, item_table, seated, dealt, laid, scale_of(study.config), own, (*seated.notes, *unused))


def _share(study: AssignedStudy, items: Items, share: float | None) -> float | None:
    """Return the share of control ratings: as asked, else as planned; None, of all control items, where there are."""
    if share is not None:
        if not 0 <= share <= 1:
            raise InputError(f"--controls {share:g}: a share of control ratings is from 0 to 1, such as .05")
        return share
    planned = study.config["design"].get("collection", {}).get("control_share") or 0.0
    # Whoever lists control items and plans no share of them means each item to be shown once.
    return None if items.controls and not planned else planned


def _size(screen: ShownScreen, sizes: Ints) -> int:
    return len(screen.control.segments) if screen.control else int(sizes[screen.document])


def _list_unused_hours(people: Sequence[RaterCapacity], seconds: float | None) -> tuple[str, ...]:
    if seconds is None and any(math.isfinite(person.hours) for person in people):
        return ("hours are not held against the work: the study has no clock (design.collection)",)
    return ()


def write_sidecar(assigned: Assigned) -> str:
    """Return the text of an assignment's sidecar: the study, and the campaign that filled sheets are read back into."""
    study, came = assigned.study, assigned.dealt.collected
    # A --seed changes the deal alone; the analysis keeps the random numbers of the study.
    kept = replace(came, streams=Streams(study.frozen["seed"], came.streams.path))
    address = {
        **campaigns.address(study.frozen, {}, PLACE),
        "assigned": {
            "seed": assigned.seed,
            "key": KEY,
            "key_sha256": blinding.digest(blinding.text(assigned.lines)),
            # Written down, so that sheets are read back where files that the study names are not at hand.
            "scale": assigned.scale.serialise(),
        },
    }
    return campaigns.text(study.frozen, address, campaigns.write_campaign_info(kept, None), KEY, study.family)
