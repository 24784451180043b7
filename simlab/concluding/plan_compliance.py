"""Conclude from a table by its plan, list where the table leaves the plan, and size a second batch.

`conclude` reads the table, refuses an unfinished one, and records the look. `second_batch` takes the conclusion and
returns the documents, ratings and raters that would settle its open pairs.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil, inf, isfinite
from pathlib import Path
from typing import NamedTuple

from simlab.analysis.needed_units import ObservedEstimate, count_units_of_new_study
from simlab.answers.conclude import Conclusion, Promise
from simlab.answers.standings import Pair, Rank, rank_limits
from simlab.concluding import campaigns
from simlab.concluding.assigning import unblinding
from simlab.concluding.assigning.unblinding import SheetKey
from simlab.concluding.goals import figures
from simlab.concluding.looks import Looked, look
from simlab.concluding.options import ConcludeOptions
from simlab.concluding.plans import LoadedPlan, describe_compliance
from simlab.concluding.sheets import Read, refuse_events
from simlab.messages import clip, pluralise, suggest
from simlab.tables.rating_table import NOTHING
from simlab.types import COMPARE, JUDGE, RATE, Collected, InputError

LOST = 0.05
"""Share of planned answers that may be lost; a table that lacks more counts as an early look."""

Say = Callable[[str], None]

LIMIT = 100_000.0
FEWEST = 6
"""Least number of documents in a study of ratings, where the plan gives none."""

AT_ONCE = ("max_t", "holm", "bh")
"""Multiplicity rules that judge all pairs at once; their bar is bounded by Bonferroni's."""


def conclude(table: Path, wanted: ConcludeOptions, plan: LoadedPlan, say: Say) -> Conclusion:
    """Conclude from a table by its plan; record the look.

    Raises InputError for a table that contradicts its plan, or is short of its end without `wanted.look`.
    """
    if plan.question not in (RATE, COMPARE, JUDGE):
        raise InputError(f"{clip(table)}: nothing is concluded from studies that ask to {plan.question}")
    if wanted.second is not None:
        raise InputError(f"{clip(wanted.second)}: a plan is that of one table; leave the second out, or --plan")
    _refuse_ignored(wanted, plan)
    read = reading(table, wanted, plan)
    if not wanted.look and is_unfinished(read, plan):
        n, planned = len(read.collected.seen.value), read.planned
        listed = "" if plan.sheets is None or read.unlisted else f" ({unblinding.NAME} beside the key lists the rest)"
        raise InputError(
            f"{clip(table)}: holds {n:,} of {planned:,} planned answers{listed}, and the plan promises something of "
            "one look at its end; wait for the rest, see with --check what is there, or look now, which withdraws the "
            "promise: --look"
        )
    # Whether the plan's end is reached is judged with all raters: who is left out cannot make it an early look.
    conclusion = conclude_collected(exclude_raters(read.collected, wanted, table), wanted, plan, say)
    # A conclusion that is refused shows nothing, and is no look.
    looked = look(plan.file, plan.digest, read.collected)
    if plan.sheets is not None and not wanted.exclude:
        conclusion = conclusion.replace_fields(line=_line(conclusion.line, read, plan.sheets))
    return judge_promise(conclusion, read, plan, looked)


def _line(line: str, read: Read, sheets: SheetKey) -> str:
    """Format the part of a line that counts planned ratings, as "of 1,040"."""
    n, file = len(read.collected.seen.value), sheets.key.with_name(unblinding.NAME)
    planned_part = f"{n:,} of {read.planned:,} planned ratings: {line.partition(' of ')[2]}"
    listed = f" ({unblinding.NAME})" if unblinding.is_own(file) else ""
    return planned_part if n == read.planned else f"{planned_part}; {read.planned - n:,} missing{listed}"


def _refuse_ignored(wanted: ConcludeOptions, plan: LoadedPlan) -> None:
    """Raise InputError for options that a plan of this kind leaves without meaning."""
    overrides, exported_one = wanted.column_overrides, plan.campaign is not None
    ignored = [
        ("--metric", bool(wanted.metrics) and (exported_one or plan.question == RATE)),
        ("--threshold", wanted.threshold is not None),
        ("--adequate-from", wanted.adequate_from is not None and (exported_one or plan.question != JUDGE)),
        ("--margin", wanted.margin is not None and plan.question == JUDGE),
        (
            "--better, --scale, --people, --where, --alike, --wide and --decimal",
            exported_one and replace(overrides, columns={}) != NOTHING,
        ),
    ]
    for option, given in ignored:
        if given:
            raise InputError(f"{option}: means nothing beside the plan {clip(plan.path)}; leave it out")


