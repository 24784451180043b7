"""Read tables of outputs that humans and metrics scored, such as a judge's and humans' scores, or labels 0 and 1.

Call `name_columns`, then `read_table`, which returns `JudgedOutputs`, one entry per output.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from simlab.files import read_decimal
from simlab.messages import clip, pluralise
from simlab.tables.cells import (
    CellTable,
    check_systems,
    check_wanted,
    list_left_out,
    merge_names,
    number,
    read_name,
    rename,
)  # fmt: skip
from simlab.tables.columns import NAMES, NO_METRICS, LeftOutRatings, Where, aliases, fold_name
from simlab.tables.names import NO_NAMES, Numbers, doubtful_names, refuse_alike, refuse_lists
from simlab.tables.numbers import ANSWERS, FarScores, find_far_scores, is_missing, write_point
from simlab.tables.preferences import find_people
from simlab.tables.rating_table import NOTHING, ColumnOverrides
from simlab.tables.repeated_rows import RepeatedRows, copied_lines, drop_lines, group_rows, refuse_criteria
from simlab.tables.table_summary import describe_rows, record_where
from simlab.types import Array, Floats, InputError, Ints

FORM = "outputs (columns system, item, human and one or more metrics)"
USUAL = aliases("system", "item", "document", "rater")
_NOT_METRICS = frozenset(("", "seconds", *USUAL, *(name for known in USUAL.values() for name in known.usual)))

LEAST_VALUES, MOST_FAILED = 4, 0.2
"""Least number of different scores that show a scale, and largest share of scores that may be off it."""


@dataclass(frozen=True, slots=True)
class JudgedOutputs:
    """Outputs that humans scored: `system[output]`, `item[output]` (numbered in the order of the table).

    `human[output, repeat]` are ratings, NaN = a gap; `metrics[name][output]` are scores, NaN where there is none.
    `n_documents` is 0 where the table names none; `rater_names` are the people behind `logins`, both empty where it
    names no raters. `rows` were read, `gaps` of their cells of humans are empty. `notes` are sentences on what a reader
    may not expect, `scale` is that of human scores, by `--scale`. `document[output]` is the document's number in the
    order of the table (-1: the table does not say), `rater[output, repeat]` the place in `logins` of who gave the
    rating (-1: not said, or a gap). `where` are the values of columns by which rows were chosen, `left_out` counts what
    does not count, `unused` are the columns that are not read, `far` are scores far outside of the others, where no
    scale is given, and `how` says how the table was read, as a record.
    """

    system: Ints
    item: Ints
    system_names: tuple[str, ...]
    n_items: int
    human: Floats
    metrics: Mapping[str, Floats]
    n_documents: int = 0
    rater_names: tuple[str, ...] = ()
    rows: int = 0
    gaps: int = 0
    notes: tuple[str, ...] = ()
    scale: tuple[float, float] | None = None
    document: Ints | None = None
    rater: Ints | None = None
    logins: tuple[str, ...] = ()
    where: Where = ()
    left_out: tuple[LeftOutRatings, ...] = ()
    unused: tuple[str, ...] = ()
    far: FarScores | None = None
    how: Mapping[str, Any] = field(default_factory=dict)

    @property
    def unit(self) -> Ints:
        """Return the unit of sampling of each output: its document where the table has several, else its item."""
        if self.document is None or self.n_documents < 2 or (self.document < 0).any():
            return self.item
        return self.document


@dataclass(slots=True)
class _Gathered:
    """Gather ratings and scores of outputs, whose rows may be several.

    Rating k is `rating[k]`, of the output `output[k]`, by the rater `by[k]` (-1: not named), on line `at[k]`.
    `scores[metric]` has one score of each output, `lines` the line on which each stands first. `again` counts rows by a
    rater about an output that they had rated before, `unsigned` those of nobody about an output that was met before.
    """

    systems: Numbers = field(default_factory=Numbers)
    items: Numbers = field(default_factory=Numbers)
    documents: Numbers = field(default_factory=Numbers)
    raters: Numbers = field(default_factory=Numbers)
    outputs: Numbers = field(default_factory=Numbers)
    output: array[int] = field(default_factory=lambda: array("i"))
    rating: array[float] = field(default_factory=lambda: array("d"))
    by: array[int] = field(default_factory=lambda: array("i"))
    at: array[int] = field(default_factory=lambda: array("i"))
    lines: array[int] = field(default_factory=lambda: array("i"))
    scores: dict[str, array[float]] = field(default_factory=dict)
    rated_by: set[tuple[int, int]] = field(default_factory=set)
    rows: int = 0
    gaps: int = 0
    again: int = 0
    unsigned: int = 0
    notes: list[str] = field(default_factory=list)
    words: dict[str, tuple[str, str]] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    commas: bool | None = False
    unused: tuple[str, ...] = ()

    def read(self, text: str, where: str, column: str) -> float:
        """Read a score, or an answer of yes or no; raise InputError for what is none, or is written in two ways."""
        answer = ANSWERS.get(text.lower())
        value, words = (number(text, where, column, commas=self.commas), None) if answer is None else answer
        if math.isnan(value):
            return value
        before = self.words.get(column)
        if before != words and column in self.seen:
            raise InputError(
                f"{where}: {clip(column, 40)}={clip(ascii(text), 40)} is written in another way than scores "
                "before it; write all in one way"
            )
        self.seen.add(column)
        if words:
            self.words[column] = words
        return value

    def drop(self, lines: Sequence[int]) -> int:
        """Leave out the ratings on some lines, which are copies; return how many there were."""
        kept = ~np.isin(np.array(self.at), list(lines))
        for name in ("output", "rating", "by", "at"):
            values = getattr(self, name)
            setattr(self, name, array(values.typecode, np.array(values)[kept].tolist()))
        if self.raters:
            self.again -= len(lines)
        else:
            self.unsigned -= len(lines)
        return int((~kept).sum())


def holds(header: Sequence[str]) -> bool:
    """True if columns, by our names, are those of outputs that humans scored."""
    return {"system", "item"} <= set(header) and bool(human_columns(header))


def human_columns(header: Sequence[str]) -> list[int]:
    """Return the places of human scores: `human`, or several that begin with it."""
    return [k for k, name in enumerate(header) if name == "human" or name.startswith(("human_", "human "))]


def metric_columns(header: Sequence[str], wanted: Sequence[str], where: str) -> dict[str, int]:
    """Return the place of each metric of `wanted` (empty: of each column that has no other meaning).

    Raises InputError, naming the file `where`, for a metric that is missing.
    """
    human = human_columns(header)
    there = {name: k for k, name in enumerate(header) if k not in human and name not in _NOT_METRICS}
    check_wanted(wanted, there, where)
    if wanted:
        return {name: there[name] for name in dict.fromkeys(wanted)}
    return {name: k for name, k in there.items() if fold_name(name) not in NO_METRICS}


def name_columns(table: CellTable, overrides: Mapping[str, str]) -> CellTable:
    """Give columns our names; a `segment` named beside an item is a part of it, such as one of several runs.

    Raises InputError as `rename` does.
    """
    if "segment" not in overrides:
        return rename(table, USUAL, overrides)
    rest = {ours: theirs for ours, theirs in overrides.items() if ours != "segment"}
    whole = rename(table, USUAL, rest)
    if "item" not in whole.header or table.header[whole.column("item")] == overrides["segment"]:
        return rename(table, USUAL, {**rest, "item": overrides["segment"]})
    return rename(table, USUAL, {**rest, "document": table.header[whole.column("item")], "item": overrides["segment"]})


def read_table(table: CellTable, wanted: Sequence[str], overrides: ColumnOverrides = NOTHING) -> JudgedOutputs:
    """Read outputs; rows of the same system and item (of the same document), and several human columns, are repeats.

    `table` has our names of columns (`name_columns`), `wanted` are the metrics to be read (empty: all). Raises
    InputError for what is no number, for a human score off the `--scale`, for a metric with two scores of one output,
    and for answers to several questions, which a column tells apart.
    """
    table = merge_names(table)
    try:
        gathered = _gather(table, wanted, overrides)
    except InputError:
        # Where several questions are mixed, that is what is wrong with the table.
        _refuse_criteria(table, _find_repeats(table))
        raise
    copies = 0
    if gathered.again or gathered.unsigned:
        repeated = _find_repeats(table)
        copied = copied_lines(repeated, rater_known=bool(gathered.raters))
        _refuse_criteria(table, drop_lines(repeated, copied))
        copies = gathered.drop(copied)
    check_systems(len(gathered.systems), table)
    systems = [system for system, _ in gathered.outputs]
    refuse_lists(list(gathered.systems), lambda k: table.locate(gathered.lines[systems.index(k)]))
    refuse_alike(gathered.systems, "systems", table.where, table.path, overrides.alike)
    items = (f"{document}/{item}" if document else item for document, item in gathered.items)
    refuse_alike(items, "items", table.where, table.path, overrides.alike)
    refuse_alike(gathered.raters, "raters", table.where, table.path, overrides.alike)
    outputs = _outputs(gathered, overrides, table.chosen, list_left_out(table, copies))
    far = None if overrides.scale else find_far_scores(np.array(gathered.rating), np.array(gathered.at))
    merged = () if table.spellings is None else tuple(table.spellings.remarks())
    read = table.record((*USUAL, *(table.header[k] for k in human_columns(table.header)), *outputs.metrics))
    return replace(outputs, far=far, how=read, notes=(*outputs.notes, *merged))


def _find_repeats(table: CellTable) -> RepeatedRows:
    """Group the rows about one output by one rater."""
    key = [at for at, name in enumerate(table.header) if name in ("system", "document", "item", "rater")]
    used = {*key, *human_columns(table.header)}
    return group_rows(table.again, lambda row: tuple(row[at] for at in key), table.header, used)


def _refuse_criteria(table: CellTable, repeated: RepeatedRows) -> None:
    if repeated.groups:
        row = repeated.cells[min(map(min, repeated.groups))]
        system, item = (row[table.column(name)] for name in ("system", "item"))
        rater = row[table.column("rater")] if "rater" in table.header else ""
        what = f"{rater} rated {system} on item {item}" if rater else f"{system} on item {item} is rated"
        refuse_criteria(repeated, table.where, what, rater_known=bool(rater), surely=True)


def _gather(table: CellTable, wanted: Sequence[str], overrides: ColumnOverrides) -> _Gathered:
    low, high = overrides.scale or (-math.inf, math.inf)
    chosen = {name.casefold() for name, _ in table.chosen} | ({table.marks.name.casefold()} if table.marks else set())
    columns = metric_columns(table.header, wanted, table.where)
    columns = {name: k for name, k in columns.items() if name.casefold() not in chosen or name in wanted}
    texts = [] if wanted else list(_no_scores(table, columns))
    columns = {name: k for name, k in columns.items() if name not in dict(texts)}
    gathered = _Gathered(scores={name: array("d") for name in columns}, commas=table.commas)
    gathered.notes += [
        f"left out: the column {clip(name, 40)}, whose {clip(shown, 40)!r} is no score" for name, shown in texts
    ]
    human = human_columns(table.header)
    used = {*USUAL, *columns, *(table.header[k] for k in human)}
    gathered.unused = tuple(
        name for name in table.header if name and name not in used and name.casefold() not in chosen
    )
    runs = next((name for name in table.header if fold_name(name) in NAMES["run"].usual), "")
    for line, cells, output, rater in _rows(gathered, table):
        for k in human:
            value = gathered.read(cells[k], table.locate(line), table.header[k])
            if math.isnan(value):
                gathered.gaps += 1
            elif not low <= value <= high:
                off = f"{table.header[k]}={value:g} is off the scale"
                raise InputError(
                    f"{table.locate(line)}: {off} from {low:g} to {high:g}; mend it, or say another --scale"
                )
            else:
                gathered.output.append(output)
                gathered.rating.append(value)
                gathered.by.append(rater)
                gathered.at.append(line)
        for name, k in columns.items():
            _score(gathered, output, name, gathered.read(cells[k], table.locate(line), name), table.locate(line), runs)
    return gathered


def _no_scores(table: CellTable, columns: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Go through the columns whose first cells hold no score at all, each with such a cell."""
    rows = [cells for cells in table.first_rows() if len(cells) == len(table.header)]
    for name, k in columns.items():
        filled = [cells[k] for cells in rows if not is_missing(cells[k])]
        written = [write_point(cell, table.commas) for cell in filled]
        if filled and all(read_decimal(cell) is None and cell.lower() not in ANSWERS for cell in written):
            yield name, filled[0]


