"""Simulate campaigns of designs, and return each design's measures, or differences of two, with their errors.

`open_bench` yields a bench, which keeps campaigns in a folder: its `look` takes the number of worlds of each design,
simulates those that are missing, and returns estimates by measure. `words` are the KEY=VALUE
settings that all designs share; `Composer` makes the config of a design from these and its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from simlab.answers.plan import Figure, Target, find_leading_target
from simlab.comparing.differences import Contrast, Point, bound_difference, compare_paired
from simlab.config import Config, compose_sweep
from simlab.config.sections import checked_value
from simlab.config.sweep import put
from simlab.config.sweepfile import RUN
from simlab.engine.conclusions import gather_conclusions
from simlab.engine.laboratory import Laboratory, open_laboratory
from simlab.engine.ledger import Ledger, LedgerEntry
from simlab.measures.labels import measure_range
from simlab.measures.precision import interval
from simlab.messages import show
from simlab.planning.stages import worlds_in_time
from simlab.planning.terms import Bench, Design, MeasuredDesign, PlanRequest
from simlab.store.layout import gather
from simlab.store.measures import Measures, estimate
from simlab.types import Estimate, InputError

ENDED = 0.9
"""Share of campaigns that must end as planned for a design to be within the limits."""


def figure(name: str, estimate: Estimate) -> Figure:
    """Return an estimate of the measure `name` as a figure: value, error, and 95 % interval inside its range."""
    within = measure_range(name)
    influence = np.asarray(estimate.influence, float)
    telling = None if estimate.telling is None else np.array(estimate.telling)
    low, high = interval(np.array(estimate.value), influence, within, telling)
    return Figure(
        value=float(estimate.value),
        mcse=float(estimate.mcse),
        low=float(low),
        high=float(high),
        worlds=len(influence),
        studies=int(estimate.n),
    )


def figures(looked: MeasuredDesign) -> dict[str, Figure]:
    """Return all measures of a design as figures, by name."""
    return {name: figure(name, value) for name, value in looked.items()}


def difference(name: str, first: Estimate, second: Estimate) -> Figure:
    """Return a measure of one design minus that of another, paired by world, with its 95 % interval."""
    point, other = _point(name, first), _point(name, second)
    within = measure_range(name)
    bounds = None if within.least is None or within.greatest is None else (within.least, within.greatest)
    gap: Contrast = bound_difference(compare_paired(point, other), point, other, bounds)
    return Figure(
        value=float(gap.difference),
        mcse=float(gap.mcse),
        low=float(gap.low),
        high=float(gap.high),
        worlds=int(gap.clusters),
        studies=int(min(first.n, second.n)),
    )


def carry_over(measured: MeasuredDesign, advice: MeasuredDesign) -> MeasuredDesign:
    """Return a design's measures as those of the advice plus their paired difference, over the worlds that both met.

    The advice met more worlds, so its own measures are more precise than those of designs that are compared with it.
    """
    return {name: _add_difference(value, advice[name]) if name in advice else value for name, value in measured.items()}


def _add_difference(estimate: Estimate, advice: Estimate) -> Estimate:
    n, more = len(estimate.influence), len(advice.influence)
    if not 1 < n < more or not np.isfinite([*estimate.influence, *advice.influence]).all():
        return estimate
    influence = np.asarray(advice.influence, float).copy()
    # A mean over n worlds gives each of them `more / n` times the weight that it has among all.
    influence[:n] += (np.asarray(estimate.influence) - influence[:n]) * more / n
    value = estimate.value + advice.value - shared_mean(advice, estimate)[0]
    if 0 <= estimate.value <= 1 and 0 <= advice.value <= 1:
        # A share plus a difference of shares may leave the range of shares.
        value = min(max(value, 0.0), 1.0)
    return Estimate(value, influence, estimate.cluster, estimate.n, estimate.telling)


def measure_value(looked: MeasuredDesign, name: str) -> float:
    """Return a measure's value; NaN where it was not measured."""
    return float(looked[name].value) if name in looked else math.nan


def is_within_limits(looked: MeasuredDesign, wanted: PlanRequest) -> bool:
    """True if campaigns of a design end as planned, and cost no more than the limit on money."""
    ended, money = measure_value(looked, "ended_as_planned"), measure_value(looked, "money")
    if math.isfinite(ended) and ended < ENDED:
        return False
    # `not >` lets money pass that is not known (NaN); the factor is for money that is spent to the last.
    return wanted.limits.money is None or not money > wanted.limits.money * (1 + 1e-9)


def reaches(looked: MeasuredDesign, wanted: PlanRequest) -> bool:
    """True if the measures of all targets are at least the values wanted."""
    return all(measure_value(looked, target.measure) >= target.least for target in wanted.targets)


