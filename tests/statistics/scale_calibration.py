"""Draw truths from the priors of a law on a scale, rate by them, and say which intervals hold the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simlab.fitting.scales.chain import SHARES, Priors
from simlab.fitting.scales.fitting import LawName, build_model, seen_scores
from simlab.fitting.scales.sampling import ScaleDraws, begin, go_on
from simlab.fitting.scales.terms import EFFECTS
from simlab.tables.rating_table import Ratings
from simlab.types import Floats
from simlab.world.laws.scales import Scale

LEVEL = 0.95
VALUES = {"gaussian": np.zeros(0), "ordinal": np.arange(1.0, 6.0), "binary": np.array([0.0, 1.0])}


class Size(NamedTuple):
    """Say how large a design is; `ratings` of the raters rate all outputs of a document."""

    n_systems: int = 5
    n_documents: int = 15
    n_segments: int = 1
    n_raters: int = 3
    ratings: int = 2


@dataclass(frozen=True)
class Truths:
    """Hold truths, the table last: standard deviations and single effects by name, and what else there is."""

    sd: dict[str, Floats]
    effect: dict[str, Floats]
    mean: Floats
    thresholds: Floats
    sharp: Floats
    sharp_sd: Floats
    tail: Floats


def design(size: Size, seed: int = 0) -> Ratings:
    rng = np.random.default_rng(seed)
    seats = np.argsort(rng.random((size.n_documents, size.n_raters)), axis=1)[:, : size.ratings]
    shape = size.n_systems, size.n_documents, size.n_segments, size.ratings
    system, document, segment, seat = (axis.ravel() for axis in np.indices(shape))
    n, items = len(system), size.n_documents * size.n_segments
    return Ratings(
        system=system,
        item=document * size.n_segments + segment,
        rater=seats[document, seat],
        score=np.zeros(n),
        errors=np.full(n, -1),
        seconds=np.full(n, np.nan),
        document=np.repeat(np.arange(size.n_documents), size.n_segments),
        system_names=tuple(f"S{k}" for k in range(size.n_systems)),
        document_names=tuple(f"d{k}" for k in range(size.n_documents)),
        item_names=tuple(f"i{k}" for k in range(items)),
        rater_names=tuple(f"r{k}" for k in range(size.n_raters)),
        lower_is_better=False,
        scale=None,
        layout="ratings",
    )


def priors(law: LawName) -> Priors:
    if law == "gaussian":
        return Priors(0.0, 3.0, SHARES, 1.0, 0.0, (np.inf, 3.0, 6.0, 20.0))
    return Priors(0.0, 1.0, {name: SHARES[name] for name in EFFECTS}, 1.5, 0.3 if law == "ordinal" else 0.0)


def truths(rng: np.random.Generator, law: LawName, held: Ratings, tables: int) -> Truths:
    """Draw parameters and effects from the priors; effects that the design lacks are drawn in vain."""
    known, n_raters = priors(law), held.n_raters
    sd = {name: np.abs(scale * rng.standard_normal(tables)) for name, scale in known.spread.items()}
    sd.setdefault("residual", np.ones(tables))
    if len(held.document) == held.n_documents:
        sd["segment"], sd["output"] = np.zeros(tables), np.zeros(tables)
    sizes = {"system": held.n_systems, "leniency": n_raters, "rater_system": held.n_systems * n_raters}
    sharp_sd = np.abs(known.sharpness * rng.standard_normal(tables)) * (n_raters > 1)
    tail = np.where(rng.random(tables) < 0.5, np.inf, rng.choice(known.tails[-3:], tables))
    n_cuts = len(VALUES[law]) - 1 if law == "ordinal" else 0
    return Truths(
        sd=sd,
        effect={name: sd[name] * rng.standard_normal((n, tables)) for name, n in sizes.items()},
        mean=known.mean_sd * rng.standard_normal(tables) * (law != "ordinal"),
        thresholds=np.sort(known.threshold_sd * rng.standard_normal((n_cuts, tables)), axis=0),
        sharp=sharp_sd * rng.standard_normal((n_raters, tables)),
        sharp_sd=sharp_sd,
        tail=tail if law == "gaussian" else np.full(tables, np.inf),
    )


def rated(rng: np.random.Generator, held: Ratings, true: Truths) -> Floats:
    """Draw what raters think, `[rating, table]`."""
    document, tables = held.document[held.item], len(true.mean)

    def anew(name: str, *levels: np.ndarray) -> Floats:
        _, level = np.unique(np.stack(levels, axis=1), axis=0, return_inverse=True)
        level = level.reshape(-1)
        return np.asarray((true.sd[name] * rng.standard_normal((level.max() + 1, tables)))[level])

    common = true.effect["system"][held.system] + anew("document", document) + anew("segment", held.item)
    common = common + anew("system_document", held.system, document) + anew("output", held.system, held.item)
    own = true.effect["leniency"][held.rater] + anew("rater_document", held.rater, document)
    own = own + true.effect["rater_system"][held.rater * held.n_systems + held.system]
    noise = rng.standard_normal(own.shape)
    for k in np.flatnonzero(np.isfinite(true.tail)):
        noise[:, k] = rng.standard_t(true.tail[k], len(noise)) * np.sqrt((true.tail[k] - 2) / true.tail[k])
    return np.asarray(true.mean + np.exp(true.sharp)[held.rater] * common + own + true.sd["residual"] * noise)


def answered(law: LawName, latent: Floats, true: Truths) -> tuple[Floats, Scale]:
    """Turn what raters think into scores: whole halves between -4 and 4, five categories, or yes and no."""
    if law == "gaussian":
        scale = Scale(law, -4.0, 4.0, 0.5, np.inf, np.zeros(0), np.zeros(0))
        return np.clip(np.rint(latent * 2) / 2, -4, 4), scale
    scale = Scale(law, -np.inf, np.inf, 0.0, np.inf, np.zeros(len(VALUES[law]) - 1), VALUES[law])
    cuts = true.thresholds if law == "ordinal" else np.zeros((1, latent.shape[1]))
    return VALUES[law][(latent[:, None] > cuts[None]).sum(1)], scale


def calibrate(
    law: LawName, size: Size, tables: int, seed: int, run: tuple[int, int, int] = (300, 400, 2)
) -> dict[str, Floats]:
    """Return by parameter the share of draws below the truth: `[table]` or `[unit, table]`; uniform if all is well."""
    rng = np.random.default_rng(seed)
    held = design(size)
    true = truths(rng, law, held, tables)
    score, scale = answered(law, rated(rng, held, true), true)
    model = build_model(law, held, priors(law), len(scale.values))
    warmup, keep, every = run
    chains = begin(rng, model, seen_scores(score, scale, priors(law)), warmup)
    return ranks(go_on(chains, keep, every), true)


def ranks(draws: ScaleDraws, true: Truths) -> dict[str, Floats]:
    found = {f"{name}_sd": (draws.sd[name] < true.sd[name]).mean(0) for name in draws.sd if np.ptp(true.sd[name]) > 0}
    for name in ("system", "leniency"):
        own, fact = draws.effect[name], true.effect[name]
        if own.shape[1] > 1:
            found[f"{name} contrast"] = ((own[:, 1:] - own[:, :1]) < (fact[1:] - fact[:1])).mean(0)
    if draws.thresholds.shape[1]:
        found["threshold"] = (draws.thresholds < true.thresholds).mean(0)
    else:
        found["mean"] = (draws.mean < true.mean).mean(0)
    if len(np.unique(true.sharp_sd)) > 1:
        found["sharpness_sd"] = (draws.sharp_sd < true.sharp_sd).mean(0)
        found["sharpness contrast"] = (
            (draws.sharp[:, 1:] - draws.sharp[:, :1]) < (true.sharp[1:] - true.sharp[:1])
        ).mean(0)
    return found


def covered(rank: Floats, level: float = LEVEL) -> float:
    """Return the share of equal-tailed intervals that hold the truth."""
    return float((np.abs(rank - 0.5) <= level / 2).mean())
