"""Estimate the effects of a pilot's own outputs, so that the same outputs can be rated again.

Call `fit_outputs` on a law's name and a table; it returns an `OutputDraw` for each draw of the law.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simlab.effort import ManyChains, current_effort
from simlab.fitting.scales import fitting
from simlab.fitting.scales.chain import ChainModel
from simlab.fitting.scales.fitting import thin_table
from simlab.fitting.scales.sampling import ResumableChains, ScaleDraws, begin, go_on, join_draws, multiply_chains
from simlab.fitting.scales.terms import SHARED
from simlab.rng import stream
from simlab.tables.rating_table import Ratings
from simlab.types import Floats, Ints
from simlab.world.laws.scales import ScaleEffects

APART = 5
"""Draws of outputs are so many sweeps apart."""

FORGOTTEN = 1.02
"""Nested R-hat from which starts move means by less than a hundred independent draws err: a tenth of their scatter."""


class OutputDraw(NamedTuple):
    """A draw of a law, and `seen[system, item]`: what raters share of outputs beyond their system, for `draw_world`."""

    effects: ScaleEffects
    seen: Floats


def fit_outputs(
    law: fitting.LawName, ratings: Ratings, *, seed: int = 0, draws: int = fitting.DRAWS, rough: bool = False
) -> list[OutputDraw]:
    """Fit a law to a table and draw from it, with the effects of the table's own outputs in each draw.

    Documents that a large table is thinned by are drawn anew. A `rough` fit takes a quarter of the time.
    """
    used, _ = thin_table(stream(seed, "fit", law, "documents"), ratings)
    scale = fitting.scale_of(law, used)
    effort = current_effort().rough_scales if rough else current_effort().outputs
    model, bounds = fitting.prepare(law, used, scale, fitting.choose_priors(law, used), effort[0])
    chains = begin(stream(seed, "fit", law), model, bounds, effort.warmup)
    if isinstance(effort, ManyChains):
        sampled = _draw_until_starts_are_forgotten(multiply_chains(chains, effort.per_start), effort, draws)
    else:
        sampled = go_on(chains, -(-draws // effort.chains), 2, rated=True)
    rng = stream(seed, "fit", law, "others")
    effects = fitting.assemble_effects(rng, model, sampled, scale, draws, used.n_systems)
    return add_outputs(rng, model, sampled, effects, used)


def _draw_until_starts_are_forgotten(chains: ResumableChains, effort: ManyChains, draws: int) -> ScaleDraws:
    """Return the second half of what chains draw until their starts no longer differ and `draws` are there."""
    rounds: list[ScaleDraws] = []
    while True:
        rounds.append(go_on(chains, effort.kept, APART, rated=True))
        sampled = join_draws(rounds[len(rounds) // 2 :])
        if sampled.mean.size < draws:
            continue
        if len(rounds) >= effort.rounds or fitting.worst_nested_rhat(sampled, effort.per_start) <= FORGOTTEN:
            return sampled


def add_outputs(
    rng: np.random.Generator, model: ChainModel, draws: ScaleDraws, effects: list[ScaleEffects], ratings: Ratings
) -> list[OutputDraw]:
    """Add to `effects`, laws assembled from `draws`, the effects of the pilot's own outputs."""
    places = fitting.pick_draws(draws, len(effects))
    return [
        OutputDraw(law, _sum_document_effects(rng, model, draws, law, ratings, at))
        for law, at in zip(effects, places, strict=True)
    ]


def _sum_document_effects(
    rng: np.random.Generator,
    model: ChainModel,
    draws: ScaleDraws,
    effects: ScaleEffects,
    ratings: Ratings,
    at: tuple[int, int],
) -> Floats:
    """Add up what documents bring, `[system, item]`: as drawn where it was rated, anew elsewhere."""
    # Draws are on the scale of the median rater; laws are on that of the mean one (see `assemble_effects`).
    grow = np.exp(effects.sharpness_sd**2 / 2)
    total = np.zeros((ratings.n_systems, len(ratings.item_names)))
    for name, (unit, of) in _units(ratings).items():
        sd = getattr(effects, f"{name}_sd")
        values = sd * rng.standard_normal(int(unit.max()) + 1)
        if name in draws.effect:
            drawn = draws.effect[name][at[0], :, at[1]]
            values[of] = grow * drawn[model.terms.level_by_name(name)]
        total += values[unit]
    return total


def _units(ratings: Ratings) -> dict[str, tuple[Ints, Ints]]:
    """Number the effects of what is rated, for each output `[system, item]` and for each rating."""
    system, item = np.indices((ratings.n_systems, len(ratings.item_names)))
    n_documents = ratings.n_documents
    document = ratings.document[item]
    of_outputs = {
        "document": document,
        "segment": item,
        "system_document": system * n_documents + document,
        "output": system * item.shape[1] + item,
    }
    return {name: (of_outputs[name], of_outputs[name][ratings.system, ratings.item]) for name in SHARED[1:]}
