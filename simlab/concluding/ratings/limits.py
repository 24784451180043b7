"""Return the promise about claims on ratings (`promise`), and the limits of the conclusion (`list_warnings`).

Both are sentences for the page, as records `Promise` and `Limit`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from simlab.analysis.raters.contributions import gather_by_label, lay_out_by_pair
from simlab.analysis.raters.flips import levels
from simlab.answers.conclude import Promise
from simlab.answers.standings import Limit, Pair, Rank, rank_limits
from simlab.concluding.ratings.standings import PairVerdicts, Spans
from simlab.messages import clip, pluralise
from simlab.studies.ratings.preparing import PreparedRatings
from simlab.types import Bools, Collected, FamilyName, ScoredRatings

NOTABLE = 0.5
"""Half-widths of an interval by which a plain difference must be off to be spoken of."""

MOST_NAMED = 3

TECHNIQUE = {"max_t": "max-T", "holm": "Holm", "bh": "Benjamini and Hochberg", "best": "Hsu"}

MOST_NAMES = 3


def misleading_means(
    pairs: Sequence[Pair], rated: ScoredRatings, systems: Sequence[str], raters: Sequence[str]
) -> Iterator[str]:
    """Yield a sentence on the pair whose plain means differ most from the model's, in half-widths of its interval."""
    off = {pair: size for pair in pairs if (size := _measure_discrepancy(pair)) > NOTABLE}
    if not off:
        return
    worst = max(off, key=lambda pair: off[pair])
    rest = f"; so of {pluralise(len(off) - 1, 'pair')} more" if len(off) > 1 else ""
    yield (
        f"the plain means of {clip(worst.first, 40)} - {clip(worst.second, 40)} differ by "
        f"{worst.plain_mean:.3g}, the model's, which evens out who rated what, by "
        f"{worst.difference:.3g}, which is what is tested and printed: "
        f"{_name_influential_raters(worst, rated, systems, raters)}{rest}"
    )


def _measure_discrepancy(pair: Pair) -> float:
    half = (pair.high - pair.low) / 2
    if pair.plain_mean is None or not np.isfinite(pair.plain_mean + half):
        return 0.0
    # An interval without width would divide by 0.
    return abs(pair.plain_mean - pair.difference) / max(half, 1e-12)


def _name_influential_raters(pair: Pair, rated: ScoredRatings, systems: Sequence[str], raters: Sequence[str]) -> str:
    """Name the raters who draw the plain difference away most: lenient ones of one system, harsh ones of the other."""
    i, j = sorted((list(systems).index(pair.first), list(systems).index(pair.second)))
    first, second = np.triu_indices(len(systems), 1)
    k = int(np.flatnonzero((first == i) & (second == j))[0])
    sides = lay_out_by_pair(rated, documents=True)
    share = gather_by_label(sides.share[:, :, [k]], sides.rater)[:, :, 0]
    who = np.unique(sides.rater)
    level = levels(rated)[who]
    drawn = (
        (share[0] - share[1]) * level * (1 if pair.plain_mean is not None and pair.plain_mean > pair.difference else -1)
    )
    most = [r for r in np.argsort(-drawn)[:MOST_NAMED].tolist() if drawn[r] > 0 and drawn[r] > drawn.max() / 4]
    phrases = []
    for word, chosen in (("lenient", [r for r in most if level[r] > 0]), ("harsh", [r for r in most if level[r] < 0])):
        for system, met in ((i, share[0] > share[1]), (j, share[1] > share[0])):
            names = [clip(raters[who[r]], 30) for r in chosen if met[r]]
            phrases += [f"{word} raters ({', '.join(names)}) met {clip(systems[system], 40)} more"] if names else []
    return " and ".join(phrases) or "raters met one of them more"


class Basis(NamedTuple):
    """Facts behind a promise: the pairs of its family, the units that the test takes as a sample, and the raters.

    `drawn` holds "raters" or "documents", or both: those that are taken as drawn from more like them.
    `anew`: nobody knows who rated, and answers to an output were averaged as if its raters were drawn for it. Of the
    pairs `n_given` are promised for these raters alone where others are for raters like them. `family` None: each pair
    stands by itself.
    """

    level: float
    multiplicity: str
    n_pairs: int
    against: str | None
    drawn: frozenset[str]
    n_raters: int
    raters_named: bool
    anew: bool = False
    n_given: int = 0
    family: FamilyName | None = None


def promise(basis: Basis) -> Promise:
    """Return the promise of an analysis, with its sentence."""
    # What best systems are promised is no promise of pairs.
    basis = basis._replace(multiplicity="best") if basis.family == "best" else basis
    technique = f" ({TECHNIQUE[basis.multiplicity]})" if basis.multiplicity in TECHNIQUE else ""
    says = f"{_promise_claims(basis)}, {_describe_sampling(basis)}{technique}"
    return Promise(name="fixed", level=basis.level, multiplicity=basis.multiplicity, holds=True, says=says)


