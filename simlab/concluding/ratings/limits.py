"""Say what limits a conclusion from ratings: what is not known, and what could not have been found."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from simlab.answers.conclude import Limit, Rank, ranked
from simlab.concluding.ratings.intervals import Spans
from simlab.concluding.ratings.pairs import Verdicts
from simlab.messages import legible, several
from simlab.studies.ratings.preparing import Prepared
from simlab.types import Bools, Collected

MOST_NAMES = 3


def warnings_of(
    collected: Collected, told: Spans, prepared: Prepared, drawn: frozenset[str], found: Verdicts
) -> tuple[Limit, ...]:
    """Return sentences on what limits a conclusion."""
    return (
        *ranked(Rank.PROMISE, blind_pairs(found, prepared)),
        *ranked(Rank.PROMISE, confounded(collected, told, found)),
        *ranked(Rank.NUMBERS, _unsettled(told)),
        *ranked(Rank.NUMBERS, _dealt(told, found)),
        *ranked(Rank.CLAIMS, _never_met(collected, told, found)),
        *ranked(Rank.CLAIMS, _out_of_reach(told, prepared, drawn, found)),
        *ranked(Rank.NUMBERS, _without_scatter(collected, told, found)),
        *_people(collected),
    )


def blind_pairs(found: Verdicts, prepared: Prepared) -> Iterator[str]:
    """Say where all pairs together hide what one of them would claim by itself, times the number of pairs."""
    m = int(found.family.sum())
    alone = np.where(found.family, m * found.p_value, 1.0)
    hidden = np.flatnonzero((alone <= prepared.level) & (found.verdict == 0) & (found.adjusted > alone))
    if prepared.multiplicity == "max_t" and len(hidden):
        k = hidden[np.argmin(found.p_value[hidden])]
        yield (
            f"the test of all pairs at once is blind here: {several(len(hidden), 'pair')} would be claimed by own "
            f"p-values times {m} ({alone[k]:.2g}; adjusted {found.adjusted[k]:.2g}), since pairs that rest on "
            "few raters rule the largest statistic; open says little, and no size of difference that is found is known"
        )


def confounded(collected: Collected, told: Spans, found: Verdicts) -> Iterator[str]:
    """Name pairs whose difference cannot be told from that of their raters, and the design that would cure it."""
    of = told.of.comparisons
    if of is None:
        return
    lone = found.family & of.lone
    for pairs, why, else_ in (
        (lone, "one rater alone rated one of the two, and nobody both", ""),
        (
            found.family & of.pools,
            "pools of raters that share no system rated one each",
            ", or, if raters were dealt to pools by chance, say analysis.test.pools=exchangeable",
        ),
    ):
        if pairs.any():
            yield (
                f"nothing is claimed of {_named(collected, pairs)}: {why}, so that systems cannot be told from who "
                f"rated them; let some raters rate both sides{else_}"
            )


def _unsettled(told: Spans) -> Iterator[str]:
    of = told.of.comparisons
    if of is not None and not of.settled:
        yield "the variances of the mixed model did not settle: errors and intervals are rough"


def _dealt(told: Spans, found: Verdicts) -> Iterator[str]:
    of = told.of.comparisons
    n = 0 if of is None else int((found.family & of.dealt & of.comparable).sum())
    if n:
        yield (
            f"nobody rated both systems of {several(n, 'pair')}: such a difference is one between raters, taken as "
            "dealt to systems by chance"
        )


def _named(collected: Collected, pairs: Bools) -> str:
    names = collected.frame.system_names
    first, second = np.triu_indices(len(names), 1)
    some = np.flatnonzero(pairs)
    said = ", ".join(f"{names[first[k]]} - {names[second[k]]}" for k in some[:MOST_NAMES])
    rest = f" and {several(len(some) - MOST_NAMES, 'pair')} more" if len(some) > MOST_NAMES else ""
    return f"{legible(said, 200)}{rest}"


def _never_met(collected: Collected, told: Spans, found: Verdicts) -> Iterator[str]:
    names = collected.frame.system_names
    first, second = np.triu_indices(len(names), 1)
    apart = np.flatnonzero(~told.of.known & found.family)
    if len(apart):
        said = [f"{names[first[k]]} and {names[second[k]]}" for k in apart[:MOST_NAMES]]
        rest = f" and {several(len(apart) - MOST_NAMES, 'pair')} more" if len(apart) > MOST_NAMES else ""
        yield (
            f"no document was rated in full for both of {legible('; '.join(said), 200)}{rest}: "
            "nothing is known of their difference"
        )


def _out_of_reach(told: Spans, prepared: Prepared, drawn: frozenset[str], found: Verdicts) -> Iterator[str]:
    """Say that nothing could be claimed, whatever the ratings, where documents or raters are too few."""
    met = found.family & told.of.known
    # What raters confound is said by itself.
    of = told.of.comparisons
    out = met & ~told.within_reach & (True if of is None else ~(of.lone | of.pools))
    if not met.any() or not out.any():
        return
    if (met & told.within_reach).any():
        yield f"{several(int(out.sum()), 'pair')} share too few documents or raters for any claim"
        return
    documents, raters = int(told.of.documents[met].max()), int(told.of.raters[met].max())
    by_raters = "raters" in drawn and raters < documents
    few = several(raters, "rater") if by_raters else several(documents, "document")
    if 2.0 ** (1 - (raters if by_raters else documents)) <= prepared.level:
        few = "so few flips (analysis.test)"
    yield (
        f"with {few} no difference, however large, could be claimed at {prepared.level:g}: "
        "that nothing is claimed says nothing"
    )


def _without_scatter(collected: Collected, told: Spans, found: Verdicts) -> Iterator[str]:
    """Name pairs whose differences are the same throughout: no interval, and no size that is found, follows."""
    names = collected.frame.system_names
    first, second = np.triu_indices(len(names), 1)
    alike = np.flatnonzero(found.family & told.within_reach & ~told.scatter)
    if len(alike):
        said = [f"{names[first[k]]} - {names[second[k]]}" for k in alike[:MOST_NAMES]]
        rest = f" and {several(len(alike) - MOST_NAMES, 'pair')} more" if len(alike) > MOST_NAMES else ""
        yield (
            f"the table shows no scatter of {legible(', '.join(said), 200)}{rest}: how far such a difference is off, "
            "and which it would find, is not known"
        )


def _people(collected: Collected) -> Iterator[Limit]:
    names = collected.frame.rater_names
    seen = collected.seen
    n = np.bincount(seen.rater, minlength=len(names))
    low, high = np.full(len(names), np.inf), np.full(len(names), -np.inf)
    np.minimum.at(low, seen.rater, seen.value)
    np.maximum.at(high, seen.rater, seen.value)
    if n.sum() and low.min() == high.max():
        yield Limit(f"all ratings are {low.min():g}: systems cannot be told apart", Rank.CLAIMS)
        return
    alike = np.flatnonzero((n > 1) & (low == high) & (len(names) > 1))
    said = [f"{legible(names[k], 60)} gave {low[k]:g} to all of {several(int(n[k]), 'output')}" for k in alike]
    if said:
        rest = f" and {several(len(said) - MOST_NAMES, 'rater')} more gave one score" if len(said) > MOST_NAMES else ""
        yield Limit(f"{'; '.join(said[:MOST_NAMES])}{rest}, which tells no systems apart", Rank.RATERS)
