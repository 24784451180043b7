"""Write the judgements of a campaign as a table, and read such a table back as what was collected."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from simlab.concluding.campaigns import Told, check, in_type, refuse, untold, whole
from simlab.concluding.sheets import Read, Rows, Sheet, column, known, number
from simlab.messages import legible
from simlab.parts import name_of
from simlab.studies.money import less_paid, prices_of
from simlab.tables.judged import USUAL as USUAL
from simlab.tables.numbers import missing
from simlab.types import JUDGE, Array, Collected, Floats, InputError, Ints, KnownCorrelation, KnownRates, Parts, Seen

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
    frame, seen, said = collected.frame, _asked(collected), collected.metric
    shared, document = config["design"]["shared_inputs"], collected.known.get("document")
    columns = (
        "system",
        "item",
        *(("document",) * (document is not None)),
        "human",
        *(("metric",) * (said is not None)),
        *(("at",) * (seen.at is not None)),
    )
    flat: list[Sequence[Any]] = [
        [frame.system_names[k] for k in seen.unit],
        [_name(item, frame.system_names[k], shared) for k, item in zip(seen.unit, seen.item, strict=True)],
    ]
    if document is not None:
        of = document[seen.unit, seen.item]
        flat.append([_name(one, frame.system_names[k], shared) for k, one in zip(seen.unit, of, strict=True)])
    flat.append([_judged(value, binary=collected.known["binary"]) for value in seen.value.tolist()])
    flat += [] if said is None else [said[seen.unit, seen.item].tolist()]
    flat += [] if seen.at is None else [[None if math.isnan(at) else at for at in seen.at.tolist()]]
    return Sheet("judgement", columns, list(zip(*flat, strict=True)), len(collected.seen.value))


def _judged(value: float, *, binary: bool) -> float | None:
    if math.isnan(value):
        return None
    return int(value) if binary else value


def _asked(collected: Collected) -> Seen:
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
    """Return the type and shape of what a metric says of judged outputs; the table has it output by output."""
    said = collected.metric
    return None if said is None else [said.dtype.name, *said.shape]


def collected(told: Told, rows: Rows, config: Mapping[str, Any]) -> Read:
    """Take a table for the answers of a campaign; say where it falls short of what came then.

    Raises InputError for other systems or outputs than those of the campaign, and for an output that is there twice.
    """
    n = _check_known(told, config, rows.where)
    unit = np.array(known(rows, "system", told.frame.system_names), np.int64)
    item = _items(rows, unit, told, n, shared=config["design"]["shared_inputs"])
    key = unit * max(n, 1) + item
    both, start = np.unique(key, return_index=True)
    if len(both) < len(unit):
        k = int(np.setdiff1d(np.arange(len(unit)), start)[0])
        before = rows.differing(int(np.argmax(key == key[k])), k)
        raise InputError(f"{rows.at(k)}: this output is there a second time, before on {before}; keep one of the two")
    came = np.array([k for k, text in enumerate(column(rows, "human")) if not missing(text)], np.int64)
    value = _values(rows, came, binary=told.known["binary"])
    at = np.lexsort((item[came], unit[came]))
    seen = Seen(
        in_type(unit[came][at], told, "unit"),
        in_type(item[came][at], told, "item"),
        untold(len(came), told, "rater"),
        in_type(value[at], told, "value"),
        untold(len(came), told, "errors"),
        at=in_type([number(rows, "at", k) for k in came[at]], told, "at") if "at" in told.types else None,
    )
    paid = less_paid(told.paid, told.answers - len(came), prices_of(config["budget"], JUDGE))
    held = Collected(told.frame, None, None, seen, _metric(rows, told, unit, item), told.known, paid, told.streams)
    short = told.answers - len(came)
    return Read(held, told.answers, [f"{short:,} of {told.answers:,} judgements are missing"] if short else [])


def _check_known(told: Told, config: Mapping[str, Any], where: str) -> int:
    """Count the outputs of a system that were judged; raise InputError for what is told of others."""
    held, systems = told.known, told.frame.n_systems
    if held.keys() - {_OUTPUTS} != _KNOWN or not isinstance(held["binary"], bool):
        refuse(where, "does not say what one knows of judgements")
    n = told.answers // systems if _OUTPUTS not in held else whole(held[_OUTPUTS], where, _OUTPUTS)
    if told.answers != n * systems and _OUTPUTS not in held:
        refuse(where, f"has answers={told.answers}, not as many of each of {systems} systems")
    for name, width in (("calibration", 4), ("calibration_parts", 4)):
        if held[name] is not None:
            check(held[name], where, name, shape=(None, width))
    for name in ("slope", "annotator_variance"):
        check(held[name], where, name, shape=(systems,))
    if held["document"] is not None:
        check(held["document"], where, "document", shape=(systems, n), low=0)
    whole(held["outputs_per_document"], where, "outputs_per_document")
    if held["test_set"] is not None:
        whole(held["test_set"], where, "test_set")
    _check_metric(told, where, n)
    _check_rest(held, where, systems)
    return n


def _check_metric(told: Told, where: str, n: int) -> None:
    nominal, said = told.known["nominal"], told.metric
    if nominal is not None and not isinstance(nominal, KnownRates | KnownCorrelation):
        refuse(where, "says something else of its metric than how good it is")
    if said is None:
        return
    if not isinstance(said, list) or said[1:] != [told.frame.n_systems, n]:
        refuse(where, "does not say of which outputs its metric speaks")
    if said[0] not in ("float64", "int8", "int64"):
        refuse(where, "has a metric of another type")


def _check_rest(held: Mapping[str, Any], where: str, systems: int) -> None:
    rest, parts = held["rest"], held["parts"]
    if rest is not None:
        if not isinstance(rest, tuple) or len(rest) != 3:
            refuse(where, "does not say what its metric says of further outputs")
        whole(int(rest[0]) if isinstance(rest[0], np.integer) else rest[0], where, "rest")
        for one in rest[1:]:
            check(one, where, "rest", shape=(systems,))
    if parts is not None:
        if not isinstance(parts, Parts):
            refuse(where, "does not say to which documents further outputs belong")
        n_parts = len(parts.n) if isinstance(parts.n, np.ndarray) else 0
        check(parts.n, where, "parts.n", shape=(None,))
        check(parts.document, where, "parts.document", shape=(systems, n_parts), low=0)
        check(parts.total, where, "parts.total", shape=(systems, n_parts))


def _items(rows: Rows, unit: Ints, told: Told, n: int, *, shared: bool) -> Ints:
    names = told.frame.system_names
    numbers = [{_name(k, name, shared): k for k in range(n)} for name in ((names[:1]) if shared else names)]
    cells = column(rows, "item")
    for k, name in enumerate(cells):
        if name not in numbers[0 if shared else unit[k]]:
            raise InputError(
                f"{rows.at(k)}: item {legible(name, 40)} is none of the {n} of the plan; take the row out, or name "
                "the plan of this study"
            )
    return np.array([numbers[0 if shared else unit[k]][name] for k, name in enumerate(cells)], np.int64)


def _values(rows: Rows, came: Ints, *, binary: bool) -> Floats:
    value = np.array([number(rows, "human", k) for k in came], float)
    for k in np.flatnonzero((value != 0) & (value != 1))[:1] if binary else ():
        raise InputError(f"{rows.at(came[k])}: human={value[k]:g}, and in its plan humans say 0 or 1; mend the line")
    return value


def _metric(rows: Rows, told: Told, unit: Ints, item: Ints) -> Array | None:
    """Lay out what the metric says; raise InputError where it lacks outputs, which the analysis counts on."""
    if told.metric is None:
        return None
    dtype, systems, n = told.metric
    said = np.full((systems, n), np.nan)
    said[unit, item] = [number(rows, "metric", k) for k in range(len(rows))]
    if lacking := int(np.isnan(said).sum()):
        raise InputError(
            f"{rows.where}: lacks what the metric says of {lacking:,} of {said.size:,} outputs; keep the rows without "
            "a judgement, too"
        )
    return said.astype(dtype)
