"""Estimate variance components of a law's scores, and how dependable studies of other sizes would be.

Call `components` on a law and its fit, then `coefficients` on the result for E rho^2 (of comparing systems) and Phi (of
scores as they stand), or `trade` to weigh ratings of an output against documents.

Components are in points: those of a random-effects analysis of variance of answers that the law draws for a balanced
design of its systems, new documents and raters at large. Raters are *drawn* (a study has other people like them) or
*fixed* (a study has these). Source: Brennan (2001), Generalizability Theory, chapters 1, 3, 4 and 7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from simlab.answers.fit import Component, Dependability, ErrorByRatings
from simlab.fitting.laws import FittableLaw, Fitted
from simlab.fitting.own_law import OwnEffects
from simlab.messages import name_things
from simlab.rng import stream
from simlab.tables.rating_table import Ratings
from simlab.types import Floats
from simlab.world.laws.fitted import Effects
from simlab.world.laws.scales import ScaleEffects

SYSTEM, DOCUMENT, SEGMENT, RATER = range(4)
"""Axes of the balanced design, in this order."""
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
# A draw is asked for about CELLS answers: the fewer systems and segments, the more documents.
RATERS, CELLS, MOST_SEGMENTS, MOST_DRAWS = 10, 12_000, 3, 100
INTERVAL = (0.025, 0.5, 0.975)
"""Quantiles of draws: a 95 % interval and the median."""
UNKNOWN = float("nan")
SHOWN = ("system", "document", "segment", "system_document", "output", "leniency", "rater_system", "rater_document")
"""Effects that a report lists, beside the noise."""
OF_RATERS = ("leniency", "rater_system", "rater_document")
"""Effects of single raters."""
DOCUMENTS = (10, 20, 40, 80, 160, 320)
"""Numbers of documents for which dependability is reported."""
MOST_EACH = 20
"""Most ratings of an output that are weighed."""
PRICES = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
"""What a document costs, in ratings of one of its segments."""
Raters = Literal["drawn", "fixed"]
"""Whether a study has other raters (drawn) or the pilot's (fixed)."""
NAMES: tuple[Literal["e_rho2", "phi"], ...] = ("e_rho2", "phi")
"""Coefficients of dependability: E rho^2 and Phi."""


@dataclass(frozen=True, slots=True)
class PilotComponents:
    """Variances `[draw]` by effect, the segments of a document, and the raters and documents of the pilot.

    `unknown` are effects that the pilot says nothing about.
    """

    variance: Mapping[str, Floats]
    segments: float
    n_raters: int
    n_documents: int
    unknown: frozenset[str]

    def list_components(self) -> list[Component]:
        """List the components of scores; the noise of a rating includes effects of single raters on single outputs."""
        rest = ("rater_segment", "rater_output_document", "residual")
        joined = {name: self.variance[name] for name in SHOWN if name in self.variance}
        joined["residual"] = np.sum([self.variance[name] for name in rest if name in self.variance], axis=0)
        return [self._component(name, np.sqrt(variance)) for name, variance in joined.items()]

    def _component(self, name: str, sd: Floats) -> Component:
        low, middle, high = map(float, np.quantile(sd, INTERVAL))
        if name in self.unknown:
            return Component(name=name, sd=UNKNOWN, low=UNKNOWN, high=UNKNOWN, assumed=middle)
        return Component(name=name, sd=middle, low=low, high=high)


def components(law: FittableLaw, fitted: Fitted, seed: int = 0) -> PilotComponents:
    """Return the components of the answers that each draw of a fitted law gives to a balanced design, by new raters."""
    pilot = fitted.ratings
    size = len(pilot.document) / pilot.n_documents
    n_segments = 1 if size < 1.5 else min(MOST_SEGMENTS, round(size))
    shape = pilot.n_systems, max(CELLS // (pilot.n_systems * n_segments * RATERS), 8), n_segments, RATERS
    design = balanced_design(pilot, *shape)
    rows = []
    for k, effects in enumerate(fitted.effects[:MOST_DRAWS]):
        # Each draw has its own stream, so that its components do not hang on how many draws are analysed.
        rng = stream(seed, "fit", "components", k)
        others = other_raters(rng, effects, {name: sd[k] for name, sd in fitted.components.items()}, RATERS)
        known = design if others is not None else _known_raters(design, pilot.n_raters)
        rows.append(variances(law.answer(rng, effects if others is None else others, known).reshape(shape)))
    variance = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    unknown = frozenset(name.removesuffix("_sd") for name in fitted.unknown)
    return PilotComponents(variance, size, pilot.n_raters, pilot.n_documents, unknown)


def balanced_design(pilot: Ratings, n_systems: int, n_documents: int, n_segments: int, n_raters: int) -> Ratings:
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
        document_names=name_things("document", n_documents),
        item_names=name_things("item", items),
        rater_names=name_things("rater", n_raters),
        criteria={},
    )


