"""Write the comparisons of a campaign as a table, and read such a table back.

`sheet` returns the rows of a campaign; `match_campaign` takes rows and the sidecar's info and returns a `Read`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from simlab.concluding.campaigns import CampaignInfo, cast_column, check, check_count, fill_unknown, refuse
from simlab.concluding.sheets import Read, Sheet, SheetRows, column, number, number_by_plan
from simlab.design.protocol import list_looks
from simlab.messages import clip, pluralise
from simlab.studies.money import read_prices, reduce_payment
from simlab.studies.preferences.preparing import read_bins
from simlab.tables.columns import SHARES, place_of
from simlab.tables.numbers import is_missing
from simlab.tables.preferences import USUAL as USUAL
from simlab.types import COMPARE, Array, Collected, Frame, InputError, Ints, Seen

FORM = "comparisons (item, system_a, system_b, winner)"
SIGNS, TIE = (">", "=", "<"), "tie"


class _Layout(NamedTuple):
    """Data from which every row is written: names, pairs, documents and the metric."""

    names: tuple[str, ...]
    first: Ints
    second: Ints
    documents: Ints | None
    metric: Array | None
    signs: bool
    bins: int


def sheet(collected: Collected, config: Mapping[str, Any]) -> Sheet:
    """Return comparisons as rows, batch by batch, and behind them a metric's scores of further outputs.

    `order` counts the comparisons of each two systems as they were asked for, from 0; `document` is there where outputs
    come in documents, `at` (hours from the start) where they came on a clock.
    """
    frame, seen, layout = collected.frame, collected.seen, _layout(collected, read_bins(config))
    order = np.zeros_like(seen.unit) if seen.order is None else seen.order
    came = np.lexsort((order, seen.unit, order // config["budget"]["batch_size"]))
    columns = ["item", "system_a", "system_b", "winner", "order"]
    columns += ["document"] if layout.documents is not None else []
    columns += ["metric"] if layout.metric is not None else []
    flat = (array[came].tolist() for array in (seen.unit, seen.item, seen.value, order))
    rows = [_row(layout, *one) for one in zip(*flat, strict=True)]
    alone = list(_list_metric_rows(layout, seen, len(frame.document)))
    if seen.at is not None:
        columns.append("at")
        rows = [[*row, at] for row, at in zip(rows, seen.at[came].tolist(), strict=True)]
        alone = [[*row, None] for row in alone]
    return Sheet("comparison", tuple(columns), [*rows, *alone], len(rows))


def _layout(collected: Collected, bins: int) -> _Layout:
    names = collected.frame.system_names
    # A system that bears the name of an outcome would be mistaken for it.
    signs = any(name.lower() in SHARES or place_of(name) >= 0 for name in names)
    first, second = np.triu_indices(len(names), 1)
    return _Layout(names, first, second, number_documents(collected), collected.metric, signs, bins)


def _row(layout: _Layout, pair: int, item: int, value: int | None, order: int | None) -> list[Any]:
    names = layout.names[layout.first[pair]], layout.names[layout.second[pair]]
    words = SIGNS if layout.signs else (names[0], TIE, names[1])
    row = [item + 1, *names, None if value is None else words[value], order]
    row += [] if layout.documents is None else [int(layout.documents[item]) + 1]
    if layout.metric is not None:
        row.append(
            _format_preference(layout, layout.metric[pair, item], words) if item < layout.metric.shape[1] else None
        )
    return row


def _format_preference(layout: _Layout, code: int, words: tuple[str, ...]) -> str:
    """Write a metric's preference: who won, or as many signs as its size has where sizes are told apart."""
    size = layout.bins - int(code)
    return words[code] if layout.bins == 1 else (SIGNS[0] * size or SIGNS[2] * -size or SIGNS[1])


def _list_metric_rows(layout: _Layout, seen: Seen, n_items: int) -> Iterator[list[Any]]:
    """Go through the outputs of which a metric alone says something."""
    if layout.metric is None:
        return
    alone = np.ones((len(layout.metric), max(layout.metric.shape[1], n_items)), bool)
    alone[seen.unit, seen.item] = False
    for pair, item in np.argwhere(alone[:, : layout.metric.shape[1]]).tolist():
        yield _row(layout, pair, item, None, None)


