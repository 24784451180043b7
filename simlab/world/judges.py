"""Raters who judge single outputs: as adequate or not, or by a score.

`judges`, an option of `raters`, takes the systems (`Contest`) and the option's keys, and returns a `World` of
judgements.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Le

from simlab.types import JUDGE, Contest, InputError, JudgedWorld, World
from simlab.types.bounds import Spread, Value
from simlab.world.alphas import spread_of
from simlab.world.laws.comparisons import contest_frame
from simlab.world.laws.judgements import Judgements, Judges


def judges(
    rng: np.random.Generator,
    contest: Contest,
    *,
    scale: Literal["binary", "score", "skewed_score"],
    n_raters: Annotated[int, Ge(1), Le(10**6)],
    leniency_sd: Spread,
    leniency: Value,
    noise: Spread,
    gamma: Spread | None,
) -> JudgedWorld:
    """Let raters judge single outputs: adequate or not (`scale=binary`), or by a score.

    Raters' leniencies are drawn N(leniency, leniency_sd): on the binary scale they shift the threshold, so that each
    rater has true positive and negative rates of their own; without leniency and noise raters are the oracle. `gamma`,
    the variance of a judgement's noise over that of a system's outputs, stands for `noise` if given. See `Judges` for
    the law.

    Raises InputError for systems without a latent quality, and for scores of systems whose alpha is 0 or 1.
    """
    law = contest.latent if isinstance(contest, Contest) else None
    if law is None:
        raise InputError("raters=judges judges outputs by their latent quality, which these systems lack; "
                         "choose systems=alpha_optimal or systems=preference")  # fmt: skip
    if scale != "binary" and not np.isfinite(law.quality).all():
        raise InputError(
            f"raters.scale={scale}: an alpha of 0 or 1 has no finite mean score; keep alphas inside (0, 1)"
        )
    if scale == "skewed_score" and law.item_sd > 0:
        raise InputError("raters.scale=skewed_score needs systems.item_sd=0, or systems=alpha_optimal")
    if gamma is not None:
        # gamma is a ratio of variances, and systems may differ in theirs: their mean counts.
        noise = float(np.sqrt(gamma * np.mean(spread_of(law) ** 2)))

    def draw_world(rng: np.random.Generator) -> World:
        drawn = leniency + leniency_sd * rng.standard_normal(n_raters)
        return World(contest_frame(contest), {JUDGE: Judgements(contest, law, Judges(scale, drawn, noise))})

    world = draw_world(rng)
    # Outputs are drawn where they are judged: other inputs change nothing here.
    return replace(world, again=lambda anew: world if anew.raters is None else draw_world(anew.raters))