def _known_raters(design: Ratings, n_raters: int) -> Ratings:
    """Let the pilot's raters sit in turn where nobody can say how others would be."""
    return replace(design, rater=design.rater % n_raters, rater_names=name_things("rater", n_raters))


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
    estimates = {name: np.maximum(value, 0.0) for name, value in zip(wanted, solved, strict=True)}
    # With one segment a document the residual cannot be told from rater x output.
    if "residual" not in estimates and "rater_output_document" in estimates:
        estimates["residual"] = estimates.pop("rater_output_document")
    return estimates


def other_raters(rng: np.random.Generator, effects: Any, spread: Mapping[str, float], n: int) -> Any | None:
    """Replace the pilot's raters in a draw of a law by n at large; None where the law has no distribution of raters.

    What is drawn has exactly the spread that it should have, so that it adds no noise of its own to a component.
    """
    if isinstance(effects, ScaleEffects):
        return _redraw_scale_raters(rng, effects, n)
    if isinstance(effects, Effects) and "leniency_sd" in spread:
        return _redraw_counting_raters(rng, effects, spread, n)
    return effects.forget_raters() if isinstance(effects, OwnEffects) else None


def _redraw_scale_raters(rng: np.random.Generator, effects: ScaleEffects, n: int) -> ScaleEffects:
    taste = rng.standard_normal((len(effects.system), n))
    # What a taste has in common over systems is leniency, and over raters quality: both are taken out.
    taste = taste - taste.mean(0) - taste.mean(1, keepdims=True) + taste.mean()
    # Double centring leaves so many free values, by which the spread is scaled.
    free = (n - 1) * (len(effects.system) - 1)
    scale = np.sqrt(free / (taste**2).sum()) if free else 0.0
    return replace(
        effects,
        leniency=effects.leniency_sd * _draw_standardised(rng, n),
        sharpness=np.exp(effects.sharpness_sd * _draw_standardised(rng, n)),
        taste=effects.rater_system_sd * scale * taste,
    )


def _redraw_counting_raters(rng: np.random.Generator, effects: Effects, spread: Mapping[str, float], n: int) -> Effects:
    # The law does not say how sharpness and punctuation spread at large: each rater takes those of a known one.
    like = rng.integers(len(effects.leniency), size=n)
    leniency, severity = spread["leniency_sd"], spread.get("severity_sd", 0.0)
    return replace(
        effects,
        # Less sd^2 / 2 in the logarithm, so that the factors have mean 1.
        leniency=np.exp(leniency * _draw_standardised(rng, n) - leniency**2 / 2),
        severity=np.exp(severity * _draw_standardised(rng, n) - severity**2 / 2),
        sharpness=effects.sharpness[like],
        punctuation=effects.punctuation[like],
    )


def _draw_standardised(rng: np.random.Generator, n: int) -> Floats:
    """Draw numbers of mean 0 and, as a sample, of standard deviation 1."""
    drawn = rng.standard_normal(n)
    return np.asarray((drawn - drawn.mean()) / drawn.std(ddof=1))


class StudySize(NamedTuple):
    """Size of a study: documents, raters of each document (`each`), raters in all."""

    documents: float
    each: float
    raters: float


class Best(NamedTuple):
    """Best number of ratings each at a price of a document [ratings], with a 95 % interval."""

    price: float
    each: float
    low: float
    high: float


class Trade(NamedTuple):
    """Worth of more ratings of an output: `rows` by ratings each, and the price of a document from which they pay.

    `price[low, middle, high]` is how many ratings a document must cost for a second rating each to be worth more than
    more documents, `best` how many are best at other prices.
    """

    ratings: float
    rows: tuple[ErrorByRatings, ...]
    price: tuple[float, float, float]
    best: tuple[Best, ...]


def relative_error(components: PilotComponents, size: StudySize, raters: Raters) -> Floats:
    """Return, `[draw]`, half the variance of a difference of two systems' mean scores about its true value."""
    by_document, by_rating = _split_document_variance(components)
    taste = _component_variance(components, "rater_system") / size.raters if raters == "drawn" else 0.0
    return np.asarray(by_document / size.documents + by_rating / (size.documents * size.each) + taste)


