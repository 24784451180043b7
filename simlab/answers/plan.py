"""Records of `simlab plan`: the study to buy, rivals at its price, how sure that is, and what would change it.

`StudyPlan` is the whole answer, `PlanFile` the content of plan.json. A design is a setting of each lever (documents,
ratings of each output, grouping and so on), as pairs of key and value; figures are measures of simulated studies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, nan
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, model_validator

from simlab.answers.records import Count, Known, Num, Record, Rows, Upper

SIZE, EACH = "design.documents", "design.ratings_per_item"
GROUPING, NORMALIZATION = "design.grouping", "analysis.normalization"
POOL = ("raters.pool_size", "systems.n_raters")
"""Keys that say how many raters there are."""
COUNTS = (SIZE, EACH, *POOL)
"""Keys of designs whose values are whole numbers."""
ACCOUNTS = ("money", "hours", "days")
"""Measures of what a study takes."""
TOO_FEW = "not known, too few were simulated (--at-most)"
"""Why the share of a pilot's worlds in which targets are reached is not known."""


def _make_pairs(settings: Any) -> Any:
    """Return a mapping as pairs; a lever's values may be numbers of numpy."""
    pairs = settings.items() if isinstance(settings, Mapping) else settings
    if not isinstance(settings, Mapping | tuple):
        raise ValueError("must be an object of settings")
    return tuple((key, value.item() if hasattr(value, "item") else value) for key, value in pairs)