def _rows(gathered: _Gathered, table: CellTable) -> Iterator[tuple[int, list[str], int, int]]:
    """Number what rows name: yield the line, its cells, the output and the rater (-1: not named)."""
    places = {name: table.column(name) for name in ("document", "rater") if name in table.header}
    for line, cells in table.rows:
        gathered.rows += 1
        system, item = (read_name(table, cells, line, column) for column in ("system", "item"))
        document = cells[places["document"]] if "document" in places else ""
        if "document" in places:
            gathered.documents[document]
        output = gathered.outputs[gathered.systems[system], gathered.items[document, item]]
        who = cells[places["rater"]] if "rater" in places else ""
        who = "" if who in NO_NAMES else who
        if output < len(gathered.lines):
            gathered.unsigned += not who
        else:
            gathered.lines.append(line)
            for column in gathered.scores.values():
                column.append(math.nan)
        if who:
            signed = gathered.raters[who], output
            gathered.again += signed in gathered.rated_by
            gathered.rated_by.add(signed)
        yield line, cells, output, gathered.raters[who] if who else -1


def _score(gathered: _Gathered, output: int, name: str, value: float, where: str, runs: str) -> None:
    """Keep the score of an output; raise InputError where it had another. `runs` is the column of several runs."""
    known = gathered.scores[name][output]
    if not (math.isnan(value) or math.isnan(known) or value == known):
        shown = clip(runs, 40)
        advice = f"; if each {shown} is an output of its own, --columns segment={shown}" if runs else ""
        raise InputError(
            f"{where}: {name}={value:g}, and {known:g} in line {gathered.lines[output]} for the same output; repeats "
            f"are humans', a metric has one score of it{advice}"
        )
    gathered.scores[name][output] = known if math.isnan(value) else value


