"""Data types of a plan: designs and levers, the request, assumptions, the ground, the bench, and results.

A *design* is a tuple of settings that it adds to the study that all designs share. All designs meet the same simulated
worlds; a *family* are the designs that differ in their size only (documents), along which cost rises. To *look* at a
design is to simulate its campaigns, one or more in each world, and to measure them. *Patience* is how much a plan may
simulate, in studies or seconds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

from simlab.answers.plan import SIZE, Limits, Smallest, Target
from simlab.types import Estimate

Design: TypeAlias = tuple[tuple[str, Any], ...]
"""Keys and values beside the base, in the order of the levers: `(("design.grouping", "ungrouped"), ...)`."""

MeasuredDesign: TypeAlias = Mapping[str, Estimate]
"""Estimates of a design by name of measure; their `influence[world]` is over the same worlds in all designs."""


class Lever(NamedTuple):
    """A key that designs differ in, and its values; those of a size rise."""

    key: str
    values: tuple[Any, ...]

    @property
    def is_size(self) -> bool:
        """True if designs of one family differ in it."""
        return self.key == SIZE


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """Request of a plan: its targets, limits, margin and confidence.

    `smallest` is the smallest difference between systems that matters, `margin` the indifference in a measure,
    `confidence` the probability with which fresh worlds are to show the targets of the advice, and with which the
    search wants its choice to be right.
    """

    targets: tuple[Target, ...]
    limits: Limits
    smallest: Smallest
    margin: float = 0.02
    confidence: float = 0.95
    seed: int = 1


class Assumption(NamedTuple):
    """Assumption about worlds, people or prices, and how far it might be otherwise.

    `key` is the setting (`raters.leniency_sd`) that holds it, `value` what it is now, `low` and `high` its plausible
    range, from the pilot or assumed (`source`); `least` and `most` are how far a flip is looked for. `log`: distances
    are those of logarithms. `words` are a sentence with a place for the value: "raters favour single systems by {:.1f}
    points".
    """

    name: str
    key: str
    value: float
    low: float
    high: float
    least: float
    most: float
    log: bool
    words: str
    unit: str
    source: str


@dataclass(frozen=True, slots=True)
class Ground:
    """Ground of a plan: the study that all designs share, as KEY=VALUE `words`, and facts about its world.

    `systems` and `raters` are their numbers, `levers` the keys in which designs differ. `read` and `world` are lines on
    the pilot and the world, `assumed` lines on facts that are unknown, or taken from presets. With `these_raters` there
    are too few raters for claims about others. `system_sd` is the spread of the systems' truths in `unit`, noise
    removed. `draws` counts the posterior draws of a fitted world (0: none). `record` is for programs.
    """

    words: tuple[str, ...]
    read: str | None
    world: str
    assumed: tuple[str, ...]
    systems: int
    raters: int
    these_raters: bool
    unit: str
    system_sd: float
    draws: int
    levers: tuple[Lever, ...]
    assumptions: tuple[Assumption, ...]
    record: Mapping[str, Any]


class Bench(Protocol):
    """Simulate campaigns of designs in numbered worlds, and measure them; no campaign is simulated twice."""

    @property
    def campaigns(self) -> int:
        """Count the campaigns that the answers given so far rest on."""

    def remaining_seconds(self) -> float:
        """Return how much patience is left: studies, or seconds."""

    def pace(self) -> float:
        """Return how much patience a world of a design takes; 0 where that is not known yet."""

    def look(self, wants: Mapping[Design, int]) -> Mapping[Design, MeasuredDesign]:
        """Simulate the missing ones of each design's first `wants[design]` worlds; return the measures by design.

        They are those of all worlds that it was ever looked at in. A design of which no campaign could be carried out
        has no measures.
        """


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Result of a search: the advice, the best design, and its rivals.

    A design gets further than another if it has a larger value of the first target. `advice` is the cheapest design
    that reaches all targets within the limits, None where none does or none is shown to in fresh worlds: then `leading`
    is the one that came next, and `open` the sizes of its family between which nothing is decided. `best` is the design
    that gets furthest within the limits; `rivals` are the best size of each other family: the cheapest that reaches the
    targets, else the one that gets furthest. `probability` is that of the choice being right, of `designs` in all, and
    `cheapest` that of no design being cheaper by more than 5 %. `tried` holds the measures of all designs that were
    looked at, `why` what ended the search.
    """

    advice: Design | None
    best: Design
    rivals: tuple[Design, ...]
    tried: Mapping[Design, MeasuredDesign]
    probability: float
    designs: int
    campaigns: int
    why: str
    leading: Design | None = None
    open: tuple[int, int] | None = None
    cheapest: float = math.nan

    @property
    def chosen(self) -> Design:
        """Return the design that a plan is about: the advice, else the one that came next, else the best."""
        return self.advice or self.leading or self.best


class Flip(NamedTuple):
    """Nearest value of an assumption at which another design is the better advice, with a 90 % interval.

    `distance` is that from its value now, scaled by its plausible range (1: at the range's end). `then` is the design
    that is advised beyond it, None where none reaches the targets; `why` says what happens there.
    """

    assumption: Assumption
    at: float
    low: float
    high: float
    distance: float
    then: Design | None
    why: str


def family(design: Design) -> Design:
    """Return the design without its size, which names its family."""
    return tuple((key, value) for key, value in design if key != SIZE)


def size_of(design: Design) -> int | None:
    """Return the size of a design; None where it has none."""
    return next((int(value) for key, value in design if key == SIZE), None)


def replace_setting(design: Design, key: str, value: Any) -> Design:
    """Return a design with another value of a key, in its place, or behind all others."""
    if key not in dict(design):
        return (*design, (key, value))
    return tuple((name, value if name == key else old) for name, old in design)