def number_documents(collected: Collected) -> Ints | None:
    """Return the document of each output, further ones included; None where each output is a document of its own."""
    document = collected.frame.document
    n = 0 if collected.metric is None else max(collected.metric.shape[1] - len(document), 0)
    rest = np.asarray(collected.known.get("rest_document", np.arange(n)))
    every = np.concatenate([document, int(document.max(initial=-1)) + 1 + rest])
    return None if np.array_equal(every, np.arange(len(every))) else every


def metric(collected: Collected) -> Any:
    """Return dtype and shape of a metric's scores (the table has the scores); None: no metric."""
    scores = collected.metric
    return None if scores is None else [scores.dtype.name, *scores.shape]


def match_campaign(info: CampaignInfo, rows: SheetRows, config: Mapping[str, Any]) -> Read:
    """Read the rows of an exported table as the comparisons of its campaign, and list how many are missing.

    Raises InputError for other systems or outputs, or more comparisons than the plan has.
    """
    _check_known(info, config, rows.where)
    names = info.frame.system_names
    first, second = (np.array(number_by_plan(rows, name, names), np.int64) for name in ("system_a", "system_b"))
    for k in np.flatnonzero(first == second)[:1]:
        raise InputError(f"{rows.name_line(k)}: {clip(names[first[k]], 40)} is compared with itself; mend the line")
    pair, item = _number_pairs(info.frame)[first, second], _items(rows, info)
    codes = _codes(rows, "winner", first, second)
    came = np.flatnonzero(codes >= 0)
    order = _order(rows, pair, came)
    _refuse_more(rows, came, pair, item, order, info, config)
    placed = np.lexsort((order, pair[came]))
    at, n = came[placed], len(came)
    seen = Seen(
        cast_column(pair[at], info, "unit"),
        cast_column(item[at], info, "item"),
        fill_unknown(n, info, "rater"),
        cast_column(codes[at], info, "value"),
        fill_unknown(n, info, "errors"),
        order=cast_column(order[placed], info, "order"),
        at=cast_column([number(rows, "at", k) for k in at], info, "at") if "at" in info.types else None,
    )
    paid = reduce_payment(info.paid, info.answers - n, read_prices(config["budget"], COMPARE))
    metric = _metric(
        rows, info, pair, item, _codes(rows, "metric", first, second, read_bins(config)) if info.metric else codes
    )
    collected = Collected(info.frame, None, None, seen, metric, info.known, paid, info.streams)
    short = info.answers - n
    return Read(collected, info.answers, [f"{short:,} of {info.answers:,} comparisons are missing"] if short else [])


def _check_known(info: CampaignInfo, config: Mapping[str, Any], where: str) -> None:
    """Raise InputError for what is told of other pairs, looks or outputs than there are."""
    frame, known = info.frame, info.known
    n_pairs, n_items = frame.n_systems * (frame.n_systems - 1) // 2, len(frame.document)
    n_looks = len(list_planned_looks(config, n_items))
    check(known.get("rounds"), where, "rounds", shape=(n_pairs,), low=0, high=n_looks)
    if info.metric is not None:
        shape = info.metric
        if not isinstance(shape, list) or len(shape) != 3 or shape[0] not in ("int8", "int64") or shape[1] != n_pairs:
            refuse(where, "does not say what its metric compared")
        check_count(shape[2], where, "outputs")
        check_count(n_pairs * shape[2], where, "outputs")
    n_outputs = info.metric[2] if info.metric else 0
    if "can_be_rated" in known:
        check(known["can_be_rated"], where, "can_be_rated", shape=(n_pairs, n_items), dtype="bool")
    if "rest_document" in known:
        check(known["rest_document"], where, "rest_document", shape=(max(n_outputs - n_items, 0),), low=0)


def list_planned_looks(config: Mapping[str, Any], n_items: int) -> Ints:
    """Return the numbers of comparisons of a pair at its looks (interim analyses), for `n_items` items."""
    return list_looks(config["budget"]["annotations_per_pair"], config["budget"]["batch_size"], n_items)


def _number_pairs(frame: Frame) -> Ints:
    """Number pairs: `[first, second]`, whichever comes first."""
    pair = np.full((frame.n_systems, frame.n_systems), -1)
    first, second = np.triu_indices(frame.n_systems, 1)
    pair[first, second] = pair[second, first] = np.arange(len(first))
    return pair


