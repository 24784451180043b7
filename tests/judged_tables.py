"""Make tables of preferences, and of a judge and humans, whose truth is known: what examples/ holds."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from simlab.rng import stream
from simlab.types import Floats

EXAMPLES = Path(__file__).parents[1] / "examples"
QUALITY = np.array([0.9, 0.6, 0.3, 0.0, -0.5, -1.3])
"""Latent qualities of the compared systems; of equals, .82 of comparisons are no tie."""
TIES = 0.6
"""Latent qualities of the compared systems, and how much ties weigh: .6 / 2.6 of comparisons of equals are ties."""
SHARES = np.array([0.85, 0.75, 0.7, 0.55, 0.4])
"""Shares of adequate outputs of the judged systems."""
SPREAD = 0.6
"""Standard deviation of an output's quality around its system's."""


def tie_odds(difference: Floats) -> Floats:
    """Return probabilities `[..., outcome]` of first, tie, second by the law of Davidson 1970."""
    weight = np.stack([np.exp(difference / 2), np.full(difference.shape, TIES), np.exp(-difference / 2)], axis=-1)
    return np.asarray(weight / weight.sum(-1, keepdims=True))


def preferences(items: int = 80, raters: int = 4) -> str:
    """Compare all pairs on each item once, by raters in turn; a judge says the same in .6 of cases, else anything."""
    rng = stream(1, "examples", "preferences")
    taste = QUALITY[:, None] + SPREAD * rng.standard_normal((len(QUALITY), items))
    rows = []
    first, second = np.triu_indices(len(QUALITY), 1)
    for item in range(items):
        for k, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
            a, b = (i, j) if rng.random() < 0.5 else (j, i)
            odds = tie_odds(taste[a, item] - taste[b, item])
            human = rng.choice(3, p=odds)
            judge = human if rng.random() < 0.6 else rng.choice(3)
            words = f"system{a + 1}", "tie", f"system{b + 1}"
            rater = f"rater{(item + k) % raters + 1}"
            rows.append([f"item{item + 1}", words[0], words[2], words[human], rater, words[judge]])
    return _text(["item", "system_a", "system_b", "winner", "rater", "judge"], rows)


def judged(items: int = 200, per_document: int = 5, rated: int = 120) -> str:
    """Let humans say of outputs for the first items whether they are adequate, and a judge score all from 1 to 10."""
    rng = stream(1, "examples", "judged")
    rows = []
    for item in range(items):
        for k, share in enumerate(SHARES.tolist()):
            adequate = rng.random() < share
            score = round(7.2 * adequate + 4.3 * (not adequate) + 1.9 * rng.standard_normal())
            judge = "" if rng.random() < 0.02 else str(min(max(score, 1), 10))
            human = str(int(adequate)) if item < rated else ""
            rows.append([f"system{k + 1}", f"item{item + 1}", f"document{item // per_document + 1}", human, judge])
    return _text(["system", "item", "document", "human", "judge"], rows)


def _text(header: list[str], rows: Iterable[list[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return text.getvalue()
