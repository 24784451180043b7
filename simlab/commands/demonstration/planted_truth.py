"""Simulate the people and systems of a demonstration: a truth that is planted, and ratings that follow from it.

Call `plant_truth` first; `write_pilot`, `write_items` and `fill` then write the tables of the demonstration.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from simlab.rng import stream
from simlab.types import Floats, Ints
from simlab.world.laws.scales import Scale, ScaleEffects, draw_repeated_answers, latent_draw

SYSTEMS = ("Ash", "Birch", "Cedar", "Elm")
"""Names of the systems."""
RATERS = tuple(f"r{k}" for k in range(1, 9))
IN_PILOT, FURTHER = 16, 110
"""Numbers of documents: in the pilot, and beyond it, for the study."""
EACH = 2
"""Raters of each output in the pilot."""
BEST = 76.0
"""True mean of the best system, points of 100."""
GAPS = ((0.6, 1.8), (4.0, 6.0), (5.0, 8.0))
"""Bounds of the difference from each system to the next, in points, the best first; the first pair is close."""
POINTS = Scale("gaussian", 0.0, 100.0, 1.0, np.inf, np.zeros(0), np.zeros(0))


class Rating(NamedTuple):
    """Indices of a rating: the output and the rater."""

    system: int
    document: int
    rater: int


@dataclass(frozen=True, slots=True)
class Planted:
    """Planted truth: effects of systems and raters in points.

    `seen[system, document]` is an output's quality less its system's mean, in points. Call `rate` for scores.
    """

    effects: ScaleEffects
    seen: Floats
    seed: int

    @property
    def means(self) -> Mapping[str, float]:
        """Return each system's true mean, in points."""
        return dict(zip(SYSTEMS, self.effects.system.tolist(), strict=True))

    def rate(self, ratings: Sequence[Rating], occasion: str) -> list[int]:
        """Return the scores of ratings, in whole points; each `occasion` has noise of its own."""
        system, document, rater = (np.asarray(column) for column in zip(*ratings, strict=True))
        every = np.arange(self.seen.shape[1])
        rng = stream(self.seed, "demo", occasion)
        scores = draw_repeated_answers(rng, self.effects, self.seen, system, document, rater, every)
        return [int(score) for score in scores]


def plant_truth(seed: int) -> Planted:
    """Draw the true means of systems and the leniency and tastes of raters, which together favour no system."""
    rng = stream(seed, "demo", "truth")
    below = np.cumsum([0.0, *(rng.uniform(*gap) for gap in GAPS)])
    quality = BEST - rng.permutation(below)
    taste = 0.8 * rng.standard_normal((len(SYSTEMS), len(RATERS)))
    effects = ScaleEffects(
        mean=float(quality.mean()),
        system=quality,
        leniency=3.0 * rng.standard_normal(len(RATERS)),
        sharpness=np.ones(len(RATERS)),
        # Without a favourite of theirs, what is true of these raters is true of others like them.
        taste=taste - taste.mean(axis=1, keepdims=True),
        document_sd=4.0,
        segment_sd=0.0,
        system_document_sd=2.5,
        output_sd=0.0,
        rater_document_sd=1.5,
        residual_sd=6.0,
        system_sd=5.0,
        leniency_sd=3.0,
        sharpness_sd=0.0,
        rater_system_sd=0.8,
        scale=POINTS,
    )
    return Planted(effects, latent_draw(rng, effects, np.arange(IN_PILOT + FURTHER)), seed)


def write_pilot(truth: Planted, file: Path) -> None:
    """Write the ratings of a small study, as anyone has them: system, document, rater, score."""
    ratings = _pilot(truth.seed)
    named = ((SYSTEMS[rating.system], _document(rating.document), RATERS[rating.rater]) for rating in ratings)
    rows = ((*who, score) for who, score in zip(named, truth.rate(ratings, "pilot"), strict=True))
    _write(file, ("system", "document", "rater", "score"), rows)


def write_items(truth: Planted, file: Path) -> None:
    """Write the outputs that the study may ask about, on documents that the pilot had not."""
    code: Ints = stream(truth.seed, "demo", "outputs").permutation(9000)[: FURTHER * len(SYSTEMS)] + 1000
    pairs = [(document, name) for document in range(IN_PILOT, IN_PILOT + FURTHER) for name in SYSTEMS]
    rows = (
        (_document(k), f"source of document {k + 1}", name, f"output {text}")
        for (k, name), text in zip(pairs, code.tolist(), strict=True)
    )
    _write(file, ("document", "source", "system", "output"), rows)


def fill(truth: Planted, sheets: Path, key: Path, out: Path) -> int:
    """Write the `sheets` of an assignment, filled in by the raters, to `out`; return the number of ratings.

    `key` is the file that says which system each slot of the sheets stands for.
    """
    system = {row["slot"]: row["system"] for row in _read(key)}
    rows = _read(sheets)
    ratings = [
        Rating(SYSTEMS.index(system[row["slot"]]), int(row["document"][1:]) - 1, RATERS.index(row["rater"]))
        for row in rows
    ]
    scores = truth.rate(ratings, "study")
    filled = ([*({**row, "rating": score}).values()] for row, score in zip(rows, scores, strict=True))
    _write(out, tuple(rows[0]), filled)
    return len(rows)


def write_truth(truth: Planted, file: Path) -> None:
    """Write each system's true mean, the best first."""
    ranked = sorted(truth.means.items(), key=lambda entry: -entry[1])
    _write(file, ("system", "true_mean"), ((name, f"{mean:.3f}") for name, mean in ranked))


def _pilot(seed: int) -> list[Rating]:
    rng = stream(seed, "demo", "seats")
    seats = [(document, rng.permutation(len(RATERS))[:EACH].tolist()) for document in range(IN_PILOT)]
    return [Rating(s, document, r) for document, who in seats for r in who for s in range(len(SYSTEMS))]


def _document(k: int) -> str:
    return f"d{k + 1}"


def _read(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8-sig", newline="") as open_file:
        return list(csv.DictReader(open_file))


def _write(file: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with file.open("w", encoding="utf-8", newline="") as open_file:
        table = csv.writer(open_file)
        table.writerow(header)
        table.writerows(rows)
