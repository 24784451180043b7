"""Write the ratings of a campaign as a table, read it back, and compare any table of ratings with its plan.

`sheet` returns the rows of a campaign, `match_campaign` reads them back, `match_plan` reads a table that was collected
by a plan (both return a `Read`), and `conclude_by_plan` returns the conclusion from such ratings.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from simlab.answers.conclude import Conclusion
from simlab.concluding.campaigns import CampaignInfo, cast_column, fill_unknown
from simlab.concluding.goals import Expected, describe_other_systems, read_expected
from simlab.concluding.options import ConcludeOptions
from simlab.concluding.ratings.collecting import collect as collect
from simlab.concluding.ratings.collecting import sort_ratings
from simlab.concluding.ratings.findings import TableReading
from simlab.concluding.ratings.findings import conclude_ratings as of_ratings
from simlab.concluding.ratings.repetitions import add_repetition
from simlab.concluding.ratings.table_world import fit_world
from simlab.concluding.sheets import Read, Sheet, SheetRows, column, number, number_by_plan
from simlab.concluding.simulations import NOT_ASKED, note_unrepeated
from simlab.formulas import normalized_entropy
from simlab.messages import clip, pluralise
from simlab.studies.money import read_prices, reduce_payment
from simlab.tables.numbers import is_missing
from simlab.tables.rating_table import Ratings
from simlab.tables.reading import read
from simlab.tables.times import CUT
from simlab.types import RATE, Collected, Frame, InputError, Ints, Seen, SlotAssignment

USUAL: Mapping[str, Sequence[str]] = {}
FORM = "ratings (system, document, segment, rater, score)"
CLOCK = ("order", "at")
"""Columns of ratings that came on a clock: their order, and the hour from the start."""

EVEN = 0.8
"""Normalised entropy of raters' loads from which these count as equal."""


def sheet(collected: Collected, config: Mapping[str, Any]) -> Sheet:
    """Lay ratings out: system, document, segment (numbered in its document), rater, score, and errors where marked.

    Of a campaign on a clock `order` counts the ratings of a system as they came, `at` is the hour from the start.
    """
    frame, seen = collected.frame, collected.seen
    documents, segments = names_of_items(frame)
    marked = bool((seen.errors >= 0).any())
    clock = [(name, times.tolist()) for name in CLOCK if (times := getattr(seen, name)) is not None]
    columns = ("system", "document", "segment", "rater", "score", *(("errors",) * marked), *(name for name, _ in clock))
    flat: list[Sequence[Any]] = [
        [frame.system_names[k] for k in seen.unit],
        [documents[k] for k in seen.item],
        [segments[k] for k in seen.item],
        [frame.rater_names[k] for k in seen.rater],
        seen.value.tolist(),
    ]
    flat += [seen.errors.tolist()] if marked else []
    flat += [values for _, values in clock]
    return Sheet("rating", columns, list(zip(*flat, strict=True)), len(seen.value))


def names_of_items(frame: Frame) -> tuple[list[str], list[int]]:
    """Return the document's name of each item, and the item's number in its document, from 1."""
    names = frame.document_names or tuple(f"document{k + 1}" for k in range(frame.n_documents))
    before: Counter[int] = Counter()
    segments = []
    for document in frame.document.tolist():
        before[document] += 1
        segments.append(before[document])
    return [names[k] for k in frame.document], segments


def metric(collected: Collected) -> Any:
    """Return a metric's scores of all segments, for which a table of ratings has no room."""
    return collected.metric


