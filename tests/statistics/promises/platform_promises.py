"""Measure what promises are worth where people work on a clock and a platform says who rates what.

Systems are equal in truth, raters have tastes and are drawn anew in each world, some leave, some do not look, and the
deadline or the money ends many campaigns; each world is one unit. A rule that claims something claims it wrongly.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping

import numpy as np
from promise_rows import Row, numbers
from rater_promises import _words, row

from simlab.config import compose
from simlab.studies.kinds import identify_kind
from simlab.studies.worlds import draw_world
from simlab.types import Campaign, Place

LEVEL = 0.05
WORLD = (
    "systems.system_sd=0",
    "systems.n_systems=5",
    "systems.n_documents=60",
    "systems.n_segments=200",
    "design.documents=60",
    "raters.pool_size=9",
    "design.collection=crowd",
    "design.collection.drop_out=.3",
    "design.collection.fatigue=.2",
    "design.collection.lapse_rate=.02",
    "design.collection.lapse_per_hour=.02",
)
SIDE, FREE = "design.grouping=pseudo_side_by_side", "design.grouping=ungrouped"
SINGLE = ("rater_flips max_t", "by_rater holm")
TWICE = ("crossed_flips max_t", "two_way holm")
PLATFORMS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "queues, all comes": ((SIDE,), SINGLE),
    "queues, deadline": ((SIDE, "budget.deadline=26h"), SINGLE),
    "one stream, deadline": ((SIDE, "design.assignment=one_stream", "budget.deadline=26h"), SINGLE),
    "one stream, ungrouped": ((FREE, "design.assignment=one_stream"), SINGLE),
    "dynamic, money for half": ((FREE, "design.assignment=dynamic", "budget.total=500"), SINGLE),
    "overlap .3": ((SIDE, "design.overlap=.3"), TWICE),
    "overlap .3, boost": ((SIDE, "design.overlap=.3", "design.boost_margin=4"), TWICE),
}
"""What a platform does, and the tests that are held to their promise there."""

DASHBOARDS = ("dashboard", "dashboard_end")
QUICK = ("queues, deadline", "dynamic, money for half")


@functools.cache
def wrong(name: str, n: int) -> dict[str, np.ndarray]:
    """Let each test, and a dashboard, conclude from the same campaigns; tell in which of them they claim something."""
    words, tests = PLATFORMS[name]
    asked = {test: _words(test) for test in tests} | {rule: [f"decision={rule}"] for rule in DASHBOARDS}
    configs = {rule: compose([*WORLD, *words, *more, *_enough(rule)]) for rule, more in asked.items()}
    first = next(iter(configs.values()))
    kind = identify_kind(first)
    ready = {rule: kind.prepare(config) for rule, config in configs.items()}
    told: dict[str, list[bool]] = {rule: [] for rule in configs}
    for number in numbers(n):
        world, place = draw_world(first, number), Place(number)
        laid = kind.lay(ready[tests[0]], world, place)
        noise = iter([kind.draw(ready[tests[0]], world, laid, place)])
        (campaign,) = kind.collect(ready[tests[0]], world, laid, noise, [place])
        # A campaign of which nothing whole came concludes nothing.
        for rule, prepared in ready.items():
            came = isinstance(campaign, Campaign)
            told[rule].append(came and bool(kind.conclude(prepared, [campaign.collected])["significant"].any()))
    return {rule: np.array(found, float) for rule, found in told.items()}


def _enough(rule: str) -> list[str]:
    """Let flips be few: max-T keeps its level with any number of them."""
    return ["analysis.test.flips=399"] if "flips" in rule else []


def platforms(n: int, names: tuple[str, ...] = tuple(PLATFORMS)) -> Iterator[Row]:
    """Count campaigns of equal systems with any claim, platform by platform; a dashboard's lines promise nothing.

    Looked at once they err seldom where tasks are dealt; where ranks decide who is rated they err even then.
    """
    for name in names:
        found = wrong(name, n)
        for test in PLATFORMS[name][1]:
            yield row("family-wise", f"{test}, {name}", LEVEL, found[test])
        yield row("family-wise", f"dashboard, every look, {name}", LEVEL, found["dashboard"], "control above")
        if "dynamic" in name:
            yield row("family-wise", f"dashboard, at the end, {name}", LEVEL, found["dashboard_end"], "control above")
