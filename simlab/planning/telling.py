"""Say which further ratings of a pilot would tell most about what an advice rests on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from simlab.planning.terms import Ground
from simlab.types import Floats
from simlab.world.files.fitted_world import FittedWorld, read_world

LEAST_SHARE = 0.2
"""What explains less of the spread between draws is not named."""
LEVEL = 0.05
TIMES = 3
"""So many times the degrees of freedom that a spread is known by are added, so that its relative error halves."""
MOST = 2000


class Component(NamedTuple):
    """Hold something that a pilot knows only roughly: its draws, and what is said of more ratings that tell it.

    `ask` takes how many degrees of freedom more halve its error.
    """

    name: str
    draws: Floats
    ask: Callable[[float], str]


def more(measured: Floats, noise: float, draws: Sequence[int], ground: Ground) -> str:
    """Say in a sentence which ratings would tell most about a measure: "" where no component explains a fifth.

    `measured[draw]` is regressed on each component of the fitted world, on its logarithm; `noise` is what simulation
    adds to its variance. The relative standard deviation of a spread from f degrees of freedom is sqrt(1 / (2 f)), so
    that the posterior's own says how many it is worth, and three times as many more halve it.
    """
    if len(draws) < 3 or not float(np.var(measured, ddof=1)) > noise:
        return ""
    found = [
        (share, one) for one in components(ground) if (share := _explained(measured, noise, one, draws)) is not None
    ]
    if not found:
        return ""
    share, one = max(found, key=lambda held: held[0])
    if share < LEAST_SHARE:
        return ""
    asked = one.ask(TIMES * _freedom(one))
    return f"Hardly known: {one.name} ({100 * share:.0f} % of what draws differ by). {asked} would halve its error."


def components(ground: Ground) -> Iterator[Component]:
    """List what a fitted world's draws differ in, of what ratings can tell."""
    held = read_world(_path(ground.words), None)
    systems, documents = len(held.system_names), len(held.document_sizes)

    def raters(each: int) -> Callable[[float], str]:
        return lambda freedom: f"{_count(freedom / each)} more raters on {documents} documents"

    def outputs(freedom: float) -> str:
        return f"Second ratings of {_count(freedom)} outputs"

    def texts(each: int) -> Callable[[float], str]:
        return lambda freedom: f"{_count(freedom / each)} more documents"

    said: Mapping[str, tuple[str, Callable[[float], str]]] = {
        "rater_system_sd": ("rater x system", raters(systems - 1)),
        "leniency_sd": ("leniency", raters(1)),
        "system_document_sd": ("system x document", texts(systems - 1)),
        "residual_sd": ("own noise", outputs),
        "dispersion": ("own noise", outputs),
        "system": ("how far the systems are apart", texts(systems - 1)),
    }
    for key, (name, ask) in said.items():
        values = _values(held, key)
        if values is not None and np.all(values > 0):
            yield Component(name, np.log(values), ask)
    if held.timing:
        pace = [held.timing[k % len(held.timing)].seconds_per_answer for k in range(len(held.effects))]
        yield Component("speed", np.log(pace), lambda freedom: f"Times of answers of {_count(freedom)} raters")


def _values(held: Any, key: str) -> Floats | None:
    """Return the draws of a component; None where the law has none of that name."""
    if key == "system":
        if isinstance(held, FittedWorld):
            return np.array([np.std(np.log(one.system_mean), ddof=1) for one in held.effects])
        return np.array([np.std(one.system, ddof=1) for one in held.effects])
    if key == "leniency_sd" and isinstance(held, FittedWorld):
        return np.array(held.leniency_sd)
    if not hasattr(held.effects[0], key):
        return None
    return np.array([float(getattr(one, key)) for one in held.effects])


def _explained(measured: Floats, noise: float, one: Component, draws: Sequence[int]) -> float | None:
    """Return the share of the spread between draws, noise removed, that a component explains; None: it may be none."""
    from scipy.stats import pearsonr

    own = one.draws[list(draws)]
    if not np.ptp(own) > 0 or not np.ptp(measured) > 0:
        return None
    at, chance = pearsonr(own, measured)
    if chance > LEVEL:
        return None
    # A line through n points explains 1 / (n - 1) of pure noise.
    n = len(draws)
    adjusted = 1 - (1 - float(at) ** 2) * (n - 1) / (n - 2)
    return min(1.0, adjusted / (1 - noise / float(np.var(measured, ddof=1))))


def _freedom(one: Component) -> float:
    """Return the degrees of freedom that a spread is known by: 1 / (2 r^2), r its relative error."""
    return 1 / (2 * max(float(np.var(one.draws, ddof=1)), 1e-6))


def _count(number: float) -> int:
    """Round up to a number that can be asked for."""
    return int(min(max(math.ceil(number), 2), MOST))


@lru_cache(maxsize=8)
def _path(words: tuple[str, ...]) -> str | None:
    """Return the file of the world that a plan stands on; None is the one that is built in."""
    from simlab.planning.bench import composed

    found = composed(words, ())["systems"].get("path")
    return None if found is None else str(found)