def reading(table: Path, wanted: ConcludeOptions, plan: LoadedPlan) -> Read:
    """Read a table as the campaign of its plan: a filled sheet, an exported campaign, or any table of answers.

    Raises InputError where it contradicts the plan.
    """
    if plan.campaign is not None and plan.sheets is not None:
        return unblinding.read(table, plan.sheets, plan.config, plan.campaign, wanted.column_overrides.columns)
    if plan.campaign is not None:
        return campaigns.read(table, plan.config, plan.campaign, wanted.column_overrides.columns)
    refuse_events(table)
    if plan.question == RATE:
        from simlab.concluding.ratings.campaign_sheets import match_plan
    elif plan.question == COMPARE:
        from simlab.concluding.preferences.plan_rule import match_plan
    else:
        from simlab.concluding.judgements.campaign_sheets import match_plan
    return match_plan(table, wanted, plan.config)


def conclude_collected(collected: Collected, wanted: ConcludeOptions, plan: LoadedPlan, say: Say) -> Conclusion:
    """Conclude from a campaign, read from a table or simulated, by the analysis of its plan."""
    if plan.question == RATE:
        from simlab.concluding.ratings.campaign_sheets import conclude_by_plan

        wanted = wanted if plan.goals is None else replace(wanted, unit=plan.goals.choose_unit(collected.seen.value))
    elif plan.question == COMPARE:
        from simlab.concluding.preferences.plan_rule import conclude_by_plan
    else:
        from simlab.concluding.judgements.estimates import conclude_by_plan
    return conclude_by_plan(plan.config, collected, wanted, say)


def exclude_raters(collected: Collected, wanted: ConcludeOptions, table: Path) -> Collected:
    """Return the campaign without the answers of `wanted.exclude`; raise InputError for a rater who is not in it."""
    if not wanted.exclude:
        return collected
    names, seen = collected.frame.rater_names, collected.seen
    for name in wanted.exclude:
        if name not in names:
            hint = suggest(name, names, "it has", 300) if names else "raters are not named there"
            raise InputError(f"--exclude {clip(name, 60)}: {clip(table)} has no such rater; {hint}")
    out = [names.index(name) for name in wanted.exclude]
    keep = [k for k, rater in enumerate(seen.rater.tolist()) if rater not in out]
    if not keep:
        raise InputError(f"--exclude {', '.join(wanted.exclude)}: nobody else rated; leave somebody in")
    fields = ("unit", "item", "rater", "value", "errors", "order", "at")
    kept = {name: getattr(seen, name)[keep] for name in fields if getattr(seen, name) is not None}
    return replace(collected, seen=replace(seen, **kept))


def judge_promise(conclusion: Conclusion, read: Read, plan: LoadedPlan, looked: Looked) -> Conclusion:
    """Return the conclusion with the plan's promise, withdrawn at an early or second look, and with its compliance."""
    unkept = [line for line in (looked.warning, read.unlisted) if line]
    warnings = (*conclusion.warnings, *rank_limits(Rank.PROMISE, unkept))
    broken = _explain_broken(conclusion.promise, read, looked, plan)
    promise = conclusion.promise.replace_fields(holds=False, broken=broken) if broken else conclusion.promise
    # A table without sheets does not say what was paid.
    paid = math.nan if plan.campaign is None else float(read.collected.paid["cost"])
    # A campaign on a clock knows what was worked; a table says it where it has times.
    hours = read.hours if plan.campaign is None else float(read.collected.paid.get("hours", math.nan))
    targets = () if plan.goals is None else figures(plan.goals, conclusion, paid, hours)
    compliance = describe_compliance(plan, read.planned, read.deviations, looked, targets)
    return conclusion.replace_fields(promise=promise, plan=compliance, warnings=warnings)


def _explain_broken(promise: Promise, read: Read, looked: Looked, plan: LoadedPlan) -> str:
    """State why a promise that was made of the plan's end does not hold ("": it does)."""
    if promise.broken or promise.name == "anytime":
        return promise.broken
    if looked.earlier:
        return (
            "the plan promises something of one look, at its end, and this table was looked at before: "
            f"{pluralise(len(looked.earlier), 'earlier look')}"
        )
    if is_unfinished(read, plan):
        n, planned = len(read.collected.seen.value), read.planned
        return f"this is an interim look, at {n:,} of {planned:,} planned answers"
    return ""