def _items(rows: SheetRows, info: CampaignInfo) -> Ints:
    """Read items, which are numbered from 1: those that humans can compare, then those that a metric sees alone."""
    n = max(len(info.frame.document), info.metric[2] if info.metric else 0)
    names = {str(k + 1): k for k in range(n)}
    cells = column(rows, "item")
    for k, name in enumerate(cells):
        if name not in names:
            raise InputError(
                f"{rows.name_line(k)}: item {clip(name, 40)} is none of the {n} of the plan; take the row out, or name "
                "the plan of this study"
            )
    return np.array([names[name] for name in cells], np.int64)


def _codes(rows: SheetRows, name: str, first: Ints, second: Ints, bins: int = 1) -> Ints:
    """Read who won: 0 the first of the pair, 1 a tie, 2 the second, whichever the row names first; -1: an empty cell.

    With `bins` sizes 0 to 2 * bins, from as many `>` as the largest has.
    """
    cells, turned = column(rows, name), first > second
    systems = list(zip(column(rows, "system_a"), column(rows, "system_b"), strict=True))
    codes = np.full(len(cells), -1)
    signs = [SIGNS[0] * k for k in range(bins, 0, -1)] + [SIGNS[1]] + [SIGNS[2] * (k + 1) for k in range(bins)]
    for k, text in enumerate(cells):
        if bins > 1 and text in signs:
            codes[k] = signs.index(text)
        elif bins == 1 and text in systems[k]:
            codes[k] = 2 * systems[k].index(text)
        elif bins == 1 and (place := SHARES.get(text, place_of(text))) >= 0:
            codes[k] = place
        elif not is_missing(text):
            raise InputError(
                f"{rows.name_line(k)}: {name}={clip(text, 40)} names none of the two, nor a tie; mend the line"
            )
    # Codes are symmetric about the tie, so that turning a row round mirrors them.
    return np.where(turned & (codes >= 0), 2 * bins - codes, codes)


def _order(rows: SheetRows, pair: Ints, came: Ints) -> Ints:
    """Read in which order the comparisons of a pair came; where a table does not say, as they stand."""
    if "order" in rows.cells:
        return np.array([int(number(rows, "order", k)) for k in came], np.int64)
    order, count = np.zeros(len(came), np.int64), np.zeros(int(pair.max(initial=0)) + 1, np.int64)
    for k, pair_index in enumerate(pair[came]):
        order[k] = count[pair_index]
        count[pair_index] += 1
    return order


def _refuse_more(
    rows: SheetRows, came: Ints, pair: Ints, item: Ints, order: Ints, info: CampaignInfo, config: Mapping[str, Any]
) -> None:
    """Raise InputError for comparisons that the plan does not have: further ones, or the same two outputs again."""
    n_items = len(info.frame.document)
    most = int(list_planned_looks(config, n_items)[-1])
    if len(came) > info.answers:
        raise InputError(
            f"{rows.where}: holds {pluralise(len(came), 'comparison')}, and its plan has {info.answers:,}; take out "
            "what does not belong to this study, or name its own plan"
        )
    outside = (order < 0) | (order >= most) | (item[came] >= n_items)
    for k in np.flatnonzero(outside)[:1]:
        raise InputError(
            f"{rows.name_line(came[k])}: the plan has no such comparison (order {order[k]}); mend the line"
        )
    for what, number_of, size in (("these outputs", item[came], n_items), ("this order", order, most)):
        key = pair[came] * max(size, 1) + number_of
        both, start = np.unique(key, return_index=True)
        if len(both) < len(came):
            k = int(np.setdiff1d(np.arange(len(came)), start)[0])
            before = rows.describe_difference(came[int(np.argmax(key == key[k]))], came[k])
            raise InputError(
                f"{rows.name_line(came[k])}: the pair has a comparison with {what} already, on {before}; keep one of "
                "the two"
            )


def _metric(rows: SheetRows, info: CampaignInfo, pair: Ints, item: Ints, codes: Ints) -> Array | None:
    """Lay out what the metric says; raise InputError where it lacks outputs, which the analysis counts on."""
    if info.metric is None:
        return None
    dtype, n_pairs, n_outputs = info.metric
    outcomes = np.full((n_pairs, n_outputs), -1, dtype)
    there = (codes >= 0) & (item < n_outputs)
    outcomes[pair[there], item[there]] = codes[there]
    if lacking := int((outcomes < 0).sum()):
        raise InputError(
            f"{rows.where}: lacks what the metric says of {lacking:,} of {outcomes.size:,} outputs; keep the rows "
            "without a winner, too"
        )
    return outcomes
