"""Let a law answer in the place of a pilot's raters: the same outputs, the same raters, other answers."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from simlab.fitting.mqm.pilot import Pilot, with_scores
from simlab.types import Ints
from simlab.world.laws.error_counts import count_quantile, own_shares, shared_parts
from simlab.world.laws.fitted import Effects, draw_factors, expected_errors, weights


def simulate(rng: np.random.Generator, effects: Effects, pilot: Pilot) -> Pilot:
    """Draw a world for the pilot's outputs and raters, and its ratings.

    It is the law of `fitted_law.world_on`, drawn for the ratings that exist only: a table with one rater per output
    is not blown up to all raters.
    """
    factors = draw_factors(rng, effects, pilot.document)
    expected = expected_errors(effects, factors, pilot.document, pilot.system, pilot.item, pilot.rater)
    shape = len(expected), pilot.n_systems, len(pilot.document)
    shared = shared_parts(rng, shape, effects.segment_share).reshape(len(expected), -1)
    normal = rng.standard_normal(expected.shape)
    share = own_shares(effects.noise_share, effects.minor_noise)[: len(expected)]
    normal *= np.sqrt(share)
    normal += np.sqrt(1 - share) * shared.take(pilot.layout.output, axis=1)
    count = count_quantile(ndtr(normal, out=normal), expected, effects.dispersion)
    return with_scores(pilot, _three_kinds(count), weights(effects) @ count)


def _three_kinds(count: Ints) -> Ints:
    return count if len(count) == 3 else np.concatenate([count, np.zeros_like(count[:1])])