def is_unfinished(read: Read, plan: LoadedPlan) -> bool:
    """True if a table lacks too many planned answers for its plan's promise (one at any time needs none)."""
    n, planned = len(read.collected.seen.value), read.planned
    if plan.question == COMPARE:
        from simlab.concluding.preferences.plan_rule import state_promise

        anytime = state_promise(plan.config["decision"], read.collected.frame.n_systems).name == "anytime"
        return n < planned and not anytime
    # Some ratings are always lost; without this slack no study would ever come to its end.
    return n < (1 - LOST) * planned


class Room(NamedTuple):
    """Resources for a second batch: documents without ratings so far, and ratings to spend (None: not given).

    Without a number of documents a batch is no larger than the study was. `came[first, second]` counts the comparisons
    that a pair of systems has already.
    """

    documents: int | None = None
    ratings: int | None = None
    came: Mapping[tuple[str, str], int] = {}


NO_LIMIT = Room()


class BatchPair(NamedTuple):
    """Two systems in a batch, and the number of documents or comparisons by which half of such pairs are settled."""

    first: str
    second: str
    number: int


class SecondBatch(NamedTuple):
    """A second batch: its documents, ratings, raters and promise.

    `documents` are rated for all `systems`, or compared for pairs as in `pairs`; these cost `ratings`. `raters` is how
    many raters share them, where more raters settle pairs (None: the same as before). `promise` is that of the
    conclusion to come; `alone`: it is about the batch by itself; `why` is the reason in words.

    All documents are new ones. With `new_raters` so are the raters: where these stand for others like them, the tastes
    that made pairs look nearly settled must not be asked again.
    """

    systems: tuple[str, ...]
    documents: int
    ratings: int
    raters: int | None
    pairs: tuple[BatchPair, ...]
    promise: Promise
    alone: bool
    new_raters: bool
    why: str


class _Open(NamedTuple):
    """An open pair and the `number` of units (documents, comparisons or raters) that settle it.

    `documents` (or comparisons) are what a batch then asks about; `raters` is None where the units are no raters.
    """

    pair: Pair
    number: float
    documents: float
    raters: float | None


def second_batch(
    plan: LoadedPlan, conclusion: Conclusion, room: Room = NO_LIMIT, *, alone: bool = False
) -> SecondBatch:
    """Return the batch that would settle open pairs, after a conclusion by the plan.

    `room` limits it; `alone`: it is concluded from as a new study. It asks about as many open pairs as there is room
    for, those first that need least. Raises InputError where the promise would be broken, where no pair is open, and
    where there is room for none.
    """
    _check(plan, conclusion, alone=alone)
    there = [pair for pair in conclusion.pairs if not pair.verdict and isfinite(pair.difference)]
    if not there:
        raise InputError(f"{_name_plan(plan)}: no pair is open that was asked about; there is nothing left to settle")
    order = sorted(there, key=lambda one: _rank_need(one, conclusion))

    def make_batch(n: int) -> SecondBatch | None:
        return _batch(plan, conclusion, order[:n], alone=alone)

    # More pairs have more systems, a higher bar and more documents: what fits is a beginning of the order.
    most = bisect_left(range(1, len(order) + 1), True, key=lambda n: not _fits(make_batch(n), plan, conclusion, room))
    batch = make_batch(most) if most else None
    if batch is None:
        raise InputError(f"{_name_plan(plan)}: {_explain_too_dear(make_batch(1), order[0], plan, conclusion, room)}")
    return batch


def _name_plan(plan: LoadedPlan) -> str:
    return f"--after: plan {clip(plan.path)}"


def _check(plan: LoadedPlan, conclusion: Conclusion, *, alone: bool) -> None:
    """Raise InputError where a second batch would break what was promised."""
    if plan.question == JUDGE:
        raise InputError(
            f"{_name_plan(plan)}: a metric is corrected by one set of labels; plan a new study of more labels"
        )
    if alone or (conclusion.promise.name == "anytime" and conclusion.promise.holds):
        return
    remedy = "rate a second batch as a new study of the open pairs and conclude it alone (--alone)"
    if conclusion.promise.name == "anytime":
        raise InputError(
            f"{_name_plan(plan)}: promises nothing that could go on ({conclusion.promise.broken}); {remedy}"
        )
    later = ", or plan for looks at any time (decision=anytime)" if plan.question == COMPARE else ""
    raise InputError(
        f"{_name_plan(plan)}: its promise ({100 * (1 - conclusion.promise.level):g} %) is one of a single look, at its "
        f"end, and adding to what was seen breaks it; {remedy}{later}"
    )