def absolute_error(components: PilotComponents, size: StudySize, raters: Raters) -> Floats:
    """Return, `[draw]`, the variance of a system's mean score about its true value."""
    m = components.segments
    shared = _component_variance(components, "document") + _component_variance(components, "segment") / m
    rated = _component_variance(components, "rater_document") + _component_variance(components, "rater_segment") / m
    leniency = _component_variance(components, "leniency") / size.raters if raters == "drawn" else 0.0
    more = shared / size.documents + rated / (size.documents * size.each) + leniency
    return np.asarray(relative_error(components, size, raters) + more)


def _split_document_variance(components: PilotComponents) -> tuple[Floats, Floats]:
    """Split what differs between systems on a document: what all its raters share, and what each rating brings."""
    m = components.segments
    by_document = _component_variance(components, "system_document") + _component_variance(components, "output") / m
    return by_document, _component_variance(components, "rater_output_document") + _component_variance(
        components, "residual"
    ) / m


def _component_variance(components: PilotComponents, name: str) -> Floats:
    return np.asarray(components.variance.get(name, np.zeros(1)))


def coefficients(components: PilotComponents, each: int, documents: Sequence[int] = DOCUMENTS) -> list[Dependability]:
    """Return E rho^2 and Phi of studies of each number in `documents`, `each` ratings an output.

    Both are given for raters drawn and fixed.
    """
    return [
        Dependability(name=name, raters=raters, documents=n, each=each, value=value, low=low, high=high)
        for name in NAMES
        for raters in _estimable_raters(components)
        for n in documents
        for value, low, high in [
            _summary(_coefficient(components, StudySize(n, each, components.n_raters), name, raters))
        ]
    ]


def _estimable_raters(components: PilotComponents) -> tuple[Raters, ...]:
    """Leave out what a pilot cannot tell: raters at large, where it had one."""
    return ("fixed",) if {"rater_system", "leniency"} & components.unknown else ("drawn", "fixed")


def _coefficient(components: PilotComponents, size: StudySize, name: str, raters: Raters) -> Floats:
    true = _component_variance(components, "system") + (
        _component_variance(components, "rater_system") / size.raters if raters == "fixed" else 0.0
    )
    error = (relative_error if name == "e_rho2" else absolute_error)(components, size, raters)
    return np.asarray(np.divide(true, true + error, out=np.zeros_like(true), where=true > 0))


def trade(components: PilotComponents, ratings: float, most: int = MOST_EACH) -> Trade | None:
    """Weigh more documents against more ratings each at equal cost: `ratings` a system, K = 1 .. `most` each.

    With `A` what the raters of a document share and `B` what each rating brings, the variance is `2 (A + B / K) / D`.
    None where the pilot cannot tell A from B.
    """
    if {"system_document", "output", "residual"} & components.unknown:
        return None
    m = components.segments
    each = [k for k in range(1, most + 1) if ratings / (k * m) >= 2]
    sizes = {k: ratings / (k * m) for k in each}
    errors = {k: np.sqrt(2 * relative_error(components, StudySize(n, k, 1), "fixed")) for k, n in sizes.items()}
    if not errors:
        return None
    best = np.array(each)[np.argmin(np.stack(list(errors.values())), axis=0)]
    rows = tuple(
        ErrorByRatings(each=k, documents=sizes[k], error=error, low=low, high=high, best=float((best == k).mean()))
        for k in each
        for error, low, high in [_summary(errors[k])]
    )
    shared, own = _split_document_variance(components)
    # Equally good at equal cost: (A + B)(p + m) = (A + B / 2)(p + 2 m), which gives p = 2 m A / B.
    price = np.divide(2 * m * shared, own, out=np.full_like(own, np.inf), where=own > 0)
    low, middle, high = np.quantile(price, INTERVAL)
    return Trade(
        ratings, rows, (float(low), float(middle), float(high)), tuple(choose_ratings_each(components, most=most))
    )


def choose_ratings_each(
    components: PilotComponents, prices: Sequence[float] = PRICES, most: int = MOST_EACH
) -> list[Best]:
    """Return the best number of ratings of an output, 1 to `most`, for each price of a document [ratings].

    `K = sqrt(price B / (segments A))`, to the whole number that is better (Brennan 2001, section 8.1).
    """
    shared, own = _split_document_variance(components)
    each = np.arange(1, most + 1)[:, None]
    rows = []
    for price in prices:
        # At a fixed budget the number of documents goes with 1 / cost, so the variance goes with this product.
        worth = (shared + own / each) * (price + each * components.segments)
        rows.append(Best(price, *_summary(1 + worth.argmin(0))))
    return rows


def _summary(values: Floats) -> tuple[float, float, float]:
    low, middle, high = map(float, np.quantile(values, INTERVAL))
    return middle, low, high
