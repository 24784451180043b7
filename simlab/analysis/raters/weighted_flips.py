"""Test pairs of systems by flips of what raters and documents contribute to means weighted by who rated what."""

from __future__ import annotations

import numpy as np

from simlab.analysis.multiplicity import Family
from simlab.analysis.raters.contributions import added, by_pair
from simlab.analysis.raters.crossed import Crossed, family_of, shared_part
from simlab.analysis.raters.weighted import contributed
from simlab.types import Floats, Rated
from simlab.types.bounds import Count


def weighted_flips(rng: np.random.Generator, rated: Rated, *, flips: Count) -> Floats:
    """Flip all that a rater contributes to a difference of weighted means, and all that a document does.

    A contribution is how far the rater's ratings draw the difference away, and the rater's share of the difference
    itself. Raters who met one of the two systems only contribute their level, as it is not told from the system: so the
    spread of levels counts wherever weights cannot even it out. Documents are flipped where several raters share one,
    as in `crossed_flips`, which this test is where all systems of a document are rated by the same raters. The least
    p-value is about 2^(1 - raters). Source: Canay, Romano and Shaikh 2017; Cameron, Gelbach and Miller 2011.
    """
    return weighted_family(rng, rated, flips=flips).p_values()


def weighted_family(rng: np.random.Generator, rated: Rated, *, flips: int) -> Family:
    """Return the statistic of each pair as it is, and under each pattern of flips."""
    of = weighed(rated)
    return family_of(rng, rated, of, of.raters.sum(0), flips)


def weighed(rated: Rated) -> Crossed:
    """Add up what raters and documents contribute to differences of weighted means; 0 of pairs that never met."""
    sides, of = by_pair(rated, documents=True), contributed(rated)
    weights, gap, met = of.weights, of.difference, (sides.size > 0).all(0) & of.known
    raters = (added(of.for_raters, weights.rater) + weights.by_rater * gap) * met
    documents = (added(of.for_documents, weights.document) + weights.by_document * gap) * met
    alone = added((of.alone + weights.by_cell * gap) ** 2, weights.document)
    return Crossed(raters, documents * shared_part(raters, documents, alone), sides)