def _check_counts(settings: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
    for key, value in settings:
        if key in COUNTS and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
            raise ValueError(f"{key} must be a whole number from 0")
    return settings


Role: TypeAlias = Literal["advice", "same_money", "most"]
"""The design to buy, a rival at about its price, or the largest design within the limits."""
Setting = bool | int | Known | str
"""A value of a lever."""
Settings = Annotated[
    tuple[tuple[str, Setting], ...], BeforeValidator(_make_pairs), AfterValidator(_check_counts), PlainSerializer(dict)
]
"""Keys and values of a design, in the order of its levers; JSON has them as an object."""


def _read_ends(ends: Any) -> Any:
    return (ends["from"], ends["to"]) if isinstance(ends, Mapping) and ends.keys() == {"from", "to"} else ends


Sizes = Annotated[
    tuple[Count, Count], BeforeValidator(_read_ends), PlainSerializer(lambda ends: {"from": ends[0], "to": ends[1]})
]
"""The least and the greatest of a range of sizes; JSON has them as `from` and `to`."""


class Figure(Record):
    """A measured value, its standard error, its 95 % interval, and the worlds and studies that it rests on."""

    value: Num
    mcse: Num
    low: Num
    high: Num
    worlds: Count
    studies: Count = 0


Figures = Mapping[str, Figure]
"""Figures by name of measure."""


class Target(Record):
    """Least value that a measure, a share, is to reach; a `floor` ranks no designs."""

    measure: str
    least: Known
    floor: bool = False


class Limits(Record):
    """Limits of a plan: money in a currency that may have a name, and a deadline as it was typed."""

    money: Known | None
    currency: str | None
    deadline: str | None


class Smallest(Record):
    """Smallest difference that matters, in the users' unit, and where it comes from."""

    value: Known
    unit: str
    why: str


class Takes(Record):
    """Amounts that a design takes, from documents to money; what is not known is null."""

    documents: int | None
    outputs: Num
    ratings: Num
    raters: Count | None
    per_rater: Num
    hours: Num
    money: Num
    currency: str | None


class UnderPilot(Record):
    """Share of the worlds that a pilot allows (`draws` of them) in which all targets are reached, or why not known."""

    share: Num
    low: Num
    high: Num
    draws: Count
    why: str = Field(default="", exclude_if=lambda why: not why)


class ClaimFamily(Record):
    """Comparisons that claims are fixed to, and the baseline of `against`."""

    name: str
    against: str | None = None


class Outdone(Record):
    """Upper bound `at_most` on how much more any of `rows` other designs at the same price finds of `measure`.

    It holds for all of them at once with probability `confidence`; `margin` is the difference that may be ignored. `by`
    is the design that finds more beyond chance, None where none does.
    """

    measure: str
    rows: Count
    at_most: Upper
    margin: Known
    confidence: Known
    by: Settings | None


class DesignRow(Record):
    """A design beside the advised one: its figures, and the paired `difference` to that (this one minus the advice).

    `gap` is how much more it costs than the advice, as a share of it.
    """

    role: Role
    design: Settings
    gap: Num
    measures: dict[str, Figure]
    money: Num
    hours: Num
    days: Num
    difference: dict[str, Figure]

    @property
    def figures(self) -> Figures:
        """The figures that are known."""
        return known_figures(self.measures)

    @property
    def less(self) -> Figures:
        """The differences to the advice that are known."""
        return known_figures(self.difference)


class LargestDesign(Record):
    """Largest design within the limits, the next larger one, and the share of its studies that ended early.

    The share is of those that are ended by what binds; NaN where it was not measured.
    """

    design: Settings
    next: Settings | None
    ended_by: Num


class OtherMoney(Figure):
    """Effect of another amount of money, read off lines fitted along sizes.

    `design` is the cheapest that reaches the targets with it (None: none does), at `cost`; `most` is the best that it
    buys, with the first target's measure.
    """

    money: Known
    design: Settings | None
    cost: Num
    most: Settings | None


class MissedTarget(Figure):
    """A target that the best design misses, with the figure that misses it."""

    target: str
    least: Known


class Remedy(Record):
    """Remedy for missed targets: the value of something, its 95 % interval, and what it would cost.

    An infinite value says that no number would do. `extrapolated`: it is not simulated, but follows from a fitted line.
    """

    what: Literal["documents", "raters", "difference"]
    design: Settings
    value: Upper
    low: Upper
    high: Upper
    money: Num
    extrapolated: bool


class Robust(Record):
    """Robustness of the advice over the worlds that a pilot allows, or over scenarios, each named.

    `share` (with `low` and `high`) of the draws reach all targets, `q05` is the 5 % quantile of the first target's
    measure, `regret` (with an interval) the mean cost beyond that of the cheapest design that reaches the targets in
    each, as a share of the advice's cost. `source` is "posterior draws" or "scenarios"; `more` names the
    scenarios in which the advice misses a target, and is empty for draws.
    """

    share: Num
    low: Num
    high: Num
    q05: Num
    regret: Num
    regret_low: Num
    regret_high: Num
    draws: Count
    source: str
    more: str


class AdviceChange(Record):
    """Nearest value of an assumption at which another design is the better advice, with a 90 % interval.

    `now` is the assumed value of `key`, `at` the one at which the advice changes (with `low` and `high`), `then` the
    better design from there on. `said` are words for the assumption from that value on, `plausible` is the range that
    `source` gives it, `distance` that from its value now, scaled by this range. `then` is None where nothing reaches
    the targets beyond it.
    """

    assumption: str
    key: str
    now: Known
    unit: str
    said: str
    source: str
    at: Known
    low: Num
    high: Num
    distance: Num
    then: Settings | None
    why: str
    plausible: tuple[Num, Num]


class Loads(Record):
    """Loads of people in a design: outputs, ratings in all, and per rater on average and at most.

    `covers` says what one rating is about; `most` is the largest number of ratings of one rater. `per_rater_documents`
    counts the documents that a rater sees on average.
    """

    covers: str
    outputs: Known
    ratings: Known
    raters: Count
    per_rater: Known
    most: Known
    per_rater_documents: Known


class NeededRaters(Record):
    """Number of raters that a study needs whose findings are to hold for raters that were not asked.

    `design` is that of such a pool, as pairs of keys and values, with its figures; `raters` is None where no number
    that was tried would do.
    """

    raters: Count | None
    design: Annotated[tuple[tuple[str, Setting], ...], AfterValidator(_check_counts)]
    figures: dict[str, Figure]


class TriedDesign(Record):
    """A design that the search measured.

    `front`: no measured design beats it in money, days and the first target's measure together; `reaches`: it reaches
    all targets; `within`: it keeps to all limits.
    """

    design: Settings
    front: bool
    reaches: bool
    within: bool
    measures: dict[str, Figure]

    @property
    def figures(self) -> Figures:
        """The figures that are known."""
        return known_figures(self.measures)


class StudyPlan(Record):
    """Plan of a study: the design, its figures, its rivals, and what would change it.

    `design` is the one to buy, or where nothing reaches the targets (`reached` is false) the best there is; its
    `measures` come from `worlds` fresh worlds, which no choice has seen, and so do those of `runners`. `settings` are
    the values of the composed study that pages name. `front` holds the designs that the search measured. `all_new` are
    the figures of the design for other raters, where targets are for these raters (`these_raters`). `open` are the
    sizes between which nothing is decided where patience ended before fresh worlds showed the targets. `probability` is
    that of the choice being right, `cheapest` that of no design which reaches the targets costing 5 % less. `ground`
    describes the world in which designs were simulated, for programs. `study` and `digest` name the frozen study.
    """

    reached: bool
    design: Settings
    settings: Settings
    study: str | None = None
    digest: str | None = None
    cost: Num
    currency: str | None
    hours: Num
    days: Num
    measures: dict[str, Figure]
    sizes: Takes
    power_at: Figure | None
    under_pilot: UnderPilot | None
    family: ClaimFamily | None = None
    open: Sizes | None
    confidence: Known
    probability: Num
    cheapest: Num
    margin: Known
    targets: Annotated[tuple[Target, ...], Field(min_length=1)]
    limits: Limits
    smallest: Smallest
    seed: int
    designs: Count
    campaigns: Count
    worlds: Count
    ended: str
    outdone: Outdone
    runners: tuple[DesignRow, ...]
    binding: Literal["money", "deadline", "documents", "raters", "none"]
    largest: LargestDesign
    other_money: tuple[OtherMoney, ...]
    missed: tuple[MissedTarget, ...]
    would_reach: tuple[Remedy, ...]
    robust: Robust | None
    scenarios: Robust | None = None
    flips: tuple[AdviceChange, ...]
    loads: Loads | None
    systems: Count
    raters: Count
    these_raters: bool
    all_new: dict[str, Figure]
    pool: NeededRaters | None
    pilot: str | None
    world: str
    assumed: tuple[str, ...]
    ground: dict[str, Any]
    front: tuple[TriedDesign, ...]

    @property
    def figures(self) -> Figures:
        """The figures of the design that are known."""
        return known_figures(self.measures)

    @property
    def new_figures(self) -> Figures:
        """The known figures of the design for raters that were not asked."""
        return known_figures(self.all_new)

    @property
    def rows(self) -> tuple[DesignRow, ...]:
        """The design, and what stands beside it."""
        accounts = {"money": self.cost, "hours": self.hours, "days": self.days}
        own = DesignRow(role="advice", design=self.design, gap=0.0, measures=self.measures, difference={}, **accounts)
        return own, *self.runners

    @property
    def first_target(self) -> Target:
        """The target that designs are ranked by."""
        return find_leading_target(self.targets)

    @property
    def wanted_line(self) -> float:
        """Value at which a figure draws the first target: less the margin if the design reaches it only with that."""
        target, figure = self.first_target, self.figures.get(self.first_target.measure)
        within = self.reached and figure is not None and figure.value < target.least
        return target.least - self.margin if within else target.least


class PlanAnswer(Rows[StudyPlan]):
    """A plan as `simlab plan` prints and keeps it: the only record of a list."""

    @model_validator(mode="after")
    def _check_one(self) -> PlanAnswer:
        if len(self.root) != 1:
            raise ValueError("must have one record")
        return self

    @property
    def plan(self) -> StudyPlan:
        """Plan of the study."""
        return self.root[0]

    def serialise(self) -> list[dict[str, Any]]:
        """Return the record as JSON holds it, all fields of it."""
        return [self.plan.serialise()]


def known_figures(figures: Figures) -> Figures:
    """Return the figures whose values are known."""
    return {name: figure for name, figure in figures.items() if isfinite(figure.value)}


def find_leading_target(targets: Sequence[Target]) -> Target:
    """Return the target that designs are ranked by: the first that is no floor."""
    return next((target for target in targets if not target.floor), targets[0])


def front_rows(plan: StudyPlan) -> list[dict[str, Any]]:
    """Return the designs of `plan.front` as flat rows, in their order: levers, `TriedDesign`'s flags, measures.

    Each measure has four columns: `m`, `m_mcse`, `m_low`, `m_high`.
    """
    levers = list(dict.fromkeys(key for design in plan.front for key, _ in design.design))
    names = list(dict.fromkeys(name for design in plan.front for name in design.measures))
    return [_flatten_design(design, levers, names) for design in plan.front]


def _flatten_design(design: TriedDesign, levers: Sequence[str], names: Sequence[str]) -> dict[str, Any]:
    settings = dict(design.design)
    row: dict[str, Any] = {key: settings.get(key) for key in levers}
    row |= {"front": design.front, "reaches": design.reaches, "within": design.within}
    for name in names:
        figure = design.measures.get(name)
        parts = (figure.value, figure.mcse, figure.low, figure.high) if figure else (nan,) * 4
        row |= dict(zip((name, f"{name}_mcse", f"{name}_low", f"{name}_high"), parts, strict=True))
    return row


class PlanFile(Record):
    """Content of `plan.json`: the request, its command line, the answer, and the digest of the study.

    `command` holds the words behind `simlab`, empty for a second study, whose plan no words of its own ask for.
    """

    schema_: Count = Field(alias="schema")
    simlab: str
    asked: dict[str, Any]
    command: tuple[str, ...] = ()
    study: str = "study.yaml"
    digest: str
    answer: dict[str, Any]


class PairToSettle(Record):
    """Two systems, and how many new documents or comparisons settle which is better in half of such pairs."""

    first: str
    second: str
    number: Count


class SecondStudy(Record):
    """A second study: `documents` of all `systems`, for `ratings`, by `raters` (None: as before).

    `new_raters` are others than those of the first study; `why` says in words what the study settles and promises.
    """

    systems: tuple[str, ...]
    documents: Count
    ratings: Count
    raters: Count | None
    pairs: Annotated[tuple[PairToSettle, ...], Field(min_length=1)]
    new_raters: bool
    why: str
