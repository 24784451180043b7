"""Offer the laws of ratings on a scale as `FittableLaw`: gaussian, normal scores, ordinal and binary.

Functions `..._refusal` take a table and return why a law does not suit it; None: it does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np

from simlab.fitting.laws import FittableLaw, Fitted
from simlab.fitting.scales.chain import MOST_CATEGORIES, categories
from simlab.fitting.scales.fitting import fit
from simlab.tables.rating_table import Ratings
from simlab.types import Floats
from simlab.world.laws.scales import Scale, ScaleEffects, draw_flat_answers, draw_world

LEAST = 3
"""Fewest different scores of which a distance between scores can be told."""
# A file of a fitted world holds no more values (`ScaleLimits`).
MOST_RANKS = 1001
DIGITS = 6
"""Significant digits of numbers in a file."""


def gaussian_refusal(ratings: Ratings) -> str | None:
    """Explain why a table does not allow the law `gaussian`: too few different scores. None: it does."""
    n = len(np.unique(ratings.score))
    return None if n >= LEAST else f"scores in points need at least {LEAST} different scores; the table has {n}"


def normal_scores_refusal(ratings: Ratings) -> str | None:
    """Explain why a table does not allow `normal_scores`: sums of errors, too few or many scores. None: it does."""
    open_above = ratings.scale is None or not np.isfinite(ratings.scale[1])
    if ratings.lower_is_better and open_above and ratings.score.min() >= 0:
        return "sums of errors have a law of their own, mqm"
    n = len(np.unique(ratings.score))
    if n <= MOST_CATEGORIES:
        return f"normal scores need more than {MOST_CATEGORIES} different scores; the table has {n}"
    return None if n <= MOST_RANKS else f"{n:,} different scores are too many ranks; at most {MOST_RANKS:,}"


def ordinal_refusal(ratings: Ratings) -> str | None:
    """Explain why a table does not allow the law `ordinal`: too few or too many different scores. None: it does."""
    n = len(np.unique(ratings.score))
    if n < LEAST:
        return f"categories in order need at least {LEAST} different scores; the table has {n}"
    n = len(categories(ratings))
    return None if n <= MOST_CATEGORIES else f"{n} different scores are too many categories; at most {MOST_CATEGORIES}"


def binary_refusal(ratings: Ratings) -> str | None:
    """Explain why a table does not allow the law `binary`: it has not two different scores. None: it does."""
    n = len(np.unique(ratings.score))
    return None if n == 2 else f"yes and no need exactly 2 different scores; the table has {n}"


def answer(rng: np.random.Generator, effects: ScaleEffects, design: Ratings) -> Floats:
    """Draw new documents and answers for the same systems and raters: one score per rating of the design."""
    return draw_flat_answers(rng, effects, design.system, design.item, design.rater, design.document)


def content(fitted: Fitted) -> Mapping[str, Any]:
    """Return the keys `law`, `scale` and `draws` of the file of a fitted world."""
    effects: Sequence[ScaleEffects] = fitted.effects
    names = [one.name for one in fields(ScaleEffects) if one.name != "scale"]
    draws: dict[str, Any] = {name: [_round_digits(getattr(one, name)) for one in effects] for name in names}
    draws["tail"] = [_round_finite(one.scale.tail) for one in effects]
    draws["thresholds"] = [_round_digits(one.scale.thresholds) for one in effects]
    return {"law": effects[0].scale.law, "scale": _scale(effects[0].scale), "draws": draws}


GAUSSIAN = FittableLaw("gaussian", gaussian_refusal, partial(fit, "gaussian"), answer, draw_world, content)


NORMAL_SCORES = FittableLaw(
    "normal_scores", normal_scores_refusal, partial(fit, "normal_scores"), answer, draw_world, content
)


ORDINAL = FittableLaw("ordinal", ordinal_refusal, partial(fit, "ordinal"), answer, draw_world, content)


BINARY = FittableLaw("binary", binary_refusal, partial(fit, "binary"), answer, draw_world, content)


def _scale(scale: Scale) -> dict[str, Any]:
    return {
        "low": _round_finite(scale.low),
        "high": _round_finite(scale.high),
        "step": _round_digits(scale.step),
        "values": _round_digits(scale.values),
    }


def _round_finite(value: float) -> float | None:
    return float(_round_digits(value)) if np.isfinite(value) else None


def _round_digits(value: Any) -> Any:
    """Round to significant digits, as lists and numbers."""
    array = np.asarray(value, dtype=float)
    if array.ndim == 0:
        return float(f"{float(array):.{DIGITS}g}")
    return [_round_digits(entry) for entry in array]
