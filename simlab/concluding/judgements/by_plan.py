"""Hold a table of judgements against a plan that was made before anything was judged."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from simlab.concluding.expected import expected, systems_apart
from simlab.concluding.sheets import Read
from simlab.concluding.wanted import Wanted
from simlab.messages import legible, several
from simlab.parts import name_of
from simlab.studies.money import bill, limit, prices_of
from simlab.tables import judged
from simlab.tables.cells import load_answers
from simlab.tables.judged import Outputs
from simlab.types import (
    JUDGE,
    Array,
    Collected,
    Floats,
    Frame,
    InputError,
    Ints,
    KnownCorrelation,
    KnownRates,
    Seen,
    Streams,
)


class _Laid(NamedTuple):
    """Hold outputs by system: `y[system, n]` (NaN: not judged), what a metric says of the same, and of the rest."""

    y: Floats
    g: Floats | None
    rest: tuple[int, Floats, Floats] | None
    every: list[Floats]


def of_plan(table: Path, wanted: Wanted, config: Mapping[str, Any]) -> Read:
    """Take a table for what was collected by a plan alone; say where it leaves the plan.

    Raises InputError for the plan of other systems, for more judgements than were planned, for other values than the
    plan's, and for an estimator that needs what only an exported campaign tells.
    """
    where, binary = legible(table), config["raters"].get("scale") == "binary"
    metric = (
        bool(config.get("metric", {}).get("_target_")) and name_of(config["analysis"]["estimator"]) != "sample_mean"
    )
    _refuse_untold(config, where)
    outputs = judged.of_table(
        judged.with_runs(load_answers(table, judged.FORM, wanted.told), wanted.told.columns),
        wanted.metrics,
        wanted.told,
    )
    if outputs.far is not None:
        raise outputs.far.refusal(where)
    if metric and len(outputs.metrics) != 1:
        found = several(len(outputs.metrics), "metric")
        raise InputError(f"{where}: the plan uses one metric and the table has {found}; name one with --metric COLUMN")
    human = _human(outputs, wanted, binary, where)
    deviations = systems_apart(outputs.system_names, expected(config), where)
    laid = _laid(outputs, human, next(iter(outputs.metrics.values())) if metric else None, config, where)
    per_system, n = _per_system(config), np.isfinite(laid.y).sum(1)
    if per_system is not None and int(n.max()) > per_system:
        raise InputError(
            f"{where}: {several(int(n.max()), 'judgement')} of a system, and the plan has {per_system} "
            "(budget.human_ratings); take out what does not belong to this study, or name its own plan"
        )
    planned = int(n.sum()) if per_system is None else per_system * len(n)
    if short := planned - int(n.sum()):
        deviations.append(f"{short:,} of {planned:,} planned judgements are missing")
    return Read(_collected(outputs, laid, config, binary), planned, deviations)


def _refuse_untold(config: Mapping[str, Any], where: str) -> None:
    estimator = config["analysis"]["estimator"]
    if "_target_" in config["decision"]:
        raise InputError(
            f"{where}: decision={name_of(config['decision'])} of the plan ends judging by what came in order, which no "
            "table says; conclude without --plan"
        )
    needs = None
    if estimator.get("quality") == "estimated" or config["budget"]["calibration_ratings"]:
        needs = "calibration ratings"
    elif estimator.get("coefficient") == "known":
        needs = "the slope of judgements on the metric"
    elif config["systems"].get("outputs_per_document", 1) > 1:
        needs = "which documents further outputs belong to"
    if needs:
        raise InputError(
            f"{where}: the plan's estimator needs {needs}, which only an exported campaign tells; conclude without "
            "--plan, or from a campaign of `simlab export`"
        )


def _human(outputs: Outputs, wanted: Wanted, binary: bool, where: str) -> Floats:
    """Average repeats; as labels where the plan has labels."""
    human = outputs.human
    if wanted.adequate_from is not None:
        human = np.where(np.isnan(human), np.nan, human >= wanted.adequate_from)
    with np.errstate(invalid="ignore"):
        n = np.isfinite(human).sum(1)
        mean = np.where(n > 0, np.nansum(human, axis=1) / np.maximum(n, 1), np.nan)
    there = mean[np.isfinite(mean)]
    if not len(there):
        raise InputError(f"{where}: no output has a human score, and a metric alone says nothing of them; fill human")
    if binary and not np.isin(there, (0, 1)).all():
        value = there[~np.isin(there, (0, 1))][0]
        raise InputError(
            f"{where}: a human score is {value:g}, and in its plan humans say 0 or 1 (raters.scale=binary); say from "
            "where outputs are adequate with --adequate-from X"
        )
    return np.asarray(mean)


def _laid(outputs: Outputs, human: Floats, said: Floats | None, config: Mapping[str, Any], where: str) -> _Laid:
    """Lay outputs out by system, those that humans judged first: the same ones where systems share inputs."""
    systems, rated = len(outputs.system_names), np.isfinite(human)
    if config["design"]["shared_inputs"]:
        items = np.unique(outputs.item[rated])
        place = np.full(outputs.n_items, -1)
        place[items] = np.arange(len(items))
        at, n = place[outputs.item], len(items)
    else:
        at, n = np.full(len(human), -1), 0
        for k in range(systems):
            own = np.flatnonzero((outputs.system == k) & rated)
            at[own], n = np.arange(len(own)), max(n, len(own))
    y = np.full((systems, n), np.nan)
    y[outputs.system[rated], at[rated]] = human[rated]
    if said is None:
        return _Laid(y, None, None, [])
    g = np.full((systems, n), np.nan)
    first = at >= 0
    g[outputs.system[first], at[first]] = said[first]
    if np.isnan(g[np.isfinite(y)]).any():
        raise InputError(
            f"{where}: the metric lacks outputs that humans judged; the plan's estimator needs all of them"
        )
    behind = ~first & np.isfinite(said)
    rest = [said[behind & (outputs.system == k)] for k in range(systems)]
    sizes = {len(one) for one in rest}
    if len(sizes) > 1:
        raise InputError(
            f"{where}: the metric rates {min(sizes)} further outputs of one system and {max(sizes)} of another; the "
            "plan's estimator takes as many of each"
        )
    size = sizes.pop()
    known = (
        (size, np.array([one.mean() for one in rest]), np.array([one.var(ddof=1) for one in rest]))
        if size > 1
        else None
    )
    return _Laid(y, g, known, [said[(outputs.system == k) & np.isfinite(said)] for k in range(systems)])


def _collected(outputs: Outputs, laid: _Laid, config: Mapping[str, Any], binary: bool) -> Collected:
    systems, fixed = len(outputs.system_names), config["systems"].get("test_set") == "fixed"
    unit, item = np.nonzero(np.isfinite(laid.y))
    g, rest = laid.g, laid.rest
    if g is not None and fixed:
        # A metric that has rated all of a test set is standardised over it.
        spread = np.array([one.std() for one in laid.every])
        centred = g - np.array([one.mean() for one in laid.every])[:, None]
        g, rest = centred / np.where(spread > 0, spread, 1.0)[:, None], None
    none = np.full(len(unit), -1)
    known = {
        "binary": binary,
        "rest": rest,
        "calibration": None,
        "nominal": _nominal(config),
        "slope": np.zeros(systems),
        "annotator_variance": np.zeros(systems),
        "test_set": outputs.n_items if fixed and not config["design"]["replacement"] else None,
    }
    n = len(unit)
    cost = bill(prices_of(config["budget"], JUDGE), answers=n)
    paid = {"ratings": n, "metric": int(np.isfinite(laid.g).sum()) if laid.g is not None else 0}
    return Collected(
        _frame(outputs), None, None, Seen(unit, item, none, laid.y[unit, item], none), g, known,
        {**paid, "cost": cost, "human_cost": cost}, Streams(config["seed"], ("conclude",)),
    )  # fmt: skip


def _frame(outputs: Outputs) -> Frame:
    systems, n = len(outputs.system_names), outputs.n_items
    one_each: Ints = np.arange(n)
    nobody: Array = np.full((systems, n, 0), -1)
    return Frame(one_each, np.zeros(n, np.int64), nobody, outputs.system_names, (), outputs.rater_names, False)


def _nominal(config: Mapping[str, Any]) -> KnownRates | KnownCorrelation | None:
    metric = config.get("metric", {})
    if {"rho", "eta"} <= metric.keys():
        return KnownRates(float(metric["rho"]), float(metric["eta"]))
    return KnownCorrelation(float(metric["correlation"])) if "correlation" in metric else None


def _per_system(config: Mapping[str, Any]) -> int | None:
    """Return how many judgements of a system were planned; None where a budget decides."""
    return int(config["budget"]["human_ratings"]) if limit(config["budget"], 1) is None else None
