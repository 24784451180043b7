"""Claim which of two systems is better, for all pairs together, under one of two promises.

`claims` takes the votes and the name of the promise, and returns `PreferenceClaims`. Any wrong claim has at most the
probability `level`: of `fixed` at the plan's end, by flips or sign tests; of `anytime` at every look, by e-processes.
The verdict on a pair is +1 if its first system is claimed to be better, -1 if its second is, else 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simlab.analysis.preferences.anytime_votes import CONCENTRATION, is_fresh, weigh_anytime
from simlab.analysis.preferences.net_wins import MANY, OF_MANY, PATTERNS, Weighed, weigh_votes
from simlab.analysis.preferences.places import match_orders
from simlab.analysis.preferences.sequential import mixture_evidence
from simlab.analysis.preferences.votes import FEWEST, Votes, Way, choose_way, count_per_pair, counts_as_drawn
from simlab.answers.conclude import Promise, PromiseName
from simlab.concluding.preferences.votes import NamedVotes
from simlab.rng import stream
from simlab.types import Array, Bools


@dataclass(frozen=True, slots=True)
class PreferenceClaims:
    """Claims on pairs: `verdict[pair]`, `direction[pair]`, the tests that they rest on, and the promise.

    `tested` are the tests of all pairs. `votes` are those that were used; `way` names the units that are taken as
    independent (votes, raters, items, or both of these). `raters_drawn` and `items_drawn` are True if these stand for
    more like them. `family[pair]` marks the pairs that the promise is about. `notes` are on votes that were left out.
    """

    tested: Weighed
    verdict: Array
    direction: Array
    family: Bools
    votes: Votes
    way: Way
    raters_drawn: bool
    items_drawn: bool
    promise: Promise
    notes: tuple[str, ...] = ()


def claims(
    named: NamedVotes, name: PromiseName, family: Bools, level: float, seed: int, broken: str
) -> PreferenceClaims:
    """Test the votes on all pairs, and claim those that the promise `name` allows.

    `family[pair]` marks the pairs of the promise, `level` is the chance of any wrong claim among them. `broken` is the
    reason why a fixed promise does not hold ("": it holds); one that allows looking at any time always holds.
    """
    of = _claim_anytime if name == "anytime" else _claim_once
    return of(named, family, level, seed, broken)


def describe_sampling(named: NamedVotes, *, raters_drawn: bool, items_drawn: bool) -> str:
    """Return a phrase on raters and items: which are taken as drawn from more like them, and which as given."""
    parts = [("raters", raters_drawn)] * bool(named.rater_names) + [(f"{named.unit}s", items_drawn)] * named.items
    as_drawn = " and ".join(word for word, yes in parts if yes)
    given = " and ".join(word for word, yes in parts if not yes)
    phrases = [f"{as_drawn} taken as drawn from more like them"] if as_drawn else []
    phrases += [f"{given} as given" if phrases else f"{given} taken as given"] if given else []
    phrases += [] if parts else ["votes taken as independent, since nobody and nothing is named"]
    return ", ".join(phrases)


def _claim_once(named: NamedVotes, family: Bools, level: float, seed: int, broken: str) -> PreferenceClaims:
    votes, way = named.votes, choose_way(named.design)
    n_patterns = PATTERNS if len(votes.pair) < MANY else OF_MANY
    tests = weigh_votes(stream(seed, "conclude", "flips"), votes, way, family, level, n_patterns)
    raters, items = (
        counts_as_drawn(named.design, named.design.rater),
        counts_as_drawn(named.design, named.design.item) or way == "item",
    )
    unit = f"{named.unit}s"
    test = {
        "vote": "exact sign tests, Holm",
        "both": f"flips of raters and of {unit}, max-T",
        "item": f"flips of {unit}, max-T",
    }.get(way, f"flips of {way}s, max-T")
    says = (
        f"with {_percent(1 - level)} probability no claim below is wrong: {_pairs(family)}, at the plan's end; "
        f"{describe_sampling(named, raters_drawn=raters, items_drawn=items)} ({test})"
    )
    return PreferenceClaims(
        tested=tests,
        verdict=_signs(tests.difference) * tests.claimed,
        direction=_signs(tests.difference),
        family=family,
        votes=votes,
        way=way,
        raters_drawn=raters,
        items_drawn=items,
        promise=Promise(
            name="fixed",
            level=level,
            multiplicity="holm" if way == "vote" else "max_t",
            holds=not broken,
            says=says,
            broken=broken,
        ),
    )


def _claim_anytime(named: NamedVotes, family: Bools, level: float, seed: int, broken: str) -> PreferenceClaims:
    many = not named.rater_names or named.n_raters >= FEWEST
    kept = is_fresh(named.votes, many)
    votes = match_orders(named.votes.select_votes(kept))
    tests, ahead = weigh_anytime(votes, family, level, named.ordered)
    says = (
        f"with {_percent(1 - level)} probability no claim below is wrong, however often one looks while votes come: "
        f"{_pairs(family)}; {describe_sampling(named, raters_drawn=many, items_drawn=True)} (e-processes, Holm)"
    )
    return PreferenceClaims(
        tested=tests,
        verdict=np.where(tests.claimed, ahead, 0).astype(np.int8),
        direction=np.where(tests.claimed, ahead, _signs(tests.difference)).astype(np.int8),
        family=family,
        votes=votes,
        way="vote",
        raters_drawn=many,
        items_drawn=True,
        promise=Promise(name="anytime", level=level, multiplicity="holm", holds=True, says=says),
        notes=tuple(_describe_fresh_votes(named, kept, many)),
    )


def _describe_fresh_votes(named_votes: NamedVotes, kept: Bools, many: bool) -> list[str]:
    notes = []
    if not kept.all():
        named = many and named_votes.rater_names and named_votes.items
        new = f"voter and {named_votes.unit}" if named else named_votes.unit if named_votes.items else "voter"
        notes.append(
            f"anytime: of each pair only votes whose {new} are new to it count, {int(kept.sum()):,} of {len(kept):,}; "
            "later ones are no fair coins given the earlier ones"
        )
    if not named_votes.ordered:
        notes.append(
            "anytime: the table counts votes, so that their order is not known; the promise holds for this look, and "
            "looks at other counts of the same votes are not followed"
        )
    return notes


def _pairs(family: Bools) -> str:
    n = int(family.sum())
    return "one pair" if n == 1 else f"all {n:,} pairs at once"


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _signs(difference: Array) -> Array:
    return np.asarray(np.sign(np.nan_to_num(difference)), np.int8)


def fewest_clusters(claims: PreferenceClaims) -> int:
    """Return the least number of raters (items, documents) for a claim by flips, whose least p-value is 2^(1 - n)."""
    # Flipping all contributions at once changes nothing: 2^(n - 1) patterns differ.
    return int(np.ceil(1 - np.log2(claims.promise.level)))


def thin(claims: PreferenceClaims) -> Bools:
    """Mark the pairs that could not be claimed if every vote were for the same system: too few contributions."""
    m = max(int((claims.family & (claims.tested.n > 0)).sum()), 1)
    if claims.promise.name == "fixed" and claims.way != "vote":
        of = claims.votes.item if claims.way == "item" else claims.votes.rater
        return np.asarray(count_per_pair(claims.votes, of) < fewest_clusters(claims))
    if claims.promise.name == "anytime":
        counts = claims.votes.counts()
        decided = counts[:, 0] + counts[:, 2]
        one_way = np.stack([decided, np.zeros_like(decided), np.zeros_like(decided)], axis=1)
        # Holm's first step, the easiest for the clearest pair, asks 1/level times the number of pairs of an e-value.
        return np.asarray(mixture_evidence(one_way, CONCENTRATION) < np.log(m / claims.promise.level))
    counts = claims.votes.counts()
    # n votes for one system give the sign test a two-sided p-value of 2^(1 - n); ties say nothing.
    return np.asarray(counts[:, 0] + counts[:, 2] < 1 + np.log2(m / claims.promise.level))