def _outputs(
    gathered: _Gathered, overrides: ColumnOverrides, chosen: Where, left_out: tuple[LeftOutRatings, ...]
) -> JudgedOutputs:
    at = np.array(list(gathered.outputs), np.int64)
    of = np.array(gathered.output, np.int64)
    human = pad_ratings(of, np.array(gathered.rating), len(at))
    scores, failed = {}, list[LeftOutRatings]()
    for name, column in gathered.scores.items():
        scores[name], outside = _drop_failures(np.array(column), name, gathered.lines)
        failed += [outside] if outside else []
    return JudgedOutputs(
        at[:, 0],
        at[:, 1],
        tuple(gathered.systems),
        len(gathered.items),
        human,
        scores,
        len(gathered.documents),
        find_people(tuple(gathered.raters), overrides)[0],
        gathered.rows,
        gathered.gaps,
        tuple(_notes(gathered)),
        overrides.scale,
        _documents(gathered)[at[:, 1]],
        padded_places(of, np.array(gathered.by, np.int64), len(at)),
        tuple(gathered.raters),
        chosen,
        (*left_out, *failed),
        gathered.unused,
    )


def _drop_failures(score: Floats, name: str, lines: Sequence[int]) -> tuple[Floats, LeftOutRatings | None]:
    """Leave out what stands for an answer that could not be read: a rare negative number below a scale from 0 or 1.

    Judges that give whole or half points say -1 where their answer could not be parsed; real-valued metrics, and
    scales with more than one negative value, are left as they are.
    """
    value, count = np.unique(score[np.isfinite(score)], return_counts=True)
    # Twice a whole or half point is whole; metrics with other values may go below 0 by themselves.
    if len(value) < LEAST_VALUES or not (value * 2 == np.round(value * 2)).all():
        return score, None
    if not (value[0] <= -1 and value[1] >= 0 and count[0] <= MOST_FAILED * count.sum()):
        return score, None
    failed = score == value[0]
    reason = f"{'score' if count[0] == 1 else 'scores'} {value[0]:g} of {clip(name, 40)}, outside its scale of "
    further = ", ..." if count[0] > 1 else ""
    reason += f"{value[1]:g} to {value[-1]:g} (line {lines[int(np.flatnonzero(failed)[0])]}{further})"
    return np.where(failed, np.nan, score), LeftOutRatings(int(count[0]), reason)


