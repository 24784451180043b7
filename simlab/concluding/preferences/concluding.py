"""Conclude from a table of preferences: a partial order under a promise, strengths, and what would settle the rest.

`conclude` starts from a file, `conclude_votes` from votes, and `conclude_claims` from tested pairs. Strengths are
values of systems on one scale, fitted to all votes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from simlab.analysis.preferences.partial_order import partial_order
from simlab.analysis.preferences.votes import FEWEST
from simlab.answers.conclude import Conclusion
from simlab.answers.standings import Limit, Pair, Rank, rank_limits
from simlab.concluding.consistency import kept_repetition
from simlab.concluding.far_scores import unmet_people
from simlab.concluding.options import LEVEL, ConcludeOptions
from simlab.concluding.possible_ranks import compare_with_margin
from simlab.concluding.preferences import standings, votes
from simlab.concluding.preferences.claims import PreferenceClaims, claims, thin
from simlab.concluding.preferences.consensus import group_answers, learn_consensus
from simlab.concluding.preferences.repetitions import MOST, control, repetition
from simlab.concluding.preferences.votes import NamedVotes, exclude_raters, named_pairs, number_pairs, take_votes
from simlab.concluding.simulations import NOT_ASKED, apply_gate, note_unrepeated, seed_from_rows, try_to_simulate
from simlab.effort import current_effort
from simlab.fitting.preferences.moments import fit_world
from simlab.messages import clip, pluralise
from simlab.tables import preferences
from simlab.tables.preferences import Preferences
from simlab.tables.winners import WinnerComparisons
from simlab.types import COMPARE, Array, Bools, InputError, Ints

OFTEN = 10
"""Least number of votes by a rater who always answers a tie, for a warning."""

UNLIKELY = 0.001
"""Chance of ties alone, by their share among all votes, below which such a rater is warned of."""

LOAD = 0.2
"""Share of all votes above which one rater carries a table that takes raters as drawn."""

UNIT = "share of wins"
NO_CONSENSUS = (
    "no consensus is given: these answers do not tell errors of raters from items of which opinions are divided "
    "(chains do not agree); more raters for each item would"
)


def agreement(table: Preferences) -> Iterator[str]:
    """Yield for each metric a sentence on the share of comparisons in which it agrees with humans."""
    for name, of in table.metrics.items():
        same, both = _count_agreement(table, of)
        yield (
            f"{clip(name, 40)} is not used for claims, which are of humans alone; it names their winner "
            f"in {same:,} of {both:,} comparisons that neither calls a tie"
        )


def _count_agreement(table: Preferences, of: WinnerComparisons) -> tuple[int, int]:
    """Count comparisons that a metric and humans both decide, and those that they decide alike."""
    n, size = table.n_systems, max(len(table.item_names), 1)
    by_output = dict(zip(*_list_decided_outputs(of.first, of.second, of.item, of.outcome, n, size), strict=True))
    output, way = _list_decided_outputs(table.first, table.second, table.item, table.outcome, n, size)
    pairs = [(by_output[key], winner) for key, winner in zip(output, way, strict=True) if key in by_output]
    return sum(first == second for first, second in pairs), len(pairs)


def _list_decided_outputs(
    first: Ints, second: Ints, item: Ints, outcome: Array, n_systems: int, n_items: int
) -> tuple[list[int], list[int]]:
    """Return, where the item is known and the answer no tie, the number of pair and item, and who won.

    +1: the system of the lower number won, -1: the other.
    """
    kept = (item >= 0) & (outcome != 1)
    way = np.where(first > second, outcome - 1, 1 - outcome)
    output = number_pairs(first, second, n_systems) * n_items + item
    return output[kept].tolist(), way[kept].tolist()


def limits(named: NamedVotes, claims: PreferenceClaims) -> Iterator[Limit]:
    """Yield the limits of the claims: too few pairs or raters, and items that stand for no others."""
    yield from rank_limits(Rank.CLAIMS, _warn_of_pairs(named, claims))
    yield from _warn_of_raters(named, claims)
    n_items = len(np.unique(named.raw_votes.item))
    if named.items and n_items < FEWEST and claims.way != "item":
        these = "it" if n_items == 1 else "these"
        warning = f"{pluralise(n_items, named.unit)}: claims are about {these}, whatever else there is"
        yield Limit(warning, Rank.CLAIMS)


def _warn_of_pairs(named_votes: NamedVotes, claims: PreferenceClaims) -> Iterator[str]:
    n_asked, left = (np.bincount(one.pair, minlength=one.n_pairs) for one in (named_votes.raw_votes, named_votes.votes))
    never = np.flatnonzero(claims.family & (n_asked == 0))
    if len(never):
        named = named_pairs(named_votes.system_names)
        which = ", ".join(" - ".join(named[k]) for k in never[:3]) + (", ..." if len(never) > 3 else "")
        yield f"{pluralise(len(never), 'pair')} never compared ({clip(which, 120)}): nothing is claimed there"
    few = claims.family & thin(claims) & (left > 0)
    if n := int(few.sum()):
        what = {
            "rater": "raters",
            "item": f"{named_votes.unit}s",
            "both": "raters",
            "vote": "comparisons that are no ties",
        }[claims.way]
        yield f"{pluralise(n, 'pair')} with too few {what} to be claimed, whatever these say"


def _warn_of_raters(named: NamedVotes, claims: PreferenceClaims) -> Iterator[Limit]:
    voted = named.raw_votes.rater[named.raw_votes.rater >= 0]
    if not len(voted):
        return
    n = named.n_raters
    if n < FEWEST:
        who, say = ("one rater", "this one says") if n == 1 else (f"{n} raters", "these say")
        warning = f"{who}: fewer than {FEWEST} cannot stand for others; claims are about what {say}"
        yield Limit(warning, Rank.CLAIMS)
    each = np.bincount(voted, minlength=len(named.rater_names))
    most = int(each.argmax())
    share = each[most] / len(named.raw_votes.pair)
    if claims.way in ("rater", "both") and share > LOAD:
        yield Limit(
            f"{clip(named.rater_names[most], 40)} gave {share:.0%} of all votes: raters are taken as drawn, and "
            "with one who counts so much little can be claimed",
            Rank.CLAIMS,
        )
    if named.raw_votes.value.any():
        yield from rank_limits(Rank.RATERS, _always_ties(named))


def _always_ties(named: NamedVotes) -> Iterator[str]:
    """Name raters who always said that two outputs are a tie; who always names one place is named elsewhere."""
    known = named.raw_votes.rater >= 0
    n, ties = (
        np.bincount(named.raw_votes.rater[mask], minlength=len(named.rater_names))
        for mask in (known, known & (named.raw_votes.value == 0))
    )
    # Where most answers are ties, a rater who gives nothing else is no exception.
    chance = (ties.sum() / n.sum()) ** n
    always = np.flatnonzero((n >= OFTEN) & (ties == n) & (chance < UNLIKELY))
    for rater in always[:3].tolist():
        yield f"{clip(named.rater_names[rater], 40)} always answered a tie, {n[rater]:,} times; see --exclude"
    if len(always) > 3:
        yield f"so did {pluralise(len(always) - 3, 'other rater')}"


def conclude(table: Path, wanted: ConcludeOptions, say: Callable[[str], None]) -> Conclusion:
    """Conclude from a table; `say` is called with a line on each step that takes a while.

    Raises InputError for tables and options that cannot be used.
    """
    _check(table, wanted)
    read = preferences.read(table, wanted.column_overrides, list(wanted.metrics) or None)
    left = exclude_raters(read, wanted)
    preferences.refuse_two_sorts(left, clip(table))
    named = take_votes(left, clip(table))
    named = replace(
        named,
        line=preferences.describe(read),
        read=preferences.record(read),
        notes=(*read.notes, *agreement(read), *named.notes[len(read.notes) :]),
    )
    repeated = group_answers(left, clip(table)) if wanted.consensus else None
    concluded = _conclude_by_rule(table, named, wanted, say) if wanted.overrides else conclude_votes(named, wanted, say)
    if repeated is None or not wanted.gate:
        return concluded
    say(f"learning raters' errors from {len(repeated.answers.label):,} answers ...")
    agreed = learn_consensus(repeated, left, concluded.promise.level, wanted.seed)
    unknown = () if agreed else (Limit(NO_CONSENSUS, Rank.NUMBERS),)
    return concluded.replace_fields(consensus=agreed, warnings=(*concluded.warnings, *unknown))


def _check(table: Path, wanted: ConcludeOptions) -> None:
    """Raise InputError for what cannot be asked of comparisons."""
    if wanted.second is not None:
        raise InputError(f"{clip(wanted.second)}: comparisons are concluded from one table; put the rows together")
    for option, value in (("--adequate-from", wanted.adequate_from), ("--threshold", wanted.threshold)):
        if value is not None:
            raise InputError(f"{option} is of scores, and {clip(table)} holds comparisons; leave it out")
    if wanted.margin is not None and wanted.margin >= 1:
        raise InputError(f"--margin {wanted.margin:g}: differences are shares of wins less losses; stay below 1")


def _conclude_by_rule(
    table: Path, named: NamedVotes, wanted: ConcludeOptions, say: Callable[[str], None]
) -> Conclusion:
    """Conclude by a rule that is named, the comparisons that there are being taken for the planned ones."""
    from simlab.concluding.preferences.plan_rule import conclude_by_plan, match_plan
    from simlab.config import compose

    if wanted.exclude:
        raise InputError(f"{wanted.overrides[0]}: goes with all raters of a table; leave --exclude out")
    keys = {word.partition("=")[0] for word in wanted.overrides}
    if wanted.level is not None and "decision.level" in keys:
        raise InputError(f"--level {wanted.level:g}: decision.level is given, too; leave one of them out")
    usual = {"decision": "fixed", "seed": str(wanted.seed)}
    words = [f"{key}={value}" for key, value in usual.items() if key not in keys]
    # An option comes before its keys.
    level = () if wanted.level is None else (f"decision.level={wanted.level!r}",)
    config = compose((f"question={COMPARE}", *words, *wanted.overrides, *level))
    # Without a plan its end is where the table ends, so that a rule with looks has its last one there.
    most = int(np.bincount(named.votes.pair).max())
    config = {**config, "budget": {**config["budget"], "annotations_per_pair": most, "annotations": None}}
    return conclude_by_plan(config, match_plan(table, wanted, config).collected, wanted, say)


def conclude_votes(
    named: NamedVotes, wanted: ConcludeOptions, say: Callable[[str], None], *, broken: str = "", noted: bool = True
) -> Conclusion:
    """Conclude from votes; `say` is called with a line on each step that takes a while.

    `broken` says why a fixed promise does not hold ("": it does); `noted`: notes on the options are added.
    """
    level = wanted.level or LEVEL
    preference_claims = claims(named, wanted.promise or "fixed", _family(named, wanted), level, wanted.seed, broken)
    concluded = conclude_claims(named, preference_claims, wanted, say)
    return concluded.replace_fields(notes=(*concluded.notes, *_notes(wanted))) if noted else concluded


def conclude_claims(
    named: NamedVotes, claims: PreferenceClaims, wanted: ConcludeOptions, say: Callable[[str], None]
) -> Conclusion:
    """Return the conclusion from tested pairs: strengths, ranks, margins, and what would settle open pairs.

    `say` is called with a line on each step that takes a while.
    """
    level = claims.promise.level
    stands = standings.standing(named, claims, level, wanted.seed)
    order = partial_order(claims.verdict, named.system_names)
    concluded = Conclusion(
        question=COMPARE,
        read=named.read,
        line=named.line,
        unit=UNIT,
        better="higher",
        promise=claims.promise,
        systems=standings.systems(named, claims, stands, level),
        pairs=pairs(named, claims, wanted.margin),
        cycles=order.cycles,
        detectable=standings.detectable_difference(claims),
        lines=(*votes.lines(named, level), *standings.lines(named, stands)),
        about=standings.describe_strengths(named, stands, level)
        | _name_methods(claims, stands)
        | _describe_sampling(named, claims)
        | votes.record(named, level),
        limits=unmet_people(named.n_raters) if claims.raters_drawn and named.rater_names else None,
        notes=(*named.notes, *claims.notes),
        warnings=(
            *votes.warnings(named, claims.family),
            *limits(named, claims),
            *standings.warnings(named, stands),
        ),
    )
    return _repeat_study(concluded, named, claims, stands, wanted, say)


def _describe_sampling(named_votes: NamedVotes, claims: PreferenceClaims) -> dict[str, str]:
    """State of raters and items, where they are named, whether they stand for more like them."""
    named = (
        ("raters", bool(named_votes.rater_names), claims.raters_drawn),
        (f"{named_votes.unit}s", named_votes.items, claims.items_drawn),
    )
    return {word: "drawn" if drawn else "fixed" for word, there, drawn in named if there}


def _name_methods(claims: PreferenceClaims, stands: standings.FittedStrengths) -> dict[str, Any]:
    """Name what differences are, and the methods that the conclusion rests on."""
    test = "anytime" if claims.promise.name == "anytime" else "fixed" if claims.way == "vote" else "flips"
    methods = [test, claims.promise.multiplicity, *(["davidson"] if stands.fitted is not None else [])]
    return {"difference": "share of wins less share of losses", "methods": methods}


def _repeat_study(
    concluded: Conclusion,
    named: NamedVotes,
    claims: PreferenceClaims,
    stands: standings.FittedStrengths,
    wanted: ConcludeOptions,
    say: Callable[[str], None],
) -> Conclusion:
    """Check a conclusion in studies with equal systems, then add how a repetition would come out."""
    n, fitted, scale = len(named.votes.pair), stands.fitted, stands.scale
    if not wanted.gate or not current_effort().equal_studies:
        return note_unrepeated(concluded, NOT_ASKED)
    if fitted is None or scale is None or not len(claims.votes.pair):
        return note_unrepeated(
            concluded, "no strengths can be told from these comparisons, so that no world follows from them"
        )
    if n > MOST:
        return note_unrepeated(concluded, f"{n:,} comparisons are more than {MOST:,}")
    say(f"carrying {current_effort().equal_studies:,} studies like this one out again ...")
    world, why = try_to_simulate(lambda: fit_world(named.votes, fitted))
    if world is None:
        return note_unrepeated(concluded, why)
    votes = named.votes
    place = np.zeros(n) if votes.place is None else votes.place
    check_seed = seed_from_rows(named.system_names, votes.pair, votes.value, votes.rater, votes.item, place)
    checked, unchecked = try_to_simulate(lambda: control(claims, world, check_seed, ordered=named.ordered))
    concluded = apply_gate(concluded.replace_fields(control=checked, control_missing=unchecked))
    if concluded.withdrawn:
        return concluded
    if not wanted.again:
        return concluded.replace_fields(repetition_missing=NOT_ASKED)
    repeated, unknown = try_to_simulate(
        lambda: repetition(votes, claims, fitted, scale.covariance[-2], world, wanted.seed, ordered=named.ordered)
    )
    kept, refused = kept_repetition(repeated)
    return concluded.replace_fields(repetition=kept, repetition_missing=refused or unknown)


def pairs(named_votes: NamedVotes, claims: PreferenceClaims, margin: float | None) -> list[Pair]:
    """Return the record of each pair of the family; `margin` is a difference that does not matter (None: not given)."""
    named, nothing = named_pairs(named_votes.system_names), votes.lacks_answers(named_votes, claims.votes)
    differences = votes.raw_differences(named_votes)
    return [
        _make_unknown_pair(*named[k], float(differences[k]), margin)
        if nothing[k]
        else _pair(*named[k], k, named_votes, claims, margin)
        for k in np.flatnonzero(claims.family).tolist()
    ]


def _make_unknown_pair(first: str, second: str, difference: float, margin: float | None) -> Pair:
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


def _pair(first: str, second: str, k: int, named: NamedVotes, claims: PreferenceClaims, margin: float | None) -> Pair:
    of = claims.tested
    low, high, verdict = float(of.low[k]), float(of.high[k]), int(claims.verdict[k])
    return Pair(
        first=first,
        second=second,
        difference=float(of.difference[k]),
        low=low,
        high=high,
        p_value=float(of.p_value[k]),
        adjusted=float(of.adjusted[k]),
        direction=int(claims.direction[k]),
        verdict=verdict,
        within=None if margin is None else compare_with_margin(low, high, margin),
        more=standings.count_further_votes(named, claims, k),
    )


def _family(named: NamedVotes, wanted: ConcludeOptions) -> Bools:
    """Mark the pairs that the promise is about: all, or those with the baseline."""
    first, second = np.triu_indices(named.votes.n_systems, 1)
    if wanted.against is None:
        return np.ones(len(first), bool)
    baseline = named.number_of(wanted.against, "--against")
    return np.asarray((first == baseline) | (second == baseline))


def _notes(wanted: ConcludeOptions) -> Iterator[str]:
    if (wanted.promise or "fixed") == "fixed":
        yield (
            "no plan is given: the table is taken as complete; if votes still come, or it ended because of what they "
            "said, only --promise anytime holds"
        )
