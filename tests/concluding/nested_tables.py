"""Write tables of equal systems whose raters rate one system each: the hardest design for a test of systems."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Literal

import numpy as np

Answers = Literal["points", "categories", "binary"]


def write_nested(
    path: Path,
    *,
    seed: int = 0,
    n_systems: int = 2,
    n_documents: int = 30,
    n_raters: int = 10,
    leniency: float = 1.0,
    answers: Answers = "points",
    gap: float = 0.0,
    single_document: bool = False,
) -> Path:
    """Write one rating of each output by a rater of its system; the noise has a standard deviation of 1.

    Systems are equal but for `gap`, by which the first is better. `single_document`: all outputs are segments of one.
    """
    rng = np.random.default_rng(seed)
    lenient, difficult = leniency * rng.standard_normal(n_raters), rng.standard_normal(n_documents)
    rows = []
    for document in range(n_documents):
        for system in range(n_systems):
            rater = int(rng.choice(np.arange(system, n_raters, n_systems)))
            noise = rng.standard_normal() + 0.4 * rng.standard_normal()
            latent = lenient[rater] + difficult[document] + noise + gap * (system == 0)
            name = "d0" if single_document else f"d{document}"
            rows.append((f"s{system}", name, document + 1, f"r{rater}", _answer(latent, answers)))
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("system", "document", "segment", "rater", "score"))
        writer.writerows(rows)
    return path


def _answer(latent: float, answers: Answers) -> str:
    if answers == "binary":
        return str(int(latent > 0))
    if answers == "categories":
        return str(int(np.clip(np.rint(3 + latent), 1, 5)))
    return f"{50 + 10 * latent:.1f}"
