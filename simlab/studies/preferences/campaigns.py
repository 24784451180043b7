"""Carry out campaigns that compare outputs pair by pair: test set, protocol, decisions, a partial order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from simlab.analysis.preferences.partial_order import cyclic
from simlab.design.protocol import gather, last_looks, looks, order_items
from simlab.parts import bind
from simlab.rng import stream
from simlab.types import OK, Array, Evidence, Floats, Ints, PreferenceWorld, TestSet, Verdicts
from simlab.world.laws.comparisons import draw_test_set, preference_direction

SMOOTHING = 0.5
"""Added to each count of a pair whose human evaluation never has some outcome, so that a KLD is finite."""


def carry_out(
    config: Mapping[str, Any], drawn: PreferenceWorld, world: int, first: int, count: int
) -> dict[str, Array]:
    """Carry out studies `first`, ..., `first + count - 1` of a world together; a row is a pair in a campaign."""
    studies = range(first, first + count)
    sets, orders, evidence = _collect(config, drawn, world, studies)
    verdicts: Verdicts = bind(config["decision"], config.get("plugins", ()))(evidence)
    end = _play(config, world, studies, verdicts, evidence)
    rows = np.arange(len(evidence.human))
    human, confusion, metric = (counts[rows, end] for counts in (evidence.human, evidence.confusion, evidence.metric))
    summary = verdicts.summarise(human, confusion, metric)
    used = human.sum(-1)
    by_pair = {
        "verdict": verdicts.verdict[rows, end].astype(np.int8),
        "decided": verdicts.stop[rows, end],
        "theta": verdicts.theta[rows, end],
        "used": used.astype(np.int32),
        "rounds": end.astype(np.int32),
        "direction": np.sign(summary.mean[:, 0] - summary.mean[:, 2]).astype(np.int8),
        **_reference(config, sets),
        "p_mean": summary.mean,
        "p_low": summary.low,
        "p_high": summary.high,
    }
    outcome = {name: array.reshape(count, -1, *array.shape[1:]) for name, array in by_pair.items()}
    outcome["significant"] = outcome["verdict"] != 0
    outcome["estimate"] = _win_rates(outcome["p_mean"], len(drawn.contest.system_names))
    outcome["cyclic"] = cyclic(outcome["verdict"])
    spent = outcome["used"].sum(1)
    return {
        **_places(drawn, world, studies),
        "ratings_used": spent.astype(np.int32),
        "cost": spent * float(config["budget"]["price_per_rating"]),
        **_item_ratings(sets, orders, outcome["used"]),
        **outcome,
        **_trace(config, verdicts, evidence, end, count),
        **_truth(drawn),
    }


def _collect(
    config: Mapping[str, Any], drawn: PreferenceWorld, world: int, studies: Sequence[int]
) -> tuple[list[TestSet], list[Ints], Evidence]:
    """Draw the test set and the order of each study, and count what would be known at each look."""
    seed, budget = config["seed"], config["budget"]
    annotations = looks(budget["annotations_per_pair"], budget["batch_size"], drawn.contest.n_items)
    sets: list[TestSet] = []
    orders: list[Ints] = []
    counted: list[Evidence] = []
    for study in studies:
        place: tuple[Any, ...] = ("world", world) if drawn.contest.fixed else ("world", world, "study", study)
        if not sets or not drawn.contest.fixed:
            sets.append(draw_test_set(stream(seed, *place, "test_set"), drawn))
        else:
            sets.append(sets[0])
        rng = stream(seed, "world", world, "study", study, "order")
        orders.append(order_items(rng, sets[-1].human, shared=config["design"]["shared_order"]))
        counted.append(gather(sets[-1], orders[-1], annotations))
    human, confusion, metric = (
        np.concatenate([getattr(one, name) for one in counted]) for name in ("human", "confusion", "metric")
    )
    return sets, orders, Evidence(annotations, human, confusion, metric)


def _play(
    config: Mapping[str, Any], world: int, studies: Sequence[int], verdicts: Verdicts, evidence: Evidence
) -> Ints:
    """Find the last look of each row under the budget."""
    n_pairs = len(evidence.human) // len(studies)
    order = np.tile(np.arange(n_pairs), (len(studies), 1))
    if config["design"]["pair_order"] == "random":
        for row, study in zip(order, studies, strict=True):
            stream(config["seed"], "world", world, "study", study, "pairs").shuffle(row)
    cost = np.diff(evidence.human.sum(-1), axis=1, prepend=0).reshape(len(studies), n_pairs, -1)
    stop = verdicts.stop.reshape(cost.shape)
    return last_looks(stop, cost, config["budget"]["annotations"], order).ravel()


def _reference(config: Mapping[str, Any], sets: Sequence[TestSet]) -> dict[str, Array]:
    """Judge each pair by all human ratings of its test set: verdict of the sign test, and the share of each outcome."""
    human = np.concatenate([test_set.human for test_set in sets])
    counts = np.stack([(human == outcome).sum(1) for outcome in range(3)], axis=1)
    p_value = bind(config["analysis"]["reference"], config.get("plugins", ()))(counts)
    significant = p_value <= config["decision"]["level"]
    smoothed = counts.min(axis=1) == 0
    share = counts + SMOOTHING * smoothed[:, None]
    return {
        "reference_verdict": (significant * np.sign(counts[:, 0] - counts[:, 2])).astype(np.int8),
        "reference_p": share / share.sum(1, keepdims=True),
        "reference_smoothed": smoothed,
    }


def _win_rates(p: Floats, n_systems: int) -> Floats:
    """Average over its opponents how often each system wins, draws counted half: `[campaign, system]`."""
    first, second = np.triu_indices(n_systems, 1)
    rate = np.zeros((len(p), n_systems, n_systems))
    rate[:, first, second] = p[:, :, 0] + p[:, :, 1] / 2
    rate[:, second, first] = p[:, :, 2] + p[:, :, 1] / 2
    return np.asarray(rate.sum(2) / (n_systems - 1))


def _item_ratings(sets: Sequence[TestSet], orders: Sequence[Ints], used: Array) -> dict[str, Array]:
    """Count the single outputs that raters had to read: an output compared with several others is read once."""
    n_pairs = len(orders[0])
    first, second = np.triu_indices(int((1 + np.sqrt(1 + 8 * n_pairs)) / 2), 1)
    read: list[int] = []
    possible: list[int] = []
    annotations: list[int] = []
    for test_set, order, n in zip(sets, orders, used, strict=True):
        rateable = test_set.human >= 0
        rank = np.argsort(order, axis=1)
        asked = rateable & (rank < n[:, None])
        for chosen, counts in ((asked, read), (rateable, possible)):
            outputs = np.zeros((second[-1] + 1, order.shape[1]), bool)
            np.logical_or.at(outputs, first, chosen)
            np.logical_or.at(outputs, second, chosen)
            counts.append(int(outputs.sum()))
        annotations.append(int(rateable.sum()))
    names = ("item_ratings_used", "item_ratings_possible", "ratings_possible")
    return {name: np.array(n, np.int32) for name, n in zip(names, (read, possible, annotations), strict=True)}


def _trace(
    config: Mapping[str, Any], verdicts: Verdicts, evidence: Evidence, end: Ints, count: int
) -> dict[str, Array]:
    """Follow each campaign round by round: annotations collected and pairs undecided; -1 after the last look."""
    rounds = -(-config["budget"]["annotations_per_pair"] // config["budget"]["batch_size"])
    undecided, collected = (np.full((count, rounds + 1), -1, np.int32) for _ in range(2))
    rows, total = np.arange(len(end)), evidence.human.sum(-1)
    stopped = verdicts.stop[rows, end]
    for look in range(len(evidence.annotations)):
        closed = stopped & (end <= look)
        undecided[:, look] = (~closed).reshape(count, -1).sum(1)
        collected[:, look] = total[rows, np.minimum(end, look)].reshape(count, -1).sum(1)
    return {"undecided": undecided, "collected": collected}


def _places(drawn: PreferenceWorld, world: int, studies: Sequence[int]) -> dict[str, Array]:
    study = np.array(studies, np.int32)
    return {
        "world": np.full(len(study), world, np.int32),
        "study": study,
        "document_set": np.zeros_like(study) if drawn.contest.fixed else study,
        "status": np.full(len(study), OK, np.int8),
    }


def _truth(drawn: PreferenceWorld) -> dict[str, Array]:
    direction = preference_direction(drawn.contest)
    if direction is None or drawn.contest.p is None:
        return {}
    return {"true_p": drawn.contest.p[None], "true_direction": direction[None].astype(np.int8)}