def reaches_nearly(looked: MeasuredDesign, wanted: PlanRequest) -> bool:
    """True if the measures of all targets are at least the values wanted, less the margin."""
    return all(measure_value(looked, target.measure) >= target.least - wanted.margin for target in wanted.targets)


def first_target(wanted: PlanRequest) -> Target:
    """Return the target that designs are ranked by: the first that is no floor."""
    return find_leading_target(wanted.targets)


def shared_mean(first: Estimate, second: Estimate) -> tuple[float, float]:
    """Return two estimates as means over the worlds that both designs met, so that their documents are the same."""
    n = min(len(first.influence), len(second.influence))
    mean, other = (float(result.value + np.mean(result.influence[:n])) for result in (first, second))
    return mean, other


def measure_extra_design(bench: Bench, design: Design, worlds: int) -> MeasuredDesign:
    """Return the measures of one more design in `worlds` worlds.

    They are empty where its keys contradict each other, all of its campaigns failed, or patience ends.
    """
    if worlds_in_time(bench, worlds) < worlds:
        return {}
    try:
        return bench.look({design: worlds})[design]
    except InputError:
        return {}


def _point(name: str, estimate: Estimate) -> Point:
    shown = figure(name, estimate)
    return Point(shown.value, np.asarray(estimate.influence, float), estimate.n, shown.low, shown.high)


@dataclass(frozen=True, slots=True)
class Composer:
    """Function from a design to its composed study; `words` are the KEY=VALUE settings that all designs share.

    A design that differs from one that is composed in plain values only is patched: composing takes a tenth of a
    second. A design's value of a key takes the place of that of the words.
    """

    words: Sequence[str]
    cache: dict[Design, Config] = field(default_factory=dict)

    def __call__(self, design: Design) -> Config:
        """Return the composed study of a design; raise InputError where its keys do not go together."""
        values = tuple((key, value) for key, value in design if _is_plain(value))
        options = tuple(setting for setting in design if setting not in values)
        if options not in self.cache:
            self.cache[options] = compose_study(self.words, options)
        config = _copy_config(self.cache[options])
        for key, value in values:
            put(config, key, checked_value(config, key, value, config.get("plugins", [])))
        return config


def compose_study(words: Sequence[str], design: Design) -> Config:
    """Return the config of the study of KEY=VALUE words and a design, whose values replace those of the words."""
    own = dict(design)
    kept = [word for word in words if word.partition("=")[0].replace("/", ".") not in own]
    settings = [f"{key}={show(value, 10_000)}" for key, value in design]
    return next(compose_sweep(RUN, [*kept, *settings]).cells()).config


def reseed(words: Sequence[str], seed: int) -> list[str]:
    """Return the words of the same study in other worlds."""
    return [*(word for word in words if word.partition("=")[0] != "seed"), f"seed={seed}"]


def _is_plain(value: Any) -> bool:
    """True if a value is patched: it names no option, and brings no keys of its own."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _copy_config(config: Mapping[str, Any]) -> Config:
    return {key: _copy_config(value) if isinstance(value, dict) else value for key, value in config.items()}


class Measuring:
    """Function that measures a design from its campaigns in a ledger."""

    def __init__(self, measures: Measures) -> None:
        """Take the measures, functions of outcomes, by name."""
        self.measures = measures

    def __call__(self, book: Ledger, entry: LedgerEntry, worlds: int) -> MeasuredDesign:
        """Return the measures that have a value, over the first `worlds` worlds."""
        declared = gather_conclusions({}, [entry.config]).outcomes
        # A ledger may hold more worlds than are asked about; designs are compared over the same first ones.
        rows = (row for row in book.blocks(entry.cell) if row.block.address.world < worlds)
        outcomes = gather(rows, entry.config, declared)
        estimates = estimate(self.measures, outcomes, declared)
        return {name: one for name, one in estimates.items() if isinstance(one, Estimate) and one.n}


@contextmanager
def open_bench(
    kept: Path | Ledger,
    compose: Callable[[Design], Config],
    words: Sequence[str],
    measures: Measures,
    *,
    pools: int = 1,
    draws: int = 1,
    studies: int = 1,
    jobs: int | None = None,
    seconds: float = float("inf"),
    quiet: bool = False,
) -> Iterator[Laboratory]:
    """Open a bench whose campaigns are kept in a folder, or in a ledger that is open.

    `words` are the KEY=VALUE settings that all designs share, `compose` makes the config of a design. In each world
    every one of `pools` sets of raters rates every one of `draws` sets of documents, `studies` times. The bench has
    `jobs` processes, and its patience ends after so many `seconds`.
    """
    base = replace(compose_sweep(RUN, list(words)), worlds=1, studies=studies, pools=pools, document_draws=draws)
    with open_laboratory(
        kept, base, compose, Measuring(measures), jobs=jobs, seconds=seconds, quiet=quiet
    ) as laboratory:
        yield laboratory
