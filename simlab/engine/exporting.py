"""Carry out the asking of one campaign once more, alone: what was collected, as whoever analyses it has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simlab.engine.addresses import Finished, unpack
from simlab.engine.replaying import differing
from simlab.studies import blocks, worlds
from simlab.studies.blocks import laid_out
from simlab.studies.kind import Kind
from simlab.studies.kinds import kind_of
from simlab.studies.outcomes import refuse_impossible
from simlab.studies.sealing import sealed, writing_noticed
from simlab.studies.worlds import draw_world
from simlab.types import Campaign, Collected, DesignFailure, InputError, Place


def collected(config: Mapping[str, Any], place: Place) -> Collected:
    """Collect one campaign, with nothing kept from what was carried out before.

    Raises InputError where its design cannot be carried out, or where it meets a value that cannot be.
    """
    worlds.forget()
    blocks.forget()
    kind = kind_of(config)
    try:
        with writing_noticed():
            campaign = _campaign(kind, config, place)
            refuse_impossible(campaign.collected)
    except DesignFailure as failure:
        raise InputError(
            f"world {place.world}, study {place.study}: this campaign failed ({failure}), so that there is nothing to "
            "export; name another"
        ) from failure
    return sealed(campaign.collected)


def _campaign(kind: Kind, config: Mapping[str, Any], place: Place) -> Campaign:
    prepared, world = kind.prepare(config), draw_world(config, *place[:3])
    laid = laid_out(kind, config, prepared, world, place)
    noise = sealed(kind.draw(prepared, world, laid, place))
    (found,) = kind.collect(prepared, world, laid, iter([noise]), [place])
    if isinstance(found, DesignFailure):
        raise found
    return found


def differs(config: Mapping[str, Any], collected: Collected, held: Finished, study: int) -> list[str]:
    """Name the outcomes that a block holds of a study otherwise than they follow from what was collected."""
    kind = kind_of(config)
    concluded = kind.conclude(kind.prepare(config), [collected])
    block = unpack(held.payload)
    kept = {name: array for name, array in block.items() if name in concluded}
    return differing(kept, study - held.address.first, concluded, 0)