def _rank_need(pair: Pair, conclusion: Conclusion) -> float:
    """Order open pairs: by what more of the same would settle them, then by how clear they are."""
    if pair.more is not None:
        return pair.more.median
    half = (pair.high - pair.low) / 2
    # Pairs without a forecast stand behind all with one, which is never above LIMIT.
    return LIMIT * (1 + half / abs(pair.difference)) if pair.difference and isfinite(half) else inf


def _batch(plan: LoadedPlan, conclusion: Conclusion, pairs: Sequence[Pair], *, alone: bool) -> SecondBatch | None:
    """Return a batch for some pairs; None where one of them is not settled within reach."""
    names = [system.system for system in conclusion.systems]
    systems = tuple(name for name in names if any(name in (pair.first, pair.second) for pair in pairs))
    count = len(systems) * (len(systems) - 1) // 2
    settled = [
        _size_lone_study(pair, plan, conclusion, count) if alone else _count_further_units(pair, plan) for pair in pairs
    ]
    if any(not isfinite(needed.number) for needed in settled):
        return None
    batch_pairs = tuple(BatchPair(needed.pair.first, needed.pair.second, ceil(needed.documents)) for needed in settled)
    documents = max(pair.number for pair in batch_pairs)
    raters = max((ceil(needed.raters) for needed in settled if needed.raters is not None), default=None)
    ratings = (
        sum(pair.number for pair in batch_pairs)
        if plan.question == COMPARE
        else documents * len(systems) * _count_ratings_per_unit(plan)
    )
    promise = _make_second_promise(conclusion.promise, count) if alone else conclusion.promise
    new_raters = alone and conclusion.about.get("raters") == "drawn"
    why = (
        f"{_describe_batch(batch_pairs, systems, documents, ratings, plan)}{', by other raters' * new_raters}; "
        f"{promise.says}"
    )
    return SecondBatch(systems, documents, ratings, raters, batch_pairs, promise, alone, new_raters, why)


def _count_further_units(pair: Pair, plan: LoadedPlan) -> _Open:
    """Count the units that settle a pair together with those seen."""
    more = pair.more
    if more is None:
        return _Open(pair, inf, inf, None)
    if more.unit != "raters":
        return _Open(pair, more.median, more.median, None)
    # `per_unit` counts a rater's ratings of these two systems, and a document has an output of either.
    return _Open(pair, more.median, more.median * more.per_unit / (2 * _count_ratings_per_unit(plan)), more.median)


def _size_lone_study(pair: Pair, plan: LoadedPlan, conclusion: Conclusion, count: int) -> _Open:
    """Size a new study that settles a pair by itself, its `count` pairs at once.

    What a difference may be follows from its interval. Where more raters of the same would settle it, raters are
    counted, each with as many documents as now; else documents, which then shrink all there is of uncertainty.
    """
    promise, half = conclusion.promise, (pair.high - pair.low) / 2
    by_raters = pair.more is not None and pair.more.unit == "raters"
    units, documents = _units(plan, conclusion, by_raters=by_raters), _units(plan, conclusion, by_raters=False)
    before, now = (_bar(promise, n) for n in (len(conclusion.pairs), count))
    # A half-width is the bar times the standard error: divided by the old bar it serves at the new one.
    seen = ObservedEstimate(pair.difference, (half / before) ** 2, 0.0, now, units)
    number = count_units_of_new_study(seen, LIMIT).median
    size = max(number * documents / units, _count_fewest_documents(plan))
    return _Open(pair, number, size, number if by_raters else None)


def _bar(promise: Promise, pairs: int) -> float:
    """Return the number of standard errors at which a pair is claimed, as the normal law has it."""
    from scipy.special import ndtri

    return float(ndtri(1 - promise.level / (2 * (pairs if promise.multiplicity in AT_ONCE else 1))))


def _units(plan: LoadedPlan, conclusion: Conclusion, *, by_raters: bool) -> float:
    """Count the raters of a study, its documents, or the comparisons of a pair."""
    if plan.question == COMPARE:
        return float(conclusion.read["used"]) / max(len(conclusion.pairs), 1)
    return float(conclusion.read["raters" if by_raters else "documents"])