def match_campaign(info: CampaignInfo, rows: SheetRows, config: Mapping[str, Any]) -> Read:
    """Read rows of an exported table, or of filled sheets, as the ratings of their campaign; list missing ones.

    Raises InputError for other systems or outputs than were asked about, and for more ratings than the plan has.
    """
    if info.assignment is None or info.documents is None:
        raise InputError(f"{rows.where}: its plan does not say whom it asked, as one of ratings does")
    frame, came = _add_raters(info.frame, rows), _find_rated_rows(rows)
    seen = _read_ratings(frame, info, rows, came)
    position, n_asked = _positions(frame, info.assignment, seen)
    timed, n = "at" in info.types, len(came)
    _refuse_unasked(rows, came, seen, n_asked + _count_further_ratings(config, timed=timed), frame)
    # On a clock others may rate what was dealt to one, and more may be asked: rows stand as the ratings were dealt.
    at = np.arange(n) if timed else np.lexsort((position, seen.item, seen.unit))
    ordered = replace(seen, **{name: getattr(seen, name)[at] for name in info.types})
    paid = reduce_payment(info.paid, info.answers - n, read_prices(config["budget"], RATE))
    collected = Collected(frame, info.documents, info.assignment, ordered, info.metric, info.known, paid, info.streams)
    return Read(collected, info.answers, _deviations(info, frame, position, n))


def _count_further_ratings(config: Mapping[str, Any], *, timed: bool) -> int:
    """Count the ratings of an output that a platform may ask for once the others came."""
    return int(timed and config["design"].get("boost_margin") is not None)


def _find_rated_rows(rows: SheetRows) -> Ints:
    return np.array([k for k, text in enumerate(column(rows, "score")) if not is_missing(text)], np.int64)


def _add_raters(frame: Frame, rows: SheetRows) -> Frame:
    """Name the raters of a table behind those that were asked, where it has others."""
    others = tuple(dict.fromkeys(name for name in column(rows, "rater") if name not in frame.rater_names))
    return replace(frame, rater_names=frame.rater_names + others)


def _read_ratings(frame: Frame, info: CampaignInfo, rows: SheetRows, came: Ints) -> Seen:
    items = {
        (document, str(segment)): k for k, (document, segment) in enumerate(zip(*names_of_items(frame), strict=True))
    }
    pairs = list(zip(column(rows, "document"), column(rows, "segment"), strict=True))
    values = [number(rows, "score", k) for k in came]
    marked = "errors" in rows.cells
    errors = [int(number(rows, "errors", k)) for k in came] if marked else fill_unknown(len(came), info, "errors")
    return Seen(
        cast_column(number_by_plan(rows, "system", frame.system_names, came), info, "unit"),
        cast_column(_items(rows, items, pairs, came), info, "item"),
        cast_column(number_by_plan(rows, "rater", frame.rater_names, came), info, "rater"),
        cast_column(values, info, "value"),
        cast_column(errors, info, "errors"),
        **{
            name: cast_column([number(rows, name, k) for k in came], info, name) for name in CLOCK if name in info.types
        },
    )


def _items(
    rows: SheetRows, items: Mapping[tuple[str, str], int], pairs: Sequence[tuple[str, str]], came: Ints
) -> list[int]:
    for k in came:
        if pairs[k] not in items:
            document, segment = (clip(name, 40) for name in pairs[k])
            raise InputError(
                f"{rows.name_line(k)}: segment {segment} of {document} is nothing that the plan asked about; take the "
                "row out, or name the plan of this study"
            )
    return [items[pairs[k]] for k in came]


def _positions(frame: Frame, assignment: SlotAssignment, seen: Seen) -> tuple[Ints, Ints]:
    """Return as which of those asked each rater rates an output (the number asked: as none), and how many were."""
    slot = assignment.slot[seen.unit, frame.document[seen.item]]
    # -1, nobody, would pick the last seat; what it picks here is masked in the next line.
    rater = np.take_along_axis(frame.rater[seen.unit, seen.item], np.maximum(slot, 0), 1)
    is_own = (slot >= 0) & (rater == seen.rater[:, None])
    # A rater who was not asked comes last, in the place of a slot that there is not.
    own = np.where(is_own.any(1), is_own.argmax(1), slot.shape[1])
    return own, (slot >= 0).sum(1)