def _documents(gathered: _Gathered) -> Ints:
    """Return the document of each item, by its number; -1 where the table does not say."""
    return np.array([gathered.documents[document] if document else -1 for document, _ in gathered.items], np.int64)


def pad_ratings(output: Ints, rating: Floats, n: int) -> Floats:
    """Lay ratings out as `[output, repeat]`, in the order of the table, NaN behind the last; `n` counts outputs."""
    order = np.argsort(output, kind="stable")
    counts = np.bincount(output, minlength=n)
    # Sorted by output, the place of a rating among its own is its place less that of the first of these.
    place = np.arange(len(output)) - np.repeat(np.cumsum(counts) - counts, counts)
    padded = np.full((n, max(1, int(counts.max(initial=0)))), np.nan)
    padded[output[order], place] = rating[order]
    return padded


def padded_places(output: Ints, place: Ints, n: int) -> Ints:
    """Lay indices, such as those of raters, out as `pad_ratings` does; -1 is a gap."""
    laid = pad_ratings(output, place.astype(float), n)
    return np.where(np.isfinite(laid), laid, -1).astype(np.int64)


def _notes(gathered: _Gathered) -> Iterator[str]:
    yield from gathered.notes
    for what, names in (("system", gathered.systems), ("rater", gathered.raters)):
        yield from doubtful_names(names, what)
    for name, (no, yes) in gathered.words.items():
        yield f"{clip(name, 40)}: {yes} is 1, {no} is 0"
    if gathered.again:
        yield f"kept as repeats: {pluralise(gathered.again, 'rating')} of an output that the same rater had rated"
    if gathered.unsigned:
        yield (
            f"kept as repeats: {pluralise(gathered.unsigned, 'row')} of an output that was there before; no rater is "
            "named"
        )


