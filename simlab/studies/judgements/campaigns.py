"""Carry out campaigns that judge single outputs, with or without a metric: draw, judge, estimate, compare."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from simlab.analysis.estimators import sample_mean
from simlab.analysis.means.planning import data_efficiency
from simlab.parts import bind
from simlab.rng import stream
from simlab.types import OK, Array, Estimates, Floats, InputError, Ints, Judged, JudgementWorld
from simlab.world.judges import true_means
from simlab.world.laws.judgements import Drawn, Quality, draw_outputs, judge, quality

ROUNDING = 1e-12
DEFAULT_LEVEL = 0.05
HUMAN_ONLY = "simlab.analysis.estimators.sample_mean"


class Sizes(NamedTuple):
    """Count the ratings of each system: by humans, by the metric only, by both to learn about the metric.

    `payers` systems share the `calibration` outputs: 1 where each has its own.
    """

    human: int
    metric: int
    calibration: int
    payers: int


class Plan(NamedTuple):
    """Hold what all studies of a world share: sizes, estimator, what is true, and the test set if it is finite."""

    size: Sizes
    estimator: Callable[[np.random.Generator, Judged], Estimates]
    truth: Quality
    test_set: Drawn | None


def sizes(config: Mapping[str, Any], drawn: JudgementWorld) -> Sizes:
    """Read the numbers of ratings from the budget; raise InputError where it pays none, or outputs lack."""
    budget, estimator = config["budget"], config["analysis"]["estimator"]
    # What an estimator does not look at is not paid.
    metric = drawn.metric is not None and estimator["_target_"] != HUMAN_ONLY
    calibration = budget["calibration_ratings"] if metric and estimator.get("quality") == "estimated" else 0
    payers = len(drawn.contest.system_names) if config["design"]["calibration"] == "shared" else 1
    rest = budget["metric_ratings"]
    if drawn.contest.fixed != (rest is None) and metric:
        raise InputError(
            "budget.metric_ratings: with systems.test_set=fixed the metric rates all outputs; set it to null"
            if drawn.contest.fixed
            else "budget.metric_ratings=null needs systems.test_set=fixed; give a number of outputs"
        )
    rated = (drawn.contest.n_items if rest is None else rest) if metric else 0
    human = budget["human_ratings"]
    if budget["cost"] is not None:
        left = budget["cost"] - rated * budget["price_per_metric_rating"]
        left -= calibration / payers * budget["price_per_rating"]
        if budget["price_per_rating"] == 0:
            raise InputError("budget.cost: human ratings that cost nothing use up no budget; raise price_per_rating")
        human = int(left / budget["price_per_rating"] + 1e-9)
        if human < 1:
            raise InputError(f"budget.cost={budget['cost']:g} leaves nothing for human ratings; raise it")
    if drawn.contest.fixed and not config["design"]["replacement"] and human > drawn.contest.n_items:
        raise InputError(
            f"budget.human_ratings={human} exceeds the {drawn.contest.n_items} outputs of the test set; lower it, "
            "raise systems.n_items or set design.replacement=true"
        )
    return Sizes(human, rated, calibration, payers)


def carry_out(config: Mapping[str, Any], drawn: JudgementWorld, world: int, first: int, count: int) -> dict[str, Array]:
    """Carry out studies `first`, ..., `first + count - 1` of a world; return their outcomes."""
    plan = Plan(
        sizes(config, drawn),
        bind(config["analysis"]["estimator"], config.get("plugins", ())),
        quality(drawn),
        _test_set(config, drawn, world) if drawn.contest.fixed else None,
    )
    outcomes = [_campaign(config, drawn, plan, world, study) for study in range(first, first + count)]
    arrays = {name: np.stack([outcome[name] for outcome in outcomes]) for name in outcomes[0]}
    return arrays | _truth(config, drawn, plan)


def _campaign(config: Mapping[str, Any], drawn: JudgementWorld, plan: Plan, world: int, study: int) -> dict[str, Array]:
    """Carry out one campaign: judge, estimate, compare."""
    place = (config["seed"], "world", world, "study", study)
    judged = _look(config, drawn, plan, stream(*place, "outputs"))
    found: Estimates = plan.estimator(stream(*place, "estimator"), judged)
    size, price, n_systems = plan.size, config["budget"], len(found.value)
    judgements = n_systems * size.human + n_systems // size.payers * size.calibration
    paid = judgements * price["price_per_rating"] + n_systems * size.metric * price["price_per_metric_rating"]
    return {
        "world": np.array(world, np.int32),
        "study": np.array(study, np.int32),
        "document_set": np.array(0 if drawn.contest.fixed else study, np.int32),
        "status": np.array(OK, np.int8),
        "ratings_used": np.array(judgements, np.int32),
        "metric_used": np.array(n_systems * size.metric),
        "cost": np.array(paid, float),
        "human_cost": np.array(n_systems * size.human * price["price_per_rating"], float),
        "estimate": found.value,
        "standard_error": found.sd,
        "low": found.low,
        "high": found.high,
        **_baseline(config, judged, stream(*place, "estimator")),
        **_contrasts(config, found),
    }


def _look(config: Mapping[str, Any], drawn: JudgementWorld, plan: Plan, rng: np.random.Generator) -> Judged:
    """Draw what an analyst sees of one campaign; see `Judged`."""
    for_outputs, for_judges, for_rest, for_calibration = rng.spawn(4)
    size, known, shared = plan.size, plan.test_set, config["design"]["shared_inputs"]
    if known is not None:
        outputs = known.take(_chosen(for_outputs, config, known, size.human))
    else:
        outputs = draw_outputs(for_outputs, drawn, size.human, shared=shared)
    noise = drawn.judges.noise**2 + float(np.var(drawn.judges.leniency))
    slope, g, rest = plan.truth.slope, outputs.said, None
    if known is not None and known.said is not None and g is not None:
        # All that the metric says is known, so that it can be standardised over the test set.
        spread = known.said.std(1)
        g = (g - known.said.mean(1)[:, None]) / np.where(spread > 0, spread, 1.0)[:, None]
        slope = slope * spread
    elif g is not None:
        rest = _summed_up(for_rest, drawn, size.metric, shared)
    return Judged(
        y=judge(for_judges, drawn.judges, outputs.score, shared=shared),
        g=g,
        binary=drawn.judges.scale == "binary",
        rest=rest,
        calibration=_calibration(config, drawn, size, for_calibration) if size.calibration else None,
        nominal=drawn.metric.nominal if drawn.metric is not None else (),
        slope=slope,
        annotator_variance=np.full(len(slope), 0.0 if drawn.judges.scale == "binary" else noise),
        test_set=None if known is None or config["design"]["replacement"] else drawn.contest.n_items,
    )


def _summed_up(rng: np.random.Generator, drawn: JudgementWorld, n: int, shared: bool) -> tuple[int, Floats, Floats]:
    """Return number, mean and variance of what the metric says of outputs that no human sees."""
    said = draw_outputs(rng, drawn, n, shared=shared).said if n else None
    nothing = np.zeros(len(drawn.contest.system_names))
    if said is None:
        return 0, nothing, nothing
    return n, said.mean(1), said.var(1, ddof=1) if n > 1 else nothing


def _test_set(config: Mapping[str, Any], drawn: JudgementWorld, world: int) -> Drawn:
    rng = stream(config["seed"], "world", world, "test_set")
    return draw_outputs(rng, drawn, drawn.contest.n_items, shared=config["design"]["shared_inputs"])


def _chosen(rng: np.random.Generator, config: Mapping[str, Any], known: Drawn, n: int) -> Ints:
    """Choose outputs of the test set for the judges: `[system, n]`, the same inputs for all systems if they share."""
    n_systems, n_items = known.score.shape
    replacement, draws = config["design"]["replacement"], 1 if config["design"]["shared_inputs"] else n_systems
    chosen = [rng.integers(n_items, size=n) if replacement else rng.permutation(n_items)[:n] for _ in range(draws)]
    return np.broadcast_to(np.stack(chosen), (n_systems, n))


def _calibration(config: Mapping[str, Any], drawn: JudgementWorld, size: Sizes, rng: np.random.Generator) -> Floats:
    """Count TP of P, TN of N among outputs that both rated, each system's own or those of all together."""
    n_systems, shared = len(drawn.contest.system_names), config["design"]["shared_inputs"]
    outputs = draw_outputs(rng, drawn, size.calibration, shared=shared)
    if outputs.said is None:
        raise ValueError("a calibration needs a metric")
    adequate = judge(rng, drawn.judges, outputs.score, shared=shared) > 0
    says = outputs.said > 0
    counts = np.stack([(adequate & says).sum(1), adequate.sum(1), (~adequate & ~says).sum(1), (~adequate).sum(1)], 1)
    if size.payers > 1:
        # As many outputs as one system has, taken from all: the first ones of each.
        part = np.array_split(np.arange(size.calibration), n_systems)
        a = np.concatenate([adequate[k, own] for k, own in enumerate(part)])
        s = np.concatenate([says[k, own] for k, own in enumerate(part)])
        counts = np.tile([(a & s).sum(), a.sum(), (~a & ~s).sum(), (~a).sum()], (n_systems, 1))
    return counts.astype(float)


