"""Draw systems with strengths on a latent scale (logits), and raters who compare their outputs, each in their own way.

`davidson`, an option of `systems`, returns a `Contest`; `choosing_raters`, one of `raters`, takes it and returns a
`World` of comparisons.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Le

from simlab.messages import name_things
from simlab.types import (
    COMPARE,
    Anew,
    ComparedWorld,
    Contest,
    Davidson,
    Documents,
    Floats,
    InputError,
    RaterPool,
    World,
)
from simlab.types.bounds import Value
from simlab.world.laws.comparisons import ComparisonLaw, contest_frame
from simlab.world.laws.davidson import Spreads, probabilities
from simlab.world.systems import draw_lognormal

Logits = Annotated[float, Ge(0), Le(50)]
LogSd = Annotated[float, Ge(0), Le(3)]


def davidson(
    rng: np.random.Generator,
    *,
    n_systems: Annotated[int, Ge(2), Le(200)],
    n_items: Annotated[int, Ge(1), Le(10**9)],
    strength: list[Value] | None,
    system_sd: Logits,
    output_sd: Logits,
    item_sd: LogSd,
    ties: Annotated[float, Ge(0), Le(1e6)],
    test_set: Literal["fresh", "fixed"],
    outputs_per_document: Annotated[int, Ge(1), Le(10**6)],
    document_agreement: Annotated[float, Ge(0), Le(1)],
) -> Contest:
    """Draw systems with strengths on a latent scale; how far outputs lie apart says how likely they win, draw and lose.

    Strengths are drawn N(0, system_sd) unless given. See `Davidson` for the law; places of a system's outputs in a
    document of `outputs_per_document` agree as `document_agreement` says (see `Documents`). `p` are the exact
    probabilities over all items, for a rater without errors of their own.

    Raises InputError where `strength` is not one number per system.
    """
    if strength is not None and len(strength) != n_systems:
        raise InputError(
            f"systems.strength has {len(strength)} numbers for systems.n_systems={n_systems}; give one each"
        )
    standard = system_sd * rng.standard_normal(n_systems)
    law = Davidson(standard if strength is None else np.asarray(strength, float), output_sd, item_sd, ties)
    return Contest(
        name_things("system", n_systems),
        n_items,
        probabilities(law),
        fixed=test_set == "fixed",
        documents=Documents(outputs_per_document, document_agreement),
        davidson=law,
    )


def choosing_raters(
    rng: np.random.Generator,
    contest: Contest,
    *,
    n_raters: Annotated[int, Ge(1), Le(10**5)],
    sharpness_sd: LogSd,
    tie_sd: LogSd,
    taste_sd: Logits,
    whole_items: bool,
) -> ComparedWorld:
    """Let a pool of raters compare outputs, each with a sharpness, a habit of draws and a taste of their own.

    What is true is what raters at large would say, so that a study errs by the raters that it happened to have. Other
    pools are drawn from the same law. See `RaterPool`.

    Raises InputError for systems without strengths.
    """
    if not isinstance(contest, Contest) or contest.davidson is None:
        raise InputError("raters=choosing_raters choose by the strengths of systems; choose systems=davidson")
    spreads, n_systems = Spreads(sharpness_sd, tie_sd, taste_sd), len(contest.system_names)
    known = replace(contest, p=probabilities(contest.davidson, spreads))

    def pool(rng: np.random.Generator) -> RaterPool:
        return RaterPool(**drawn_raters(rng, spreads, n_raters, n_systems), whole_items=whole_items)

    return pooled_world(known, pool(rng), pool)


def drawn_raters(rng: np.random.Generator, spreads: Spreads, n_raters: int, n_systems: int) -> dict[str, Floats]:
    """Draw raters from those at large: `sharpness[rater]`, `ties[rater]`, `taste[rater, system]`."""
    return {
        "sharpness": draw_lognormal(rng, spreads.sharpness_sd, n_raters),
        "ties": draw_lognormal(rng, spreads.tie_sd, n_raters),
        "taste": spreads.taste_sd * rng.standard_normal((n_raters, n_systems)),
    }


def pooled_world(contest: Contest, pool: RaterPool, others: Callable[[np.random.Generator], RaterPool]) -> World:
    """Make the world of a contest whose outputs the raters of a pool compare; `others` draws other raters."""
    world = World(contest_frame(contest), {COMPARE: ComparisonLaw(contest, None, pool)})

    def again(anew: Anew) -> World:
        # Test sets are drawn where they are used: other inputs, the same law.
        if anew.raters is None:
            return world
        return world.replace_answers(COMPARE, ComparisonLaw(contest, None, others(anew.raters)))

    return replace(world, again=again)
