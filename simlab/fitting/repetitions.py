"""Repeat a table of ratings in its own design (who rates which output) by the law that is fitted to it.

Call `table_world` on the table; methods of the `TableWorld` that it returns draw new scores `[rating]`, given the
number of a draw of the law: the same raters rate the same outputs again, or other documents; other raters rate; or
systems are equal, to count false findings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from scipy.special import expit, logit

from simlab.fitting.backtest.law_choice import choose_law
from simlab.fitting.checks import checks
from simlab.fitting.laws import FittableLaw, Fitted, laws
from simlab.fitting.scales.fitting import LawName
from simlab.fitting.scales.outputs import OutputDraw, fit_outputs
from simlab.messages import pluralise
from simlab.tables.rating_table import Ratings, flip_signs
from simlab.types import Floats, InputError
from simlab.world.fitted import new_raters
from simlab.world.laws.fitted import Effects
from simlab.world.laws.scales import ScaleEffects, draw_raters, draw_repeated_answers, truth_of_pool

THOROUGH = 2_000
"""Larger tables are fitted in less time: their systems and raters are known well, whatever the chains leave open."""
FEWEST = 4
"""Documents from which a world of further ones is fitted."""
TABLES = 100
"""Tables that a world is checked with; a page on a fit takes three times as many."""

SECANTS, NEAR = 6, 1e-9
"""Steps of the secant method, and the least move that it takes a slope from."""

Answer = Callable[[np.random.Generator, int], Floats]
"""Answer the whole design once more, given a generator and the number of a draw of the parameters."""


@dataclass(frozen=True, slots=True)
class TableWorld:
    """Draws of the law behind a table, how many of its checks it passed, and which it failed.

    `own[draw]` holds the table's own outputs; None where the law keeps nothing of single outputs. `turned`: scores are
    answered with the other sign (penalties that the table writes with a minus).
    """

    law: FittableLaw
    fitted: Fitted
    own: Sequence[OutputDraw] | None
    passed: int
    failed: tuple[str, ...]
    turned: bool
    _even: dict[int, Any] = field(default_factory=dict)

    @property
    def n_draws(self) -> int:
        """Count the draws of the parameters."""
        return len(self.fitted.effects)

    @property
    def name(self) -> str:
        """Return the name of the world with the number of checks that it passed."""
        n = self.passed + len(self.failed)
        failed = f"; failed: {', '.join(self.failed[:3])}{', ...' if len(self.failed) > 3 else ''}"
        return f"{self.law.name}, {self.passed} of {n} checks passed{failed if self.failed else ''}"

    def same_raters(self, rng: np.random.Generator, draw: int) -> Floats:
        """Let the same raters rate the same outputs again; raises ValueError where `own` is None."""
        output = self._require_outputs(draw)
        return self._restore_sign(draw_repeated_answers(rng, output.effects, output.seen, **self._design))

    def new_raters(self, rng: np.random.Generator, draw: int) -> Floats:
        """Let other raters, in the same seats, rate the same outputs; raises ValueError where `own` is None."""
        output = self._require_outputs(draw)
        return self._restore_sign(
            draw_repeated_answers(rng, self._draw_other_raters(rng, output.effects, draw), output.seen, **self._design)
        )

    def _require_outputs(self, draw: int) -> OutputDraw:
        if self.own is None:
            raise ValueError(f"the law {self.law.name} keeps nothing of single outputs")
        return self.own[draw]

    def new_documents(self, rng: np.random.Generator, draw: int) -> Floats:
        """Let the same raters rate outputs for other documents."""
        return self._answer_table(rng, self.fitted.effects[draw])

    def new_raters_and_documents(self, rng: np.random.Generator, draw: int) -> Floats:
        """Let other raters, in the same seats, rate outputs for other documents."""
        return self._answer_table(rng, self._draw_other_raters(rng, self.fitted.effects[draw], draw))

    def equal_systems(self, rng: np.random.Generator, draw: int, *, raters_drawn: bool) -> Floats:
        """Let equal systems be rated, for other documents: by other raters, or by these, who together favour none.

        Leniency and tastes stay what they are, for raters at large by their laws, for these raters one by one.
        """
        effects = self.fitted.effects[draw]
        if raters_drawn:
            return self._answer_table(rng, self._draw_other_raters(rng, make_equal(effects), draw))
        if draw not in self._even:
            design = self.fitted.ratings
            load = np.bincount(design.rater, minlength=design.n_raters) / len(design.rater)
            self._even[draw] = make_equal_over(effects, load)
        return self._answer_table(rng, self._even[draw])

    def _draw_other_raters(self, rng: np.random.Generator, effects: Any, draw: int) -> Any:
        if isinstance(effects, ScaleEffects):
            return draw_raters(rng, effects, len(effects.leniency))
        spread: dict[str, Any] = {
            name: float(self.fitted.components[name][draw]) for name in ("leniency_sd", "severity_sd")
        }
        return new_raters(rng, effects, **spread)

    def _answer_table(self, rng: np.random.Generator, effects: Any) -> Floats:
        return self._restore_sign(self.law.answer(rng, effects, self.fitted.ratings))

    def _restore_sign(self, score: Floats) -> Floats:
        return -score if self.turned else score

    @property
    def _design(self) -> Mapping[str, Any]:
        design = self.fitted.ratings
        return {"system": design.system, "item": design.item, "rater": design.rater, "document": design.document}


def table_world(ratings: Ratings, seed: int, draws: int) -> TableWorld:
    """Fit the first law that a table allows; where it fails checks, the one of all that fails fewest.

    Raises InputError where no law fits such a table.
    """
    counted = flip_signs(ratings)
    turned = counted is not ratings
    _refuse_few(counted)
    first = choose_law(laws(), counted, "auto")
    best = _fit_and_check(first, counted, seed, draws, turned)
    for law in _list_other_laws(first, counted) if best.failed else ():
        other = _fit_and_check(law, counted, seed, draws, turned)
        best = min(best, other, key=lambda world: len(world.failed))
    return best


def _list_other_laws(first: FittableLaw, ratings: Ratings) -> Iterator[FittableLaw]:
    yield from (law for law in laws() if law.name != first.name and law.refused(ratings) is None)


def _refuse_few(ratings: Ratings) -> None:
    if ratings.n_systems < 2 or np.ptp(ratings.score) == 0:
        raise InputError("all ratings are the same, or of one system: no world follows from them")
    if ratings.n_documents < FEWEST:
        raise InputError(
            f"a table of {pluralise(ratings.n_documents, 'document')} says too little of others: no world follows"
        )


def _fit_and_check(law: FittableLaw, ratings: Ratings, seed: int, draws: int, turned: bool) -> TableWorld:
    """Fit a law and check it; of a law on a scale the table's own outputs are drawn with it."""
    rough = len(ratings.score) > THOROUGH
    scaled = None if law.name == "mqm" else cast(LawName, law.name)
    own = None if scaled is None else fit_outputs(scaled, ratings, seed=seed, draws=draws, rough=rough)
    fitted = law.fit(ratings, seed=seed, draws=draws, rough=rough) if own is None else _build_fitted(law, ratings, own)
    checked = checks(law, fitted, seed, TABLES)
    return TableWorld(law, fitted, own, checked.passed, tuple(check.name for check in checked.failed), turned)


