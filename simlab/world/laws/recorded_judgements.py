"""Law of judgements drawn from a table of real ones: outputs are drawn, and one judgement of each, or their mean.

`RecordedJudgements.draw` takes the numbers of outputs (`Needs`) and returns the answers of a study (`Potential`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from simlab.types import Floats, Ints, OutputMetric
from simlab.world.laws.judgements import Judgements, Needs, OutputSample, Potential, Quality, chosen_outputs

Judgement = Literal["one", "mean"]


@dataclass(frozen=True, slots=True)
class RecordedJudgements(Judgements):
    """Law of judgements drawn from a table: its outputs are the test set, its judgements all that there are.

    `given[system, item, slot]`, NaN = a gap, moved to the front so that the judgements of an output are its first ones.
    A judgement is `one` of them, drawn at random, or their `mean`; the human score f is their mean in both cases.
    Of an output with one judgement nobody knows how much of it is noise: f is that judgement, noise and all.
    """

    given: Floats = field(default_factory=lambda: np.zeros((0, 0, 0)))
    judgement: Judgement = "one"

    @property
    def counts(self) -> Ints:
        """Count the judgements of each output, `[system, item]`."""
        return np.asarray(np.isfinite(self.given).sum(2))

    @property
    def score(self) -> Floats:
        """Return the mean judgement of each output, `[system, item]`."""
        return np.asarray(np.nanmean(self.given, axis=2))

    def draw(self, rng: np.random.Generator, needs: Needs, raters: np.random.Generator | None = None) -> Potential:
        """Draw outputs of the test set, and judgements of them; inputs that are shared are judged by the same seat."""
        for_outputs, for_judges = rng.spawn(2)
        item, _ = chosen_outputs(for_outputs, needs, self.contest)
        system = np.arange(len(item))[:, None]
        seat = for_judges.random(item.shape[1] if needs.shared else item.shape)
        slot = np.floor(seat * self.counts[system, item]).astype(np.int64)
        y = self.given[system, item, slot] if self.judgement == "one" else self.score[system, item]
        scores = self._recorded_scores(needs.law_of_metric)
        if scores is not None:
            scores = scores[system, item] if scores.ndim == 2 else scores[system, item, slot]
        return Potential(y=y, metric_score=scores, rest=None, calibration=None)

    def outputs(self, rng: np.random.Generator, n: int, metric: OutputMetric | None, *, shared: bool) -> OutputSample:
        """Return the table's outputs, all of them: nothing is drawn."""
        scores = self._recorded_scores(metric)
        return OutputSample(
            self.score, scores if scores is None or scores.ndim == 2 else scores.reshape(len(scores), -1)
        )

    def system_means(self, test_set: OutputSample) -> Floats:
        """Return each system's mean over the table."""
        return np.asarray(test_set.score.mean(1))

    def annotator_variance(self) -> Floats:
        """Return the variance of a judgement of an output, averaged over the outputs of each system."""
        if self.judgement == "mean":
            return np.zeros(len(self.given))
        # The table's judgements are all that is drawn from, so no degree of freedom is taken off.
        return np.asarray(np.nanvar(self.given, axis=2).mean(1))

    def ends(self) -> tuple[float, float]:
        """Return the least and the largest judgement of the table; those of labels, whatever it holds of them."""
        if self.judges.scale == "binary":
            return 0.0, 1.0
        return float(np.nanmin(self.given)), float(np.nanmax(self.given))

    def quality(self, metric: OutputMetric | None) -> Quality:
        """Work out gamma, correlation, slope and efficiency from the table; the first two need repeated judgements."""
        nothing = np.full(len(self.given), np.nan)
        spread, noise = self.score.var(1), self.annotator_variance()
        repeated = bool((self.counts > 1).all()) or self.judgement == "mean"
        gamma = np.divide(noise, spread, out=nothing.copy(), where=spread > 0)
        scores = self._recorded_scores(metric)
        if scores is None:
            return Quality(gamma if repeated else nothing, nothing, nothing, nothing, nothing)
        covariance, variance = self._covariance(scores)
        is_known = (variance > 0) & (spread > 0)
        slope = np.divide(covariance, variance, out=nothing.copy(), where=is_known)
        # The efficiency is 1 / (1 - the share of a judgement's variance that the metric explains), which with gamma
        # and rho known is (1 + gamma) / (1 - rho^2 + gamma) of Chaganty et al. 2018.
        explained = np.divide(slope * covariance, spread + noise, out=nothing.copy(), where=is_known)
        efficiency = np.divide(1.0, 1 - explained, out=nothing.copy(), where=explained < 1 - 1e-12)
        rho = np.divide(covariance, np.sqrt(variance * spread), out=nothing.copy(), where=is_known)
        rho = np.clip(rho, -1, 1)
        if not repeated:
            gamma, rho = nothing, nothing
        return Quality(gamma, rho, slope, nothing, nothing, efficiency)

    def _covariance(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the covariance of a judgement with what the metric says of it, and the metric's variance."""
        if scores.ndim == 2:
            g = scores - scores.mean(1, keepdims=True)
            return (self.score * g).mean(1), (g**2).mean(1)
        g = scores - scores.mean((1, 2), keepdims=True)
        return (self.given * g).mean((1, 2)), (g**2).mean((1, 2))

    def _recorded_scores(self, metric: OutputMetric | None) -> Floats | None:
        return None if metric is None else metric.recorded
