"""Write judgements of a campaign as a table, read it back, and compare any table of judgements with its plan.

`sheet` returns the rows of a campaign, `match_campaign` reads them back, and `match_plan` reads a table that was
collected by a plan; both return a `Read`. A judgement is a human score, with or without a metric's, of one output.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from simlab.concluding.campaigns import CampaignInfo, cast_column, check, check_count, fill_unknown, refuse
from simlab.concluding.goals import describe_other_systems, read_expected
from simlab.concluding.options import ConcludeOptions
from simlab.concluding.sheets import Read, Sheet, SheetRows, column, number, number_by_plan
from simlab.messages import clip, pluralise
from simlab.parts import name_of
from simlab.studies.money import bill, limit, read_money_limits, read_prices, reduce_payment
from simlab.tables import judged_outputs
from simlab.tables.cells import load_answers
from simlab.tables.judged_outputs import USUAL as USUAL
from simlab.tables.judged_outputs import JudgedOutputs
from simlab.tables.numbers import is_missing
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
    Parts,
    Seen,
    Streams,
)

FORM = "judgements (system, item, human)"
_KNOWN = frozenset((
    *("binary", "rest", "calibration", "document", "outputs_per_document", "parts", "calibration_parts", "nominal"),
    *("annotator_variance", "test_set", "slope"),
))  # fmt: skip


_OUTPUTS = "outputs"
"""What is known of campaigns on a clock: how many outputs of each system were to be judged."""


def sheet(collected: Collected, config: Mapping[str, Any]) -> Sheet:
    """Lay judgements out: system, item, document where outputs come in documents, human, metric where there is one.

    Where systems have inputs of their own, items and documents are named by system. Raises InputError for a campaign
    that a rule ended.
    """
    if "_target_" in config["decision"]:
        raise InputError(
            f"decision={name_of(config['decision'])} ends the judging of each system by itself, and such campaigns are "
            "not exported; export one of decision=significance"
        )
    frame, seen, scores = collected.frame, _list_asked_outputs(collected), collected.metric
    shared, document = config["design"]["shared_inputs"], collected.known.get("document")
    columns = (
        "system",
        "item",
        *(("document",) * (document is not None)),
        "human",
        *(("metric",) * (scores is not None)),
        *(("at",) * (seen.at is not None)),
    )
    flat: list[Sequence[Any]] = [
        [frame.system_names[k] for k in seen.unit],
        [_name(item, frame.system_names[k], shared) for k, item in zip(seen.unit, seen.item, strict=True)],
    ]
    if document is not None:
        of = document[seen.unit, seen.item]
        flat.append([_name(place, frame.system_names[k], shared) for k, place in zip(seen.unit, of, strict=True)])
    flat.append([_convert_judgement(value, binary=collected.known["binary"]) for value in seen.value.tolist()])
    flat += [] if scores is None else [scores[seen.unit, seen.item].tolist()]
    flat += [] if seen.at is None else [[None if math.isnan(at) else at for at in seen.at.tolist()]]
    return Sheet("judgement", columns, list(zip(*flat, strict=True)), len(collected.seen.value))


def _convert_judgement(value: float, *, binary: bool) -> float | None:
    if math.isnan(value):
        return None
    return int(value) if binary else value


def _list_asked_outputs(collected: Collected) -> Seen:
    """List outputs that were to be judged and were not, too (NaN): a metric speaks of them all the same."""
    seen, n = collected.seen, collected.known.get(_OUTPUTS)
    if n is None or seen.at is None:
        return seen
    unit, item = (index.ravel() for index in np.indices((collected.frame.n_systems, n)))
    came = np.zeros(len(unit), bool)
    came[seen.unit * n + seen.item] = True
    none, unknown = np.full(len(unit), -1), np.full(np.count_nonzero(~came), np.nan)
    # What was judged stands first, as a table has its answers before what a metric alone says.
    return Seen(
        np.concatenate([seen.unit, unit[~came]]),
        np.concatenate([seen.item, item[~came]]),
        none,
        np.concatenate([seen.value, unknown]),
        none,
        at=np.concatenate([seen.at, unknown]),
    )


def _name(number: int, system: str, shared: bool) -> str:
    return str(number + 1) if shared else f"{system}-{number + 1}"


def metric(collected: Collected) -> Any:
    """Return dtype and shape of the metric's scores of judged outputs (the table has the scores); None: no metric."""
    scores = collected.metric
    return None if scores is None else [scores.dtype.name, *scores.shape]