def _baseline(config: Mapping[str, Any], judged: Judged, rng: np.random.Generator) -> dict[str, Array]:
    """Estimate from the human judgements alone, with the same kind of interval: what the metric is held against."""
    if judged.y.shape[1] < 3:
        return {}
    estimator = config["analysis"]["estimator"]
    mean = sample_mean(
        rng, judged, interval=estimator.get("interval", "normal"), level=estimator.get("level", DEFAULT_LEVEL)
    )
    return {"baseline": mean.value, "baseline_width": mean.high - mean.low}


def _contrasts(config: Mapping[str, Any], found: Estimates) -> dict[str, Array]:
    """Hold each two systems against each other: a z test, paired where they were judged on the same inputs."""
    first, second = np.triu_indices(len(found.value), 1)
    gap = found.value[first] - found.value[second]
    gap[np.abs(gap) < ROUNDING] = 0.0
    variance = found.sd[first] ** 2 + found.sd[second] ** 2
    if config["design"]["shared_inputs"] and found.influence is not None and found.own is not None:
        apart = found.influence[first] - found.influence[second]
        variance = apart.var(1, ddof=1) / apart.shape[1] + found.own[first] ** 2 + found.own[second] ** 2
    z = np.divide(np.abs(gap), np.sqrt(variance), out=np.where(gap != 0, np.inf, 0.0), where=variance > 0)
    p_value, direction = 2 * ndtr(-z), np.sign(gap).astype(np.int8)
    significant = (p_value <= config["decision"]["level"] + ROUNDING) & (direction != 0)
    return {"direction": direction, "significant": significant, "p_value": p_value, "difference_se": np.sqrt(variance)}


