"""Make pilots whose truth is known: ratings from 0 to 100, additive, by few raters, as a new user brings them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simlab.types import Floats, Ints
from simlab.world.laws.scales import Scale, ScaleEffects


@dataclass(frozen=True, slots=True)
class Truth:
    """Say what a pilot is drawn from: standard deviations in points."""

    mean: float = 70.0
    system: float = 5.0
    document: float = 3.0
    system_document: float = 2.0
    leniency: float = 3.0
    rater_system: float = 0.7
    rater_document: float = 1.0
    residual: float = 4.2
    low: float = 0.0
    high: float = 100.0


@dataclass(frozen=True, slots=True)
class Pilot:
    """Hold ratings, flat, and what is true (before censoring).

    `quality[system]` are the systems' means, `leniency[rater]` and `taste[system, rater]` belong to the raters,
    `seen[system, document]` is what documents bring, `truth` what all are drawn from.
    """

    system: Ints
    document: Ints
    rater: Ints
    score: Floats
    quality: Floats
    leniency: Floats
    taste: Floats
    seen: Floats
    truth: Truth


def pilot(
    rng: np.random.Generator,
    truth: Truth = Truth(),
    *,
    n_systems: int = 8,
    n_documents: int = 40,
    n_raters: int = 3,
    ratings: int = 2,
    seating: np.random.Generator | None = None,
) -> Pilot:
    """Let `ratings` of the raters rate all systems' outputs of each document; whole points from low to high.

    `seating` draws who rates which document, so that several pilots have the same seats.
    """
    quality = truth.mean + truth.system * rng.standard_normal(n_systems)
    raters = np.argsort((seating or rng).random((n_documents, n_raters)), axis=1)[:, :ratings]
    system, document, seat = (axis.ravel() for axis in np.indices((n_systems, n_documents, ratings)))
    rater = raters[document, seat]
    at_document = truth.document * rng.standard_normal(n_documents)
    at_both = truth.system_document * rng.standard_normal((n_systems, n_documents))
    leniency = truth.leniency * rng.standard_normal(n_raters)
    taste = truth.rater_system * rng.standard_normal((n_raters, n_systems)).T
    of_rater = truth.rater_document * rng.standard_normal((n_raters, n_documents))
    latent = (
        quality[system]
        + at_document[document]
        + at_both[system, document]
        + leniency[rater]
        + taste[system, rater]
        + of_rater[rater, document]
        + truth.residual * rng.standard_normal(len(system))
    )
    score = np.clip(np.rint(latent), truth.low, truth.high)
    return Pilot(system, document, rater, score, quality, leniency, taste, at_document + at_both, truth)


def law_of(held: Pilot, truth: Truth = Truth()) -> ScaleEffects:
    """Return the law of a pilot's own systems and raters: what is true of further documents."""
    points = Scale("gaussian", truth.low, truth.high, 1.0, np.inf, np.zeros(0), np.zeros(0))
    return ScaleEffects(
        mean=truth.mean,
        system=held.quality,
        leniency=held.leniency,
        sharpness=np.ones(len(held.leniency)),
        taste=held.taste,
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
        scale=points,
    )


def write(held: Pilot, path: Path) -> None:
    """Write a pilot as its owner has it: `system,document,rater,score`."""
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["system", "document", "rater", "score"])
        columns = held.system.tolist(), held.document.tolist(), held.rater.tolist(), held.score.tolist()
        for s, d, r, score in zip(*columns, strict=True):
            table.writerow([f"S{s + 1}", f"d{d + 1}", f"r{r + 1}", f"{score:g}"])