def match_campaign(info: CampaignInfo, rows: SheetRows, config: Mapping[str, Any]) -> Read:
    """Read the rows of an exported table as the judgements of its campaign, and list how many are missing.

    Raises InputError for other systems or outputs than those of the campaign, and for an output that is there twice.
    """
    n = _check_known(info, config, rows.where)
    unit = np.array(number_by_plan(rows, "system", info.frame.system_names), np.int64)
    item = _items(rows, unit, info, n, shared=config["design"]["shared_inputs"])
    key = unit * max(n, 1) + item
    both, start = np.unique(key, return_index=True)
    if len(both) < len(unit):
        k = int(np.setdiff1d(np.arange(len(unit)), start)[0])
        before = rows.describe_difference(int(np.argmax(key == key[k])), k)
        raise InputError(
            f"{rows.name_line(k)}: this output is there a second time, before on {before}; keep one of the two"
        )
    came = np.array([k for k, text in enumerate(column(rows, "human")) if not is_missing(text)], np.int64)
    value = _values(rows, came, binary=info.known["binary"])
    at = np.lexsort((item[came], unit[came]))
    seen = Seen(
        cast_column(unit[came][at], info, "unit"),
        cast_column(item[came][at], info, "item"),
        fill_unknown(len(came), info, "rater"),
        cast_column(value[at], info, "value"),
        fill_unknown(len(came), info, "errors"),
        at=cast_column([number(rows, "at", k) for k in came[at]], info, "at") if "at" in info.types else None,
    )
    paid = reduce_payment(info.paid, info.answers - len(came), read_prices(config["budget"], JUDGE))
    collected = Collected(info.frame, None, None, seen, _metric(rows, info, unit, item), info.known, paid, info.streams)
    short = info.answers - len(came)
    return Read(collected, info.answers, [f"{short:,} of {info.answers:,} judgements are missing"] if short else [])


def _check_known(info: CampaignInfo, config: Mapping[str, Any], where: str) -> int:
    """Count the outputs of a system that were judged; raise InputError for what is told of others."""
    known, systems = info.known, info.frame.n_systems
    if known.keys() - {_OUTPUTS} != _KNOWN or not isinstance(known["binary"], bool):
        refuse(where, "does not say what one knows of judgements")
    n = info.answers // systems if _OUTPUTS not in known else check_count(known[_OUTPUTS], where, _OUTPUTS)
    if info.answers != n * systems and _OUTPUTS not in known:
        refuse(where, f"has answers={info.answers}, not as many of each of {systems} systems")
    for name, width in (("calibration", 4), ("calibration_parts", 4)):
        if known[name] is not None:
            check(known[name], where, name, shape=(None, width))
    for name in ("slope", "annotator_variance"):
        check(known[name], where, name, shape=(systems,))
    if known["document"] is not None:
        check(known["document"], where, "document", shape=(systems, n), low=0)
    check_count(known["outputs_per_document"], where, "outputs_per_document")
    if known["test_set"] is not None:
        check_count(known["test_set"], where, "test_set")
    _check_metric(info, where, n)
    _check_rest(known, where, systems)
    return n


def _check_metric(info: CampaignInfo, where: str, n: int) -> None:
    nominal, layout = info.known["nominal"], info.metric
    if nominal is not None and not isinstance(nominal, KnownRates | KnownCorrelation):
        refuse(where, "says something else of its metric than how good it is")
    if layout is None:
        return
    if not isinstance(layout, list) or layout[1:] != [info.frame.n_systems, n]:
        refuse(where, "does not say of which outputs its metric speaks")
    if layout[0] not in ("float64", "int8", "int64"):
        refuse(where, "has a metric of another type")