def _promise_claims(basis: Basis) -> str:
    sure, pairs = f"{100 * (1 - basis.level):g} %", _pairs(basis)
    if basis.multiplicity == "none":
        return (
            f"a pair of equal systems is claimed to differ with at most {100 * basis.level:g} % probability, each pair "
            f"by itself; of {pairs} together nothing is promised"
        )
    if basis.multiplicity == "bh":
        return (
            f"in the long run at most {100 * basis.level:g} % of such claims are wrong, and as many of their intervals "
            f"miss: some claim below may well be wrong, among {pairs}"
        )
    if basis.multiplicity == "best":
        return (
            f"with {sure} probability the best system is among those that may be the best, and none is further behind "
            "it than said; of single pairs nothing is promised"
        )
    if basis.family == "ranks":
        return f"with {sure} probability no rank and no claim below is wrong: {pairs} at once"
    return f"with {sure} probability no claim below is wrong: {pairs} at once"


def _pairs(basis: Basis) -> str:
    phrase = "the one pair" if basis.n_pairs == 1 else f"all {pluralise(basis.n_pairs, 'pair')}"
    return phrase if basis.against is None else f"{phrase} with {clip(basis.against, 60)}"


def _describe_sampling(basis: Basis) -> str:
    if basis.drawn == {"raters", "documents"}:
        given = f"; of {pluralise(basis.n_given, 'pair')}, few raters met both, only for these raters"
        return f"documents and raters taken as drawn from more like them{given * (basis.n_given > 0)}"
    if basis.drawn == {"raters"}:
        return "raters taken as drawn from more like them, with their documents"
    if basis.anew:
        return "documents taken as drawn from more like them, with raters, who are not known, anew for each output"
    if not basis.raters_named:
        return "documents taken as drawn from more like them, raters, who are not named, as given"
    given = "the one rater" if basis.n_raters == 1 else f"these {basis.n_raters} raters"
    return f"documents taken as drawn from more like them, {given} as given: others may judge differently"


def list_warnings(
    collected: Collected, spans: Spans, prepared: PreparedRatings, drawn: frozenset[str], verdicts: PairVerdicts
) -> tuple[Limit, ...]:
    """Return the limits of a conclusion, as sentences with ranks; `drawn` are the units taken as a sample."""
    return (
        *rank_limits(Rank.PROMISE, blind_pairs(verdicts, prepared)),
        *rank_limits(Rank.PROMISE, warn_of_confounding(collected, spans, verdicts)),
        *rank_limits(Rank.NUMBERS, _warn_of_convergence(spans)),
        *rank_limits(Rank.NUMBERS, _warn_of_dealt_pairs(spans, verdicts)),
        *rank_limits(Rank.CLAIMS, _warn_of_unmet_pairs(collected, spans, verdicts)),
        *rank_limits(Rank.CLAIMS, _warn_of_small_studies(spans, prepared, drawn, verdicts)),
        *rank_limits(Rank.NUMBERS, _warn_of_constant_pairs(collected, spans, verdicts)),
        *_people(collected),
    )


def blind_pairs(verdicts: PairVerdicts, prepared: PreparedRatings) -> Iterator[str]:
    """Yield a sentence if the test of all pairs at once claims less than Bonferroni's correction would."""
    m = int(verdicts.family.sum())
    alone = np.where(verdicts.family, m * verdicts.p_value, 1.0)
    # Bonferroni is the worst that any joint test need be: being beaten by it shows a bar that few pairs rule.
    hidden = np.flatnonzero((alone <= prepared.level) & (verdicts.verdict == 0) & (verdicts.adjusted > alone))
    if prepared.multiplicity == "max_t" and len(hidden):
        k = hidden[np.argmin(verdicts.p_value[hidden])]
        yield (
            f"the test of all pairs at once is blind here: {pluralise(len(hidden), 'pair')} would be claimed by own "
            f"p-values times {m} ({alone[k]:.2g}; adjusted {verdicts.adjusted[k]:.2g}), since pairs that rest on "
            "few raters rule the largest statistic; open says little, and no size of difference that is found is known"
        )


def warn_of_confounding(collected: Collected, spans: Spans, verdicts: PairVerdicts) -> Iterator[str]:
    """Yield sentences on pairs whose systems had different raters, so that the two effects cannot be separated."""
    of = spans.uncertainty.comparisons
    if of is None:
        return
    lone = verdicts.family & of.lone
    for pairs, why, else_ in (
        (lone, "one rater alone rated one of the two, and nobody both", ""),
        (
            verdicts.family & of.pools,
            "pools of raters that share no system rated one each",
            ", or, if raters were dealt to pools by chance, say analysis.test.pools=exchangeable",
        ),
    ):
        if pairs.any():
            yield (
                f"nothing is claimed of {_name_pairs(collected, pairs)}: {why}, so that systems cannot be told from "
                f"who rated them; let some raters rate both sides{else_}"
            )


