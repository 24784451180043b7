"""Carry out a block of campaigns: a pure function of the config and of addresses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simlab.studies.judgements import campaigns as judgement_campaigns
from simlab.studies.preferences import campaigns as preference_campaigns
from simlab.studies.ratings import campaigns as rating_campaigns
from simlab.studies.worlds import draw_world
from simlab.types import Array, JudgementWorld, PreferenceWorld


@dataclass(frozen=True)
class Block:
    """Hold the outcomes of consecutive studies of one world.

    `arrays[name]` has the studies first (names that begin with `true_`: one row, the world); `failures`
    lists (index in the block, reason) of the studies whose design could not be carried out.
    """

    arrays: dict[str, Array]
    failures: list[tuple[int, str]]


def run_block(config: Mapping[str, Any], world: int, first: int, count: int) -> Block:
    """Carry out the studies `first`, ..., `first + count - 1` of a world.

    A study run alone gives the same bits as within any block.
    """
    drawn = draw_world(config, world)
    if isinstance(drawn, PreferenceWorld):
        return Block(preference_campaigns.carry_out(config, drawn, world, first, count), [])
    if isinstance(drawn, JudgementWorld):
        return Block(judgement_campaigns.carry_out(config, drawn, world, first, count), [])
    return Block(*rating_campaigns.carry_out(config, drawn, world, first, count))