def _build_fitted(law: FittableLaw, ratings: Ratings, own: Sequence[OutputDraw]) -> Fitted:
    return Fitted(law.name, ratings, [draw.effects for draw in own], {}, (), frozenset(), {})


def make_equal(effects: Any) -> Any:
    """Make all systems alike: each as good as they are on average."""
    if isinstance(effects, ScaleEffects):
        return replace(effects, system=np.full_like(effects.system, effects.system.mean()))
    # Systems act as factors, so their average is the geometric mean.
    mean = np.exp(np.log(effects.system_mean).mean())
    return replace(effects, system_mean=np.full_like(effects.system_mean, mean))


def make_equal_over(effects: Any, load: Floats) -> Any:
    """Make all systems alike over these raters, whose tastes stay; rater r has the weight `load[r]`.

    On a scale each system is moved until the mean of its scores is that of all: a scale with ends or steps turns tastes
    that cancel out into scores that do not.
    """
    even = make_equal(effects)
    if isinstance(effects, Effects):
        major = expit(logit(effects.major_share) + np.log(effects.severity))
        points = (1 - major) * effects.minor_weight + major * effects.major_weight
        return replace(even, rater_weight=load * effects.leniency * points)
    pull = load * effects.sharpness
    system = even.system - (effects.taste * load).sum(1) / pull.sum()
    system += even.system.mean() - system.mean()
    # Without floor and ceiling mean scores are linear in the system's place, and one step is exact.
    if effects.scale.law == "gaussian" and not np.isfinite([effects.scale.low, effects.scale.high]).any():
        return replace(even, system=system)
    # Heavy tails and fine steps cost much and move means of scores by next to nothing.
    fine = effects.scale.step <= effects.residual_sd
    rough = replace(even, scale=replace(effects.scale, tail=np.inf, step=0.0 if fine else effects.scale.step))

    def pool_scores(at: Floats) -> Floats:
        return truth_of_pool(replace(rough, system=at), load)

    score = pool_scores(system)
    wanted, before, system = float(score.mean()), system, system + (score.mean() - score) / pull.sum()
    for _ in range(SECANTS):
        new = pool_scores(system)
        move = system - before
        slope = np.divide(new - score, move, out=np.ones_like(move), where=np.abs(move) > NEAR)
        before, score = system, new
        step = np.divide(wanted - new, slope, out=np.zeros_like(move), where=(slope > 0) & (np.abs(move) > NEAR))
        system = system + step
    return replace(even, system=system)
