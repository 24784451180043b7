"""Say what is compared in a table of judgements, and compare it by one way of estimating."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from simlab.analysis.means.document_pairs import Compared, Influence, compared, influence
from simlab.analysis.means.documents import Totals
from simlab.answers.conclude import Pair
from simlab.concluding.judgements.gathering import Evidence
from simlab.concluding.judgements.standing import more_documents, pairs_of
from simlab.concluding.wanted import LEVEL, Wanted
from simlab.messages import legible, or_nearest, several
from simlab.rng import stream
from simlab.types import InputError, Ints

FLIPS = 9_999
LEAST = 3
"""Documents that humans rated of each system, below which nothing is estimated."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Hold what is compared: systems that humans rated, pairs of them, the level and a margin."""

    names: tuple[str, ...]
    places: tuple[Ints, Ints]
    level: float
    margin: float | None
    seed: int
    lower_is_better: bool
    flips: int = FLIPS
    labels: bool = False

    def stream(self, *words: str) -> np.random.Generator:
        """Return the generator for a purpose."""
        return stream(self.seed, "conclude", *words)


class Way(NamedTuple):
    """Hold means and pairs by one way of estimating."""

    of: Totals
    means: Influence
    found: Compared
    pairs: Sequence[Pair]


def check(of: Totals, names: Sequence[str], table: Path) -> None:
    """Raise InputError where nothing can be compared."""
    if len(names) < 2:
        raise InputError(f"{legible(table)}: humans rated outputs of {names[0]} only; rate another system's, too")
    for name, row in zip(names, of.n, strict=True):
        n = int((row > 0).sum())
        if n < LEAST:
            raise InputError(
                f"{legible(table)}: humans rated outputs of {several(n, 'document')} of {legible(name, 40)}, and "
                f"documents are what is drawn; rate outputs of {LEAST} at least"
            )


def asked_of(evidence: Evidence, systems: Ints, wanted: Wanted) -> Asked:
    """Say which systems and pairs are compared; raise InputError for a baseline that humans did not rate."""
    names = tuple(evidence.system_names[k] for k in systems)
    first, second = np.triu_indices(len(names), 1)
    if wanted.against is not None:
        if wanted.against not in names:
            raise InputError(
                f"--against {legible(wanted.against, 40)}: is no system that humans rated; "
                f"{or_nearest(wanted.against, names, 'there are', 200)}"
            )
        at = names.index(wanted.against)
        second = np.array([k for k in range(len(names)) if k != at])
        first = np.full(len(second), at)
    level = LEVEL if wanted.level is None else wanted.level
    return Asked(
        names, (first, second), level, wanted.margin, wanted.seed, evidence.lower_is_better, labels=evidence.labels
    )


def way_of(asked: Asked, of: Totals, *, corrected: bool) -> Way:
    """Estimate means, and hold them against each other, with or without the metric in `of`."""
    means = influence(of, corrected=corrected)
    found = compared(asked.stream("flips"), means, asked.places, level=asked.level, flips=asked.flips)
    judged = of.n[:, (of.n > 0).any(0)]
    more = more_documents(found, means, asked.places, 2 * float(judged.mean()))
    pairs = pairs_of(
        asked.names, asked.places, found,
        level=asked.level, lower_is_better=asked.lower_is_better, margin=asked.margin, more=more,
    )  # fmt: skip
    return Way(of, means, found, pairs)
