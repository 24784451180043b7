"""Terms of reports: headings, sentences, tables, charts and numbers with their errors, without any markup.

Whoever makes a report (of a store, of an answer) says what it shows; whoever writes one (as HTML, Markdown, LaTeX) says
how. Neither knows the other. A new kind of answer is one function that returns a `Report`; a new form is one function
that takes one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Value:
    """A number with its error: Monte-Carlo standard error, n, clusters, interval, unit.

    `standard_error` is one over what was sampled (documents, pairs of raters): more campaigns make it no smaller.
    `label` names it where it stands alone; in a table its column does. `value` is None where it is not known, and
    `reason` then says why. `digits` are its decimals (None: by its error). A `signed` one is a difference.
    An error that cannot be told is NaN.
    """

    value: float | None
    mcse: float | None = None
    n: int | None = None
    clusters: int | None = None
    low: float | None = None
    high: float | None = None
    unit: str = ""
    label: str = ""
    reason: str = ""
    standard_error: float | None = None
    digits: int | None = None
    signed: bool = False

    @property
    def error(self) -> float | None:
        """Error behind ±: a number has one of the two errors."""
        return self.standard_error if self.mcse is None else self.mcse


def value_or_reason(number: float, reason: str, **more: Any) -> Value:
    """Return a number of an answer as a `Value`; NaN is not known, for the reason given.

    `more` are further fields of a `Value` (errors, ends of the interval), where NaN becomes None.
    """
    rest: dict[str, Any] = {
        name: None if isinstance(value, float) and not isfinite(value) else value for name, value in more.items()
    }
    return Value(number, **rest) if isfinite(number) else Value(None, **rest, reason=reason)


Cell: TypeAlias = str | int | float | Value | None


@dataclass(frozen=True, slots=True)
class Prose:
    """A paragraph of plain text."""

    text: str


@dataclass(frozen=True, slots=True)
class Points:
    """A list of plain texts."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Figures:
    """A few numbers that stand large, beside each other."""

    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Code:
    """Words to type, or a file: `language` is console, yaml, bibtex, json or text."""

    text: str
    language: Literal["console", "yaml", "bibtex", "json", "text"] = "text"


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table with a caption; each row has a cell a column. Units stand in the titles of columns.

    `across` is the axis whose values the columns of numbers are, where they are that.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    across: str = ""


