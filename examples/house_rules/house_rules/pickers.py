"""Let raters pick the best of four outputs."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge

from simlab.types import Answers, Contest, Floats, InputError, Ints, Latent, World
from simlab.world.laws.comparisons import contest_frame, latent_scores

PICK = "pick"


def panels(n_systems: int) -> Ints:
    """List the sets of four systems: `[panel, 4]`."""
    return np.array(list(itertools.combinations(range(n_systems), 4)))


@dataclass(frozen=True, slots=True)
class Picks:
    """Say which of four outputs a rater picks: the one whose latent score, plus normal noise, is highest."""

    latent: Latent
    noise: float

    def draw(self, rng: np.random.Generator, needs: int) -> Floats:
        """Draw how good the outputs for `needs` items are perceived to be: `[system, item]`."""
        score = latent_scores(rng, self.latent, needs)
        return score + self.noise * rng.standard_normal(score.shape)

    def answer(self, noise: Floats, unit: Ints, item: Ints, slot: Ints) -> Answers:
        """Return which system is picked from a panel (`unit`) on an item."""
        shown = panels(len(noise))[unit]
        best = noise[shown, item[:, None]].argmax(1)
        return Answers(shown[np.arange(len(shown)), best], None)


def pickers(rng: np.random.Generator, contest: Contest, *, noise: Annotated[float, Ge(0)]) -> Annotated[World, PICK]:
    """Let raters pick the best of four outputs, by their latent quality and noise."""
    law: Any = contest.latent if isinstance(contest, Contest) else None
    if law is None:
        raise InputError("raters=pickers pick outputs by their latent quality; choose systems=preference")
    if len(contest.system_names) < 4:
        raise InputError(f"systems.n_systems={len(contest.system_names)}: a panel shows four outputs; raise it to 4")
    return World(contest_frame(contest), {PICK: Picks(law, noise)}, truth=law.quality)
