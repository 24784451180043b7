"""Let other people rate the outputs of pilots whose truth is known, and predict what they find from pilots alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from simlab.fitting.scales.chain import SHARES, Priors, priors_for_points
from simlab.fitting.scales.fitting import assemble_effects, prepare, scale_of, seen_scores
from simlab.fitting.scales.outputs import OutputDraw, add_outputs
from simlab.fitting.scales.sampling import begin, go_on
from simlab.fitting.scales.terms import OF_SEGMENTS
from simlab.rng import stream
from simlab.types import Floats, Frame
from tests.oracles.other_people import anew, by_others, repeated
from tests.pilots import Pilot, Truth, law_of, pilot
from tests.statistics.predicted_pilots import only, ratings_of

MEASURES = ("significant", "confirmed", "srp")
SPREAD = 6.0
"""Points that priors are scaled by."""


class Size(NamedTuple):
    """Say how many pilots of which size are drawn, how long chains run, and how many worlds and draws are used."""

    pilots: int = 30
    n_systems: int = 13
    n_documents: int = 70
    n_raters: int = 8
    warmup: int = 300
    kept: int = 60
    apart: int = 5
    sets: int = 30


class Predicted(NamedTuple):
    """Hold what repetitions are predicted to show, and what one does: `[pilot, world]` and `[pilot]`."""

    expected: Floats
    found: Floats

    @property
    def error(self) -> Floats:
        """Return how far predictions are off, `[pilot]`."""
        return np.asarray(self.expected.mean(1) - self.found)

    @property
    def held(self) -> Floats:
        """Tell whether 90 % intervals hold what was found, `[pilot]`."""
        low, high = np.quantile(self.expected, (0.05, 0.95), axis=1)
        return np.asarray((low <= self.found) & (self.found <= high), float)


def drawn(size: Size, seed: int) -> list[Pilot]:
    """Draw pilots of one rating of each output, all with the same seats, each from a truth of its own."""
    shape = {"n_systems": size.n_systems, "n_documents": size.n_documents, "n_raters": size.n_raters, "ratings": 1}
    return [pilot(stream(seed, "pilot", k), truth(seed, k), seating=stream(seed), **shape) for k in range(size.pilots)]


def truth(seed: int, k: int) -> Truth:
    """Draw the truth of a pilot from the priors.

    One rating of each output tells the effects of systems on documents only together with the residual: their shares
    are what the priors say, so that intervals are right on average over truths from the priors, not for each truth.
    """
    parts = [name for name in SHARES if name not in OF_SEGMENTS]
    sizes = np.abs(stream(seed, "truth", k).standard_normal(len(parts)))
    return Truth(**{name: SPREAD * SHARES[name] * float(size) for name, size in zip(parts, sizes, strict=True)})


def priors() -> Priors:
    """Return the priors that truths are drawn from."""
    found = priors_for_points(np.array([-SPREAD, SPREAD]))
    return replace(found, mean=Truth().mean, tails=(np.inf,))


def fitted(pilots: Sequence[Pilot], size: Size, seed: int) -> list[list[OutputDraw]]:
    """Fit all pilots side by side, one chain each; draws of the law and of the outputs of each."""
    first = ratings_of(pilots[0])
    score = np.stack([one.score for one in pilots], axis=1)
    scale = scale_of("gaussian", first)
    model, _ = prepare("gaussian", first, scale, priors(), 1)
    chains = begin(stream(seed, "chains"), model, seen_scores(score, scale, priors()), size.warmup)
    held, rng = go_on(chains, size.kept, size.apart, rated=True), stream(seed, "others")
    found = []
    for k in range(len(pilots)):
        one = only(held, k)
        laws = assemble_effects(rng, model, one, scale, size.kept, size.n_systems)
        found.append(add_outputs(rng, model, one, laws, first))
    return found


def frame_of(held: Pilot, size: Size) -> Frame:
    """Return who sat where: one rating of each output."""
    rater = np.zeros((size.n_systems, size.n_documents, 1), int)
    rater[held.system, held.document, 0] = held.rater
    names = [tuple(map(str, range(n))) for n in (size.n_systems, size.n_documents, size.n_raters)]
    document = np.arange(size.n_documents)
    return Frame(document, np.zeros_like(document), rater, *names, lower_is_better=False)


def predicted(
    pilots: Sequence[Pilot],
    laws: Sequence[Sequence[OutputDraw]],
    size: Size,
    n: int,
    seed: int,
    *,
    given: bool = True,
) -> dict[str, Predicted]:
    """Predict the repetition of each pilot by other people about n of its documents, and carry it out.

    Without `given` what a pilot says of its own outputs is left out.
    """
    frame = frame_of(pilots[0], size)
    held: dict[str, list[tuple[Floats, float]]] = {name: [] for name in MEASURES}
    for k, (one, drawn_laws) in enumerate(zip(pilots, laws, strict=True)):
        first = np.zeros((1, size.n_documents, size.n_systems))
        first[0, one.document, one.system] = one.score
        true = by_others([OutputDraw(law_of(one, one.truth), one.seen)], frame, seed + 2 * k)
        at = seed + 2 * k + 1
        worlds = by_others(drawn_laws, frame, at) if given else anew([law.effects for law in drawn_laws], frame, at)
        expected, found = (repeated(first, second, n, size.sets) for second in (worlds, true))
        for name in MEASURES:
            held[name].append((getattr(expected, name), float(getattr(found, name)[0])))
    return {name: Predicted(*(np.array(part) for part in zip(*rows, strict=True))) for name, rows in held.items()}