def _refuse_unasked(rows: SheetRows, came: Ints, seen: Seen, n_asked: Ints, frame: Frame) -> None:
    """Raise InputError for an output with more ratings than were asked for, and for a rater who rates one twice."""
    output = seen.unit * len(frame.document) + seen.item
    counts = np.bincount(output, minlength=1)
    for k in np.flatnonzero(counts[output] > n_asked)[:1]:
        raise InputError(
            f"{rows.name_line(came[k])}: an output has {pluralise(int(counts[output[k]]), 'rating')} and its plan "
            f"asked for {n_asked[k]}; take out what does not belong to this study, or name its own plan"
        )
    key = output * (frame.n_raters + 1) + seen.rater
    both, first = np.unique(key, return_index=True)
    if len(both) < len(output):
        k = int(np.setdiff1d(np.arange(len(output)), first)[0])
        before = rows.describe_difference(int(came[int(np.argmax(key == key[k]))]), int(came[k]))
        raise InputError(
            f"{rows.name_line(came[k])}: the rater rates this output a second time, before on {before}; keep one of "
            "the two"
        )


def _deviations(info: CampaignInfo, frame: Frame, position: Ints, n: int) -> list[str]:
    deviations = []
    if n < info.answers:
        deviations.append(f"{info.answers - n:,} of {info.answers:,} planned ratings are missing")
    new = frame.n_raters - info.frame.n_raters
    # On a clock others of the pool take over what somebody leaves.
    dealt = "at" not in info.types or new
    if info.assignment is not None and dealt and (others := int((position == info.assignment.slot.shape[2]).sum())):
        who = f", of which {pluralise(new, 'rater')} that the plan does not have" if new else ""
        deviations.append(f"{pluralise(others, 'rating')} by other raters than planned{who}")
    return deviations


def conclude_by_plan(
    config: Mapping[str, Any], collected: Collected, wanted: ConcludeOptions, say: Callable[[str], None]
) -> Conclusion:
    """Conclude from ratings that were collected by the plan `config`, and simulate the study again.

    The simulation is of a world fitted to these ratings.
    """
    frame, seen = collected.frame, collected.seen
    documents = frame.n_documents if collected.documents is None else int(collected.documents.sum())
    raters = len(np.unique(seen.rater))
    n, systems = len(seen.value), frame.n_systems
    line = f"{pluralise(n, 'rating')} of {pluralise(systems, 'system')}, {pluralise(documents, 'document')}, "
    read: dict[str, Any] = {
        "rows": n,
        "used": n,
        "gaps": 0,
        "systems": systems,
        "documents": documents,
        "raters": raters,
    }
    read |= {"better": "lower" if frame.lower_is_better else "higher", "scale": None}
    better = f"; {read['better']} is better"
    wanted = replace(wanted, as_planned=True)
    world = fit_world(convert_to_ratings(collected)) if wanted.gate else None
    conclusion = of_ratings(
        config, collected, wanted, TableReading(read, f"{line}{pluralise(raters, 'rater')}{better}")
    )
    if world is None:
        return note_unrepeated(conclusion, NOT_ASKED)
    say("carrying the study out again, in a world fitted to it")
    return add_repetition(conclusion, convert_to_ratings(collected), config, collected, wanted, world)


def convert_to_ratings(collected: Collected) -> Ratings:
    """Return the ratings of a campaign as a table; documents and segments that nobody rated are not in it."""
    frame, seen = collected.frame, collected.seen
    items, item = np.unique(seen.item, return_inverse=True)
    documents, document = np.unique(frame.document[items], return_inverse=True)
    names, segments = names_of_items(frame)
    named = frame.document_names or tuple(dict.fromkeys(names))
    return Ratings(
        system=seen.unit,
        item=item,
        rater=seen.rater,
        score=np.asarray(seen.value, float),
        errors=seen.errors,
        seconds=np.full(len(item), np.nan),
        document=document,
        system_names=frame.system_names,
        document_names=tuple(named[k] for k in documents),
        item_names=tuple(f"{names[k]} {segments[k]}" for k in items),
        rater_names=frame.rater_names,
        lower_is_better=frame.lower_is_better,
        scale=None,
        layout="ratings",
    )


