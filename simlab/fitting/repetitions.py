"""Let the world behind a table of ratings answer anew in the table's own design: who rated what stays as it was.

What is drawn anew decides what a repetition means: the same people may rate the same outputs once more, or other
documents; other people may rate; and systems may be made equal, for whoever wants to know how often nothing is found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from simlab.fitting.backtest.choosing import chosen
from simlab.fitting.checks import checks
from simlab.fitting.laws import Fitted, Law, laws
from simlab.fitting.scales.fitting import LawName
from simlab.fitting.scales.outputs import OnOutputs, on_outputs
from simlab.messages import several
from simlab.tables.held import Ratings, as_errors
from simlab.types import Floats, InputError
from simlab.world.fitted import new_raters
from simlab.world.laws.fitted import Effects
from simlab.world.laws.scales import ScaleEffects, answer_again, with_raters

THOROUGH = 2_000
"""Larger tables are fitted in less time: their systems and raters are known well, whatever the chains leave open."""
FEWEST = 4
"""Documents from which a world of further ones is fitted."""
TABLES = 100
"""Tables that a world is checked with; a page on a fit takes three times as many."""

Answer = Callable[[np.random.Generator, int], Floats]
"""Answer the whole design once more, given a generator and the number of a draw of the parameters."""


@dataclass(frozen=True, slots=True)
class TableWorld:
    """Hold draws of the law behind a table, and how many of so many checks against the table it passed.

    `own[draw]` knows the table's own outputs; None where the law keeps nothing of single outputs. `turned`: scores are
    answered with the other sign (penalties that the table writes with a minus).
    """

    law: Law
    fitted: Fitted
    own: Sequence[OnOutputs] | None
    passed: int
    failed: tuple[str, ...]
    turned: bool

    @property
    def n_draws(self) -> int:
        """Count the draws of the parameters."""
        return len(self.fitted.effects)

    @property
    def name(self) -> str:
        """Name the world, and say how it stood its checks."""
        n = self.passed + len(self.failed)
        failed = f"; failed: {', '.join(self.failed[:3])}{', ...' if len(self.failed) > 3 else ''}"
        return f"{self.law.name}, {self.passed} of {n} checks passed{failed if self.failed else ''}"

    def same(self, rng: np.random.Generator, draw: int) -> Floats:
        """Let the same raters rate the same outputs again; raises ValueError where `own` is None."""
        if self.own is None:
            raise ValueError(f"the law {self.law.name} keeps nothing of single outputs")
        held = self.own[draw]
        return self._as_the_table(answer_again(rng, held.effects, held.seen, **self._design))

    def new_documents(self, rng: np.random.Generator, draw: int) -> Floats:
        """Let the same raters rate outputs for other documents."""
        return self._answered(rng, self.fitted.effects[draw])

    def all_new(self, rng: np.random.Generator, draw: int) -> Floats:
        """Let other raters, in the same seats, rate outputs for other documents."""
        return self._answered(rng, self._others(rng, self.fitted.effects[draw], draw))

    def equal(self, rng: np.random.Generator, draw: int, *, raters_drawn: bool) -> Floats:
        """Let equal systems be rated, for other documents: by other raters, or by these, who then favour none."""
        effects = equal(self.fitted.effects[draw])
        drawn = self._others(rng, effects, draw) if raters_drawn else without_taste(effects)
        return self._answered(rng, drawn)

    def _others(self, rng: np.random.Generator, effects: Any, draw: int) -> Any:
        if isinstance(effects, ScaleEffects):
            return with_raters(rng, effects, len(effects.leniency))
        spread: dict[str, Any] = {
            name: float(self.fitted.components[name][draw]) for name in ("leniency_sd", "severity_sd")
        }
        return new_raters(rng, effects, **spread)

    def _answered(self, rng: np.random.Generator, effects: Any) -> Floats:
        return self._as_the_table(self.law.answer(rng, effects, self.fitted.ratings))

    def _as_the_table(self, score: Floats) -> Floats:
        return -score if self.turned else score

    @property
    def _design(self) -> Mapping[str, Any]:
        design = self.fitted.ratings
        return {"system": design.system, "item": design.item, "rater": design.rater, "document": design.document}


def table_world(ratings: Ratings, seed: int, draws: int) -> TableWorld:
    """Fit the first law that a table allows; where it fails checks, the one of all that fails fewest.

    Raises InputError where no law fits such a table.
    """
    counted = as_errors(ratings)
    turned = counted is not ratings
    _refuse_few(counted)
    first = chosen(laws(), counted, "auto")
    found = _looked_at(first, counted, seed, draws, turned)
    for law in _others(first, counted) if found.failed else ():
        other = _looked_at(law, counted, seed, draws, turned)
        found = min(found, other, key=lambda one: len(one.failed))
    return found


def _others(first: Law, ratings: Ratings) -> Iterator[Law]:
    yield from (law for law in laws() if law.name != first.name and law.refused(ratings) is None)


def _refuse_few(ratings: Ratings) -> None:
    if ratings.n_systems < 2 or np.ptp(ratings.score) == 0:
        raise InputError("all ratings are the same, or of one system: no world follows from them")
    if ratings.n_documents < FEWEST:
        raise InputError(
            f"a table of {several(ratings.n_documents, 'document')} says too little of others: no world follows"
        )


def _looked_at(law: Law, ratings: Ratings, seed: int, draws: int, turned: bool) -> TableWorld:
    """Fit a law and check it; of a law on a scale the table's own outputs are drawn with it."""
    rough = len(ratings.score) > THOROUGH
    scaled = None if law.name == "mqm" else cast(LawName, law.name)
    own = None if scaled is None else on_outputs(scaled, ratings, seed=seed, draws=draws, rough=rough)
    fitted = law.fit(ratings, seed=seed, draws=draws, rough=rough) if own is None else _of_outputs(law, ratings, own)
    held = checks(law, fitted, seed, TABLES)
    return TableWorld(law, fitted, own, held.passed, tuple(one.name for one in held.failed), turned)


def _of_outputs(law: Law, ratings: Ratings, own: Sequence[OnOutputs]) -> Fitted:
    return Fitted(law.name, ratings, [one.effects for one in own], {}, (), frozenset(), {})


def equal(effects: Any) -> Any:
    """Make all systems alike: each as good as they are on average."""
    if isinstance(effects, ScaleEffects):
        return replace(effects, system=np.full_like(effects.system, effects.system.mean()))
    mean = np.exp(np.log(effects.system_mean).mean())
    return replace(effects, system_mean=np.full_like(effects.system_mean, mean))


def without_taste(effects: Any) -> Any:
    """Let raters favour no system; what they make of single documents stays."""
    if isinstance(effects, Effects):
        return replace(effects, rater_system_sd=0.0)
    return replace(effects, rater_system_sd=0.0, taste=np.zeros_like(effects.taste))