def _truth(config: Mapping[str, Any], drawn: JudgementWorld, plan: Plan) -> dict[str, Array]:
    """Say what is true of the population, or of the test set where that is what is judged."""
    value, about, fraction = true_means(drawn), plan.truth, None
    if plan.test_set is not None:
        score = plan.test_set.score
        value = (score > 0).mean(1) if drawn.judges.scale == "binary" else score.mean(1)
        fraction = None if config["design"]["replacement"] else plan.size.human / drawn.contest.n_items
    first, second = np.triu_indices(len(value), 1)
    gap = value[first] - value[second]
    truth = {
        "true_value": value,
        "true_direction": np.sign(np.where(np.abs(gap) < ROUNDING, 0.0, gap)).astype(np.int8),
        "true_gamma": about.gamma,
        "true_correlation": about.correlation,
        "true_efficiency": _efficiency(about.correlation, about.gamma, fraction),
        "true_human_rho": about.human_rho,
        "true_human_eta": about.human_eta,
    }
    if drawn.metric is not None and drawn.metric.rho is not None and drawn.metric.eta is not None:
        truth |= {"true_metric_rho": drawn.metric.rho, "true_metric_eta": drawn.metric.eta}
    return {name: np.asarray(array)[None] for name, array in truth.items()}


def _efficiency(correlation: Floats, gamma: Floats, fraction: float | None) -> Floats:
    """Apply the formula of data efficiency where it has a value: not for a perfect metric without noise."""
    known = np.isfinite(correlation) & np.isfinite(gamma)
    rest = 1.0 if fraction is None else 1 - fraction
    known &= rest * (1 - np.where(known, correlation, 0.0) ** 2) + np.where(known, gamma, 0.0) > 1e-12
    found = np.full(len(correlation), np.nan)
    if known.any():
        found[known] = data_efficiency(correlation[known], gamma[known], fraction)
    return found
