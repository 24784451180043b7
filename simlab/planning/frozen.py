"""Compose the study of a design as anyone would run it: what a plan simulated, at the usual worlds and measures."""

from __future__ import annotations

from typing import Any

from simlab.planning.bench import composed
from simlab.planning.terms import Design, Ground

OF_PLANS = ("worlds", "pools", "document_draws", "studies", "measure", "engine")
"""Keys that say how a plan simulates, not what is studied."""


def study_of(ground: Ground, design: Design) -> dict[str, Any]:
    """Return the composed study of a design, with its settings in the place of what all designs share."""
    sections = {word: word.partition("=")[0].replace("/", ".").partition(".")[0] for word in ground.words}
    return dict(composed([word for word, section in sections.items() if section not in OF_PLANS], design))
