"""Say what makes scores differ: variance components of a law's scores, in points, whatever its own scale is.

A law is asked about a balanced design (its systems, new documents, raters at large) and the components of its answers
are those of a random-effects analysis of variance: a count, a category and a number then speak of one thing, and floor
and ceiling are in it. Source: Brennan (2001), Generalizability Theory, chapters 3 and 7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from simlab.answers.fit import Component
from simlab.fitting.laws import Fitted, Law
from simlab.fitting.other_raters import other_raters
from simlab.messages import numbered
from simlab.rng import stream
from simlab.tables.held import Ratings
from simlab.types import Floats

SYSTEM, DOCUMENT, SEGMENT, RATER = range(4)
EFFECTS: Mapping[str, frozenset[int]] = {
    "system": frozenset({SYSTEM}),
    "document": frozenset({DOCUMENT}),
    "segment": frozenset({DOCUMENT, SEGMENT}),
    "system_document": frozenset({SYSTEM, DOCUMENT}),
    "output": frozenset({SYSTEM, DOCUMENT, SEGMENT}),
    "leniency": frozenset({RATER}),
    "rater_system": frozenset({RATER, SYSTEM}),
    "rater_document": frozenset({RATER, DOCUMENT}),
    "rater_segment": frozenset({RATER, DOCUMENT, SEGMENT}),
    "rater_output_document": frozenset({RATER, SYSTEM, DOCUMENT}),
    "residual": frozenset({RATER, SYSTEM, DOCUMENT, SEGMENT}),
}
"""What an effect is one of; segments lie within documents."""
RATERS, CELLS, MOST_SEGMENTS, MOST_DRAWS = 10, 12_000, 3, 100
INTERVAL = (0.025, 0.5, 0.975)
UNKNOWN = float("nan")
SHOWN = ("system", "document", "segment", "system_document", "output", "leniency", "rater_system", "rater_document")
OF_RATERS = ("leniency", "rater_system", "rater_document")


@dataclass(frozen=True, slots=True)
class Components:
    """Hold variances `[draw]` by effect, how many segments a document has, how many raters and documents the pilot.

    `unknown` are effects that the pilot says nothing about.
    """

    variance: Mapping[str, Floats]
    segments: float
    n_raters: int
    n_documents: int
    unknown: frozenset[str]

    def listed(self) -> list[Component]:
        """List what makes scores differ; a rating's own noise holds what only a rater of an output differs by."""
        rest = ("rater_segment", "rater_output_document", "residual")
        joined = {name: self.variance[name] for name in SHOWN if name in self.variance}
        joined["residual"] = np.sum([self.variance[name] for name in rest if name in self.variance], axis=0)
        return [self._component(name, np.sqrt(variance)) for name, variance in joined.items()]

    def _component(self, name: str, sd: Floats) -> Component:
        low, middle, high = map(float, np.quantile(sd, INTERVAL))
        if name in self.unknown:
            return Component(name=name, sd=UNKNOWN, low=UNKNOWN, high=UNKNOWN, assumed=middle)
        return Component(name=name, sd=middle, low=low, high=high)


def components(law: Law, fitted: Fitted, seed: int = 0) -> Components:
    """Analyse what each draw of a law answers to a balanced design, raters drawn anew."""
    pilot = fitted.ratings
    size = len(pilot.document) / pilot.n_documents
    n_segments = 1 if size < 1.5 else min(MOST_SEGMENTS, round(size))
    shape = pilot.n_systems, max(CELLS // (pilot.n_systems * n_segments * RATERS), 8), n_segments, RATERS
    design = balanced(pilot, *shape)
    rows = []
    for k, effects in enumerate(fitted.effects[:MOST_DRAWS]):
        rng = stream(seed, "fit", "components", k)
        others = other_raters(rng, effects, {name: sd[k] for name, sd in fitted.components.items()}, RATERS)
        known = design if others is not None else _known_raters(design, pilot.n_raters)
        rows.append(variances(law.answer(rng, effects if others is None else others, known).reshape(shape)))
    held = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    unknown = frozenset(name.removesuffix("_sd") for name in fitted.unknown)
    return Components(held, size, pilot.n_raters, pilot.n_documents, unknown)


def balanced(pilot: Ratings, n_systems: int, n_documents: int, n_segments: int, n_raters: int) -> Ratings:
    """Lay out a design in which every rater rates every output once: systems, documents, segments, raters."""
    axes = np.indices((n_systems, n_documents, n_segments, n_raters)).reshape(4, -1)
    n = axes.shape[1]
    items = n_documents * n_segments
    return replace(
        pilot,
        system=axes[SYSTEM],
        item=axes[DOCUMENT] * n_segments + axes[SEGMENT],
        rater=axes[RATER],
        score=np.zeros(n),
        errors=np.full(n, -1),
        seconds=np.full(n, np.nan),
        document=np.repeat(np.arange(n_documents), n_segments),
        document_names=numbered("document", n_documents),
        item_names=numbered("item", items),
        rater_names=numbered("rater", n_raters),
        criteria={},
    )


def _known_raters(design: Ratings, n_raters: int) -> Ratings:
    """Let the pilot's raters sit in turn where nobody can say how others would be."""
    return replace(design, rater=design.rater % n_raters, rater_names=numbered("rater", n_raters))


def variances(score: Floats) -> dict[str, Floats]:
    """Return the variance components of `score[system, document, segment, rater]`; those that can be are >= 0.

    The mean square `A_T` of the means over all axes but those in T has expectation
    `mu^2 + sum over U of sigma^2_U / prod(n_i for i in U not in T)`: as many equations as unknowns.
    """
    wanted = {name: of for name, of in EFFECTS.items() if all(score.shape[axis] > 1 for axis in of)}
    # Without segments the effects of documents and of their segments are one.
    sets = [frozenset(), *wanted.values()]
    square = [float((score.mean(tuple({0, 1, 2, 3} - of)) ** 2).mean()) for of in sets]
    matrix = [[1 / np.prod([score.shape[axis] for axis in u - t]) for u in sets] for t in sets]
    solved = np.linalg.solve(np.array(matrix), np.array(square))[1:]
    found = {name: np.maximum(value, 0.0) for name, value in zip(wanted, solved, strict=True)}
    if "residual" not in found and "rater_output_document" in found:
        found["residual"] = found.pop("rater_output_document")
    return found
