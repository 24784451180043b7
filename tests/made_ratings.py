"""Make tables of ratings as people have them: whose truth is known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simlab.tables.rating_table import Ratings


class Plan(NamedTuple):
    """Say who rates what, and how ratings come about.

    `per_output` raters rate each output; `grouped`: the same ones all systems of a document. Loads differ as draws of
    a Dirichlet law of concentration `even` do. `taste` is what raters favour systems by, `document` what systems are
    better at in some documents, both as standard deviations; `noise` that of a rating. `skewed` scores are lognormal,
    `scale` rounds them to steps. `came` is the share of ratings that came.
    """

    systems: int = 4
    documents: int = 30
    raters: int = 7
    per_output: int = 1
    segments: int = 4
    grouped: bool = True
    taste: float = 0.25
    document: float = 0.4
    noise: float = 1.0
    leniency: float = 0.5
    uneven_noise: float = 0.4
    even: float = 6.0
    skewed: bool = False
    step: float = 0.0
    came: float = 1.0


def made(rng: np.random.Generator, plan: Plan, quality: np.ndarray | None = None) -> Ratings:
    """Draw a table; systems are equal unless their `quality[system]` is given. Lower is better where `skewed`."""
    quality = np.zeros(plan.systems) if quality is None else quality
    document = np.repeat(np.arange(plan.documents), plan.segments)
    by = _raters(rng, plan)[document]
    item, system, k = np.nonzero(rng.random(by.shape) < plan.came)
    rater = by[item, system, k]
    score = _scores(rng, plan, quality, document, item, system, rater)
    return Ratings(
        system=system,
        item=item,
        rater=rater,
        score=score,
        errors=np.full(len(score), -1),
        seconds=np.full(len(score), np.nan),
        document=document,
        system_names=tuple(f"s{s}" for s in range(plan.systems)),
        document_names=tuple(f"d{d}" for d in range(plan.documents)),
        item_names=tuple(f"i{i}" for i in range(len(document))),
        rater_names=tuple(f"r{r}" for r in range(plan.raters)),
        lower_is_better=plan.skewed,
        scale=None,
        layout="ratings",
        rows=len(score),
    )


def _raters(rng: np.random.Generator, plan: Plan) -> np.ndarray:
    """Choose `[document, system, k]`: by chance, the busy more often."""
    chance = rng.dirichlet(np.full(plan.raters, plan.even))
    systems = 1 if plan.grouped else plan.systems
    keys = np.log(rng.random((plan.documents, systems, plan.raters))) / chance
    chosen = np.argsort(-keys, axis=2)[:, :, : plan.per_output]
    return np.broadcast_to(chosen, (plan.documents, plan.systems, plan.per_output))


def _scores(
    rng: np.random.Generator,
    plan: Plan,
    quality: np.ndarray,
    document: np.ndarray,
    item: np.ndarray,
    system: np.ndarray,
    rater: np.ndarray,
) -> np.ndarray:
    taste = plan.taste * rng.standard_normal((plan.raters, plan.systems))
    lenient = plan.leniency * rng.standard_normal(plan.raters)
    hard = rng.standard_normal(plan.documents)
    suits = plan.document * rng.standard_normal((plan.documents, plan.systems))
    output = 0.5 * plan.noise * rng.standard_normal((len(document), plan.systems))
    spread = plan.noise * np.exp(plan.uneven_noise * rng.standard_normal(plan.raters))
    at = document[item]
    effects = lenient[rater] + hard[at] + taste[rater, system] + suits[at, system] + output[item, system]
    score = quality[system] + effects + spread[rater] * rng.standard_normal(len(item))
    if plan.skewed:
        # Means stay in the order of the qualities: all systems share the law of what is beside these.
        score = np.exp(0.5 * (effects + spread[rater] * rng.standard_normal(len(item)))) + quality[system]
    return np.round(score / plan.step) * plan.step if plan.step else score
