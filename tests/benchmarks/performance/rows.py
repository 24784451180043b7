"""List the rows of the table: what is measured, against what, and what must be reached."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Literal, NamedTuple

from tests.benchmarks.performance import parts, sweeps
from tests.benchmarks.performance.bench import Bench, Found

BEFORE = "the commit before"
ERROR = "the commit before, at equal error"


class Limit(NamedTuple):
    """Say which number must be at most, or at least, how much: the ratio to before, or that of now."""

    number: float
    of: Literal["ratio", "now"] = "ratio"
    least: bool = False

    def __str__(self) -> str:
        word = "at least" if self.least else "at most"
        return f"{word} {self.number:,g}" + ("" if self.of == "ratio" else " (now)")

    def reached(self, found: Found) -> bool | None:
        """Tell whether the median of repeats keeps the limit; None where there is nothing to hold it against."""
        values = list(found.ratio) if self.of == "ratio" else [pair.now for pair in found.pairs]
        if not values:
            return None
        return median(values) >= self.number if self.least else median(values) <= self.number


class Row(NamedTuple):
    """Name a row, say what it measures against what, its limit (None: none), and how it is measured."""

    name: str
    what: str
    baseline: str
    limit: Limit | None
    measure: Callable[[Bench], Found]


SAMPLER = "the published sampler and settings (NUTS, 5 chains of 2,000 + 10,000), compiled"

ROWS = (
    Row("start", "`simlab --help`", BEFORE, None, parts.start),
    Row("campaigns", "`item_grouping`, the same campaigns", BEFORE, Limit(0.45), sweeps.same_campaigns),
    Row("to_03", "`item_grouping --precision srp=.03`", "-", Limit(20, "now"), sweeps.to_precision(".03")),
    Row("to_01", "`item_grouping --precision srp=.01`", "-", Limit(240, "now"), sweeps.to_precision(".01")),
    Row("protocol", "`preference_protocol`", ERROR, Limit(0.15),
        sweeps.equal_error("preference_protocol", "annotation_fraction", 10, ())),
    Row("stopping", "`optional_stopping`", ERROR, Limit(0.2),
        sweeps.equal_error("optional_stopping", "significant_share", 5, ("budget.batch_size=10,50",))),
    Row("efficiency", "`data_efficiency`", ERROR, Limit(0.15),
        sweeps.equal_error("data_efficiency", "data_efficiency", 10,
                           ("raters.gamma=0.3,1.0", "metric.correlation=0.0,0.9"))),
    Row("ranking", "`metric_assisted_ranking`", ERROR, Limit(0.4),
        sweeps.equal_error("metric_assisted_ranking", "srp", 12, ("budget.per_system=100,400",))),
    Row("first_posterior", "first `win_posterior` of a process", BEFORE, Limit(3 / 16), parts.first_posterior),
    *(
        Row(f"decisions_{regime.replace(' ', '_')}", f"warm `win_decisions`: {regime}", SAMPLER,
            Limit(10_000, "now", least=True), parts.against_the_sampler(regime))
        for regime in parts.REGIMES
    ),
    Row("rater_noise", "decision with rater noise", BEFORE, Limit(0.01, "now"), parts.rater_noise),
    Row("launch", "tiny cells, launch to store", BEFORE, Limit(5 / 17), parts.tiny_cells("launch")),
    Row("relaunch", "tiny cells, nothing missing", BEFORE, Limit(1 / 7), parts.tiny_cells("relaunch")),
    Row("large", "campaign of 100 systems × 1,000 documents", BEFORE, Limit(200 / 472), parts.large_campaign),
    Row("fit_3000", "fit of 3,000 ratings", BEFORE, Limit(4 / 10), parts.fit(50)),
    Row("fit_48000", "fit of 48,000 ratings", BEFORE, Limit(12 / 45), parts.fit(800)),
    *(
        Row(f"two_{kind.replace(' ', '_')}", f"two jobs against one: {kind}", "one job", Limit(1.05, "now"),
            parts.two_jobs(kind))
        for kind in parts.KINDS
    ),
    Row("worker", "memory of a worker, without a metric", BEFORE, Limit(150, "now"),
        parts.peak(parts.KINDS["ratings"])),
    Row("worker_metric", "memory of a worker, with a metric", BEFORE, Limit(350, "now"),
        parts.peak(parts.KINDS["preferences with a metric"])),
    Row("driver", "memory of the driver, 2,000 cells", BEFORE, Limit(300, "now"), parts.tiny_cells("driver")),
)  # fmt: skip
