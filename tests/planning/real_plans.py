"""Plan in worlds that are simulated: the built-in fitted world, its designs, and what is measured of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from simlab.answers.plan import SIZE
from simlab.config import bound_options
from simlab.engine.laboratory import Laboratory
from simlab.formulas import systems_of_pairs
from simlab.measures.errors import claims
from simlab.measures.jackknife import ratio_over_campaigns, repeat_by_campaign
from simlab.parts import bind
from simlab.planning.bench import Composer, open_bench, reseed
from simlab.planning.terms import Design
from simlab.store.measures import Measures
from simlab.studies.worlds import draw_world
from simlab.types import Estimate, Outcomes

MOST = 300
SIZES = (15, 20, 25, 30, 40, 50, 60, 75, 90, 105, 120, 140, 160, 190, 220, 260, MOST)
GROUPINGS = ("ungrouped", "pseudo_side_by_side", "system_balanced")
TESTS = {1: "rater_flips", 2: "crossed_flips"}
WORDS = (
    "systems=fitted",
    "systems.rater_pool=new",
    f"systems.n_documents={MOST}",
    "decision=max_t",
    "analysis.test=rater_flips",
    "budget.price_per_rating=1",
)


def designs(groupings: Sequence[str] = GROUPINGS, each: Sequence[int] = (1, 2), sizes: Sequence[int] = SIZES):
    """List the designs of a grid: 102 unless it is made smaller."""
    return [
        (("design.grouping", g), ("design.ratings_per_item", n), ("analysis.test", TESTS[n]), (SIZE, size))
        for g in groupings
        for n in each
        for size in sizes
    ]


def found_from(outcomes: Outcomes, smallest: float) -> Estimate:
    """Measure the share of the pairs found that truly differ by so much or more."""
    truth = repeat_by_campaign(outcomes, "true_value")
    first, second = np.triu_indices(systems_of_pairs(outcomes["true_direction"].shape[1]), 1)
    large = np.abs(truth[:, first] - truth[:, second]) >= smallest
    right = claims(outcomes) == repeat_by_campaign(outcomes, "true_direction")
    return ratio_over_campaigns(outcomes, (large & right).sum(1), large.sum(1))


def measures(words: Sequence[str] = WORDS) -> Measures:
    """Bind what the default targets need: power from half of the systems' standard deviation on."""
    config = Composer(list(words))(())
    truths = [draw_world(config, world).truth for world in range(40)]
    half = float(np.sqrt(np.mean([np.var(truth, ddof=1) for truth in truths if truth is not None]))) / 2
    options = bound_options("measure")
    return {name: bind(options[name]) for name in ("no_wrong_claim", "money")} | {
        "power": partial(found_from, smallest=half)
    }


@contextmanager
def opened(
    folder: Path, seed: int, seconds: float = float("inf"), words: Sequence[str] = WORDS
) -> Iterator[Laboratory]:
    """Hold a bench in the worlds of a seed."""
    own = reseed(words, seed)
    with open_bench(folder, Composer(own), own, measures(words), jobs=2, seconds=seconds, quiet=True) as held:
        yield held


def cells_of(held: Laboratory, of: Sequence[Design]) -> list[str]:
    """Return the names of designs' cells in a ledger."""
    return [held.cells[one].cell for one in of]
