"""Law of judgements of single outputs: draws the outputs, the raters' judgements and the metric's scores of them.

`Judgements.draw` takes the numbers of outputs that a study wants (`Needs`) and returns its answers (`Potential`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr

from simlab.formulas import threshold_rates
from simlab.types import JUDGE, Answers, Contest, Floats, Ints, Latent, OutputMetric, Parts, World
from simlab.world.alphas import share_of_adequate_outputs, spread_of
from simlab.world.laws.comparisons import latent_scores


@dataclass(frozen=True, slots=True)
class Judges:
    """Raters who judge single outputs: their scale, leniency and noise.

    A rater perceives the latent score plus `leniency[rater]` plus normal noise of standard deviation `noise`, new with
    every judgement. On the scale `binary` the answer is 1 (adequate) if that is positive, else 0; on `score` it is what
    is perceived; on `skewed_score` the score is first turned into one with exponential tails, of equal mean and spread.
    """

    scale: str
    leniency: Floats
    noise: float


class OutputSample(NamedTuple):
    """A sample of outputs `[system, output]`: human scores without errors of raters, and the metric's scores.

    `score` is on the scale that the judges perceive: latent, or skewed. `metric_score` is None without a metric.
    """

    score: Floats
    metric_score: Floats | None

    def take(self, chosen: Ints) -> OutputSample:
        """Take outputs `[system, k]`."""
        system = np.arange(len(chosen))[:, None]
        return OutputSample(
            self.score[system, chosen], None if self.metric_score is None else self.metric_score[system, chosen]
        )


class Needs(NamedTuple):
    """Requirements of a draw of judgements: how many outputs, and whether they are shared.

    Of each system `human` outputs are judged, `metric` have the metric's score only, `calibration` are rated by both to
    learn about the metric; `payers` systems share the calibration (1: each has its own). `shared`: all systems answer
    the same inputs. Outputs come from the `test_set` (with `replacement` or without), or anew from the population.
    `each`: the metric's scores of outputs that no human judges are wanted one by one.
    """

    human: int
    metric: int
    calibration: int
    payers: int
    shared: bool
    replacement: bool
    test_set: OutputSample | None
    law_of_metric: OutputMetric | None
    each: bool = False


class Potential(NamedTuple):
    """Potential answers of a study: judgements `y[system, n]`, and `metric_score[system, n]` by the metric.

    `rest` are number, mean and variance `[system]` of the metric's scores of other outputs (None: no metric, or one
    that scores the whole test set), `calibration[system, 4]` TP of P, TN of N among outputs that both rated, and
    `calibration_parts` the same of each system's own outputs among them, where systems share the calibration.
    `document[system, n]` says which judged outputs come together, `parts` the same of the rest (None: none do), and
    `others[system, k]` the metric's score of each of these, where that is wanted.
    """

    y: Floats
    metric_score: Floats | None
    rest: tuple[int, Floats, Floats] | None
    calibration: Floats | None
    document: Ints | None = None
    parts: Parts | None = None
    calibration_parts: Floats | None = None
    others: Floats | None = None


class Quality(NamedTuple):
    """True quality of judgements and metric `[system]`; NaN where nothing is known.

    `gamma`: noise of a judgement over spread of human scores, as variances; `correlation` of metric and human score;
    `slope` of judgements on the metric's scores; `human_rho` and `human_eta`, true positive and true negative rate of
    the raters on the binary scale; `efficiency`: the data efficiency where it does not follow from gamma and
    correlation (None: it does).
    """

    gamma: Floats
    correlation: Floats
    slope: Floats
    human_rho: Floats
    human_eta: Floats
    efficiency: Floats | None = None


@dataclass(frozen=True, slots=True)
class Judgements:
    """Law of raters' judgements of the outputs of a contest whose quality is latent.

    Outputs come from a population, anew for every study, or (`contest.fixed`) from a test set of `contest.n_items`.
    """

    contest: Contest
    latent: Latent
    judges: Judges

    def draw(self, rng: np.random.Generator, needs: Needs, raters: np.random.Generator | None = None) -> Potential:
        """Draw outputs, the judges' judgements of them, and the metric's scores.

        Outputs, judges, the metric's other outputs and the calibration have streams of their own; `raters` lets other
        people judge the same outputs.
        """
        for_outputs, for_judges, for_rest, for_calibration = rng.spawn(4)
        for_judges, for_calibrators = (for_judges, for_calibration) if raters is None else raters.spawn(2)
        outputs, document = self._draw_judged_outputs(for_outputs, needs)
        anew = outputs.metric_score is not None and needs.test_set is None
        others = _draw_other_outputs(for_rest, self, needs) if anew else None
        rest, parts = _summarise_other_outputs(others, self, needs) if anew else (None, None)
        counted = _calibration(for_calibration, for_calibrators, self, needs) if needs.calibration else None
        return Potential(
            y=self.judge(for_judges, outputs.score, shared=needs.shared),
            metric_score=outputs.metric_score,
            rest=rest,
            calibration=None if counted is None else _sum_payers(counted, needs),
            document=document,
            parts=parts,
            calibration_parts=counted,
            others=others if needs.each else None,
        )

    def system_means(self, test_set: OutputSample) -> Floats:
        """Return each system's mean over a test set, as an oracle would judge."""
        score = test_set.score > 0 if self.judges.scale == "binary" else test_set.score
        return np.asarray(score.mean(1))

    def annotator_variance(self) -> Floats:
        """Return the variance of repeated judgements of an output, for each system; 0 where they are labels."""
        # Who judges an output is chance, so that leniency is part of a judgement's noise.
        noise = self.judges.noise**2 + float(np.var(self.judges.leniency))
        return np.full(len(self.contest.system_names), 0.0 if self.judges.scale == "binary" else noise)

    def ends(self) -> tuple[float, float] | None:
        """Return the least and the largest possible judgement; None where judgements are not bounded."""
        return (0.0, 1.0) if self.judges.scale == "binary" else None

    def quality(self, metric: OutputMetric | None) -> Quality:
        """Work out how good judgements and metric are; see `quality`."""
        return quality(self, metric)

    def _draw_judged_outputs(self, rng: np.random.Generator, needs: Needs) -> tuple[OutputSample, Ints | None]:
        """Draw the outputs that are judged, and say which document each `[system, n]` belongs to (None: its own)."""
        documents = self.contest.documents
        if needs.test_set is not None:
            chosen, document = chosen_outputs(rng, needs, self.contest)
            return needs.test_set.take(chosen), document
        outputs = self.outputs(rng, needs.human, needs.law_of_metric, shared=needs.shared)
        if documents.size <= 1:
            return outputs, None
        return outputs, np.broadcast_to(documents.document_indices(needs.human), outputs.score.shape)

    def answer(self, noise: Potential, unit: Ints, item: Ints, slot: Ints) -> Answers:
        """Look up the judgements of outputs `item[k]` of systems `unit[k]`; nobody marks errors."""
        return Answers(noise.y[unit, item], None)

    def outputs(self, rng: np.random.Generator, n: int, metric: OutputMetric | None, *, shared: bool) -> OutputSample:
        """Draw n outputs of each system, of the same inputs (`shared`) or each system's of its own."""
        law, n_systems, documents = self.latent, len(self.contest.system_names), self.contest.documents
        if shared or (law.item_sd == 0 and law.shared_sd == 0):
            latent = latent_scores(rng, law, n, documents)
        else:
            # Of whole documents, so that none is divided between two systems.
            whole = -(-n // documents.size) * documents.size
            own = latent_scores(rng, law, whole * n_systems, documents).reshape(n_systems, n_systems, whole)
            latent = own[np.arange(n_systems), np.arange(n_systems), :n]
        scores = None if metric is None else self._draw_metric_scores(rng, metric, latent)
        return OutputSample(human_scores(self.judges.scale, latent, law), scores)

    def judge(self, rng: np.random.Generator, score: Floats, *, shared: bool) -> Floats:
        """Draw human judgements of outputs `[system, n]`, dealt to the raters evenly and at random.

        Where inputs are shared, the outputs of all systems for an input go to the same rater.
        """
        judges, (n_systems, n) = self.judges, score.shape
        deals = [rng.permutation(n) for _ in range(1 if shared else n_systems)]
        # Which raters get one more than others is random, too.
        seat = rng.permutation(len(judges.leniency))
        perceived = score
        if judges.leniency.any():
            perceived = score + judges.leniency[seat[np.array(deals) % len(seat)]]
        if judges.noise > 0:
            perceived = perceived + judges.noise * rng.standard_normal(score.shape)
        return np.asarray(perceived > 0, float) if judges.scale == "binary" else perceived

    def _draw_metric_scores(self, rng: np.random.Generator, metric: OutputMetric, latent: Floats) -> Floats:
        if metric.correlation is None:
            if metric.rho is None or metric.eta is None:
                raise ValueError("a metric needs rho and eta, or correlations")
            says = np.where(latent > 0, metric.rho[:, None], 1 - metric.eta[:, None])
            return np.asarray(rng.random(latent.shape) < says, float)
        followed = deviations(latent, self.latent)
        if self.judges.scale == "skewed_score":
            followed = exponential_deviates(followed)
        rho = metric.correlation[:, None]
        score = rho * followed + np.sqrt(1 - rho**2) * rng.standard_normal(latent.shape)
        return score if metric.threshold is None else np.asarray(score > metric.threshold, float)


def require_judgements(world: World) -> Judgements:
    """Return the law by which single outputs of a world are judged."""
    law = world.answers[JUDGE]
    if not isinstance(law, Judgements):
        raise TypeError("a metric of single outputs needs outputs that are judged by the law of Judgements")
    return law


def true_means(law: Judgements) -> Floats:
    """Return each system's mean over all its outputs on the scale of the judges, as an oracle would judge."""
    return share_of_adequate_outputs(law.latent) if law.judges.scale == "binary" else law.latent.quality


def chosen_outputs(rng: np.random.Generator, needs: Needs, contest: Contest) -> tuple[Ints, Ints | None]:
    """Choose outputs of the test set for the judges: `[system, n]`, the same inputs for all systems if they share.

    Documents are drawn whole, the last one as far as judgements go. Also says which document each output belongs to:
    one that is drawn again counts as another (None: each output is a document of its own).
    """
    n_systems = len(contest.system_names)
    draws = range(1 if needs.shared else n_systems)
    if contest.documents.size == 1:
        items = [_draw_documents(rng, needs, contest.n_items, needs.human)[: needs.human] for _ in draws]
        return np.array(items * (n_systems if needs.shared else 1)), None
    drawn = [_draw_items(rng, needs, contest.documents.document_indices(contest.n_items)) for _ in draws]
    chosen, document = (np.broadcast_to(np.array(part), (n_systems, needs.human)) for part in zip(*drawn, strict=True))
    return chosen, document


def _draw_items(rng: np.random.Generator, needs: Needs, document: Ints) -> tuple[Ints, Ints]:
    """Draw as many items `[n]` as are judged, by whole documents."""
    size = np.bincount(document)
    # As many documents as suffice if all were as short as the shortest one.
    order = _draw_documents(rng, needs, len(size), -(-needs.human // int(size.min())))
    within = np.arange(size.max())
    items = (np.searchsorted(document, order)[:, None] + within)[within < size[order, None]]
    return items[: needs.human], np.repeat(np.arange(len(order)), size[order])[: needs.human]


def _draw_documents(rng: np.random.Generator, needs: Needs, n_documents: int, n: int) -> Ints:
    """Draw at least n documents with replacement, or an order of all of them."""
    return rng.integers(n_documents, size=n) if needs.replacement else rng.permutation(n_documents)


def _draw_other_outputs(rng: np.random.Generator, law: Judgements, needs: Needs) -> Floats | None:
    """Draw what the metric says of outputs that no human sees, `[system, output]`."""
    return (
        law.outputs(rng, needs.metric, needs.law_of_metric, shared=needs.shared).metric_score if needs.metric else None
    )


def _summarise_other_outputs(
    scores: Floats | None, law: Judgements, needs: Needs
) -> tuple[tuple[int, Floats, Floats], Parts | None]:
    """Return number, mean and variance of what the metric says of outputs that no human sees, and its documents."""
    n, nothing, documents = needs.metric, np.zeros(len(law.contest.system_names)), law.contest.documents
    if scores is None:
        return (0, nothing, nothing), None
    rest = n, scores.mean(1), scores.var(1, ddof=1) if n > 1 else nothing
    if documents.size == 1:
        return rest, None
    document = documents.document_indices(n)
    total = np.add.reduceat(scores, np.flatnonzero(np.diff(document, prepend=-1)), axis=1)
    # These are other documents than those that are judged.
    others = -(-needs.human // documents.size) + np.arange(total.shape[1])
    return rest, Parts(np.broadcast_to(others, total.shape), np.bincount(document), total)


def _calibration(rng: np.random.Generator, for_judges: np.random.Generator, law: Judgements, needs: Needs) -> Floats:
    """Count TP, P, TN, N among each system's outputs that both rated: `[system, 4]`; see `Judged.calibration`.

    Where systems share the calibration, it is as many outputs as one system has, taken from all: the first ones of
    each.
    """
    n_systems = len(law.contest.system_names)
    outputs = law.outputs(rng, needs.calibration, needs.law_of_metric, shared=needs.shared)
    if outputs.metric_score is None:
        raise ValueError("a calibration needs a metric")
    adequate = law.judge(for_judges, outputs.score, shared=needs.shared) > 0
    says, counted = outputs.metric_score > 0, np.ones_like(adequate)
    if needs.payers > 1:
        payer = np.repeat(np.arange(n_systems), [len(k) for k in np.array_split(range(needs.calibration), n_systems)])
        counted = payer == np.arange(n_systems)[:, None]
    good, poor = adequate & counted, ~adequate & counted
    return np.stack([(good & says).sum(1), good.sum(1), (poor & ~says).sum(1), poor.sum(1)], 1).astype(float)


def _sum_payers(parts: Floats, needs: Needs) -> Floats:
    """Return calibration counts `[system, 4]` as each system may use them: those of all, where systems share them."""
    return np.tile(parts.sum(0), (len(parts), 1)) if needs.payers > 1 else parts


def quality(law: Judgements, metric: OutputMetric | None) -> Quality:
    """Work out how good judgements and metric are; gamma and correlation as in Chaganty et al. 2018."""
    none = np.full(len(law.contest.system_names), np.nan)
    judges, spread = law.judges, spread_of(law.latent)
    if judges.scale != "binary":
        gamma = (judges.noise**2 + float(np.var(judges.leniency))) / spread**2
        follows = metric.correlation if metric is not None and metric.threshold is None else None
        follows = none if follows is None else follows
        return Quality(gamma, follows, follows * spread, none, none)
    alpha = share_of_adequate_outputs(law.latent)
    if judges.noise == 0 and not judges.leniency.any():
        phi, slope = _correlation_of_binary(metric, alpha) if metric is not None else (none, none)
        return Quality(0 * alpha, phi, slope, 0 * alpha + 1, 0 * alpha + 1)
    if law.latent.item_sd > 0:
        return Quality(none, none, none, none, none)
    # A rater says adequate where latent score + leniency + noise > 0: a score with a threshold, again.
    perceived = np.hypot(spread, judges.noise)[:, None]
    finite = np.where(np.isfinite(law.latent.quality), law.latent.quality, 0.0)[:, None]
    rates = threshold_rates(spread[:, None] / perceived, alpha[:, None], -(finite + judges.leniency) / perceived)
    return Quality(none, none, none, *(share.mean(1) for share in rates))


def _correlation_of_binary(metric: OutputMetric, alpha: Floats) -> tuple[Floats, Floats]:
    """Return the correlation of a binary metric with adequacy, and the slope of adequacy on what it says."""
    if metric.rho is None or metric.eta is None:
        return np.full(len(alpha), np.nan), np.full(len(alpha), np.nan)
    q = alpha * metric.rho + (1 - alpha) * (1 - metric.eta)
    covariance, variance = (metric.rho + metric.eta - 1) * alpha * (1 - alpha), q * (1 - q)
    unknown = np.full(len(alpha), np.nan)
    slope = np.divide(covariance, variance, out=unknown.copy(), where=variance > 0)
    spread = np.sqrt(alpha * (1 - alpha) * variance)
    return np.divide(covariance, spread, out=unknown, where=spread > 0), slope


def human_scores(scale: str, latent: Floats, law: Latent) -> Floats:
    """Turn latent scores `[system, item]` into human scores on a scale, before leniency and noise."""
    if scale != "skewed_score":
        return latent
    return law.quality[:, None] + spread_of(law)[:, None] * exponential_deviates(deviations(latent, law))


def deviations(latent: Floats, law: Latent) -> Floats:
    """Standardise latent scores within each system; nothing deviates where all are adequate, or none."""
    quality = np.where(np.isfinite(law.quality), law.quality, 0.0)[:, None]
    finite = np.where(np.isfinite(latent), latent, 0.0)
    return np.asarray((finite - quality) / spread_of(law)[:, None])


def exponential_deviates(normal: Floats) -> Floats:
    """Turn standard normal deviations into exponential ones of mean 0 and standard deviation 1, in the same order."""
    # -log(1 - Phi(z)) is exponential; the logarithm of the mirrored tail keeps its digits far out.
    return np.asarray(-log_ndtr(-normal) - 1)
