"""Make worlds as a table of preferences says they are: its systems and raters, on new items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Le

from simlab.messages import legible, or_nearest
from simlab.types import COMPARE, ComparedWorld, Contest, InputError, RaterPool, World
from simlab.types.bounds import Count
from simlab.world.davidson import drawn_raters, pooled_world
from simlab.world.files.fitted_preferences import FittedPreferences, read_fitted_preferences
from simlab.world.laws.comparisons import Comparisons, contest_frame
from simlab.world.laws.davidson import probabilities


def fitted_preferences(
    rng: np.random.Generator,
    *,
    path: str | None,
    sha256: str | None,
    names: list[str] | None,
    n_items: Annotated[int, Ge(1), Le(10**9)],
    rater_pool: Literal["pilot", "new"],
    n_raters: Count | None,
    test_set: Literal["fresh", "fixed"],
) -> ComparedWorld:
    """Draw a world of a pilot's systems and raters with items that the pilot did not see.

    The file is what `simlab fit` wrote of a table of preferences. A world takes one draw of the parameters from it at
    random, so that worlds differ by what the pilot left open. What is true is what raters at large would say. With
    `rater_pool=new`, and in further pools, `n_raters` raters (None: as many as in the pilot) are drawn from those that
    the pilot's raters stand for; a pilot that names none has raters who are alike.

    Raises InputError for a file that holds no fitted preferences or whose digest is not `sha256` (None: any), and for
    names that are not in it.
    """
    held = read_fitted_preferences(path, sha256)
    at, draw = _named(held, names), int(rng.integers(len(held.laws)))
    law = replace(held.laws[draw], strength=held.laws[draw].strength[at])
    spreads, size = held.at_large[draw], n_raters or len(held.rater_names)
    contest = Contest(
        tuple(held.system_names[k] for k in at),
        n_items,
        probabilities(law, spreads),
        fixed=test_set == "fixed",
        davidson=law,
    )
    if not held.rater_names:
        world = World(contest_frame(contest), {COMPARE: Comparisons(contest, None)})
        return replace(world, again=lambda anew: world)

    def others(rng: np.random.Generator) -> RaterPool:
        return RaterPool(**drawn_raters(rng, spreads, size, len(at)), whole_items=held.whole_items)

    sharpness, ties, taste = held.pools[draw]
    pilots = RaterPool(sharpness, ties, taste[:, at], held.whole_items)
    return pooled_world(contest, others(rng) if rater_pool == "new" else pilots, others)


def _named(held: FittedPreferences, names: Sequence[str] | None) -> list[int]:
    """Find the named systems, in the order of the names."""
    if names is None:
        return list(range(len(held.system_names)))
    for name in names:
        if name not in held.system_names:
            hint = or_nearest(name, held.system_names, "it has", 300)
            raise InputError(f"systems.names: the fitted preferences have no system {legible(name, 60)}; {hint}")
    if len(set(names)) != len(names) or len(names) < 2:
        raise InputError(f"systems.names={list(names)}: name at least two systems, each once")
    return [held.system_names.index(name) for name in names]
