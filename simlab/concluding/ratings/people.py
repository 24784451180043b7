"""Lay out what is concluded about raters."""

from __future__ import annotations

from simlab.analysis.raters.leniency import leniency
from simlab.answers.conclude import Rater
from simlab.types import Collected, Rated


def raters_of(collected: Collected, rated: Rated, level: float) -> tuple[Rater, ...]:
    """Return how far each rater scores above the others, on the scale that is concluded on, each by itself."""
    names = collected.frame.rater_names
    found = leniency(rated, len(names), level)
    return tuple(
        Rater(rater=name, n=int(n), leniency=float(above), low=float(above - width), high=float(above + width))
        for name, n, above, width in zip(names, found.n, found.above, found.width, strict=True)
    )
