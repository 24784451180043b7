"""Fit the law of MQM error counts to ratings, draw from it, and list the parameters that ratings do not identify.

The law is a model of the errors that raters mark, whose weights add up to scores; `MQM` offers it as a `FittableLaw`.
`fit` returns draws of its parameters given `Ratings`, `answer` draws scores from one of them (`effects`), and `content`
returns what the file of a fitted world holds. A pilot is a table of ratings to which the law is fitted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from simlab.fitting.laws import FittableLaw, Fitted, SampledPosterior
from simlab.fitting.mqm import fast
from simlab.fitting.mqm.fast import simulate
from simlab.fitting.mqm.moments import PAIRS, mark_identified
from simlab.fitting.mqm.pilot import MAX_RATINGS, MqmPilot, lay_out_design, pilot_from_ratings
from simlab.tables.rating_table import Ratings
from simlab.types import Array, Floats
from simlab.world.files.fitted_world import SINGLE
from simlab.world.laws.fitted import Effects, draw_world

NAME = "mqm"
"""Name of the law."""
POPULATION = ("mean_score", "system_sd", "leniency_sd", "severity_sd")
"""Parameters of systems and raters at large, in the file of a world."""
PER_UNIT = ("system_mean", "leniency", "severity", "sharpness", "punctuation")
"""Parameters of single systems and raters, in the file of a world."""
INTERVAL = (0.025, 0.5, 0.975)
"""Quantiles of draws: a 95 % interval and the median."""
ROUGH = (40, 60)
"""Tables simulated for a fit that is enough to compare laws."""
FEW = 5
"""With fewer documents or raters a spread between them is mostly prior."""


def mqm_refusal(ratings: Ratings) -> str | None:
    """Explain why scores are no sums of errors: None, or which of their rules they break."""
    if not ratings.lower_is_better:
        return "errors are counted from 0 and fewer are better; in this table higher scores are better"
    if ratings.scale is not None and np.isfinite(ratings.scale[1]):
        return f"errors have no ceiling; the scale of this table ends at {ratings.scale[1]:g}"
    if ratings.score.min() < 0:
        return f"errors are counted from 0; the table has a score of {ratings.score.min():g}"
    if not ratings.score.any():
        return "no score is above 0, so that there are no errors to count"
    if len(ratings.score) > MAX_RATINGS:
        return f"the table has {len(ratings.score):,} ratings; counts of errors are fitted to at most {MAX_RATINGS:,}"
    return None


def fit(ratings: Ratings, *, seed: int = 0, draws: int = fast.DRAWS, rough: bool = False) -> Fitted:
    """Fit the law to ratings that it does not refuse; the same seed gives the same draws, `rough` takes less time."""
    pilot = pilot_from_ratings(ratings, "the table")
    fitted = fast.fit(pilot, seed=seed, draws=draws, rounds=ROUGH if rough else None)
    spreads = {
        name: np.array([getattr(one, name) for one in fitted.effects]) for name in SINGLE if name.endswith("_sd")
    }
    spreads |= {name: np.array([getattr(one, name) for one in fitted.population]) for name in POPULATION}
    known = Fitted(NAME, ratings, fitted.effects, spreads, list_unidentified(pilot), unknown_spreads(pilot), {})
    return known if rough else replace(known, posterior=_posterior(known))


def _posterior(fitted: Fitted) -> SampledPosterior:
    """Return all draws as one chain: they are independent of each other."""
    single = {name: [getattr(one, name) for one in fitted.effects] for name in SINGLE}
    each = {name: [getattr(one, name) for one in fitted.effects] for name in PER_UNIT}
    draws = {**single, **fitted.components, **each}
    dims = {name: ("system" if name == "system_mean" else "rater",) for name in PER_UNIT}
    return SampledPosterior({name: np.array(value, float)[None] for name, value in draws.items()}, dims, {})


def answer(rng: np.random.Generator, effects: Effects, design: Ratings) -> Floats:
    """Draw new documents and answers for the same systems and raters: one score per rating of the design."""
    # Tenths, as tables have them: a sum of weights is a hair beside its value.
    return np.asarray(simulate(rng, effects, lay_out_design(design)).score.round(9))


def content(fitted: Fitted) -> Mapping[str, Any]:
    """Return the part of a fitted world's file that depends on the law; numbers keep five digits."""
    effects, columns = fitted.effects, fitted.components
    draws: dict[str, Any] = {name: [_row(getattr(one, name)) for one in effects] for name in PER_UNIT}
    single = {name: np.array([getattr(one, name) for one in effects]) for name in SINGLE}
    single |= {name: columns[name] for name in POPULATION}
    return {
        "method": "fast",
        "estimates": {name: _summary(column) for name, column in single.items()},
        "minor_weight": _round_digits(effects[0].minor_weight),
        "major_weight": _round_digits(effects[0].major_weight),
        "draws": draws | {name: _row(column) for name, column in single.items()},
    }