def match_plan(table: Path, wanted: ConcludeOptions, config: Mapping[str, Any]) -> Read:
    """Read a table of ratings that was collected by the plan `config`, and list where it leaves the plan.

    Raises InputError for a table of one system, for the plan of other systems, and for more ratings than were planned.
    """
    ratings = sort_ratings(read(table, wanted.column_overrides))
    where, per_output = clip(table), int(config["design"]["ratings_per_item"])
    if ratings.n_systems < 2:
        raise InputError(f"{where}: holds ratings of one system; conclusions compare at least two")
    if config.get("metric", {}).get("_target_"):
        raise InputError(
            f"{where}: the plan corrects ratings by a metric, whose scores of all segments only an exported campaign "
            "tells; plan with metric=none"
        )
    plan = read_expected(config)
    deviations = describe_other_systems(ratings.system_names, plan, where)
    counts = _counts(ratings)
    if (most := int(counts.max())) > per_output:
        raise InputError(
            f"{where}: an output has {most} ratings and the plan asks for {per_output} (design.ratings_per_item); take "
            "out what does not belong to this study, or name its own plan"
        )
    planned = _count_planned(ratings, plan, config, per_output)
    missing = counts.size * per_output - len(ratings.score)
    if missing:
        deviations.append(f"{missing:,} of {counts.size * per_output:,} ratings of these documents are missing")
    if ratings.far is not None:
        raise ratings.far.refusal(where)
    deviations += _compare_documents(ratings, int(config["design"]["documents"]))
    deviations += _compare_raters(ratings, plan, config)
    hours = math.nan if ratings.times is None else ratings.times.hours(CUT)
    return Read(collect(ratings, config["seed"]), planned, deviations, hours=hours)


def _counts(ratings: Ratings) -> Ints:
    """Count the ratings of each output, `[item and system]`."""
    output = ratings.item * ratings.n_systems + ratings.system
    return np.bincount(output, minlength=len(ratings.document) * ratings.n_systems)


def _count_planned(ratings: Ratings, plan: Expected, config: Mapping[str, Any], per_output: int) -> int:
    """Count the ratings that were planned; documents that never came have as many segments as those that did."""
    segments = len(ratings.document) / ratings.n_documents * int(config["design"]["documents"])
    return round(segments * per_output * (plan.n_systems or ratings.n_systems))


def _compare_documents(ratings: Ratings, planned: int) -> Iterator[str]:
    if ratings.n_documents != planned:
        yield f"{pluralise(ratings.n_documents, 'document')}, planned are {planned}"


def _compare_raters(ratings: Ratings, plan: Expected, config: Mapping[str, Any]) -> Iterator[str]:
    if not ratings.rater_known:
        yield "raters are not named, so that nobody can tell who rated"
        return
    others = [name for name in ratings.rater_names if plan.rater_names and name not in plan.rater_names]
    if others:
        yield f"other raters than planned: {clip(', '.join(others), 80)}"
    elif plan.n_raters and ratings.n_raters > plan.n_raters:
        yield f"{pluralise(ratings.n_raters, 'rater')}, planned are at most {plan.n_raters}"
    yield from _compare_loads(ratings, config["design"])


def _compare_loads(ratings: Ratings, design: Mapping[str, Any]) -> Iterator[str]:
    reached, wanted = normalized_entropy(np.bincount(ratings.rater, minlength=ratings.n_raters)), design["load_entropy"]
    if wanted is None and reached < EVEN:
        yield f"loads are uneven (normalised entropy {reached:.2f}), planned are equal ones"
    if wanted is not None and abs(reached - wanted) > design["load_tolerance"]:
        yield f"loads have a normalised entropy of {reached:.2f}, planned is {wanted:g}"
