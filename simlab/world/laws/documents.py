"""Outputs that come in documents: what is drawn of two outputs of a document is alike."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from simlab.types import Documents, Floats


def deviates(rng: np.random.Generator, shape: tuple[int, ...], documents: Documents) -> Floats:
    """Draw standard normal deviates `[..., item]`, correlated by `documents.agreement` within a document.

    Each item's own is drawn first, and what a document has in common only where there is something: worlds of
    independent outputs keep their numbers.
    """
    own = rng.standard_normal(shape)
    if documents.agreement == 0 or documents.size == 1:
        return own
    n_items = shape[-1]
    common = rng.standard_normal((*shape[:-1], -(-n_items // documents.size)))
    shared, rest = np.sqrt(documents.agreement), np.sqrt(1 - documents.agreement)
    return np.asarray(shared * common[..., documents.of(n_items)] + rest * own)


def shares(rng: np.random.Generator, shape: tuple[int, ...], documents: Documents) -> Floats:
    """Draw uniform numbers `[..., item]` whose normal deviates correlate by `documents.agreement` in a document."""
    if documents.agreement == 0 or documents.size == 1:
        return rng.random(shape)
    return np.asarray(ndtr(deviates(rng, shape, documents)))
