"""Draw tables of judgements whose truth is known: documents, skew, unequal labels, a metric of any quality."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from simlab.concluding.judgements.gathering import OutputEvidence
from simlab.types import Floats


@dataclass(frozen=True)
class World:
    """Hold how tables are drawn.

    `means[system]` are true shares of adequate outputs, or true means of scores. `document` and `taste` are the shares
    of an output's variance that its document brings, for all systems alike and for each by itself. `skew` is the
    spread of a lognormal score (0: normal). `follows[system]` is the metric's correlation with quality, `bias[system]`
    what it adds. `labelled` is the share of documents that humans rated; with `unequal`, systems differ in it.
    """

    means: Floats
    labels: bool = True
    n_documents: int = 60
    size: float = 4.0
    document: float = 0.2
    taste: float = 0.1
    skew: float = 0.0
    follows: Floats | float = 0.7
    bias: Floats | float = 0.0
    labelled: float = 0.5
    unequal: bool = False


def drawn(rng: np.random.Generator, world: World) -> OutputEvidence:
    """Draw a table."""
    n_systems, n_documents = len(world.means), world.n_documents
    sizes = np.minimum(rng.geometric(1 / world.size, n_documents), 15)
    document = np.repeat(np.arange(n_documents), sizes)
    n_items = len(document)
    of_document, of_taste = rng.standard_normal(n_documents), rng.standard_normal((n_systems, n_documents))
    own = np.sqrt(1 - world.document - world.taste) * rng.standard_normal((n_systems, n_items))
    quality = np.sqrt(world.document) * of_document[document] + np.sqrt(world.taste) * of_taste[:, document] + own
    human = _human(world, quality)
    follows, bias = (np.broadcast_to(np.asarray(x, float), n_systems)[:, None] for x in (world.follows, world.bias))
    heard = quality + (ndtri(world.means)[:, None] if world.labels else world.means[:, None])
    metric = bias + follows * heard + np.sqrt(1 - follows**2) * rng.standard_normal(quality.shape)
    share = np.linspace(0.6, 1.0, n_systems)[:, None] if world.unequal else np.ones((n_systems, 1))
    picked = rng.permutation(n_documents) < max(3, round(world.labelled * n_documents))
    seen = picked & (rng.random((n_systems, n_documents)) < share)
    human = np.where(seen[:, document], human, np.nan)
    return OutputEvidence(
        system_names=tuple(f"s{k + 1}" for k in range(n_systems)),
        system=np.repeat(np.arange(n_systems), n_items),
        item=np.tile(np.arange(n_items), n_systems),
        document=np.tile(document, n_systems),
        n_documents=n_documents,
        human=human.ravel(),
        metrics={"judge": metric.ravel()},
        labels=world.labels,
        lower_is_better=False,
        read={},
        line="",
        notes=(),
    )


def _human(world: World, quality: Floats) -> Floats:
    if world.labels:
        return (quality + ndtri(world.means)[:, None] > 0).astype(float)
    if world.skew == 0:
        return world.means[:, None] + quality
    spread = np.exp(world.skew**2 / 2) * np.sqrt(np.expm1(world.skew**2))
    return np.asarray(world.means[:, None] + (np.exp(world.skew * quality) - np.exp(world.skew**2 / 2)) / spread)