def _summary(column: Floats) -> dict[str, float]:
    """Return median and 95 % interval."""
    return dict(zip(("low", "estimate", "high"), map(_round_digits, np.quantile(column, INTERVAL)), strict=True))


def _row(values: Array) -> list[float]:
    return [_round_digits(value) for value in values]


def _round_digits(value: float) -> float:
    return float(f"{value:.5g}")


MQM = FittableLaw(NAME, mqm_refusal, fit, answer, draw_world, content)
"""The law as `fitting.laws` lists it."""


def list_unidentified(pilot: MqmPilot) -> list[str]:
    """List, in sentences, the parameters that a pilot does not identify, and what their values rest on."""
    return list(_sentences(pilot))


def _sentences(pilot: MqmPilot) -> Iterator[str]:
    has = dict(zip(PAIRS, mark_identified(pilot).tolist(), strict=False))
    if pilot.n_systems == 1:
        yield "one system: differences between systems, on documents and by taste, keep their priors"
    if pilot.n_raters == 1:
        yield "one rater: differences between raters (leniency, severity, taste) keep their priors"
    if pilot.n_raters > 1 and not has["same segment, same system, other rater"]:
        yield (
            "one rater per output: what raters of an output share (noise_share) is told from their taste and from "
            "the systems' ups and downs only by the priors"
        )
    if pilot.n_raters > 1 and not has["same segment, other system, other rater"]:
        yield "no two raters on a document: leniency is told from the documents only by chance, and taste by priors"
    if not pilot.counted:
        yield "the scores do not tell minor from major errors: all are of one kind, and severity is 1 for all raters"
    yield from _sentences_on_few_units(pilot)


def unknown_spreads(pilot: MqmPilot) -> frozenset[str]:
    """Name the spreads that a pilot does not inform: their draws come from the priors."""
    has = dict(zip(PAIRS, mark_identified(pilot).tolist(), strict=False))
    names: list[str] = []
    if pilot.n_systems == 1:
        names += ["system_sd", "system_document_sd", "rater_system_sd"]
    if pilot.n_raters == 1:
        names += ["leniency_sd", "severity_sd", "rater_system_sd", "rater_document_sd"]
    if pilot.n_documents == 1:
        names += ["document_sd", "system_document_sd", "rater_document_sd"]
    if (
        not has["same document, other segment, other system, other rater"]
        and not has["same segment, other system, other rater"]
    ):
        names.append("rater_document_sd")
    return frozenset(names)


def _sentences_on_few_units(pilot: MqmPilot) -> Iterator[str]:
    if pilot.n_documents < FEW:
        yield f"{pilot.n_documents} documents: how far documents differ is mostly prior"
    if 1 < pilot.n_raters < FEW:
        yield f"{pilot.n_raters} raters: how far raters at large differ is mostly prior; these raters are known"
    if pilot.document.size == pilot.n_documents:
        yield "one segment per document: documents and segments cannot be told apart; priors share it out"
    if np.ptp(pilot.score) == 0:
        yield "constant scores: nothing varies, and every spread is what the priors leave"
