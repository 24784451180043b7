"""Conclude from a table of preferences: a partial order under a promise, strengths, and what would settle the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from simlab.analysis.preferences.partial_order import partial_order
from simlab.analysis.preferences.votes import FEWEST
from simlab.answers.conclude import Conclusion
from simlab.answers.standings import Limit, Pair, Rank, ranked
from simlab.concluding.consistency import kept_repetition
from simlab.concluding.far_scores import unmet_people
from simlab.concluding.preferences import standing, votes
from simlab.concluding.preferences.again import MOST, control, repetition
from simlab.concluding.preferences.claims import PreferenceClaims, claims, thin
from simlab.concluding.preferences.votes import NamedVotes, named_pairs, of_table, pair_of, without_raters
from simlab.concluding.simulations import NOT_ASKED, seed_from_rows, try_to_simulate, unrepeated, with_gate
from simlab.concluding.standing import within
from simlab.concluding.wanted import LEVEL, ConcludeOptions
from simlab.effort import current_effort
from simlab.fitting.preferences.moments import world_of
from simlab.messages import legible, several
from simlab.tables import preferences
from simlab.tables.preferences import Preferences
from simlab.tables.winners import WinnerComparisons
from simlab.types import COMPARE, Array, Bools, InputError, Ints

OFTEN = 10
"""Votes from which on a rater who says the same each time is worth a word."""

UNLIKELY = 0.001
"""Chance of the same answer so often, were it as frequent as among all, below which it is worth a word."""

LOAD = 0.2
"""Share of all votes above which one rater carries a table that takes raters as drawn."""

UNIT = "share of wins"


def agreement(table: Preferences) -> Iterator[str]:
    """Go through the metrics that were read."""
    for name, of in table.metrics.items():
        same, both = _counted(table, of)
        yield (
            f"{legible(name, 40)} is not used for claims, which are of humans alone; it names their winner "
            f"in {same:,} of {both:,} comparisons that neither calls a tie"
        )


def _counted(table: Preferences, of: WinnerComparisons) -> tuple[int, int]:
    """Count comparisons that a metric and humans both decide, and those that they decide alike."""
    n, size = table.n_systems, max(len(table.item_names), 1)
    said = dict(zip(*_decided(of.first, of.second, of.item, of.outcome, n, size), strict=True))
    output, way = _decided(table.first, table.second, table.item, table.outcome, n, size)
    pairs = [(said[key], one) for key, one in zip(output, way, strict=True) if key in said]
    return sum(first == second for first, second in pairs), len(pairs)


def _decided(
    first: Ints, second: Ints, item: Ints, outcome: Array, n_systems: int, n_items: int
) -> tuple[list[int], list[int]]:
    """Return outputs by number, and who is better, where the item is known and the answer no tie."""
    kept = (item >= 0) & (outcome != 1)
    way = np.where(first > second, outcome - 1, 1 - outcome)
    output = pair_of(first, second, n_systems) * n_items + item
    return output[kept].tolist(), way[kept].tolist()


def limits(held: NamedVotes, found: PreferenceClaims) -> Iterator[Limit]:
    """Go through the limits, one line each."""
    yield from ranked(Rank.CLAIMS, _of_pairs(held, found))
    yield from _of_raters(held, found)
    n_items = len(np.unique(held.asked.item))
    if held.items and n_items < FEWEST and found.way != "item":
        these = "it" if n_items == 1 else "these"
        said = f"{several(n_items, held.unit)}: claims are about {these}, whatever else there is"
        yield Limit(said, Rank.CLAIMS)


def _of_pairs(held: NamedVotes, found: PreferenceClaims) -> Iterator[str]:
    asked, left = (np.bincount(one.pair, minlength=one.n_pairs) for one in (held.asked, held.votes))
    never = np.flatnonzero(found.family & (asked == 0))
    if len(never):
        named = named_pairs(held.system_names)
        which = ", ".join(" - ".join(named[k]) for k in never[:3]) + (", ..." if len(never) > 3 else "")
        yield f"{several(len(never), 'pair')} never compared ({legible(which, 120)}): nothing is claimed there"
    few = found.family & thin(found) & (left > 0)
    if n := int(few.sum()):
        what = {
            "rater": "raters",
            "item": f"{held.unit}s",
            "both": "raters",
            "vote": "comparisons that are no ties",
        }[found.way]
        yield f"{several(n, 'pair')} with too few {what} to be claimed, whatever these say"


def _of_raters(held: NamedVotes, found: PreferenceClaims) -> Iterator[Limit]:
    voted = held.asked.rater[held.asked.rater >= 0]
    if not len(voted):
        return
    n = held.n_raters
    if n < FEWEST:
        who, say = ("one rater", "this one says") if n == 1 else (f"{n} raters", "these say")
        said = f"{who}: fewer than {FEWEST} cannot stand for others; claims are about what {say}"
        yield Limit(said, Rank.CLAIMS)
    each = np.bincount(voted, minlength=len(held.rater_names))
    most = int(each.argmax())
    share = each[most] / len(held.asked.pair)
    if found.way in ("rater", "both") and share > LOAD:
        yield Limit(
            f"{legible(held.rater_names[most], 40)} gave {share:.0%} of all votes: raters are taken as drawn, and "
            "with one who counts so much little can be claimed",
            Rank.CLAIMS,
        )
    if held.asked.value.any():
        yield from ranked(Rank.RATERS, _always_ties(held))


def _always_ties(held: NamedVotes) -> Iterator[str]:
    """Name raters who always said that two outputs are a tie; who always names one place is named elsewhere."""
    known = held.asked.rater >= 0
    n, ties = (
        np.bincount(held.asked.rater[one], minlength=len(held.rater_names))
        for one in (known, known & (held.asked.value == 0))
    )
    chance = (ties.sum() / n.sum()) ** n
    always = np.flatnonzero((n >= OFTEN) & (ties == n) & (chance < UNLIKELY))
    for rater in always[:3].tolist():
        yield f"{legible(held.rater_names[rater], 40)} always answered a tie, {n[rater]:,} times; see --exclude"
    if len(always) > 3:
        yield f"so did {several(len(always) - 3, 'other rater')}"


def conclude(table: Path, wanted: ConcludeOptions, say: Callable[[str], None]) -> Conclusion:
    """Conclude from a table; raise InputError for what cannot be read, or is asked wrongly."""
    _check(table, wanted)
    read = preferences.read(table, wanted.told, list(wanted.metrics) or None)
    left = without_raters(read, wanted)
    preferences.refuse_two_sorts(left, legible(table))
    held = of_table(left, legible(table))
    held = replace(
        held,
        line=preferences.understood(read),
        read=preferences.record(read),
        notes=(*read.notes, *agreement(read), *held.notes[len(read.notes) :]),
    )
    return _by_rule(table, held, wanted, say) if wanted.overrides else of_held(held, wanted, say)


def _check(table: Path, wanted: ConcludeOptions) -> None:
    """Raise InputError for what cannot be asked of comparisons."""
    if wanted.second is not None:
        raise InputError(f"{legible(wanted.second)}: comparisons are concluded from one table; put the rows together")
    for option, value in (("--adequate-from", wanted.adequate_from), ("--threshold", wanted.threshold)):
        if value is not None:
            raise InputError(f"{option} is of scores, and {legible(table)} holds comparisons; leave it out")
    if wanted.margin is not None and wanted.margin >= 1:
        raise InputError(f"--margin {wanted.margin:g}: differences are shares of wins less losses; stay below 1")


def _by_rule(table: Path, held: NamedVotes, wanted: ConcludeOptions, say: Callable[[str], None]) -> Conclusion:
    """Conclude by a rule that is named, the comparisons that there are being taken for the planned ones."""
    from simlab.concluding.preferences.by_plan import concluded, of_plan
    from simlab.config import compose

    if wanted.exclude:
        raise InputError(f"{wanted.overrides[0]}: goes with all raters of a table; leave --exclude out")
    said = {word.partition("=")[0] for word in wanted.overrides}
    if wanted.level is not None and "decision.level" in said:
        raise InputError(f"--level {wanted.level:g}: decision.level is given, too; leave one of them out")
    usual = {"decision": "fixed", "seed": str(wanted.seed)}
    words = [f"{key}={value}" for key, value in usual.items() if key not in said]
    # An option comes before its keys.
    level = () if wanted.level is None else (f"decision.level={wanted.level!r}",)
    config = compose((f"question={COMPARE}", *words, *wanted.overrides, *level))
    most = int(np.bincount(held.votes.pair).max())
    config = {**config, "budget": {**config["budget"], "annotations_per_pair": most, "annotations": None}}
    return concluded(config, of_plan(table, wanted, config).collected, wanted, say)


def of_held(
    held: NamedVotes, wanted: ConcludeOptions, say: Callable[[str], None], *, broken: str = "", noted: bool = True
) -> Conclusion:
    """Conclude from votes; `say` is told what takes a while. `broken` says why a fixed promise does not hold."""
    level = wanted.level or LEVEL
    found = claims(held, wanted.promise or "fixed", _family(held, wanted), level, wanted.seed, broken)
    concluded = of_claims(held, found, wanted, say)
    return concluded.changed(notes=(*concluded.notes, *_notes(wanted))) if noted else concluded


def of_claims(
    held: NamedVotes, found: PreferenceClaims, wanted: ConcludeOptions, say: Callable[[str], None]
) -> Conclusion:
    """Put together what follows from claims, and what strengths say beside them."""
    level = found.promise.level
    stands = standing.standing(held, found, level, wanted.seed)
    order = partial_order(found.verdict, held.system_names)
    concluded = Conclusion(
        question=COMPARE,
        read=held.read,
        line=held.line,
        unit=UNIT,
        better="higher",
        promise=found.promise,
        systems=standing.systems(held, found, stands, level),
        pairs=pairs(held, found, wanted.margin),
        cycles=order.cycles,
        detectable=standing.detectable_difference(found),
        lines=(*votes.lines(held, level), *standing.lines(held, stands)),
        about=standing.about(held, stands, level)
        | _named(found, stands)
        | _drawn(held, found)
        | votes.record(held, level),
        limits=unmet_people(held.n_raters) if found.raters_drawn and held.rater_names else None,
        notes=(*held.notes, *found.notes),
        warnings=(
            *votes.warnings(held, found.family),
            *limits(held, found),
            *standing.warnings(held, stands),
        ),
    )
    return _again(concluded, held, found, stands, wanted, say)


def _drawn(held: NamedVotes, found: PreferenceClaims) -> dict[str, str]:
    """Say of raters and items, where they are named, whether they stand for more like them."""
    named = (("raters", bool(held.rater_names), found.raters_drawn), (f"{held.unit}s", held.items, found.items_drawn))
    return {word: "drawn" if drawn else "fixed" for word, there, drawn in named if there}


def _named(found: PreferenceClaims, stands: standing.FittedStrengths) -> dict[str, Any]:
    """Name what differences are, and the methods that the conclusion rests on."""
    test = "anytime" if found.promise.name == "anytime" else "fixed" if found.way == "vote" else "flips"
    methods = [test, found.promise.multiplicity, *(["davidson"] if stands.fitted is not None else [])]
    return {"difference": "share of wins less share of losses", "methods": methods}


def _again(
    concluded: Conclusion,
    held: NamedVotes,
    found: PreferenceClaims,
    stands: standing.FittedStrengths,
    wanted: ConcludeOptions,
    say: Callable[[str], None],
) -> Conclusion:
    """Hold a conclusion against studies with equal systems, then add how a repetition would come out."""
    n, fitted, scale = len(held.votes.pair), stands.fitted, stands.scale
    if not wanted.gate or not current_effort().equal_studies:
        return unrepeated(concluded, NOT_ASKED)
    if fitted is None or scale is None or not len(found.votes.pair):
        return unrepeated(
            concluded, "no strengths can be told from these comparisons, so that no world follows from them"
        )
    if n > MOST:
        return unrepeated(concluded, f"{n:,} comparisons are more than {MOST:,}")
    say(f"carrying {current_effort().equal_studies:,} studies like this one out again ...")
    world, why = try_to_simulate(lambda: world_of(held.votes, fitted))
    if world is None:
        return unrepeated(concluded, why)
    votes = held.votes
    place = np.zeros(n) if votes.place is None else votes.place
    check_seed = seed_from_rows(held.system_names, votes.pair, votes.value, votes.rater, votes.item, place)
    checked, unchecked = try_to_simulate(lambda: control(found, world, check_seed, ordered=held.ordered))
    concluded = with_gate(concluded.changed(control=checked, control_missing=unchecked))
    if concluded.withdrawn:
        return concluded
    if not wanted.again:
        return concluded.changed(repetition_missing=NOT_ASKED)
    repeated, unknown = try_to_simulate(
        lambda: repetition(votes, found, fitted, scale.covariance[-2], world, wanted.seed, ordered=held.ordered)
    )
    kept, refused = kept_repetition(repeated)
    return concluded.changed(repetition=kept, repetition_missing=refused or unknown)


def pairs(held: NamedVotes, found: PreferenceClaims, margin: float | None) -> list[Pair]:
    """Return what is concluded of each pair of the family."""
    named, nothing = named_pairs(held.system_names), votes.without_answers(held, found.votes)
    differences = votes.raw_differences(held)
    return [
        _unknown(*named[k], float(differences[k]), margin) if nothing[k] else _pair(*named[k], k, held, found, margin)
        for k in np.flatnonzero(found.family).tolist()
    ]


def _unknown(first: str, second: str, difference: float, margin: float | None) -> Pair:
    """Return a pair of which no answer is the same in both orders: any difference may be."""
    direction = int(np.sign(difference))
    return Pair(
        first=first,
        second=second,
        difference=difference,
        low=-1.0,
        high=1.0,
        p_value=1.0,
        adjusted=1.0,
        direction=direction,
        verdict=0,
        within=None if margin is None else "open",
    )


def _pair(first: str, second: str, k: int, held: NamedVotes, found: PreferenceClaims, margin: float | None) -> Pair:
    of = found.tested
    low, high, verdict = float(of.low[k]), float(of.high[k]), int(found.verdict[k])
    return Pair(
        first=first,
        second=second,
        difference=float(of.difference[k]),
        low=low,
        high=high,
        p_value=float(of.p_value[k]),
        adjusted=float(of.adjusted[k]),
        direction=int(found.direction[k]),
        verdict=verdict,
        within=None if margin is None else within(low, high, margin),
        more=standing.more(held, found, k),
    )


def _family(held: NamedVotes, wanted: ConcludeOptions) -> Bools:
    """Mark the pairs that the promise is about: all, or those with the baseline."""
    first, second = np.triu_indices(held.votes.n_systems, 1)
    if wanted.against is None:
        return np.ones(len(first), bool)
    baseline = held.number_of(wanted.against, "--against")
    return np.asarray((first == baseline) | (second == baseline))


def _notes(wanted: ConcludeOptions) -> Iterator[str]:
    if (wanted.promise or "fixed") == "fixed":
        yield (
            "no plan is given: the table is taken as complete; if votes still come, or it ended because of what they "
            "said, only --promise anytime holds"
        )