def _check_rest(metric_record: Mapping[str, Any], where: str, systems: int) -> None:
    rest, parts = metric_record["rest"], metric_record["parts"]
    if rest is not None:
        if not isinstance(rest, tuple) or len(rest) != 3:
            refuse(where, "does not say what its metric says of further outputs")
        check_count(int(rest[0]) if isinstance(rest[0], np.integer) else rest[0], where, "rest")
        for values in rest[1:]:
            check(values, where, "rest", shape=(systems,))
    if parts is not None:
        if not isinstance(parts, Parts):
            refuse(where, "does not say to which documents further outputs belong")
        n_parts = len(parts.n) if isinstance(parts.n, np.ndarray) else 0
        check(parts.n, where, "parts.n", shape=(None,))
        check(parts.document, where, "parts.document", shape=(systems, n_parts), low=0)
        check(parts.total, where, "parts.total", shape=(systems, n_parts))


def _items(rows: SheetRows, unit: Ints, info: CampaignInfo, n: int, *, shared: bool) -> Ints:
    names = info.frame.system_names
    numbers = [{_name(k, name, shared): k for k in range(n)} for name in ((names[:1]) if shared else names)]
    cells = column(rows, "item")
    for k, name in enumerate(cells):
        if name not in numbers[0 if shared else unit[k]]:
            raise InputError(
                f"{rows.name_line(k)}: item {clip(name, 40)} is none of the {n} of the plan; take the row out, or name "
                "the plan of this study"
            )
    return np.array([numbers[0 if shared else unit[k]][name] for k, name in enumerate(cells)], np.int64)


def _values(rows: SheetRows, came: Ints, *, binary: bool) -> Floats:
    value = np.array([number(rows, "human", k) for k in came], float)
    for k in np.flatnonzero((value != 0) & (value != 1))[:1] if binary else ():
        raise InputError(
            f"{rows.name_line(came[k])}: human={value[k]:g}, and in its plan humans say 0 or 1; mend the line"
        )
    return value


def _metric(rows: SheetRows, info: CampaignInfo, unit: Ints, item: Ints) -> Array | None:
    """Lay out what the metric says; raise InputError where it lacks outputs, which the analysis counts on."""
    if info.metric is None:
        return None
    dtype, systems, n = info.metric
    scores = np.full((systems, n), np.nan)
    scores[unit, item] = [number(rows, "metric", k) for k in range(len(rows))]
    if lacking := int(np.isnan(scores).sum()):
        raise InputError(
            f"{rows.where}: lacks what the metric says of {lacking:,} of {scores.size:,} outputs; keep the rows "
            "without a judgement, too"
        )
    return scores.astype(dtype)


class _Laid(NamedTuple):
    """Outputs by system: `y[system, n]` (NaN: not judged) and the metric's scores of the same, `g[system, n]`.

    `rest` is the number of further outputs of each system, with the mean and the variance of the metric's scores of
    them, `[system]`; `every[system]` are all scores by the metric. None and empty where there is no metric.
    """

    y: Floats
    g: Floats | None
    rest: tuple[int, Floats, Floats] | None
    every: list[Floats]


def match_plan(table: Path, wanted: ConcludeOptions, config: Mapping[str, Any]) -> Read:
    """Read a table of judgements that was collected by the plan `config`, and list where it leaves the plan.

    Raises InputError for the plan of other systems, for more judgements than were planned, for other values than the
    plan's, and for an estimator that needs facts which only an exported campaign has.
    """
    where, binary = clip(table), config["raters"].get("scale") == "binary"
    metric = (
        bool(config.get("metric", {}).get("_target_")) and name_of(config["analysis"]["estimator"]) != "sample_mean"
    )
    _refuse_untold(config, where)
    outputs = judged_outputs.read_table(
        judged_outputs.name_columns(
            load_answers(table, judged_outputs.FORM, wanted.column_overrides), wanted.column_overrides.columns
        ),
        wanted.metrics,
        wanted.column_overrides,
    )
    if outputs.far is not None:
        raise outputs.far.refusal(where)
    if metric and len(outputs.metrics) != 1:
        count = pluralise(len(outputs.metrics), "metric")
        raise InputError(f"{where}: the plan uses one metric and the table has {count}; name one with --metric COLUMN")
    human = _average_repeats(outputs, wanted, binary, where)
    deviations = describe_other_systems(outputs.system_names, read_expected(config), where)
    laid = _lay_out(outputs, human, next(iter(outputs.metrics.values())) if metric else None, config, where)
    per_system, n = _count_planned(config), np.isfinite(laid.y).sum(1)
    if per_system is not None and int(n.max()) > per_system:
        raise InputError(
            f"{where}: {pluralise(int(n.max()), 'judgement')} of a system, and the plan has {per_system} "
            "(budget.human_ratings); take out what does not belong to this study, or name its own plan"
        )
    planned = int(n.sum()) if per_system is None else per_system * len(n)
    if short := planned - int(n.sum()):
        deviations.append(f"{short:,} of {planned:,} planned judgements are missing")
    return Read(_collect(outputs, laid, config, binary), planned, deviations)


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