def describe(outputs: JudgedOutputs, *, lower_is_better: bool | None) -> str:
    """Return a line on the table: whose outputs, how many ratings on which scale, which metrics.

    `lower_is_better` as the user says of human scores; None: nobody says, and higher is taken for better.
    """
    rated = outputs.human[np.isfinite(outputs.human)]
    words = f"{pluralise(len(outputs.system), 'output')} of {pluralise(len(outputs.system_names), 'system')}"
    words += f", {pluralise(outputs.n_items, 'item')}"
    words += f", {pluralise(outputs.n_documents, 'document')}" if outputs.n_documents else ""
    words += f"; {pluralise(len(rated), 'human rating')}"
    words += f" by {pluralise(len(outputs.rater_names), 'rater')}" if outputs.rater_names else ""
    words += f", {pluralise(outputs.gaps, 'gap')}" if outputs.gaps else ""
    words += f"; {_scale(rated, outputs.scale)}, {_state_better(lower_is_better)}" if len(rated) else ""
    return f"{words}; metrics {', '.join(outputs.metrics) or 'none'}{describe_rows(outputs.where, outputs.left_out)}"


def record(outputs: JudgedOutputs, *, lower_is_better: bool) -> dict[str, Any]:
    """Return the JSON record of the table; `lower_is_better` is the user's word on human scores."""
    rated = outputs.human[np.isfinite(outputs.human)]
    return {
        "rows": outputs.rows,
        "used": len(rated),
        "gaps": outputs.gaps,
        "systems": len(outputs.system_names),
        "documents": outputs.n_documents or None,
        "items": outputs.n_items,
        "raters": len(outputs.rater_names) or None,
        "better": "lower" if lower_is_better else "higher",
        "scale": list(outputs.scale) if outputs.scale else [0, 1] if len(rated) and labels(rated) else None,
        "range": [float(rated.min()), float(rated.max())] if len(rated) else None,
        "metrics": list(outputs.metrics),
        "unused": list(outputs.unused),
        "how": dict(outputs.how),
        **record_where(outputs.where, outputs.left_out),
        **({} if outputs.far is None else outputs.far.record()),
    }


def labels(rated: Array) -> bool:
    """True if ratings are labels, 0 or 1."""
    return bool(np.isin(rated, (0.0, 1.0)).all())


def _scale(rated: Array, scale: tuple[float, float] | None) -> str:
    if labels(rated):
        return f"0 or 1 ({_share(float(rated.mean()))} are 1)"
    if scale is not None:
        return f"{scale[0]:g} to {scale[1]:g}"
    return f"scores from {rated.min():g} to {rated.max():g}"


def _state_better(lower_is_better: bool | None) -> str:
    if lower_is_better is None:
        return "higher is better (--better lower turns it)"
    return "lower is better" if lower_is_better else "higher is better"


def _share(value: float) -> str:
    return "none" if value == 0 else "all" if value == 1 else f"{value:.2f}".removeprefix("0")
