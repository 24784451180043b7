"""Make pilots whose truth is known: ratings from 0 to 100, additive, by few raters, as a new user brings them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simlab.types import Floats, Ints


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
    """Hold ratings, flat, and the systems' true means (before censoring)."""

    system: Ints
    document: Ints
    rater: Ints
    score: Floats
    quality: Floats


def pilot(
    rng: np.random.Generator,
    truth: Truth = Truth(),
    *,
    n_systems: int = 8,
    n_documents: int = 40,
    n_raters: int = 3,
    ratings: int = 2,
) -> Pilot:
    """Let `ratings` of the raters rate all systems' outputs of each document; whole points from low to high."""
    quality = truth.mean + truth.system * rng.standard_normal(n_systems)
    raters = np.argsort(rng.random((n_documents, n_raters)), axis=1)[:, :ratings]
    system, document, seat = (axis.ravel() for axis in np.indices((n_systems, n_documents, ratings)))
    rater = raters[document, seat]
    latent = (
        quality[system]
        + truth.document * rng.standard_normal(n_documents)[document]
        + truth.system_document * rng.standard_normal((n_systems, n_documents))[system, document]
        + truth.leniency * rng.standard_normal(n_raters)[rater]
        + truth.rater_system * rng.standard_normal((n_raters, n_systems))[rater, system]
        + truth.rater_document * rng.standard_normal((n_raters, n_documents))[rater, document]
        + truth.residual * rng.standard_normal(len(system))
    )
    return Pilot(system, document, rater, np.clip(np.rint(latent), truth.low, truth.high), quality)


def write(held: Pilot, path: Path) -> None:
    """Write a pilot as its owner has it: `system,document,rater,score`."""
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["system", "document", "rater", "score"])
        columns = held.system.tolist(), held.document.tolist(), held.rater.tolist(), held.score.tolist()
        for s, d, r, score in zip(*columns, strict=True):
            table.writerow([f"S{s + 1}", f"d{d + 1}", f"r{r + 1}", f"{score:g}"])
