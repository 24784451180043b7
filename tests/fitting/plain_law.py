"""A law for tests: scores are a sum of effects, whose spreads are told; only the systems' means are estimated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from pilots import Pilot, Truth, pilot

from simlab.fitting.laws import FittableLaw, Fitted
from simlab.tables.rating_table import Ratings
from simlab.types import Floats
from simlab.world.laws.scales import Scale, ScaleEffects, draw_flat_answers

TRUTH = Truth()
UNBOUNDED = Scale("gaussian", -np.inf, np.inf, 0.0, np.inf, np.zeros(0), np.zeros(0))


def effects(truth: Truth, quality: Floats, n_raters: int, rng: np.random.Generator) -> ScaleEffects:
    """Say a truth as a law on a scale has it; raters are drawn."""
    return ScaleEffects(
        mean=float(quality.mean()),
        system=quality,
        leniency=truth.leniency * rng.standard_normal(n_raters),
        sharpness=np.ones(n_raters),
        taste=truth.rater_system * rng.standard_normal((len(quality), n_raters)),
        document_sd=truth.document,
        segment_sd=0.0,
        system_document_sd=truth.system_document,
        output_sd=0.0,
        rater_document_sd=truth.rater_document,
        residual_sd=truth.residual,
        system_sd=truth.system,
        leniency_sd=truth.leniency,
        sharpness_sd=0.0,
        rater_system_sd=truth.rater_system,
        scale=replace(UNBOUNDED, low=truth.low, high=truth.high, step=1.0),
    )


def answer(rng: np.random.Generator, one: ScaleEffects, design: Ratings) -> Floats:
    """Answer by the sum of all effects."""
    return draw_flat_answers(rng, one, design.system, design.item, design.rater, design.document)


def law(truth: Truth, name: str = "gaussian") -> FittableLaw:
    """Make the law that knows the spreads of a truth and learns the means of systems and raters, roughly."""

    def fit(ratings: Ratings, *, seed: int = 0, draws: int = 50, rough: bool = False) -> Fitted:
        rng = np.random.default_rng(seed)
        mean = means(ratings.system, ratings.score, ratings.n_systems)
        left = ratings.score - mean[ratings.system]
        lenient = means(ratings.rater, left, ratings.n_raters)
        error = np.sqrt(
            (truth.system_document**2 + truth.residual**2 / 2 + truth.rater_system**2 / 3) / ratings.n_documents
        )
        drawn = []
        for _ in range(draws):
            one = effects(truth, mean + error * rng.standard_normal(len(mean)), ratings.n_raters, rng)
            drawn.append(replace(one, leniency=lenient))
        spreads = {name: np.full(draws, getattr(drawn[0], name)) for name in ("system_sd", "leniency_sd")}
        return Fitted(name, ratings, drawn, spreads, [], frozenset(), {})

    def no_world(*_: object, **__: object) -> None:
        raise NotImplementedError

    return FittableLaw(name, lambda ratings: None, fit, answer, no_world, lambda fitted: {})  # type: ignore[arg-type]


def means(index: np.ndarray, score: Floats, n: int) -> Floats:
    """Average scores by an index."""
    return np.bincount(index, weights=score, minlength=n) / np.maximum(np.bincount(index, minlength=n), 1)


def ratings(held: Pilot, truth: Truth = TRUTH) -> Ratings:
    """Hold a pilot of known truth as the reader of tables does."""
    n_documents = int(held.document.max()) + 1
    n = len(held.score)
    return Ratings(
        system=held.system,
        item=held.document,
        rater=held.rater,
        score=held.score,
        errors=np.full(n, -1),
        seconds=np.full(n, np.nan),
        document=np.arange(n_documents),
        system_names=tuple(f"S{k + 1}" for k in range(int(held.system.max()) + 1)),
        document_names=tuple(f"d{k + 1}" for k in range(n_documents)),
        item_names=tuple(f"d{k + 1}" for k in range(n_documents)),
        rater_names=tuple(f"r{k + 1}" for k in range(int(held.rater.max()) + 1)),
        lower_is_better=False,
        scale=(truth.low, truth.high),
        layout="ratings",
    )


def drawn(seed: int, truth: Truth = TRUTH, **size: int) -> Ratings:
    """Draw a pilot of a truth."""
    return ratings(pilot(np.random.default_rng(seed), truth, **size), truth)