def _warn_of_convergence(spans: Spans) -> Iterator[str]:
    of = spans.uncertainty.comparisons
    if of is not None and not of.settled:
        yield "the variances of the mixed model did not settle: errors and intervals are rough"


def _warn_of_dealt_pairs(spans: Spans, verdicts: PairVerdicts) -> Iterator[str]:
    of = spans.uncertainty.comparisons
    n = 0 if of is None else int((verdicts.family & of.dealt & of.comparable).sum())
    if n:
        yield (
            f"nobody rated both systems of {pluralise(n, 'pair')}: such a difference is one between raters, taken as "
            "dealt to systems by chance"
        )


def _name_pairs(collected: Collected, pairs: Bools) -> str:
    names = collected.frame.system_names
    first, second = np.triu_indices(len(names), 1)
    some = np.flatnonzero(pairs)
    pair_names = ", ".join(f"{names[first[k]]} - {names[second[k]]}" for k in some[:MOST_NAMES])
    rest = f" and {pluralise(len(some) - MOST_NAMES, 'pair')} more" if len(some) > MOST_NAMES else ""
    return f"{clip(pair_names, 200)}{rest}"


def _warn_of_unmet_pairs(collected: Collected, spans: Spans, verdicts: PairVerdicts) -> Iterator[str]:
    names = collected.frame.system_names
    first, second = np.triu_indices(len(names), 1)
    apart = np.flatnonzero(~spans.uncertainty.known & verdicts.family)
    if len(apart):
        pair_names = [f"{names[first[k]]} and {names[second[k]]}" for k in apart[:MOST_NAMES]]
        rest = f" and {pluralise(len(apart) - MOST_NAMES, 'pair')} more" if len(apart) > MOST_NAMES else ""
        yield (
            f"no document was rated in full for both of {clip('; '.join(pair_names), 200)}{rest}: "
            "nothing is known of their difference"
        )


def _warn_of_small_studies(
    spans: Spans, prepared: PreparedRatings, drawn: frozenset[str], verdicts: PairVerdicts
) -> Iterator[str]:
    """State that nothing could be claimed, whatever the ratings, where documents or raters are too few."""
    met = verdicts.family & spans.uncertainty.known
    # What raters confound is said by itself.
    of = spans.uncertainty.comparisons
    out = met & ~spans.within_reach & (True if of is None else ~(of.lone | of.pools))
    if not met.any() or not out.any():
        return
    if (met & spans.within_reach).any():
        yield f"{pluralise(int(out.sum()), 'pair')} share too few documents or raters for any claim"
        return
    documents, raters = int(spans.uncertainty.documents[met].max()), int(spans.uncertainty.raters[met].max())
    by_raters = "raters" in drawn and raters < documents
    few = pluralise(raters, "rater") if by_raters else pluralise(documents, "document")
    # n units have 2^(n - 1) flips that differ; where these suffice, too few flips are asked for.
    if 2.0 ** (1 - (raters if by_raters else documents)) <= prepared.level:
        few = "so few flips (analysis.test)"
    yield (
        f"with {few} no difference, however large, could be claimed at {prepared.level:g}: "
        "that nothing is claimed says nothing"
    )


def _warn_of_constant_pairs(collected: Collected, spans: Spans, verdicts: PairVerdicts) -> Iterator[str]:
    """Name pairs whose differences are the same throughout: no interval, and no size that is found, follows."""
    names = collected.frame.system_names
    first, second = np.triu_indices(len(names), 1)
    alike = np.flatnonzero(verdicts.family & spans.within_reach & ~spans.scatter)
    if len(alike):
        pair_names = [f"{names[first[k]]} - {names[second[k]]}" for k in alike[:MOST_NAMES]]
        rest = f" and {pluralise(len(alike) - MOST_NAMES, 'pair')} more" if len(alike) > MOST_NAMES else ""
        yield (
            f"the table shows no scatter of {clip(', '.join(pair_names), 200)}{rest}: how far such a difference is "
            "off, and which it would find, is not known"
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
    lines = [f"{clip(names[k], 60)} gave {low[k]:g} to all of {pluralise(int(n[k]), 'output')}" for k in alike]
    if lines:
        rest = (
            f" and {pluralise(len(lines) - MOST_NAMES, 'rater')} more gave one score" if len(lines) > MOST_NAMES else ""
        )
        yield Limit(f"{'; '.join(lines[:MOST_NAMES])}{rest}, which tells no systems apart", Rank.RATERS)
