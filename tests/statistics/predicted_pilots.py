"""Hold what pilots predict against the truth that they were drawn from: fits, worlds and studies of many at once.

All pilots have the same seats, so that their chains run side by side; what is sampled is what `simlab fit` samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np

from simlab.fitting.backtest.campaigns import Campaigns, campaigns, measure_worlds, sums
from simlab.fitting.backtest.designs import BacktestDesign, deal_studies
from simlab.fitting.backtest.execution import interval
from simlab.fitting.scales.chain import priors_for_points
from simlab.fitting.scales.fitting import assemble_effects, prepare, scale_of, seen_scores
from simlab.fitting.scales.sampling import ScaleDraws, begin, go_on
from simlab.rng import stream
from simlab.tables.rating_table import Ratings
from simlab.types import Frame, World
from simlab.world.laws.scales import ScaleEffects, draw_world
from tests.pilots import Pilot, Truth, law_of, pilot

Effects = list[ScaleEffects]


class Size(NamedTuple):
    """Say how many pilots of which size are drawn, fitted by how long chains, and predicted by how many worlds."""

    pilots: int
    n_systems: int
    n_documents: int
    warmup: int
    kept: int
    worlds: int
    sets: int
    per_set: int


def drawn(size: Size, seed: int) -> list[Pilot]:
    """Draw pilots that have the same seats."""
    shape = {"n_systems": size.n_systems, "n_documents": size.n_documents}
    return [pilot(stream(seed, "pilot", k), seating=stream(seed), **shape) for k in range(size.pilots)]


def ratings_of(held: Pilot) -> Ratings:
    """Return what a reader makes of the pilot's table."""
    n_documents, n_raters = int(held.document.max()) + 1, len(held.leniency)
    names = (tuple(f"{letter}{k}" for k in range(n)) for letter, n in (("S", len(held.quality)), ("d", n_documents)))
    system_names, document_names = names
    return Ratings(
        system=held.system,
        item=held.document,
        rater=held.rater,
        score=held.score,
        errors=np.full(len(held.score), -1),
        seconds=np.full(len(held.score), np.nan),
        document=np.arange(n_documents),
        system_names=system_names,
        document_names=document_names,
        item_names=document_names,
        rater_names=tuple(f"r{k}" for k in range(n_raters)),
        lower_is_better=False,
        scale=(0.0, 100.0),
        layout="ratings",
    )


def fitted(pilots: Sequence[Pilot], size: Size, seed: int) -> list[Effects]:
    """Fit all pilots side by side, one chain each; draws of the law of each."""
    first = ratings_of(pilots[0])
    score = np.stack([one.score for one in pilots], axis=1)
    # Priors are scaled to the spread of a pilot's scores: here to that of all, each about its own mean.
    scale, priors = scale_of("gaussian", first), priors_for_points(score - score.mean(0) + score.mean())
    model, _ = prepare("gaussian", first, scale, priors, 1)
    seen = seen_scores(score, scale, priors)
    held = go_on(begin(stream(seed, "chains"), model, seen, size.warmup), size.kept)
    rng = stream(seed, "others")
    each = (only(held, k) for k in range(len(pilots)))
    return [assemble_effects(rng, model, one, scale, size.worlds, size.n_systems) for one in each]


def known(pilots: Sequence[Pilot], size: Size, seed: int) -> list[Effects]:
    """Draw from the exact posterior of systems and raters where all variances are known, and nothing is censored."""
    first, truth, rng = pilots[0], Truth(), stream(seed, "exact")
    own, prior = _own(first, truth)
    covariance = (own * prior) @ own.T + _rest(first, truth)
    gain = (prior[:, None] * own.T) @ np.linalg.inv(covariance)
    root = np.linalg.cholesky(np.diag(prior) - gain @ own * prior + 1e-9 * np.eye(len(prior)))
    found = []
    for one in pilots:
        mean = gain @ (one.score - truth.mean)
        draws = mean + rng.standard_normal((size.worlds, len(mean))) @ root.T
        found.append([_law(one, row) for row in draws])
    return found


def _own(held: Pilot, truth: Truth) -> tuple[np.ndarray, np.ndarray]:
    """Return who gets which effect of systems, raters and taste, `[rating, effect]`, and their prior variances."""
    n_systems, n_raters = len(held.quality), len(held.leniency)
    system, rater = np.eye(n_systems)[held.system], np.eye(n_raters)[held.rater]
    taste = np.eye(n_systems * n_raters)[held.system * n_raters + held.rater]
    spread = [truth.system] * n_systems + [truth.leniency] * n_raters + [truth.rater_system] * taste.shape[1]
    return np.hstack([system, rater, taste]), np.array(spread) ** 2