def _count_ratings_per_unit(plan: LoadedPlan) -> int:
    return int(plan.config["design"]["ratings_per_item"]) if plan.question == RATE else 1


def _count_fewest_documents(plan: LoadedPlan) -> int:
    return int(plan.config["design"].get("min_documents", FEWEST)) if plan.question == RATE else 1


def _fits(batch: SecondBatch | None, plan: LoadedPlan, conclusion: Conclusion, room: Room) -> bool:
    if batch is None:
        return False
    within = batch.documents <= _documents(plan, conclusion, room) and batch.ratings <= (room.ratings or inf)
    return within and (
        batch.alone or plan.question != COMPARE or all(_has_comparisons_left(pair, plan, room) for pair in batch.pairs)
    )


def _documents(plan: LoadedPlan, conclusion: Conclusion, room: Room) -> float:
    """Return how many documents there are for a batch: as many as the study had, where nobody says more."""
    return _units(plan, conclusion, by_raters=False) if room.documents is None else room.documents


def _has_comparisons_left(pair: BatchPair, plan: LoadedPlan, room: Room) -> bool:
    """True if a plan has so many more comparisons of a pair."""
    came = room.came.get((pair.first, pair.second), room.came.get((pair.second, pair.first), 0))
    return came + pair.number <= int(plan.config["budget"]["annotations_per_pair"])


def _make_second_promise(promise: Promise, pairs: int) -> Promise:
    """Promise of a second study what was promised of the first, and of nothing that the first one found."""
    level, counted = promise.level, "the one pair" if pairs == 1 else f"all {pluralise(pairs, 'pair')}"
    each = f"with {100 * (1 - level):g} % probability no claim is wrong: {counted} at once, whatever the first found"
    # Two studies, each wrong with at most the level: Bonferroni adds them up.
    both = f"one of the two studies makes a wrong claim with at most {200 * level:g} %"
    says = f"of the second study by itself, {each}; {both}"
    if promise.multiplicity in ("none", "bh", "e_bh"):
        says = f"of the second study by itself, what its plan promises of claims at {level:g} ({promise.multiplicity})"
    return promise.replace_fields(name="fixed", says=says, holds=True, broken="")


def _describe_batch(
    batch_pairs: Sequence[BatchPair], systems: Sequence[str], documents: int, ratings: int, plan: LoadedPlan
) -> str:
    first = batch_pairs[0]
    pairs = f"{clip(first.first, 40)} - {clip(first.second, 40)}"
    rest = f" and {pluralise(len(batch_pairs) - 1, 'open pair')} more" if len(batch_pairs) > 1 else ""
    size = (
        f"{pluralise(ratings, 'comparison')}" if plan.question == COMPARE else f"{pluralise(documents, 'new document')}"
    )
    cost = (
        "" if plan.question == COMPARE else f" ({pluralise(ratings, 'rating')} of {pluralise(len(systems), 'system')})"
    )
    return f"settles {pairs}{rest} with 80 %, if differences are the middle of what they may be: {size}{cost}"


def _explain_too_dear(
    nearest: SecondBatch | None, pair: Pair, plan: LoadedPlan, conclusion: Conclusion, room: Room
) -> str:
    name = f"{clip(pair.first, 40)} - {clip(pair.second, 40)}"
    if nearest is None:
        return f"no size within reach settles even {name} with 80 %; call the open systems alike, or mend the design"
    return (
        f"{name} alone takes {'; '.join(_list_shortages(nearest, plan, conclusion, room))}; leave it open, or find more"
    )


def _list_shortages(nearest: SecondBatch, plan: LoadedPlan, conclusion: Conclusion, room: Room) -> Iterator[str]:
    unit, there = ("comparison" if plan.question == COMPARE else "document"), _documents(plan, conclusion, room)
    if nearest.documents > there:
        whose = "there are" if room.documents is not None else "the study had"
        yield f"{pluralise(nearest.documents, unit)}, and {whose} {there:,.0f}"
    if nearest.ratings > (room.ratings or inf):
        yield f"{pluralise(nearest.ratings, 'rating')}, and {room.ratings:,} are to be spent"
    if (
        not nearest.alone
        and plan.question == COMPARE
        and not all(_has_comparisons_left(pair, plan, room) for pair in nearest.pairs)
    ):
        most = int(plan.config["budget"]["annotations_per_pair"])
        yield f"{pluralise(nearest.pairs[0].number, 'comparison')} beyond what the plan has of a pair ({most:,})"