@dataclass(frozen=True, slots=True)
class ChartPoint:
    """A point of a chart; `low` and `high` bound its value, which has `mcse`, `n`, `clusters`, `standard_error`.

    `line` is the line or colour it belongs to; `note` stands beside the numbers on hovering; a `chosen` one stands out.
    """

    x: float | str
    y: float | str
    low: float | None = None
    high: float | None = None
    line: str = ""
    mcse: float | None = None
    n: int | None = None
    clusters: int | None = None
    note: str = ""
    chosen: bool = False
    standard_error: float | None = None


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart as data: its question, axes with units, marks, and what it shows in words for those who do not see it.

    `lines` has numbers across and intervals up; `intervals` has names up (`y`) and values with intervals across (`x`,
    `low`, `high`); `scatter` has numbers on both axes, its chosen marks stand out. `target` is a line that is wanted,
    on the axis of the values, and `wanted` what it is called. `bounds` are those of the values shown.
    `interval` names what reaches from `low` to `high`. `equal`: both axes hold one quantity, and the line on which the
    two are equal is drawn. `links` are arrows of pictures, from one name up to another.
    """

    kind: Literal["lines", "intervals", "scatter"]
    question: str
    x: str
    y: str
    marks: tuple[ChartPoint, ...]
    alt: str
    legend: str = ""
    target: float | None = None
    bounds: tuple[float | None, float | None] = (None, None)
    table: ReportTable | None = None
    interval: str = "interval"
    equal: bool = False
    links: tuple[tuple[str, str], ...] = ()
    wanted: str = "target"


@dataclass(frozen=True, slots=True)
class PairMatrix:
    """Shares of claims on each pair of systems in a design: how often each kind of error was made.

    `shares[design][kind][pair]` is a share of the campaigns; `pairs` hold places in `systems`.
    """

    question: str
    alt: str
    systems: tuple[str, ...]
    pairs: tuple[tuple[int, int], ...]
    designs: tuple[str, ...]
    kinds: tuple[str, ...]
    shares: tuple[tuple[tuple[float | None, ...], ...], ...]
    n: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportAxis:
    """An axis of a sweep: its name in rows, its config key, its label, and its values with their labels."""

    name: str
    key: str
    label: str
    values: tuple[Any, ...]
    labels: tuple[str, ...]
    numeric: bool


@dataclass(frozen=True, slots=True)
class Quantity:
    """A measure of a sweep: its name in rows, label, unit, range, whether less is better, and what is held fixed.

    `cluster` is the word for what its values are replicated over (world, document set, replicate).
    """

    name: str
    label: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    less_is_better: bool = False
    held_fixed: str = ""
    cluster: str = "cluster"


@dataclass(frozen=True, slots=True)
class Explorer:
    """A sweep's rows to look at from all sides: `rows` are those of `query --format json`.

    The first view has `measure` up, the axis `x` across and a line for each value of `line`; every further axis is a
    slice. `costs` name the measures that can go across in an equal-cost view (money, hours). `static` draws the first
    view where nothing is interactive, `table` holds it as numbers.
    """

    question: str
    alt: str
    rows: tuple[Mapping[str, Any], ...]
    axes: tuple[ReportAxis, ...]
    measures: tuple[Quantity, ...]
    measure: str
    x: str | None
    line: str | None
    costs: tuple[str, ...]
    table: ReportTable
    static: Callable[[], Figure]
    target: float | None = None


@dataclass(frozen=True, slots=True)
class Drill:
    """A sweep to walk into: from a cell to its worlds, to the campaigns of one, to the line that replays one.

    Cells are counted as those of a grid, the last axis fastest; `values[cell]` with `errors` are those of `measure`.
    `numbers[cell]` is the cell's number in the ledger, None where the sweep leaves it out. `claims[cell][campaign]`
    counts the significant pairs of a campaign, by world, pool, draw of documents and study, -1 for one that failed, -2
    for one that was not run; it is None where there are too many, or none is kept. `sizes` count these four; `replay`
    and `export` are commands up to the address of the campaign (empty: no ledger is there). `note` says what is not
    shown.
    """

    question: str
    axes: tuple[ReportAxis, ...]
    measure: str
    values: tuple[float | None, ...]
    errors: tuple[float | None, ...]
    numbers: tuple[int | None, ...]
    claims: tuple[tuple[int, ...], ...] | None
    sizes: tuple[int, int, int, int]
    replay: str
    export: str
    note: str
    table: ReportTable


Block: TypeAlias = Prose | Points | Figures | Code | ReportTable | Chart | PairMatrix | Explorer | Drill


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands below it; what is `folded` opens on a click, what is `light` is not for terminals."""

    heading: str
    blocks: tuple[Block, ...]
    folded: bool = False
    light: bool = False


@dataclass(frozen=True, slots=True)
class CitedWork:
    """A work that is cited: the words that cite it, as a sentence, and as BibTeX."""

    key: str
    text: str
    bibtex: str


@dataclass(frozen=True, slots=True)
class Report:
    """An answer that can be opened, shared and cited.

    The question comes first, then the answer in sentences, what is held fixed, and reservations; `reproduce` are the
    command lines that give it again; `data` is what a program reads (the rows of a query, or the saved answer).
    `paragraph` is for a paper. `caption` stands below the figure (empty: the numbers do).
    """

    title: str
    question: str
    answer: tuple[str, ...]
    sections: tuple[Section, ...]
    data: Any = None
    figures: tuple[Value, ...] = ()
    held_fixed: tuple[str, ...] = ()
    reservations: tuple[str, ...] = ()
    reproduce: tuple[str, ...] = ()
    references: tuple[CitedWork, ...] = ()
    paragraph: str = ""
    provenance: Mapping[str, str] = field(default_factory=dict)
    caption: str = ""
