"""Sample the parameters of a law, for many tables of one design side by side (or several chains of one table)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from simlab.fitting.scales.chain import Model, State, effects, start
from simlab.fitting.scales.latents import draw_latents
from simlab.fitting.scales.normal_effects import draw_effects
from simlab.fitting.scales.observing import Seen, seen_categories
from simlab.fitting.scales.one_term import draw_terms
from simlab.fitting.scales.own_scales import draw_sharpness, draw_thresholds
from simlab.fitting.scales.shifts import draw_shifts
from simlab.fitting.scales.standard_deviations import (
    draw_noise,
    draw_noise_parts,
    draw_scale,
    draw_shares,
)
from simlab.fitting.scales.tails import draw_tails
from simlab.fitting.scales.terms import SHARED, SINGLE
from simlab.types import Bools, Floats, Ints

JOINTLY = 10
"""In each so many-th sweep all effects are drawn at once, which unbalanced tables may need."""


@dataclass(frozen=True, slots=True)
class Draws:
    """Hold draws, the draw first, the table last: standard deviations by name, single effects, what else there is.

    `effect[name]` are `[draw, unit, table]`; where two effects are not told apart their sum has been shared out.
    Those of what is rated (documents, segments, outputs) are there where asked for, those in the noise by rating.
    """

    sd: dict[str, Floats]
    effect: dict[str, Floats]
    mean: Floats
    thresholds: Floats
    sharp: Floats
    sharp_sd: Floats
    tail: Ints


@dataclass
class Chains:
    """Hold chains that can be run on: what they are about, what is seen, where they stand and what they are fed by."""

    model: Model
    seen: Seen
    open: Bools
    state: State
    rng: np.random.Generator
    count: int = 0


def begin(rng: np.random.Generator, model: Model, seen: Seen, warmup: int) -> Chains:
    """Start chains and let them find where the draws lie."""
    chains = Chains(model, seen, seen.open, start(rng, model, seen, seen.low.shape[1]), rng)
    for _ in range(warmup):
        sweep(chains, tune=True)
    return chains


def multiplied(chains: Chains, per_start: int) -> Chains:
    """Let so many chains, neighbours of each other, go on from where each chain stands."""

    def each(record: Any) -> dict[str, Any]:
        arrays = {one.name: getattr(record, one.name) for one in fields(record)}
        return {
            name: value if value is None else np.repeat(value, per_start, axis=-1) for name, value in arrays.items()
        }

    seen = Seen(**each(chains.seen))
    return replace(chains, seen=seen, open=seen.open, state=State(**each(chains.state)))


def go_on(chains: Chains, keep: int, every: int = 1, *, rated: bool = False) -> Draws:
    """Run chains on and keep every so many-th draw; `rated` keeps effects of documents and outputs, too: many."""
    kept = []
    for _ in range(keep):
        for _ in range(every):
            sweep(chains, tune=False)
        kept.append(_record(chains, rated))
    return _stacked(kept)


def joined(parts: list[Draws]) -> Draws:
    """Put draws of the same chains one after the other."""
    return _stacked(parts, np.concatenate)


def sweep(chains: Chains, tune: bool) -> None:
    """Draw everything once, each given the rest."""
    rng, model, state, seen = chains.rng, chains.model, chains.state, chains.seen
    if model.n_thresholds:
        draw_thresholds(rng, model, state, seen.category, tune)
        seen = seen_categories(seen.category, state.thresholds)
    draw_latents(rng, model, state, seen, chains.open)
    if model.latent:
        draw_scale(rng, model, state)
        draw_noise_parts(rng, model, state)
    if chains.count % JOINTLY == 0:
        draw_effects(rng, model, state)
    chains.count += 1
    draw_terms(rng, model, state, tune)
    if len(model.priors.tails) > 1:
        draw_tails(rng, model, state)
    if not model.latent:
        draw_noise(rng, model, state)
    draw_shares(rng, model, state)
    draw_shifts(rng, model, state)
    if model.sharpened:
        draw_sharpness(rng, model, state)


def _record(chains: Chains, rated: bool) -> Draws:
    model, state = chains.model, chains.state
    values = effects(model, state)
    return Draws(
        sd=dict(zip(model.terms.names, state.sd.copy(), strict=True)),
        effect=_joint(chains, values, rated),
        mean=np.asarray(values[0] if not model.n_thresholds else np.zeros_like(values[0])),
        thresholds=state.thresholds.copy(),
        sharp=state.sharp.copy(),
        sharp_sd=state.sharp_sd.copy(),
        tail=state.tail.copy(),
    )


def _joint(chains: Chains, values: Floats, rated: bool) -> dict[str, Floats]:
    """Share sums of effects that stand together out among their parts, at random as their spreads ask for."""
    terms, found = chains.model.terms, dict[str, Floats]()
    wanted = {*SINGLE, *SHARED} if rated else {*SINGLE}
    for k, term in enumerate(terms.terms[1:], start=1):
        if wanted & {*term.names}:
            found |= _shared_out(chains, term.names, values[terms.rows(k)])
    if rated:
        weight = 1.0 if chains.state.weight is None else chains.state.weight
        found |= _shared_out(chains, (*terms.noise, "residual"), chains.state.error, weight)
    return {name: value for name, value in found.items() if name in wanted}


def _shared_out(
    chains: Chains, names: Sequence[str], total: Floats, precise: Floats | float = 1.0
) -> dict[str, Floats]:
    """Share `total[unit, table]` out among its parts; `precise` divides the variance of all of them."""
    found: dict[str, Floats] = {}
    square = dict(zip(chains.model.terms.names, chains.state.sd**2, strict=True))
    for k, name in enumerate(names[:-1]):
        rest = sum((square[other] for other in names[k + 1 :]), np.zeros(total.shape[1]))
        share = square[name] / (square[name] + rest)
        noise = chains.rng.standard_normal(total.shape) * np.sqrt(square[name] * (1 - share) / precise)
        found[name] = share * total + noise
        total = total - found[name]
    return {**found, names[-1]: total}


def _stacked(parts: list[Draws], join: Callable[[list[Any]], Any] = np.stack) -> Draws:
    return Draws(
        sd={name: join([one.sd[name] for one in parts]) for name in parts[0].sd},
        effect={name: join([one.effect[name] for one in parts]) for name in parts[0].effect},
        mean=join([one.mean for one in parts]),
        thresholds=join([one.thresholds for one in parts]),
        sharp=join([one.sharp for one in parts]),
        sharp_sd=join([one.sharp_sd for one in parts]),
        tail=join([one.tail for one in parts]),
    )
