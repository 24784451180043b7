"""Make reports of sweeps that nobody carried out: rows as `query --format json` has them, with names that do harm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from simlab.drawing.reports.terms import (
    Chart,
    ChartPoint,
    Explorer,
    PairMatrix,
    Prose,
    Quantity,
    Report,
    ReportAxis,
    ReportTable,
    Section,
    Value,
)
from simlab.rng import stream

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HOSTILE = (
    "</script><script>window.harmed = 1</script>",
    "<img src=x onerror='window.harmed = 2'>",
    '"><svg onload="window.harmed = 3">\' onfocus=\'window.harmed = 4',
    "__proto__",
    "constructor",
    "a.b[0]['c'][\"d\"]\\",
    "\u202eשלום עולם\u202c",
    "${window.harmed = 5} {{7*7}} datum.value names[0]",
    "<!-- ]]> &lt;b&gt; %3Cscript%3E",
    "x" * 5000,
    "",
)
PLAIN = {
    "grouping": ("pseudo_side_by_side", "system_balanced", "ungrouped"),
    "documents": (10, 20, 40, 80, 160),
    "raters": (4, 8),
    "crew": ("students", "experts"),
}
QUANTITIES = (
    Quantity("srp", "stable ranking probability", "", 0.0, 1.0, held_fixed="raters, documents", cluster="world"),
    Quantity("power", "power", "", 0.0, 1.0, cluster="world"),
    Quantity("type_s", "type S errors", "", 0.0, 1.0, less_is_better=True, cluster="replicate"),
    Quantity("money", "cost of a campaign", "EUR", 0.0, None, cluster="world"),
)


def rows(axes: Mapping[str, Sequence[Any]], key: int = 0) -> list[dict[str, Any]]:
    """Return a row a cell, with numbers that no two cells share; a tenth of the powers has no value."""
    rng, made = stream(2026, "browser", key), []
    for place in product(*axes.values()):
        row: dict[str, Any] = dict(zip(axes, place, strict=True))
        for quantity in QUANTITIES:
            row |= _estimate(quantity, rng)
        made.append(row | {"held_fixed": {one.name: one.held_fixed for one in QUANTITIES}})
    return made


def _estimate(quantity: Quantity, rng: Any) -> dict[str, Any]:
    name, scale = quantity.name, 1.0 if quantity.high else 4000.0
    if name == "power" and rng.random() < 0.1:
        unknown = dict.fromkeys(f"{name}{end}" for end in ("", "_mcse", "_low", "_high"))
        return unknown | {f"{name}_n": 0, f"{name}_clusters": 0, f"{name}_failed": 3, f"{name}_reason": "needs pools=2"}
    value, mcse = float(scale * rng.uniform(0.3, 0.9)), float(scale * rng.uniform(0.004, 0.05))
    held = (value, mcse, 250, 5, value - 2 * mcse, value + 2 * mcse, 0)
    ends = ("", "_mcse", "_n", "_clusters", "_low", "_high", "_failed")
    return {f"{name}{end}": number for end, number in zip(ends, held, strict=True)}


def explorer(axes: Mapping[str, Sequence[Any]] = PLAIN, target: float | None = None, key: int = 0) -> Explorer:
    """Return a sweep over axes, the first of them as lines, the second across."""
    first, second, *_ = axes
    described = tuple(
        ReportAxis(name, f"design.{name}", name, tuple(values), tuple(map(str, values)), not isinstance(values[0], str))
        for name, values in axes.items()
    )
    listed = tuple(rows(axes, key))
    table = ReportTable(
        "all cells", (first, "srp"), tuple((str(row[first]), Value(row["srp"], row["srp_mcse"])) for row in listed)
    )
    return Explorer(
        "Which grouping is stable?",
        "SRP",
        listed,
        described,
        QUANTITIES,
        "srp",
        second,
        first,
        ("money",),
        table,
        figure,
        target,
    )


def figure() -> Figure:
    """Return an empty figure: what a page shows where nothing is interactive."""
    from matplotlib.figure import Figure

    return Figure()


def matrix(names: Sequence[str] = ("A", "B", "C", "D")) -> PairMatrix:
    """Return the shares of claims about the pairs of systems, in two designs."""
    pairs = tuple((i, j) for i in range(len(names)) for j in range(i + 1, len(names)))
    rng, kinds, designs = (
        stream(2026, "browser", "pairs"),
        ("true", "missed", "wrong"),
        ("documents=10", "documents=20"),
    )
    shares = tuple(tuple(tuple(rng.uniform(size=len(pairs)).tolist()) for _ in kinds) for _ in designs)
    return PairMatrix(
        "Which pairs are judged wrongly?", "pairs", tuple(names), pairs, designs, kinds, shares, (250, 200)
    )


def charts(names: Sequence[str] = ("A", "B", "C")) -> tuple[Chart, ...]:
    """Return a chart of each kind, with a mark for each name."""
    across = [
        ChartPoint(0.1 * k, name, 0.1 * k - 0.05, 0.1 * k + 0.05, n=9, standard_error=0.02)
        for k, name in enumerate(names, 1)
    ]
    lines = [ChartPoint(float(x), 0.2 + 0.1 * k * x, line=name) for k, name in enumerate(names) for x in (1, 2, 3)]
    spread = [ChartPoint(float(k), 0.9 - 0.1 * k, line="a", note=name, chosen=k == 1) for k, name in enumerate(names)]
    told: tuple[tuple[Any, str, str, list[ChartPoint]], ...] = (
        ("intervals", "difference", "system", across),
        ("lines", "hours", "power", lines),
        ("scatter", "money [EUR]", "power", spread),
    )
    return tuple(
        Chart(
            kind,
            f"What of {kind}?",
            x,
            y,
            tuple(marks),
            f"alt of {kind}",
            "",
            0.3,
            (0.0, None),
            interval="80 % interval",
        )
        for kind, x, y, marks in told
    )


def report(*blocks: Any, title: str = "A report") -> Report:
    """Return a report of these blocks, whose data are the rows of its first explorer."""
    data = next((list(one.rows) for one in blocks if isinstance(one, Explorer)), {})
    sections = (Section("Charts", blocks), Section("Else", (Prose("That is all."),)))
    return Report(title, "What is asked?", ("This is said.",), sections, data)
