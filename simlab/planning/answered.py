"""Name what an answer is made of: figures with errors, rows of designs, the front, what binds, what would reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from simlab.config.studyfile import FrozenFamily
from simlab.planning.terms import Design, Flip, Ground, Robust, Wanted


class Figure(NamedTuple):
    """Hold a measured value, its standard error, its 95 % interval, and the worlds and studies that it rests on."""

    value: float
    mcse: float
    low: float
    high: float
    worlds: int
    studies: int = 0


Figures = Mapping[str, Figure]
"""Figures by name of measure."""


class Row(NamedTuple):
    """Hold a design beside the advice: its figures and `less`, paired differences to the advice (this one minus it).

    `role` is "advice", "same_money" or "most". `gap` is how much more it costs than the advice, as a share of it.
    """

    role: str
    design: Design
    figures: Figures
    less: Figures
    gap: float


class Point(NamedTuple):
    """Hold a design that was looked at while searching; `front`: none that was costs less and gives more."""

    design: Design
    figures: Figures
    reaches: bool
    within: bool
    front: bool


class Binding(NamedTuple):
    """Hold what keeps the largest design within the limits from being larger.

    `name` is "money", "deadline", "documents" (the end of their range), "raters" (nobody is left to ask) or "none".
    `share` of the campaigns of the next larger design end by it; NaN where that was not measured.
    """

    name: str
    share: float
    design: Design
    next: Design | None


class OtherMoney(NamedTuple):
    """Hold what another amount of money changes, read off lines fitted along sizes.

    `advice` is the cheapest design that reaches the targets with it (None: none does) and `cost` its money; `most` is
    the best that it buys, with the first target's measure.
    """

    money: float
    advice: Design | None
    cost: float
    most: Design | None
    figure: Figure


class Short(NamedTuple):
    """Hold a target that the best design misses, and by how much."""

    measure: str
    least: float
    figure: Figure


class Remedy(NamedTuple):
    """Hold what would reach the targets: the value of something, its 95 % interval, and what it would cost.

    `what` is "documents", "raters" or "difference"; an infinite value says that no number would do. `extrapolated`: it
    is not simulated, but follows from a fitted line.
    """

    what: str
    design: Design
    value: float
    low: float
    high: float
    money: float
    extrapolated: bool


class Loads(NamedTuple):
    """Hold what a design asks of people: outputs, ratings in all, and per rater on average and at most.

    `covers` says what one rating is about. `per_rater_documents` counts the documents that a rater sees on average.
    """

    covers: str
    outputs: float
    ratings: float
    raters: int
    per_rater: float
    most: float
    per_rater_documents: float


class Pool(NamedTuple):
    """Hold how many raters a study needs whose findings are to hold for raters that were not asked.

    `design` is that of such a pool, with its figures; `raters` is None where no number that was tried would do.
    """

    raters: int | None
    design: Design
    figures: Figures


@dataclass(frozen=True, slots=True)
class Answer:
    """Hold all that a plan says.

    `rows` begin with the advice, or where nothing reaches the targets (`reached` is false) the best there is; their
    figures come from `worlds` fresh worlds with `studies` campaigns each, which no choice has seen. `front` holds what
    was looked at while searching. `all_new` are the figures of the design for raters that were not asked, where targets
    are for these raters. `open` are the sizes between which nothing is decided where patience ended before fresh worlds
    showed the targets (None: they did, or nothing reaches them). `cheapest` is the probability that no design which
    reaches the targets costs 5 % less. `family` is the one that claims are fixed to, if one was asked for.
    """

    ground: Ground
    wanted: Wanted
    reached: bool
    rows: tuple[Row, ...]
    front: tuple[Point, ...]
    binding: Binding
    other_money: tuple[OtherMoney, ...]
    short: tuple[Short, ...]
    remedies: tuple[Remedy, ...]
    probability: float
    designs: int
    campaigns: int
    worlds: int
    why: str
    robust: Robust | None = None
    scenarios: Robust | None = None
    flips: tuple[Flip, ...] = ()
    loads: Loads | None = None
    all_new: Figures = field(default_factory=dict)
    pool: Pool | None = None
    seconds: float = float("nan")
    config: Mapping[str, Any] = field(default_factory=dict)
    open: tuple[int, int] | None = None
    cheapest: float = float("nan")
    family: FrozenFamily | None = None

    @property
    def advice(self) -> Row:
        """Return the design that is advised, or the best there is."""
        return self.rows[0]