def _average_repeats(outputs: JudgedOutputs, wanted: ConcludeOptions, binary: bool, where: str) -> Floats:
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


def _lay_out(
    outputs: JudgedOutputs, human: Floats, scores: Floats | None, config: Mapping[str, Any], where: str
) -> _Laid:
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
    if scores is None:
        return _Laid(y, None, None, [])
    g = np.full((systems, n), np.nan)
    first = at >= 0
    g[outputs.system[first], at[first]] = scores[first]
    if np.isnan(g[np.isfinite(y)]).any():
        raise InputError(
            f"{where}: the metric lacks outputs that humans judged; the plan's estimator needs all of them"
        )
    behind = ~first & np.isfinite(scores)
    rest = [scores[behind & (outputs.system == k)] for k in range(systems)]
    sizes = {len(values) for values in rest}
    if len(sizes) > 1:
        raise InputError(
            f"{where}: the metric rates {min(sizes)} further outputs of one system and {max(sizes)} of another; the "
            "plan's estimator takes as many of each"
        )
    size = sizes.pop()
    known = (
        (size, np.array([values.mean() for values in rest]), np.array([values.var(ddof=1) for values in rest]))
        if size > 1
        else None
    )
    return _Laid(y, g, known, [scores[(outputs.system == k) & np.isfinite(scores)] for k in range(systems)])


def _collect(outputs: JudgedOutputs, laid: _Laid, config: Mapping[str, Any], binary: bool) -> Collected:
    systems, fixed = len(outputs.system_names), config["systems"].get("test_set") == "fixed"
    unit, item = np.nonzero(np.isfinite(laid.y))
    g, rest = laid.g, laid.rest
    if g is not None and fixed:
        # A metric that has rated all of a test set is standardised over it.
        spread = np.array([scores.std() for scores in laid.every])
        centred = g - np.array([scores.mean() for scores in laid.every])[:, None]
        g, rest = centred / np.where(spread > 0, spread, 1.0)[:, None], None
    none = np.full(len(unit), -1)
    known = {
        "binary": binary,
        "rest": rest,
        "calibration": None,
        "nominal": _read_known_quality(config),
        "slope": np.zeros(systems),
        "annotator_variance": np.zeros(systems),
        "test_set": outputs.n_items if fixed and not config["design"]["replacement"] else None,
    }
    n = len(unit)
    cost = bill(read_prices(config["budget"], JUDGE), answers=n)
    paid = {"ratings": n, "metric": int(np.isfinite(laid.g).sum()) if laid.g is not None else 0}
    return Collected(
        _frame(outputs), None, None, Seen(unit, item, none, laid.y[unit, item], none), g, known,
        {**paid, "cost": cost, "human_cost": cost}, Streams(config["seed"], ("conclude",)),
    )  # fmt: skip


def _frame(outputs: JudgedOutputs) -> Frame:
    systems, n = len(outputs.system_names), outputs.n_items
    one_each: Ints = np.arange(n)
    nobody: Array = np.full((systems, n, 0), -1)
    return Frame(one_each, np.zeros(n, np.int64), nobody, outputs.system_names, (), outputs.rater_names, False)


def _read_known_quality(config: Mapping[str, Any]) -> KnownRates | KnownCorrelation | None:
    metric = config.get("metric", {})
    if {"rho", "eta"} <= metric.keys():
        return KnownRates(float(metric["rho"]), float(metric["eta"]))
    return KnownCorrelation(float(metric["correlation"])) if "correlation" in metric else None


def _count_planned(config: Mapping[str, Any]) -> int | None:
    """Return how many judgements of a system were planned; None where a budget decides."""
    return int(config["budget"]["human_ratings"]) if limit(read_money_limits(config["budget"]), 1) is None else None
