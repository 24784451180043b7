"""Compose the study of a design as anyone would run it: what a plan simulated, at the usual worlds and measures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simlab.config import compose_sweep
from simlab.config.overrides import Setting
from simlab.config.sweepfile import Declared
from simlab.planning.terms import Design, Ground

OF_PLANS = ("worlds", "pools", "document_draws", "studies", "measure", "engine")
"""Keys that say how a plan simulates, not what is studied."""


def study_of(ground: Ground, design: Design) -> dict[str, Any]:
    """Return the composed study of a design; what it sets goes before what all designs share."""
    own = dict(design)
    words = [word for word in ground.words if not _is_left_out(word.partition("=")[0], own)]
    settings = tuple(Setting(key, (value,), typed=True) for key, value in design)
    declared = Declared("plan", settings=settings, command=("run",), one_cell=True)
    return dict(next(compose_sweep(declared, words).cells()).config)


def _is_left_out(key: str, own: Mapping[str, Any]) -> bool:
    plain = key.replace("/", ".")
    return plain in own or plain.partition(".")[0] in OF_PLANS