def _rest(held: Pilot, truth: Truth) -> np.ndarray:
    """Return the covariance of ratings by documents, systems on documents, raters on documents, and noise."""
    document, system, rater = (axis[:, None] == axis for axis in (held.document, held.system, held.rater))
    shared = truth.document**2 * document + truth.system_document**2 * (document & system)
    return np.asarray(shared + truth.rater_document**2 * (document & rater) + truth.residual**2 * np.eye(len(document)))


def _law(held: Pilot, drawn: np.ndarray) -> ScaleEffects:
    n_systems, n_raters = len(held.quality), len(held.leniency)
    system, leniency, taste = np.split(drawn, [n_systems, n_systems + n_raters])
    truth = law_of(held)
    return replace(truth, system=truth.mean + system, leniency=leniency, taste=taste.reshape(n_systems, n_raters))


def only(held: ScaleDraws, table: int) -> ScaleDraws:
    """Keep the draws of one table."""

    def cut(value: Any) -> Any:
        kept = {name: cut(one) for name, one in value.items()} if isinstance(value, dict) else None
        return value[..., table : table + 1] if kept is None else kept

    return ScaleDraws(**{field.name: cut(getattr(held, field.name)) for field in fields(ScaleDraws)})


def frame_of(size: Size, n_documents: int) -> Frame:
    """Seat all three raters at every one of so many documents."""
    rater = np.broadcast_to(np.arange(3), (size.n_systems, n_documents, 3)).copy()
    names = tuple(str(k) for k in range(n_documents))
    systems = tuple(f"S{k}" for k in range(size.n_systems))
    document, bucket = np.arange(n_documents), np.zeros(n_documents, int)
    return Frame(document, bucket, rater, systems, names, ("r0", "r1", "r2"), lower_is_better=False)


def worlds_of(laws: Sequence[ScaleEffects], frame: Frame, seed: int, word: str) -> list[World]:
    """Draw a world of each law, every rating fixed."""
    return [draw_world(stream(seed, word, k), law, frame, potential=True) for k, law in enumerate(laws)]


def studied(worlds: Sequence[World], design: BacktestDesign, seed: int, sets: int, per_set: int) -> Campaigns:
    """Carry out the same studies in all worlds."""
    asked = deal_studies(worlds[0], design, seed=seed, sets=sets, per_set=per_set)
    return campaigns(sums(worlds), asked, ("none",))["none"]


class Held(NamedTuple):
    """Hold for a measure the intervals, the predictions and the truth, each `[pilot]`."""

    low: np.ndarray
    high: np.ndarray
    mean: np.ndarray
    truth: np.ndarray

    @property
    def held(self) -> np.ndarray:
        """Tell whether intervals hold the truth."""
        return np.asarray((self.low <= self.truth) & (self.truth <= self.high))

    @property
    def held_by_a_third(self) -> np.ndarray:
        """Tell whether the middle third of the intervals does: what claims more than is known."""
        third = (self.high - self.low) / 3
        return np.asarray((self.low + third <= self.truth) & (self.truth <= self.high - third))


def judged(
    pilots: Sequence[Pilot],
    effects: Sequence[Effects],
    size: Size,
    design: BacktestDesign,
    seed: int,
) -> dict[str, Held]:
    """Predict studies of further documents by the pilot's raters, and hold that against those in a true world.

    True worlds are drawn from the law of each pilot, and studied so often that little is left open.
    """
    frame = frame_of(size, max(2 * design.documents, size.n_documents))
    true = measure_worlds(
        studied(worlds_of([law_of(one) for one in pilots], frame, seed, "true"), design, seed, 10, 12)
    )
    found: dict[str, list[tuple[float, ...]]] = {name: [] for name in true}
    for k, laws in enumerate(effects):
        worlds = worlds_of(laws, frame, seed, f"predicted {k}")
        for name, values in measure_worlds(studied(worlds, design, seed + 1, size.sets, size.per_set)).items():
            truth, error = float(true[name].value[k]), float(true[name].error[k])
            row = (*interval(name, values, error**2), float(np.nanmean(values.value)), truth)
            found[name] += [row] if np.isfinite(truth) else []
    return {name: Held(*np.array(rows).T) for name, rows in found.items()}


def power(laws: Sequence[ScaleEffects], size: Size, n_documents: int, seed: int, studies: int) -> float:
    """Return the power of studies of so many documents, over worlds of all laws."""
    worlds = worlds_of(laws, frame_of(size, n_documents), seed, "power")
    design = BacktestDesign("pseudo_side_by_side", n_documents, 1)
    return float(measure_worlds(studied(worlds, design, seed, 1, studies))["power"].value.mean())
