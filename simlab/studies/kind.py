"""Kinds of studies: the question of each, its keys, and how a campaign of it is carried out.

A `Kind` is one frozen record of functions and declarations, which holds all that differs between kinds: a config
chooses one by its `question`, blocks of studies are carried out by its functions, stores have its outcomes as arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simlab.studies.footprint import NOTHING, Footprint
from simlab.types import Array, Campaign, Collected, DesignFailure, Outcome, Outcomes, Place, World

# Kinds of one's own take it from here.
from simlab.types.bounds import Count as Count

Config = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of the worlds of a cell; all its worlds have the same shape."""

    n_systems: int
    n_documents: int
    n_items: int
    n_raters: int
    system_names: tuple[str, ...]


@dataclass(frozen=True)
class Kind:
    """A kind of study: its config, its outcomes, and the functions that carry out a campaign.

    Its config (the file of defaults in conf/ names its `question`): `groups` of options that only it has, `sections`
    the keys of its sections that are no parts, `parts` the types that the parts of a group may return (a group that is
    not named is open to all), `brings` which raters a group of systems brings along (None: it cannot be had), `suits`
    which raters it has unless others are chosen, where those of the defaults would not fit.

    Its outcomes: `outcomes` declares them by name; `sizes(config)` counts their dimensions beside system and pair,
    `names` lists the entries along these.

    How one is carried out, from the world to the outcomes, in one straight line:

    `check(config, world)` raises InputError where keys contradict each other or the world;
    `prepare(config)` binds the parts once a cell; nothing of a world is in it, and it can be pickled;
    `lay(prepared, world, place)` returns the layout that all studies of a world share;
    `draw(prepared, world, laid, place)` draws all noise of a study;
    `collect(prepared, world, laid, noise, places)` deals and reveals: for each place a campaign, or why it failed;
    `conclude(prepared, collected)` analyses: outcomes, campaigns first. It never sees a world;
    `appraise(prepared, world, laid, campaigns, outcomes)` returns outcomes that no analyst can know;
    `truth(prepared, world, laid)` returns true values by outcome, one row for the world;
    `blank(prepared, world, laid)` fills in the outcomes of one campaign that could not be carried out, or gave, or was
    given, a value that cannot be.

    `limits(config, world)` returns, by key of a size, the greatest value that a recorded world has;
    `covers(config, world)` returns lines on what one answer covers, how many outputs are asked about, and how the
    money cuts that; `footprint(config)` forecasts, before anything is drawn, the memory that worlds and campaigns take;
    `same_layout(prepared)` returns as text the settings that a layout depends on, so that cells can share it; `batch`
    campaigns are carried out at a time (None: all of a block); `shares_noise` says that `draw` looks at nothing but the
    world and the place (the seed is the world's), so that cells of the same worlds can share what it draws.
    """

    name: str
    question: str
    groups: frozenset[str]
    sections: Mapping[str, type]
    parts: Mapping[str, tuple[Any, ...]]
    brings: Mapping[str, str]
    outcomes: Mapping[str, Outcome]
    check: Callable[[Config, World], Shape]
    prepare: Callable[[Config], Any]
    lay: Callable[[Any, World, Place], Any]
    draw: Callable[[Any, World, Any, Place], Any]
    collect: Callable[[Any, World, Any, Iterator[Any], Sequence[Place]], list[Campaign | DesignFailure]]
    conclude: Callable[[Any, Sequence[Collected]], dict[str, Array]]
    appraise: Callable[[Any, World, Any, Sequence[Campaign], Outcomes], dict[str, Array]]
    truth: Callable[[Any, World, Any], dict[str, Array]]
    blank: Callable[[Any, World, Any], dict[str, Array]]
    document_set: Callable[[Any, World, int], int]
    same_layout: Callable[[Any], str]
    batch: int | None = None
    shares_noise: bool = False
    covers: Callable[[Config, World], list[str]] = field(default=lambda config, world: [])
    footprint: Callable[[Config], Footprint] = field(default=lambda config: NOTHING)
    limits: Callable[[Config, World], Mapping[str, int]] = field(default=lambda config, world: {})
    sizes: Callable[[Config], Mapping[str, int]] = field(default=lambda config: {})
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    suits: Mapping[str, str] = field(default_factory=dict)

    def accepts(self, world: World) -> bool:
        """True if a world can answer the question of this kind of study."""
        return self.question in world.answers
